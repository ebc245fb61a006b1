//! The verdict of a sweep in words, and the figures of its best cell.

use crate::experiment::measure_table::Measure;
use crate::experiment::sweep::{Cell, SweepResult};

use super::axes::{name_of, show, show_estimate};
use super::table::{GO_ON, columns, done, nearest, why};

/// A figure of the best cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BestFigure {
    /// What it is.
    pub label: String,
    /// The mean.
    pub value: String,
    /// Its interval; empty of a single replication.
    pub interval: String,
}

/// Sentences: what to set, why that cell, and what that brings against the baseline. Names of settings
/// stand in back quotes.
pub fn sweep_findings(result: &SweepResult) -> Vec<String> {
    let ranking = result.ranking();
    let mut said = Vec::new();
    if !result.is_complete() {
        said.push(format!("Not finished: {}; {GO_ON}.", done(result)));
        said.push("Which cell is best, and which meet the targets, is open until all are done.".to_owned());
        return said;
    }
    let Some(best) = ranking.first() else {
        if let Some(near) = nearest(result).first() {
            let settings = result.description.grid.describe(near.cell);
            said.push(format!("Nearest to the targets: cell {} ({settings}): {}.", near.cell, told(result, near)));
        }
        said.push("Widen the grid, or loosen the targets: no setting that was tried is good enough.".to_owned());
        return said;
    };
    let grid = &result.description.grid;
    let of = |load: bool| {
        let axes = grid.axes.iter().zip(grid.places(best.cell)).filter(|(axis, _)| axis.is_rate() == load);
        let settings = axes.flat_map(|(axis, place)| axis.paths.iter().zip(&axis.values[place]));
        settings.map(|(path, value)| format!("`{path} = {value}`")).collect::<Vec<_>>().join(", ")
    };
    // Load is not chosen: it is what a setting has to carry.
    let choice = match (of(true), of(false)) {
        (load, settings) if settings.is_empty() => format!("Best at {load}"),
        (load, settings) if load.is_empty() && result.description.targets.is_empty() => {
            format!("Best of those tried is {settings}")
        }
        (load, settings) if load.is_empty() => format!("Set {settings}"),
        (load, settings) => format!("At {load}, set {settings}"),
    };
    said.push(format!("{choice}: {}.", told(result, best)));
    said.extend(why(result, &ranking).as_deref().map(sentence));
    said.extend(against_baseline(result, best));
    said
}

/// The figures of a cell that targets and order look at.
fn told(result: &SweepResult, cell: &Cell) -> String {
    let figure = |m: &'static Measure| Some(format!("{} {}", name_of(m), show_estimate(m, cell.estimate(m.name)?)));
    columns(result).into_iter().filter_map(figure).collect::<Vec<_>>().join(", ")
}

/// The paired differences of the best cell to the baseline, where they are clear of 0.
fn against_baseline(result: &SweepResult, best: &Cell) -> Option<String> {
    if best.cell == result.description.baseline {
        return None;
    }
    let differences = result.differences();
    let clear = |measure: &&Measure| {
        let of = Measure::place(measure.name)?;
        let paired = &differences.iter().find(|d| d.cell == best.cell && d.measure == of)?.paired;
        let interval = paired.difference.interval().filter(|i| i.low > 0.0 || i.high < 0.0)?;
        let signed = |value: f64| format!("{}{}", if value < 0.0 { "−" } else { "+" }, show(measure, value.abs()));
        Some(format!(
            "{} {} [{}, {}]",
            name_of(measure),
            signed(paired.difference.mean),
            signed(interval.low),
            signed(interval.high)
        ))
    };
    let clear: Vec<String> = columns(result).iter().filter_map(clear).collect();
    let baseline =
        format!("cell {} ({})", result.description.baseline, result.description.grid.describe(result.description.baseline));
    (!clear.is_empty()).then(|| format!("Against the baseline, {baseline}, paired by replication: {}.", clear.join(", ")))
}

/// The figures of the best cell that targets and order look at; none as long as a cell is open, which may be better.
pub fn best_figures(result: &SweepResult) -> Vec<BestFigure> {
    let ranking = result.ranking();
    let Some(best) = ranking.first().filter(|_| result.is_complete()) else { return Vec::new() };
    let figure = |measure: &'static Measure| {
        let estimate = best.estimate(measure.name)?;
        let interval = estimate.interval.map(|(low, high)| format!("{} to {}", show(measure, low), show(measure, high)));
        let label = format!("Best cell: {}", name_of(measure));
        Some(BestFigure { label, value: show(measure, estimate.mean), interval: interval.unwrap_or_default() })
    };
    columns(result).into_iter().filter_map(figure).take(4).collect()
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let upper: String = chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default();
    format!("{upper}.")
}
