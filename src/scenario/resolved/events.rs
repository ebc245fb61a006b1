//! `[[events]]`.

use crate::cluster::config::{
    EventAction, FleetConfig, NetworkDelay, RuntimeConfigChange, Scale, ScenarioEvent, ScriptedLoad, ScriptedSchedulerLoad,
    TelemetryFault, ThresholdPost, WorkerCrash, WorkerSlow,
};
use crate::control::{BusyThresholds, ThresholdUpdate};

use super::super::events::reaches_frontends;
use super::fleet::figure;
use super::frontend::thresholds;
use super::writer::{Writer, float, inline, instant, list, quoted, span};

pub(super) fn write_event(w: &mut Writer, event: &ScenarioEvent, fleet: &FleetConfig) {
    w.header("[[events]]");
    w.line("at", instant(event.at));
    if let Some(every) = event.every {
        w.line("every", span(every));
    }
    if let Some(until) = event.until {
        w.line("until", instant(until));
    }
    if reaches_frontends(&event.action) {
        let some = event.frontends.as_ref().map(|ids| list(ids.iter().map(u32::to_string)));
        w.line("frontends", some.unwrap_or_else(|| quoted("all")));
    }
    match &event.action {
        EventAction::PostBusyThreshold(post) => w.line("post_busy_threshold", threshold_post(post)),
        EventAction::Load(load) => w.line("load", scripted_load(load)),
        EventAction::SchedulerLoad(batch) => w.line("scheduler_load", list(batch.iter().map(scheduler_load))),
        EventAction::WorkerLeave { worker } => w.line("worker_leave", worker),
        EventAction::WorkerJoin { worker } => w.line("worker_join", worker),
        EventAction::ReportDown { worker } => w.line("report_down", worker),
        EventAction::RuntimeConfig(change) => w.line("runtime_config", runtime_config(change)),
        EventAction::WorkerCrash(crash) => w.line("worker_crash", worker_crash(crash)),
        EventAction::WorkerDrain { worker } => w.line("worker_drain", worker),
        EventAction::WorkerSlow(slow) => w.line("worker_slow", worker_slow(slow)),
        EventAction::NetworkDelay(network) => w.line("network_delay", network_delay(network)),
        EventAction::Scale(to) => w.line("scale", scale(to, fleet)),
        EventAction::TelemetryOutage(fault) => w.line("telemetry_outage", telemetry_fault(fault)),
        EventAction::TelemetryFreeze(fault) => w.line("telemetry_freeze", telemetry_fault(fault)),
    }
}

/// Adds the fields that are there.
pub(super) fn present(fields: &mut Vec<(&'static str, String)>, more: impl IntoIterator<Item = (&'static str, Option<String>)>) {
    fields.extend(more.into_iter().filter_map(|(key, value)| Some((key, value?))));
}

pub(super) fn threshold_post(post: &ThresholdPost) -> String {
    let ThresholdUpdate { active_decode_blocks_threshold, active_prefill_tokens_threshold, active_prefill_tokens_threshold_frac } =
        post.update;
    let mut fields = Vec::new();
    present(&mut fields, [("model", post.model.as_ref().map(quoted))]);
    present(
        &mut fields,
        thresholds(BusyThresholds {
            active_decode_blocks_threshold,
            active_prefill_tokens_threshold,
            active_prefill_tokens_threshold_frac,
        }),
    );
    inline(&fields)
}

pub(super) fn scripted_load(load: &ScriptedLoad) -> String {
    let mut fields = vec![("worker", load.worker.to_string()), ("rank", load.rank.to_string())];
    present(
        &mut fields,
        [
            ("active_decode_blocks", load.active_decode_blocks.map(|n| n.to_string())),
            ("active_prefill_tokens", load.active_prefill_tokens.map(|n| n.to_string())),
            ("kv_used_blocks", load.kv_used_blocks.map(|n| n.to_string())),
        ],
    );
    inline(&fields)
}

pub(super) fn scheduler_load(load: &ScriptedSchedulerLoad) -> String {
    inline(&[
        ("worker", load.worker.to_string()),
        ("rank", load.rank.to_string()),
        ("active_decode_blocks", load.active_decode_blocks.to_string()),
        ("active_prefill_tokens", load.active_prefill_tokens.to_string()),
    ])
}

pub(super) fn runtime_config(change: &RuntimeConfigChange) -> String {
    let mut fields = vec![("worker", change.worker.to_string())];
    present(
        &mut fields,
        [
            ("data_parallel_size", change.data_parallel_size.map(|n| n.to_string())),
            ("kv_total_blocks", change.kv_total_blocks.map(figure)),
            ("max_num_batched_tokens", change.max_num_batched_tokens.map(figure)),
        ],
    );
    inline(&fields)
}

fn worker_crash(crash: &WorkerCrash) -> String {
    let mut fields = vec![("worker", crash.worker.to_string())];
    if let Some(after) = crash.rejoin_after {
        fields.extend([("rejoin_after", span(after)), ("load_time", span(crash.load_time))]);
    }
    inline(&fields)
}

fn worker_slow(slow: &WorkerSlow) -> String {
    let mut fields = vec![("worker", slow.worker.to_string()), ("factor", float(slow.factor))];
    present(&mut fields, [("for", slow.duration.map(span))]);
    inline(&fields)
}

fn network_delay(network: &NetworkDelay) -> String {
    let mut fields = vec![("delay", span(network.delay))];
    present(&mut fields, [("worker", network.worker.map(|id| id.to_string())), ("for", network.duration.map(span))]);
    inline(&fields)
}

fn scale(to: &Scale, fleet: &FleetConfig) -> String {
    let name = quoted(&fleet.types[to.kind].name);
    inline(&[("type", name), ("workers", to.workers.to_string()), ("load_time", span(to.load_time))])
}

fn telemetry_fault(fault: &TelemetryFault) -> String {
    let mut fields = vec![("for", span(fault.duration))];
    present(&mut fields, [("worker", fault.worker.map(|id| id.to_string())), ("rank", fault.rank.map(|rank| rank.to_string()))]);
    inline(&fields)
}
