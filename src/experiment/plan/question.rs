//! A plan, complete and valid: everything that can be refused is refused here, before the first run.

use rayon::prelude::*;

use crate::experiment::measure_table::Measure;
use crate::experiment::sweep::fingerprint::Fingerprint;
use crate::experiment::sweep::grid::plain;
use crate::experiment::sweep::plan::{names_of_measures, text_as, trace_of};
use crate::experiment::sweep::range::Refusal;
use crate::experiment::sweep::{Axis, Grid, parse_range};
use crate::scenario::{Document, Fault, Faults, Item, Loaded, NumberRange, Place, Scenario, Section, SetOption, Warning};
use crate::units::Span;

use super::bounds::{Bound, bounds};
use super::conditions::Conditions;
use super::description::{Description, Quest, SCHEMA};
use super::goal::Goal;
use super::lab::Key;
use super::length::{LengthWish, choose};
use super::load::{LOAD, cannot_scale, scale};
use super::variants::Variant;

/// Targets at most.
const MAX_GOALS: usize = 16;
/// Cells whose fleets are priced, at most.
const MAX_PRICED: u64 = 10_000;
/// Runs of a plan at most.
const MAX_RUNS: u32 = 100_000;
/// Workers that may be lost, at most.
const MAX_SURVIVE: u32 = 1_000;
/// Runs of a steady scenario unless something else is said, and of others.
const DEFAULT_RUNS: (usize, usize) = (25, 60);
/// Where workers are looked for unless something else is said, and where load is.
const DEFAULT_RANGES: (&str, &str) = ("1..256 step 1", "0.05..4.00 step 0.05");

/// What is asked beside the file: each overrides `[plan]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// `--target`, in their order.
    pub targets: Vec<String>,
    /// `--minimise`: a field, or `cost`.
    pub minimise: Option<String>,
    /// `--maximise`: `load`, a measure, or a field.
    pub maximise: Option<String>,
    /// `--range` of the field.
    pub range: Option<String>,
    /// `--grid`, in their order.
    pub grid: Vec<String>,
    /// `--survive`.
    pub survive: Option<u32>,
    /// `--growth`, a share or a percentage.
    pub growth: Option<String>,
    /// `--confidence`, a share or a percentage.
    pub confidence: Option<String>,
    /// `--max-runs`.
    pub max_runs: Option<u32>,
    /// `--run-length`.
    pub run_length: Option<String>,
    /// `--no-analytic`.
    pub no_analytic: bool,
    /// `--no-sensitivity`.
    pub no_sensitivity: bool,
}

/// A plan that can be run.
#[derive(Clone, Debug)]
pub struct Plan {
    document: Document,
    /// What it is.
    pub description: Description,
    /// What the scenario has to say.
    pub warnings: Vec<Warning>,
}

/// `[plan]` with the options applied.
#[derive(Debug, Default)]
struct Settings {
    goals: Vec<Goal>,
    minimise: Option<String>,
    maximise: Option<String>,
    range: Option<Vec<String>>,
    grid: Grid,
    conditions: Conditions,
    confidence: Option<f64>,
    max_runs: Option<u32>,
    length: LengthWish,
    analytic: Option<bool>,
    sensitivity: Option<bool>,
}

