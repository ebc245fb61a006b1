//! Each decision held against two references that know everything at once.
//!
//! *Fresh* runs the release's own rules, without leases, on the true fleet and on loads without delay, debounce or loss: the
//! tracked loads of all frontends together, and every rank's used blocks as of the step end that changed them. Frontends with
//! the same thresholds share one; they part when a post reaches only some of them. *Engine* asks the workers themselves.

use super::{Engine, Event, Simulation, kind, lane};
use crate::cluster::batching::StepGroup;
use crate::cluster::frontend::{Routing, same_decision};
use crate::cluster::observer::{Judgement, Observer, Standing};
use crate::cluster::request::Stage;
use crate::cluster::worker::Worker;
use crate::control::{
    BookingId, FrontendSettings, LoadOutcome, MonitoredRouter, Observation, RouterTimes, RuntimeConfig, SchedulerLoad,
    ThresholdUpdate, WorkerId, WorkerLoad,
};
use crate::units::Span;

/// What decisions are held against.
#[derive(Clone, Debug)]
pub(super) struct Quality {
    fresh: Vec<MonitoredRouter>,
    /// Index of each frontend's reference.
    of: Vec<usize>,
    workers: usize,
    /// What was last told of each worker, frontend by frontend.
    standing: Vec<Standing>,
    /// The workers that were under a lease at each frontend when it was last looked at.
    leased: Vec<Vec<WorkerId>>,
}

impl Quality {
    /// References for `frontends` frontends that know no worker yet.
    pub fn new(settings: FrontendSettings, frontends: u32, workers: usize) -> Self {
        // No lease, and nobody is unreachable for longer than they are.
        let times = RouterTimes { overload_lease: Span::ZERO, inhibited_duration: Span::ZERO };
        let fresh = MonitoredRouter::new(settings.thresholds, times).expect("a resolved scenario has valid thresholds");
        Self {
            fresh: vec![fresh],
            of: vec![0; frontends as usize],
            workers,
            standing: vec![Standing::default(); frontends as usize * workers],
            leased: vec![Vec::new(); frontends as usize],
        }
    }

    /// The reference of a frontend.
    pub fn fresh(&mut self, frontend: u32) -> &mut MonitoredRouter {
        &mut self.fresh[self.of[frontend as usize]]
    }
}

