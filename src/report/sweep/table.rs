//! The sweep on one screen: the best cells, and why.

use crate::experiment::measure_table::Measure;
use crate::experiment::sweep::{Axis, Cell, Status, SweepResult, Verdict};
use crate::report::screen::{Block, COLUMNS, Column, Item, Layout, List, Row, Screen, Table};

use super::axes::{name_of, short, show_estimate, value_of, words};

/// Cells that are listed on a screen.
const LISTED: usize = 10;
/// Cells that are listed on a page.
const MOST_CELLS: usize = 500;

/// The text, of 80 columns.
pub fn sweep_text(result: &SweepResult) -> String {
    sweep_screen(result).to_text(COLUMNS)
}

/// The sweep in blocks: what it is and whether targets are met, the best cells, why, and what went wrong.
pub fn sweep_screen(result: &SweepResult) -> Screen {
    let d = &result.description;
    let what = format!("{}: {} cells, {} runs, seed {}", d.name, d.cells(), result.records.len(), d.seed);
    let ranking = result.ranking();
    let listed: Vec<&Cell> = if ranking.is_empty() { nearest(result) } else { ranking.clone() };
    let mut table = cells_table(result, &listed[..listed.len().min(LISTED)]);
    if listed.len() > LISTED {
        table.notes.push(format!("... and {} more in cells.csv", listed.len() - LISTED));
    }
    let told = told_targets(result, &ranking);
    if !result.is_complete() {
        // Which cell is best, and whether none meets the targets, is open as long as a cell is.
        let blocks = [Some(Block::Table(table)), troubles(result).map(Block::List)];
        let lead = vec![format!("NOT FINISHED: {}; {GO_ON}", done(result)), what, told];
        return Screen { lead, blocks: blocks.into_iter().flatten().collect() };
    }
    let blocks = [
        Some(Block::Table(table)),
        why(result, &ranking).map(Block::Text),
        by_rate(result).map(Block::List),
        troubles(result).map(Block::List),
    ];
    Screen { lead: vec![what, told], blocks: blocks.into_iter().flatten().collect() }
}

/// How a sweep that was stopped is finished.
pub(super) const GO_ON: &str = "finish it with the command that began it and `--resume`";

/// How many cells are done, of a sweep that was stopped.
pub(super) fn done(result: &SweepResult) -> String {
    format!("{} of {} cells are done", result.done(), result.cells.len())
}

/// All cells in their order, as far as a page has room for them.
pub fn sweep_cells(result: &SweepResult) -> Table {
    let cells: Vec<&Cell> = result.cells.iter().take(MOST_CELLS).collect();
    let mut table = cells_table(result, &cells);
    table.columns.push(Column { name: "status".to_owned(), rank: 0 });
    table.rows.iter_mut().zip(&cells).for_each(|(row, cell)| row.cells.push(cell.status.name().to_owned()));
    if result.cells.len() > MOST_CELLS {
        table.notes.push(format!("... and {} more in cells.csv", result.cells.len() - MOST_CELLS));
    }
    table
}

/// What was found, in a sentence without a full stop: whether targets are met, or which cell is best where there is none.
pub fn sweep_headline(result: &SweepResult) -> String {
    let ranking = result.ranking();
    if !result.is_complete() {
        return format!("not finished: {}; {}", done(result), told_targets(result, &ranking));
    }
    let Some(best) = ranking.first().filter(|_| result.description.targets.is_empty()) else {
        return told_targets(result, &ranking);
    };
    let others = match alike(result, &ranking).len() {
        0 => String::new(),
        1 => ", not to be told apart from another one".to_owned(),
        n => format!(", not to be told apart from {n} others"),
    };
    format!("best of {} cells by {}: cell {}{others}", result.cells.len(), best_name(result), best.cell)
}

pub(super) fn told_targets(result: &SweepResult, ranking: &[&Cell]) -> String {
    let targets = &result.description.targets;
    if !result.is_complete() {
        let so_far = result.done();
        if targets.is_empty() {
            return format!("so far, the {so_far} cells that are done, by {}:", result.description.best);
        }
        let goal = targets.iter().map(words).collect::<Vec<_>>().join(", ");
        let met = ranking.len();
        return format!(
            "targets: {goal}: met so far by the means of {met} of the {so_far} cells that are done; the others are open"
        );
    }
    if targets.is_empty() {
        return format!("no target given (`--target 'rate_529<=1%'`): cells by {}", result.description.best);
    }
    let goal = targets.iter().map(words).collect::<Vec<_>>().join(", ");
    let sure = ranking.iter().filter(|cell| cell.verdict() == Some(Verdict::Met)).count();
    match (ranking.len(), sure) {
        (n, 0) if n > 0 => format!("targets: {goal}: {n} cells meet them by their means, none with whole 95 % intervals"),
        (0, _) => format!("targets: {goal}: no cell meets them; the nearest ones:"),
        (n, sure) if n == sure => format!("targets: {goal}: {n} cells meet them with their whole 95 % intervals"),
        (n, sure) => {
            format!(
                "targets: {goal}: {n} cells meet them, {sure} with their whole 95 % intervals, the others by their means only"
            )
        }
    }
}

