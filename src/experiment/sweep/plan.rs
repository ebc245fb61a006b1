//! A sweep, complete and valid: everything that can be refused is refused here, before the first run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::measure_table::{MEASURES, Measure};
use crate::scenario::{Document, Fault, Faults, Item, Loaded, Place, Scenario, Section, SetOption, Warning};

use super::fingerprint::Fingerprint;
use super::grid::{Grid, flatten, plain};
use super::range::Refusal;
use super::target::{Precision, Target, find};

/// Most replications of a cell.
pub const MAX_REPLICATIONS: u32 = 10_000;
/// Replications of a cell unless something else is said.
pub const DEFAULT_REPLICATIONS: u32 = 5;
/// Replications of a cell at most where they are added until an interval is narrow enough.
pub const DEFAULT_MOST: u32 = 100;
/// Most runs of a sweep: a record of each is kept.
pub const MAX_RUNS: u64 = 10_000_000;
/// Name and version of the format of `sweep.json`.
pub const SCHEMA: &str = "shedcast.sweep/1";

/// What is asked beside the file: each overrides `[sweep]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// `--grid`, in their order.
    pub grid: Vec<String>,
    /// `--replications`.
    pub replications: Option<u32>,
    /// `--until-halfwidth measure=value`.
    pub until_halfwidth: Option<String>,
    /// `--max-replications`.
    pub max_replications: Option<u32>,
    /// `--target`, in their order.
    pub targets: Vec<String>,
    /// `--best measure`: what orders the cells that meet the targets.
    pub best: Option<String>,
    /// `--baseline path=value`, in their order.
    pub baseline: Vec<String>,
}

/// What a sweep is, as far as its results and their reader are concerned: pure data, written with every shard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Description {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of the program: other versions may give other numbers.
    pub version: String,
    /// Name of the scenario.
    pub name: String,
    /// What it shows.
    pub description: Option<String>,
    /// Root of all randomness, the same for every cell: common random numbers.
    pub seed: u64,
    /// The grid.
    pub grid: Grid,
    /// Replications of every cell, at least.
    pub replications: u32,
    /// When a cell has enough replications; `None`: all have the same number.
    pub until_halfwidth: Option<Precision>,
    /// Replications of a cell at most.
    pub max_replications: u32,
    /// What an operator wants.
    pub targets: Vec<Target>,
    /// The measure that orders the cells that meet the targets.
    pub best: String,
    /// The cell that differences are taken to.
    pub baseline: usize,
    /// Of all that decides the results: resolved scenario of every cell, traces, replications and version.
    pub fingerprint: String,
}

impl Description {
    /// How many cells there are.
    pub fn cells(&self) -> usize {
        self.grid.cells() as usize
    }
}

/// A sweep that can be run.
#[derive(Clone, Debug)]
pub struct Plan {
    document: Document,
    /// What it is.
    pub description: Description,
    /// What the cells' scenarios have to say, each once, with the first cell it is said of.
    pub warnings: Vec<(usize, Warning)>,
}

/// `[sweep]` with the options applied.
#[derive(Debug, Default)]
struct Settings {
    grid: Grid,
    replications: Option<u32>,
    until_halfwidth: Option<Precision>,
    max_replications: Option<u32>,
    targets: Vec<Target>,
    best: Option<&'static Measure>,
    baseline: Vec<(String, String)>,
}

impl Plan {
    /// Reads `[sweep]`, applies the request, decodes and checks every cell.
    ///
    /// # Errors
    /// Everything that is wrong: with the grid, or with the scenario of any cell.
    pub fn new(document: Document, request: &Request) -> Result<Self, Faults> {
        let mut settings = document.read_table("sweep", |section| Some(read(section)))?;
        apply(&mut settings, request)?;
        let place = Place::Option { text: "the sweep".to_owned() };
        settings.grid.check(&place)?;
        let baseline = baseline(&settings)?;
        let checked = check_cells(&document, &settings.grid)?;
        let replications = settings.replications.unwrap_or(DEFAULT_REPLICATIONS);
        let most = settings.until_halfwidth.as_ref().map_or(replications, |_| settings.max_replications.unwrap_or(DEFAULT_MOST));
        // An interval needs two replications.
        let most = most.max(replications).max(if settings.until_halfwidth.is_some() { 2 } else { 1 });
        let runs = settings.grid.cells() * u64::from(most);
        if runs > MAX_RUNS {
            let message = format!(
                "{} cells with up to {most} replications are {runs} runs: at most {MAX_RUNS} are possible",
                settings.grid.cells()
            );
            return Err(fault(place, "sweep", (message, "take fewer cells or replications".to_owned())));
        }
        let first = &checked.first;
        let mut description = Description {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: first.name.clone(),
            description: first.description.clone(),
            seed: first.seed,
            grid: settings.grid,
            replications,
            until_halfwidth: settings.until_halfwidth,
            max_replications: most,
            targets: settings.targets,
            best: settings.best.map_or("goodput", |measure| measure.name).to_owned(),
            baseline,
            fingerprint: String::new(),
        };
        let whole = serde_json::to_vec(&description).expect("plain data can be written");
        description.fingerprint = checked.fingerprint.with(&whole).with(names_of_measures().as_bytes()).text();
        Ok(Self { document, description, warnings: checked.warnings })
    }

