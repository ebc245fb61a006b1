//! What a scenario says of its cluster, frontends, clients and events: pure data, resolved and valid.

use crate::control::{BusyThresholds, ThresholdUpdate};
use crate::units::{Attos, SimTime, Span};
use crate::workload::config::SpanDistribution;

/// The fleet: worker types and how many of each. Worker ids run from 1 in the order of the types.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetConfig {
    /// Types of workers, at least one.
    pub types: Vec<WorkerType>,
}

impl FleetConfig {
    /// All workers that exist, those on standby included: ids are 1 to this number.
    pub fn worker_count(&self) -> u32 {
        self.types.iter().map(WorkerType::count).sum()
    }

    /// The type of the worker `id`, or `None` if there is no such worker.
    pub fn type_of(&self, id: u32) -> Option<&WorkerType> {
        let mut last = 0;
        self.types.iter().find(|t| {
            last += t.count();
            (1..=last).contains(&id)
        })
    }
}

impl WorkerType {
    /// Workers of this type, those on standby included.
    pub fn count(&self) -> u32 {
        self.workers + self.standby
    }

    /// Token budget of a step as the worker has it; `None` where an opaque worker names none.
    pub fn max_num_batched_tokens(&self) -> Option<u64> {
        match &self.engine {
            WorkerEngine::Batching(engine) => Some(engine.max_num_batched_tokens),
            WorkerEngine::Opaque { max_num_batched_tokens, .. } => *max_num_batched_tokens,
        }
    }

    /// Whether the worker is an opaque one.
    pub fn is_opaque(&self) -> bool {
        matches!(self.engine, WorkerEngine::Opaque { .. })
    }
}

impl Override {
    /// What is reported where the truth is `truth`.
    pub fn reported(self, truth: Option<u64>) -> Option<u64> {
        match self {
            Self::Truth => truth,
            Self::Absent => None,
            Self::Value(value) => Some(value),
        }
    }
}

/// A number of workers that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerType {
    /// Name in reports.
    pub name: String,
    /// How many are there at the start, 0 or more.
    pub workers: u32,
    /// How many more exist, but are not there until an event lets them join. Their ids follow those of `workers`.
    pub standby: u32,
    /// What one of them costs, in any unit; only ratios between types matter. Finite, 0 or more.
    pub cost: f64,
    /// Data-parallel ranks of each, 1 or more.
    pub data_parallel_size: u32,
    /// What it computes with.
    pub engine: WorkerEngine,
    /// KV blocks per rank as the engine has them; `None` only for opaque workers.
    pub kv_total_blocks: Option<u64>,
    /// Tokens in a KV block, 1 or more.
    pub kv_cache_block_size: u32,
    /// N, engine slots of the worker's gate; `None` switches the gate off.
    pub engine_request_limit: Option<u32>,
    /// Q, requests that may wait at the worker's gate, 2 or more.
    pub request_queue_limit: u32,
    /// Whether the scenario names Q although there is no gate: a setting without effect, of which it is told.
    pub request_queue_limit_idle: bool,
    /// How the worker spreads requests over its ranks where the router does not name one.
    pub rank_dispatch: RankDispatch,
    /// Every step of the worker ends with its slowest rank.
    pub dp_lockstep: bool,
    /// What it reports instead of the truth.
    pub advertised: Advertised,
}

/// How a worker spreads requests over its ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankDispatch {
    /// One counter per worker.
    #[default]
    RoundRobin,
    /// Lowest 4 * waiting + running; the lowest rank on ties.
    LeastLoaded,
}

/// A reported figure that may differ from the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Override {
    /// Report the truth.
    #[default]
    Truth,
    /// Report nothing.
    Absent,
    /// Report this.
    Value(u64),
}

/// `[fleet.advertised]`: what a worker's runtime configuration says instead of the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advertised {
    /// KV blocks per rank.
    pub kv_total_blocks: Override,
    /// Token budget of a step.
    pub max_num_batched_tokens: Override,
    /// Ranks. Never [`Override::Absent`].
    pub data_parallel_size: Override,
}

/// What a worker computes with.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkerEngine {
    /// Continuous batching, step by step, with KV blocks.
    Batching(BatchingEngine),
    /// A request holds its slot for a service time; nothing is known of the inside. Publishes no loads of its own.
    Opaque {
        /// Service time; `None` where every request brings its own.
        service_time: Option<SpanDistribution>,
        /// Token budget it reports, if any.
        max_num_batched_tokens: Option<u64>,
    },
}