/// Cells that miss the targets by the least: first by the greatest relative excess over a bound.
pub(super) fn nearest(result: &SweepResult) -> Vec<&Cell> {
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
pub(super) fn columns(result: &SweepResult) -> Vec<&'static Measure> {
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

fn cells_table(result: &SweepResult, cells: &[&Cell]) -> Table {
    let (grid, measures) = (&result.description.grid, columns(result));
    let figures = measures.iter().zip(2u8..).map(|(measure, rank)| Column { name: measure.name.to_owned(), rank });
    let axes = grid.axes.iter().map(|axis| Column { name: short(axis), rank: 0 });
    let rows = cells.iter().map(|cell| {
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
        Row { name: cell.cell.to_string(), cells: values.chain(figures).chain([verdict.to_owned()]).collect() }
    });
    Table {
        title: "cell".to_owned(),
        rows: rows.collect(),
        columns: axes.chain(figures).chain([Column { name: "targets".to_owned(), rank: 1 }]).collect(),
        notes: Vec::new(),
        layout: Layout::Listing,
    }
}

/// The measure that orders the cells.
fn best_name(result: &SweepResult) -> &str {
    let best = &result.description.best;
    Measure::find(best).map_or(best.as_str(), |measure| name_of(measure))
}

/// Of the cells behind the best one, those that meet the targets as surely: the measure alone put them behind.
fn rivals<'c>(ranking: &[&'c Cell]) -> Vec<&'c Cell> {
    let Some((best, rest)) = ranking.split_first() else { return Vec::new() };
    rest.iter().take(50).copied().filter(|cell| cell.verdict() == best.verdict()).collect()
}

/// The rivals that cannot be told apart from the best cell.
fn alike(result: &SweepResult, ranking: &[&Cell]) -> Vec<usize> {
    let told = |cell: &&Cell| result.cannot_tell(ranking[0].cell, cell.cell);
    rivals(ranking).into_iter().filter(told).map(|cell| cell.cell).collect()
}

pub(super) fn why(result: &SweepResult, ranking: &[&Cell]) -> Option<String> {
    let best = ranking.first()?;
    let d = &result.description;
    let among = if d.targets.is_empty() { "of all cells" } else { "of the cells that meet the targets" };
    let said = format!("best {among} by {}: cell {} ({})", best_name(result), best.cell, d.grid.describe(best.cell));
    let alike: Vec<String> = alike(result, ranking).iter().map(usize::to_string).collect();
    Some(match (alike.len(), rivals(ranking).len()) {
        (0, 0) => said,
        (0, 1) => format!("{said}; its paired difference to the next is clear of 0"),
        (0, rivals) => format!("{said}; its paired difference to each of the {rivals} next is clear of 0"),
        (1, _) => format!("{said}; cell {} cannot be told apart from it", alike[0]),
        (n, _) => format!("{said}; {n} cells cannot be told apart from it ({})", alike[..n.min(8)].join(", ")),
    })
}

/// The best setting at each rate, where rates are swept among others: at a given load there is no choice of load.
fn by_rate(result: &SweepResult) -> Option<List> {
    let grid = &result.description.grid;
    let rate = grid.axes.iter().position(Axis::is_rate).filter(|_| grid.axes.len() > 1)?;
    let ranking = result.ranking();
    let item = |place: usize| {
        let best = ranking.iter().find(|cell| grid.places(cell.cell)[rate] == place);
        let said = best.map_or("none meets the targets".to_owned(), |cell| {
            let places = grid.places(cell.cell);
            let others = grid.axes.iter().zip(places).enumerate().filter(|(axis, _)| *axis != rate);
            others.map(|(_, (axis, place))| format!("{} {}", short(axis), axis.label(place))).collect::<Vec<_>>().join(", ")
        });
        Item { text: format!("{}: {said}", value_of(&grid.axes[rate], place)), hint: None }
    };
    Some(List {
        title: format!("best setting at each {}", short(&grid.axes[rate])),
        items: (0..grid.axes[rate].values.len()).map(item).collect(),
        more: String::new(),
        warns: false,
    })
}

fn troubles(result: &SweepResult) -> Option<List> {
    let grid = &result.description.grid;
    let failed = result.cells.iter().filter_map(|cell| match &cell.status {
        Status::Bounded(why) | Status::Failed(why) => {
            let why = why.lines().next().unwrap_or_default();
            Some(format!("cell {} {}: {why} ({})", cell.cell, cell.status.name(), grid.describe(cell.cell)))
        }
        Status::Ok | Status::Incomplete => None,
    });
    let failed: Vec<String> = failed.collect();
    let mut said: Vec<String> = failed.iter().take(LISTED).cloned().collect();
    if failed.len() > LISTED {
        said.push(format!("... and {} more cells that failed or reached a bound", failed.len() - LISTED));
    }
    let incomplete = result.cells.iter().filter(|cell| cell.status == Status::Incomplete).count();
    if incomplete > 0 {
        said.push(format!("{incomplete} of {} cells are not done: figures and charts are of the others", result.cells.len()));
    }
    let saturated = result.cells.iter().filter(|cell| cell.warnings.iter().any(|(code, _)| code == "saturated")).count();
    if saturated > 0 {
        let cells = if saturated == 1 {
            "1 cell is saturated: its".to_owned()
        } else {
            format!("{saturated} cells are saturated: their")
        };
        said.push(format!("{cells} latencies grow with the length of the run (column `warnings`)"));
    }
    let items: Vec<Item> = said.into_iter().map(|text| Item { text, hint: None }).collect();
    (!items.is_empty()).then(|| List { title: "warnings".to_owned(), items, more: String::new(), warns: true })
}
