//! Figures of one run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::common::{Heading, Sample};
use super::gaps;

/// A named curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// Samples in ascending x.
    #[serde(deserialize_with = "gaps::samples")]
    #[schemars(with = "Vec<[Option<f64>; 2]>")]
    pub points: Vec<Sample>,
}

/// Lowest, mean and highest of many members over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Band {
    /// Lowest of the members, at ascending times.
    #[serde(deserialize_with = "gaps::samples")]
    #[schemars(with = "Vec<[Option<f64>; 2]>")]
    pub low: Vec<Sample>,
    /// Their mean.
    #[serde(deserialize_with = "gaps::samples")]
    #[schemars(with = "Vec<[Option<f64>; 2]>")]
    pub mean: Vec<Sample>,
    /// Highest of the members.
    #[serde(deserialize_with = "gaps::samples")]
    #[schemars(with = "Vec<[Option<f64>; 2]>")]
    pub high: Vec<Sample>,
}

/// Members one by one while they are few, else as a band.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum Spread {
    /// One curve for each member; at most eight stay readable, more are drawn as a band of them.
    Each(Vec<Curve>),
    /// All members in one band.
    Band(Band),
}

impl Default for Spread {
    fn default() -> Self {
        Self::Each(Vec::new())
    }
}

/// Why an instant is marked by a vertical line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum MarkKind {
    /// A threshold update was posted.
    Post,
    /// A phase of the workload begins, or the warm-up ends.
    Phase,
    /// A fault or a change of the fleet.
    Fault,
}

/// A marked instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// Seconds since the start.
    pub at: f64,
    /// Why it is marked.
    pub kind: MarkKind,
    /// A few words, e.g. "decode 0.85 to 0.6".
    pub label: String,
}

/// The span of simulated time that a figure covers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeFrame {
    /// First instant, seconds since the start of the run.
    pub start: f64,
    /// Last instant, seconds; later than `start`.
    pub end: f64,
    /// Instants to mark, in any order.
    pub marks: Vec<Mark>,
}

/// Overload responses over time by reason, in bins of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Refusals {
    /// Start of each bin, ascending; a bin ends where the next one starts, the last one at the end of the frame.
    pub bins: Vec<f64>,
    /// Overload responses over attempts in each bin, one list per reason. NaN where a bin has no attempt.
    pub reasons: Vec<Reason>,
}

/// One reason of refusal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Its name, e.g. `all_workers_busy`.
    pub name: String,
    /// Share of attempts refused for it, one per bin.
    #[serde(deserialize_with = "gaps::values")]
    #[schemars(with = "Vec<Option<f64>>")]
    pub shares: Vec<f64>,
}

/// Engine slots and overflow queue of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerOccupancy {
    /// Name of the worker.
    pub name: String,
    /// Engine slots in use over time.
    #[serde(deserialize_with = "gaps::samples")]
    #[schemars(with = "Vec<[Option<f64>; 2]>")]
    pub slots: Vec<Sample>,
    /// Requests truly waiting in the overflow queue over time.
    #[serde(deserialize_with = "gaps::samples")]
    #[schemars(with = "Vec<[Option<f64>; 2]>")]
    pub queue: Vec<Sample>,
    /// N, `None` without a gate.
    pub slot_limit: Option<f64>,
    /// Q, `None` without a gate.
    pub queue_limit: Option<f64>,
}

/// Engine slots and overflow queues of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum Occupancy {
    /// Worker by worker; more than eight are drawn as a band of them.
    Workers(Vec<WorkerOccupancy>),
    /// All workers in one band.
    Fleet {
        /// Engine slots in use per worker.
        slots: Band,
        /// Requests waiting per worker.
        queue: Band,
        /// N, where all workers have the same.
        slot_limit: Option<f64>,
        /// Q, where all workers have the same.
        queue_limit: Option<f64>,
    },
}

/// How many workers were busy, out of how many.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusyCount {
    /// Workers in the excluded set by the monitor over time.
    #[serde(deserialize_with = "gaps::samples")]
    #[schemars(with = "Vec<[Option<f64>; 2]>")]
    pub busy: Vec<Sample>,
    /// Workers under a lease over time; may be empty.
    #[serde(deserialize_with = "gaps::samples")]
    #[schemars(with = "Vec<[Option<f64>; 2]>")]
    pub leased: Vec<Sample>,
    /// Registered workers over time.
    #[serde(deserialize_with = "gaps::samples")]
    #[schemars(with = "Vec<[Option<f64>; 2]>")]
    pub discovered: Vec<Sample>,
}

/// A load per rank against the thresholds it is compared with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPanel {
    /// The load: used KV blocks over `kv_total_blocks` (a share), or active prefill tokens.
    pub load: Spread,
    /// Thresholds over time, each holding until its next sample. In the load's unit (a fraction is multiplied out).
    pub thresholds: Vec<Curve>,
}

/// Rank loads against thresholds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loads {
    /// Decode: share of KV blocks in use.
    pub decode: Option<LoadPanel>,
    /// Prefill: active tokens.
    pub prefill: Option<LoadPanel>,
}

/// A run at a glance: panels on one time axis. A panel without data is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewData {
    /// Title and description.
    pub heading: Heading,
    /// Time axis and marked instants.
    pub time: TimeFrame,
    /// 529 rate by reason.
    pub refusals: Option<Refusals>,
    /// Engine slots and overflow queues.
    pub occupancy: Option<Occupancy>,
    /// Busy workers.
    pub busy: Option<BusyCount>,
    /// Rank loads against thresholds.
    pub loads: Loads,
}