    /// The scenario of a cell.
    ///
    /// # Errors
    /// As [`Plan::new`]; it has been checked there, but a trace may have gone since.
    pub fn scenario(&self, cell: usize) -> Result<Scenario, Faults> {
        decode(&self.document, &self.description.grid, cell).map(|loaded| loaded.scenario)
    }
}

/// The names of all measures: records of another table cannot be read.
pub(in crate::experiment) fn names_of_measures() -> String {
    MEASURES.iter().map(|measure| measure.name).collect::<Vec<_>>().join(",")
}

fn decode(document: &Document, grid: &Grid, cell: usize) -> Result<Loaded, Faults> {
    document.with(&grid.options(cell))?.decode()
}

fn read(section: &mut Section<'_>) -> Settings {
    let mut settings = Settings::default();
    settings.grid.read(section);
    settings.replications = section.u32("replications", 1, MAX_REPLICATIONS);
    settings.max_replications = section.u32("max_replications", 1, MAX_REPLICATIONS);
    settings.until_halfwidth = section.item("until_halfwidth").and_then(|item| text_as(&item, Precision::parse));
    if let Some(item) = section.item("target") {
        let items = if item.is_list() { item.filled_list(16).unwrap_or_default() } else { vec![item] };
        settings.targets = items.iter().filter_map(|item| text_as(item, Target::parse)).collect();
    }
    settings.best = section.item("best").and_then(|item| text_as(&item, find));
    if let Some(table) = section.table("baseline") {
        let mut found = Vec::new();
        flatten(&table, "", &mut found);
        settings.baseline = found.into_iter().map(|(path, item)| (path, item.to_toml())).collect();
    }
    settings
}

/// The text of `item`, read by `parse`; its refusal becomes a fault.
pub(in crate::experiment) fn text_as<T>(item: &Item<'_>, parse: impl FnOnce(&str) -> Result<T, Refusal>) -> Option<T> {
    let text = item.text(200)?;
    parse(text).map_err(|(message, hint)| item.fault(format!("`{}`: {message}", item.path()), Some(hint))).ok()
}

fn fault(place: Place, path: &str, (message, hint): Refusal) -> Faults {
    let mut faults = Faults::default();
    faults.push(Fault { place, path: path.to_owned(), message, hint: Some(hint) });
    faults
}

