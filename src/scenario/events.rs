//! `[[events]]`: what happens when.

use crate::cluster::config::{
    EventAction, FleetConfig, Override, RuntimeConfigChange, ScenarioEvent, ScriptedLoad, ScriptedSchedulerLoad, ThresholdPost,
};
use crate::control::ThresholdUpdate;
use crate::units::{SimTime, Span};

use super::faults;
use super::fleet::figure;
use super::item::Item;
use super::section::{Section, in_backticks};
use super::workload::worker;

const MAX_EVENTS: usize = 1_000_000;
const MAX_BATCH: usize = 1_000_000;
pub(super) const MAX_RANK: u32 = 1_023;
const MAX_FIGURE: u64 = 1_000_000_000_000_000;

/// The keys of which an event has exactly one.
const ACTIONS: [&str; 14] = [
    "post_busy_threshold",
    "load",
    "scheduler_load",
    "worker_leave",
    "worker_join",
    "report_down",
    "runtime_config",
    "worker_crash",
    "worker_drain",
    "worker_slow",
    "network_delay",
    "scale",
    "telemetry_outage",
    "telemetry_freeze",
];

/// What the events have to agree with.
pub(super) struct Surroundings<'a> {
    /// The fleet, unless something in it is wrong.
    pub fleet: Option<&'a FleetConfig>,
    /// How many frontends there are.
    pub frontends: u32,
}

/// Decodes `[[events]]`.
pub(super) fn decode(root: &mut Section<'_>, around: &Surroundings<'_>) -> Vec<ScenarioEvent> {
    let Some(item) = root.item("events") else { return Vec::new() };
    let Some(items) = item.list() else { return Vec::new() };
    if items.len() > MAX_EVENTS {
        item.mistake(format_args!("a list of at most {MAX_EVENTS} entries"), None);
        return Vec::new();
    }
    items.iter().filter_map(Item::table).flat_map(|section| event(section, around)).collect()
}

/// One entry; a list of loads becomes one event each, in its order.
fn event(mut section: Section<'_>, around: &Surroundings<'_>) -> Vec<ScenarioEvent> {
    section.require("at", "the instant of the event");
    let at = section.instant("at").unwrap_or_default();
    let every = section.optional("every").and_then(|item| item.positive_span());
    let until = section.optional("until").and_then(|item| item.instant());
    check_repetition(&section, at, every, until);
    let frontends = section.item("frontends").and_then(|item| frontends(&item, around.frontends));
    let actions = actions(&mut section, around);
    if !actions.iter().all(reaches_frontends) {
        section.forbid("frontends", "this event concerns the worker, not single frontends", "remove `frontends`");
    }
    section.finish();
    actions.into_iter().map(|action| ScenarioEvent { at, every, until, action, frontends: frontends.clone() }).collect()
}

fn check_repetition(section: &Section<'_>, at: SimTime, every: Option<Span>, until: Option<SimTime>) {
    let Some(until) = until else { return };
    let path = section.path_of("until");
    if every.is_none() {
        section.fault(Some("until"), format!("`{path}` needs `every`: an event without it happens once"), None);
    } else if until < at {
        section.fault(Some("until"), format!("`{path}` is `\"{until}\"`: expected not before `at` = `\"{at}\"`"), None);
    }
}

/// Whether an event reaches frontends, so that it may reach only some.
pub(super) fn reaches_frontends(action: &EventAction) -> bool {
    match action {
        EventAction::PostBusyThreshold(_)
        | EventAction::Load(_)
        | EventAction::SchedulerLoad(_)
        | EventAction::TelemetryOutage(_)
        | EventAction::ReportDown { .. } => true,
        EventAction::WorkerLeave { .. }
        | EventAction::WorkerJoin { .. }
        | EventAction::RuntimeConfig(_)
        | EventAction::WorkerCrash(_)
        | EventAction::WorkerDrain { .. }
        | EventAction::WorkerSlow(_)
        | EventAction::NetworkDelay(_)
        | EventAction::Scale(_)
        | EventAction::TelemetryFreeze(_) => false,
    }
}

