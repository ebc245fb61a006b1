//! The whole control code of one frontend behind one interface.

use super::ids::{WorkerId, ascending};
use super::migration::DispatchFailure;
use super::monitor::{PostOutcome, RuntimeConfig, SchedulerLoad, WorkerLoad, WorkerMonitor};
use super::monitored_router::{LoadOutcome, MonitoredRouter, sorted_configs};
use super::picker::{Choose, PickerMode, Pickers};
use super::refusal::{Refusal, RefusalLayer};
use super::router::{PushRouter, RouterTimes};
use super::status::RefusalReason;
use super::thresholds::{BusyThresholds, ThresholdError, ThresholdUpdate};
use super::tracking::{BookingError, BookingId, RouterTracking, TrackingOptions};
use crate::units::SimTime;

/// What a frontend is started with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrontendSettings {
    /// How a worker is picked.
    pub mode: PickerMode,
    /// Thresholds at the start.
    pub thresholds: BusyThresholds,
    /// Lease and inhibition.
    pub times: RouterTimes,
    /// What the router's own tracking counts; used in [`PickerMode::Kv`] only.
    pub tracking: TrackingOptions,
}

/// What a request asks of the router.
#[derive(Clone, Copy, Debug, Default)]
pub struct RouteRequest<'a> {
    /// Prompt tokens.
    pub isl: u64,
    /// The exact worker asked for.
    pub pinned: Option<WorkerId>,
    /// Workers that failed this request already; kv mode passes them over.
    pub tried: &'a [WorkerId],
    /// How the last of them failed, which decides the answer where no other is left.
    pub last_failure: Option<DispatchFailure>,
}

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The worker.
    pub worker: WorkerId,
    /// The rank, which only kv mode names.
    pub rank: Option<u32>,
}

/// What a change of the tracking published, and what that did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Publication {
    /// The load handed to the monitor, if any.
    pub load: Option<SchedulerLoad>,
    /// Its effect.
    pub outcome: LoadOutcome,
}

/// The control code of one frontend: monitor and router, pickers and, in kv mode, the router's own tracking, coupled
/// as in the release. Frontends are independent of each other.
///
/// Every call that takes `now` first does what was due by then; `now` never decreases. Of one request the order is:
/// [`Self::route`]; in kv mode [`Self::book`]; dispatch; after a refusal by the worker [`Self::worker_rejected`]; in the
/// end [`Self::end`] (kv mode) and [`Self::finish`].
#[derive(Clone, Debug)]
pub struct FrontendControl {
    mode: PickerMode,
    shedding: MonitoredRouter,
    pickers: Pickers,
    tracking: Option<RouterTracking>,
    /// What discovered workers declared last, ascending. A reported-down worker keeps its entry: its bookings live on.
    declared: Vec<(WorkerId, RuntimeConfig)>,
}

impl FrontendControl {
    /// A frontend that knows no worker yet.
    ///
    /// # Errors
    /// A threshold out of its range.
    pub fn new(settings: FrontendSettings) -> Result<Self, ThresholdError> {
        Ok(Self {
            mode: settings.mode,
            shedding: MonitoredRouter::new(settings.thresholds, settings.times)?,
            pickers: Pickers::default(),
            tracking: (settings.mode == PickerMode::Kv).then(|| RouterTracking::new(settings.tracking)),
            declared: Vec::new(),
        })
    }

    /// Does what is due at `now` without any event.
    #[inline]
    pub fn advance(&mut self, now: SimTime) {
        self.shedding.advance(now);
    }

    /// Discovery changed: the registered workers are now exactly these. Reported-down ones among them return.
    pub fn discover(&mut self, now: SimTime, workers: &[WorkerId]) {
        let workers = ascending(workers);
        // What was declared ahead of discovery waits for it; a worker that left takes its declaration along.
        let router = self.shedding.router();
        self.declared.retain(|(id, _)| workers.binary_search(id).is_ok() || !router.is_discovered(*id));
        self.shedding.discover(now, &workers);
        self.refresh_ranks();
    }

    /// `worker` was found unreachable: it is not routable until the next reconciliation or discovery change.
    pub fn report_down(&mut self, now: SimTime, worker: WorkerId) {
        self.shedding.report_down(now, worker);
    }

    /// When the next reconciliation is due that brings a worker back; calls at or after it see the worker back.
    pub fn next_reconcile(&self) -> Option<SimTime> {
        self.router().next_reconcile()
    }

    /// Brings reported-down workers back if that is due at `now`; whether any came back.
    pub fn reconcile(&mut self, now: SimTime) -> bool {
        let due = self.next_reconcile().is_some_and(|due| due <= now);
        self.advance(now);
        due
    }