impl Plan {
    /// Reads `[plan]`, applies the request, decodes and checks what will be looked at.
    ///
    /// # Errors
    /// Everything that is wrong: with the plan, or with the scenario at any value of its grid.
    pub fn new(document: Document, request: &Request) -> Result<Self, Faults> {
        let mut settings = document.read_table("plan", |section| Some(read(section)))?;
        apply(&mut settings, request)?;
        let asked = document.decode()?;
        check_goals(&settings.goals, &asked.scenario)?;
        let (quest, grid) = quest(&settings)?;
        let scaled = settings.conditions.growth != 0.0 || matches!(&quest, Quest::Most { path } if path == LOAD);
        if let Some(why) = cannot_scale(&asked.scenario).filter(|_| scaled) {
            return Err(refuse("the plan", "plan", (why.to_owned(), "give the workload streams or a trace".to_owned())));
        }
        let checked = check_grid(&document, &grid, settings.conditions)?;
        let quest = priced(&document, quest, &grid)?;
        let equal = matches!(quest, Quest::Best { .. });
        let looks = choose(&checked.first, &settings.goals, settings.length, equal)
            .map_err(|why| refuse("the plan", "plan.run_length", (why, "leave `run_length` at `\"auto\"`".to_owned())))?;
        let sensitivity = settings.sensitivity.unwrap_or(true);
        let variants = if sensitivity { Variant::all(&checked.first) } else { vec![Variant::Asked] };
        let default_runs = if equal || !looks.in_batches() { DEFAULT_RUNS.1 } else { DEFAULT_RUNS.0 };
        let found = if settings.analytic.unwrap_or(true) { bounds(&checked.conditioned, &settings.goals) } else { Vec::new() };
        let start = start(&quest, &grid, &found, &checked.conditioned);
        let mut description = Description {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: asked.scenario.name.clone(),
            description: asked.scenario.description.clone(),
            types: asked.scenario.fleet.types.iter().map(|kind| kind.name.clone()).collect(),
            seed: asked.scenario.seed,
            goals: settings.goals,
            conditions: settings.conditions,
            quest,
            grid,
            confidence: settings.confidence.unwrap_or(0.95),
            max_runs: settings.max_runs.map_or(default_runs, |runs| runs as usize),
            looks,
            bounds: found,
            start,
            variants,
            fingerprint: String::new(),
        };
        let whole = serde_json::to_vec(&description).expect("plain data can be written");
        description.fingerprint = checked.fingerprint.with(&whole).with(names_of_measures().as_bytes()).text();
        Ok(Self { document, description, warnings: asked.warnings })
    }

    /// The scenario of a run: the cell under the plan's conditions, its variant, as long as the replication asks.
    ///
    /// # Errors
    /// As [`Plan::new`]; it has been checked there, but a trace may have gone since.
    pub fn scenario(&self, key: Key) -> Result<Scenario, Faults> {
        let d = &self.description;
        let mut scenario = decode(&self.document, &d.grid, key.cell)?.scenario;
        d.conditions.apply(&mut scenario);
        d.variants[key.variant].apply(&mut scenario);
        if let Some(length) = d.looks.length(key.replication, &scenario) {
            scenario.horizon = Some(length.horizon);
            scenario.warmup = crate::scenario::Warmup::Fixed(length.warmup);
            scenario.requests = None;
        }
        Ok(scenario)
    }

    /// The scenario of a cell as one would run it: without the plan's conditions, and as long as the file says.
    ///
    /// # Errors
    /// As [`Plan::scenario`].
    pub fn fleet(&self, cell: usize) -> Result<Scenario, Faults> {
        decode(&self.document, &self.description.grid, cell).map(|loaded| loaded.scenario)
    }
}

/// The scenario of a cell: its values in the document, and its load.
fn decode(document: &Document, grid: &Grid, cell: usize) -> Result<Loaded, Faults> {
    let options: Vec<SetOption> = grid.options(cell).into_iter().filter(|set| set.path() != LOAD).collect();
    let mut loaded = document.with(&options)?.decode()?;
    let load = grid.settings(cell).into_iter().find(|(path, _)| *path == LOAD);
    if let Some(factor) = load.and_then(|(_, value)| plain(value).parse().ok()) {
        scale(&mut loaded.scenario, factor);
    }
    Ok(loaded)
}

fn read(section: &mut Section<'_>) -> Settings {
    let mut settings = Settings::default();
    if let Some(item) = section.item("target") {
        let items = if item.is_list() { item.filled_list(MAX_GOALS).unwrap_or_default() } else { vec![item] };
        settings.goals = items.iter().filter_map(|item| text_as(item, Goal::parse)).collect();
    }
    let mut text = |key| section.item(key).and_then(|item| item.text(200)).map(str::to_owned);
    settings.minimise = text("minimise");
    settings.maximise = text("maximise");
    settings.range = section.item("range").and_then(|item| range_item(&item));
    settings.grid.read(section);
    settings.conditions.survive = section.u32("survive", 0, MAX_SURVIVE).unwrap_or(0);
    settings.conditions.growth = section.item("growth").and_then(|item| share_item(&item, parse_growth)).unwrap_or(0.0);
    settings.confidence = section.item("confidence").and_then(|item| share_item(&item, parse_confidence));
    settings.max_runs = section.u32("max_runs", 1, MAX_RUNS);
    settings.length = section.item("run_length").and_then(|item| text_as(&item, parse_length)).unwrap_or_default();
    settings.analytic = section.boolean("analytic");
    settings.sensitivity = section.boolean("sensitivity");
    settings
}

