//! The titles of a sweep's figures: each states what was found.

use crate::experiment::measure_table::{Better, Measure};
use crate::experiment::sweep::{Axis, Cell, Target};

use super::axes::{name_of, short, show, value_of, words, x_of};
use super::charts::View;

impl View<'_> {
    pub(super) fn line_title(&self, axis: &Axis, measure: &Measure) -> String {
        let means: Vec<(usize, f64)> = (0..axis.values.len())
            .map(|place| (place, self.mean(self.cell(&[place]), measure)))
            .filter(|m| m.1.is_finite())
            .collect();
        let Some((best, worst)) = self.extremes(&means, measure) else {
            return format!("no value of {} has a {}", short(axis), name_of(measure));
        };
        let said = |(place, value): (usize, f64)| format!("{} at {} {}", show(measure, value), short(axis), axis.label(place));
        let Some(target) = self.target(measure) else {
            if best.1 != worst.1 {
                let (best_cell, worst_cell) = (self.cell(&[best.0]).cell, self.cell(&[worst.0]).cell);
                if self.result.cannot_tell_by(measure.name, best_cell, worst_cell) {
                    let (a, b) = (said(best), said(worst));
                    return format!(
                        "{}: {} has no clear effect ({a}, {b}; the difference may be 0)",
                        name_of(measure),
                        short(axis)
                    );
                }
            }
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

    pub(super) fn map_title(&self, measure: &Measure) -> String {
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
        if self.rate.is_some_and(|rate| (0..self.axes()[rate].values.len()).all(|p| self.axes()[rate].number(p).is_some())) {
            return self.reach_title(&goal, meets);
        }
        if met.len() == cells.len() {
            return format!("{goal} everywhere; {} at worst, at {}", show(measure, worst.1), place(worst.0));
        }
        let among: Vec<(usize, f64)> = means.into_iter().filter(|(cell, _)| met.contains(cell)).collect();
        let (_, edge) = self.extremes(&among, measure).unwrap_or((best, worst));
        let edge = if own.is_some() {
            format!("just so at {} ({})", place(edge.0), show(measure, edge.1))
        } else {
            format!("with {} or better there", show(measure, edge.1))
        };
        format!(
            "{goal} in {} of {} cells, {edge}; {} at worst, at {}",
            met.len(),
            cells.len(),
            show(measure, worst.1),
            place(worst.0)
        )
    }

    /// How high a rate each setting of the other axes carries.
    fn reach_title(&self, goal: &str, meets: impl Fn(&Cell) -> bool) -> String {
        let along = self.rate.expect("only called where rates are swept");
        let (rates, grid) = (&self.axes()[along], &self.result.description.grid);
        let mut order: Vec<usize> = (0..rates.values.len()).collect();
        order.sort_by(|a, b| x_of(rates, *a).total_cmp(&x_of(rates, *b)));
        // Up to the first rate that misses: beyond it nothing is promised.
        let reach = |setting: &Vec<usize>| {
            let cell = |rate: usize| {
                let mut places = setting.clone();
                places[along] = rate;
                self.cell(&places)
            };
            order.iter().take_while(|rate| meets(cell(**rate))).count()
        };
        let all = self.result.cells.iter().map(|cell| grid.places(cell.cell));
        let settings: Vec<Vec<usize>> = all.filter(|places| places[along] == 0).collect();
        let reaches: Vec<usize> = settings.iter().map(reach).collect();
        let (most, least) = (*reaches.iter().max().unwrap_or(&0), *reaches.iter().min().unwrap_or(&0));
        let at = |wanted: usize| {
            let which: Vec<usize> = (0..reaches.len()).filter(|setting| reaches[*setting] == wanted).collect();
            self.settings_words(along, &settings, &which)
        };
        let rate = |count: usize| value_of(rates, order[count - 1]);
        match (most, least) {
            (0, _) => format!("{goal} with no setting, not even at {}", value_of(rates, order[0])),
            (most, least) if most == least => format!("{goal} up to {} with every setting", rate(most)),
            (most, 0) => {
                format!("{goal} up to {} with {}; with {} not even at {}", rate(most), at(most), at(0), value_of(rates, order[0]))
            }
            (most, least) => format!("{goal} up to {} with {}, only to {} with {}", rate(most), at(most), rate(least), at(least)),
        }
    }

    /// Settings of all axes but one, in words: a run of values of a single axis, or how many there are and the first.
    fn settings_words(&self, along: usize, settings: &[Vec<usize>], which: &[usize]) -> String {
        let (Some(&first), Some(&last)) = (which.first(), which.last()) else { return "no setting".to_owned() };
        let others: Vec<usize> = (0..self.axes().len()).filter(|axis| *axis != along).collect();
        let words = |setting: usize| {
            let one =
                |axis: &usize| format!("{} {}", short(&self.axes()[*axis]), self.axes()[*axis].label(settings[setting][*axis]));
            others.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        match others.as_slice() {
            [] => "the scenario".to_owned(),
            [axis] if first != last && last + 1 - first == which.len() => {
                format!("{} to {}", words(first), self.axes()[*axis].label(settings[last][*axis]))
            }
            _ if which.len() > 1 => format!("{} settings such as {}", which.len(), words(first)),
            _ => words(first),
        }
    }

    pub(super) fn place_words(&self, cell: usize) -> String {
        let places = self.result.description.grid.places(cell);
        self.axes()
            .iter()
            .zip(places)
            .map(|(axis, place)| format!("{} {}", short(axis), axis.label(place)))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The best and the worst of means by place.
    pub(super) fn extremes(&self, means: &[(usize, f64)], measure: &Measure) -> Option<((usize, f64), (usize, f64))> {
        let sign = if measure.better == Better::Higher { -1.0 } else { 1.0 };
        let best = means.iter().copied().min_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)))?;
        let worst = means.iter().copied().max_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)))?;
        Some((best, worst))
    }
}
