//! A monitor and a router coupled as the release couples them: what is published when, and what it clears.

use super::checks::{Check, Checks};
use super::firing::FiringCheck;
use super::ids::WorkerId;
use super::monitor::{PostOutcome, RuntimeConfig, SchedulerLoad, WorkerLoad, WorkerMonitor};
use super::rank_load::Observation;
use super::refusal::{Refusal, RefusalLayer};
use super::router::{PushRouter, RouterTimes};
use super::status::RefusalReason;
use super::thresholds::{BusyThresholds, ThresholdError, ThresholdUpdate};
use crate::units::SimTime;

/// What a load event or runtime configuration did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadOutcome {
    /// At least one report was taken in.
    pub accepted: bool,
    /// The event noticed that thresholds changed, and every worker was evaluated anew.
    pub noticed: bool,
    /// The monitor's busy set changed.
    pub set_changed: bool,
    /// The set went to the router, which cleared every lease.
    pub published: bool,
}

/// The half of a frontend that decides which workers are excluded.
///
/// A clone of it, fed the same events, is its shadow: with other thresholds posted it says what these would have done.
/// Every call takes `now` and first does what was due by then (leases that end, reported-down workers that return).
#[derive(Clone, Debug)]
pub struct MonitoredRouter {
    monitor: WorkerMonitor,
    router: PushRouter,
}

impl MonitoredRouter {
    /// One that knows no worker.
    ///
    /// # Errors
    /// A threshold out of its range.
    pub fn new(thresholds: BusyThresholds, times: RouterTimes) -> Result<Self, ThresholdError> {
        Ok(Self { monitor: WorkerMonitor::new(thresholds)?, router: PushRouter::new(times) })
    }

    /// The monitor.
    pub fn monitor(&self) -> &WorkerMonitor {
        &self.monitor
    }

    /// The router as of the last call that took `now`.
    pub fn router(&self) -> &PushRouter {
        &self.router
    }

    /// The router, to take its changes from.
    pub(crate) fn router_mut(&mut self) -> &mut PushRouter {
        &mut self.router
    }

    /// Does what is due at `now`; afterwards [`Self::router`] shows this instant.
    #[inline]
    pub fn advance(&mut self, now: SimTime) {
        self.router.expire(now);
        if self.router.next_reconcile().is_some_and(|due| due <= now) {
            self.reconcile();
        }
    }

    /// Replaces the registered workers; reported-down ones among them return at once.
    pub fn discover(&mut self, now: SimTime, workers: &[WorkerId]) {
        self.advance(now);
        self.router.discover(now, workers);
        self.follow_membership();
    }

    /// The frontend found `worker` unreachable: it leaves the routable ones until the next reconciliation.
    pub fn report_down(&mut self, now: SimTime, worker: WorkerId) {
        self.advance(now);
        if self.router.report_down(now, worker) {
            self.follow_membership();
        }
    }

    fn reconcile(&mut self) {
        if self.router.reconcile() {
            self.follow_membership();
        }
    }

    fn follow_membership(&mut self) {
        let routable: Vec<WorkerId> = self.router.routable().collect();
        self.monitor.set_workers(&routable);
    }

    /// Takes in the complete map of runtime configurations (any order; of a worker named twice the last counts).
    pub fn runtime_config(&mut self, now: SimTime, configs: &[(WorkerId, RuntimeConfig)]) -> LoadOutcome {
        self.advance(now);
        let configs = sorted_configs(configs);
        let busy_before = self.monitor.busy_count();
        let (noticed, removed) = self.monitor.runtime_config(&configs);
        if !removed.is_empty() {
            self.router.drop_marks(&removed);
        }
        // Unlike a load event, a configuration that changes no verdict leaves leases alone.
        let published = self.monitor.set_changed();
        if published {
            self.publish();
        }
        let set_changed = published || self.monitor.busy_count() != busy_before;
        LoadOutcome { accepted: true, noticed, set_changed, published }
    }

    /// Takes in a worker load event. One of an unknown worker or an undeclared rank is dropped and does nothing.
    #[inline]
    pub fn worker_load(&mut self, now: SimTime, load: &WorkerLoad) -> LoadOutcome {
        self.advance(now);
        if !self.monitor.observe(now, load.worker, load.rank, &load.report) {
            return LoadOutcome::default();
        }
        self.after_load(true)
    }

    /// Takes in a batch of the router's own tracking. Even if every entry is dropped, it notices changed thresholds and
    /// clears leases.
    #[inline]
    pub fn scheduler_load(&mut self, now: SimTime, loads: &[SchedulerLoad]) -> LoadOutcome {
        self.advance(now);
        let mut accepted = false;
        for load in loads {
            let report = Observation {
                active_decode_blocks: Some(load.active_decode_blocks),
                active_prefill_tokens: Some(load.active_prefill_tokens),
                kv_used_blocks: None,
            };
            accepted |= self.monitor.observe(now, load.worker, load.rank, &report);
        }
        self.after_load(accepted)
    }

    #[inline]
    fn after_load(&mut self, accepted: bool) -> LoadOutcome {
        let noticed = self.monitor.notice();
        let set_changed = self.monitor.set_changed();
        let published = set_changed || !self.router.leases().is_empty();
        if published {
            self.publish();
        }
        LoadOutcome { accepted, noticed, set_changed, published }
    }

    fn publish(&mut self) {
        let router = &mut self.router;
        self.monitor.take_changes(|worker, busy| router.set_busy(worker, busy));
        router.clear_leases();
    }