/// A list of values, or the text of a range.
fn range_item(item: &Item<'_>) -> Option<Vec<String>> {
    if item.is_list() {
        return Some(item.filled_list(100_000)?.iter().map(Item::to_toml).collect());
    }
    text_as(item, parse_values)
}

/// A share written as a number or as a text with or without a per cent sign.
fn share_item(item: &Item<'_>, parse: fn(&str) -> Result<f64, Refusal>) -> Option<f64> {
    if item.is_any_text() {
        return text_as(item, parse);
    }
    let number = item.number(NumberRange::between(0.0, 1e6))?;
    parse(&number.to_string()).map_err(|(message, hint)| item.fault(format!("`{}`: {message}", item.path()), Some(hint))).ok()
}

/// `1..64`, the values of a range, or values with commas between them.
fn parse_values(text: &str) -> Result<Vec<String>, Refusal> {
    if !text.contains("..") {
        return Ok(text.split(',').map(|value| value.trim().to_owned()).filter(|value| !value.is_empty()).collect());
    }
    let whole = text.split("..").all(|end| end.trim().parse::<u64>().is_ok());
    parse_range(&if whole { format!("{text} step 1") } else { text.to_owned() })
}

fn parse_share(text: &str) -> Option<f64> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    text.trim().strip_suffix('%').and_then(number).map(|x| x / 100.0).or_else(|| number(text))
}

fn parse_growth(text: &str) -> Result<f64, Refusal> {
    let hint = || "say how much more traffic must fit, such as `20%` or `0.2`".to_owned();
    let growth =
        parse_share(text).filter(|x| (0.0..=100.0).contains(x)).ok_or_else(|| (format!("`{text}` is no growth"), hint()))?;
    // A bare 20 is 20 % to some and twenty times as much on top to others.
    if growth > 1.0 && !text.contains('%') {
        let hint = format!("write `{growth}%`, or `{}%` where as much as that is meant", growth * 100.0);
        return Err((format!("`{text}` is no growth: a share without `%` is at most 1"), hint));
    }
    Ok(growth)
}

fn parse_confidence(text: &str) -> Result<f64, Refusal> {
    let hint = || "give a share from 50 % to 99.99 %, such as `95%` or `0.95`".to_owned();
    parse_share(text).filter(|x| (0.5..=0.9999).contains(x)).ok_or_else(|| (format!("`{text}` is no confidence"), hint()))
}

fn parse_length(text: &str) -> Result<LengthWish, Refusal> {
    let hint = || "give `auto`, `scenario`, or the length of the first run of each cell, such as `10m`".to_owned();
    match text.trim() {
        "auto" => Ok(LengthWish::Auto),
        "scenario" => Ok(LengthWish::Scenario),
        other => other.parse::<Span>().map(LengthWish::First).map_err(|_| (format!("`{text}` is no length of runs"), hint())),
    }
}

fn refuse(place: &str, path: &str, (message, hint): Refusal) -> Faults {
    let mut faults = Faults::default();
    faults.push(Fault { place: Place::Option { text: place.to_owned() }, path: path.to_owned(), message, hint: Some(hint) });
    faults
}

/// Overrides what the file says.
fn apply(settings: &mut Settings, request: &Request) -> Result<(), Faults> {
    let option = |name: &'static str, text: &str| {
        let place = format!("{name} {text}");
        move |refusal| refuse(&place, "", refusal)
    };
    if !request.targets.is_empty() {
        let read = |text: &String| Goal::parse(text).map_err(option("--target", text));
        settings.goals = request.targets.iter().map(read).collect::<Result<_, _>>()?;
    }
    if request.minimise.is_some() || request.maximise.is_some() {
        // Another question: what the file says of the old one does not belong to it.
        let same = settings.minimise == request.minimise && settings.maximise == request.maximise;
        if !same {
            settings.range = None;
        }
        (settings.minimise, settings.maximise) = (request.minimise.clone(), request.maximise.clone());
    }
    if let Some(text) = &request.range {
        settings.range = Some(parse_values(text).map_err(option("--range", text))?);
    }
    request.grid.iter().try_for_each(|text| settings.grid.add_option(text))?;
    if let Some(survive) = request.survive {
        let no = || (format!("`{survive}` workers cannot be lost"), format!("give 0 to {MAX_SURVIVE}"));
        settings.conditions.survive =
            Some(survive).filter(|n| *n <= MAX_SURVIVE).ok_or_else(|| option("--survive", &survive.to_string())(no()))?;
    }
    if let Some(text) = &request.growth {
        settings.conditions.growth = parse_growth(text).map_err(option("--growth", text))?;
    }
    if let Some(text) = &request.confidence {
        settings.confidence = Some(parse_confidence(text).map_err(option("--confidence", text))?);
    }
    if let Some(runs) = request.max_runs {
        let no = || (format!("`{runs}` runs are not possible"), format!("give 1 to {MAX_RUNS}"));
        settings.max_runs =
            Some(Some(runs).filter(|n| (1..=MAX_RUNS).contains(n)).ok_or_else(|| option("--max-runs", &runs.to_string())(no()))?);
    }
    if let Some(text) = &request.run_length {
        settings.length = parse_length(text).map_err(option("--run-length", text))?;
    }
    if request.no_analytic {
        settings.analytic = Some(false);
    }
    if request.no_sensitivity {
        settings.sensitivity = Some(false);
    }
    Ok(())
}

