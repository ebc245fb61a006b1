//! What frontends and workers have counted so far.

use super::distribution::Distribution;
use crate::cluster::observer::AttemptOutcome;
use crate::cluster::request::Attempt;
use crate::control::metrics::{self, LogBounds, Metric, MetricKind};
use crate::units::{SimTime, Span};

/// How a request ended at its frontend: the labels `status` and `error_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Success,
    Overload,
    Unavailable,
    Internal,
    Cancelled,
    Validation,
}

impl End {
    pub const ALL: [Self; 6] =
        [Self::Success, Self::Overload, Self::Unavailable, Self::Internal, Self::Cancelled, Self::Validation];

    /// Values of the labels `status` and `error_type`.
    pub const fn labels(self) -> [&'static str; 2] {
        match self {
            Self::Success => ["success", ""],
            Self::Overload => ["error", "overload"],
            Self::Unavailable => ["error", "unavailable"],
            Self::Internal => ["error", "internal"],
            Self::Cancelled => ["error", "cancelled"],
            Self::Validation => ["error", "validation"],
        }
    }

    pub const fn of(outcome: &AttemptOutcome) -> Self {
        match outcome {
            AttemptOutcome::Completed => Self::Success,
            AttemptOutcome::Refused { .. } => Self::Overload,
            AttemptOutcome::Unavailable { .. } => Self::Unavailable,
            AttemptOutcome::Failed => Self::Internal,
            AttemptOutcome::Cancelled => Self::Cancelled,
            AttemptOutcome::Unservable => Self::Validation,
        }
    }
}

/// Counters and histograms of all frontends together, and the counters of the workers.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub started: u64,
    /// By [`End`].
    pub ended: [u64; End::ALL.len()],
    /// Of those, the ones that had a first token.
    pub ended_after_first: u64,
    pub first_tokens: u64,
    /// By kind: new requests, those with output.
    pub migrated: [u64; 2],
    pub output_tokens: u64,
    /// By worker.
    pub rejections: Vec<u64>,
    /// Lags of the latest threshold posts, by frontend: to their being noticed, in force everywhere, felt.
    pub lags: Vec<[Option<Span>; 3]>,
    pub duration: Distribution,
    pub ttft: Distribution,
    pub inter_token: Distribution,
    pub input: Distribution,
    pub output: Distribution,
}

impl Tally {
    pub fn new(workers: usize, frontends: usize) -> Self {
        let seconds = |metric: Metric| Distribution::of_seconds(bounds(&metric));
        let counts = |metric: Metric| Distribution::of_counts(bounds(&metric));
        Self {
            started: 0,
            ended: [0; End::ALL.len()],
            ended_after_first: 0,
            first_tokens: 0,
            migrated: [0; 2],
            output_tokens: 0,
            rejections: vec![0; workers],
            lags: vec![[None; 3]; frontends],
            duration: seconds(metrics::REQUEST_DURATION_SECONDS),
            ttft: seconds(metrics::TIME_TO_FIRST_TOKEN_SECONDS),
            inter_token: seconds(metrics::INTER_TOKEN_LATENCY_SECONDS),
            input: counts(metrics::INPUT_SEQUENCE_TOKENS),
            output: counts(metrics::OUTPUT_SEQUENCE_TOKENS),
        }
    }

    /// The first token of an attempt is there.
    pub fn first_token(&mut self, now: SimTime, attempt: &Attempt) {
        self.first_tokens += 1;
        self.ttft.observe(now.since(attempt.start).as_nanos(), 1);
        self.input.observe(attempt.input_tokens.into(), 1);
    }

    /// A frontend is done with an attempt.
    pub fn end(&mut self, now: SimTime, attempt: &Attempt, end: End) {
        if end == End::Success {
            self.complete(now, attempt);
        }
        self.ended[end as usize] += 1;
        // An opaque worker's first token comes with its last.
        self.ended_after_first += u64::from(attempt.first_token().is_some() || end == End::Success);
        self.duration.observe(now.since(attempt.start).as_nanos(), 1);
    }

    fn complete(&mut self, now: SimTime, attempt: &Attempt) {
        if attempt.first_token().is_none() {
            self.first_token(now, attempt);
        }
        let tokens = u64::from(attempt.produced()) + u64::from(attempt.output_tokens);
        if let Some(first) = attempt.first_token().filter(|_| tokens > 1) {
            // The release observes every token. What is known of an answer is when it began and ended: each of its tokens counts
            // with their mean.
            self.inter_token.observe(now.since(first).as_nanos() / (tokens - 1), tokens - 1);
        }
        self.output.observe(tokens, 1);
        self.output_tokens += tokens;
    }

    /// Requests from their arrival to the end of their answer.
    pub fn inflight(&self) -> u64 {
        self.started - self.ended.iter().sum::<u64>()
    }

    /// Requests in flight without a first token.
    pub fn queued(&self) -> u64 {
        self.inflight() - (self.first_tokens - self.ended_after_first)
    }
}

/// The bounds of a histogram.
pub(super) fn bounds(metric: &Metric) -> LogBounds {
    match metric.kind {
        MetricKind::Histogram(bounds) => bounds,
        MetricKind::Counter | MetricKind::Gauge => unreachable!("only histograms are asked for bounds"),
    }
}
