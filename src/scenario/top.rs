//! The top level of a scenario file, and the small tables `[slo]`, `[output]` and `[limits]`.

use std::path::Path;

use crate::cluster::config::FleetConfig;
use crate::units::{SimTime, Span};
use crate::workload::config::{ArrivalProcess, WorkloadConfig};

use super::document::Document;
use super::epoch::Epoch;
use super::item::Item;
use super::section::{Context, Section};
use super::types::{Limits, Loaded, OutputConfig, QuantileMethod, Scenario, SloConfig, Warmup};
use super::{Faults, SetOption, clients, events, fleet, frontend, workload};

const MAX_NAME: usize = 100;
const MAX_DESCRIPTION: usize = 10_000;
const MAX_REQUESTS: u64 = 1_000_000_000_000;
const MAX_PHASES: usize = 10_000;
const DEFAULT_SEED: u64 = 1;

/// Tables that readers of their own decode.
const RESERVED: [&str; 2] = ["sweep", "plan"];

const QUANTILE_METHODS: [(&str, QuantileMethod); 2] =
    [("nearest_rank", QuantileMethod::NearestRank), ("rounded_rank", QuantileMethod::RoundedRank)];

impl Scenario {
    /// Reads a scenario file (`-` is standard input), applies the options and decodes.
    ///
    /// # Errors
    /// All faults of the file and of the options.
    pub fn load(path: &Path, sets: &[SetOption]) -> Result<Loaded, Faults> {
        Document::load(path)?.with(sets)?.decode()
    }

    /// Decodes a text; `origin` is the name of the file it came from.
    ///
    /// # Errors
    /// All faults of the text and of the options.
    pub fn parse(text: &str, origin: &str, sets: &[SetOption]) -> Result<Loaded, Faults> {
        Document::parse(text, origin)?.with(sets)?.decode()
    }
}

/// Rows of the time series at most, where the horizon tells how many there will be: beyond, a run is mostly samples, and
/// the file has gigabytes.
const MAX_ROWS: u64 = 10_000_000;

/// Decodes the whole document; `None`, or faults in `context`, if something is wrong.
pub(super) fn decode(context: &Context<'_>) -> Option<Scenario> {
    let mut root = context.root();
    for key in RESERVED {
        root.table_or_empty(key);
    }
    root.ignore("$schema");
    let name = name(&mut root, context.document);
    let description = root.optional("description").and_then(|item| item.text(MAX_DESCRIPTION)).map(str::to_owned);
    let seed = root.u64("seed", 0, u64::MAX).unwrap_or(DEFAULT_SEED);
    let horizon = root.optional("horizon").and_then(|item| item.instant());
    let requests = root.optional("requests").and_then(|item| item.u64(0, MAX_REQUESTS));

    let fleet = table(&mut root, "fleet", fleet::decode).flatten();
    root.require("fleet", "a table with `workers` and an `engine`");
    let frontend = table(&mut root, "frontend", frontend::decode);
    let telemetry = table(&mut root, "telemetry", frontend::decode_telemetry);
    let clients = table(&mut root, "clients", clients::decode);
    let closed_loop = clients.as_ref().is_some_and(|clients| clients.closed_loop.is_some());
    let around = workload::Surroundings { fleet: fleet.as_ref(), closed_loop };
    let workload_faults = context.fault_count();
    let workload = table(&mut root, "workload", |section| workload::decode(section, &around));
    let workload_is_valid = context.fault_count() == workload_faults;
    let frontends = frontend.as_ref().map_or(1, |frontend| frontend.frontends);
    let events = events::decode(&mut root, &events::Surroundings { fleet: fleet.as_ref(), frontends });
    let slo = table(&mut root, "slo", slo);
    let output = table(&mut root, "output", |section| output(section, horizon));
    let limits = limits(&mut root);

    let warmup = warmup(&mut root, horizon);
    let phases = root.item("phases").and_then(|item| phases(&item, horizon));
    // A faulty `horizon` has been told already.
    let bounded = ["horizon", "requests"].iter().any(|key| root.optional(key).is_some());
    if let Some(workload) = workload.as_ref().filter(|_| workload_is_valid && !bounded) {
        check_end(&root, workload, closed_loop);
    }
    root.finish();
    Some(Scenario {
        name: name?,
        description,
        seed,
        horizon,
        requests,
        warmup,
        phases,
        fleet: fleet.unwrap_or(FleetConfig { types: Vec::new() }),
        frontend: frontend?,
        telemetry: telemetry?,
        workload: workload?,
        clients: clients?,
        events,
        slo: slo?,
        output: output?,
        limits,
    })
}

