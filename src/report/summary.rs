//! Every figure that is shown of a run, in base units: the one source of JSON, text and pages.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of the format of `summary.json`.
pub const SCHEMA: &str = "shedcast.summary/1";

/// A finished run in figures. Seconds, counts and shares (0 to 1); what does not exist is absent (`null`), never 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the scenario.
    pub name: String,
    /// What the scenario shows.
    pub description: Option<String>,
    /// Root of all randomness.
    pub seed: u64,
    /// Why the run ended, see [`RunEnd::name`](crate::experiment::RunEnd::name).
    pub end: String,
    /// Whether it went as far as the scenario asks.
    pub complete: bool,
    /// Instant of the end.
    pub ended_at_s: f64,
    /// Start of what `total` covers: the end of the warm-up.
    pub measured_from_s: f64,
    /// Status of an overload response.
    pub overload_status_code: u16,
    /// Router mode.
    pub router_mode: String,
    /// Workers.
    pub fleet: FleetSummary,
    /// Attempts and requests of the whole run, warm-up included, against the sum of their outcomes.
    pub conservation: Conservation,
    /// How a quantile is taken of ordered samples: `nearest_rank` or `rounded_rank`.
    pub quantile_method: String,
    /// Latency targets.
    pub slo: SloTargets,
    /// What the statistics cover.
    pub total: MeasuresSummary,
    /// Every measure over what `total` covers, by the name that sweeps, targets and `compare` use; `null` where the run has none.
    #[serde(default)]
    pub measures: BTreeMap<String, Option<f64>>,
    /// Whether goodput came back after the first scheduled disturbance; absent without one, or where it cannot be told.
    pub recovery: Option<RecoverySummary>,
    /// Stretches between scheduled changes.
    pub phases: Vec<PhaseSummary>,
    /// Client classes, where there are several.
    pub classes: Vec<ClassSummary>,
    /// Decisions held against references; absent where the run does not judge them.
    pub decision_quality: Option<super::quality::QualitySummary>,
    /// Threshold posts, per frontend.
    pub threshold_updates: Vec<UpdateSummary>,
    /// What became of the rows of the trace.
    pub trace: Option<TraceSummary>,
    /// What became of sessions of several turns, in the whole run.
    pub sessions: Option<SessionSummary>,
    /// What a reader should know.
    pub warnings: Vec<WarningEntry>,
}

/// The fleet as the scenario has it, workers on standby included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetSummary {
    /// Workers.
    pub workers: u32,
    /// Ranks of all of them.
    pub ranks: u64,
    /// Workers with a gate (N is set).
    pub gated_workers: u32,
    /// Sum of N over those.
    pub engine_request_limit: Option<u64>,
    /// Sum of Q over those.
    pub request_queue_limit: Option<u64>,
}

/// Whether nothing was lost or counted twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conservation {
    /// Both sums hold.
    pub holds: bool,
    /// Attempts of the whole run.
    pub attempts: AttemptsSummary,
    /// Logical requests of the whole run.
    pub requests: RequestsSummary,
}

/// Latency targets in seconds; an absent one is always met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SloTargets {
    /// Time to first token.
    pub ttft_s: Option<f64>,
    /// Time per output token after the first.
    pub tpot_s: Option<f64>,
    /// End to end.
    pub e2e_s: Option<f64>,
}

/// Attempts by outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptsSummary {
    /// Sent by clients: the sum of the others.
    pub started: u64,
    /// Answered in full.
    pub completed: u64,
    /// Overload responses.
    pub refused: u64,
    /// 503, no usable worker.
    pub unavailable: u64,
    /// Worker lost or stream broken.
    pub failed: u64,
    /// Client gone.
    pub cancelled: u64,
    /// Fits no worker.
    pub unservable: u64,
    /// Still there at the end.
    pub in_system: u64,
}

/// Logical requests by outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestsSummary {
    /// Arrived: the sum of the others.
    pub offered: u64,
    /// Answered in full.
    pub completed: u64,
    /// Last answer an overload response.
    pub lost_to_overload: u64,
    /// Last answer 503, no usable worker.
    pub lost_to_unavailability: u64,
    /// Last attempt failed.
    pub failed: u64,
    /// Client out of patience.
    pub gave_up: u64,
    /// Fits no worker.
    pub unservable: u64,
    /// In the system or waiting to retry at the end.
    pub unfinished: u64,
}

/// A count under a name: a reason or a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// How many attempts.
    pub attempts: u64,
}

