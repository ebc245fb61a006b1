//! From a run to the data of its figures. Titles state what was found.

use super::charts::data::*;
use super::marks::{changes, instant, thresholds_in_words, time_frame};
use super::summary::{LatencySummary, Summary, UpdateSummary};
use super::verdict::headline;
use crate::cluster::observer::PostAnswer;
use crate::control::{Check, Checks, RefusalReason};
use crate::experiment::RunResult;
use crate::experiment::result::{Point, UpdateResult};
use crate::scenario::Scenario;
use crate::stats::text::{count, duration, percent, significant};
use crate::stats::{Quantiles, SeriesPoint};

/// What is drawn, of which run.
fn subtitle(scenario: &Scenario, result: &RunResult) -> String {
    let fleet = &scenario.fleet;
    let workers = fleet.worker_count();
    let plural = if workers == 1 { "" } else { "s" };
    format!(
        "{}, seed {}, {}, {workers} worker{plural}, {}",
        scenario.name,
        scenario.seed,
        instant(result.ended_at.as_secs_f64()),
        thresholds_in_words(&scenario.frontend.thresholds)
    )
}

pub(super) fn heading(scenario: &Scenario, result: &RunResult, title: String) -> Heading {
    Heading { title: capitalised(&title), subtitle: subtitle(scenario, result), ..Heading::default() }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// What flows through the cluster over time, and whether it comes back after a disturbance.
pub fn traffic_data(scenario: &Scenario, result: &RunResult, summary: &Summary) -> TrafficData {
    let rate = |of: &dyn Fn(&Point) -> u64| -> Vec<Sample> {
        let per_second = |p: SeriesPoint<'_, Point>| {
            let seconds = p.end.since(p.start).as_secs_f64();
            [p.start.as_secs_f64(), if seconds > 0.0 { of(p.value) as f64 / seconds } else { f64::NAN }]
        };
        held_to_the_end(result, result.series.points().map(per_second).collect())
    };
    let wasted = result.series.points().any(|p| p.value.orphans > 0);
    TrafficData {
        heading: heading(scenario, result, traffic_title(summary)),
        time: time_frame(scenario, result),
        offered: rate(&|p| p.offered),
        attempts: rate(&|p| p.attempts),
        goodput: rate(&|p| p.good),
        orphans: if wasted { rate(&|p| p.orphans) } else { Vec::new() },
        unfinished: result.series.points().map(|p| [p.end.as_secs_f64(), p.value.unfinished as f64]).collect(),
    }
}

/// The last value of a curve holds to the end of the run.
fn held_to_the_end(result: &RunResult, mut curve: Vec<Sample>) -> Vec<Sample> {
    curve.extend(curve.last().map(|last| [result.ended_at.as_secs_f64(), last[1]]));
    curve
}

fn traffic_title(summary: &Summary) -> String {
    let per_second = |rate: f64| format!("{}/s", significant(rate, 3));
    let amplification = summary.total.amplification.filter(|a| *a > 1.005);
    let attempts = amplification.map(|a| format!("; {} attempts per request", significant(a, 3))).unwrap_or_default();
    match &summary.recovery {
        Some(recovery) if recovery.does_not_recover => format!(
            "goodput does not recover: {} before the disturbance, {} in the last quarter, with {} offered{attempts}",
            per_second(recovery.goodput_before),
            per_second(recovery.goodput_last_quarter),
            per_second(recovery.offered_last_quarter)
        ),
        Some(recovery) if recovery.recovered_after_s.is_some_and(|after| after > 0.0) => format!(
            "goodput is back {} after the disturbance{attempts}",
            duration(recovery.recovered_after_s.unwrap_or(0.0) * 1e9)
        ),
        _ => format!(
            "goodput {} of {} offered{attempts}",
            summary.total.goodput.map_or_else(|| "-".to_owned(), per_second),
            summary.total.offered_rate.map_or_else(|| "-".to_owned(), per_second)
        ),
    }
}

/// 529 rate by reason over time.
pub fn refusals_data(scenario: &Scenario, result: &RunResult, summary: &Summary) -> RefusalsData {
    let mut title = headline(summary);
    if let Some(peak) = worst(result) {
        let rate = refused(peak.value) as f64 / peak.value.attempts as f64;
        title = format!("{title}; worst at {}: {}", instant(peak.start.as_secs_f64()), percent(rate));
    }
    RefusalsData { heading: heading(scenario, result, title), time: time_frame(scenario, result), refusals: refusals(result) }
}