/// Decodes one table, absent or not, and reports its unknown keys.
fn table<T>(root: &mut Section<'_>, key: &'static str, decode: impl FnOnce(&mut Section<'_>) -> T) -> Option<T> {
    let mut section = root.table_or_empty(key)?;
    if key == "fleet" && !section.exists() {
        return None;
    }
    let value = decode(&mut section);
    section.finish();
    Some(value)
}

/// The name, by default that of the file: it names the folder of the results.
fn name(root: &mut Section<'_>, document: &Document) -> Option<String> {
    if let Some(item) = root.item("name") {
        let name = item.text(MAX_NAME)?;
        if let Err(expected) = safe_folder_name(name) {
            let hint = "the name is that of the folder of the results".to_owned();
            item.mistake(expected, Some(hint));
            return None;
        }
        return Some(name.to_owned());
    }
    let stem = document.stem().filter(|stem| safe_folder_name(stem).is_ok() && stem.chars().count() <= MAX_NAME);
    if stem.is_none() {
        root.require("name", "a text that titles the results and names their folder");
    }
    stem
}

/// Whether a name is safe as that of a folder, on any system.
fn safe_folder_name(name: &str) -> Result<(), &'static str> {
    if name.chars().any(|c| c.is_control() || "/\\:*?\"<>|".contains(c)) {
        return Err("a name without control characters and without any of `/ \\ : * ? \" < > |`");
    }
    let edge = |c: Option<char>| c.is_none_or(|c| c == '.' || c.is_whitespace());
    if edge(name.chars().next()) || edge(name.chars().last()) || name.starts_with('-') {
        return Err("a name that does not begin or end with a blank or a dot, nor begin with a dash");
    }
    Ok(())
}

fn warmup(root: &mut Section<'_>, horizon: Option<SimTime>) -> Warmup {
    let Some(item) = root.item("warmup") else { return Warmup::Fixed(Span::ZERO) };
    if item.is_text("mser-5") {
        return Warmup::Mser5;
    }
    let span = item.span().unwrap_or_default();
    if let Some(horizon) = horizon
        && !span.is_zero()
        && span.as_nanos() >= horizon.as_nanos()
    {
        item.mistake(format_args!("less than `horizon` = `\"{horizon}\"`"), None);
    }
    Warmup::Fixed(span)
}

/// `"auto"`, or ascending instants; an empty list leaves the run in one piece.
fn phases(item: &Item<'_>, horizon: Option<SimTime>) -> Option<Vec<SimTime>> {
    if item.is_text("auto") {
        return None;
    }
    if !item.is_list() {
        item.mistake("`\"auto\"` or a list of instants", None);
        return None;
    }
    let items = item.list()?;
    if items.len() > MAX_PHASES {
        item.mistake(format_args!("a list of at most {MAX_PHASES} entries"), None);
        return None;
    }
    let mut phases: Vec<SimTime> = Vec::new();
    for entry in &items {
        let Some(at) = entry.instant() else { continue };
        let last = phases.last().copied().unwrap_or(SimTime::ZERO);
        if at <= last {
            entry.mistake(format_args!("later than `\"{last}\"`"), None);
        } else if horizon.is_some_and(|horizon| at >= horizon) {
            entry.mistake(format_args!("before `horizon` = `\"{}\"`", horizon.unwrap_or_default()), None);
        }
        phases.push(at);
    }
    Some(phases)
}

