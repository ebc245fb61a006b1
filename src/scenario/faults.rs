//! Faults and changes of the cluster in `[[events]]`.

use crate::cluster::config::{FULL_SPEED, FleetConfig, NetworkDelay, Scale, TelemetryFault, WorkerCrash, WorkerSlow};
use crate::units::Span;

use super::events::{MAX_RANK, Surroundings};
use super::item::{Item, NumberRange};
use super::section::Section;
use super::workload::worker;

/// Factors of a slow worker: finer than a millionth is not told apart.
const FACTOR: NumberRange = NumberRange::between(1.0 / FULL_SPEED as f64, 1_000_000.0);

/// `worker_crash = 1`, or a table.
pub(super) fn worker_crash(item: &Item<'_>, around: &Surroundings<'_>) -> Option<WorkerCrash> {
    if !item.is_table() {
        return worker(item, around.fleet).map(|worker| WorkerCrash { worker, rejoin_after: None, load_time: Span::ZERO });
    }
    let mut section = item.table()?;
    section.require("worker", "the id of a worker");
    let worker = section.item("worker").and_then(|item| worker(&item, around.fleet));
    let rejoin_after = section.optional("rejoin_after").and_then(|item| item.span());
    let load_time = section.span("load_time");
    if load_time.is_some() && rejoin_after.is_none() {
        section.forbid("load_time", "a worker that does not rejoin loads nothing", "add `rejoin_after`, or remove `load_time`");
    }
    section.finish();
    Some(WorkerCrash { worker: worker?, rejoin_after, load_time: load_time.unwrap_or(Span::ZERO) })
}

pub(super) fn worker_slow(item: &Item<'_>, around: &Surroundings<'_>) -> Option<WorkerSlow> {
    let mut section = item.table()?;
    section.require("worker", "the id of a worker");
    section.require("factor", "how many times as long the worker takes");
    let worker = section.item("worker").and_then(|item| worker(&item, around.fleet));
    let factor = section.number("factor", FACTOR);
    let duration = duration(&mut section);
    section.finish();
    Some(WorkerSlow { worker: worker?, factor: factor?, duration })
}

/// `network_delay = "20ms"` for every worker until further notice, or a table.
pub(super) fn network_delay(item: &Item<'_>, around: &Surroundings<'_>) -> Option<NetworkDelay> {
    if !item.is_table() {
        return item.span().map(|delay| NetworkDelay { delay, worker: None, duration: None });
    }
    let mut section = item.table()?;
    section.require("delay", "what each direction takes");
    let delay = section.span("delay");
    let worker = section.optional("worker").map(|item| worker(&item, around.fleet));
    let duration = duration(&mut section);
    section.finish();
    // A worker that is named wrongly must not become "every worker".
    let worker = match worker {
        Some(named) => Some(named?),
        None => None,
    };
    Some(NetworkDelay { delay: delay?, worker, duration })
}

pub(super) fn scale(item: &Item<'_>, around: &Surroundings<'_>) -> Option<Scale> {
    let mut section = item.table()?;
    section.require("workers", "how many workers shall be there");
    let workers = section.u32("workers", 0, super::fleet::MAX_WORKERS);
    let load_time = section.span("load_time").unwrap_or(Span::ZERO);
    let named = section.optional("type");
    let kind = around.fleet.and_then(|fleet| worker_type(&section, named.as_ref(), fleet));
    if let (Some(fleet), Some(kind), Some(workers)) = (around.fleet, kind, workers) {
        let most = fleet.types[kind].count();
        if workers > most {
            let path = section.path_of("workers");
            let message = format!("`{path}` is `{workers}`: expected at most {most}, the workers that exist");
            section.fault(Some("workers"), message, Some("raise `standby` in the fleet".to_owned()));
        }
    }
    section.finish();
    Some(Scale { kind: kind?, workers: workers?, load_time })
}

/// The index of the type that is named, or of the only one.
fn worker_type(section: &Section<'_>, named: Option<&Item<'_>>, fleet: &FleetConfig) -> Option<usize> {
    let names: Vec<(&str, usize)> = fleet.types.iter().enumerate().map(|(n, t)| (t.name.as_str(), n)).collect();
    match named {
        Some(item) => {
            item.text(100)?;
            item.named(&names)
        }
        None if names.len() == 1 => Some(0),
        None => {
            let path = section.path();
            let list = super::section::in_backticks(names.iter().map(|(name, _)| *name));
            section.fault(None, format!("`{path}` needs `type`: the fleet has {list}"), None);
            None
        }
    }
}

/// `telemetry_outage` and `telemetry_freeze`: `"30s"` for every report, or a table.
pub(super) fn telemetry(item: &Item<'_>, around: &Surroundings<'_>) -> Option<TelemetryFault> {
    if !item.is_table() {
        return item.positive_span().map(|duration| TelemetryFault { worker: None, rank: None, duration });
    }
    let mut section = item.table()?;
    section.require("for", "how long it lasts");
    let duration = section.optional("for").and_then(|item| item.positive_span());
    let worker = section.optional("worker").map(|item| worker(&item, around.fleet));
    let rank = section.optional("rank").and_then(|item| item.u32(0, MAX_RANK));
    section.finish();
    let worker = match worker {
        Some(named) => Some(named?),
        None => None,
    };
    Some(TelemetryFault { worker, rank, duration: duration? })
}

fn duration(section: &mut Section<'_>) -> Option<Span> {
    section.optional("for").and_then(|item| item.positive_span())
}
