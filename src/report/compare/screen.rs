//! A comparison for people.

use crate::experiment::compare::{Against, Comparison, MeasureComparison, Standing, UnitComparison};
use crate::experiment::measure_table::{MEASURES, Measure, MeasureUnit};
use crate::report::screen::{Block, Column, Item, Layout, List, Row, Screen, Table};
use crate::report::sweep::show;

/// Units of a sweep that are told one by one, at most.
const MOST_UNITS: usize = 12;

/// What differs, as blocks. `all` lists measures without a difference too; `broken` is what `--fail-if-worse` found.
pub fn comparison_screen(comparison: &Comparison, all: bool, broken: &[String]) -> Screen {
    let names = letters(comparison);
    let mut screen = Screen { lead: vec![finding(comparison, broken)], blocks: Vec::new() };
    let sides = comparison.sides.iter().zip(&names).map(|(side, letter)| Item {
        text: format!("{letter}: {} (scenario {}, seed {})", side.name, side.scenario, side.seed),
        hint: None,
    });
    screen.blocks.push(list("compared", sides.collect()));
    screen.blocks.push(scenarios(comparison, &names));
    let told: Vec<&UnitComparison> = comparison.units.iter().filter(|unit| all || differs(unit)).collect();
    screen.blocks.extend(told.iter().take(MOST_UNITS).map(|unit| Block::Table(figures(unit, &names, all))));
    if told.len() > MOST_UNITS {
        screen.blocks.push(Block::Text(format!(
            "... and {} more cells with differences: `--format csv` has all of them",
            told.len() - MOST_UNITS
        )));
    }
    let same = comparison.units.len() - told.len();
    if same > 0 && comparison.units.len() > 1 {
        screen.blocks.push(Block::Text(format!("{same} of {} cells do not differ at all", comparison.units.len())));
    }
    screen.blocks.extend(notes(comparison, &names).map(Block::Text));
    if !broken.is_empty() {
        let items = broken.iter().map(|text| Item { text: text.clone(), hint: None }).collect();
        screen.blocks.push(Block::List(List { title: "worse".to_owned(), items, more: String::new(), warns: true }));
    }
    screen
}

/// A, B, C ... for the sides; numbers where the alphabet ends.
fn letters(comparison: &Comparison) -> Vec<String> {
    let letter = |at: usize| u8::try_from(at).ok().filter(|at| *at < 26).map(|at| char::from(b'A' + at).to_string());
    (0..comparison.sides.len()).map(|at| letter(at).unwrap_or_else(|| format!("#{}", at + 1))).collect()
}

fn list(title: &str, items: Vec<Item>) -> Block {
    Block::List(List { title: title.to_owned(), items, more: String::new(), warns: false })
}

/// The comparison in a sentence.
fn finding(comparison: &Comparison, broken: &[String]) -> String {
    let standings = || {
        let each = comparison.units.iter().flat_map(|unit| &unit.measures).flat_map(|found| &found.against);
        each.flatten().map(|against| against.standing)
    };
    let count = |wanted: Standing| standings().filter(|standing| *standing == wanted).count();
    let (worse, better, unclear) = (count(Standing::Worse), count(Standing::Better), count(Standing::Unclear));
    if comparison.units.is_empty() {
        return "nothing to compare: no cell was run on all sides".to_owned();
    }
    let said = match (worse, better, unclear) {
        (0, 0, 0) if standings().all(|standing| standing == Standing::Same) => "no measure differs".to_owned(),
        (0, 0, 0) => "no measure got better or worse".to_owned(),
        (0, 0, n) => format!("no measure surely got better or worse (cannot be told apart: {n})"),
        (worse, better, 0) => format!("better: {better}, worse: {worse}"),
        (worse, better, n) => format!("better: {better}, worse: {worse}, cannot be told apart: {n}"),
    };
    let single = comparison.units.iter().any(|unit| unit.replications.iter().any(|n| *n < 2));
    let said = if single && worse + better > 0 { format!("by a single run: {said}") } else { said };
    if broken.is_empty() { said } else { format!("{said}; worse beyond what is accepted: {}", broken.len()) }
}

fn scenarios(comparison: &Comparison, names: &[String]) -> Block {
    if comparison.fields.is_empty() {
        return Block::Text("the scenarios are the same".to_owned());
    }
    let row = |field: &crate::experiment::compare::FieldDifference| Row {
        name: field.path.clone(),
        cells: field.values.iter().map(|value| value.clone().unwrap_or_else(|| "-".to_owned())).collect(),
    };
    Block::Table(Table {
        title: "what differs in the scenarios".to_owned(),
        columns: names.iter().map(|name| Column { name: name.clone(), rank: 0 }).collect(),
        rows: comparison.fields.iter().map(row).collect(),
        notes: Vec::new(),
        layout: Layout::Listing,
    })
}

