//! The figures of a sweep, by its shape: lines for one axis, heat maps for two, small multiples for three; the trade-off
//! between refusing and waiting; and offered load against what comes of it.

use crate::experiment::measure_table::Measure;
use crate::experiment::sweep::{Axis, Cell, Status, SweepResult, Target};
use crate::report::charts::data::{
    Heading, HeatMapData, LoadCurveData, MultiplesData, SweepData, SweepPanel, SweepPoint, SweepSeries,
};
use crate::report::charts::{Chart, Figure};

use super::axes::{chart_target, labelled, measure_quantity, quantity, short, show, x_of};
use super::table::done;

/// What is always drawn.
const DRAWN: [&str; 3] = ["rate_529", "ttft_p99", "goodput"];
/// Most lines in one panel.
const MOST_LINES: usize = 6;

/// A figure with the name of its file, without ending.
#[derive(Debug)]
pub struct SweepFigure {
    /// `charts/heat-map-rate_529`.
    pub name: String,
    /// What it is drawn from.
    pub chart: Chart,
    /// The figure, on a wide sheet.
    pub figure: Figure,
}

/// All figures that the shape of the sweep asks for.
pub fn sweep_figures(result: &SweepResult) -> Vec<SweepFigure> {
    let view = View::new(result);
    let mut figures = Vec::new();
    let mut add = |name: String, chart: Option<Chart>| {
        figures.extend(chart.map(|chart| SweepFigure { name, figure: chart.figure(), chart }));
    };
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
pub(super) struct View<'a> {
    pub(super) result: &'a SweepResult,
    /// The axis that is a rate of arrivals, if there is one.
    pub(super) rate: Option<usize>,
}

impl<'a> View<'a> {
    fn new(result: &'a SweepResult) -> Self {
        Self { result, rate: result.description.grid.axes.iter().position(Axis::is_rate) }
    }

    /// Whether a best cell is marked: one that meets targets, of a sweep of which no cell is open.
    pub(super) fn chooses(&self) -> bool {
        self.result.is_complete() && !self.result.description.targets.is_empty()
    }

    pub(super) fn axes(&self) -> &'a [Axis] {
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

    pub(super) fn target(&self, measure: &Measure) -> Option<&'a Target> {
        self.result.description.targets.iter().find(|target| target.measure == measure.name)
    }

    pub(super) fn cell(&self, places: &[usize]) -> &'a Cell {
        &self.result.cells[self.result.description.grid.cell_at(places)]
    }

    pub(super) fn mean(&self, cell: &Cell, measure: &Measure) -> f64 {
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
            None if d.replications == 1 => "1 replication".to_owned(),
            None => format!("{} replications", d.replications),
        };
        format!("{}: {} cells, {replications} each, common random numbers, seed {}", d.name, d.cells(), d.seed)
    }

    pub(super) fn heading(&self, title: String) -> Heading {
        let title = if self.result.is_complete() { title } else { format!("so far, {}: {title}", done(self.result)) };
        // The name of a field stays as it is written.
        let is_field = title.split(' ').next().is_some_and(|word| word.contains(['_', '.']));
        let mut chars = title.chars();
        let upper = chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default();
        Heading { title: if is_field { title } else { upper }, subtitle: self.subtitle(), ..Heading::default() }
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

    fn line(&self, measure: &Measure) -> Chart {
        let axis = &self.axes()[0];
        let series = vec![self.series(0, &[0], String::new(), measure)];
        Chart::Line(SweepData {
            heading: self.heading(self.line_title(axis, measure)),
            x: quantity(axis),
            panel: self.panel(measure, series),
        })
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

    fn map(&self, measure: &Measure) -> Chart {
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
        let best = self.result.ranking().first().filter(|_| self.chooses()).map(|cell| {
            let places = self.result.description.grid.places(cell.cell);
            (places[x], places[y])
        });
        Chart::HeatMap(HeatMapData {
            heading: self.heading(self.map_title(measure)),
            x_label: labelled(columns),
            x_values: (0..columns.values.len()).map(|place| columns.label(place)).collect(),
            y_label: labelled(rows),
            y_values: (0..rows.values.len()).map(|place| rows.label(place)).collect(),
            measure: drawn,
            values,
            target: self.target(measure).map(|target| chart_target(target, measure)),
            best,
        })
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

    fn multiples(&self, measure: &Measure) -> Chart {
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
        Chart::Multiples(MultiplesData {
            heading: self.heading(self.map_title(measure)),
            x: quantity(&self.axes()[along]),
            panels,
        })
    }

    /// Offered load against goodput, p99 and success, where at most one other axis is swept.
    fn load_curve(&self) -> Option<Chart> {
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
                        self.series(along, &places, self.axes()[other].label(line), measure)
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
        let mut heading = self.heading(title);
        if let Some(other) = other {
            heading.subtitle += &format!("; a line for each {}", short(&self.axes()[other]));
        }
        Some(Chart::LoadCurve(LoadCurveData { heading, x: quantity(&self.axes()[along]), panels, ideal }))
    }
}
