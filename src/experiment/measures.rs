//! What is counted and measured over one stretch of a run, and how stretches add up.

use super::quality::QualityCounts;
use crate::cluster::observer::{AttemptOutcome, RequestOutcome};
use crate::control::RefusalReason;
use crate::stats::{Quantiles, Window};
use crate::units::Span;

/// Attempts by outcome. `started` is the sum of all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptCounts {
    /// Reached a frontend.
    pub started: u64,
    /// Answered in full.
    pub completed: u64,
    /// Refused for overload, by [`RefusalReason`] in its order.
    pub refused: [u64; 3],
    /// 503: nobody usable.
    pub unavailable: u64,
    /// Worker lost or stream broken.
    pub failed: u64,
    /// Client gone.
    pub cancelled: u64,
    /// Never fits any worker.
    pub unservable: u64,
    /// Still in the system at the end.
    pub in_system: u64,
}

impl AttemptCounts {
    /// Overload responses.
    pub fn refused_total(&self) -> u64 {
        self.refused.iter().sum()
    }

    /// Sum of all outcomes, to be held against `started`.
    pub fn accounted(&self) -> u64 {
        self.completed + self.refused_total() + self.unavailable + self.failed + self.cancelled + self.unservable + self.in_system
    }

    pub(crate) fn count(&mut self, outcome: &AttemptOutcome) {
        match outcome {
            AttemptOutcome::Completed => self.completed += 1,
            AttemptOutcome::Refused { refusal, .. } => {
                let reason = RefusalReason::ALL.iter().take(3).position(|&r| r == refusal.reason);
                self.refused[reason.expect("a refusal has an overload reason")] += 1;
            }
            AttemptOutcome::Unavailable { .. } => self.unavailable += 1,
            AttemptOutcome::Failed => self.failed += 1,
            AttemptOutcome::Cancelled => self.cancelled += 1,
            AttemptOutcome::Unservable => self.unservable += 1,
        }
    }

    fn add(&mut self, other: &Self) {
        self.started += other.started;
        self.completed += other.completed;
        self.refused.iter_mut().zip(other.refused).for_each(|(a, b)| *a += b);
        self.unavailable += other.unavailable;
        self.failed += other.failed;
        self.cancelled += other.cancelled;
        self.unservable += other.unservable;
        self.in_system += other.in_system;
    }
}

/// Logical requests by outcome. `offered` is the sum of all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Arrived.
    pub offered: u64,
    /// Answered in full.
    pub completed: u64,
    /// Last answer was an overload response.
    pub lost_to_overload: u64,
    /// Last answer was 503 with nobody there.
    pub lost_to_unavailability: u64,
    /// Last attempt failed.
    pub failed: u64,
    /// Client out of patience.
    pub gave_up: u64,
    /// Never fits any worker.
    pub unservable: u64,
    /// In the system or waiting to retry at the end.
    pub unfinished: u64,
}

impl RequestCounts {
    /// Sum of all outcomes, to be held against `offered`.
    pub fn accounted(&self) -> u64 {
        self.completed
            + self.lost_to_overload
            + self.lost_to_unavailability
            + self.failed
            + self.gave_up
            + self.unservable
            + self.unfinished
    }

    pub(crate) fn count(&mut self, outcome: RequestOutcome) {
        match outcome {
            RequestOutcome::Completed => self.completed += 1,
            RequestOutcome::LostToOverload => self.lost_to_overload += 1,
            RequestOutcome::LostToUnavailability => self.lost_to_unavailability += 1,
            RequestOutcome::Failed => self.failed += 1,
            RequestOutcome::GaveUp => self.gave_up += 1,
            RequestOutcome::Unservable => self.unservable += 1,
        }
    }

    fn add(&mut self, other: &Self) {
        self.offered += other.offered;
        self.completed += other.completed;
        self.lost_to_overload += other.lost_to_overload;
        self.lost_to_unavailability += other.lost_to_unavailability;
        self.failed += other.failed;
        self.gave_up += other.gave_up;
        self.unservable += other.unservable;
        self.unfinished += other.unfinished;
    }
}

/// Overload responses by decisive check: the one that alone unset would have routed the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecisiveCounts {
    /// Decode check.
    pub decode: u64,
    /// Absolute prefill check.
    pub prefill: u64,
    /// Fractional prefill check.
    pub prefill_fraction: u64,
    /// Lease.
    pub lease: u64,
    /// No check alone.
    pub joint: u64,
    /// Refused by a worker's gate, where no check had a say.
    pub worker_gate: u64,
}

impl DecisiveCounts {
    /// Name and count of each, in a fixed order.
    pub fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("decode", self.decode),
            ("prefill", self.prefill),
            ("prefill_fraction", self.prefill_fraction),
            ("lease", self.lease),
            ("joint", self.joint),
            ("worker_gate", self.worker_gate),
        ]
    }

    fn add(&mut self, other: &Self) {
        self.decode += other.decode;
        self.prefill += other.prefill;
        self.prefill_fraction += other.prefill_fraction;
        self.lease += other.lease;
        self.joint += other.joint;
        self.worker_gate += other.worker_gate;
    }
}

/// Latencies, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// From the start to the first output token.
    pub ttft: Quantiles,
    /// From the first token to the last, over the tokens after the first; requests of two tokens or more.
    pub tpot: Quantiles,
    /// From the start to the last output token.
    pub e2e: Quantiles,
    /// From the start to an engine slot.
    pub queue_wait: Quantiles,
}

