//! The resolved scenario: what a file means, complete and valid.

use crate::cluster::config::{ClientConfig, EventAction, FleetConfig, FrontendConfig, ScenarioEvent, TelemetryConfig};
use crate::units::{SimTime, Span};
use crate::workload::config::WorkloadConfig;

use super::epoch::Epoch;
use super::warning::Warning;

/// One experiment, resolved and valid: every default is filled in and every preset expanded.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name: titles results and names their folder.
    pub name: String,
    /// What it shows, for people.
    pub description: Option<String>,
    /// Root of all randomness.
    pub seed: u64,
    /// End of the run; `None` ends it when `requests` arrivals, or all there are, have drained.
    pub horizon: Option<SimTime>,
    /// Arrivals at most; the run ends when they have drained.
    pub requests: Option<u64>,
    /// What is cut from the statistics at the start.
    pub warmup: Warmup,
    /// Instants that cut the run into phases, ascending; `None` cuts it at its scheduled changes.
    pub phases: Option<Vec<SimTime>>,
    /// Workers.
    pub fleet: FleetConfig,
    /// Frontends.
    pub frontend: FrontendConfig,
    /// Load reports of the workers.
    pub telemetry: TelemetryConfig,
    /// Traffic.
    pub workload: WorkloadConfig,
    /// Clients.
    pub clients: ClientConfig,
    /// Scheduled events, in the order of the file.
    pub events: Vec<ScenarioEvent>,
    /// Latency targets.
    pub slo: SloConfig,
    /// What is written.
    pub output: OutputConfig,
    /// Bounds of the run.
    pub limits: Limits,
}

/// A scenario with what its reader has to say about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The scenario.
    pub scenario: Scenario,
    /// Settings without effect, checks that cannot fire and the like.
    pub warnings: Vec<Warning>,
}

/// What is cut from the statistics at the start of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// A fixed time, possibly none.
    Fixed(Span),
    /// The cut that the MSER-5 rule finds in the run itself (White 1997).
    Mser5,
}

/// Latency targets; an absent one is always met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SloConfig {
    /// Time to the first token, at most.
    pub ttft: Option<Span>,
    /// Mean time per output token after the first, at most.
    pub tpot: Option<Span>,
    /// End to end time, at most.
    pub e2e: Option<Span>,
}

/// What is written, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputConfig {
    /// Write `requests.csv`.
    pub requests: bool,
    /// Width of the intervals of `timeseries.csv`; `None` chooses one by the length of the run.
    pub timeseries_interval: Option<Span>,
    /// How quantiles are taken.
    pub quantile_method: QuantileMethod,
    /// Judge every decision by what a frontend without delay would have known; `None` where something can refuse and the fleet
    /// is small ([`Scenario::judges_decisions`]).
    pub decision_quality: Option<bool>,
    /// Write `metrics.om`.
    pub metrics: bool,
    /// The date at which simulated time begins there.
    pub metrics_epoch: Epoch,
}

/// Ranks of a fleet whose decisions are judged unasked, at most.
const MOST_RANKS_JUDGED_UNASKED: u64 = 256;

impl Scenario {
    /// Whether the decisions of a run are judged.
    pub fn judges_decisions(&self) -> bool {
        let ranks = self.fleet.types.iter().map(|t| u64::from(t.count()) * u64::from(t.data_parallel_size)).sum::<u64>();
        self.output.decision_quality.unwrap_or_else(|| self.can_refuse() && ranks <= MOST_RANKS_JUDGED_UNASKED)
    }

    /// Whether anything can refuse a request for overload.
    fn can_refuse(&self) -> bool {
        let posted = self.events.iter().any(|event| matches!(event.action, EventAction::PostBusyThreshold(_)));
        let gated = self.fleet.types.iter().any(|t| t.engine_request_limit.is_some());
        self.frontend.thresholds.any() || posted || gated
    }
}

/// How a quantile p of n ascending samples is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuantileMethod {
    /// The sample at rank ceil(n p), ranks from 1.
    #[default]
    NearestRank,
    /// The sample at rank round((n - 1) p), ranks from 0, as AISimulate takes it.
    RoundedRank,
}

/// Bounds of a run; reaching one ends it with an outcome of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Events processed at most.
    pub max_events: u64,
    /// Requests in the system or waiting to retry at most: bounds the memory of an unstable run.
    pub max_requests_in_system: u64,
    /// Bytes of a result file at most.
    pub max_output_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_events: 1_000_000_000_000, max_requests_in_system: 10_000_000, max_output_bytes: 100_000_000_000 }
    }
}
