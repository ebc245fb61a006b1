//! The summary for people: one screen, the verdict first.

use super::marks::instant;
use super::screen::{Block, COLUMNS, Column, Fact, Item, List, Row, Screen, Table};
use super::summary::{LatencySummary, Level, MeasuresSummary, SessionSummary, Summary, UpdateSummary, WarningEntry};
use super::verdict::{admitting_setting, headline, routed_without};
use crate::stats::text::{count, duration, percent, significant};

const NANOS_PER_SECOND: f64 = 1e9;
/// What stands where there is no figure.
const NONE: &str = "-";

/// How much of a long result is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Phases, classes and posts.
    pub rows: usize,
    /// Warnings.
    pub warnings: usize,
}

impl Extent {
    /// As much as one screen has room for; the files have all of it.
    pub const SCREEN: Self = Self { rows: 8, warnings: 6 };
    /// As much as a page has room for.
    pub const PAGE: Self = Self { rows: 200, warnings: 200 };
}

/// The summary as text of 80 columns. `files` says where the results are, as a last line of it.
pub fn summary_text(summary: &Summary, files: Option<&str>) -> String {
    let mut screen = summary_screen(summary, Extent::SCREEN);
    screen.blocks.extend(files.map(|files| Block::Text(files.to_owned())));
    screen.to_text(COLUMNS)
}

/// The summary in blocks.
pub fn summary_screen(summary: &Summary, extent: Extent) -> Screen {
    let facts = [conservation(summary), refusals(summary), vec![rates(summary)], wasted(summary), recovery(summary)].concat();
    let quality = summary.decision_quality.iter().filter_map(|quality| Some(fact("decisions", quality.said()?)));
    let traffic = summary.trace.iter().map(trace).chain(summary.sessions.iter().map(sessions));
    let blocks = [
        Some(Block::Facts(facts)),
        occupancy(summary).map(Block::Table),
        latencies(summary).map(Block::Table),
        some_facts(quality.collect()),
        phases(summary, extent).map(Block::Table),
        classes(summary, extent).map(Block::Table),
        updates(&summary.threshold_updates, extent).map(Block::List),
        some_facts(traffic.collect()),
        warnings(&summary.warnings, extent).map(Block::List),
    ];
    Screen { lead: vec![headline(summary), what_ran(summary)], blocks: blocks.into_iter().flatten().collect() }
}

fn some_facts(facts: Vec<Fact>) -> Option<Block> {
    (!facts.is_empty()).then_some(Block::Facts(facts))
}

fn fact(name: &'static str, said: String) -> Fact {
    Fact { name, said: vec![said] }
}

