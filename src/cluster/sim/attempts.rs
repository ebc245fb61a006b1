//! An attempt from its frontend through a gate to its end, and what its client does then.

use super::network::Reply;
use super::{Event, Simulation, kind, lane};
use crate::cluster::batching::StepGroup;
use crate::cluster::clients::Failure;
use crate::cluster::observer::{AttemptOutcome, Observer, RequestOutcome};
use crate::cluster::request::{Attempt, Request, Sender, Stage};
use crate::cluster::story::StoryEvent;
use crate::cluster::worker::Worker;
use crate::control::status::{BROKEN_STATUS, UNAVAILABLE_STATUS};
use crate::control::{Admission, AfterFailure, DispatchFailure, MigrationBudget, Refusal, RefusalLayer, RefusalReason, WorkerId};
use crate::workload::source::RequestSpec;

impl<G: StepGroup, O: Observer> Simulation<'_, G, O> {
    /// A request arrives; `sender` waits for its end.
    pub(super) fn arrive(&mut self, spec: &RequestSpec, sender: Sender) {
        let mut request = Request::new(self.arrived, sender, self.now, spec);
        self.arrived += 1;
        request.tag = self.observer.offered(self.now, &request);
        self.tell(request.id, || StoryEvent::Arrived { input_tokens: spec.input_tokens, output_tokens: spec.output_tokens });
        let index = self.requests.insert(request);
        self.try_request(index);
    }

    /// The client sends the request (again).
    pub(super) fn try_request(&mut self, index: u32) {
        let frontend = self.spread.next_frontend();
        let request = &mut self.requests[index];
        request.attempts += 1;
        let budget = MigrationBudget::new(self.setup.frontend.migration_limit, request.pinned.is_some());
        let attempt = Attempt::new(request, index, self.now, frontend, budget);
        self.observer.attempt_started(self.now, request);
        self.tell(attempt.id, || StoryEvent::Attempt { number: attempt.number, frontend });
        let servable = self.servable(attempt.input_tokens, attempt.output_tokens);
        let attempt = self.attempts.insert(attempt);
        if !servable {
            self.end_attempt(attempt, &AttemptOutcome::Unservable);
            return;
        }
        self.start_patience(attempt);
        self.dispatch(attempt);
    }

    fn servable(&self, input: u32, output: u32) -> bool {
        self.engines.is_empty() || self.engines.iter().any(|engine| engine.fits(input, output))
    }

    fn start_patience(&mut self, attempt: u32) {
        let clients = self.setup.clients;
        let stamp = self.attempts.stamp(attempt);
        let (first, whole) = ((clients.patience_first_token, true), (clients.patience, false));
        for (lane, (patience, first_token)) in [(lane::FIRST_TOKEN, first), (lane::ANSWER, whole)] {
            if let Some(patience) = patience {
                let at = self.now.saturating_add(patience);
                self.queue.push_in(lane, at, kind::GIVE_UP, Event::GiveUp { attempt, stamp, first_token });
            }
        }
    }

    /// The frontend routes the attempt and sends it to a worker.
    pub(super) fn dispatch(&mut self, index: u32) {
        let frontend = self.attempts[index].frontend;
        self.decided(frontend);
        let views = self.views_for_story(index);
        let reference = self.quality.as_mut().map(|quality| quality.fresh(frontend));
        let routing = self.frontends[frontend as usize].route(self.now, index, &self.attempts[index], reference);
        if routing.by_post {
            self.updates.took_effect(self.now, frontend, &mut self.observer);
        }
        if self.quality.is_some() {
            self.judge(index, &routing);
        }
        if let Some(workers) = views {
            self.tell(self.attempts[index].id, || StoryEvent::Decision { workers, routed: routing.routed });
        }
        match routing.routed {
            Err(refusal) => self.refuse(index, refusal),
            Ok(destination) => {
                self.published(frontend, destination.worker, &routing.booked);
                self.attempts[index].send_to(destination.worker.0, destination.rank);
                self.send(index, destination.worker.0);
            }
        }
    }

    /// The attempt knocks at the worker's gate.
    pub(super) fn reach_worker(&mut self, index: u32, id: u32) {
        let worker = &mut self.workers[Worker::index(id)];
        if !worker.present {
            let gate = worker.gate_state();
            self.tell(self.attempts[index].id, || StoryEvent::Gate { worker: id, admission: None, gate });
            self.reply(index, id, Reply::Unreachable);
            return;
        }
        let admission = worker.gate.as_mut().map_or(Admission::Direct, |gate| gate.arrive(index));
        let gate = worker.gate_state();
        self.tell(self.attempts[index].id, || StoryEvent::Gate { worker: id, admission: Some(admission), gate });
        match admission {
            Admission::Direct => self.enter_engine(index, false),
            Admission::Queued => self.attempts[index].stage = Stage::Queued,
            Admission::Rejected => {
                self.observer.worker_rejected(self.now, id);
                self.reply(index, id, Reply::Rejected);
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
    pub(super) fn turned_away(&mut self, index: u32, id: u32) {
        let frontend = self.attempts[index].frontend;
        self.frontends[frontend as usize].worker_rejected(self.now, WorkerId(id));
        self.marked(frontend, id);
        self.leave_frontend(index, id);
        if self.migrate(index, id, DispatchFailure::WorkerAtCapacity) {
            return;
        }
        self.refuse(index, Refusal::at_capacity(self.now, WorkerId(id)));
    }

    /// Nobody answers at the worker's address: the frontend notes it as down.
    pub(super) fn unreachable(&mut self, index: u32, id: u32) {
        let frontend = self.attempts[index].frontend;
        self.report_down(frontend, id);
        self.leave_frontend(index, id);
        if self.migrate(index, id, DispatchFailure::ConnectionFailed) {
            return;
        }
        let layer = crate::control::RefusalLayer::Pool;
        self.refuse(index, Refusal::unavailable(self.now, layer));
    }

    /// The attempt's booking and place in flight at a worker end.
    pub(super) fn leave_frontend(&mut self, index: u32, id: u32) {
        let frontend = self.attempts[index].frontend;
        let published = self.frontends[frontend as usize].end(self.now, index, id);
        self.published(frontend, WorkerId(id), &published);
    }

    /// Whether the frontend tries another worker; if so it does behind the arrivals of this instant.
    pub(super) fn migrate(&mut self, index: u32, failed: u32, failure: DispatchFailure) -> bool {
        let attempt = &mut self.attempts[index];
        if !attempt.is_wanted() || matches!(attempt.migration.after(failure), AfterFailure::Answer(_)) {
            return false;
        }
        attempt.come_back(failed);
        let (request, produced) = (attempt.id, attempt.produced());
        self.observer.migrated(self.now, &self.attempts[index], failure);
        self.tell(request, || StoryEvent::Migrated { worker: failed, failure, produced });
        let stamp = self.attempts.stamp(index);
        self.queue.push(self.now, kind::RETRY, Event::Redispatch { attempt: index, stamp });
        true
    }

    /// No worker takes the attempt: the client gets its status.
    fn refuse(&mut self, index: u32, refusal: Refusal) {
        let outcome = match refusal.reason {
            RefusalReason::Unavailable => AttemptOutcome::Unavailable { refusal },
            _ => {
                let frontend = &self.frontends[self.attempts[index].frontend as usize];
                let at_frontend = !matches!(refusal.layer, RefusalLayer::WorkerGate(_));
                let wanted = at_frontend && (self.observer.wants_witness() || self.followed == Some(self.attempts[index].id));
                let why = wanted.then(|| frontend.control.shedding().witness(&refusal)).flatten();
                AttemptOutcome::Refused { refusal, status: self.setup.frontend.overload_status_code, why }
            }
        };
        self.end_attempt(index, &outcome);
    }

    /// The attempt gets an engine slot; `amid_ends` where other steps of this instant may still have to end.
    pub(super) fn enter_engine(&mut self, index: u32, amid_ends: bool) {
        let attempt = &mut self.attempts[index];
        attempt.get_slot(self.now);
        let (request, id) = (attempt.id, attempt.worker().expect("a dispatched attempt has a worker"));
        self.workers[Worker::index(id)].in_engine += 1;
        self.tell(request, || StoryEvent::Slot { worker: id });
        self.compute(index, id);
        if self.quality.is_some() {
            let stamp = self.attempts.stamp(index);
            if amid_ends {
                self.queue.push(self.now, kind::LOAD, Event::Seat { attempt: index, stamp });
            } else {
                self.look_for_seat(index, stamp);
            }
        }
    }

    /// A request left the engine of a worker; whoever waits for its slot gets it.
    pub(super) fn free_slot(&mut self, id: u32) {
        let worker = &mut self.workers[Worker::index(id)];
        worker.in_engine -= 1;
        let (attempts, gone) = (&self.attempts, &mut self.gone);
        let next = worker.gate.as_mut().and_then(|gate| {
            gate.complete(|&waiting| {
                let left = attempts[waiting].abandoned;
                if left {
                    gone.push(waiting);
                }
                left
            })
        });
        while let Some(gone) = self.gone.pop() {
            self.attempts.discard(gone);
        }
        if let Some(next) = next {
            self.enter_engine(next, true);
        }
        self.gate_changed(id);
    }

    /// The attempt is over and out of the system.
    pub(super) fn end_attempt(&mut self, index: u32, outcome: &AttemptOutcome) {
        let attempt = &self.attempts[index];
        match attempt.request() {
            Some(request) => self.settle(request, index, outcome),
            None => {
                self.observer.orphan_ended(self.now, attempt, outcome);
                match outcome {
                    AttemptOutcome::Completed => {
                        self.observer.wasted(self.now, attempt, attempt.input_tokens, attempt.output_tokens);
                    }
                    // What was put out before the stream broke has become part of the prompt.
                    _ if attempt.produced() > 0 => self.observer.wasted(self.now, attempt, attempt.input_tokens, 0),
                    _ => {}
                }
            }
        }
        self.attempts.discard(index);
    }

    /// The client has its answer, or none: it tries again or is done.
    fn settle(&mut self, index: u32, attempt: u32, outcome: &AttemptOutcome) {
        let request = &self.requests[index];
        self.observer.attempt_ended(self.now, &self.attempts[attempt], request, outcome);
        let id = request.id;
        if self.followed == Some(id) {
            self.observer.story(self.now, StoryEvent::Ended { outcome: outcome.clone() });
        }
        let (failure, lost) = match outcome {
            AttemptOutcome::Completed => {
                self.clients.succeeded();
                self.end_request(index, attempt, RequestOutcome::Completed);
                return;
            }
            AttemptOutcome::Unservable => {
                self.end_request(index, attempt, RequestOutcome::Unservable);
                return;
            }
            AttemptOutcome::Refused { status, .. } => (Failure::Refused(*status), RequestOutcome::LostToOverload),
            AttemptOutcome::Unavailable { .. } => (Failure::Refused(UNAVAILABLE_STATUS), RequestOutcome::LostToUnavailability),
            AttemptOutcome::Failed => (Failure::Broken(BROKEN_STATUS), RequestOutcome::Failed),
            AttemptOutcome::Cancelled => (Failure::Timeout, RequestOutcome::GaveUp),
        };
        match self.clients.after(request, failure) {
            Some(wait) => {
                let at = self.now.saturating_add(wait);
                self.instant.sends_again(self.now, at);
                self.queue.push(at, kind::RETRY, Event::Retry { request: index });
                self.tell(id, || StoryEvent::Retries { at });
            }
            None => self.end_request(index, attempt, lost),
        }
    }

    fn end_request(&mut self, index: u32, last: u32, outcome: RequestOutcome) {
        let request = &self.requests[index];
        let (id, sender) = (request.id, request.sender);
        self.observer.request_ended(self.now, request, &self.attempts[last], outcome);
        self.tell(id, || StoryEvent::Over { outcome });
        self.requests.discard(index);
        if let Some(at) = self.source.ended(sender, self.now, outcome == RequestOutcome::Completed) {
            self.instant.sends_again(self.now, at);
            self.queue.push(at, kind::RETRY, Event::Next { sender });
        }
    }

    /// A client runs out of patience.
    pub(super) fn give_up(&mut self, index: u32, stamp: u32, first_token: bool) {
        let waiting = self.attempts.current(index, stamp);
        let Some(attempt) = waiting.filter(|a| a.is_wanted() && !(first_token && a.first_token().is_some())) else { return };
        let request = attempt.request().expect("somebody waits");
        self.settle(request, index, &AttemptOutcome::Cancelled);
        self.attempts[index].forsake();
        if self.setup.clients.server_notices {
            self.withdraw(index);
        }
    }

    /// The server noticed that the client left.
    fn withdraw(&mut self, index: u32) {
        let attempt = &mut self.attempts[index];
        let (stage, worker) = (attempt.stage, attempt.worker());
        attempt.abandoned = true;
        match (stage, worker) {
            (Stage::Frontend, _) | (_, None) => self.attempts.discard(index),
            // The worker finds out when the dispatch reaches it.
            (Stage::UnderWay, Some(id)) => {
                self.leave_frontend(index, id);
                self.attempts.discard(index);
            }
            (Stage::Answered, Some(id)) => {
                self.leave_frontend(index, id);
                let attempt = &self.attempts[index];
                let prompt = if attempt.answered > 0 { attempt.input_tokens } else { 0 };
                self.observer.wasted(self.now, attempt, prompt, attempt.answered);
                self.attempts.discard(index);
            }
            // It keeps its place in the queue until its turn comes.
            (Stage::Queued, Some(id)) => self.leave_frontend(index, id),
            (Stage::Engine, Some(id)) => {
                self.leave_frontend(index, id);
                self.abort(index, id);
            }
        }
    }
}
