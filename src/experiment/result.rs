//! What a run found out.

use super::measures::Measures;
use super::quality::{QualityPoint, WorkerQuality};
use super::verdicts::{Idle, MonitorEnd, Recovery};
use crate::cluster::observer::PostAnswer;
use crate::cluster::story::StoryEvent;
use crate::control::{BusyThresholds, Checks, ThresholdUpdate};
use crate::scenario::Warning;
use crate::stats::{Merge, Quantiles, ThinnedSeries, Window};
use crate::units::{SimTime, Span};
use crate::workload::sessions::SessionCounts;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// The horizon was reached.
    Horizon,
    /// Everything that arrived is done.
    Drained,
    /// The bound on events was reached.
    MaxEvents,
    /// The bound on requests in the system was reached.
    MaxRequestsInSystem,
    /// Clients sent again and again within one instant, without end.
    TimeStandsStill,
    /// The user stopped it.
    Interrupted,
}

impl RunEnd {
    /// Name in machine formats.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Horizon => "horizon",
            Self::Drained => "drained",
            Self::MaxEvents => "max_events",
            Self::MaxRequestsInSystem => "max_requests_in_system",
            Self::TimeStandsStill => "time_stands_still",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether the run went as far as the scenario asked.
    pub const fn is_complete(self) -> bool {
        matches!(self, Self::Horizon | Self::Drained)
    }
}

/// Everything a run found out.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// Why it ended.
    pub end: RunEnd,
    /// When it ended.
    pub ended_at: SimTime,
    /// Start of what the statistics cover.
    pub measured_from: SimTime,
    /// The whole run, warm-up included: for conservation.
    pub whole: Measures,
    /// What the statistics cover: the phases together.
    pub total: Measures,
    /// Stretches between scheduled changes, at least one.
    pub phases: Vec<PhaseResult>,
    /// Client classes in the order of the workload.
    pub classes: Vec<ClassResult>,
    /// Workers by id.
    pub workers: Vec<WorkerResult>,
    /// Ranks by worker, then rank.
    pub ranks: Vec<RankResult>,
    /// Threshold posts in the order of time, then frontend; the first [`MOST_UPDATES`] of them.
    pub updates: Vec<UpdateResult>,
    /// All threshold posts together.
    pub update_lags: UpdateLags,
    /// Workers as frontends saw them, by id; nothing where the run does not judge decisions.
    pub quality: Vec<WorkerQuality>,
    /// Leases and latches that kept workers out for nothing: see [`Idle`].
    pub idle: Vec<Idle>,
    /// What became of the goodput after the first scheduled disturbance; `None` without one, or where it cannot be told.
    pub recovery: Option<Recovery>,
    /// Checks that excluded a worker at any sample, at the first frontend.
    pub fired: Checks,
    /// What each frontend's monitor ended with.
    pub monitors: Vec<MonitorEnd>,
    /// The story of the request that was asked for.
    pub story: Option<Vec<(SimTime, StoryEvent)>>,
    /// The run over time, thinned to a bounded number of points.
    pub series: ThinnedSeries<Point>,
    /// What became of the rows of the trace, if one was replayed.
    pub trace: Option<crate::workload::trace::TraceReport>,
    /// What became of sessions, where users or a trace have such; of the whole run.
    pub sessions: Option<SessionCounts>,
    /// What a reader should know.
    pub warnings: Vec<Warning>,
}

/// One phase.
#[derive(Clone, Debug)]
pub struct PhaseResult {
    /// What begins it.
    pub name: String,
    /// Its start.
    pub start: SimTime,
    /// Its end.
    pub end: SimTime,
    /// What was measured in it.
    pub measures: Measures,
}

/// One client class.
#[derive(Clone, Debug)]
pub struct ClassResult {
    /// Its name.
    pub name: String,
    /// What was measured of it (no occupancy).
    pub measures: Measures,
}