    /// The complete map of runtime configurations.
    pub fn runtime_config(&mut self, now: SimTime, configs: &[(WorkerId, RuntimeConfig)]) -> LoadOutcome {
        let outcome = self.shedding.runtime_config(now, configs);
        self.declared = sorted_configs(configs);
        self.refresh_ranks();
        outcome
    }

    fn refresh_ranks(&mut self) {
        let Some(tracking) = &mut self.tracking else { return };
        let router = self.shedding.router();
        let discovered = self.declared.iter().filter(|(id, _)| router.is_discovered(*id));
        tracking.set_ranks(discovered.flat_map(|(id, config)| config.ranks().map(|rank| (*id, rank))));
        tracking.set_candidates(router.eligible());
    }

    /// Does what is due at `now` and tells the tracking which workers are eligible.
    #[inline]
    fn prepare(&mut self, now: SimTime) {
        self.advance(now);
        let Some(tracking) = &mut self.tracking else { return };
        let router = self.shedding.router_mut();
        if !router.take_changes(|worker, eligible| tracking.set_candidate(worker, eligible)) {
            tracking.set_candidates(router.eligible());
        }
        tracking.settle();
    }

    /// A worker load event arrives.
    #[inline]
    pub fn worker_load(&mut self, now: SimTime, load: &WorkerLoad) -> LoadOutcome {
        self.shedding.worker_load(now, load)
    }

    /// A batch of scheduler loads arrives that is not this frontend's own tracking (which publishes by itself).
    #[inline]
    pub fn scheduler_load(&mut self, now: SimTime, loads: &[SchedulerLoad]) -> LoadOutcome {
        self.shedding.scheduler_load(now, loads)
    }

    /// `POST /busy_threshold`: stored; the next event that evaluates takes notice.
    ///
    /// # Errors
    /// A value out of its range; then nothing is stored.
    pub fn post_busy_threshold(&mut self, update: ThresholdUpdate) -> Result<PostOutcome, ThresholdError> {
        self.shedding.post_busy_threshold(update)
    }

    /// Picks the destination of a request that arrives at `now` and counts it as in flight there.
    ///
    /// # Errors
    /// The refusal, if there is no worker for it.
    #[inline]
    pub fn route(&mut self, now: SimTime, request: &RouteRequest<'_>, choose: &mut impl Choose) -> Result<Destination, Refusal> {
        self.prepare(now);
        let destination = self.decide(now, None, request, choose)?;
        if request.pinned.is_none() {
            self.pickers.advance_cursor();
        }
        self.pickers.start(destination.worker);
        Ok(destination)
    }

    /// What [`Self::route`] would answer at `now`, changing nothing. Hand in a clone of the chooser: its draws count.
    ///
    /// # Errors
    /// The refusal.
    pub fn probe(&mut self, now: SimTime, request: &RouteRequest<'_>, choose: &mut impl Choose) -> Result<Destination, Refusal> {
        self.prepare(now);
        self.decide(now, None, request, choose)
    }

    /// What [`Self::route`] would answer if `shadow` decided which workers are excluded, all else (cursor, requests in
    /// flight, tracked loads) being as it is.
    ///
    /// # Errors
    /// The refusal.
    pub fn probe_with(
        &self,
        now: SimTime,
        shadow: &mut MonitoredRouter,
        request: &RouteRequest<'_>,
        choose: &mut impl Choose,
    ) -> Result<Destination, Refusal> {
        shadow.advance(now);
        self.decide(now, Some(shadow), request, choose)
    }

    /// The decision by the own exclusions, after [`Self::prepare`], or by those of a shadow.
    #[inline]
    fn decide(
        &self,
        now: SimTime,
        shadow: Option<&MonitoredRouter>,
        request: &RouteRequest<'_>,
        choose: &mut impl Choose,
    ) -> Result<Destination, Refusal> {
        let shedding = shadow.unwrap_or(&self.shedding);
        if let Some(worker) = request.pinned {
            return self.decide_pinned(now, shedding, worker, request.isl, choose);
        }
        if let Some(refusal) = shedding.pool_verdict(now) {
            return Err(refusal);
        }
        let eligible = shedding.router().eligible();
        let Some(tracking) = &self.tracking else {
            let worker = self.pickers.pick(self.mode, eligible, choose).expect("the pool has an eligible worker");
            return Ok(Destination { worker, rank: None });
        };
        let chosen = if shadow.is_none() && request.tried.is_empty() {
            tracking.choose_candidate(request.isl, choose)
        } else {
            tracking.choose(request.isl, eligible, request.tried, choose)
        };
        chosen.map(|(worker, rank)| Destination { worker, rank: Some(rank) }).ok_or_else(|| {
            let reason = request.last_failure.map_or(RefusalReason::Unavailable, DispatchFailure::reason);
            Refusal { reason, ..Refusal::unavailable(now, RefusalLayer::Untried) }
        })
    }

