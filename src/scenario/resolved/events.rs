//! `[[events]]`.

use crate::cluster::config::{
    EventAction, RuntimeConfigChange, ScenarioEvent, ScriptedLoad, ScriptedSchedulerLoad, ThresholdPost,
};
use crate::control::{BusyThresholds, ThresholdUpdate};

use super::super::events::reaches_frontends;
use super::fleet::figure;
use super::frontend::thresholds;
use super::writer::{Writer, inline, instant, list, quoted, span};

pub(super) fn write_event(w: &mut Writer, event: &ScenarioEvent) {
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