/// A continuous-batching engine.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchingEngine {
    /// Preset the figures came from, if any.
    pub preset: Option<String>,
    /// Token budget of a step, at least `max_num_seqs`.
    pub max_num_batched_tokens: u64,
    /// Running sequences at most, per rank.
    pub max_num_seqs: u32,
    /// Longest context (prompt and output), if limited.
    pub max_model_len: Option<u64>,
    /// How long a step takes.
    pub timing: StepTiming,
}

/// How long a step takes.
#[derive(Clone, Debug, PartialEq)]
pub enum StepTiming {
    /// `base + prefill*P + prefill_squared*P^2 + decode*D + context*K` (P prefill tokens, D decoding sequences, K their
    /// context tokens before the step).
    SingleBase {
        /// Per step.
        base: Attos,
        /// Per prefill token.
        prefill: Attos,
        /// Per prefill token squared.
        prefill_squared: Attos,
        /// Per decoding sequence.
        decode: Attos,
        /// Per token of context of the decoding sequences.
        context: Attos,
    },
    /// A prefill part and a decode part, one after the other, each 0 without its tokens.
    TwoPart {
        /// Prefill: constant, per token, per token squared.
        prefill: [Attos; 3],
        /// Decode: constant, per sequence, per context token.
        decode: [Attos; 3],
    },
    /// NVIDIA's mocker: prefill polynomial as in `TwoPart`; decode `max(1, -25.74 p^2 + 54.01 p + 5.74)` ms with p the
    /// share of the pool's tokens in the contexts; rounded to whole nanoseconds.
    Mocker,
}

/// All frontends (they are alike).
#[derive(Clone, Debug, PartialEq)]
pub struct FrontendConfig {
    /// How many, 1 or more. Ids run from 0.
    pub frontends: u32,
    /// How requests are spread over them.
    pub spread: FrontendSpread,
    /// How a worker is picked.
    pub router_mode: RouterMode,
    /// Thresholds at the start.
    pub thresholds: BusyThresholds,
    /// Generated tokens count in the tracked blocks.
    pub router_track_output_blocks: bool,
    /// Prompt tokens count until the first token.
    pub router_track_prefill_tokens: bool,
    /// Prompt blocks count.
    pub router_track_active_blocks: bool,
    /// Further dispatches after a retryable failure.
    pub migration_limit: u32,
    /// `DYN_HTTP_OVERLOAD_STATUS_CODE`.
    pub overload_status_code: u16,
    /// Exclusion of a worker that answered "at capacity"; zero switches leases off.
    pub overload_lease: Span,
    /// `DYN_RUNTIME_INHIBITED_DURATION_SECS`: reconciliation period after a reported-down worker; zero never inhibits.
    pub inhibited_duration: Span,
    /// Time from a change in the fleet to the frontends' discovery of it.
    pub discovery_delay: Span,
    /// Model name in metric labels.
    pub model: String,
}

/// How requests are spread over frontends.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum FrontendSpread {
    /// In turn.
    #[default]
    RoundRobin,
    /// Evenly at random.
    Random,
    /// At random by weight, one per frontend.
    Weights(Vec<f64>),
}

/// `--router-mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouterMode {
    /// One cursor over the eligible workers.
    #[default]
    RoundRobin,
    /// Evenly at random.
    Random,
    /// The less loaded of two distinct random workers.
    PowerOfTwo,
    /// Lowest in-flight count.
    LeastLoaded,
    /// Lowest kv cost over ranks.
    Kv,
}

/// How workers' load reports reach the frontends.
#[derive(Clone, Debug, PartialEq)]
pub struct TelemetryConfig {
    /// Workers publish `kv_used_blocks`.
    pub worker_kv_metrics: bool,
    /// Trailing debounce of a rank's reports.
    pub debounce: Span,
    /// From worker to each frontend.
    pub delay: SpanDistribution,
    /// Probability that a report is lost, per frontend.
    pub loss: f64,
}

/// What every backend does: reports are on, with a trailing debounce of 1 ms, and arrive at once.
impl Default for TelemetryConfig {
    fn default() -> Self {
        Self {
            worker_kv_metrics: true,
            debounce: Span::from_millis(1),
            delay: SpanDistribution::Constant { value: Span::ZERO },
            loss: 0.0,
        }
    }
}

/// What the clients do.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientConfig {
    /// A closed loop instead of arrivals.
    pub closed_loop: Option<ClosedLoop>,
    /// Retries; `None` never retries.
    pub retry: Option<RetryPolicy>,
    /// Patience to the first token.
    pub patience_first_token: Option<Span>,
    /// Patience to the end of the answer.
    pub patience: Option<Span>,
    /// Whether the server notices that a client left.
    pub server_notices: bool,
}

