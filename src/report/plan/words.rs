//! Cells, targets and findings of a plan in words.

use crate::experiment::plan::{Answer, Binding, Description, Goal, Judged, LOAD, Looks, Quest, Shift, Variant};
use crate::experiment::sweep::Axis;
use crate::experiment::sweep::grid::plain;
use crate::report::sweep::axes::{bound_of, show_value};
use crate::stats::text::{percent, significant};

/// A cell: `6 workers`, `load 1.35`, or all its fields.
pub(super) fn cell(d: &Description, cell: usize) -> String {
    let settings = d.grid.settings(cell);
    match settings.as_slice() {
        [("fleet.workers", value)] => {
            let value = plain(value);
            if value == "1" { "1 worker".to_owned() } else { format!("{value} workers") }
        }
        [(LOAD, value)] => format!("{} times the load", plain(value)),
        [(path, value)] => format!("{path} = {}", plain(value)),
        _ => settings.iter().map(|(path, value)| field(d, path, &plain(value))).collect::<Vec<_>>().join(", "),
    }
}

/// A verb as it stands after the words of a cell: several workers `meet`, one worker or a value `meets`.
pub(super) fn agreeing(verb: &str, cell: &str) -> String {
    if cell.ends_with(" workers") { verb.to_owned() } else { format!("{verb}s") }
}

/// A field with its value, its tables left out; of a worker type the number and its name: `3 small`.
fn field(d: &Description, path: &str, value: &str) -> String {
    let parts: Vec<&str> = path.split('.').collect();
    match parts.as_slice() {
        ["fleet", "worker_types", number, rest @ ..] => {
            let name = number.parse::<usize>().ok().and_then(|n| d.types.get(n)).map_or(*number, String::as_str);
            if *rest == ["workers"] { format!("{value} {name}") } else { format!("{name} {} {value}", rest.join(".")) }
        }
        [.., last] => format!("{last} {value}"),
        [] => value.to_owned(),
    }
}

/// An axis: its fields without their tables, or the name of the worker type that it counts.
pub(super) fn axis(d: &Description, axis: &Axis) -> String {
    let name = |path: &String| {
        let counted = path.strip_prefix("fleet.worker_types.").and_then(|rest| rest.strip_suffix(".workers"));
        let kind = counted.and_then(|number| number.parse::<usize>().ok()).and_then(|n| d.types.get(n));
        kind.cloned().unwrap_or_else(|| path.rsplit('.').next().unwrap_or(path).to_owned())
    };
    axis.paths.iter().map(name).collect::<Vec<_>>().join(":")
}

/// A target: `529 rate at most 0.1 %`.
pub(super) fn goal(goal: &Goal) -> String {
    format!("{} {}", goal.label(), bound_of(goal.at_least, goal.value, goal.unit()))
}

/// All targets.
pub(super) fn goals(d: &Description) -> String {
    d.goals.iter().map(goal).collect::<Vec<_>>().join(", ")
}

/// What a cell shows of a target: `529 rate 0.052 % [0.041 %, 0.066 %], at most 0.1 %`; of a quantile also the share of requests
/// beyond the bound, which is what is tested.
pub(super) fn shown(goal: &Goal, judged: &Judged) -> String {
    let value = |value: f64| show_value(goal.unit(), value);
    let bound = bound_of(goal.at_least, goal.value, goal.unit());
    let Some(tested) = judged.tested else { return format!("{}: nothing completed, {bound}", goal.label()) };
    let figure = judged.figure.map_or("-".to_owned(), value);
    let share = crate::experiment::measure_table::MeasureUnit::Share;
    match (goal.quantile(), judged.interval) {
        (Some(quantile), interval) => {
            let ends = interval.map_or(String::new(), |ends| format!(" {}", between(share, ends)));
            let allowed = percent(1.0 - quantile.share);
            format!("{} {figure}, {bound} ({}{ends} of requests beyond it, {allowed} allowed)", goal.label(), percent(tested))
        }
        (None, Some(ends)) => format!("{} {figure} {}, {bound}", goal.label(), between(goal.unit(), ends)),
        (None, None) => format!("{} {figure}, {bound}", goal.label()),
    }
}

/// An interval: `[0.041 %, 0.066 %]`.
fn between(unit: crate::experiment::measure_table::MeasureUnit, (low, high): (f64, f64)) -> String {
    // Next to nothing is not worth its digits.
    let low = if low > 0.0 && low < high / 1000.0 { "~0".to_owned() } else { show_value(unit, low) };
    format!("[{low}, {}]", show_value(unit, high))
}

