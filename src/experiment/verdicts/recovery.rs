//! Whether goodput comes back after a disturbance, and which loop holds it down if it does not.

use super::disturbance::{self, Disturbance};
use super::{codes, idle};
use crate::experiment::result::{Point, RunResult};
use crate::scenario::{Scenario, Warning};
use crate::stats::SeriesPoint;
use crate::units::{SimTime, Span};

/// Goodput has come back at this share of what it was.
const BACK: f64 = 0.95;
/// Good requests that a stretch is to hold at the rate before: what chance does to so many is told from an outage.
const PER_STRETCH: f64 = 400.0;
/// Good requests before a disturbance below which nothing is known of the time before it.
const FEWEST: f64 = 30.0;
/// Standard deviations of a count that chance is allowed.
const DEVIATIONS: f64 = 3.0;
/// Attempts per request have grown if they are this many times as many.
const AMPLIFIED: f64 = 1.2;

/// What flows through the cluster over a stretch, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// Requests offered.
    pub offered: f64,
    /// Attempts.
    pub attempts: f64,
    /// Requests completed within the latency targets.
    pub goodput: f64,
    /// Attempts that workers computed in vain.
    pub orphans: f64,
    /// Attempts completed.
    pub completed: f64,
    /// Workers registered, mean of the samples.
    pub workers: f64,
    /// Length of the stretch, seconds.
    pub seconds: f64,
}

/// Goodput before and after the first scheduled disturbance of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recovery {
    /// The disturbance: the first rise of the rate, event or burst after the warm-up.
    pub disturbed_at: SimTime,
    /// From when on no more is offered than before it, where the disturbance is more load that ends.
    pub over_at: Option<SimTime>,
    /// Start of the first stretch from which on goodput stays where it was; `None` if it never does.
    pub recovered_at: Option<SimTime>,
    /// Length of such a stretch: how closely the instant is known.
    pub resolution: Span,
    /// From the end of the warm-up to the disturbance.
    pub before: Flow,
    /// The last quarter of the run.
    pub last_quarter: Flow,
}

impl Recovery {
    /// Whether goodput of the last quarter is below 95 % of that before, and by more than chance, while no more is offered.
    pub fn fails(&self) -> bool {
        let (before, last) = (&self.before, &self.last_quarter);
        let chance = |rate: f64| DEVIATIONS * (rate / last.seconds).sqrt();
        let no_more = last.offered <= before.offered * (2.0 - BACK) + chance(before.offered);
        let expected = before.expected(last.offered);
        no_more && last.goodput < (expected * BACK).min(expected - chance(expected))
    }
}

impl Flow {
    fn of<'a>(points: impl Iterator<Item = SeriesPoint<'a, Point>>) -> Self {
        let (mut sums, mut samples) = (Self::default(), 0.0);
        for point in points {
            let value = point.value;
            sums.offered += value.offered as f64;
            sums.attempts += value.attempts as f64;
            sums.goodput += value.good as f64;
            sums.orphans += value.orphans as f64;
            sums.completed += value.completed as f64;
            sums.workers += f64::from(value.present);
            sums.seconds += point.end.since(point.start).as_secs_f64();
            samples += 1.0;
        }
        if sums.seconds == 0.0 {
            return Self::default();
        }
        let per_second = |sum: f64| sum / sums.seconds;
        Self {
            offered: per_second(sums.offered),
            attempts: per_second(sums.attempts),
            goodput: per_second(sums.goodput),
            orphans: per_second(sums.orphans),
            completed: per_second(sums.completed),
            workers: sums.workers / samples,
            seconds: sums.seconds,
        }
    }

    /// Goodput that would be as before where `offered` is offered, at most that of before.
    fn expected(&self, offered: f64) -> f64 {
        if self.offered > 0.0 { self.goodput * (offered / self.offered).min(1.0) } else { 0.0 }
    }

    fn amplification(&self) -> f64 {
        if self.offered > 0.0 { self.attempts / self.offered } else { 1.0 }
    }
}

