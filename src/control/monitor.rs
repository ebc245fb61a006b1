//! The worker monitor: which workers are busy, by the loads it was told of.

use super::busy_set::{BusySet, Verdict};
use super::checks::{Check, Checks};
use super::firing::{self, FiringCheck};
use super::ids::{WorkerId, WorkerMap};
use super::rank_load::{Observation, RankLoad};
use super::thresholds::{BusyThresholds, RankLimits, ThresholdError, ThresholdUpdate};
use crate::units::SimTime;

/// Most ranks of one worker: memory of a frontend in kv mode follows the declared ranks. The release has the same bound.
pub const MAX_DATA_PARALLEL_SIZE: u32 = 4096;

/// What a worker declares of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeConfig {
    /// Its first rank.
    pub dp_start: u32,
    /// How many ranks it has; [`MAX_DATA_PARALLEL_SIZE`] at most, which whoever reads a configuration has to check.
    pub dp_size: u32,
    /// KV blocks of each rank; `None` where unreported.
    pub kv_total_blocks: Option<u64>,
    /// Token budget of a step; `None` where unreported.
    pub max_num_batched_tokens: Option<u64>,
}

impl RuntimeConfig {
    /// Whether `rank` is one of the declared ones.
    #[inline]
    pub fn declares(&self, rank: u32) -> bool {
        rank >= self.dp_start && rank - self.dp_start < self.dp_size
    }

    /// The declared ranks, ascending.
    pub fn ranks(&self) -> std::ops::Range<u32> {
        self.dp_start..self.dp_start.saturating_add(self.dp_size)
    }
}

/// A worker load event: a report on one rank of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerLoad {
    /// The worker.
    pub worker: WorkerId,
    /// Its rank.
    pub rank: u32,
    /// What is reported.
    pub report: Observation,
}

/// One entry of a batch of the router's own tracking; both figures are always present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerLoad {
    /// The worker.
    pub worker: WorkerId,
    /// Its rank.
    pub rank: u32,
    /// KV blocks tracked on the rank.
    pub active_decode_blocks: u64,
    /// Prefill tokens tracked on the rank.
    pub active_prefill_tokens: u64,
}

/// What the monitor holds of one worker.
#[derive(Clone, Debug, Default)]
pub struct WorkerState {
    /// Routable. A worker that is not may have left its configuration here already, and nothing else.
    known: bool,
    config: Option<RuntimeConfig>,
    /// Ranks observed so far, ascending; only declared ones once a configuration is known.
    ranks: Vec<(u32, RankLoad)>,
    verdict: Verdict,
    /// The limits of its ranks by the stored thresholds; worked out when they are next asked for.
    limits: Option<RankLimits>,
}

impl WorkerState {
    /// The configuration in force, if one is known.
    pub fn config(&self) -> Option<&RuntimeConfig> {
        self.config.as_ref()
    }

    /// The ranks observed so far, ascending.
    pub fn ranks(&self) -> impl Iterator<Item = (u32, &RankLoad)> {
        self.ranks.iter().map(|(rank, load)| (*rank, load))
    }

    /// Whether the worker was busy at the last evaluation.
    pub fn is_busy(&self) -> bool {
        self.verdict.busy
    }

    /// Of a busy worker, the checks of which each one alone, unset, would have left it not busy.
    pub fn freed_by(&self) -> Checks {
        self.verdict.freed_by
    }

    #[inline]
    fn limits(&self, thresholds: &BusyThresholds) -> RankLimits {
        let config = self.config.as_ref();
        thresholds.limits(config.and_then(|c| c.kv_total_blocks), config.and_then(|c| c.max_num_batched_tokens))
    }

    /// The limits of its ranks by `stored` thresholds, which whoever changes them has to forget.
    #[inline]
    fn stored_limits(&mut self, stored: &BusyThresholds) -> RankLimits {
        match self.limits {
            Some(limits) => limits,
            None => *self.limits.insert(self.limits(stored)),
        }
    }