impl<G: StepGroup, O: Observer> Simulation<'_, G, O> {
    /// A frontend decided about an attempt that has not reached its worker yet.
    pub(super) fn judge(&mut self, index: u32, routing: &Routing) {
        let attempt = &self.attempts[index];
        let Some(quality) = &mut self.quality else { return };
        let Some(reference) = routing.reference else { return };
        let picked = routing.routed.ok().map(|destination| destination.worker);
        let fresh = quality.fresh(attempt.frontend).router();
        let judgement = Judgement {
            routed: picked.is_some(),
            fresh_routes: reference.is_ok(),
            unlike_fresh: !same_decision(&routing.routed, &reference),
            picked_is_busy: picked.is_some_and(|worker| fresh.is_busy(worker)),
            engine_has_room: self.has_room(attempt.pinned(), picked, attempt.input_tokens),
        };
        self.observer.judged(self.now, attempt, &judgement);
    }

    /// Whether some worker, or the one asked for, would take a prompt of `tokens` now; the one picked is the likeliest.
    fn has_room(&self, pinned: Option<u32>, picked: Option<WorkerId>, tokens: u32) -> bool {
        let takes = |worker: &Worker| worker.present && worker.has_place() && self.worker_admits(worker, tokens);
        let at = |id: u32| &self.workers[Worker::index(id)];
        match pinned {
            Some(id) => takes(at(id)),
            None => picked.is_some_and(|id| takes(at(id.0))) || self.workers.iter().any(takes),
        }
    }

    fn worker_admits(&self, worker: &Worker, tokens: u32) -> bool {
        self.engines[worker.kind].is_opaque() || (0..worker.ranks).any(|rank| self.rank_admits(worker, rank, Some(tokens)))
    }

    /// Whether a rank of a batching worker has seats and blocks for everything in its waiting line, and for one more prompt of
    /// `more` tokens.
    fn rank_admits(&self, worker: &Worker, rank: u32, more: Option<u32>) -> bool {
        let Engine::Batching { spec, .. } = &self.engines[worker.kind] else { return true };
        let (group, place) = worker.group_of(rank);
        let steps = &self.groups[group as usize].steps;
        let (running, waiting) = steps.occupancy(place);
        if running + waiting + u32::from(more.is_some()) > spec.max_num_seqs {
            return false;
        }
        let prompt = more.map_or(0, |tokens| u64::from(tokens.max(1)).div_ceil(u64::from(spec.block_size)));
        let ahead = if waiting == 0 { 0 } else { steps.waiting_blocks(place) };
        steps.snapshot(self.now, place).used_blocks + ahead + prompt <= spec.total_blocks
    }

    /// An attempt has joined a rank: does it have to wait there?
    pub(super) fn look_for_seat(&mut self, index: u32, stamp: u32) {
        let Some(attempt) = self.attempts.current(index, stamp).filter(|a| a.stage == Stage::Engine) else { return };
        let (Some(id), Some(rank)) = (attempt.worker(), attempt.rank()) else { return };
        let worker = &self.workers[Worker::index(id)];
        if !self.engines[worker.kind].is_opaque() && !self.rank_admits(worker, rank, None) {
            self.observer.engine_waits(self.now, attempt);
        }
    }

    /// The true fleet changed.
    pub(super) fn fresh_fleet(&mut self, configs: &[(WorkerId, RuntimeConfig)]) {
        let Some(quality) = &mut self.quality else { return };
        let ids: Vec<WorkerId> = configs.iter().map(|(id, _)| *id).collect();
        for fresh in &mut quality.fresh {
            fresh.discover(self.now, &ids);
            fresh.runtime_config(self.now, configs);
        }
        (0..self.frontends.len() as u32).for_each(|frontend| self.exclusions_changed(frontend, None));
    }

    /// A step changed the used blocks of a rank, counted over the fleet.
    #[inline]
    pub(super) fn fresh_blocks(&mut self, rank: u32, used: u64) {
        if self.quality.is_some() {
            let (worker, rank) = self.rank_names[rank as usize];
            let report = Observation { kv_used_blocks: Some(used), ..Observation::default() };
            self.fresh_scripted_load(&WorkerLoad { worker: WorkerId(worker), rank, report });
        }
    }

    /// A worker load event that every reference sees.
    pub(super) fn fresh_scripted_load(&mut self, load: &WorkerLoad) {
        self.each_fresh(Some(load.worker), |now, fresh| fresh.worker_load(now, load));
    }

    /// A scripted batch of a router's tracking.
    pub(super) fn fresh_scripted_batch(&mut self, loads: &[SchedulerLoad]) {
        self.each_fresh(None, |now, fresh| fresh.scheduler_load(now, loads));
    }

    /// A frontend published this load of its tracking: the references see the sum over all frontends.
    #[inline]
    pub(super) fn fresh_tracking(&mut self, load: SchedulerLoad) {
        if self.quality.is_none() {
            return;
        }
        let mut sum = load;
        if self.frontends.len() > 1 {
            let (worker, rank) = (load.worker, load.rank);
            let tracked = self.frontends.iter().filter_map(|f| f.control.tracking()?.load_of(worker, rank));
            (sum.active_decode_blocks, sum.active_prefill_tokens) = tracked
                .fold((0, 0), |(blocks, tokens), load| (blocks + load.active_decode_blocks, tokens + load.active_prefill_tokens));
        }
        self.each_fresh(Some(load.worker), |now, fresh| fresh.scheduler_load(now, &[sum]));
    }

    /// Tracked output of an attempt grew, which the frontend itself does not publish.
    #[inline]
    pub(super) fn output_grew(&mut self, index: u32) {
        if self.quality.is_none() {
            return;
        }
        let frontend = self.attempts[index].frontend;
        let tracking = self.frontends[frontend as usize].control.tracking();
        let grown = tracking.and_then(|tracking| {
            let (worker, rank) = tracking.booked_on(BookingId(index))?;
            tracking.load_of(worker, rank)
        });
        if let Some(load) = grown {
            self.fresh_tracking(load);
        }
    }

    fn each_fresh(
        &mut self,
        worker: Option<WorkerId>,
        event: impl Fn(crate::units::SimTime, &mut MonitoredRouter) -> LoadOutcome,
    ) {
        let now = self.now;
        let references = self.quality.as_ref().map_or(0, |quality| quality.fresh.len());
        for reference in 0..references {
            let Some(quality) = &mut self.quality else { return };
            let outcome = event(now, &mut quality.fresh[reference]);
            if !outcome.published {
                continue;
            }
            let one = worker.filter(|_| !outcome.noticed);
            for frontend in 0..self.frontends.len() {
                if self.quality.as_ref().is_some_and(|quality| quality.of[frontend] == reference) {
                    self.exclusions_changed(frontend as u32, one);
                }
            }
        }
    }

    /// Valid thresholds are posted to some frontends: their references store them at once.
    pub(super) fn fresh_post(&mut self, some: Option<&[u32]>, update: ThresholdUpdate) {
        let Some(quality) = &mut self.quality else { return };
        let gets_it = |frontend: usize| some.is_none_or(|some| some.contains(&(frontend as u32)));
        for reference in 0..quality.fresh.len() {
            let members =
                |gets: bool| quality.of.iter().enumerate().filter(move |(f, of)| **of == reference && gets_it(*f) == gets);
            let (some_do, some_do_not) = (members(true).next().is_some(), members(false).next().is_some());
            let stored_at = match (some_do, some_do_not) {
                (false, _) => continue,
                (true, false) => reference,
                (true, true) => {
                    quality.fresh.push(quality.fresh[reference].clone());
                    let parted = quality.fresh.len() - 1;
                    let of = quality.of.iter_mut().enumerate();
                    of.filter(|(f, of)| **of == reference && gets_it(*f)).for_each(|(_, of)| *of = parted);
                    parted
                }
            };
            quality.fresh[stored_at].post_busy_threshold(update).expect("the update was validated");
        }
    }

    /// A frontend's exclusions may have changed: of one worker and of those that were under a lease, or of any.
    #[inline]
    pub(super) fn exclusions_changed(&mut self, frontend: u32, worker: Option<WorkerId>) {
        match worker {
            Some(_) => self.look_at(frontend, worker),
            None => self.look_at_all(frontend),
        }
    }

    /// Tells what changed in how a frontend and its reference stand to one worker, if any, and to those that were under a lease.
    fn look_at(&mut self, frontend: u32, one: Option<WorkerId>) {
        let Some(quality) = &mut self.quality else { return };
        let mut leased = std::mem::take(&mut quality.leased[frontend as usize]);
        for id in one.iter().chain(leased.iter().filter(|id| one != Some(**id))) {
            self.look_at_worker(frontend, Worker::index(id.0));
        }
        leased.clear();
        self.note_leased(frontend, leased);
    }

    /// Tells what changed in how a frontend and its reference stand to each worker.
    fn look_at_all(&mut self, frontend: u32) {
        if self.quality.is_some() {
            (0..self.workers.len()).for_each(|at| self.look_at_worker(frontend, at));
            self.note_leased(frontend, Vec::new());
        }
    }

    /// Writes down who is under a lease at a frontend; `list` is an empty one to write to.
    fn note_leased(&mut self, frontend: u32, mut list: Vec<WorkerId>) {
        list.extend(self.frontends[frontend as usize].control.router().leases().iter().map(|lease| lease.worker));
        if let Some(quality) = &mut self.quality {
            quality.leased[frontend as usize] = list;
        }
    }

    #[inline]
    fn look_at_worker(&mut self, frontend: u32, at: usize) {
        let Some(quality) = &mut self.quality else { return };
        let router = self.frontends[frontend as usize].control.router();
        let fresh = quality.fresh[quality.of[frontend as usize]].router();
        let worker = &self.workers[at];
        let id = WorkerId(worker.id);
        let known = worker.present && router.is_routable(id);
        let standing = Standing { known, excluded: known && !router.is_eligible(id), busy: known && fresh.is_busy(id) };
        let told = &mut quality.standing[frontend as usize * quality.workers + at];
        if *told != standing {
            *told = standing;
            self.observer.standing(self.now, frontend, worker.id, standing);
        }
    }

    /// A frontend marked a worker on the request path (a lease, or unreachable): sees to it that the end of the mark is seen.
    pub(super) fn marked(&mut self, frontend: u32, id: u32) {
        if self.quality.is_none() {
            return;
        }
        let router = self.frontends[frontend as usize].control.router();
        let lease = router.lease_of(WorkerId(id)).map(|lease| lease.until);
        let ends = lease.or(router.next_reconcile().filter(|_| !router.is_routable(WorkerId(id))));
        if let Some(at) = ends {
            self.queue.push_in(lane::MARK, at, kind::CLUSTER, Event::Expire { frontend });
        }
        self.look_at(frontend, Some(WorkerId(id)));
    }

    /// Marks of a frontend's router may have run out.
    pub(super) fn expire(&mut self, frontend: u32) {
        let control = &mut self.frontends[frontend as usize].control;
        let returns = control.reconcile(self.now);
        if returns {
            self.look_at_all(frontend);
        } else {
            self.look_at(frontend, None);
        }
    }
}
