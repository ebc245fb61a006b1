//! The summary for people: one screen of 80 columns, the verdict first.

use std::fmt::Write as _;

use super::marks::instant;
use super::summary::{LatencySummary, Level, MeasuresSummary, Summary, UpdateSummary, WarningEntry};
use super::verdict::{admitting_setting, headline};
use super::wrap::{COLUMNS, wrap};
use crate::stats::text::{count, duration, percent, significant};

/// Phases and posts shown at most; the files have them all.
const MOST_ROWS: usize = 8;
/// Warnings shown at most.
const MOST_WARNINGS: usize = 6;
/// Width of the names at the left.
const LABEL: usize = 11;
const NANOS_PER_SECOND: f64 = 1e9;
const WRITES: &str = "writing to a text cannot fail";

/// The summary as text. `files` says where the results are, as a last line of it.
pub fn summary_text(summary: &Summary, files: Option<&str>) -> String {
    let mut text = wrap("", &headline(summary), 0, COLUMNS);
    text.push_str(&wrap("", &what_ran(summary), 0, COLUMNS));
    text.push('\n');
    text.push_str(&conservation(summary));
    text.push_str(&refusals(summary));
    text.push_str(&rates(summary));
    text.push_str(&wasted(summary));
    text.push_str(&recovery(summary));
    text.push_str(&occupancy(summary));
    text.push_str(&latencies(summary));
    if let Some(quality) = &summary.decision_quality {
        text.push_str(&quality.text(COLUMNS));
    }
    text.push_str(&phases(summary));
    text.push_str(&classes(summary));
    text.push_str(&updates(&summary.threshold_updates));
    text.push_str(&trace(summary));
    text.push_str(&sessions(summary));
    text.push_str(&warnings(&summary.warnings));
    if let Some(files) = files {
        text.push('\n');
        text.push_str(&wrap("", files, 0, COLUMNS));
    }
    text
}

fn what_ran(summary: &Summary) -> String {
    let plural = |n: u64, what: &str| if n == 1 { format!("1 {what}") } else { format!("{} {what}s", count(n)) };
    let fleet = &summary.fleet;
    let workers = u64::from(fleet.workers);
    let ranks = if fleet.ranks > workers { format!(" of {} in all", plural(fleet.ranks, "rank")) } else { String::new() };
    let cut = if summary.measured_from_s > 0.0 {
        format!(", measured from {} on", instant(summary.measured_from_s))
    } else {
        String::new()
    };
    format!(
        "{}: {} simulated{cut}, seed {}, {}{ranks}, {} routing",
        summary.name,
        instant(summary.ended_at_s),
        summary.seed,
        plural(workers, "worker"),
        summary.router_mode,
    )
}

/// A block whose first line has a name at the left.
fn block(label: &str, text: &str) -> String {
    wrap(&format!("{label:<LABEL$}"), text, LABEL, COLUMNS)
}