/// One worker, over what the statistics cover.
#[derive(Clone, Debug)]
pub struct WorkerResult {
    /// Id.
    pub worker: u32,
    /// Type.
    pub kind: String,
    /// Ranks.
    pub data_parallel_size: u32,
    /// N, if it has a gate.
    pub engine_request_limit: Option<u32>,
    /// Q.
    pub request_queue_limit: u32,
    /// Attempts it completed.
    pub completed: u64,
    /// Dispatches it refused.
    pub rejected: u64,
    /// Engine slots in use.
    pub slots: Window,
    /// Requests waiting for a slot.
    pub waiting: Window,
    /// The gauge.
    pub gauge: Window,
    /// Slots and queue all taken: 1, else 0.
    pub full: Window,
    /// Samples at which the first frontend excluded it, and samples.
    pub excluded_samples: (u64, u64),
}

/// One rank, over the samples that the statistics cover.
#[derive(Clone, Debug, Default)]
pub struct RankResult {
    /// Worker id.
    pub worker: u32,
    /// Rank.
    pub rank: u32,
    /// KV blocks it has.
    pub kv_total_blocks: Option<u64>,
    /// KV blocks in use at the samples.
    pub kv_used_blocks: Quantiles,
    /// Running sequences at the samples.
    pub running: Quantiles,
    /// Waiting sequences at the samples.
    pub waiting: Quantiles,
    /// Preemptions over the run.
    pub preemptions: u64,
}

/// One threshold post at one frontend.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateResult {
    /// Counts the posts of the run from 0.
    pub post: u32,
    /// Frontend.
    pub frontend: u32,
    /// When it was posted.
    pub at: SimTime,
    /// What was posted.
    pub update: ThresholdUpdate,
    /// What the frontend answered.
    pub answer: PostAnswer,
    /// First event that re-evaluated under it.
    pub noticed: Option<SimTime>,
    /// Per worker: first instant from which its state rests on the new values alone.
    pub workers: Vec<(u32, SimTime)>,
    /// The last of them.
    pub all: Option<SimTime>,
    /// A later post replaced it at this instant, before `all`.
    pub superseded: Option<SimTime>,
    /// Workers that never got there, with the ranks that kept silent.
    pub silent: Vec<(u32, Vec<u32>)>,
    /// Decisions before `noticed`, and between `noticed` and `all`.
    pub decisions: [u64; 2],
    /// First decision that would have been another one without it.
    pub effect: Option<SimTime>,
    /// A later post replaced it at this instant, before any decision differed.
    pub effect_superseded: Option<SimTime>,
}

impl UpdateResult {
    /// A post at `at` that has reached no stage yet.
    pub const fn posted(post: u32, frontend: u32, at: SimTime, update: ThresholdUpdate, answer: PostAnswer) -> Self {
        Self {
            post,
            frontend,
            at,
            update,
            answer,
            noticed: None,
            workers: Vec::new(),
            all: None,
            superseded: None,
            silent: Vec::new(),
            decisions: [0, 0],
            effect: None,
            effect_superseded: None,
        }
    }

    /// Whether it changed nothing: a read, values equal to the stored ones, or a refused update.
    pub fn is_no_op(&self) -> bool {
        self.answer != PostAnswer::Changed
    }
}

/// Posts that are listed one by one, at most; all of them count in [`UpdateLags`].
pub const MOST_UPDATES: usize = 100_000;
/// Instants at which workers came to a post's thresholds that are listed, at most, over all posts.
pub const MOST_UPDATE_WORKERS: usize = 1_000_000;

/// How long threshold posts took, over all of them.
#[derive(Clone, Debug, Default)]
pub struct UpdateLags {
    /// Posts, counted once per frontend they reached.
    pub posts: u64,
    /// Those that changed what the frontend stores.
    pub changed: u64,
    /// Those replaced by a later one before they were in force everywhere.
    pub superseded: u64,
    /// From the post to its notice, in nanoseconds.
    pub noticed: Quantiles,
    /// From the post to its being in force everywhere, in nanoseconds.
    pub all: Quantiles,
    /// From the post to the first decision it changed, in nanoseconds.
    pub effect: Quantiles,
}