/// Everything measured over one stretch of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuresSummary {
    /// Length of the stretch.
    pub span_s: f64,
    /// Overload responses over attempts.
    pub rate_529: Option<f64>,
    /// Requests lost to overload over requests offered.
    pub lost_to_overload_share: Option<f64>,
    /// Requests offered per second.
    pub offered_rate: Option<f64>,
    /// Requests completed per second.
    pub throughput: Option<f64>,
    /// Requests completed within the latency targets, per second.
    pub goodput: Option<f64>,
    /// Attempts per request.
    pub amplification: Option<f64>,
    /// Attempts by outcome.
    pub attempts: AttemptsSummary,
    /// Requests by outcome.
    pub requests: RequestsSummary,
    /// Overload responses by reason.
    pub refused_by_reason: Vec<Named>,
    /// Overload responses by decisive check: a check that alone unset would have routed the request.
    pub refused_by_decisive_check: Vec<Named>,
    /// Dispatches that workers refused, those of migrated attempts included.
    pub worker_rejections: u64,
    /// Latencies of completed requests, from their arrival on.
    pub latency: LatencySet,
    /// Latencies of completed attempts, from their own start on; only where clients retry.
    pub attempt_latency: Option<LatencySet>,
    /// Latency targets met.
    pub slo: SloSummary,
    /// Tokens.
    pub tokens: TokensSummary,
    /// Gates over time; absent for a client class.
    pub occupancy: Option<Occupancy>,
}

/// The latencies of one set of requests, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySet {
    /// Time to the first output token.
    pub ttft_s: LatencySummary,
    /// Mean time per output token after the first.
    pub tpot_s: LatencySummary,
    /// Time to the last output token.
    pub e2e_s: LatencySummary,
    /// Time to an engine slot.
    pub queue_wait_s: LatencySummary,
}

/// One latency in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySummary {
    /// Samples.
    pub count: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Least.
    pub min: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Greatest.
    pub max: Option<f64>,
    /// `exact`, or `histogram_0.05_percent` where quantiles come from a histogram with that bound of their error.
    pub precision: String,
}

/// Latency targets met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SloSummary {
    /// Requests that met all.
    pub met: u64,
    /// Over requests offered.
    pub share: Option<f64>,
    /// Over requests completed.
    pub share_of_completed: Option<f64>,
    /// Met the target of the first token, over offered.
    pub ttft_share: Option<f64>,
    /// Met the target of the time per output token, over offered.
    pub tpot_share: Option<f64>,
    /// Met the target of the whole answer, over offered.
    pub e2e_share: Option<f64>,
}

/// Tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TokensSummary {
    /// Prompt tokens of completed requests.
    pub input: u64,
    /// Output tokens of completed requests.
    pub output: u64,
    /// Prompt and output tokens computed for attempts nobody waited for.
    pub wasted: u64,
    /// Their share of all tokens: these and those of completed requests.
    pub wasted_share: Option<f64>,
    /// Attempts that workers computed for while nobody waited.
    pub wasted_attempts: u64,
    /// Output tokens of completed requests per second.
    pub output_rate: Option<f64>,
}

/// Gates of the fleet over time, summed over workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Occupancy {
    /// Engine slots in use (without a gate: requests in the engines).
    pub engine_slots: Level,
    /// Requests waiting in overflow queues, as they are.
    pub queue: Level,
    /// The same as the gauges `dynamo_request_queue` read.
    pub queue_gauge: Level,
    /// Requests inside workers.
    pub in_workers: Level,
    /// Workers with every slot and every place in the queue taken.
    pub full_workers: Level,
    /// Share of time for which a worker with a gate was full, mean over those workers.
    pub full_share: Option<f64>,
}

/// A time-weighted quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// Mean.
    pub mean: Option<f64>,
    /// Median by time.
    pub p50: Option<u64>,
    /// 90th percentile by time.
    pub p90: Option<u64>,
    /// 99th percentile by time.
    pub p99: Option<u64>,
    /// Greatest value that held for some time.
    pub max: Option<u64>,
}