fn refused(point: &Point) -> u64 {
    point.refused.iter().sum()
}

/// The interval with the greatest share of refused attempts, the earliest of equal ones; `None` if nothing was refused.
fn worst(result: &RunResult) -> Option<SeriesPoint<'_, Point>> {
    let refusing = result.series.points().filter(|p| refused(p.value) > 0 && p.value.attempts > 0);
    // Shares are compared as fractions of whole numbers.
    let share = |p: &Point| (u128::from(refused(p)), u128::from(p.attempts));
    refusing.reduce(|best, p| {
        let ((a, b), (c, d)) = (share(p.value), share(best.value));
        if a * d > c * b { p } else { best }
    })
}

fn refusals(result: &RunResult) -> Refusals {
    let points: Vec<_> = result.series.points().collect();
    let reason = |(index, reason): (usize, &RefusalReason)| Reason {
        name: reason.name().to_owned(),
        shares: points.iter().map(|p| part(p.value.refused[index], p.value.attempts)).collect(),
    };
    let reasons = RefusalReason::ALL.iter().take(3).enumerate();
    let used = reasons.filter(|(i, _)| points.iter().any(|p| p.value.refused[*i] > 0));
    let mut reasons: Vec<Reason> = used.map(reason).collect();
    if reasons.is_empty() {
        reasons.push(reason((0, &RefusalReason::AllWorkersBusy)));
    }
    Refusals { bins: points.iter().map(|p| p.start.as_secs_f64()).collect(), reasons }
}

/// A share for a chart: NaN, a gap, of nothing.
fn part(part: u64, whole: u64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 } else { f64::NAN }
}

/// Engine slots and overflow queue against N and Q.
pub fn occupancy_data(scenario: &Scenario, result: &RunResult, summary: &Summary) -> OccupancyData {
    let occupancy_of = summary.total.occupancy.as_ref();
    let full = occupancy_of.and_then(|o| o.full_share);
    let title = match (full, occupancy_of.and_then(|o| o.engine_slots.max)) {
        (Some(0.0), Some(most)) => format!("no worker was ever full; at most {} requests in engine slots", count(most)),
        (Some(share), _) => format!("workers were full (N + Q) for {} of the time on average", percent(share)),
        (None, Some(most)) => format!("no worker has a cap (N + Q); at most {} requests in the engines", count(most)),
        (None, None) => "engine slots and overflow queue".to_owned(),
    };
    OccupancyData {
        heading: heading(scenario, result, title),
        time: time_frame(scenario, result),
        occupancy: occupancy(scenario, result),
    }
}

/// Peaks of each interval: worker by worker where the series has them, else the mean over the fleet.
fn occupancy(scenario: &Scenario, result: &RunResult) -> Occupancy {
    let points: Vec<_> = result.series.points().collect();
    let by_worker = points.first().is_some_and(|p| !p.value.workers.is_empty());
    let common = |of: fn(&crate::experiment::result::WorkerResult) -> Option<u32>| {
        let first = result.workers.first().and_then(of);
        first.filter(|_| result.workers.iter().all(|w| of(w) == first)).map(f64::from)
    };
    if !by_worker {
        let workers = f64::from(scenario.fleet.worker_count());
        let mean = |of: fn(&Point) -> u64| Band {
            mean: points.iter().map(|p| [p.start.as_secs_f64(), of(p.value) as f64 / workers]).collect(),
            ..Band::default()
        };
        return Occupancy::Fleet {
            slots: mean(|p| p.slots[1]),
            queue: mean(|p| p.waiting[1]),
            slot_limit: common(|w| w.engine_request_limit),
            queue_limit: common(|w| w.engine_request_limit.map(|_| w.request_queue_limit)),
        };
    }
    let worker = |(index, of): (usize, &crate::experiment::result::WorkerResult)| {
        let curve = |value: &dyn Fn(&crate::experiment::result::WorkerPoint) -> u32| {
            points.iter().map(|p| [p.start.as_secs_f64(), f64::from(value(&p.value.workers[index]))]).collect()
        };
        WorkerOccupancy {
            name: format!("worker {}", of.worker),
            slots: curve(&|w| w.slots[1]),
            queue: curve(&|w| w.waiting[1]),
            slot_limit: of.engine_request_limit.map(f64::from),
            queue_limit: of.engine_request_limit.map(|_| f64::from(of.request_queue_limit)),
        }
    };
    Occupancy::Workers(result.workers.iter().enumerate().map(worker).collect())
}

