//! Load reports and threshold posts on their way to the frontends.

use super::{Event, Simulation, kind, lane};
use crate::cluster::batching::StepGroup;
use crate::cluster::config::{ScriptedLoad, ScriptedSchedulerLoad, ThresholdPost};
use crate::cluster::observer::{Observer, PostAnswer};
use crate::cluster::telemetry::{Debounced, Report};
use crate::control::{LoadOutcome, Observation, Publication, SchedulerLoad, WorkerId, WorkerLoad};
use crate::units::SimTime;

impl<G: StepGroup, O: Observer> Simulation<'_, G, O> {
    /// A step changed the used blocks of a rank, counted over the fleet.
    pub(super) fn blocks_changed(&mut self, rank: u32, used: u64) {
        self.fresh_blocks(rank, used);
        let Some(telemetry) = &mut self.telemetry else { return };
        let due = telemetry.changed(self.now, rank, used);
        self.debounce(rank, due);
    }

    /// Arranges the end of a rank's debounce, where it is not arranged already.
    pub(super) fn debounce(&mut self, rank: u32, due: Option<SimTime>) {
        if let Some(at) = due {
            self.queue.push_in(lane::DEBOUNCE, at, kind::LOAD, Event::Debounce { rank });
        }
    }

    /// A rank's debounce may have run out.
    pub(super) fn debounced(&mut self, rank: u32) {
        let telemetry = self.telemetry.as_mut().expect("a timer runs only with telemetry");
        match telemetry.debounced(self.now, rank) {
            Debounced::Gone => {}
            Debounced::Again(at) => self.queue.push(at, kind::LOAD, Event::Debounce { rank }),
            Debounced::Send(used) => self.publish(rank, used),
        }
    }

    /// A worker publishes the used blocks of one of its ranks to every frontend.
    pub(super) fn publish(&mut self, rank: u32, used: u64) {
        for frontend in 0..self.frontends.len() as u32 {
            let telemetry = self.telemetry.as_mut().expect("only telemetry publishes");
            let report = telemetry.report(frontend, rank, used);
            match telemetry.arrival(self.now, rank, frontend) {
                None => {}
                Some(at) if at == self.now => self.deliver(report),
                Some(at) => {
                    let report = telemetry.send(report);
                    self.queue.push_in(lane::DELIVERY, at, kind::LOAD, Event::Deliver { report });
                }
            }
        }
    }

    /// A report under way arrives.
    pub(super) fn receive(&mut self, report: u32) {
        if let Some(report) = self.telemetry.as_mut().expect("only telemetry sends").receive(report) {
            self.deliver(report);
        }
    }

    fn deliver(&mut self, report: Report) {
        let (worker, rank) = self.rank_names[report.rank as usize];
        let report_of = Observation { kv_used_blocks: Some(report.used), ..Observation::default() };
        self.worker_load(report.frontend, WorkerLoad { worker: WorkerId(worker), rank, report: report_of });
    }

    fn worker_load(&mut self, frontend: u32, load: WorkerLoad) {
        let outcome = self.frontends[frontend as usize].worker_load(self.now, &load);
        self.after_load(frontend, Some(load.worker), outcome);
    }

    /// A scripted load event reaches some frontends.
    pub(super) fn scripted_load(&mut self, frontends: Option<&[u32]>, load: &ScriptedLoad) {
        let report = Observation {
            active_decode_blocks: load.active_decode_blocks,
            active_prefill_tokens: load.active_prefill_tokens,
            kv_used_blocks: load.kv_used_blocks,
        };
        let load = WorkerLoad { worker: WorkerId(load.worker), rank: load.rank, report };
        self.fresh_scripted_load(&load);
        self.each_frontend(frontends, |sim, frontend| sim.worker_load(frontend, load));
    }

    /// A scripted scheduler batch reaches some frontends.
    pub(super) fn scripted_scheduler_load(&mut self, frontends: Option<&[u32]>, batch: &[ScriptedSchedulerLoad]) {
        let loads: Vec<SchedulerLoad> = batch
            .iter()
            .map(|load| SchedulerLoad {
                worker: WorkerId(load.worker),
                rank: load.rank,
                active_decode_blocks: load.active_decode_blocks,
                active_prefill_tokens: load.active_prefill_tokens,
            })
            .collect();
        self.fresh_scripted_batch(&loads);
        self.each_frontend(frontends, |sim, frontend| {
            let outcome = sim.frontends[frontend as usize].scheduler_load(sim.now, &loads);
            sim.after_load(frontend, None, outcome);
        });
    }

    /// Thresholds are posted to some frontends.
    pub(super) fn post(&mut self, frontends: Option<&[u32]>, post: &ThresholdPost) {
        let number = self.updates.next_post();
        let known = post.model.as_ref().is_none_or(|model| *model == self.setup.frontend.model);
        if known && post.update.validate().is_ok() {
            self.fresh_post(frontends, post.update);
        }
        self.each_frontend(frontends, |sim, frontend| {
            // The release validates first: an invalid value is 400 for an unknown model, too.
            let answer = match (post.update.validate(), known) {
                (Err(_), _) => PostAnswer::Invalid,
                (Ok(()), false) => PostAnswer::UnknownModel,
                (Ok(()), true) => match sim.frontends[frontend as usize].post(post.update) {
                    Ok(true) => PostAnswer::Changed,
                    Ok(false) => PostAnswer::Unchanged,
                    Err(_) => PostAnswer::Invalid,
                },
            };
            if answer == PostAnswer::Changed {
                sim.updates.superseded(sim.now, frontend, &mut sim.observer);
            }
            sim.observer.threshold_post(sim.now, number, frontend, &post.update, answer);
            if answer == PostAnswer::Changed {
                sim.updates.posted(number, frontend);
            }
        });
    }

    /// A load event or configuration was taken in by a frontend: pending threshold updates may have moved.
    pub(super) fn after_load(&mut self, frontend: u32, worker: Option<WorkerId>, outcome: LoadOutcome) {
        if self.updates.is_pending(frontend) && (outcome.accepted || outcome.noticed) {
            let monitor = self.frontends[frontend as usize].control.monitor();
            self.updates.moved(self.now, frontend, worker, outcome, monitor, &mut self.observer);
        }
        if outcome.published {
            self.exclusions_changed(frontend, worker.filter(|_| !outcome.noticed));
        }
    }

    /// A frontend's own tracking may have published.
    pub(super) fn published(&mut self, frontend: u32, worker: WorkerId, published: &Publication) {
        self.after_load(frontend, Some(worker), published.outcome);
        if let Some(load) = published.load {
            self.fresh_tracking(load);
        }
    }

    pub(super) fn each_frontend(&mut self, some: Option<&[u32]>, mut act: impl FnMut(&mut Self, u32)) {
        match some {
            Some(some) => some.iter().for_each(|&frontend| act(self, frontend)),
            None => (0..self.frontends.len() as u32).for_each(|frontend| act(self, frontend)),
        }
    }
}