    /// Where the state of `rank` is, made where there is none, and whether it was there; `None` for an undeclared rank.
    #[inline]
    fn place_of(&mut self, rank: u32) -> Option<(usize, bool)> {
        if self.config.is_some_and(|c| !c.declares(rank)) {
            return None;
        }
        // Declared ranks are in a row, and all of them report: the first guess is right almost always.
        let guess = rank.wrapping_sub(self.config.map_or(0, |c| c.dp_start)) as usize;
        if self.ranks.get(guess).is_some_and(|(r, _)| *r == rank) {
            return Some((guess, true));
        }
        let at = self.ranks.partition_point(|(r, _)| *r < rank);
        let known = self.ranks.get(at).is_some_and(|(r, _)| *r == rank);
        if !known {
            self.ranks.insert(at, (rank, RankLoad::default()));
        }
        Some((at, known))
    }

    /// Whether every declared rank is busy, and what alone would change that. The ranks' `fired` must be up to date.
    #[inline]
    fn evaluate(&self) -> (bool, Checks) {
        let declared = self.config.map_or(self.ranks.len(), |c| c.dp_size as usize);
        if declared == 0 || self.ranks.len() != declared {
            return (false, Checks::NONE);
        }
        let mut freed_by = Checks::NONE;
        for (_, load) in &self.ranks {
            if load.fired.is_empty() {
                return (false, Checks::NONE);
            }
            freed_by |= load.fired.if_single();
        }
        (true, freed_by)
    }
}

/// Which signals a monitor ever met, for the warning that a check can never fire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalsSeen {
    /// `active_decode_blocks` above 0.
    pub active_decode_blocks: bool,
    /// `kv_used_blocks` above 0.
    pub kv_used_blocks: bool,
    /// `active_prefill_tokens` above 0.
    pub active_prefill_tokens: bool,
    /// Used blocks above 0 of a rank whose `kv_total_blocks` is known.
    pub blocks_with_total: bool,
}

/// What a threshold update changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PostOutcome {
    /// Whether any stored value changed.
    pub changed: bool,
    /// Version of the stored thresholds, one more with each update that changed one.
    pub version: u32,
    /// The stored thresholds.
    pub thresholds: BusyThresholds,
}

/// The monitor of one frontend.
///
/// It follows the workers that are routable, takes in reports, and keeps the set of busy workers; the caller passes changes
/// of that set on to the router (`take_changes`). A report costs a look-up and one look at each rank
/// of its worker.
#[derive(Clone, Debug, Default)]
pub struct WorkerMonitor {
    thresholds: BusyThresholds,
    version: u32,
    decode_version: u32,
    evaluated: BusyThresholds,
    noticed_version: u32,
    workers: WorkerMap<WorkerState>,
    busy: BusySet,
    /// Workers that were configured or observed since the last configuration that left them out.
    met: WorkerMap<()>,
    signals: SignalsSeen,
}

impl WorkerMonitor {
    /// A monitor with these thresholds and no worker.
    ///
    /// # Errors
    /// A threshold out of its range.
    pub fn new(thresholds: BusyThresholds) -> Result<Self, ThresholdError> {
        ThresholdUpdate::all_of(thresholds).validate()?;
        Ok(Self { thresholds, evaluated: thresholds, ..Self::default() })
    }

    /// The workers are now exactly `routable` (ascending). One that left loses everything; one that comes starts clean.
    pub(crate) fn set_workers(&mut self, routable: &[WorkerId]) {
        let busy = &mut self.busy;
        self.workers.retain(|id, state| {
            // A configuration that came before its worker waits for it; one whose worker left is gone with it.
            let leaves = state.known && routable.binary_search(&id).is_err();
            if leaves {
                busy.remove(&state.verdict);
            }
            !leaves
        });
        for &id in routable {
            self.workers.entry(id, WorkerState::default).known = true;
        }
    }

