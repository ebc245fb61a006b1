//! What a scenario says of its cluster, frontends, clients and events: pure data, resolved and valid.

use crate::control::{BusyThresholds, ThresholdUpdate};
use crate::units::{Attos, SimTime, Span};
use crate::workload::config::{LengthDistribution, SpanDistribution};

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
    /// Another timing, every duration times `millionths` / 1,000,000, rounded down to an attosecond: a slow worker whose timing
    /// has no coefficients to scale. No scenario names it.
    Slowed {
        /// The timing at full speed.
        timing: Box<StepTiming>,
        /// The factor in millionths.
        millionths: u64,
    },
}

/// One, in millionths.
pub const FULL_SPEED: u64 = 1_000_000;

impl StepTiming {
    /// This timing on a worker that takes `millionths` / 1,000,000 times as long. Coefficients are scaled one by one, so that
    /// a line stays a line.
    pub fn slowed(&self, millionths: u64) -> Self {
        if millionths == FULL_SPEED {
            return self.clone();
        }
        let scale = |amount: Attos| Attos(amount.0 * u128::from(millionths) / u128::from(FULL_SPEED));
        match self {
            Self::SingleBase { base, prefill, prefill_squared, decode, context } => Self::SingleBase {
                base: scale(*base),
                prefill: scale(*prefill),
                prefill_squared: scale(*prefill_squared),
                decode: scale(*decode),
                context: scale(*context),
            },
            Self::TwoPart { prefill, decode } => Self::TwoPart { prefill: prefill.map(scale), decode: decode.map(scale) },
            Self::Mocker | Self::Slowed { .. } => Self::Slowed { timing: Box::new(self.clone()), millionths },
        }
    }
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
    /// A `Retry-After` header on refusals (overload and 503). The release sends none: this is for a gateway before it, or a
    /// question of what if.
    pub retry_after: Option<Span>,
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
    /// A path delivers in the order of its drawn delays; else in the order of sending.
    pub reorder: bool,
}

/// What every backend does: reports are on, with a trailing debounce of 1 ms, and arrive at once.
impl Default for TelemetryConfig {
    fn default() -> Self {
        Self {
            worker_kv_metrics: true,
            debounce: Span::from_millis(1),
            delay: SpanDistribution::Constant { value: Span::ZERO },
            loss: 0.0,
            reorder: false,
        }
    }
}

/// What the clients do.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientConfig {
    /// A closed loop instead of arrivals.
    pub closed_loop: Option<ClosedLoop>,
    /// In an open loop: every generated arrival begins a session. `None` makes it a request of its own.
    pub sessions: Option<SessionConfig>,
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
        Self { closed_loop: None, sessions: None, retry: None, patience_first_token: None, patience: None, server_notices: true }
    }
}

/// A closed loop.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedLoop {
    /// Users; each has at most one request in the system.
    pub users: u32,
    /// From an answer to the user's next request; with sessions, from the end of one to the start of the next.
    pub think_time: SpanDistribution,
    /// Sessions of several turns; `None` makes every request one of its own.
    pub sessions: Option<SessionConfig>,
}

/// Sessions: turns, each of which waits for the answer before. A turn that gets no answer ends its
/// session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionConfig {
    /// Turns of a session; a draw of 0 counts as 1.
    pub turns: LengthDistribution,
    /// From an answer to the next turn.
    pub turn_think_time: SpanDistribution,
    /// What a prompt holds of the turns before.
    pub context: SessionContext,
    /// Most tokens of a turn, prompt and answer together.
    pub max_context_tokens: Option<u32>,
    /// What happens to a session whose next turn would be longer than that.
    pub at_max_context: AtMaxContext,
}

/// What the prompt of a turn holds of the turns before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionContext {
    /// Nothing: each turn is a prompt of its own.
    #[default]
    None,
    /// All of them: the prompt before, its answer, and the new input.
    Grow,
}

/// What happens to a session whose next turn would exceed the longest context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtMaxContext {
    /// It ends, and the user starts another.
    #[default]
    End,
    /// It goes on with the oldest tokens left out.
    Cut,
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
    /// Never retry before a `Retry-After` of the frontend has passed, as the usual client libraries do.
    pub obey_retry_after: bool,
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
    /// The worker stops dead: what it holds is lost.
    WorkerCrash(WorkerCrash),
    /// The worker leaves discovery and finishes what it has.
    WorkerDrain {
        /// Its id.
        worker: u32,
    },
    /// The worker computes slower.
    WorkerSlow(WorkerSlow),
    /// The way between frontends and workers takes longer, there and back.
    NetworkDelay(NetworkDelay),
    /// The fleet is scaled to a number of workers.
    Scale(Scale),
    /// Load reports are lost.
    TelemetryOutage(TelemetryFault),
    /// Load reports keep the value of the fault's start.
    TelemetryFreeze(TelemetryFault),
}

/// A worker that stops dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerCrash {
    /// Worker id.
    pub worker: u32,
    /// When it is started again, from the crash on; `None` is never.
    pub rejoin_after: Option<Span>,
    /// How long it loads its model then: it registers, empty, when that is done.
    pub load_time: Span,
}

/// A worker that computes slower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkerSlow {
    /// Worker id.
    pub worker: u32,
    /// Its steps, or the services it starts, take this many times as long as at full speed. Above 0.
    pub factor: f64,
    /// How long; `None` is until a further event says otherwise.
    pub duration: Option<Span>,
}

impl WorkerSlow {
    /// The factor in whole millionths, at least one.
    pub fn millionths(&self) -> u64 {
        ((self.factor * FULL_SPEED as f64).round_ties_even() as u64).max(1)
    }
}

/// A longer way between frontends and workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkDelay {
    /// What each direction takes.
    pub delay: Span,
    /// The worker concerned; `None` is every one.
    pub worker: Option<u32>,
    /// How long; `None` is until a further event says otherwise.
    pub duration: Option<Span>,
}

/// A number of workers to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Index of the worker type.
    pub kind: usize,
    /// How many of it shall be registered. More: those not there join, lowest ids first. Fewer: the highest ids drain.
    pub workers: u32,
    /// How long a worker that joins loads its model first.
    pub load_time: Span,
}

/// A fault of the load reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TelemetryFault {
    /// The worker whose reports are concerned; `None` is every one.
    pub worker: Option<u32>,
    /// The rank of each worker concerned; `None` is every one.
    pub rank: Option<u32>,
    /// How long.
    pub duration: Span,
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