fn sum(outcomes: &[(&'static str, u64)]) -> String {
    let parts: Vec<String> = outcomes.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{} {name}", count(*n))).collect();
    if parts.is_empty() { "0".to_owned() } else { parts.join(" + ") }
}

fn conservation(summary: &Summary) -> String {
    let whole = &summary.conservation;
    let verdict = if whole.holds { "" } else { " -- BUG: the outcomes do not add up" };
    let whole_run = if summary.measured_from_s > 0.0 { " in the whole run" } else { "" };
    let requests = format!("{} offered{whole_run} = {}", count(whole.requests.offered), sum(&whole.requests.outcomes()));
    let attempts = format!("{} started{whole_run} = {}{verdict}", count(whole.attempts.started), sum(&whole.attempts.outcomes()));
    let mut text = block("requests", &requests);
    text.push_str(&block("attempts", &attempts));
    text
}

/// Refusals by reason and by decisive check, with what would have admitted most.
fn refusals(summary: &Summary) -> String {
    let total = &summary.total;
    let (refused, started) = (total.attempts.refused, total.attempts.started);
    if refused == 0 {
        return String::new();
    }
    let share = |n: u64| percent(n as f64 / refused as f64);
    let listed = |named: &[super::summary::Named]| {
        let parts =
            named.iter().filter(|n| n.attempts > 0).map(|n| format!("{} {} ({})", n.name, count(n.attempts), share(n.attempts)));
        parts.collect::<Vec<_>>().join(", ")
    };
    let lost = total.lost_to_overload_share.map(percent).unwrap_or_default();
    let rate = total.rate_529.map(percent).unwrap_or_default();
    let status = summary.overload_status_code;
    let mut text = block("refused", &format!("{rate} of {} attempts ({status}), {lost} of requests lost to it", count(started)));
    text.push_str(&block("", &format!("by reason: {}", listed(&total.refused_by_reason))));
    text.push_str(&block("", &format!("by decisive check: {}", listed(&total.refused_by_decisive_check))));
    let admitting = total.refused_by_decisive_check.iter().filter_map(|n| Some((n.attempts, admitting_setting(&n.name)?)));
    if let Some((n, setting)) = admitting.filter(|(n, _)| *n > 0).reduce(|best, n| if n.0 > best.0 { n } else { best }) {
        let say = format!("{} of them would have been admitted without {setting}", share(n));
        text.push_str(&block("", &say));
    }
    text
}

fn rates(summary: &Summary) -> String {
    let total = &summary.total;
    let per_second = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |r| format!("{}/s", significant(r, 3)));
    let mut line = format!("{} offered, {} completed", per_second(total.offered_rate), per_second(total.throughput));
    let slo = &summary.slo;
    let targets = [("ttft", slo.ttft_s), ("tpot", slo.tpot_s), ("e2e", slo.e2e_s)];
    let targets: Vec<String> = targets
        .into_iter()
        .filter_map(|(name, target)| Some(format!("{name} <= {}", duration(target? * NANOS_PER_SECOND))))
        .collect();
    if let (false, Some(share), Some(of_completed)) = (targets.is_empty(), total.slo.share, total.slo.share_of_completed) {
        write!(
            line,
            ", {} within {}: {} of offered ({} of completed)",
            per_second(total.goodput),
            targets.join(", "),
            percent(share),
            percent(of_completed)
        )
        .expect(WRITES);
    }
    if let Some(amplification) = total.amplification.filter(|a| *a > 1.0) {
        write!(line, ", {} attempts per request", significant(amplification, 3)).expect(WRITES);
    }
    block("rates", &line)
}

/// Work for clients who had left.
fn wasted(summary: &Summary) -> String {
    let tokens = &summary.total.tokens;
    if tokens.wasted == 0 {
        return String::new();
    }
    let share = tokens.wasted_share.map(percent).unwrap_or_default();
    let attempts =
        if tokens.wasted_attempts == 1 { "1 attempt".to_owned() } else { format!("{} attempts", count(tokens.wasted_attempts)) };
    block("wasted", &format!("{} tokens ({share} of all) computed for {attempts} that nobody waited for", count(tokens.wasted)))
}

/// What became of the goodput after the first scheduled disturbance.
fn recovery(summary: &Summary) -> String {
    let Some(recovery) = &summary.recovery else { return String::new() };
    let at = instant(recovery.disturbed_at_s);
    let per_second = |rate: f64| format!("{}/s", significant(rate, 3));
    let (before, last) = (per_second(recovery.goodput_before), per_second(recovery.goodput_last_quarter));
    let text = match recovery.recovered_after_s {
        _ if recovery.does_not_recover => {
            format!("none: goodput {before} before the disturbance at {at}, {last} in the last quarter of the run")
        }
        Some(after) if after > 0.0 => {
            let resolution = duration(recovery.resolution_s * NANOS_PER_SECOND);
            let after = duration(after * NANOS_PER_SECOND);
            let since_end = match (recovery.over_at_s, recovery.recovered_after_end_s) {
                (Some(over), Some(after)) if after > 0.0 => {
                    format!(", {} after its end at {}", duration(after * NANOS_PER_SECOND), instant(over))
                }
                _ => String::new(),
            };
            format!(
                "goodput back {after} after the disturbance at {at}{since_end} (known to {resolution}): {before} before, {last} at the end"
            )
        }
        Some(_) => return String::new(),
        None => format!("not seen: goodput {before} before the disturbance at {at}, {last} in the last quarter of the run"),
    };
    block("recovery", &text)
}

fn heading(label: &str, columns: &[&str]) -> String {
    let columns: String = columns.iter().map(|c| format!("{c:>10}")).collect();
    format!("{label:<30}{columns}\n")
}

fn occupancy(summary: &Summary) -> String {
    let Some(occupancy) = &summary.total.occupancy else { return String::new() };
    let fleet = &summary.fleet;
    let of = |name: &str, letter: &str, limit: Option<u64>| match limit {
        Some(limit) => format!("  {name} (sum of {letter}: {})", count(limit)),
        None => format!("  {name}"),
    };
    let slots = if fleet.gated_workers > 0 { "engine slots" } else { "in the engines" };
    let mut text = String::from("\n");
    text.push_str(&heading("requests in the fleet", &["mean", "p50", "p90", "p99", "max"]));
    text.push_str(&level_row(&of(slots, "N", fleet.engine_request_limit), &occupancy.engine_slots));
    if fleet.gated_workers > 0 {
        text.push_str(&level_row(&of("queue", "Q", fleet.request_queue_limit), &occupancy.queue));
        text.push_str(&level_row("  queue as the gauge reads", &occupancy.queue_gauge));
        if let Some(share) = occupancy.full_share {
            writeln!(text, "  a worker was full (N + Q) for {} of the time on average", percent(share)).expect(WRITES);
        }
    }
    text
}

fn level_row(label: &str, level: &Level) -> String {
    let whole = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), count);
    let mean = level.mean.map_or_else(|| "-".to_owned(), |m| significant(m, 3));
    let cells = [mean, whole(level.p50), whole(level.p90), whole(level.p99), whole(level.max)];
    row(label, &cells)
}

