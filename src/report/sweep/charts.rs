//! The figures of a sweep, by its shape: lines for one axis, heat maps for two, small multiples for three; the trade-off
//! between refusing and waiting; and offered load against what comes of it.

use crate::experiment::measure_table::{Better, Measure};
use crate::experiment::sweep::{Axis, Cell, Status, SweepResult, Target};
use crate::report::charts::data::{
    Heading, HeatMapData, LoadCurveData, MultiplesData, ParetoData, ParetoPoint, SweepData, SweepPanel, SweepPoint, SweepSeries,
};
use crate::report::charts::{Figure, heat_map, load_curve, multiples, pareto, sweep_line};

use super::axes::{chart_target, measure_quantity, name_of, quantity, short, show, value_of, words, x_of};

/// What is always drawn.
const DRAWN: [&str; 3] = ["rate_529", "ttft_p99", "goodput"];
/// Most lines in one panel, and most cells in a trade-off.
const MOST_LINES: usize = 6;
const MOST_POINTS: usize = 400;

/// A figure with the name of its file, without ending.
#[derive(Debug)]
pub struct SweepFigure {
    /// `charts/heat-map-rate_529`.
    pub name: String,
    /// The figure.
    pub figure: Figure,
}

/// All figures that the shape of the sweep asks for.
pub fn sweep_figures(result: &SweepResult) -> Vec<SweepFigure> {
    let view = View::new(result);
    let mut figures = Vec::new();
    let mut add = |name: String, figure: Option<Figure>| figures.extend(figure.map(|figure| SweepFigure { name, figure }));
    for measure in view.measures() {
        match view.axes().len() {
            1 => add(format!("charts/line-{}", measure.name), Some(view.line(measure))),
            2 => add(format!("charts/heat-map-{}", measure.name), Some(view.map(measure))),
            3 => add(format!("charts/multiples-{}", measure.name), Some(view.multiples(measure))),
            _ => {}
        }
    }
    add("charts/load-curve".to_owned(), view.load_curve());
    add("charts/pareto".to_owned(), view.pareto());
    figures
}

/// A result while it is drawn.
struct View<'a> {
    result: &'a SweepResult,
    /// The axis that is a rate of arrivals, if there is one.
    rate: Option<usize>,
}

impl<'a> View<'a> {
    fn new(result: &'a SweepResult) -> Self {
        Self { result, rate: result.description.grid.axes.iter().position(Axis::is_rate) }
    }

