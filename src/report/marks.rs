//! The instants that figures mark, and thresholds before and after a post.

use super::charts::data::{Mark, MarkKind, TimeFrame};
use super::summary::Thresholds;
use crate::cluster::observer::PostAnswer;
use crate::control::BusyThresholds;
use crate::experiment::RunResult;
use crate::experiment::phases::{name_of_change, rate_changes};
use crate::experiment::result::UpdateResult;
use crate::scenario::Scenario;
use crate::units::{SimTime, Span};

/// Marks of one kind at most: more would cover the figure.
const MOST: usize = 12;

/// The run as a span of time, with its posts, changes of rate, faults and end of warm-up.
pub(super) fn time_frame(scenario: &Scenario, result: &RunResult) -> TimeFrame {
    let end = result.ended_at.as_secs_f64().max(f64::MIN_POSITIVE);
    let mut marks = Vec::new();
    if result.measured_from > SimTime::ZERO {
        marks.push(mark(result.measured_from, MarkKind::Phase, "warm-up ends".to_owned()));
    }
    for kind in [rates(scenario), events(scenario), posts(scenario, result)] {
        if kind.len() <= MOST {
            marks.extend(kind);
        }
    }
    marks.retain(|m| m.at < end);
    TimeFrame { start: 0.0, end, marks }
}

fn mark(at: SimTime, kind: MarkKind, label: String) -> Mark {
    Mark { at: at.as_secs_f64(), kind, label }
}

fn rates(scenario: &Scenario) -> Vec<Mark> {
    let mut marks = Vec::new();
    let several = scenario.workload.streams.len() > 1;
    for (class, process) in scenario.workload.processes() {
        let of = class.filter(|_| several).map(|class| format!("{class}: ")).unwrap_or_default();
        let changes = process.schedule().into_iter().flat_map(rate_changes).filter(|(at, _)| *at > SimTime::ZERO);
        marks.extend(changes.map(|(at, to)| mark(at, MarkKind::Phase, format!("{of}{to} requests/s"))));
    }
    marks
}

fn events(scenario: &Scenario) -> Vec<Mark> {
    let named = scenario.events.iter().filter_map(|event| Some((event.at, name_of_change(&event.action)?)));
    named.map(|(at, label)| mark(at, MarkKind::Fault, label)).collect()
}

/// One mark per post, whatever the number of frontends it went to.
fn posts(scenario: &Scenario, result: &RunResult) -> Vec<Mark> {
    let changes = changes(scenario, &result.updates);
    let mut last = None;
    let mut marks = Vec::new();
    for (update, change) in result.updates.iter().zip(changes) {
        if last != Some(update.post) {
            marks.push(mark(update.at, MarkKind::Post, change));
        }
        last = Some(update.post);
    }
    marks
}

/// What each post changed, in a few words: `decode 0.85 to 0.6`.
pub(super) fn changes(scenario: &Scenario, updates: &[UpdateResult]) -> Vec<String> {
    let mut stored = vec![scenario.frontend.thresholds; scenario.frontend.frontends as usize];
    updates
        .iter()
        .map(|update| {
            let now = &mut stored[update.frontend as usize];
            match update.answer {
                PostAnswer::Invalid => return "post refused (400)".to_owned(),
                PostAnswer::UnknownModel => return "post refused (404)".to_owned(),
                PostAnswer::Unchanged => return "post without change".to_owned(),
                PostAnswer::Changed => {}
            }
            let before = *now;
            let posted = &update.update;
            *now = BusyThresholds {
                active_decode_blocks_threshold: posted.active_decode_blocks_threshold.or(before.active_decode_blocks_threshold),
                active_prefill_tokens_threshold: posted
                    .active_prefill_tokens_threshold
                    .or(before.active_prefill_tokens_threshold),
                active_prefill_tokens_threshold_frac: posted
                    .active_prefill_tokens_threshold_frac
                    .or(before.active_prefill_tokens_threshold_frac),
            };
            change(&before, now)
        })
        .collect()
}

fn change(before: &BusyThresholds, after: &BusyThresholds) -> String {
    let float = |v: Option<f64>| v.map(|v| v.to_string());
    let whole = |v: Option<u64>| v.map(|v| v.to_string());
    let fields = [
        ("decode", float(before.active_decode_blocks_threshold), float(after.active_decode_blocks_threshold)),
        ("prefill tokens", whole(before.active_prefill_tokens_threshold), whole(after.active_prefill_tokens_threshold)),
        (
            "prefill fraction",
            float(before.active_prefill_tokens_threshold_frac),
            float(after.active_prefill_tokens_threshold_frac),
        ),
    ];
    let changed = fields.into_iter().filter(|(_, old, new)| old != new).map(|(name, old, new)| {
        format!("{name} {} to {}", old.unwrap_or_else(|| "unset".to_owned()), new.unwrap_or_else(|| "unset".to_owned()))
    });
    changed.collect::<Vec<_>>().join(", ")
}

/// An instant for people: exact where that is short, else with four digits.
pub(super) fn instant(seconds: f64) -> String {
    let exact = Span::from_secs_f64(seconds).unwrap_or_default().to_string();
    if exact.len() <= 7 { exact } else { format!("{} s", crate::stats::text::significant(seconds, 4)) }
}

/// Thresholds in words, or that there is none.
pub(super) fn thresholds_in_words(thresholds: &BusyThresholds) -> String {
    let BusyThresholds { active_decode_blocks_threshold, active_prefill_tokens_threshold, active_prefill_tokens_threshold_frac } =
        *thresholds;
    Thresholds { active_decode_blocks_threshold, active_prefill_tokens_threshold, active_prefill_tokens_threshold_frac }
        .in_words()
}
