//! The sweep on one screen: the best cells, and why.

use std::fmt::Write as _;

use crate::experiment::measure_table::Measure;
use crate::experiment::sweep::{Axis, Cell, Status, SweepResult, Verdict};

use super::axes::{name_of, short, show_estimate, value_of, words};

/// Cells that are listed.
const LISTED: usize = 10;

/// The text.
pub fn sweep_text(result: &SweepResult) -> String {
    let d = &result.description;
    let runs = result.records.len();
    let mut text = format!("{}: {} cells, {runs} runs, seed {}\n", d.name, d.cells(), d.seed);
    let ranking = result.ranking();
    told_targets(result, &ranking, &mut text);
    let listed: Vec<&Cell> = if ranking.is_empty() { nearest(result) } else { ranking.clone() };
    rows(result, &listed[..listed.len().min(LISTED)], &mut text);
    if listed.len() > LISTED {
        let _ = writeln!(text, "  ... and {} more in cells.csv", listed.len() - LISTED);
    }
    why(result, &ranking, &mut text);
    by_rate(result, &mut text);
    troubles(result, &mut text);
    text
}

fn told_targets(result: &SweepResult, ranking: &[&Cell], text: &mut String) {
    let targets = &result.description.targets;
    if targets.is_empty() {
        let _ = writeln!(text, "no target given (`--target 'rate_529<=1%'`): cells by {}", result.description.best);
        return;
    }
    let goal = targets.iter().map(words).collect::<Vec<_>>().join(", ");
    let sure = ranking.iter().filter(|cell| cell.verdict() == Some(Verdict::Met)).count();
    let _ = match (ranking.len(), sure) {
        (0, _) => writeln!(text, "targets: {goal}: no cell meets them; the nearest ones:"),
        (n, sure) if n == sure => writeln!(text, "targets: {goal}: {n} cells meet them with their whole 95 % intervals"),
        (n, sure) => {
            writeln!(
                text,
                "targets: {goal}: {n} cells meet them, {sure} with their whole 95 % intervals, the others by their means only"
            )
        }
    };
}

/// Cells that miss the targets by the least: first by the greatest relative excess over a bound.
fn nearest(result: &SweepResult) -> Vec<&Cell> {
    let excess = |cell: &Cell| {
        let each = result.description.targets.iter().map(|target| {
            let mean = cell.mean(&target.measure).unwrap_or(f64::INFINITY);
            let over = if target.at_least { target.value - mean } else { mean - target.value };
            over / target.value.abs().max(1e-9)
        });
        each.fold(f64::NEG_INFINITY, f64::max)
    };
    let mut cells: Vec<&Cell> = result.cells.iter().filter(|cell| cell.status == Status::Ok).collect();
    cells.sort_by(|a, b| excess(a).total_cmp(&excess(b)).then(a.cell.cmp(&b.cell)));
    cells.truncate(3);
    cells
}

/// The measures that are listed.
fn columns(result: &SweepResult) -> Vec<&'static Measure> {
    let d = &result.description;
    let wanted = d.targets.iter().map(|target| target.measure.as_str()).chain([d.best.as_str(), "rate_529", "ttft_p99"]);
    let mut columns: Vec<&Measure> = Vec::new();
    for measure in wanted.filter_map(Measure::find) {
        if !columns.iter().any(|known| known.name == measure.name) {
            columns.push(measure);
        }
    }
    columns
}

fn rows(result: &SweepResult, cells: &[&Cell], text: &mut String) {
    let (grid, measures) = (&result.description.grid, columns(result));
    let mut table: Vec<Vec<String>> = Vec::new();
    let head =
        ["cell".to_owned()].into_iter().chain(grid.axes.iter().map(short)).chain(measures.iter().map(|m| m.name.to_owned()));
    table.push(head.chain(["targets".to_owned()]).collect());
    for cell in cells {
        let places = grid.places(cell.cell);
        let values = grid.axes.iter().zip(places).map(|(axis, place)| axis.label(place));
        let figures =
            measures.iter().map(|measure| cell.estimate(measure.name).map_or("-".to_owned(), |e| show_estimate(measure, e)));
        let verdict = match cell.verdict() {
            Some(Verdict::Met) => "met",
            Some(Verdict::Likely) => "met by the mean",
            Some(Verdict::Missed) => "missed",
            None => "",
        };
        table.push([cell.cell.to_string()].into_iter().chain(values).chain(figures).chain([verdict.to_owned()]).collect());
    }
    let widths: Vec<usize> =
        (0..table[0].len()).map(|column| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    for row in &table {
        let line = row.iter().zip(&widths).map(|(text, width)| format!("{text:<width$}")).collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "  {}", line.trim_end());
    }
}