/// Which run it was.
pub(super) fn what_ran(summary: &Summary) -> String {
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

fn sum(outcomes: &[(&'static str, u64)]) -> String {
    let parts: Vec<String> = outcomes.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{} {name}", count(*n))).collect();
    if parts.is_empty() { "0".to_owned() } else { parts.join(" + ") }
}

fn conservation(summary: &Summary) -> Vec<Fact> {
    let whole = &summary.conservation;
    let verdict = if whole.holds { "" } else { " -- BUG: the outcomes do not add up" };
    let whole_run = if summary.measured_from_s > 0.0 { " in the whole run" } else { "" };
    let requests = format!("{} offered{whole_run} = {}", count(whole.requests.offered), sum(&whole.requests.outcomes()));
    let attempts = format!("{} started{whole_run} = {}{verdict}", count(whole.attempts.started), sum(&whole.attempts.outcomes()));
    vec![fact("requests", requests), fact("attempts", attempts)]
}

/// Refusals by reason and by decisive check, with what would have routed most.
fn refusals(summary: &Summary) -> Vec<Fact> {
    let total = &summary.total;
    let (refused, started) = (total.attempts.refused, total.attempts.started);
    if refused == 0 {
        return Vec::new();
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
    let mut said = vec![
        format!("{rate} of {} attempts ({status}), {lost} of requests lost to it", count(started)),
        format!("by reason: {}", listed(&total.refused_by_reason)),
        format!("by decisive check: {}", listed(&total.refused_by_decisive_check)),
    ];
    let admitting = total.refused_by_decisive_check.iter().filter_map(|n| Some((n.attempts, admitting_setting(&n.name)?)));
    if let Some((n, setting)) = admitting.filter(|(n, _)| *n > 0).reduce(|best, n| if n.0 > best.0 { n } else { best }) {
        said.push(routed_without(setting, &share(n)) + " (whole runs: `shedcast compare`)");
    }
    vec![Fact { name: "refused", said }]
}

fn per_second(rate: Option<f64>) -> String {
    rate.map_or_else(|| NONE.to_owned(), |r| format!("{}/s", significant(r, 3)))
}

fn rates(summary: &Summary) -> Fact {
    let total = &summary.total;
    let mut line = format!("{} offered, {} completed", per_second(total.offered_rate), per_second(total.throughput));
    let targets = targets(summary);
    if let (false, Some(share), Some(of_completed)) = (targets.is_empty(), total.slo.share, total.slo.share_of_completed) {
        line += &format!(
            ", {} within {}: {} of offered ({} of completed)",
            per_second(total.goodput),
            targets.join(", "),
            percent(share),
            percent(of_completed)
        );
    }
    if let Some(amplification) = total.amplification.filter(|a| *a > 1.0) {
        line += &format!(", {} attempts per request", significant(amplification, 3));
    }
    fact("rates", line)
}

/// The latency targets, `ttft <= 1.00 s`.
pub(super) fn targets(summary: &Summary) -> Vec<String> {
    let slo = &summary.slo;
    let targets = [("ttft", slo.ttft_s), ("tpot", slo.tpot_s), ("e2e", slo.e2e_s)].into_iter();
    targets.filter_map(|(name, target)| Some(format!("{name} <= {}", duration(target? * NANOS_PER_SECOND)))).collect()
}

/// Work for clients who had left.
fn wasted(summary: &Summary) -> Vec<Fact> {
    let tokens = &summary.total.tokens;
    if tokens.wasted == 0 {
        return Vec::new();
    }
    let share = tokens.wasted_share.map(percent).unwrap_or_default();
    let attempts =
        if tokens.wasted_attempts == 1 { "1 attempt".to_owned() } else { format!("{} attempts", count(tokens.wasted_attempts)) };
    let said = format!("{} tokens ({share} of all) computed for {attempts} that nobody waited for", count(tokens.wasted));
    vec![fact("wasted", said)]
}

/// What became of the goodput after the first scheduled disturbance.
fn recovery(summary: &Summary) -> Vec<Fact> {
    let Some(recovery) = &summary.recovery else { return Vec::new() };
    let at = instant(recovery.disturbed_at_s);
    let rate = |rate: f64| per_second(Some(rate));
    let (before, last) = (rate(recovery.goodput_before), rate(recovery.goodput_last_quarter));
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
        Some(_) => return Vec::new(),
        None => format!("not seen: goodput {before} before the disturbance at {at}, {last} in the last quarter of the run"),
    };
    vec![fact("recovery", text)]
}

fn occupancy(summary: &Summary) -> Option<Table> {
    let occupancy = summary.total.occupancy.as_ref()?;
    let fleet = &summary.fleet;
    let of = |name: &str, letter: &str, limit: Option<u64>| match limit {
        Some(limit) => format!("{name} (sum of {letter}: {})", count(limit)),
        None => name.to_owned(),
    };
    let slots = if fleet.gated_workers > 0 { "engine slots" } else { "in the engines" };
    let mut rows = vec![level_row(of(slots, "N", fleet.engine_request_limit), &occupancy.engine_slots)];
    let mut notes = Vec::new();
    if fleet.gated_workers > 0 {
        rows.push(level_row(of("queue", "Q", fleet.request_queue_limit), &occupancy.queue));
        rows.push(level_row("queue as the gauge reads".to_owned(), &occupancy.queue_gauge));
        let full = occupancy.full_share.map(percent);
        notes.extend(full.map(|share| format!("a worker was full (N + Q) for {share} of the time on average")));
    }
    let columns = Column::of([("mean", 2), ("p50", 4), ("p90", 3), ("p99", 1), ("max", 0)]);
    Some(Table { title: "requests in the fleet".to_owned(), columns, rows, notes, ..Table::default() })
}

fn level_row(name: String, level: &Level) -> Row {
    let whole = |value: Option<u64>| value.map_or_else(|| NONE.to_owned(), count);
    let mean = level.mean.map_or_else(|| NONE.to_owned(), |m| significant(m, 3));
    Row { name, cells: vec![mean, whole(level.p50), whole(level.p90), whole(level.p99), whole(level.max)] }
}

fn latencies(summary: &Summary) -> Option<Table> {
    let set = &summary.total.latency;
    if set.ttft_s.count == 0 {
        return None;
    }
    let rule = if summary.quantile_method == "rounded_rank" { ", rounded rank" } else { "" };
    let waits = |name: &str| summary.fleet.gated_workers > 0 || name != "wait for a slot";
    let mut rows: Vec<Row> =
        set.named().into_iter().filter(|(name, _)| waits(name)).map(|(name, latency)| latency_row(name, latency)).collect();
    // Where clients retry, a request waits longer than any of its attempts.
    if let Some(attempts) = &summary.total.attempt_latency {
        rows.push(latency_row("first token, by attempt", &attempts.ttft_s));
        rows.push(latency_row("end to end, by attempt", &attempts.e2e_s));
    }
    let columns = Column::of([("mean", 3), ("min", 6), ("p50", 1), ("p90", 2), ("p95", 5), ("p99", 0), ("max", 4)]);
    Some(Table { title: format!("completed requests{rule}"), columns, rows, ..Table::default() })
}

fn seconds(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), |s| duration(s * NANOS_PER_SECOND))
}

fn latency_row(name: &str, of: &LatencySummary) -> Row {
    let cells = [of.mean, of.min, of.p50, of.p90, of.p95, of.p99, of.max].map(seconds).to_vec();
    Row { name: name.to_owned(), cells }
}

fn phases(summary: &Summary, extent: Extent) -> Option<Table> {
    if summary.phases.len() < 2 {
        return None;
    }
    let shown = summary.phases.iter().take(extent.rows);
    let rows = shown.map(|phase| {
        let mut cells = stretch(&phase.measures);
        cells.insert(0, instant(phase.start_s));
        Row { name: phase.name.clone(), cells }
    });
    let columns =
        Column::of([("from", 3), ("offered", 2), ("completed", 4), ("goodput", 5), ("refused", 0), ("lost", 6), ("p99 ttft", 1)]);
    let notes = left_out(summary.phases.len(), extent.rows, "phase", "summary.json").into_iter().collect();
    Some(Table { title: "phases".to_owned(), columns, rows: rows.collect(), notes, ..Table::default() })
}

fn classes(summary: &Summary, extent: Extent) -> Option<Table> {
    if summary.classes.is_empty() {
        return None;
    }
    let shown = summary.classes.iter().take(extent.rows);
    let rows = shown.map(|class| {
        let mut cells = stretch(&class.measures);
        cells.insert(0, count(class.measures.requests.offered));
        Row { name: class.name.clone(), cells }
    });
    let columns = Column::of([
        ("requests", 4),
        ("offered", 2),
        ("completed", 3),
        ("goodput", 5),
        ("refused", 0),
        ("lost", 6),
        ("p99 ttft", 1),
    ]);
    let notes = left_out(summary.classes.len(), extent.rows, "class", "summary.json").into_iter().collect();
    Some(Table { title: "classes of clients".to_owned(), columns, rows: rows.collect(), notes, ..Table::default() })
}

/// Offered, completed, goodput, refused, lost and p99 of a phase or a class.
fn stretch(measures: &MeasuresSummary) -> Vec<String> {
    let share = |share: Option<f64>| share.map_or_else(|| NONE.to_owned(), percent);
    vec![
        per_second(measures.offered_rate),
        per_second(measures.throughput),
        per_second(measures.goodput),
        share(measures.rate_529),
        share(measures.lost_to_overload_share),
        seconds(measures.latency.ttft_s.p99),
    ]
}

fn left_out(all: usize, shown: usize, what: &str, file: &str) -> Option<String> {
    let plural = if what.ends_with('s') { format!("{what}es") } else { format!("{what}s") };
    match all.saturating_sub(shown) {
        0 => None,
        1 => Some(format!("... and 1 more {what} in {file}")),
        n => Some(format!("... and {n} more {plural} in {file}")),
    }
}

fn updates(updates: &[UpdateSummary], extent: Extent) -> Option<List> {
    let several = updates.iter().any(|u| u.frontend > 0);
    let item = |update: &UpdateSummary| {
        let frontend = if several { format!(", frontend {}", update.frontend) } else { String::new() };
        let text = format!("at {}{frontend}, {}: {}", instant(update.at_s), update.thresholds.in_words(), lag(update));
        Item { text, hint: None }
    };
    let more = left_out(updates.len(), extent.rows, "post", "threshold_updates.csv").unwrap_or_default();
    let items: Vec<Item> = updates.iter().take(extent.rows).map(item).collect();
    (!items.is_empty()).then(|| List { title: "threshold posts".to_owned(), items, more, warns: false })
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

fn trace(trace: &super::summary::TraceSummary) -> Fact {
    let dropped: Vec<String> = trace.dropped.iter().map(|d| format!("{} {}", count(d.rows), d.reason)).collect();
    let dropped = if dropped.is_empty() { String::new() } else { format!(" + dropped: {}", dropped.join(", ")) };
    let said = format!(
        "{} ({}): {} rows = {} replayed{dropped}",
        trace.path,
        trace.format,
        count(trace.rows_read),
        count(trace.replayed)
    );
    fact("trace", said)
}

fn sessions(sessions: &SessionSummary) -> Fact {
    let outcomes = [
        ("completed", sessions.completed),
        ("at the longest context", sessions.at_max_context),
        ("broken by a turn without answer", sessions.broken),
        ("unfinished", sessions.unfinished),
    ];
    let cut = match sessions.turns_cut {
        0 => String::new(),
        cut => format!(", {} of them cut to the longest context", count(cut)),
    };
    let said = format!("{} started = {}; {} turns{cut}", count(sessions.started), sum(&outcomes), count(sessions.turns));
    fact("sessions", said)
}

fn warnings(warnings: &[WarningEntry], extent: Extent) -> Option<List> {
    let item = |warning: &WarningEntry| Item {
        text: format!("`{}` {}", warning.subject, warning.cause),
        hint: warning.next_step.clone(),
    };
    let more = match warnings.len().saturating_sub(extent.warnings) {
        0 => String::new(),
        n => format!("... and {n} more in summary.json"),
    };
    let items: Vec<Item> = warnings.iter().take(extent.warnings).map(item).collect();
    (!items.is_empty()).then(|| List { title: "warnings".to_owned(), items, more, warns: true })
}