/// What became of the goodput after the first scheduled disturbance.
pub(in crate::experiment) fn recovery(scenario: &Scenario, result: &RunResult) -> Option<Recovery> {
    let Disturbance { at: disturbed_at, over_at } = disturbance::first(scenario, result.measured_from, result.ended_at)?;
    let last_arrival = result.series.points().filter(|p| p.value.offered > 0).map(|p| p.end).last()?;
    // What drains after the last arrival is no steady state.
    let end = last_arrival.min(result.ended_at);
    let quarter = SimTime::ZERO.saturating_add(Span::from_nanos(end.as_nanos() / 4 * 3));
    let within = |from: SimTime, to: SimTime| result.series.points().filter(move |p| p.start >= from && p.end <= to);
    // An interval holds what happens at its end: the one that ends with the disturbance is no longer undisturbed.
    let before = Flow::of(within(result.measured_from, disturbed_at).filter(|p| p.end < disturbed_at));
    if before.goodput * before.seconds < FEWEST || quarter <= disturbed_at {
        return None;
    }
    let last_quarter = Flow::of(within(quarter, end));
    let width = (PER_STRETCH / before.goodput).max(result.series.interval().as_secs_f64());
    let mut recovered_at = Some(disturbed_at);
    let mut points = within(disturbed_at, end).peekable();
    let mut resolution = Span::ZERO;
    while let Some(first) = points.next() {
        let mut stretch = vec![first];
        while stretch[0].start.saturating_add(Span::from_secs_f64(width).unwrap_or(Span::MAX)) > stretch[stretch.len() - 1].end {
            let Some(next) = points.next() else { break };
            stretch.push(next);
        }
        let (start, stop) = (stretch[0].start, stretch[stretch.len() - 1].end);
        resolution = resolution.max(stop.since(start));
        let flow = Flow::of(stretch.into_iter());
        let expected = before.expected(flow.offered);
        // A stretch that the end cut short is judged by what it could hold.
        let chance = DEVIATIONS / (expected * flow.seconds).max(1.0).sqrt();
        if flow.goodput < expected * BACK.min(1.0 - chance) {
            recovered_at = None;
        } else if recovered_at.is_none() {
            recovered_at = Some(start);
        }
    }
    let recovery = Recovery { disturbed_at, over_at, recovered_at, resolution, before, last_quarter };
    // A last stretch that happens to be good does not make an outage a recovery.
    Some(if recovery.fails() { Recovery { recovered_at: None, ..recovery } } else { recovery })
}

/// The verdict, with the loop that holds goodput down.
pub(super) fn does_not_recover(scenario: &Scenario, result: &RunResult) -> Option<Warning> {
    let recovery = result.recovery.as_ref().filter(|recovery| recovery.fails())?;
    let (before, last) = (&recovery.before, &recovery.last_quarter);
    let loops = loops(scenario, result, recovery);
    let held = if loops.is_empty() { String::new() } else { format!("; held by: {}", texts(&loops, |l| &l.what)) };
    let next_step = match loops.first() {
        Some(_) => texts(&loops, |l| &l.remedy),
        None => "look at what is refused, and why, after the disturbance".to_owned(),
    };
    Some(Warning {
        code: codes::DOES_NOT_RECOVER,
        subject: "goodput".to_owned(),
        cause: format!(
            "does not recover from what happened at {}: {:.2}/s in the last quarter of the run, {:.2}/s before it, with {:.2}/s and \
             {:.2}/s offered{held}",
            recovery.disturbed_at, last.goodput, before.goodput, last.offered, before.offered
        ),
        next_step,
    })
}

/// A loop that holds goodput down, and what breaks it.
struct Loop {
    what: String,
    remedy: String,
}

fn texts(loops: &[Loop], of: impl Fn(&Loop) -> &String) -> String {
    loops.iter().map(|l| of(l).as_str()).collect::<Vec<_>>().join("; ")
}

fn loops(scenario: &Scenario, result: &RunResult, recovery: &Recovery) -> Vec<Loop> {
    let (before, last) = (&recovery.before, &recovery.last_quarter);
    let mut loops = Vec::new();
    if last.orphans > last.completed {
        let share = last.orphans / (last.orphans + last.completed);
        let remedy = if scenario.clients.server_notices {
            "bound what waits (`engine_request_limit`, `request_queue_limit`), so that what is let in is answered in time"
        } else {
            "bound what waits (`engine_request_limit`, `request_queue_limit`), so that what is let in is answered in time, and let \
             the server notice clients that leave"
        };
        loops.push(Loop {
            what: format!(
                "orphaned work ({:.0} % of the answers that workers finish are for clients who have left)",
                share * 100.0
            ),
            remedy: remedy.to_owned(),
        });
    }
    if idle::locked_to_retries(scenario, result).is_some() {
        loops.push(Loop {
            what: format!(
                "leases and retries of one period, locked together ({} refusals by lease alone)",
                result.whole.decisive.lease
            ),
            remedy: "give retries a jitter, or let load reports end leases earlier".to_owned(),
        });
    }
    let (was, is) = (before.amplification(), last.amplification());
    if scenario.clients.retry.is_some() && is > was * AMPLIFIED {
        loops.push(Loop {
            what: format!("retries ({is:.2} attempts per request, {was:.2} before)"),
            remedy: "retry less: a retry budget, fewer attempts, a longer back-off".to_owned(),
        });
    }
    if last.workers < before.workers - 0.5 {
        loops.push(Loop {
            what: format!("missing workers ({:.1} on average, {:.1} before)", last.workers, before.workers),
            remedy: "bring workers back, or offer less".to_owned(),
        });
    }
    loops
}