/// There are targets, their classes exist, and their measures can be had.
fn check_goals(goals: &[Goal], scenario: &Scenario) -> Result<(), Faults> {
    let refuse = |message: String, hint: String| Err(refuse("the plan", "plan.target", (message, hint)));
    if goals.is_empty() {
        let hint = "add `target = [\"rate_529<=0.1%\", \"ttft_p99<=2s\"]` to `[plan]`, or `--target 'rate_529<=0.1%'`";
        return refuse("there is no target to plan for".to_owned(), hint.to_owned());
    }
    let mut classes: Vec<&str> = scenario.workload.streams.iter().map(|stream| stream.class.as_str()).collect();
    classes.extend(scenario.workload.trace.iter().map(|trace| trace.class.as_str()));
    let by_column = scenario.workload.trace.as_ref().is_some_and(|trace| trace.options.class_column.is_some());
    for goal in goals {
        let Some(class) = &goal.class else { continue };
        if !by_column && !classes.contains(&class.as_str()) {
            let names = classes.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            return refuse(format!("`{goal}`: there is no class `{class}`"), format!("classes are {names}"));
        }
    }
    let slo = scenario.slo;
    let wants_slo = goals.iter().any(|goal| ["slo_share", "goodput"].contains(&goal.measure.as_str()));
    if wants_slo
        && slo.ttft.is_none()
        && slo.tpot.is_none()
        && slo.e2e.is_none()
        && goals.iter().any(|g| g.measure == "slo_share")
    {
        let hint = "add `[slo]` with `ttft`, `tpot` or `e2e`, or set a target on `completed_share`".to_owned();
        return refuse("`slo_share` is a target, but the scenario has no latency targets".to_owned(), hint);
    }
    Ok(())
}

/// What is looked for, and where.
fn quest(settings: &Settings) -> Result<(Quest, Grid), Faults> {
    let no = |path: &str, message: String, hint: &str| refuse("the plan", path, (message, hint.to_owned()));
    if settings.minimise.is_some() && settings.maximise.is_some() {
        return Err(no("plan", "both `minimise` and `maximise` are given".to_owned(), "give one of them"));
    }
    if is_over_grid(settings) {
        if settings.range.is_some() {
            let message = "a grid of several fields has no `range`".to_owned();
            return Err(no("plan.range", message, "give each field its values in `[plan.grid]`"));
        }
        let grid = over_grid(&settings.grid)?;
        let best = settings.maximise.clone().map(|measure| Quest::Best { measure });
        return Ok((best.unwrap_or(Quest::Cheapest { costs: Vec::new() }), grid));
    }
    let (path, up) = match (&settings.minimise, &settings.maximise) {
        (_, Some(path)) => (path.as_str(), false),
        (path, None) => (path.as_deref().unwrap_or("fleet.workers"), true),
    };
    if !settings.grid.axes.is_empty() {
        let hint = "give its values as `range`; a grid goes with `maximise = \"goodput\"` or `minimise = \"cost\"`";
        return Err(no("plan.grid", format!("a plan for `{path}` looks along one line, not over a grid"), hint));
    }
    let default = match path {
        "fleet.workers" if up => Some(DEFAULT_RANGES.0),
        LOAD => Some(DEFAULT_RANGES.1),
        _ => None,
    };
    let values = match (&settings.range, default) {
        (Some(values), _) => values.clone(),
        (None, Some(text)) => parse_range(text).map_err(|refusal| refuse("the plan", "plan.range", refusal))?,
        (None, None) => {
            let hint = "add `range = \"1..64\"` or `range = \"0.5..0.95 step 0.05\"`";
            return Err(no("plan.range", format!("where `{path}` is looked for is not said"), hint));
        }
    };
    let path = path.to_owned();
    let grid = ordered(&path, values, up)?;
    Ok((if up { Quest::Fewest { path } } else { Quest::Most { path } }, grid))
}