    fn decide_pinned(
        &self,
        now: SimTime,
        shedding: &MonitoredRouter,
        worker: WorkerId,
        isl: u64,
        choose: &mut impl Choose,
    ) -> Result<Destination, Refusal> {
        if let Some(refusal) = shedding.pinned_verdict(now, worker) {
            return Err(refusal);
        }
        let Some(tracking) = &self.tracking else { return Ok(Destination { worker, rank: None }) };
        match tracking.choose(isl, &[worker], &[], choose) {
            Some((worker, rank)) => Ok(Destination { worker, rank: Some(rank) }),
            None => Err(Refusal::unavailable(now, RefusalLayer::Pinned(worker))),
        }
    }

    /// `worker` answered "at capacity" to a request of this frontend: its lease starts. Returns the refusal.
    pub fn worker_rejected(&mut self, now: SimTime, worker: WorkerId) -> Refusal {
        self.shedding.worker_rejected(now, worker);
        Refusal::at_capacity(now, worker)
    }

    /// The answer of a routed request is over, however it ended: it is not in flight at `worker` any more.
    ///
    /// # Panics
    /// If no request was in flight there.
    #[inline]
    pub fn finish(&mut self, worker: WorkerId) {
        self.pickers.finish(worker);
    }

    /// Books a request of `isl` tokens on the rank it was routed to, before it is dispatched. Outside kv mode nothing is
    /// tracked and the call does nothing.
    ///
    /// # Errors
    /// An id in use, a rank that is not declared, a prompt too long to count.
    #[inline]
    pub fn book(
        &mut self,
        now: SimTime,
        id: BookingId,
        worker: WorkerId,
        rank: u32,
        isl: u64,
    ) -> Result<Publication, BookingError> {
        let Some(tracking) = &mut self.tracking else { return Ok(Publication::default()) };
        let load = tracking.book(id, worker, rank, isl)?;
        Ok(self.publish(now, Some(load)))
    }

    /// The first output token of a booked request arrived. Growth by that token is said by [`Self::output`], or by
    /// letting the request join its rank's steps ([`RouterTracking::set_in_step`]).
    #[inline]
    pub fn first_token(&mut self, now: SimTime, id: BookingId) -> Publication {
        let load = self.tracking.as_mut().and_then(|tracking| tracking.first_token(id));
        self.publish(now, load)
    }

    /// A booked request has generated `generated` tokens so far. Only where output blocks are tracked it need be said, at
    /// the latest before the next choice and the next publication of its rank; it publishes nothing.
    #[inline]
    pub fn output(&mut self, id: BookingId, generated: u64) {
        if let Some(tracking) = &mut self.tracking {
            tracking.output(id, generated);
        }
    }

    /// A booked request is over: completed, cancelled, refused or failed.
    #[inline]
    pub fn end(&mut self, now: SimTime, id: BookingId) -> Publication {
        let load = self.tracking.as_mut().and_then(|tracking| tracking.end(id));
        self.publish(now, load)
    }

    #[inline]
    fn publish(&mut self, now: SimTime, load: Option<SchedulerLoad>) -> Publication {
        let outcome = load.map(|load| self.shedding.scheduler_load(now, &[load])).unwrap_or_default();
        Publication { load, outcome }
    }

    /// Monitor and router together, to clone a shadow of.
    pub fn shedding(&self) -> &MonitoredRouter {
        &self.shedding
    }

    /// The monitor.
    pub fn monitor(&self) -> &WorkerMonitor {
        self.shedding.monitor()
    }

    /// The router, as of the last call that took `now`.
    pub fn router(&self) -> &PushRouter {
        self.shedding.router()
    }

    /// Requests in flight by worker.
    pub fn pickers(&self) -> &Pickers {
        &self.pickers
    }

    /// The tracking; `None` outside kv mode.
    pub fn tracking(&self) -> Option<&RouterTracking> {
        self.tracking.as_ref()
    }

    /// The tracking, for output that grows in step. Loads changed here are published by nothing.
    pub fn tracking_mut(&mut self) -> Option<&mut RouterTracking> {
        self.tracking.as_mut()
    }

    /// How it picks.
    pub fn mode(&self) -> PickerMode {
        self.mode
    }
}

#[cfg(test)]
#[path = "frontend_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "coupling_tests.rs"]
mod coupling;