/// Workers busy by the monitor, and under a lease alone.
pub(super) fn busy_count(result: &RunResult) -> BusyCount {
    let curve = |value: &dyn Fn(&Point) -> f64| result.series.points().map(|p| [p.start.as_secs_f64(), value(p.value)]).collect();
    let counted = |point: &Point, busy: bool| {
        let is = |w: &&crate::experiment::result::WorkerPoint| !w.excluded.is_empty() && by_monitor(w.excluded) == busy;
        point.workers.iter().filter(is).count() as f64
    };
    let by_worker = result.series.points().any(|p| !p.value.workers.is_empty());
    let busy: Vec<Sample> = if by_worker { curve(&|p| counted(p, true)) } else { curve(&|p| f64::from(p.excluded[1])) };
    let leased = if by_worker { curve(&|p| counted(p, false)) } else { Vec::new() };
    BusyCount { busy, leased, discovered: curve(&|p| f64::from(p.present)) }
}

fn by_monitor(excluded: Checks) -> bool {
    Check::OF_MONITOR.into_iter().any(|check| excluded.contains(check))
}

/// The busy set as a timeline per worker; `None` where the series does not tell workers apart.
pub fn busy_data(scenario: &Scenario, result: &RunResult) -> Option<BusyData> {
    let points: Vec<_> = result.series.points().filter(|p| !p.value.workers.is_empty()).collect();
    if points.is_empty() {
        return None;
    }
    let row = |(index, worker): (usize, &crate::experiment::result::WorkerResult)| BusyRow {
        name: format!("worker {}", worker.worker),
        spans: points.iter().filter_map(|p| busy_span(p, index)).collect(),
    };
    let excluded: u64 = result.workers.iter().map(|w| w.excluded_samples.0).sum();
    let samples: u64 = result.workers.iter().map(|w| w.excluded_samples.1).sum();
    let title = if excluded == 0 {
        "no worker was excluded at any sample".to_owned()
    } else {
        format!("a worker was excluded for {} of the time on average", percent(part(excluded, samples)))
    };
    Some(BusyData {
        heading: heading(scenario, result, title),
        time: time_frame(scenario, result),
        workers: result.workers.iter().enumerate().map(row).collect(),
    })
}

/// The part of an interval for which a worker was out, drawn from the start of the interval.
fn busy_span(point: &SeriesPoint<'_, Point>, worker: usize) -> Option<BusySpan> {
    let of = &point.value.workers[worker];
    let [out, samples] = of.out;
    if out == 0 {
        return None;
    }
    let (decode, prefill) = (
        of.excluded.contains(Check::Decode),
        of.excluded.contains(Check::Prefill) || of.excluded.contains(Check::PrefillFraction),
    );
    let state = match (decode, prefill) {
        _ if of.absent && of.excluded.is_empty() => BusyState::Absent,
        (true, true) => BusyState::Mixed,
        (true, false) => BusyState::Decode,
        (false, true) => BusyState::Prefill,
        (false, false) if of.excluded.contains(Check::Lease) => BusyState::Lease,
        (false, false) => BusyState::Absent,
    };
    let (from, end) = (point.start.as_secs_f64(), point.end.as_secs_f64());
    Some(BusySpan { from, to: from + (end - from) * f64::from(out) / f64::from(samples), state })
}

/// When each post was noticed, and when each worker switched.
pub fn updates_data(scenario: &Scenario, result: &RunResult, summary: &Summary) -> UpdatesData {
    let labels = changes(scenario, &result.updates);
    let several = scenario.frontend.frontends > 1;
    let posts = result.updates.iter().zip(labels).map(|(update, label)| {
        let of = if several { format!(", frontend {}", update.frontend) } else { String::new() };
        post(update, format!("post {} at {}{of}: {label}", update.post, instant(update.at.as_secs_f64())), result)
    });
    UpdatesData { heading: heading(scenario, result, updates_title(&summary.threshold_updates)), posts: posts.collect() }
}

