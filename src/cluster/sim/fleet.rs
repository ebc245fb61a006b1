//! Workers joining, leaving and changing, and the scripted events of a scenario.

use super::network::Reply;
use super::{Event, Simulation, kind};
use crate::cluster::batching::StepGroup;
use crate::cluster::config::{EventAction, RuntimeConfigChange};
use crate::cluster::observer::Observer;
use crate::cluster::request::Stage;
use crate::cluster::worker::Worker;
use crate::control::{LoadOutcome, RuntimeConfig, WorkerId};
use crate::units::{SimTime, Span};

/// The fleet as discovery shows it.
#[derive(Clone, Debug)]
pub(super) struct View(Vec<(WorkerId, RuntimeConfig)>);

impl<G: StepGroup, O: Observer> Simulation<'_, G, O> {
    /// Arranges the first occurrence of every scripted event.
    pub(super) fn schedule_events(&mut self) {
        for (index, event) in self.setup.events.iter().enumerate() {
            let scripted = Event::Scripted { index: index as u32 };
            self.queue.push(event.at, kind_of(&event.action), scripted);
        }
    }

    /// A scripted event is due.
    pub(super) fn scripted(&mut self, index: u32) {
        let event = &self.setup.events[index as usize];
        if let Some(every) = event.every {
            let next = self.now.saturating_add(every);
            if next <= event.until.unwrap_or(SimTime::NEVER) {
                self.queue.push(next, kind_of(&event.action), Event::Scripted { index });
            }
        }
        let some = event.frontends.as_deref();
        match &event.action {
            EventAction::PostBusyThreshold(post) => self.post(some, post),
            EventAction::Load(load) => self.scripted_load(some, load),
            EventAction::SchedulerLoad(batch) => self.scripted_scheduler_load(some, batch),
            EventAction::WorkerLeave { worker } => self.worker_leaves(*worker),
            EventAction::WorkerJoin { worker } => self.worker_joins(*worker),
            EventAction::ReportDown { worker } => self.each_frontend(some, |sim, frontend| sim.report_down(frontend, *worker)),
            EventAction::RuntimeConfig(change) => self.reconfigure(change),
            EventAction::WorkerCrash(crash) => self.worker_crashes(crash),
            EventAction::WorkerDrain { worker } => self.worker_drains(*worker),
            EventAction::WorkerSlow(slow) => {
                let until = self.last_until(index, slow.duration);
                self.set_pace(slow.worker, slow.millionths(), until);
            }
            EventAction::NetworkDelay(network) => {
                let until = self.last_until(index, network.duration);
                self.set_network(network.worker, network.delay, until);
            }
            EventAction::Scale(scale) => self.scale(scale),
            EventAction::TelemetryOutage(fault) => self.telemetry_outage(some, fault),
            EventAction::TelemetryFreeze(fault) => {
                let until = self.last_until(index, Some(fault.duration));
                self.telemetry_freeze(fault, until);
            }
        }
    }

    /// The end of a scripted event that lasts for `duration`; arranges that it is seen.
    fn last_until(&mut self, index: u32, duration: Option<Span>) -> SimTime {
        let Some(duration) = duration else { return SimTime::NEVER };
        let until = self.now.saturating_add(duration);
        self.queue.push(until, kind::CLUSTER, Event::ScriptedEnd { index });
        until
    }

    /// A frontend finds a worker unreachable.
    pub(super) fn report_down(&mut self, frontend: u32, id: u32) {
        let at = &mut self.frontends[frontend as usize];
        at.report_down(self.now, WorkerId(id));
        // With the worker gone an update may be in force everywhere.
        let membership = LoadOutcome { accepted: true, ..LoadOutcome::default() };
        self.after_load(frontend, None, membership);
        self.marked(frontend, id);
    }

    /// The fleet changed: the frontends see it after the discovery delay.
    pub(super) fn fleet_changed(&mut self) {
        let present = self.workers.iter().filter(|w| w.present);
        let view = View(present.map(|w| (WorkerId(w.id), w.advertised)).collect());
        self.fresh_fleet(&view.0);
        let delay = self.setup.frontend.discovery_delay;
        if delay.is_zero() || self.now == SimTime::ZERO {
            self.show(&view);
        } else {
            self.views.push_back(view);
            self.queue.push(self.now.saturating_add(delay), kind::CLUSTER, Event::Discover);
        }
    }

    /// A change of the fleet reaches the frontends.
    pub(super) fn discovered(&mut self) {
        let view = self.views.pop_front().expect("every discovery has its view");
        self.show(&view);
    }

    fn show(&mut self, view: &View) {
        let ids: Vec<WorkerId> = view.0.iter().map(|(id, _)| *id).collect();
        for frontend in 0..self.frontends.len() as u32 {
            let outcome = self.frontends[frontend as usize].show(self.now, &ids, &view.0);
            self.after_load(frontend, None, outcome);
            self.exclusions_changed(frontend, None);
        }
    }

    /// A worker leaves at once: what it holds fails.
    pub(super) fn worker_leaves(&mut self, id: u32) {
        self.deregister(id);
        self.lose_work(id);
    }

    /// A worker is not registered any more, nor will it be by what was planned.
    pub(super) fn deregister(&mut self, id: u32) {
        let worker = &mut self.workers[Worker::index(id)];
        worker.stamp = worker.stamp.wrapping_add(1);
        worker.loading = false;
        if std::mem::replace(&mut worker.present, false) {
            self.fleet_changed();
        }
    }

    /// Everything inside a worker is lost.
    fn lose_work(&mut self, id: u32) {
        let worker = &mut self.workers[Worker::index(id)];
        worker.in_engine = 0;
        if let Some(gate) = &mut worker.gate {
            gate.clear();
        }
        let (first_rank, ranks) = (worker.first_rank, worker.ranks);
        let mut lost: Vec<(u32, u32)> = Vec::new();
        if !self.engines[worker.kind].is_opaque() {
            for group in worker.groups() {
                let g = &mut self.groups[group as usize];
                self.step_ends.set(group, SimTime::NEVER);
                g.steps.clear(self.now, &mut lost);
            }
        }
        if let Some(telemetry) = &mut self.telemetry {
            (first_rank..first_rank + ranks).for_each(|rank| telemetry.forget(rank));
        }
        let here = |attempt: &crate::cluster::request::Attempt| {
            attempt.worker() == Some(id) && matches!(attempt.stage, Stage::Queued | Stage::Engine)
        };
        let mut inside: Vec<(u64, u32, u32)> =
            self.attempts.iter().filter(|(_, a)| here(a)).map(|(index, a)| (a.id, a.number, index)).collect();
        inside.sort_unstable();
        for (_, _, index) in inside {
            let generated = lost.iter().find(|(key, _)| *key == index).map_or(0, |(_, generated)| *generated);
            self.lost(index, id, generated);
        }
        self.gate_changed(id);
    }

    /// An attempt was lost with its worker, after `generated` tokens.
    fn lost(&mut self, index: u32, id: u32, generated: u32) {
        if self.attempts[index].abandoned {
            // Its frontend let go of it when the client left.
            let attempt = &self.attempts[index];
            let prompt = if generated > 0 { attempt.input_tokens } else { 0 };
            self.observer.wasted(self.now, attempt, prompt, generated);
            self.attempts.discard(index);
            return;
        }
        self.reply(index, id, Reply::Cut(generated));
    }

    /// A worker registers: empty, unless it still finishes what it had before a drain.
    pub(super) fn worker_joins(&mut self, id: u32) {
        let worker = &mut self.workers[Worker::index(id)];
        worker.stamp = worker.stamp.wrapping_add(1);
        worker.loading = false;
        if std::mem::replace(&mut worker.present, true) {
            return;
        }
        let (first_rank, ranks, empty) = (worker.first_rank, worker.ranks, worker.in_engine == 0);
        let opaque = self.engines[worker.kind].is_opaque();
        self.fleet_changed();
        if opaque {
            return;
        }
        for rank in first_rank..first_rank + ranks {
            let used = self.telemetry.as_ref().map_or(0, |telemetry| telemetry.used(rank));
            self.blocks_changed(rank, if empty { 0 } else { used });
        }
    }

    fn reconfigure(&mut self, change: &RuntimeConfigChange) {
        let worker = &mut self.workers[Worker::index(change.worker)];
        worker.reconfigure(change);
        if worker.present {
            self.fleet_changed();
        }
    }
}

/// The place of a scripted event in the order of its instant.
const fn kind_of(action: &EventAction) -> u8 {
    match action {
        EventAction::PostBusyThreshold(_) => kind::POST,
        EventAction::Load(_) | EventAction::SchedulerLoad(_) => kind::LOAD,
        EventAction::WorkerCrash(_)
        | EventAction::WorkerDrain { .. }
        | EventAction::WorkerSlow(_)
        | EventAction::NetworkDelay(_)
        | EventAction::Scale(_)
        | EventAction::TelemetryOutage(_)
        | EventAction::TelemetryFreeze(_) => kind::CLUSTER,
        EventAction::WorkerLeave { .. }
        | EventAction::WorkerJoin { .. }
        | EventAction::ReportDown { .. }
        | EventAction::RuntimeConfig(_) => kind::CLUSTER,
    }
}