/// How much of a bound is used, or by how much it is broken: `uses 52 % of what is allowed`.
pub(super) fn margin(goal: &Goal, judged: &Judged) -> Option<String> {
    let (tested, (bound, at_least)) = (judged.tested?, goal.tested());
    if bound <= 0.0 {
        return None;
    }
    let what = if goal.quantile().is_some() {
        format!("requests beyond {}", bound_of(false, goal.value, goal.unit()).replace("at most ", ""))
    } else {
        goal.label()
    };
    let ratio = tested / bound;
    // Of shares that must be high, what is missing from all is what counts.
    let share =
        at_least && goal.quantile().is_none() && matches!(goal.unit(), crate::experiment::measure_table::MeasureUnit::Share);
    Some(match (at_least, share) {
        (true, true) => format!("{what}: {} of what may be missing", percent_of((1.0 - tested) / (1.0 - bound))),
        (true, false) => format!("{what}: {} of what is wanted", percent_of(ratio)),
        (false, _) => format!("{what}: {} of what is allowed", percent_of(ratio)),
    })
}

/// A ratio as whole per cents, or as a multiple beyond 10.
pub(super) fn percent_of(ratio: f64) -> String {
    if ratio > 10.0 { format!("{} times", significant(ratio, 2)) } else { format!("{:.0} %", 100.0 * ratio) }
}

/// The conditions: `with 1 worker lost and 20 % more traffic`; nothing where there are none.
pub(super) fn conditions(d: &Description) -> Option<String> {
    let lost = match d.conditions.survive {
        0 => None,
        1 => Some("1 worker lost".to_owned()),
        n => Some(format!("{n} workers lost")),
    };
    let more = (d.conditions.growth > 0.0).then(|| format!("{} more traffic", percent_of(d.conditions.growth)));
    let all: Vec<String> = lost.into_iter().chain(more).collect();
    (!all.is_empty()).then(|| format!("with {}", all.join(" and ")))
}

/// What binds.
pub(super) fn binding(binding: &Binding) -> String {
    match binding {
        Binding::Check { check, share } => {
            let what = match *check {
                "decode" => "the decode threshold",
                "prefill" => "the prefill threshold",
                "prefill_fraction" => "the prefill fraction",
                "lease" => "leases after refusals",
                "worker_gate" => "workers at capacity (N + Q)",
                _ => "several checks at once",
            };
            format!("{} of the refusals are by {what}", percent(*share))
        }
        Binding::Kv(share) => format!("KV blocks are {} used at p99", percent(share.min(1.0))),
        Binding::Seats(share) => format!("{} of the seats (`max_num_seqs`) are taken at p99", percent(share.min(1.0))),
        Binding::Slots(share) => format!("{} of the engine slots (N) are taken at p99", percent(share.min(1.0))),
        Binding::Queue(share) => format!("{} of the queue places (Q) are taken at p99", percent(share.min(1.0))),
        Binding::Prefill { waiting } => {
            format!(
                "{} requests wait at a rank at p99 while seats and KV blocks are left: prompts wait for steps (prefill)",
                significant(*waiting, 2)
            )
        }
        Binding::Preemptions(per) => format!("{} preemptions per completed request", significant(*per, 2)),
    }
}

/// What differs: `rate +10 %`.
pub(super) fn variant(variant: Variant) -> String {
    let name = match variant {
        Variant::Asked => return "as asked".to_owned(),
        Variant::Rate { .. } => "arrivals",
        Variant::InputTokens { .. } => "prompt tokens",
        Variant::OutputTokens { .. } => "output tokens",
        Variant::StepTime { .. } => "step or service time",
        Variant::TelemetryDelay { .. } => "telemetry delay",
    };
    let change = 100.0 * (variant.factor() - 1.0);
    format!("{name} {}{:.0} %", if change < 0.0 { "-" } else { "+" }, change.abs())
}

/// What a variant does to the answer.
pub(super) fn shift(answer: &Answer, shift: &Shift) -> String {
    let d = &answer.description;
    let line = matches!(d.quest, Quest::Fewest { .. } | Quest::Most { .. });
    match (shift.cell, line) {
        (Some(found), true) if Some(found) == answer.chosen => "the same".to_owned(),
        (Some(found), true) => cell(d, found),
        (None, true) => "out of reach of what was looked at".to_owned(),
        (Some(_), false) => "still meets the targets".to_owned(),
        (None, false) => "misses a target".to_owned(),
    }
}

/// How a cell is looked at.
pub(super) fn looks(d: &Description) -> String {
    match d.looks {
        Looks::Doubling { .. } => {
            let first = d.looks.horizon(0).map_or(String::new(), |at| at.to_string());
            format!("runs from {first} on, each look doubling what is simulated, in 20 batches a run")
        }
        Looks::Equal { .. } => {
            let length = d.looks.horizon(0).map_or(String::new(), |at| at.to_string());
            format!("runs of {length}, in 20 batches each")
        }
        Looks::Replications => "replications of the scenario as it is".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_agree_with_their_cell() {
        assert_eq!(agreeing("meet", "6 workers"), "meet");
        for cell in ["1 worker", "1.35 times the load", "fleet.engine_request_limit = 48"] {
            assert_eq!(agreeing("meet", cell), "meets", "{cell}");
        }
    }
}