/// An open loop of patient clients that never retry; a client that leaves is noticed, as Dynamo notices it.
impl Default for ClientConfig {
    fn default() -> Self {
        Self { closed_loop: None, retry: None, patience_first_token: None, patience: None, server_notices: true }
    }
}

/// A closed loop.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedLoop {
    /// Users; each has at most one request in the system.
    pub users: u32,
    /// From an answer to the user's next request.
    pub think_time: SpanDistribution,
}

/// What clients do after an answer they may retry.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Statuses that are retried.
    pub statuses: Vec<u16>,
    /// Attempts in all, the first one included.
    pub attempts: u32,
    /// How the back-off grows.
    pub backoff: Backoff,
    /// First back-off.
    pub initial: Span,
    /// Longest back-off.
    pub max: Option<Span>,
    /// Randomness of the back-off.
    pub jitter: Jitter,
    /// Retry after the client's own patience ran out as well.
    pub on_timeout: bool,
    /// Delay of a retry after the client's own patience ran out, without jitter; `None` backs off as after an answer.
    pub timeout_delay: Option<Span>,
    /// Token throttle: retry only while it has tokens.
    pub budget: Option<RetryBudget>,
    /// Seconds of a `Retry-After` header the frontend sends and the client obeys, if any.
    pub retry_after: Option<Span>,
}

/// gRPC-style retry throttle of one client population.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryBudget {
    /// Tokens at the start and at most; a failure takes one; retry only while above half.
    pub max_tokens: f64,
    /// Tokens a success gives back.
    pub token_ratio: f64,
}

/// Growth of a back-off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backoff {
    /// Always the first.
    #[default]
    Fixed,
    /// Doubles with each attempt.
    Exponential,
}

/// Randomness of a back-off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jitter {
    /// None.
    #[default]
    None,
    /// Uniform between 0 and the back-off.
    Full,
    /// Uniform between half the back-off and all of it.
    Equal,
}

/// One `[[events]]` entry.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioEvent {
    /// First time.
    pub at: SimTime,
    /// Repeats this often.
    pub every: Option<Span>,
    /// Last repetition at this instant or before.
    pub until: Option<SimTime>,
    /// What happens.
    pub action: EventAction,
    /// Frontends it reaches, where it is one that goes to frontends; `None` is all.
    pub frontends: Option<Vec<u32>>,
}

/// What a scenario event does.
#[derive(Clone, Debug, PartialEq)]
pub enum EventAction {
    /// `POST /busy_threshold`.
    PostBusyThreshold(ThresholdPost),
    /// A worker load event reaches the frontends.
    Load(ScriptedLoad),
    /// A batch of the router's own tracking reaches the monitor.
    SchedulerLoad(Vec<ScriptedSchedulerLoad>),
    /// The worker leaves discovery at once; what it holds fails.
    WorkerLeave {
        /// Its id.
        worker: u32,
    },
    /// The worker (back) in discovery, empty.
    WorkerJoin {
        /// Its id.
        worker: u32,
    },
    /// A frontend finds the worker unreachable.
    ReportDown {
        /// Its id.
        worker: u32,
    },
    /// The worker's runtime configuration changes.
    RuntimeConfig(RuntimeConfigChange),
}

/// The body of a `POST /busy_threshold`.
///
/// The update may hold values that the frontend refuses (400): a scenario can show that a faulty post changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdPost {
    /// Model it names; `None` names the frontend's own. Any other is unknown to the frontend (404).
    pub model: Option<String>,
    /// The thresholds it carries.
    pub update: ThresholdUpdate,
}

/// A scripted worker load event; an absent field is not in the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptedLoad {
    /// Worker id.
    pub worker: u32,
    /// Rank.
    pub rank: u32,
    /// The router's own count.
    pub active_decode_blocks: Option<u64>,
    /// Prefill tokens.
    pub active_prefill_tokens: Option<u64>,
    /// The worker's own count.
    pub kv_used_blocks: Option<u64>,
}

/// One entry of a scripted scheduler batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptedSchedulerLoad {
    /// Worker id.
    pub worker: u32,
    /// Rank.
    pub rank: u32,
    /// Blocks.
    pub active_decode_blocks: u64,
    /// Prefill tokens.
    pub active_prefill_tokens: u64,
}

/// A change of what a worker advertises; an absent field stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeConfigChange {
    /// Worker id.
    pub worker: u32,
    /// Ranks.
    pub data_parallel_size: Option<u32>,
    /// KV blocks per rank.
    pub kv_total_blocks: Option<Override>,
    /// Token budget.
    pub max_num_batched_tokens: Option<Override>,
}