fn why(result: &SweepResult, ranking: &[&Cell], text: &mut String) {
    let Some((best, rest)) = ranking.split_first() else { return };
    let d = &result.description;
    let measure = Measure::find(&d.best).map_or(d.best.as_str(), |measure| name_of(measure));
    let among = if d.targets.is_empty() { "of all cells" } else { "of the cells that meet the targets" };
    let _ = write!(text, "best {among} by {measure}: cell {} ({})", best.cell, d.grid.describe(best.cell));
    // Others may meet the targets less surely: the measure alone did not put those behind.
    let rivals: Vec<&&Cell> = rest.iter().take(50).filter(|cell| cell.verdict() == best.verdict()).collect();
    let alike: Vec<String> =
        rivals.iter().filter(|cell| result.cannot_tell(best.cell, cell.cell)).map(|cell| cell.cell.to_string()).collect();
    let _ = match alike.len() {
        0 if rivals.is_empty() => writeln!(text),
        0 => writeln!(text, "; its paired difference to each of the {} next is clear of 0", rivals.len()),
        1 => writeln!(text, "; cell {} cannot be told apart from it", alike[0]),
        n => writeln!(text, "; {n} cells cannot be told apart from it ({})", alike[..n.min(8)].join(", ")),
    };
}

/// The best setting at each rate, where rates are swept among others: at a given load there is no choice of load.
fn by_rate(result: &SweepResult, text: &mut String) {
    let grid = &result.description.grid;
    let Some(rate) = grid.axes.iter().position(Axis::is_rate).filter(|_| grid.axes.len() > 1) else { return };
    let ranking = result.ranking();
    let _ = writeln!(text, "best setting at each {}:", short(&grid.axes[rate]));
    for place in 0..grid.axes[rate].values.len() {
        let best = ranking.iter().find(|cell| grid.places(cell.cell)[rate] == place);
        let said = best.map_or("none meets the targets".to_owned(), |cell| {
            let places = grid.places(cell.cell);
            let others = grid.axes.iter().zip(places).enumerate().filter(|(axis, _)| *axis != rate);
            others.map(|(_, (axis, place))| format!("{} {}", short(axis), axis.label(place))).collect::<Vec<_>>().join(", ")
        });
        let _ = writeln!(text, "  {:>16}: {said}", value_of(&grid.axes[rate], place));
    }
}

fn troubles(result: &SweepResult, text: &mut String) {
    let grid = &result.description.grid;
    let mut told = 0;
    for cell in result.cells.iter().filter(|cell| cell.status != Status::Ok && cell.status != Status::Incomplete) {
        told += 1;
        if told <= LISTED {
            let (Status::Bounded(why) | Status::Failed(why)) = &cell.status else { continue };
            let why = why.lines().next().unwrap_or_default();
            let _ = writeln!(text, "cell {} {}: {why} ({})", cell.cell, cell.status.name(), grid.describe(cell.cell));
        }
    }
    if told > LISTED {
        let _ = writeln!(text, "... and {} more cells that failed or reached a bound", told - LISTED);
    }
    let incomplete = result.cells.iter().filter(|cell| cell.status == Status::Incomplete).count();
    if incomplete > 0 {
        let _ = writeln!(text, "{incomplete} of {} cells are not done", result.cells.len());
    }
    let saturated = result.cells.iter().filter(|cell| cell.warnings.iter().any(|(code, _)| code == "saturated")).count();
    if saturated > 0 {
        let _ = writeln!(
            text,
            "{saturated} cells are saturated: their latencies grow with the length of the run (column `warnings`)"
        );
    }
}