/// Overrides what the file says.
fn apply(settings: &mut Settings, request: &Request) -> Result<(), Faults> {
    let mut faults = Faults::default();
    let refuse = |option: &str, text: &str| {
        let place = Place::Option { text: format!("{option} {text}") };
        move |refusal: Refusal| fault(place, "", refusal)
    };
    for text in &request.grid {
        faults.take(settings.grid.add_option(text));
    }
    for (option, asked, kept) in [
        ("--replications", request.replications, &mut settings.replications),
        ("--max-replications", request.max_replications, &mut settings.max_replications),
    ] {
        let Some(n) = asked else { continue };
        if (1..=MAX_REPLICATIONS).contains(&n) {
            *kept = Some(n);
        } else {
            let refusal = (format!("`{n}` replications are not possible"), format!("give 1 to {MAX_REPLICATIONS}"));
            faults.take::<()>(Err(refuse(option, &n.to_string())(refusal)));
        }
    }
    if let Some(text) = &request.until_halfwidth {
        let read = faults.take(Precision::parse(text).map_err(refuse("--until-halfwidth", text)));
        settings.until_halfwidth = read.or(settings.until_halfwidth.take());
    }
    if !request.targets.is_empty() {
        let read = |text: &String| faults.take(Target::parse(text).map_err(refuse("--target", text)));
        settings.targets = request.targets.iter().filter_map(read).collect();
    }
    if let Some(text) = &request.best {
        settings.best = faults.take(find(text).map_err(refuse("--best", text))).or(settings.best);
    }
    if !request.baseline.is_empty() {
        let read = |text: &String| faults.take(SetOption::parse("--baseline", text));
        let sets = request.baseline.iter().filter_map(read);
        settings.baseline = sets.map(|set| (set.path().to_owned(), set.value().to_owned())).collect();
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// The first cell with the values of the baseline; the first of all without any.
fn baseline(settings: &Settings) -> Result<usize, Faults> {
    let grid = &settings.grid;
    let mut places = vec![0; grid.axes.len()];
    for (path, value) in &settings.baseline {
        let place = || Place::Option { text: format!("baseline {path}={}", plain(value)) };
        let found = grid.axes.iter().enumerate().find_map(|(n, axis)| Some((n, axis.paths.iter().position(|p| p == path)?)));
        let Some((n, column)) = found else {
            let hint =
                format!("swept are {}", grid.axes.iter().map(|axis| format!("`{}`", axis.name())).collect::<Vec<_>>().join(", "));
            return Err(fault(place(), path, (format!("`{path}` is not swept"), hint)));
        };
        let same = |row: &Vec<String>| same_value(&row[column], value);
        let Some(at) = grid.axes[n].values.iter().position(same) else {
            let values = (0..grid.axes[n].values.len()).take(20).map(|at| grid.axes[n].label(at)).collect::<Vec<_>>().join(", ");
            return Err(fault(
                place(),
                path,
                (format!("`{}` is no value of `{path}`", plain(value)), format!("its values are {values}")),
            ));
        };
        places[n] = at;
    }
    Ok(grid.cell_at(&places))
}

/// Whether two values as TOML are the same number, duration or text.
fn same_value(a: &str, b: &str) -> bool {
    let (a, b) = (plain(a), plain(b));
    let number = |text: &str| text.parse::<f64>().ok();
    let span = |text: &str| text.parse::<crate::units::Span>().ok();
    a == b || number(&a).is_some_and(|x| number(&b) == Some(x)) || span(&a).is_some_and(|x| span(&b) == Some(x))
}

/// What the check of all cells gives.
struct Checked {
    first: Scenario,
    warnings: Vec<(usize, Warning)>,
    fingerprint: Fingerprint,
}

/// Decodes every cell, in parallel, and keeps only what is needed of each.
fn check_cells(document: &Document, grid: &Grid) -> Result<Checked, Faults> {
    let first = decode(document, grid, 0).map_err(|faults| name_cell(grid, 0, &faults))?.scenario;
    type Seen = Result<(u128, Vec<Warning>), Faults>;
    let cells = grid.cells() as usize;
    let seen: Vec<Seen> = (0..cells)
        .into_par_iter()
        .map(|cell| {
            let loaded = decode(document, grid, cell)?;
            Ok((Fingerprint::new().with(loaded.scenario.to_toml().as_bytes()).value(), loaded.warnings))
        })
        .collect();
    let mut faults = Faults::default();
    let mut told: Vec<(Place, String)> = Vec::new();
    let mut same: BTreeMap<u128, usize> = BTreeMap::new();
    let mut checked = Checked { fingerprint: trace_of(&first), first, warnings: Vec::new() };
    for (cell, seen) in seen.into_iter().enumerate() {
        match seen {
            Err(of_cell) => {
                for fault in of_cell.iter() {
                    // The same value is wrong in many cells: it is told of the first.
                    let key = (fault.place.clone(), fault.message.clone());
                    if told.len() < Faults::LIMIT && !told.contains(&key) {
                        told.push(key);
                        faults.push(with_cell(grid, cell, fault));
                    }
                }
            }
            Ok((fingerprint, warnings)) => {
                checked.fingerprint = checked.fingerprint.with(&fingerprint.to_le_bytes());
                for warning in warnings {
                    if checked.warnings.len() < Faults::LIMIT && !checked.warnings.iter().any(|(_, old)| *old == warning) {
                        checked.warnings.push((cell, warning));
                    }
                }
                if let Some(other) = same.insert(fingerprint, cell).filter(|_| faults.len() < Faults::LIMIT) {
                    faults.push(duplicate(grid, other, cell));
                }
            }
        }
    }
    if faults.is_empty() { Ok(checked) } else { Err(faults) }
}

fn name_cell(grid: &Grid, cell: usize, faults: &Faults) -> Faults {
    let mut named = Faults::default();
    faults.iter().for_each(|fault| named.push(with_cell(grid, cell, fault)));
    named
}

/// The fault with the cell it was met in, if a value of the grid is to blame.
fn with_cell(grid: &Grid, cell: usize, fault: &Fault) -> Fault {
    match &fault.place {
        Place::Option { .. } => {
            Fault { message: format!("{} (cell {cell}: {})", fault.message, grid.describe(cell)), ..fault.clone() }
        }
        _ => fault.clone(),
    }
}

fn duplicate(grid: &Grid, a: usize, b: usize) -> Fault {
    let message = format!("cells {a} and {b} are the same scenario: {}; and {}", grid.describe(a), grid.describe(b));
    let hint = "leave out values that are equal, and paths that change nothing here".to_owned();
    Fault { place: Place::Option { text: "the sweep".to_owned() }, path: "sweep.grid".to_owned(), message, hint: Some(hint) }
}

/// The contents of the trace, if one is replayed: shards of one sweep must replay the same.
pub(in crate::experiment) fn trace_of(scenario: &Scenario) -> Fingerprint {
    let start = Fingerprint::new();
    scenario.workload.trace.as_ref().map_or(start, |trace| start.with(&digest_of(&trace.path)))
}

/// Length and checksum of a file; of a folder, or of what cannot be read, nothing: the run will say what is wrong.
fn digest_of(path: &Path) -> Vec<u8> {
    let Ok(mut file) = File::open(path) else { return Vec::new() };
    let mut buffer = vec![0u8; 1 << 16];
    let (mut length, mut hash) = (0u64, Fingerprint::new());
    while let Ok(read) = file.read(&mut buffer) {
        if read == 0 {
            break;
        }
        length += read as u64;
        hash = hash.with(&buffer[..read]);
    }
    [length.to_le_bytes().as_slice(), &hash.value().to_le_bytes()].concat()
}