/// Whether what is maximised is a measure, and so looked for over a grid.
fn is_over_grid(settings: &Settings) -> bool {
    settings.minimise.as_deref() == Some("cost") || settings.maximise.as_deref().is_some_and(|name| Measure::find(name).is_some())
}

fn over_grid(grid: &Grid) -> Result<Grid, Faults> {
    if grid.axes.is_empty() {
        let hint = "add a table `[plan.grid]` with fields and their values, or `--grid 'fleet.engine_request_limit=8,16,32'`";
        return Err(refuse("the plan", "plan.grid", ("there is nothing to choose among".to_owned(), hint.to_owned())));
    }
    grid.check(&Place::Option { text: "the plan".to_owned() })?;
    Ok(grid.clone())
}

/// A line of values, from the hardest to the easiest: from the least up where fewer are wanted (`up`), else from the most down.
fn ordered(path: &str, values: Vec<String>, up: bool) -> Result<Grid, Faults> {
    let mut axis = Axis {
        paths: vec![path.to_owned()],
        values: values.into_iter().map(|value| vec![value]).collect(),
        origin: "[plan]".to_owned(),
    };
    let numbers: Option<Vec<f64>> = (0..axis.values.len()).map(|place| axis.number(place)).collect();
    let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) else {
        let hint = "give numbers or durations: which is more and which is less must be known".to_owned();
        return Err(refuse("the plan", "plan.range", (format!("the values of `{path}` have no order"), hint)));
    };
    if numbers.windows(2).any(|pair| pair[0] >= pair[1]) {
        let hint = "write each value once, the least first".to_owned();
        return Err(refuse("the plan", "plan.range", (format!("the values of `{path}` do not ascend"), hint)));
    }
    if path == LOAD && numbers[0] <= 0.0 {
        let hint = "begin above 0, such as `0.1..2.0 step 0.1`".to_owned();
        return Err(refuse("the plan", "plan.range", ("no load at all is no load to plan for".to_owned(), hint)));
    }
    if !up {
        axis.values.reverse();
    }
    let grid = Grid { axes: vec![axis] };
    grid.check(&Place::Option { text: "the plan".to_owned() })?;
    Ok(grid)
}

/// What the check of the grid gives.
struct Checked {
    /// The scenario of the first cell.
    first: Scenario,
    /// The scenario of the last cell under the plan's conditions.
    conditioned: Scenario,
    fingerprint: Fingerprint,
}

/// Decodes the scenario at every value of every axis, the other axes at their first, and at the last of all.
fn check_grid(document: &Document, grid: &Grid, conditions: Conditions) -> Result<Checked, Faults> {
    let mut cells: Vec<usize> = vec![0];
    for (n, axis) in grid.axes.iter().enumerate() {
        cells.extend((1..axis.values.len()).map(|place| {
            let mut places = vec![0; grid.axes.len()];
            places[n] = place;
            grid.cell_at(&places)
        }));
    }
    cells.push(grid.cells() as usize - 1);
    let seen: Vec<Result<(u128, Scenario), Faults>> = cells
        .par_iter()
        .map(|cell| {
            let scenario = decode(document, grid, *cell)?.scenario;
            Ok((Fingerprint::new().with(scenario.to_toml().as_bytes()).value(), scenario))
        })
        .collect();
    let faults = faults_of_cells(grid, &cells, &seen);
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut fingerprint = Fingerprint::new();
    let (mut first, mut last) = (None, None);
    for (value, scenario) in seen.into_iter().flatten() {
        fingerprint = fingerprint.with(&value.to_le_bytes());
        first = first.or_else(|| Some(scenario.clone()));
        last = Some(scenario);
    }
    let (Some(first), Some(mut last)) = (first, last) else { return Err(faults) };
    conditions.apply(&mut last);
    fingerprint = fingerprint.with(&trace_of(&first).value().to_le_bytes());
    Ok(Checked { first, conditioned: last, fingerprint })
}