    /// `POST /busy_threshold`: stored only.
    ///
    /// # Errors
    /// A value out of its range; then nothing is stored.
    pub fn post_busy_threshold(&mut self, update: ThresholdUpdate) -> Result<PostOutcome, ThresholdError> {
        self.monitor.post(update)
    }

    /// `worker` answered "at capacity": it is under a lease from now on.
    pub fn worker_rejected(&mut self, now: SimTime, worker: WorkerId) {
        self.advance(now);
        self.router.lease(now, worker);
    }

    /// Why no worker can be picked at `now`, or `None` where one can. Costs no look at the single workers.
    pub fn pool_refusal(&mut self, now: SimTime) -> Option<Refusal> {
        self.advance(now);
        self.pool_verdict(now)
    }

    /// [`Self::pool_refusal`] for what [`Self::advance`] has brought up to date.
    #[inline]
    pub(crate) fn pool_verdict(&self, now: SimTime) -> Option<Refusal> {
        if !self.router.eligible().is_empty() {
            return None;
        }
        if self.router.routable_count() == 0 {
            return Some(Refusal::unavailable(now, RefusalLayer::Pool));
        }
        Some(self.busy_pool(now))
    }

    /// Every routable worker is excluded: what alone, unset, would have left one eligible.
    fn busy_pool(&self, now: SimTime) -> Refusal {
        let mut freed = Check::OF_MONITOR.map(|check| self.monitor.freed_count(check));
        let (mut by_lease, mut leased_since) = (false, None);
        for lease in self.router.leases().iter().filter(|lease| self.router.is_routable(lease.worker)) {
            leased_since = Some(leased_since.map_or(lease.since, |since: SimTime| since.min(lease.since)));
            match self.monitor.worker(lease.worker) {
                // Busy and under a lease: no single check would have freed it.
                Some(state) if state.is_busy() => {
                    for check in Check::OF_MONITOR {
                        freed[check as usize] -= u32::from(state.freed_by().contains(check));
                    }
                }
                _ => by_lease = true,
            }
        }
        let mut freed_by = Checks::when(Check::Lease, by_lease);
        for check in Check::OF_MONITOR {
            freed_by |= Checks::when(check, freed[check as usize] > 0);
        }
        Refusal { at: now, reason: RefusalReason::AllWorkersBusy, layer: RefusalLayer::Pool, freed_by, leased_since }
    }

    /// Why the exact worker asked for cannot have a request at `now`, or `None` where it can.
    pub fn pinned_refusal(&mut self, now: SimTime, worker: WorkerId) -> Option<Refusal> {
        self.advance(now);
        self.pinned_verdict(now, worker)
    }

    /// [`Self::pinned_refusal`] for what [`Self::advance`] has brought up to date.
    pub(crate) fn pinned_verdict(&self, now: SimTime, worker: WorkerId) -> Option<Refusal> {
        let layer = RefusalLayer::Pinned(worker);
        if self.router.is_eligible(worker) {
            return None;
        }
        if !self.router.is_routable(worker) {
            return Some(Refusal::unavailable(now, layer));
        }
        let lease = self.router.lease_of(worker);
        let busy = self.monitor.worker(worker).filter(|state| state.is_busy());
        let freed_by = match (busy, lease) {
            (Some(state), None) => state.freed_by(),
            (None, Some(_)) => Check::Lease.into(),
            _ => Checks::NONE,
        };
        let leased_since = lease.map(|l| l.since);
        Some(Refusal { at: now, reason: RefusalReason::PinnedWorkerBusy, layer, freed_by, leased_since })
    }

    /// One measured value that stands for a refusal by this router, of its first decisive check on the lowest worker it
    /// would have freed; without one, the first value over its limit. `None` where only a lease, or nothing, was in the way.
    /// Ask before the next event.
    pub fn witness(&self, refusal: &Refusal) -> Option<FiringCheck> {
        let check = refusal.freed_by.iter().next();
        let mut firing = Vec::new();
        match refusal.layer {
            RefusalLayer::Pinned(worker) => self.monitor.firing(worker, &mut firing),
            RefusalLayer::Pool => {
                for worker in self.router.routable() {
                    let Some(state) = self.monitor.worker(worker).filter(|s| s.is_busy()) else { continue };
                    let counts = check.is_none_or(|c| state.freed_by().contains(c) && self.router.lease_of(worker).is_none());
                    if counts {
                        self.monitor.firing(worker, &mut firing);
                        break;
                    }
                }
            }
            RefusalLayer::WorkerGate(_) | RefusalLayer::Untried => {}
        }
        let decisive = firing.iter().find(|f| check == Some(f.check)).copied();
        decisive.or_else(|| firing.first().copied())
    }

    /// Everything that keeps `worker` excluded, rank by rank; the lease aside, which [`PushRouter::lease_of`] tells.
    pub fn firing(&self, worker: WorkerId) -> Vec<FiringCheck> {
        let mut firing = Vec::new();
        self.monitor.firing(worker, &mut firing);
        firing
    }
}

/// The configurations ascending by worker, the last one of each.
pub(crate) fn sorted_configs(configs: &[(WorkerId, RuntimeConfig)]) -> Vec<(WorkerId, RuntimeConfig)> {
    let mut sorted = configs.to_vec();
    sorted.sort_by_key(|(id, _)| *id);
    sorted.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            *kept = *next;
        }
        same
    });
    sorted
}