/// How long the slowest update took, and how many never came into force.
fn updates_title(updates: &[UpdateSummary]) -> String {
    let slowest = updates.iter().filter_map(|u| u.all_lag_s).reduce(f64::max);
    let never = updates.iter().filter(|u| u.outcome == "never").count();
    let changed = updates.iter().filter(|u| u.answer == "changed").count();
    let text = match slowest {
        _ if changed == 0 => "no post changed a threshold".to_owned(),
        Some(lag) => format!("new thresholds were in force at every worker within {}", duration(lag * 1e9)),
        None => "no new threshold came into force at every worker".to_owned(),
    };
    match never {
        0 => text,
        _ if slowest.is_none() => text,
        n => format!("{text}, but {n} of {changed} updates never were"),
    }
}

fn post(update: &UpdateResult, label: String, result: &RunResult) -> PostStages {
    let otherwise = match update.answer {
        PostAnswer::Changed if update.superseded.is_some() => Stage::Superseded,
        PostAnswer::Changed => Stage::Never,
        _ => Stage::NoOp,
    };
    let stage = |at: Option<crate::units::SimTime>| at.map_or(otherwise, |at| Stage::After(at.since(update.at).as_secs_f64()));
    let switched = |id: u32| update.workers.iter().find(|(worker, _)| *worker == id).map(|(_, at)| *at);
    let workers = result.workers.iter().map(|w| (format!("worker {}", w.worker), stage(switched(w.worker))));
    PostStages {
        label,
        noticed: stage(update.noticed),
        workers: workers.collect(),
        all: stage(update.all),
        // A post without effect until a later one replaced it has none of its own; in force and without effect, it never had.
        effect: match (update.effect, update.effect_superseded) {
            (None, Some(_)) => Stage::Superseded,
            (None, None) if update.answer == PostAnswer::Changed => Stage::Never,
            (at, _) => stage(at),
        },
        decisions_before_noticed: update.decisions[0],
        decisions_until_all: update.decisions[1],
    }
}

/// Distributions of the latencies of completed requests.
pub fn latency_data(scenario: &Scenario, result: &RunResult, summary: &Summary) -> LatencyData {
    let latency = &summary.total.latency;
    let title = match (latency.ttft_s.p50, latency.ttft_s.p99) {
        (Some(p50), Some(p99)) => {
            let times = if p50 > 0.0 { format!(", {} times the median", significant(p99 / p50, 2)) } else { String::new() };
            format!("99 % of first tokens came within {}{times}", duration(p99 * 1e9))
        }
        _ => "no request completed".to_owned(),
    };
    let secs = |target: Option<crate::units::Span>| target.map(crate::units::Span::as_secs_f64);
    let of = &result.total.latencies;
    let curves = vec![
        curve("time to first token", &of.ttft, &latency.ttft_s, secs(scenario.slo.ttft)),
        curve("time per output token", &of.tpot, &latency.tpot_s, secs(scenario.slo.tpot)),
        curve("end to end", &of.e2e, &latency.e2e_s, secs(scenario.slo.e2e)),
    ];
    let curves = curves.into_iter().filter(|c| !c.cumulative.is_empty()).collect();
    LatencyData { heading: heading(scenario, result, title), curves, tail: Tail::AtOrBelow }
}

/// Shares at which a distribution is drawn: steps of half a percent, finer in the tail.
fn shares() -> impl Iterator<Item = f64> {
    let tail = [0.996, 0.997, 0.998, 0.999, 0.9999, 1.0];
    (1..200).map(|i| f64::from(i) / 200.0).chain(tail)
}

fn curve(name: &str, recorded: &Quantiles, figures: &LatencySummary, objective: Option<f64>) -> LatencyCurve {
    let latencies = recorded.quantiles(shares()).into_iter().map(|nanos| nanos as f64 / 1e9);
    let samples = latencies.zip(shares()).map(|(latency, share)| [latency, share]);
    let mut cumulative: Vec<Sample> = samples.filter(|sample| sample[0] > 0.0).collect();
    // Of equal latencies the greatest share is the distribution's value.
    cumulative.reverse();
    cumulative.dedup_by_key(|sample| sample[0].to_bits());
    cumulative.reverse();
    let quantiles = [("p50", figures.p50), ("p90", figures.p90), ("p99", figures.p99)];
    let quantiles = quantiles.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.filter(|v| *v > 0.0)?)));
    LatencyCurve { name: name.to_owned(), cumulative, quantiles: quantiles.collect(), objective }
}