/// `"all"`, or a list of frontend ids.
fn frontends(item: &Item<'_>, count: u32) -> Option<Vec<u32>> {
    if item.is_text("all") {
        return None;
    }
    if !item.is_list() {
        item.mistake("`\"all\"` or a list of frontend ids, counted from 0", None);
        return None;
    }
    let mut ids = Vec::new();
    for entry in item.filled_list(MAX_BATCH)? {
        let Some(id) = entry.u32(0, count - 1) else { continue };
        if ids.contains(&id) {
            entry.fault(format!("`{}` is `{id}`: it is in the list already", entry.path()), None);
        }
        ids.push(id);
    }
    Some(ids)
}

fn actions(section: &mut Section<'_>, around: &Surroundings<'_>) -> Vec<EventAction> {
    let given: Vec<&'static str> = ACTIONS.into_iter().filter(|key| section.given(key)).collect();
    let items: Vec<Option<Item<'_>>> = ACTIONS.into_iter().map(|key| section.item(key)).collect();
    let [key] = given[..] else {
        let path = section.path();
        let message = match given.len() {
            0 => format!("`{path}` does nothing: expected exactly one of {}", in_backticks(ACTIONS.into_iter())),
            _ => format!("`{path}` has {}: expected exactly one action", in_backticks(given.iter().copied())),
        };
        section.fault(given.first().copied(), message, (given.len() > 1).then(|| "write one `[[events]]` for each".to_owned()));
        return Vec::new();
    };
    let item = items.into_iter().flatten().next().expect("exactly one action is given");
    let worker = |item: &Item<'_>| worker(item, around.fleet);
    let one = |action: Option<EventAction>| action.into_iter().collect();
    match key {
        "post_busy_threshold" => one(post(&item).map(EventAction::PostBusyThreshold)),
        "load" => one_or_many(&item).iter().filter_map(|item| load(item, around)).map(EventAction::Load).collect(),
        "scheduler_load" => {
            let entries: Vec<_> = one_or_many(&item).iter().map(|item| scheduler_load(item, around)).collect();
            one(entries.into_iter().collect::<Option<Vec<_>>>().filter(|batch| !batch.is_empty()).map(EventAction::SchedulerLoad))
        }
        "worker_leave" => one(worker(&item).map(|worker| EventAction::WorkerLeave { worker })),
        "worker_join" => one(worker(&item).map(|worker| EventAction::WorkerJoin { worker })),
        "report_down" => one(worker(&item).map(|worker| EventAction::ReportDown { worker })),
        "worker_drain" => one(worker(&item).map(|worker| EventAction::WorkerDrain { worker })),
        "worker_crash" => one(faults::worker_crash(&item, around).map(EventAction::WorkerCrash)),
        "worker_slow" => one(faults::worker_slow(&item, around).map(EventAction::WorkerSlow)),
        "network_delay" => one(faults::network_delay(&item, around).map(EventAction::NetworkDelay)),
        "scale" => one(faults::scale(&item, around).map(EventAction::Scale)),
        "telemetry_outage" => one(faults::telemetry(&item, around).map(EventAction::TelemetryOutage)),
        "telemetry_freeze" => one(faults::telemetry(&item, around).map(EventAction::TelemetryFreeze)),
        _ => one(runtime_config(&item, around).map(EventAction::RuntimeConfig)),
    }
}

fn one_or_many<'c>(item: &Item<'c>) -> Vec<Item<'c>> {
    if item.is_list() { item.filled_list(MAX_BATCH).unwrap_or_default() } else { vec![item.clone()] }
}