fn row(label: &str, cells: &[String]) -> String {
    let cells: String = cells.iter().map(|c| format!("{c:>10}")).collect();
    format!("{label:<30}{cells}\n")
}

fn latencies(summary: &Summary) -> String {
    let set = &summary.total.latency;
    if set.ttft_s.count == 0 {
        return String::new();
    }
    let rule = if summary.quantile_method == "rounded_rank" { ", rounded rank" } else { "" };
    let mut text = String::from("\n");
    text.push_str(&heading(&format!("completed requests{rule}"), &["mean", "p50", "p90", "p99", "max"]));
    let waits = |name: &str| summary.fleet.gated_workers > 0 || name != "wait for a slot";
    for (name, latency) in set.named().into_iter().filter(|(name, _)| waits(name)) {
        text.push_str(&latency_row(&format!("  {name}"), latency));
    }
    // Where clients retry, a request waits longer than any of its attempts.
    if let Some(attempts) = &summary.total.attempt_latency {
        for (name, latency) in [("first token, by attempt", &attempts.ttft_s), ("end to end, by attempt", &attempts.e2e_s)] {
            text.push_str(&latency_row(&format!("  {name}"), latency));
        }
    }
    text
}

fn latency_row(label: &str, latency: &LatencySummary) -> String {
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |s| duration(s * NANOS_PER_SECOND));
    row(label, &[cell(latency.mean), cell(latency.p50), cell(latency.p90), cell(latency.p99), cell(latency.max)])
}

fn phases(summary: &Summary) -> String {
    if summary.phases.len() < 2 {
        return String::new();
    }
    let mut text = String::from("\n");
    text.push_str(&heading("phases", &["from", "offered", "completed", "refused", "p99 ttft"]));
    for phase in summary.phases.iter().take(MOST_ROWS) {
        text.push_str(&phase_row(&phase.name, phase.start_s, &phase.measures));
    }
    text.push_str(&left_out(summary.phases.len(), "phase", "summary.json"));
    text
}

/// Client classes, where there are several; none of them has phases of its own.
fn classes(summary: &Summary) -> String {
    if summary.classes.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n");
    text.push_str(&heading("classes", &["requests", "offered", "completed", "refused", "p99 ttft"]));
    for class in summary.classes.iter().take(MOST_ROWS) {
        text.push_str(&measures_row(&class.name, count(class.measures.requests.offered), &class.measures));
    }
    text.push_str(&match summary.classes.len() - summary.classes.len().min(MOST_ROWS) {
        0 => String::new(),
        n => format!("  ... and {n} more in summary.json\n"),
    });
    text
}

fn left_out(all: usize, what: &str, file: &str) -> String {
    match all.saturating_sub(MOST_ROWS) {
        0 => String::new(),
        1 => format!("  ... and 1 more {what} in {file}\n"),
        n => format!("  ... and {n} more {what}s in {file}\n"),
    }
}

fn phase_row(name: &str, start_s: f64, measures: &MeasuresSummary) -> String {
    measures_row(name, instant(start_s), measures)
}

/// A row of a table of stretches or classes: `first` fills its first column.
fn measures_row(name: &str, first: String, measures: &MeasuresSummary) -> String {
    let per_second = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |r| format!("{}/s", significant(r, 3)));
    let cells = [
        first,
        per_second(measures.offered_rate),
        per_second(measures.throughput),
        measures.rate_529.map_or_else(|| "-".to_owned(), percent),
        measures.latency.ttft_s.p99.map_or_else(|| "-".to_owned(), |s| duration(s * NANOS_PER_SECOND)),
    ];
    row(&format!("  {}", elided(name, 27)), &cells)
}

