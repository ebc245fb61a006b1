//! An attempt from its frontend through a gate to its end, and what its client does then.

use super::{Event, Simulation, kind};
use crate::cluster::batching::StepGroup;
use crate::cluster::clients::Failure;
use crate::cluster::config::RankDispatch;
use crate::cluster::observer::{AttemptOutcome, Observer, RequestOutcome};
use crate::cluster::request::{Attempt, Request, Stage};
use crate::cluster::worker::Worker;
use crate::control::{Admission, Refusal, RefusalLayer, WorkerId};
use crate::workload::source::RequestSpec;

impl<G: StepGroup, O: Observer> Simulation<'_, G, O> {
    /// A request arrives from the workload.
    pub(super) fn arrive(&mut self, spec: RequestSpec) {
        let mut request = Request {
            id: self.arrived,
            arrival: self.now,
            input_tokens: spec.input_tokens,
            output_tokens: spec.output_tokens,
            class: spec.class.0,
            tag: 0,
            attempts: 0,
            current: None,
            pinned: spec.worker,
            service_time: spec.service_time,
        };
        self.arrived += 1;
        request.tag = self.observer.offered(self.now, &request);
        let index = self.requests.insert(request);
        self.try_request(index);
    }

    /// The client sends the request (again).
    pub(super) fn try_request(&mut self, index: u32) {
        let frontend = self.spread.next(self.frontends.len() as u32);
        let request = &mut self.requests[index];
        request.attempts += 1;
        let attempt = Attempt {
            request: Some(index),
            id: request.id,
            tag: request.tag,
            class: request.class,
            number: request.attempts,
            start: self.now,
            frontend,
            worker: None,
            rank: None,
            stage: Stage::Frontend,
            input_tokens: request.input_tokens,
            output_tokens: request.output_tokens,
            service_time: request.service_time,
            slot: None,
            first_token: None,
            migrations: 0,
            tried: Vec::new(),
            handle: 0,
            abandoned: false,
        };
        let (input, output, number) = (request.input_tokens, request.output_tokens, request.attempts);
        let attempt = self.attempts.insert(attempt);
        request.current = Some(attempt);
        self.observer.attempt_started(self.now, &self.requests[index]);
        if !self.servable(input, output) {
            self.end_attempt(attempt, &AttemptOutcome::Unservable);
            return;
        }
        self.start_patience(attempt, index, number);
        self.dispatch(attempt);
    }

    fn servable(&self, input: u32, output: u32) -> bool {
        self.engines.iter().any(|engine| engine.fits(input, output))
    }

    fn start_patience(&mut self, attempt: u32, index: u32, number: u32) {
        let (first, whole) = (self.setup.clients.patience_first_token, self.setup.clients.patience);
        if first.is_none() && whole.is_none() {
            return;
        }
        let _ = (index, number);
        let stamp = self.attempts.stamp(attempt);
        for (patience, first_token) in [(first, true), (whole, false)] {
            if let Some(patience) = patience {
                let at = self.now.saturating_add(patience);
                self.queue.push(at, kind::GIVE_UP, Event::GiveUp { attempt, stamp, first_token });
            }
        }
    }

    /// The frontend routes the attempt and sends it to a worker.
    pub(super) fn dispatch(&mut self, index: u32) {
        let attempt = &self.attempts[index];
        let frontend = attempt.frontend;
        self.observer.decision(self.now, frontend);
        let pinned = attempt.request.and_then(|r| self.requests[r].pinned).map(WorkerId);
        let routed = self.frontends[frontend as usize].route(self.now, index, attempt, pinned);
        self.follow_frontend(frontend);
        match routed {
            Err(refusal) => self.refused(index, refusal),
            Ok(destination) => {
                let attempt = &mut self.attempts[index];
                attempt.worker = Some(destination.worker.0);
                attempt.rank = destination.rank;
                self.reach_worker(index, destination.worker.0);
            }
        }
    }

    /// The attempt knocks at the worker's gate.
    fn reach_worker(&mut self, index: u32, id: u32) {
        let worker = &mut self.workers[Worker::index(id)];
        let admission = match &mut worker.gate {
            Some(gate) => gate.arrive(index),
            None => Admission::Direct,
        };
        match admission {
            Admission::Direct => self.enter_engine(index),
            Admission::Queued => self.attempts[index].stage = Stage::Queued,
            Admission::Rejected => {
                self.rejected_by_worker(index, id);
                return;
            }
        }
        self.gate_changed(id);
    }

    pub(super) fn gate_changed(&mut self, id: u32) {
        let state = self.workers[Worker::index(id)].gate_state();
        self.observer.gate_changed(self.now, id, state);
    }

    /// The worker answered "at capacity": a lease, then the booking ends, then perhaps another worker.
    fn rejected_by_worker(&mut self, index: u32, id: u32) {
        self.observer.worker_rejected(self.now, id);
        let frontend = self.attempts[index].frontend;
        let refusal = Refusal::at_capacity(self.now, WorkerId(id));
        self.frontends[frontend as usize].rejected(self.now, index, WorkerId(id));
        self.follow_frontend(frontend);
        if self.may_migrate(index) {
            self.migrate(index, id);
        } else {
            self.refused(index, refusal);
        }
    }

    /// Whether the frontend may dispatch the attempt once more.
    fn may_migrate(&self, index: u32) -> bool {
        let attempt = &self.attempts[index];
        let pinned = attempt.request.is_some_and(|r| self.requests[r].pinned.is_some());
        !pinned && !attempt.abandoned && attempt.migrations < self.setup.frontend.migration_limit
    }

    /// The frontend tries another worker, behind the arrivals of this instant.
    fn migrate(&mut self, index: u32, failed: u32) {
        let attempt = &mut self.attempts[index];
        attempt.migrations += 1;
        attempt.tried.push(failed);
        attempt.worker = None;
        attempt.rank = None;
        attempt.stage = Stage::Frontend;
        let stamp = self.attempts.stamp(index);
        self.queue.push(self.now, kind::RETRY, Event::Redispatch { attempt: index, stamp });
    }

    /// No worker took the attempt: the client gets its status.
    fn refused(&mut self, index: u32, refusal: Refusal) {
        let outcome = if refusal.reason.is_overload() {
            AttemptOutcome::Refused { refusal, status: self.setup.frontend.overload_status_code }
        } else {
            AttemptOutcome::Unavailable { refusal }
        };
        self.end_attempt(index, &outcome);
    }

    /// The attempt gets an engine slot.
    pub(super) fn enter_engine(&mut self, index: u32) {
        let attempt = &mut self.attempts[index];
        attempt.stage = Stage::Engine;
        attempt.slot.get_or_insert(self.now);
        let id = attempt.worker.expect("a dispatched attempt has a worker");
        self.workers[Worker::index(id)].in_engine += 1;
        self.compute(index, id);
    }

    /// Picks the rank of a worker whose router named none.
    pub(super) fn spread_over_ranks(&mut self, id: u32) -> u32 {
        let worker = &mut self.workers[Worker::index(id)];
        match worker.dispatch {
            RankDispatch::RoundRobin => {
                let rank = worker.dispatched % worker.ranks;
                worker.dispatched = worker.dispatched.wrapping_add(1);
                rank
            }
            RankDispatch::LeastLoaded => {
                let worker = &self.workers[Worker::index(id)];
                let load = |rank: &u32| {
                    let (group, place) = worker.group_of(*rank);
                    let seen = self.groups[group as usize].steps.snapshot(self.now, place);
                    4 * u64::from(seen.waiting) + u64::from(seen.running)
                };
                (0..worker.ranks).min_by_key(load).expect("a worker has a rank")
            }
        }
    }

    /// The attempt leaves the engine; whoever waits for its slot gets it.
    pub(super) fn leave_engine(&mut self, id: u32) {
        let worker = &mut self.workers[Worker::index(id)];
        worker.in_engine -= 1;
        let attempts = &self.attempts;
        let next = worker.gate.as_mut().and_then(|gate| gate.complete(|&waiting| attempts[waiting].abandoned));
        if let Some(next) = next {
            self.enter_engine(next);
        }
        self.gate_changed(id);
    }
}