/// What flows through the cluster over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrafficData {
    /// Title and description.
    pub heading: Heading,
    /// Time axis and marked instants.
    pub time: TimeFrame,
    /// Requests offered per second, from each instant on.
    #[serde(deserialize_with = "gaps::samples")]
    #[schemars(with = "Vec<[Option<f64>; 2]>")]
    pub offered: Vec<Sample>,
    /// Attempts per second.
    #[serde(deserialize_with = "gaps::samples")]
    #[schemars(with = "Vec<[Option<f64>; 2]>")]
    pub attempts: Vec<Sample>,
    /// Requests completed within the latency targets, per second.
    #[serde(deserialize_with = "gaps::samples")]
    #[schemars(with = "Vec<[Option<f64>; 2]>")]
    pub goodput: Vec<Sample>,
    /// Attempts per second that workers computed for nobody; empty where there were none.
    #[serde(deserialize_with = "gaps::samples")]
    #[schemars(with = "Vec<[Option<f64>; 2]>")]
    pub orphans: Vec<Sample>,
    /// Requests in the system or waiting to retry.
    #[serde(deserialize_with = "gaps::samples")]
    #[schemars(with = "Vec<[Option<f64>; 2]>")]
    pub unfinished: Vec<Sample>,
}

/// 529 rate by reason over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RefusalsData {
    /// Title and description.
    pub heading: Heading,
    /// Time axis and marked instants.
    pub time: TimeFrame,
    /// The rates.
    pub refusals: Refusals,
}

/// Engine slots and overflow queue against N and Q.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OccupancyData {
    /// Title and description.
    pub heading: Heading,
    /// Time axis and marked instants.
    pub time: TimeFrame,
    /// The occupancy.
    pub occupancy: Occupancy,
}

/// Rank loads against thresholds over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadsData {
    /// Title and description.
    pub heading: Heading,
    /// Time axis and marked instants.
    pub time: TimeFrame,
    /// The loads.
    pub loads: Loads,
}

/// Why a worker takes no request just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum BusyState {
    /// Every rank busy by its decode blocks.
    Decode,
    /// Every rank busy by its prefill tokens, absolute or as a fraction.
    Prefill,
    /// Every rank busy, some by decode and some by prefill, or by both.
    Mixed,
    /// Excluded by a lease alone.
    Lease,
    /// Not routable: not registered, or reported down.
    Absent,
}

/// A span of time in one state. Time outside all spans is "eligible".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusySpan {
    /// First instant, seconds.
    pub from: f64,
    /// End, seconds.
    pub to: f64,
    /// What it was.
    pub state: BusyState,
}

/// The states of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusyRow {
    /// Name of the worker.
    pub name: String,
    /// Its spans, ascending and without overlap.
    pub spans: Vec<BusySpan>,
}

/// Busy set as a timeline per worker; more than 64 workers are drawn in groups of neighbours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusyData {
    /// Title and description.
    pub heading: Heading,
    /// Time axis and marked instants.
    pub time: TimeFrame,
    /// The workers, in order of their ids.
    pub workers: Vec<BusyRow>,
}

/// When a stage of a threshold update was reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum Stage {
    /// This many seconds after the post (0 or more).
    After(f64),
    /// A later post took its place first.
    Superseded,
    /// The post changed nothing.
    NoOp,
    /// Not within the run.
    Never,
}

/// The stages of one post at one frontend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PostStages {
    /// Which post at which frontend, and what it changed.
    pub label: String,
    /// First event that re-evaluated under it.
    pub noticed: Stage,
    /// Each worker's switch: its name and when its state rested on the new values alone.
    pub workers: Vec<(String, Stage)>,
    /// The last worker's switch.
    pub all: Stage,
    /// First decision that the old thresholds would have made otherwise.
    pub effect: Stage,
    /// Routing decisions made between the post and `noticed`.
    pub decisions_before_noticed: u64,
    /// Routing decisions made between `noticed` and `all`.
    pub decisions_until_all: u64,
}

/// Stages of threshold updates. More than ten posts are drawn as distributions of the delays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UpdatesData {
    /// Title and description.
    pub heading: Heading,
    /// The posts in order.
    pub posts: Vec<PostStages>,
}

/// Distribution of one latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyCurve {
    /// Its name, e.g. "time to first token".
    pub name: String,
    /// Latency in seconds (above 0), then share of requests at or below it; both ascending.
    #[serde(deserialize_with = "gaps::samples")]
    #[schemars(with = "Vec<[Option<f64>; 2]>")]
    pub cumulative: Vec<Sample>,
    /// Percentiles to mark: name ("p99") and latency in seconds.
    pub quantiles: Vec<(String, f64)>,
    /// Service-level objective in seconds, if there is one.
    pub objective: Option<f64>,
}

/// Which side of a distribution is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Tail {
    /// Share of requests at or below a latency.
    #[default]
    AtOrBelow,
    /// Share of requests above it, on a logarithmic axis, which shows the tail.
    Above,
}

/// Latency distributions, one panel each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyData {
    /// Title and description.
    pub heading: Heading,
    /// Time to first token, time per output token, end to end, ...
    pub curves: Vec<LatencyCurve>,
    /// What the vertical axis shows.
    pub tail: Tail,
}