/// Goodput before and after the first scheduled disturbance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecoverySummary {
    /// The disturbance: a rise of the rate, an event or a burst.
    pub disturbed_at_s: f64,
    /// From when on no more is offered than before it; absent where the disturbance is no load that ends.
    pub over_at_s: Option<f64>,
    /// From there to the start of the first stretch of `resolution_s` from which on goodput stays where it was; absent if it never
    /// does.
    pub recovered_after_s: Option<f64>,
    /// The same from `over_at_s` on: the time to recover after a spike. 0 where goodput is back before the spike is over.
    pub recovered_after_end_s: Option<f64>,
    /// Length of a stretch: how closely the instant is known.
    pub resolution_s: f64,
    /// Requests completed within the latency targets per second before the disturbance.
    pub goodput_before: f64,
    /// The same over the last quarter of the run.
    pub goodput_last_quarter: f64,
    /// Requests offered per second before the disturbance.
    pub offered_before: f64,
    /// The same over the last quarter of the run.
    pub offered_last_quarter: f64,
    /// The verdict of the run: goodput did not come back although no more is offered than before.
    pub does_not_recover: bool,
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseSummary {
    /// What begins it.
    pub name: String,
    /// Its start.
    pub start_s: f64,
    /// Its end.
    pub end_s: f64,
    /// What was measured of the requests that arrived in it, and of its time.
    pub measures: MeasuresSummary,
}

/// One client class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassSummary {
    /// Its name.
    pub name: String,
    /// What was measured of its requests.
    pub measures: MeasuresSummary,
}

/// One threshold post at one frontend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UpdateSummary {
    /// Counts the posts of the run from 0.
    pub post: u32,
    /// Frontend.
    pub frontend: u32,
    /// When it was posted.
    pub at_s: f64,
    /// Thresholds it carried.
    pub thresholds: Thresholds,
    /// What the frontend answered: `changed`, `unchanged`, `invalid` or `unknown_model`.
    pub answer: String,
    /// How far it came: `all`, `superseded`, `never`, `no_op` or `refused`.
    pub outcome: String,
    /// From the post to the first event that re-evaluated under it.
    pub noticed_lag_s: Option<f64>,
    /// From the post to the switch of the last worker.
    pub all_lag_s: Option<f64>,
    /// From the post to the first decision that would have been another one without it.
    pub effect_lag_s: Option<f64>,
    /// From the post to the later one that replaced it.
    pub superseded_lag_s: Option<f64>,
    /// Workers that switched.
    pub workers_switched: u64,
    /// Workers that did not, with the ranks that kept silent.
    pub silent: Vec<SilentWorker>,
    /// Routing decisions between the post and `noticed`.
    pub decisions_before_noticed: u64,
    /// Routing decisions between `noticed` and `all`.
    pub decisions_until_all: u64,
}

/// Thresholds; an absent one is not set, or not in the post.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Thresholds {
    /// Share of KV blocks.
    pub active_decode_blocks_threshold: Option<f64>,
    /// Prefill tokens.
    pub active_prefill_tokens_threshold: Option<u64>,
    /// Multiple of `max_num_batched_tokens`.
    pub active_prefill_tokens_threshold_frac: Option<f64>,
}

/// A worker whose state never rested on the posted thresholds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SilentWorker {
    /// Its id.
    pub worker: u32,
    /// Ranks that were not observed since the post.
    pub ranks: Vec<u32>,
}

/// What became of sessions. Started = completed + at the longest context + broken + unfinished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionSummary {
    /// Sessions whose first turn was sent.
    pub started: u64,
    /// All their turns were answered.
    pub completed: u64,
    /// Ended before a turn that would have exceeded the longest context.
    pub at_max_context: u64,
    /// A turn got no answer.
    pub broken: u64,
    /// Under way at the end.
    pub unfinished: u64,
    /// Turns sent: requests that belong to sessions.
    pub turns: u64,
    /// Turns whose prompt was cut to the longest context.
    pub turns_cut: u64,
}

/// What became of the rows of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceSummary {
    /// The file.
    pub path: String,
    /// Its format.
    pub format: String,
    /// Rows read.
    pub rows_read: u64,
    /// Requests replayed.
    pub replayed: u64,
    /// Rows dropped, by reason.
    pub dropped: Vec<Dropped>,
    /// Arrival of the last request.
    pub last_arrival_s: Option<f64>,
}

/// Rows dropped for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dropped {
    /// The reason.
    pub reason: String,
    /// How many.
    pub rows: u64,
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WarningEntry {
    /// Stable name for machines.
    pub code: String,
    /// What it is about.
    pub subject: String,
    /// What was found and why it matters.
    pub cause: String,
    /// What to do about it, where the cause does not say so already.
    pub next_step: Option<String>,
}