    /// Takes in the complete map of runtime configurations, ascending by worker. Returns whether changed thresholds were
    /// noticed, and the workers the map left out: they lose everything, and the router is to drop their marks.
    ///
    /// That they are busy no more counts as no change of the set (it brings no publication, which would end the leases of
    /// others); so the release has it.
    pub(crate) fn runtime_config(&mut self, configs: &[(WorkerId, RuntimeConfig)]) -> (bool, Vec<WorkerId>) {
        let listed = |id: WorkerId| configs.binary_search_by_key(&id, |(w, _)| *w).is_ok();
        let removed: Vec<WorkerId> = self.met.ids().iter().copied().filter(|&id| !listed(id)).collect();
        self.met.retain(|id, ()| listed(id));
        for &id in &removed {
            self.reset(id);
        }
        let (thresholds, version) = (self.thresholds, self.decode_version);
        for &(id, config) in configs {
            self.met.entry(id, || ());
            let state = self.workers.entry(id, WorkerState::default);
            state.config = Some(config);
            state.limits = None;
            state.ranks.retain(|(rank, _)| config.declares(*rank));
            let line = state.limits(&thresholds).decode_line;
            state.ranks.iter_mut().for_each(|(_, load)| load.rebuild_latch(line, version));
        }
        let noticed = self.take_notice();
        self.evaluate_all();
        (noticed, removed)
    }

    /// Forgets everything about a worker but whether it is routable.
    fn reset(&mut self, id: WorkerId) {
        let Some(state) = self.workers.get_mut(id) else { return };
        self.busy.remove(&state.verdict);
        *state = WorkerState { known: state.known, ..WorkerState::default() };
        if !state.known {
            self.workers.retain(|other, _| other != id);
        }
    }

    /// Takes in one report; `false` where it is dropped because the worker is unknown or the rank undeclared.
    #[inline]
    pub(crate) fn observe(&mut self, now: SimTime, worker: WorkerId, rank: u32, report: &Observation) -> bool {
        let (thresholds, version) = (self.thresholds, self.decode_version);
        let Some(state) = self.workers.get_mut(worker).filter(|state| state.known) else { return false };
        let limits = state.stored_limits(&thresholds);
        let has_total = state.config.is_some_and(|c| c.kv_total_blocks.is_some_and(|total| total > 0));
        let first = state.ranks.is_empty();
        let Some((at, known)) = state.place_of(rank) else { return false };
        let load = &mut state.ranks[at].1;
        load.observe(now, report, limits.decode_line, version);
        let fired = load.evaluate(&limits);
        self.signals.note(report, has_total);
        // The verdict follows from what fires on the ranks, and from nothing else.
        if std::mem::replace(&mut load.fired, fired) != fired || !known {
            let verdict = state.evaluate();
            self.busy.settle(worker, &mut state.verdict, verdict);
        }
        if first {
            self.met.entry(worker, || ());
        }
        true
    }

    /// Whether thresholds changed since the last evaluation; if so, evaluates every worker under them.
    #[inline]
    pub(crate) fn notice(&mut self) -> bool {
        if self.noticed_version == self.version {
            return false;
        }
        let noticed = self.take_notice();
        if noticed {
            self.evaluate_all();
        }
        noticed
    }

    /// Marks the stored thresholds as noticed; `false` where they are those of the last evaluation.
    fn take_notice(&mut self) -> bool {
        let changed = self.evaluated != self.thresholds;
        self.noticed_version = self.version;
        self.evaluated = self.thresholds;
        changed
    }

    fn evaluate_all(&mut self) {
        let thresholds = self.thresholds;
        for (id, state) in self.workers.iter_mut() {
            let limits = state.limits(&thresholds);
            for (_, load) in &mut state.ranks {
                load.fired = load.evaluate(&limits);
            }
            let verdict = state.evaluate();
            self.busy.settle(id, &mut state.verdict, verdict);
        }
    }

    /// Whether the busy set differs from the one last taken.
    #[inline]
    pub(crate) fn set_changed(&mut self) -> bool {
        self.busy.changed()
    }

    /// Hands each worker whose busy flag changed since the last call to `publish`, and counts the set as published.
    pub(crate) fn take_changes(&mut self, mut publish: impl FnMut(WorkerId, bool)) {
        let workers = &mut self.workers;
        self.busy.take_changes(|id| {
            let state = workers.get_mut(id).expect("workers leave between events only");
            if state.verdict.publish() {
                publish(id, state.verdict.busy);
            }
        });
    }