fn slo(section: &mut Section<'_>) -> SloConfig {
    let mut target = |key| section.optional(key).and_then(|item| item.positive_span());
    SloConfig { ttft: target("ttft"), tpot: target("tpot"), e2e: target("e2e") }
}

fn output(section: &mut Section<'_>, horizon: Option<SimTime>) -> OutputConfig {
    OutputConfig {
        requests: section.boolean("requests").unwrap_or(false),
        timeseries_interval: section
            .item("timeseries_interval")
            .filter(|item| !item.is_text("auto"))
            .and_then(|item| interval(&item, horizon)),
        quantile_method: section.one_of("quantile_method", &QUANTILE_METHODS).unwrap_or_default(),
        decision_quality: section.item("decision_quality").filter(|item| !item.is_text("auto")).and_then(|item| item.boolean()),
        metrics: section.boolean("metrics").unwrap_or(false),
        metrics_epoch: section.item("metrics_epoch").and_then(|item| epoch(&item)).unwrap_or_default(),
    }
}

/// The interval of the time series: the fleet is looked at after each, which a typing mistake can make the whole of the run.
fn interval(item: &Item<'_>, horizon: Option<SimTime>) -> Option<Span> {
    let interval = item.positive_span()?;
    let length = horizon.unwrap_or_default().since(SimTime::ZERO).as_nanos();
    let rows = length / interval.as_nanos();
    if rows > MAX_ROWS {
        let least = Span::from_nanos(length.div_ceil(MAX_ROWS));
        let message = format!("`{}` is {}: {rows} rows until the horizon, expected at most {MAX_ROWS}", item.path(), item.show());
        item.fault(message, Some(format!("give `\"{least}\"` or more, or `\"auto\"`")));
        return None;
    }
    Some(interval)
}

fn epoch(item: &Item<'_>) -> Option<Epoch> {
    let read = item.text(60)?.parse::<Epoch>();
    let hint = "write it as `\"2026-01-01T00:00:00Z\"`, from 1970 on, in whole milliseconds".to_owned();
    read.map_err(|why| item.fault(format!("`{}` is {}: {why}", item.path(), item.show()), Some(hint))).ok()
}

/// `[limits]`; `max_events` may stand at the top level too.
fn limits(root: &mut Section<'_>) -> Limits {
    let default = Limits::default();
    let at_top = root.item("max_events");
    let Some(mut section) = root.table_or_empty("limits") else { return default };
    if at_top.is_some() {
        section.forbid("max_events", "it stands at the top level already", "give only one of them");
    }
    let max_events = at_top.or_else(|| section.item("max_events")).and_then(|item| item.u64(1, u64::MAX));
    let limits = Limits {
        max_events: max_events.unwrap_or(default.max_events),
        max_requests_in_system: section.u64("max_requests_in_system", 1, 1_000_000_000).unwrap_or(default.max_requests_in_system),
        max_output_bytes: section.u64("max_output_bytes", 1, u64::MAX).unwrap_or(default.max_output_bytes),
    };
    section.finish();
    limits
}

/// A run must end: without horizon and number of requests its arrivals have to.
fn check_end(root: &Section<'_>, workload: &WorkloadConfig, closed_loop: bool) {
    let endless = workload.processes().find(|(_, process)| never_ends(process));
    let what = match endless {
        _ if closed_loop => "a closed loop goes on for ever".to_owned(),
        Some((Some(class), _)) => format!("the arrivals of class `{class}` go on for ever"),
        Some((None, _)) => "the shared arrivals go on for ever".to_owned(),
        None if workload.trace.as_ref().is_some_and(|trace| trace.options.repeat) => "the trace repeats for ever".to_owned(),
        None => return,
    };
    let message = format!("the run has no end: {what}, and neither `horizon` nor `requests` is given");
    root.fault(None, message, Some("add `horizon = \"10m\"` or `requests = 100000`".to_owned()));
}

fn never_ends(arrivals: &ArrivalProcess) -> bool {
    arrivals.schedule().is_none_or(|rate| rate.0.last().is_some_and(|last| last.rate > 0.0))
}
