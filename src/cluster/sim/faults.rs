//! Crashes, drains, slow workers, slow networks, scaling, and faults of the load reports.

use super::{Engine, Event, Simulation, kind};
use crate::cluster::batching::StepGroup;
use crate::cluster::config::{EventAction, FULL_SPEED, Scale, TelemetryFault, WorkerCrash};
use crate::cluster::observer::Observer;
use crate::cluster::worker::Worker;
use crate::units::{SimTime, Span};

/// What takes `span` at full speed, at `millionths` of that time; rounded down to a nanosecond.
pub(super) fn at_pace(span: Span, millionths: u64) -> Span {
    if millionths == FULL_SPEED {
        return span;
    }
    let nanos = u128::from(span.as_nanos()) * u128::from(millionths) / u128::from(FULL_SPEED);
    Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

impl<G: StepGroup, O: Observer> Simulation<'_, G, O> {
    /// A worker stops dead; later, perhaps, it is started again.
    pub(super) fn worker_crashes(&mut self, crash: &WorkerCrash) {
        self.worker_leaves(crash.worker);
        if let Some(after) = crash.rejoin_after {
            self.joins_after(crash.worker, after + crash.load_time);
        }
    }

    /// A worker leaves discovery and finishes what it has.
    pub(super) fn worker_drains(&mut self, id: u32) {
        self.deregister(id);
    }

    /// A worker joins when `wait` has passed, unless something else happens to it before.
    fn joins_after(&mut self, id: u32, wait: Span) {
        let worker = &mut self.workers[Worker::index(id)];
        if wait.is_zero() {
            self.worker_joins(id);
            return;
        }
        worker.stamp = worker.stamp.wrapping_add(1);
        worker.loading = true;
        let stamp = worker.stamp;
        self.queue.push(self.now.saturating_add(wait), kind::CLUSTER, Event::Join { worker: id, stamp });
    }

    /// A worker has loaded its model.
    pub(super) fn loaded(&mut self, id: u32, stamp: u32) {
        let worker = &self.workers[Worker::index(id)];
        if worker.loading && worker.stamp == stamp {
            self.worker_joins(id);
        }
    }

    /// Workers of a type join or drain until as many are there, or on their way, as asked for.
    pub(super) fn scale(&mut self, to: &Scale) {
        let of_type = |worker: &&Worker| worker.kind == to.kind;
        let there = |worker: &Worker| worker.present || worker.loading;
        let mut have = self.workers.iter().filter(of_type).filter(|w| there(w)).count() as u32;
        let ids: Vec<(u32, bool)> = self.workers.iter().filter(of_type).map(|w| (w.id, there(w))).collect();
        for &(id, _) in ids.iter().filter(|(_, there)| !there) {
            if have >= to.workers {
                break;
            }
            self.joins_after(id, to.load_time);
            have += 1;
        }
        for &(id, _) in ids.iter().rev().filter(|(_, there)| *there) {
            if have <= to.workers {
                break;
            }
            self.worker_drains(id);
            have -= 1;
        }
    }

    /// A worker computes at another pace from its next step, or service, on.
    pub(super) fn set_pace(&mut self, id: u32, millionths: u64, until: SimTime) {
        let worker = &mut self.workers[Worker::index(id)];
        worker.pace = (millionths, until);
        let groups = worker.groups();
        let Engine::Batching { spec, .. } = &self.engines[worker.kind] else { return };
        let timing = spec.timing.slowed(millionths);
        for group in groups {
            let next = self.groups[group as usize].steps.set_timing(self.now, timing.clone());
            self.follow(group, next);
        }
    }

    /// The way to one worker, or to every one, takes `delay` in each direction from now on.
    pub(super) fn set_network(&mut self, worker: Option<u32>, delay: Span, until: SimTime) {
        let concerned = self.workers.iter_mut().filter(|w| worker.is_none_or(|id| id == w.id));
        concerned.for_each(|worker| worker.network = (delay, until));
    }

    /// A scripted event that lasts for a time may be over: a later one of its kind may have replaced it.
    pub(super) fn scripted_end(&mut self, index: u32) {
        match &self.setup.events[index as usize].action {
            EventAction::WorkerSlow(slow) if self.workers[Worker::index(slow.worker)].pace.1 <= self.now => {
                self.set_pace(slow.worker, FULL_SPEED, SimTime::NEVER);
            }
            EventAction::NetworkDelay(network) => {
                let over = |w: &&mut Worker| network.worker.is_none_or(|id| id == w.id) && w.network.1 <= self.now;
                self.workers.iter_mut().filter(over).for_each(|worker| worker.network = (Span::ZERO, SimTime::NEVER));
            }
            EventAction::TelemetryFreeze(fault) => {
                for rank in self.ranks_of(fault) {
                    let due = self.telemetry.as_mut().and_then(|telemetry| telemetry.thaw(self.now, rank));
                    self.debounce(rank, due);
                }
            }
            _ => {}
        }
    }

    /// The ranks a fault of the reports concerns, counted over the fleet.
    fn ranks_of(&self, fault: &TelemetryFault) -> Vec<u32> {
        let concerned = |(id, rank): (u32, u32)| fault.worker.is_none_or(|w| w == id) && fault.rank.is_none_or(|r| r == rank);
        (0..).zip(&self.rank_names).filter(|(_, name)| concerned(**name)).map(|(rank, _)| rank).collect()
    }

    /// Reports to some frontends are lost for a while.
    pub(super) fn telemetry_outage(&mut self, some: Option<&[u32]>, fault: &TelemetryFault) {
        let (ranks, until) = (self.ranks_of(fault), self.now.saturating_add(fault.duration));
        self.each_frontend(some, |sim, frontend| {
            if let Some(telemetry) = &mut sim.telemetry {
                ranks.iter().for_each(|&rank| telemetry.cut(rank, frontend, until));
            }
        });
    }

    /// Reports show the values of now for a while.
    pub(super) fn telemetry_freeze(&mut self, fault: &TelemetryFault, until: SimTime) {
        let ranks = self.ranks_of(fault);
        if let Some(telemetry) = &mut self.telemetry {
            ranks.iter().for_each(|&rank| telemetry.freeze(rank, until));
        }
    }
}