    /// Stores an update; it changes no verdict by itself.
    ///
    /// # Errors
    /// A value out of its range; then nothing is stored.
    pub fn post(&mut self, update: ThresholdUpdate) -> Result<PostOutcome, ThresholdError> {
        update.validate()?;
        let merged = self.thresholds.merged(update);
        let changed = merged != self.thresholds;
        if merged.active_decode_blocks_threshold != self.thresholds.active_decode_blocks_threshold {
            self.decode_version += 1;
        }
        self.version += u32::from(changed);
        self.thresholds = merged;
        self.workers.iter_mut().for_each(|(_, state)| state.limits = None);
        Ok(PostOutcome { changed, version: self.version, thresholds: merged })
    }

    /// The stored thresholds.
    pub fn thresholds(&self) -> BusyThresholds {
        self.thresholds
    }

    /// The thresholds of the last evaluation.
    pub fn evaluated_thresholds(&self) -> BusyThresholds {
        self.evaluated
    }

    /// Version of the stored thresholds: 0 at the start, one more with each update that changed a value.
    pub fn thresholds_version(&self) -> u32 {
        self.version
    }

    /// The version last noticed by an event; behind [`Self::thresholds_version`] while an update waits for one.
    pub fn noticed_version(&self) -> u32 {
        self.noticed_version
    }

    /// Version of the decode threshold alone, the one a [`Latch`](super::rank_load::Latch) remembers.
    pub fn decode_version(&self) -> u32 {
        self.decode_version
    }

    /// Whether the state of `worker` rests on the stored thresholds alone: they were noticed, and each of its ranks was
    /// observed since the decode threshold last changed, has no latch, or was rebuilt. An unknown worker has no state.
    pub fn is_current(&self, worker: WorkerId) -> bool {
        self.noticed_version == self.version && self.outdated_ranks(worker).next().is_none()
    }

    /// The ranks of `worker` whose latch was last decided under an older decode threshold, ascending.
    pub fn outdated_ranks(&self, worker: WorkerId) -> impl Iterator<Item = u32> {
        let version = self.decode_version;
        let ranks = self.workers.get(worker).map(|state| state.ranks.as_slice()).unwrap_or_default();
        ranks.iter().filter(move |(_, load)| load.latch.is_some_and(|l| l.version != version)).map(|(rank, _)| *rank)
    }

    /// The workers it follows, ascending: the routable ones.
    pub fn workers(&self) -> impl Iterator<Item = (WorkerId, &WorkerState)> {
        self.workers.iter().filter(|(_, state)| state.known)
    }

    /// What it holds of `worker`, if it follows it.
    #[inline]
    pub fn worker(&self, worker: WorkerId) -> Option<&WorkerState> {
        self.workers.get(worker).filter(|state| state.known)
    }

    /// The busy workers, ascending.
    pub fn busy_workers(&self) -> impl Iterator<Item = WorkerId> {
        self.workers.iter().filter(|(_, state)| state.verdict.busy).map(|(id, _)| id)
    }

    /// How many workers are busy.
    pub fn busy_count(&self) -> usize {
        self.busy.len()
    }

    /// How many busy workers would not be busy, were `check` alone unset.
    pub(crate) fn freed_count(&self, check: Check) -> u32 {
        self.busy.freed_count(check)
    }

    /// Which signals it ever met.
    pub fn signals_seen(&self) -> SignalsSeen {
        self.signals
    }

    /// Appends every check that fires on `worker`, rank by rank.
    pub fn firing(&self, worker: WorkerId, out: &mut Vec<FiringCheck>) {
        let Some(state) = self.workers.get(worker) else { return };
        let limits = state.limits(&self.evaluated);
        for (rank, load) in &state.ranks {
            firing::on_rank(worker, *rank, load, &limits, out);
        }
    }
}

impl SignalsSeen {
    #[inline]
    fn note(&mut self, report: &Observation, has_total: bool) {
        let positive = |value: Option<u64>| value.is_some_and(|v| v > 0);
        let (active, kv) = (positive(report.active_decode_blocks), positive(report.kv_used_blocks));
        self.active_decode_blocks |= active;
        self.kv_used_blocks |= kv;
        self.active_prefill_tokens |= positive(report.active_prefill_tokens);
        self.blocks_with_total |= has_total && (active || kv);
    }
}