/// The body of a post. Values the release refuses are taken as they are, so that a run can show the refusal; texts and
/// nulls are not, because a scenario that asks to unset a threshold would not get what it asks for.
fn post(item: &Item<'_>) -> Option<ThresholdPost> {
    let mut section = item.table()?;
    let mut threshold = |key| section.item(key).filter(|item| !asks_to_unset(item));
    let decode = threshold("active_decode_blocks_threshold");
    let prefill = threshold("active_prefill_tokens_threshold");
    let fraction = threshold("active_prefill_tokens_threshold_frac");
    let update = ThresholdUpdate {
        active_decode_blocks_threshold: decode.and_then(|item| item.any_number()),
        active_prefill_tokens_threshold: prefill.and_then(|item| item.u64(0, u64::MAX)),
        active_prefill_tokens_threshold_frac: fraction.and_then(|item| item.any_number()),
    };
    let model = section.optional("model").and_then(|item| item.text(200)).map(str::to_owned);
    section.finish();
    Some(ThresholdPost { model, update })
}

fn asks_to_unset(item: &Item<'_>) -> bool {
    let asks = item.quiet_text().is_some_and(|text| ["none", "null", "unset", "off", ""].contains(&text))
        || item.quiet_bool() == Some(false);
    if asks {
        let hint = "a field that is left out keeps its value; a check can be made harmless by a high value, but not removed";
        let message = format!("`{}` is {}: nothing can be unset at run time", item.path(), item.show());
        item.fault(message, Some(hint.to_owned()));
    }
    asks
}

fn load(item: &Item<'_>, around: &Surroundings<'_>) -> Option<ScriptedLoad> {
    let mut section = item.table()?;
    section.require("worker", "the id of a worker");
    let worker = section.item("worker").and_then(|item| worker(&item, around.fleet));
    let load = ScriptedLoad {
        worker: worker.unwrap_or_default(),
        rank: section.u32("rank", 0, MAX_RANK).unwrap_or(0),
        active_decode_blocks: section.u64("active_decode_blocks", 0, MAX_FIGURE),
        active_prefill_tokens: section.u64("active_prefill_tokens", 0, MAX_FIGURE),
        kv_used_blocks: section.u64("kv_used_blocks", 0, MAX_FIGURE),
    };
    section.finish();
    worker.map(|_| load)
}

fn scheduler_load(item: &Item<'_>, around: &Surroundings<'_>) -> Option<ScriptedSchedulerLoad> {
    let mut section = item.table()?;
    section.require("worker", "the id of a worker");
    section.require("active_decode_blocks", "blocks: a batch of the router always carries them");
    section.require("active_prefill_tokens", "tokens: a batch of the router always carries them");
    let worker = section.item("worker").and_then(|item| worker(&item, around.fleet));
    let load = ScriptedSchedulerLoad {
        worker: worker.unwrap_or_default(),
        rank: section.u32("rank", 0, MAX_RANK).unwrap_or(0),
        active_decode_blocks: section.u64("active_decode_blocks", 0, MAX_FIGURE).unwrap_or(0),
        active_prefill_tokens: section.u64("active_prefill_tokens", 0, MAX_FIGURE).unwrap_or(0),
    };
    section.finish();
    worker.map(|_| load)
}

fn runtime_config(item: &Item<'_>, around: &Surroundings<'_>) -> Option<RuntimeConfigChange> {
    let mut section = item.table()?;
    section.require("worker", "the id of a worker");
    let worker = section.item("worker").and_then(|item| worker(&item, around.fleet));
    let change = RuntimeConfigChange {
        worker: worker.unwrap_or_default(),
        data_parallel_size: section.u32("data_parallel_size", 1, MAX_RANK + 1),
        kv_total_blocks: section.item("kv_total_blocks").and_then(|item| override_of(&item)),
        max_num_batched_tokens: section.item("max_num_batched_tokens").and_then(|item| override_of(&item)),
    };
    let changes = ["data_parallel_size", "kv_total_blocks", "max_num_batched_tokens"];
    if !changes.iter().any(|key| section.given(key)) {
        let message = format!("`{}` changes nothing: expected one of {}", section.path(), in_backticks(changes.into_iter()));
        section.fault(None, message, None);
    }
    section.finish();
    worker.map(|_| change)
}

fn override_of(item: &Item<'_>) -> Option<Override> {
    figure(item, true, MAX_FIGURE)
}