impl Latencies {
    /// Name and recorder of each, in a fixed order.
    pub fn named(&self) -> [(&'static str, &Quantiles); 4] {
        [("ttft", &self.ttft), ("tpot", &self.tpot), ("e2e", &self.e2e), ("queue_wait", &self.queue_wait)]
    }

    fn merge(&mut self, other: &Self) {
        self.ttft.merge(&other.ttft);
        self.tpot.merge(&other.tpot);
        self.e2e.merge(&other.e2e);
        self.queue_wait.merge(&other.queue_wait);
    }
}

/// Requests that met their latency targets, out of those offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SloCounts {
    /// Met all targets.
    pub met: u64,
    /// Met the target of the first token.
    pub ttft: u64,
    /// Met the target of the time per output token.
    pub tpot: u64,
    /// Met the target of the whole answer.
    pub e2e: u64,
}

/// Tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Prompt tokens of completed requests.
    pub input: u64,
    /// Output tokens of completed requests.
    pub output: u64,
    /// Prompt and output tokens computed for attempts nobody waited for.
    pub wasted: u64,
    /// Attempts that workers computed for while nobody waited any more.
    pub wasted_attempts: u64,
}

impl TokenCounts {
    /// Share of the tokens computed for nobody, of those and the tokens of completed requests; `None` without either.
    pub fn wasted_share(&self) -> Option<f64> {
        share(self.wasted, self.wasted + self.input + self.output)
    }
}

/// Gates of the fleet over time, summed over workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetOccupancy {
    /// Engine slots in use.
    pub slots: Window,
    /// Requests waiting for a slot, as they are.
    pub waiting: Window,
    /// Requests waiting for a slot, as the gauges read.
    pub gauge: Window,
    /// Workers whose slots and queue are all taken.
    pub full_workers: Window,
    /// Requests inside workers: slots and queue.
    pub in_workers: Window,
}

/// Everything measured over one stretch of a run.
///
/// What belongs to a request (attempts, outcomes, latencies) counts in the stretch in which the request arrived, so that
/// each stretch is conserved by itself; what belongs to time counts when it happens.
#[derive(Clone, Debug, Default)]
pub struct Measures {
    /// Length of the stretch.
    pub span: Span,
    /// Attempts.
    pub attempts: AttemptCounts,
    /// Logical requests.
    pub requests: RequestCounts,
    /// Overload responses by decisive check.
    pub decisive: DecisiveCounts,
    /// Latencies of completed logical requests, from their first attempt on.
    pub latencies: Latencies,
    /// Latencies of completed attempts, from their own start on; only where clients retry.
    pub attempt_latencies: Option<Latencies>,
    /// Latency targets met.
    pub slo: SloCounts,
    /// Tokens.
    pub tokens: TokenCounts,
    /// Refusals by workers, migrated ones included.
    pub worker_rejections: u64,
    /// Gates over time.
    pub occupancy: FleetOccupancy,
    /// Decisions held against references; nothing where the run does not judge them.
    pub quality: QualityCounts,
}

impl Measures {
    /// Adds a later stretch of the same run.
    pub fn merge(&mut self, later: &Self) {
        self.span += later.span;
        self.attempts.add(&later.attempts);
        self.requests.add(&later.requests);
        self.decisive.add(&later.decisive);
        self.latencies.merge(&later.latencies);
        match (&mut self.attempt_latencies, &later.attempt_latencies) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
            _ => {}
        }
        self.slo.met += later.slo.met;
        self.slo.ttft += later.slo.ttft;
        self.slo.tpot += later.slo.tpot;
        self.slo.e2e += later.slo.e2e;
        self.tokens.input += later.tokens.input;
        self.tokens.output += later.tokens.output;
        self.tokens.wasted += later.tokens.wasted;
        self.tokens.wasted_attempts += later.tokens.wasted_attempts;
        self.worker_rejections += later.worker_rejections;
        self.quality.add(&later.quality);
        let (mine, theirs) = (&mut self.occupancy, &later.occupancy);
        mine.slots.merge(&theirs.slots);
        mine.waiting.merge(&theirs.waiting);
        mine.gauge.merge(&theirs.gauge);
        mine.full_workers.merge(&theirs.full_workers);
        mine.in_workers.merge(&theirs.in_workers);
    }

    /// Overload responses over attempts; `None` without attempts.
    pub fn rate_529(&self) -> Option<f64> {
        share(self.attempts.refused_total(), self.attempts.started)
    }

    /// Requests lost to overload over requests offered; `None` without requests.
    pub fn lost_share(&self) -> Option<f64> {
        share(self.requests.lost_to_overload, self.requests.offered)
    }

    /// Requests that met every latency target over requests offered; `None` without requests.
    pub fn slo_share(&self) -> Option<f64> {
        share(self.slo.met, self.requests.offered)
    }

    /// Requests that met every latency target over those completed; `None` if none was.
    pub fn slo_share_of_completed(&self) -> Option<f64> {
        share(self.slo.met, self.requests.completed)
    }

    /// Completed requests that met every latency target, per second; `None` for a stretch without length.
    pub fn goodput(&self) -> Option<f64> {
        per_second(self.slo.met, self.span)
    }

    /// Completed requests per second.
    pub fn throughput(&self) -> Option<f64> {
        per_second(self.requests.completed, self.span)
    }

    /// Offered requests per second.
    pub fn offered_rate(&self) -> Option<f64> {
        per_second(self.requests.offered, self.span)
    }

    /// Attempts per logical request; `None` without requests.
    pub fn amplification(&self) -> Option<f64> {
        share(self.attempts.started, self.requests.offered)
    }
}

/// `part / whole`, or nothing where there is no whole.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn per_second(count: u64, span: Span) -> Option<f64> {
    (!span.is_zero()).then(|| count as f64 / span.as_secs_f64())
}
