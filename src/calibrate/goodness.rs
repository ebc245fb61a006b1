//! How far what is simulated is from what was measured.

use schemars::JsonSchema;
use serde::Serialize;

use super::replay::Served;
use super::run_log::LoggedRequest;

/// A latency of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// Queued to first token.
    Ttft,
    /// Per token after the first.
    Tpot,
    /// Queued to last token.
    E2e,
}

impl Latency {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ttft, Self::Tpot, Self::E2e];
    /// The quantiles that are published.
    pub const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];

    /// Name in machine formats, as in the summary of a run.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::Tpot => "tpot",
            Self::E2e => "e2e",
        }
    }

    /// Of a request of the log that was served as `times` says; `None` where there is none (one token has no time per token).
    pub fn of(self, request: &LoggedRequest, times: Served) -> Option<f64> {
        match self {
            Self::Ttft => Some(times.first - request.queued),
            Self::E2e => Some(times.last - request.queued),
            Self::Tpot => (request.output_tokens > 1).then(|| (times.last - times.first) / f64::from(request.output_tokens - 1)),
        }
    }

    /// All of a log as it was measured, in ascending order; seconds.
    pub fn measured(self, log: &[LoggedRequest]) -> Vec<f64> {
        ascending(log.iter().filter_map(|r| self.of(r, Served { first: r.first, last: r.last })))
    }

    /// All of a log as it was simulated, in ascending order; seconds.
    pub fn simulated(self, log: &[LoggedRequest], served: &[Served]) -> Vec<f64> {
        ascending(log.iter().zip(served).filter_map(|(r, times)| self.of(r, *times)))
    }
}

fn ascending(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The quantile `p` of values in ascending order, by linear interpolation at rank p (n - 1); `None` without values.
pub fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    let place = p * (sorted.len().checked_sub(1)?) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64))
}

/// A figure as measured and as simulated.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// What it is, such as `ttft_p99`.
    pub measure: String,
    /// As measured; seconds for latencies.
    pub measured: f64,
    /// As simulated.
    pub simulated: f64,
    /// `simulated / measured - 1`; not finite, in JSON null, where 0 was measured.
    #[schemars(with = "Option<f64>")]
    pub error: f64,
}

impl Comparison {
    /// Holds the two against each other. Nothing measured and nothing simulated agree.
    pub fn new(measure: impl Into<String>, measured: f64, simulated: f64) -> Self {
        let error = if measured == simulated { 0.0 } else { simulated / measured - 1.0 };
        Self { measure: measure.into(), measured, simulated, error }
    }

    /// p50, p90 and p99 of every latency.
    pub fn latencies(log: &[LoggedRequest], served: &[Served]) -> Vec<Self> {
        let mut all = Vec::new();
        for latency in Latency::ALL {
            let (measured, simulated) = (latency.measured(log), latency.simulated(log, served));
            for p in Latency::QUANTILES {
                if let (Some(measured), Some(simulated)) = (percentile(&measured, p), percentile(&simulated, p)) {
                    all.push(Self::new(format!("{}_p{:.0}", latency.name(), p * 100.0), measured, simulated));
                }
            }
        }
        all
    }

    /// The largest error of all, as a share.
    pub fn worst(all: &[Self]) -> f64 {
        all.iter().map(|c| c.error.abs()).fold(0.0, f64::max)
    }
}