/// One worker at a point of the series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerPoint {
    /// Slots in use at the end, and at most.
    pub slots: [u32; 2],
    /// Waiting at the end, and at most.
    pub waiting: [u32; 2],
    /// Checks that excluded it at any sample of the interval.
    pub excluded: Checks,
    /// Samples at which it was excluded, absent or reported down, and samples.
    pub out: [u32; 2],
    /// Not registered, or reported down, at the end.
    pub absent: bool,
}

/// One rank at a point of the series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankPoint {
    /// KV blocks in use at the end.
    pub kv_used_blocks: u64,
    /// Running at the end.
    pub running: u32,
    /// Waiting at the end.
    pub waiting: u32,
    /// Blocks the first frontend's monitor had last seen.
    pub observed_blocks: Option<u64>,
    /// Prefill tokens the first frontend's monitor had last seen.
    pub observed_prefill_tokens: Option<u64>,
}

/// What happened in one interval, and how things stood at its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Requests offered.
    pub offered: u64,
    /// Attempts started.
    pub attempts: u64,
    /// Attempts completed.
    pub completed: u64,
    /// Requests completed within their latency targets.
    pub good: u64,
    /// Overload responses by reason.
    pub refused: [u64; 3],
    /// 503 responses.
    pub unavailable: u64,
    /// Other ends of attempts: failed, cancelled, unservable.
    pub other: u64,
    /// Attempts that workers were done with, having computed for nobody.
    pub orphans: u64,
    /// Requests in the system or waiting to retry, at the end.
    pub unfinished: u64,
    /// Workers registered.
    pub present: u32,
    /// Workers excluded by the first frontend at the end, and at most.
    pub excluded: [u32; 2],
    /// Thresholds of the first frontend.
    pub thresholds: BusyThresholds,
    /// Sums over workers at the end, and their greatest values over the interval.
    pub slots: [u64; 2],
    /// As `slots`, of the requests waiting for one.
    pub waiting: [u64; 2],
    /// Gauges summed, at the end.
    pub gauge: u64,
    /// Sequences running in the engines, at the end.
    pub running: u64,
    /// Sequences waiting in the engines, at the end.
    pub engine_waiting: u64,
    /// Decisions held against references.
    pub quality: QualityPoint,
    /// Each worker, while there are few enough.
    pub workers: Vec<WorkerPoint>,
    /// Each rank, while there are few enough.
    pub ranks: Vec<RankPoint>,
}

impl Merge for Point {
    fn merge(&mut self, later: &Self) {
        self.offered += later.offered;
        self.attempts += later.attempts;
        self.completed += later.completed;
        self.good += later.good;
        self.refused.iter_mut().zip(later.refused).for_each(|(a, b)| *a += b);
        self.unavailable += later.unavailable;
        self.other += later.other;
        self.orphans += later.orphans;
        self.unfinished = later.unfinished;
        self.present = later.present;
        self.thresholds = later.thresholds;
        self.excluded = last_and_most(self.excluded, later.excluded);
        self.slots = last_and_most(self.slots, later.slots);
        self.waiting = last_and_most(self.waiting, later.waiting);
        self.gauge = later.gauge;
        self.running = later.running;
        self.engine_waiting = later.engine_waiting;
        self.quality.merge(&later.quality);
        for (mine, theirs) in self.workers.iter_mut().zip(&later.workers) {
            mine.slots = last_and_most(mine.slots, theirs.slots);
            mine.waiting = last_and_most(mine.waiting, theirs.waiting);
            mine.excluded |= theirs.excluded;
            mine.out = [mine.out[0] + theirs.out[0], mine.out[1] + theirs.out[1]];
            mine.absent = theirs.absent;
        }
        self.ranks.clone_from(&later.ranks);
    }
}

fn last_and_most<T: Ord + Copy>(mine: [T; 2], later: [T; 2]) -> [T; 2] {
    [later[0], mine[1].max(later[1])]
}

/// Interval of the time series for a run of about `length`: at most 600 of a 1-2-5 step from 1 ms up.
pub fn natural_interval(length: Span) -> Span {
    let mut steps = (0..).flat_map(|power| [1u64, 2, 5].map(|digit| Span::from_millis(digit * 10u64.pow(power))));
    steps.find(|step| step.saturating_mul(600) >= length).expect("the steps grow without end")
}
