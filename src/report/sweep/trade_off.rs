//! Refusing against waiting: the settings no other beats in both.

use crate::experiment::measure_table::Measure;
use crate::experiment::sweep::{Cell, Status};
use crate::report::charts::Chart;
use crate::report::charts::data::{ParetoData, ParetoPoint};

use super::axes::{chart_target, measure_quantity, short, show, value_of, x_of};
use super::charts::View;

/// Most cells that are drawn.
const MOST_POINTS: usize = 400;

impl View<'_> {
    /// Refusing against waiting, at one rate where rates are swept: the highest at which some setting meets the targets.
    pub(super) fn pareto(&self) -> Option<Chart> {
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
            .find(|best| self.chooses() && best.meets() && known.iter().any(|(cell, ..)| cell.cell == best.cell))
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
        let words_of = |cell: Option<usize>| {
            let places = grid.places(cell.unwrap_or(0));
            let others = (0..places.len()).filter(|axis| Some(*axis) != self.rate);
            others
                .map(|axis| format!("{} {}", short(&self.axes()[axis]), self.axes()[axis].label(places[axis])))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let here = self.rate.map_or(String::new(), |rate| format!("at {}: ", value_of(&self.axes()[rate], rate_place)));
        let title = match points.iter().find(|point| point.chosen) {
            Some(point) => format!(
                "{here}{} refuses {} and keeps p99 time to first token at {}",
                words_of(chosen),
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
        Some(Chart::Pareto(ParetoData {
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