fn elided(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most - 3).collect();
    format!("{}...", kept.trim_end())
}

fn updates(updates: &[UpdateSummary]) -> String {
    if updates.is_empty() {
        return String::new();
    }
    let several = updates.iter().any(|u| u.frontend > 0);
    let mut text = String::from("\nthreshold posts\n");
    for update in updates.iter().take(MOST_ROWS) {
        let frontend = if several { format!(", frontend {}", update.frontend) } else { String::new() };
        let what = format!("at {}{frontend}, {}: {}", instant(update.at_s), update.thresholds.in_words(), lag(update));
        text.push_str(&wrap("  ", &what, 4, COLUMNS));
    }
    text.push_str(&left_out(updates.len(), "post", "threshold_updates.csv"));
    text
}

/// How an update came into force, in words.
fn lag(update: &UpdateSummary) -> String {
    let after = |lag: f64| if lag > 0.0 { format!("after {}", duration(lag * NANOS_PER_SECOND)) } else { "at once".to_owned() };
    match update.outcome.as_str() {
        "refused" if update.answer == "unknown_model" => return "refused (404): not this frontend's model".to_owned(),
        "refused" => return "refused (400): a value out of range, nothing stored".to_owned(),
        "no_op" => return "no change to what was stored".to_owned(),
        _ => {}
    }
    let Some(noticed) = update.noticed_lag_s else {
        return match update.superseded_lag_s {
            Some(lag) => format!("never noticed, replaced by a later post {}", after(lag)),
            None => "never noticed: no load event came after it".to_owned(),
        };
    };
    let before = decisions(update.decisions_before_noticed);
    let noticed = format!("noticed {} ({before} meanwhile)", after(noticed));
    let end = match (update.all_lag_s, update.superseded_lag_s) {
        (Some(lag), _) => format!("in force at all workers {} ({} more)", after(lag), count(update.decisions_until_all)),
        (None, Some(lag)) => {
            format!("{} workers switched before a later post replaced it {}", update.workers_switched, after(lag))
        }
        (None, None) => {
            let workers: Vec<String> = update.silent.iter().take(4).map(|s| s.worker.to_string()).collect();
            format!("never in force at worker {}{}", workers.join(", "), if update.silent.len() > 4 { ", ..." } else { "" })
        }
    };
    let effect = match update.effect_lag_s {
        Some(lag) => format!("first other decision {}", after(lag)),
        None => "no decision was another for it".to_owned(),
    };
    format!("{noticed}, {end}; {effect}")
}

fn decisions(n: u64) -> String {
    if n == 1 { "1 decision".to_owned() } else { format!("{} decisions", count(n)) }
}

fn trace(summary: &Summary) -> String {
    let Some(trace) = &summary.trace else { return String::new() };
    let dropped: Vec<String> = trace.dropped.iter().map(|d| format!("{} {}", count(d.rows), d.reason)).collect();
    let dropped = if dropped.is_empty() { String::new() } else { format!(" + dropped: {}", dropped.join(", ")) };
    let text = format!(
        "{} ({}): {} rows = {} replayed{dropped}",
        trace.path,
        trace.format,
        count(trace.rows_read),
        count(trace.replayed)
    );
    format!("\n{}", block("trace", &text))
}

fn sessions(summary: &Summary) -> String {
    let Some(sessions) = &summary.sessions else { return String::new() };
    let outcomes = [
        ("completed", sessions.completed),
        ("at the longest context", sessions.at_max_context),
        ("broken by a turn without answer", sessions.broken),
        ("unfinished", sessions.unfinished),
    ];
    let cut = if sessions.turns_cut > 0 {
        format!(", {} of them cut to the longest context", count(sessions.turns_cut))
    } else {
        String::new()
    };
    let text = format!("{} started = {}; {} turns{cut}", count(sessions.started), sum(&outcomes), count(sessions.turns));
    format!("\n{}", block("sessions", &text))
}

fn warnings(warnings: &[WarningEntry]) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nwarnings\n");
    for warning in warnings.iter().take(MOST_WARNINGS) {
        text.push_str(&wrap("  ! ", &format!("`{}` {}", warning.subject, warning.cause), 4, COLUMNS));
        if let Some(next) = &warning.next_step {
            text.push_str(&wrap("    hint: ", next, 4, COLUMNS));
        }
    }
    match warnings.len().saturating_sub(MOST_WARNINGS) {
        0 => {}
        n => writeln!(text, "  ... and {n} more in summary.json").expect(WRITES),
    }
    text
}