    fn axes(&self) -> &'a [Axis] {
        &self.result.description.grid.axes
    }

    /// The measures that are drawn: the usual ones and those of targets.
    fn measures(&self) -> Vec<&'static Measure> {
        let targets = self.result.description.targets.iter().map(|target| target.measure.as_str());
        let mut names: Vec<&str> = DRAWN.into_iter().chain(targets).collect();
        let mut seen = Vec::new();
        names.retain(|name| {
            !seen.contains(name) && {
                seen.push(*name);
                true
            }
        });
        names.into_iter().filter_map(Measure::find).collect()
    }

    fn target(&self, measure: &Measure) -> Option<&'a Target> {
        self.result.description.targets.iter().find(|target| target.measure == measure.name)
    }

    fn cell(&self, places: &[usize]) -> &'a Cell {
        &self.result.cells[self.result.description.grid.cell_at(places)]
    }

    fn mean(&self, cell: &Cell, measure: &Measure) -> f64 {
        if matches!(cell.status, Status::Failed(_)) { f64::NAN } else { cell.mean(measure.name).unwrap_or(f64::NAN) }
    }

    fn point(&self, x: f64, cell: &Cell, measure: &Measure) -> SweepPoint {
        let interval = cell.estimate(measure.name).and_then(|estimate| estimate.interval);
        let (low, high) = interval.unwrap_or((f64::NAN, f64::NAN));
        SweepPoint { x, mean: self.mean(cell, measure), low, high }
    }

    fn panel(&self, measure: &Measure, series: Vec<SweepSeries>) -> SweepPanel {
        let mut quantity = measure_quantity(measure);
        let means = || series.iter().flat_map(|s| &s.points).map(|p| p.mean).filter(|mean| mean.is_finite());
        let (low, high) = (means().fold(f64::INFINITY, f64::min), means().fold(0.0, f64::max));
        quantity.log = measure.name.starts_with("ttft") && low > 0.0 && high / low > 20.0;
        SweepPanel {
            measure: quantity,
            series,
            target: self.target(measure).map(|t| chart_target(t, measure)),
            interval: String::new(),
        }
    }

    fn subtitle(&self) -> String {
        let d = &self.result.description;
        let replications = match &d.until_halfwidth {
            Some(precision) => format!(
                "{} to {} replications, until {} is known to {}",
                d.replications, d.max_replications, precision.measure, precision.half_width
            ),
            None => format!("{} replications", d.replications),
        };
        format!("{}: {} cells, {replications} each, common random numbers, seed {}", d.name, d.cells(), d.seed)
    }

    fn heading(&self, title: String) -> Heading {
        let mut chars = title.chars();
        let title = chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default();
        Heading { title, subtitle: self.subtitle(), description: String::new() }
    }

    /// A line of cells along the axis `along`, at `places` of the others.
    fn series(&self, along: usize, places: &[usize], name: String, measure: &Measure) -> SweepSeries {
        let axis = &self.axes()[along];
        let mut points: Vec<SweepPoint> = (0..axis.values.len())
            .map(|place| {
                let mut places = places.to_vec();
                places[along] = place;
                self.point(x_of(axis, place), self.cell(&places), measure)
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        SweepSeries { name, points }
    }

    fn line(&self, measure: &Measure) -> Figure {
        let axis = &self.axes()[0];
        let series = vec![self.series(0, &[0], String::new(), measure)];
        sweep_line(&SweepData {
            heading: self.heading(self.line_title(axis, measure)),
            x: quantity(axis),
            panel: self.panel(measure, series),
        })
    }

    fn line_title(&self, axis: &Axis, measure: &Measure) -> String {
        let means: Vec<(usize, f64)> = (0..axis.values.len())
            .map(|place| (place, self.mean(self.cell(&[place]), measure)))
            .filter(|m| m.1.is_finite())
            .collect();
        let Some((best, worst)) = self.extremes(&means, measure) else {
            return format!("no value of {} has a {}", short(axis), name_of(measure));
        };
        let said = |(place, value): (usize, f64)| format!("{} at {}", show(measure, value), value_of(axis, place));
        let Some(target) = self.target(measure) else {
            return format!("{}: {}, {}", name_of(measure), said(best), said(worst));
        };
        let met: Vec<usize> = means.iter().filter(|(_, mean)| target.holds(*mean)).map(|(place, _)| *place).collect();
        match (met.first(), met.last()) {
            (None, _) => format!("no {} brings {}: the nearest is {}", short(axis), words(target), said(best)),
            (Some(_), _) if met.len() == means.len() => {
                format!("every {} keeps {}; {} at worst", short(axis), words(target), said(worst))
            }
            (Some(&first), Some(&last)) if last + 1 - first == met.len() && first != last => {
                format!(
                    "{} for {} from {} to {}; {} at worst",
                    words(target),
                    short(axis),
                    value_of(axis, first),
                    value_of(axis, last),
                    said(worst)
                )
            }
            _ => {
                let list = met.iter().take(4).map(|place| value_of(axis, *place)).collect::<Vec<_>>().join(", ");
                format!("{} for {} = {list} only; {} at worst", words(target), short(axis), said(worst))
            }
        }
    }

    /// The best and the worst of means by place.
    fn extremes(&self, means: &[(usize, f64)], measure: &Measure) -> Option<((usize, f64), (usize, f64))> {
        let sign = if measure.better == Better::Higher { -1.0 } else { 1.0 };
        let best = means.iter().copied().min_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)))?;
        let worst = means.iter().copied().max_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)))?;
        Some((best, worst))
    }

    /// Which of two axes lies along x: the rate, or else the one with more values.
    fn across(&self) -> (usize, usize) {
        match self.rate {
            Some(0) => (0, 1),
            Some(1) => (1, 0),
            _ if self.axes()[0].values.len() > self.axes()[1].values.len() => (0, 1),
            _ => (1, 0),
        }
    }

    fn map(&self, measure: &Measure) -> Figure {
        let (x, y) = self.across();
        let (columns, rows) = (&self.axes()[x], &self.axes()[y]);
        let at = |column: usize, row: usize| if x == 0 { self.cell(&[column, row]) } else { self.cell(&[row, column]) };
        let values: Vec<f64> = (0..rows.values.len())
            .flat_map(|row| (0..columns.values.len()).map(move |column| (column, row)))
            .map(|(column, row)| self.mean(at(column, row), measure))
            .collect();
        let known = || values.iter().copied().filter(|value| value.is_finite());
        let (low, high) = (known().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min), known().fold(0.0, f64::max));
        let mut drawn = measure_quantity(measure);
        drawn.log = measure.name.starts_with("ttft") && known().all(|v| v > 0.0) && high / low > 20.0;
        let best = self.result.ranking().first().filter(|_| !self.result.description.targets.is_empty()).map(|cell| {
            let places = self.result.description.grid.places(cell.cell);
            (places[x], places[y])
        });
        heat_map(&HeatMapData {
            heading: self.heading(self.map_title(measure, (x, y))),
            x_label: short(columns),
            x_values: (0..columns.values.len()).map(|place| columns.label(place)).collect(),
            y_label: short(rows),
            y_values: (0..rows.values.len()).map(|place| rows.label(place)).collect(),
            measure: drawn,
            values,
            target: self.target(measure).map(|target| chart_target(target, measure)),
            best,
        })
    }

    fn map_title(&self, measure: &Measure, (x, y): (usize, usize)) -> String {
        let own = self.target(measure);
        let targets: Vec<&Target> = own.map_or_else(|| self.result.description.targets.iter().collect(), |target| vec![target]);
        let meets = |cell: &Cell| targets.iter().all(|target| cell.mean(&target.measure).is_some_and(|mean| target.holds(mean)));
        let goal = targets.iter().map(|target| words(target)).collect::<Vec<_>>().join(" and ");
        let cells = &self.result.cells;
        let met: Vec<usize> = cells.iter().filter(|cell| meets(cell)).map(|cell| cell.cell).collect();
        let means: Vec<(usize, f64)> =
            cells.iter().map(|cell| (cell.cell, self.mean(cell, measure))).filter(|m| m.1.is_finite()).collect();
        let Some((best, worst)) = self.extremes(&means, measure) else { return format!("no cell has a {}", name_of(measure)) };
        let place = |cell: usize| self.place_words(cell);
        if targets.is_empty() {
            return format!(
                "{}: {} at {}, {} at {}",
                name_of(measure),
                show(measure, best.1),
                place(best.0),
                show(measure, worst.1),
                place(worst.0)
            );
        }
        if met.is_empty() {
            return format!(
                "no cell brings {goal}: {} is {} at best, at {}",
                name_of(measure),
                show(measure, best.1),
                place(best.0)
            );
        }
        if self.rate == Some(x) && (0..self.axes()[x].values.len()).all(|p| self.axes()[x].number(p).is_some()) {
            return self.reach_title((x, y), &goal, meets);
        }
        if met.len() == cells.len() {
            return format!("{goal} everywhere; {} at worst, at {}", show(measure, worst.1), place(worst.0));
        }
        let among: Vec<(usize, f64)> = means.into_iter().filter(|(cell, _)| met.contains(cell)).collect();
        let (_, edge) = self.extremes(&among, measure).unwrap_or((best, worst));
        format!(
            "{goal} in {} of {} cells, as far as {}; {} at worst, at {}",
            met.len(),
            cells.len(),
            place(edge.0),
            show(measure, worst.1),
            place(worst.0)
        )
    }

    /// How high a rate each value of the other axis carries.
    fn reach_title(&self, (x, y): (usize, usize), goal: &str, meets: impl Fn(&Cell) -> bool) -> String {
        let (rates, others) = (&self.axes()[x], &self.axes()[y]);
        let cell = |rate: usize, other: usize| if x == 0 { self.cell(&[rate, other]) } else { self.cell(&[other, rate]) };
        let mut order: Vec<usize> = (0..rates.values.len()).collect();
        order.sort_by(|a, b| x_of(rates, *a).total_cmp(&x_of(rates, *b)));
        // Up to the first rate that misses: beyond it nothing is promised.
        let reach = |other: usize| order.iter().take_while(|rate| meets(cell(**rate, other))).count();
        let reaches: Vec<usize> = (0..others.values.len()).map(reach).collect();
        let (most, least) = (*reaches.iter().max().unwrap_or(&0), *reaches.iter().min().unwrap_or(&0));
        let at = |wanted: usize| -> String {
            let all: Vec<usize> = (0..reaches.len()).filter(|other| reaches[*other] == wanted).collect();
            let name = short(others);
            match (all.first(), all.last()) {
                (Some(&a), Some(&b)) if a != b && b + 1 - a == all.len() => {
                    format!("{name} {} to {}", others.label(a), others.label(b))
                }
                (Some(&a), Some(&b)) if a != b => format!("{} values of {name} such as {}", all.len(), others.label(a)),
                (Some(&a), _) => format!("{name} {}", others.label(a)),
                _ => name,
            }
        };
        let rate = |count: usize| value_of(rates, order[count - 1]);
        match (most, least) {
            (0, _) => format!("{goal} holds at no {} from the lowest on", short(rates)),
            (most, least) if most == least => format!("{goal} up to {} for every {}", rate(most), short(others)),
            (most, 0) => {
                format!("{goal} up to {} with {}; with {} not even at {}", rate(most), at(most), at(0), value_of(rates, order[0]))
            }
            (most, least) => format!("{goal} up to {} with {}, only to {} with {}", rate(most), at(most), rate(least), at(least)),
        }
    }

    fn place_words(&self, cell: usize) -> String {
        let places = self.result.description.grid.places(cell);
        self.axes()
            .iter()
            .zip(places)
            .map(|(axis, place)| format!("{} {}", short(axis), axis.label(place)))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Places along an axis that get a line: all, or some at even steps.
    fn lines_of(&self, axis: usize) -> Vec<usize> {
        let count = self.axes()[axis].values.len();
        if count <= MOST_LINES {
            (0..count).collect()
        } else {
            (0..MOST_LINES).map(|i| i * (count - 1) / (MOST_LINES - 1)).collect()
        }
    }

    fn multiples(&self, measure: &Measure) -> Figure {
        let along = self.rate.unwrap_or(2);
        let mut others: Vec<usize> = (0..3).filter(|axis| *axis != along).collect();
        others.sort_by_key(|axis| std::cmp::Reverse(self.axes()[*axis].values.len().min(MOST_LINES + 1)));
        let (lines, panels) = (others[1], others[0]);
        let panel = |place: usize| {
            let series = self.lines_of(lines).into_iter().map(|line| {
                let mut places = vec![0; 3];
                (places[lines], places[panels]) = (line, place);
                self.series(along, &places, format!("{} {}", short(&self.axes()[lines]), self.axes()[lines].label(line)), measure)
            });
            let caption = format!("{} = {}", short(&self.axes()[panels]), self.axes()[panels].label(place));
            (caption, self.panel(measure, series.collect()))
        };
        let panels: Vec<(String, SweepPanel)> = (0..self.axes()[panels].values.len()).map(panel).collect();
        multiples(&MultiplesData {
            heading: self.heading(self.map_title(measure, (along, lines))),
            x: quantity(&self.axes()[along]),
            panels,
        })
    }

    /// Offered load against goodput, p99 and success, where at most one other axis is swept.
    fn load_curve(&self) -> Option<Figure> {
        let along = self.rate.filter(|rate| self.axes().len() <= 2 && self.axes()[*rate].number(0).is_some())?;
        let other = (0..self.axes().len()).find(|axis| *axis != along);
        let panel = |name: &str| {
            let measure = Measure::find(name)?;
            let series = match other {
                None => vec![self.series(along, &[0], String::new(), measure)],
                Some(other) => self
                    .lines_of(other)
                    .into_iter()
                    .map(|line| {
                        let mut places = vec![0; 2];
                        places[other] = line;
                        self.series(
                            along,
                            &places,
                            format!("{} {}", short(&self.axes()[other]), self.axes()[other].label(line)),
                            measure,
                        )
                    })
                    .collect(),
            };
            Some(self.panel(measure, series))
        };
        let panels: Vec<SweepPanel> = ["goodput", "ttft_p99", "completed_share"].into_iter().filter_map(panel).collect();
        let goodput = Measure::find("goodput")?;
        let means: Vec<(usize, f64)> =
            self.result.cells.iter().map(|c| (c.cell, self.mean(c, goodput))).filter(|m| m.1.is_finite()).collect();
        let (best, _) = self.extremes(&means, goodput)?;
        let title = format!("goodput peaks at {}, at {}", show(goodput, best.1), self.place_words(best.0));
        let ideal = self.axes()[along].paths[0].ends_with(".rate");
        Some(load_curve(&LoadCurveData { heading: self.heading(title), x: quantity(&self.axes()[along]), panels, ideal }))
    }

    /// Refusing against waiting, at one rate where rates are swept: the highest at which some setting meets the targets.
    fn pareto(&self) -> Option<Figure> {
        let (x, y) = (Measure::find("rate_529")?, Measure::find("ttft_p99")?);
        if self.axes().len() == 1 && self.rate.is_some() {
            return None;
        }
        let grid = &self.result.description.grid;
        let at_rate = |place: usize| move |cell: &&Cell| self.rate.is_none_or(|rate| grid.places(cell.cell)[rate] == place);
        let rate_place = self.rate.map_or(0, |rate| {
            let count = self.axes()[rate].values.len();
            let mut places: Vec<usize> = (0..count).collect();
            places.sort_by(|a, b| x_of(&self.axes()[rate], *b).total_cmp(&x_of(&self.axes()[rate], *a)));
            let contested = |place: &&usize| self.result.cells.iter().filter(at_rate(**place)).any(Cell::meets);
            places.iter().find(contested).or(places.first()).copied().unwrap_or(0)
        });
        let cells: Vec<&Cell> =
            self.result.cells.iter().filter(at_rate(rate_place)).filter(|cell| cell.status == Status::Ok).collect();
        let mut known: Vec<(&Cell, f64, f64)> =
            cells.iter().filter_map(|cell| Some((*cell, cell.mean(x.name)?, cell.mean(y.name)?))).collect();
        known.truncate(MOST_POINTS);
        if known.len() < 2 {
            return None;
        }
        let chosen = self
            .result
            .ranking()
            .into_iter()
            .find(|best| best.meets() && known.iter().any(|(cell, ..)| cell.cell == best.cell))
            .map(|cell| cell.cell);
        let dominated = |a: f64, b: f64| known.iter().any(|(_, x, y)| *x <= a && *y <= b && (*x < a || *y < b));
        let label = |cell: usize| {
            let places = grid.places(cell);
            let others = (0..places.len()).filter(|axis| Some(*axis) != self.rate);
            others.map(|axis| self.axes()[axis].label(places[axis])).collect::<Vec<_>>().join(", ")
        };
        let points: Vec<ParetoPoint> = known
            .iter()
            .map(|(cell, a, b)| ParetoPoint {
                x: *a,
                y: *b,
                label: label(cell.cell),
                on_front: !dominated(*a, *b),
                chosen: Some(cell.cell) == chosen,
            })
            .collect();
        let others: Vec<String> =
            self.axes().iter().enumerate().filter(|(axis, _)| Some(*axis) != self.rate).map(|(_, axis)| short(axis)).collect();
        let point_label = others.join(", ");
        let here = self.rate.map_or(String::new(), |rate| format!("at {}: ", value_of(&self.axes()[rate], rate_place)));
        let title = match points.iter().find(|point| point.chosen) {
            Some(point) => format!(
                "{here}{point_label} {} refuses {} and keeps p99 time to first token at {}",
                point.label,
                show(x, point.x),
                show(y, point.y)
            ),
            None => {
                let front = || points.iter().filter(|point| point.on_front);
                let first = front().min_by(|a, b| a.x.total_cmp(&b.x))?;
                let last = front().max_by(|a, b| a.x.total_cmp(&b.x))?;
                format!(
                    "{here}from {} refused and {} p99 ({}) to {} and {} ({})",
                    show(x, first.x),
                    show(y, first.y),
                    first.label,
                    show(x, last.x),
                    show(y, last.y),
                    last.label
                )
            }
        };
        Some(pareto(&ParetoData {
            heading: self.heading(title),
            x: measure_quantity(x),
            y: measure_quantity(y),
            point_label,
            points,
            x_target: self.target(x).map(|target| chart_target(target, x)),
            y_target: self.target(y).map(|target| chart_target(target, y)),
        }))
    }
}