/// What is wrong with the cells that were looked at. Where only some are faulty, it is their values that are: each place is told
/// once, with the first value that was tried, and along a line of values the hint says which are possible.
fn faults_of_cells<T>(grid: &Grid, cells: &[usize], seen: &[Result<T, Faults>]) -> Faults {
    let mut all = Faults::default();
    let some_hold = seen.iter().any(Result::is_ok);
    let mut told: Vec<(Place, String)> = Vec::new();
    for (cell, found) in cells.iter().zip(seen) {
        let Err(of_cell) = found else { continue };
        for fault in of_cell.iter() {
            if !some_hold {
                all.push(fault.clone());
                continue;
            }
            let name = (fault.place.clone(), fault.path.clone());
            if told.contains(&name) {
                continue;
            }
            let hint = if told.is_empty() { possible(grid, cells, seen).or_else(|| fault.hint.clone()) } else { None };
            all.push(Fault { message: format!("with {}, {}", grid.describe(*cell), fault.message), hint, ..fault.clone() });
            told.push(name);
        }
    }
    all
}

/// Which values of the only axis are possible, where all of one end are and all of the other are not.
fn possible<T>(grid: &Grid, cells: &[usize], seen: &[Result<T, Faults>]) -> Option<String> {
    let [axis] = &grid.axes[..] else { return None };
    let mut values: Vec<(f64, bool, String)> = cells
        .iter()
        .zip(seen)
        .map(|(cell, found)| Some((axis.number(*cell)?, found.is_ok(), axis.label(*cell))))
        .collect::<Option<_>>()?;
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (first, last) = (values.iter().position(|v| v.1)?, values.iter().rposition(|v| v.1)?);
    let whole = values[first..=last].iter().all(|v| v.1) && (first == 0 || last + 1 == values.len());
    let (low, high) = (&values[first].2, &values[last].2);
    whole.then(|| {
        format!("`{}` is possible from {low} to {high}: `--range '{low}..{high}'`, with a step where it is not 1", axis.name())
    })
}

/// Fills in what each cell costs, where that is asked.
fn priced(document: &Document, quest: Quest, grid: &Grid) -> Result<Quest, Faults> {
    if !matches!(quest, Quest::Cheapest { .. }) {
        return Ok(quest);
    }
    if grid.cells() > MAX_PRICED {
        let message = format!("the grid has {} fleets to price: at most {MAX_PRICED} are possible", grid.cells());
        return Err(refuse("the plan", "plan.grid", (message, "give fewer or wider steps".to_owned())));
    }
    let cost = |cell: usize| -> Result<String, Faults> {
        let fleet = decode(document, grid, cell)?.scenario.fleet;
        Ok(fleet.types.iter().map(|t| f64::from(t.workers) * t.cost).sum::<f64>().to_string())
    };
    let costs: Vec<String> = (0..grid.cells() as usize).into_par_iter().map(cost).collect::<Result<_, _>>()?;
    if costs.iter().all(|cost| *cost == costs[0]) {
        let hint = "give worker types a `cost` each and put their `workers` into `[plan.grid]`".to_owned();
        return Err(refuse("the plan", "plan.grid", ("all fleets of the grid cost the same".to_owned(), hint)));
    }
    Ok(Quest::Cheapest { costs })
}

/// The cell from which the search starts: where the greatest of the bounds points.
fn start(quest: &Quest, grid: &Grid, bounds: &[Bound], conditioned: &Scenario) -> Option<usize> {
    let needed =
        bounds.iter().map(|bound| bound.workers).fold(None, |most: Option<f64>, n| Some(most.map_or(n, |m| m.max(n))))?;
    let axis = grid.axes.first()?;
    match quest {
        // The bound counts workers that are left.
        Quest::Fewest { path } if path == "fleet.workers" => {
            let lost = axis.number(axis.values.len() - 1)? - f64::from(conditioned.fleet.worker_count());
            (0..axis.values.len()).find(|place| axis.number(*place).is_some_and(|n| n >= needed + lost))
        }
        Quest::Most { path } if path == LOAD => {
            // The last cell is the least load, and the bound was taken there.
            let least = axis.number(axis.values.len() - 1)?;
            let most = least * f64::from(conditioned.fleet.worker_count()) / needed;
            (0..axis.values.len()).find(|place| axis.number(*place).is_some_and(|load| load <= most))
        }
        _ => None,
    }
}