fn is_told(found: &MeasureComparison) -> bool {
    let one_sided = || found.means.iter().any(|mean| mean.is_some() != found.means[0].is_some());
    found.against.iter().flatten().any(|against| against.standing != Standing::Same) || one_sided()
}

fn differs(unit: &UnitComparison) -> bool {
    unit.measures.iter().any(is_told)
}

fn figures(unit: &UnitComparison, names: &[String], all: bool) -> Table {
    let mut columns = vec![Column { name: names[0].clone(), rank: 2 }];
    for name in &names[1..] {
        columns.push(Column { name: name.clone(), rank: 2 });
        columns.push(Column { name: format!("{name} - {}", names[0]), rank: 0 });
        columns.push(Column { name: "verdict".to_owned(), rank: 1 });
    }
    let told = unit.measures.iter().filter(|found| all || is_told(found));
    let rows: Vec<Row> = told.map(row).collect();
    let same = unit.measures.len() - rows.len();
    let notes = if same > 0 { vec![format!("{same} measures do not differ (`--all` lists them)")] } else { Vec::new() };
    let title = if unit.label.is_empty() { "what differs in the results".to_owned() } else { unit.label.clone() };
    Table { title, columns, rows, notes, layout: Layout::Listing }
}

fn row(found: &MeasureComparison) -> Row {
    let measure = &MEASURES[found.measure];
    let value = |mean: Option<f64>| mean.map_or("-".to_owned(), |mean| show(measure, mean));
    let mut cells = vec![value(found.means[0])];
    for (mean, against) in found.means[1..].iter().zip(&found.against) {
        cells.push(value(*mean));
        cells.push(against.as_ref().map_or("-".to_owned(), |against| difference(measure, against)));
        cells.push(against.as_ref().map_or("", verdict).to_owned());
    }
    Row { name: measure.name.to_owned(), cells }
}

/// What a difference says; a question mark where one run alone says so.
const fn verdict(against: &Against) -> &'static str {
    match (against.standing, against.interval.is_some()) {
        (Standing::Same, _) => "same",
        (Standing::Unclear, _) => "cannot be told",
        (Standing::Better, true) => "better",
        (Standing::Better, false) => "better?",
        (Standing::Worse, true) => "worse",
        (Standing::Worse, false) => "worse?",
        (Standing::Higher, true) => "higher",
        (Standing::Higher, false) => "higher?",
        (Standing::Lower, true) => "lower",
        (Standing::Lower, false) => "lower?",
    }
}

fn difference(measure: &Measure, against: &Against) -> String {
    let mean = signed(measure, against.difference);
    match against.interval {
        Some((low, high)) if low < high => format!("{mean} ± {}", points(measure, 0.5 * (high - low))),
        _ => mean,
    }
}

/// A difference with its sign; that of shares in percentage points, so that nobody takes it for a ratio.
fn signed(measure: &Measure, value: f64) -> String {
    let sign = if value > 0.0 {
        "+"
    } else if value < 0.0 {
        "-"
    } else {
        ""
    };
    format!("{sign}{}", points(measure, value.abs()))
}

fn points(measure: &Measure, value: f64) -> String {
    let text = show(measure, value);
    if measure.unit == MeasureUnit::Share { text.replace(" %", " pp") } else { text }
}

/// How differences were taken, and what was left out.
fn notes(comparison: &Comparison, names: &[String]) -> impl Iterator<Item = String> {
    let mut notes = Vec::new();
    let unpaired: Vec<&str> =
        (1..names.len()).filter(|side| !comparison.is_paired(*side)).map(|side| names[side].as_str()).collect();
    let single = comparison.units.iter().any(|unit| unit.replications.iter().any(|n| *n < 2));
    if single {
        notes.push("`?`: one run has no interval, the difference may be chance: `--replications 10` runs the scenarios again, ten times each".to_owned());
    } else if unpaired.is_empty() {
        notes.push("± half of the 95 % interval: Student-t over pairs of replications with the same random numbers".to_owned());
    }
    if !unpaired.is_empty() {
        notes.push(format!(
            "{} has another seed than {}: not the same random numbers, so differences are not paired (± half of Welch's 95 % interval)",
            unpaired.join(", "),
            names[0]
        ));
    }
    if !comparison.lone.is_empty() {
        notes.push(format!("{} cells were not run on all sides and are not compared", comparison.lone.len()));
    }
    notes.into_iter()
}
