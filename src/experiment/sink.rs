//! Where what happens in a run goes while it happens.

use super::result::Point;
use crate::cluster::observer::{AttemptOutcome, FleetSample, UpdateStage};
use crate::cluster::request::{Attempt, Request};
use crate::control::DispatchFailure;
use crate::units::{SimTime, Span};

/// Where the streamed parts of a result go. Everything but ended attempts and intervals is ignored unless a sink asks for it.
#[expect(unused_variables, reason = "the defaults ignore what they are told")]
pub trait Sink {
    /// An attempt reached a frontend.
    fn attempt_started(&mut self) {}

    /// The first token of an attempt reached its frontend (see
    /// [`Observer::first_token`](crate::cluster::observer::Observer::first_token)).
    fn first_token(&mut self, now: SimTime, attempt: &Attempt) {}

    /// A dispatch failed, and the frontend is about to try another worker.
    fn migrated(&mut self, failure: DispatchFailure) {}

    /// A worker refused a dispatch.
    fn worker_rejected(&mut self, worker: u32) {}

    /// An attempt ended.
    fn attempt(&mut self, now: SimTime, attempt: &Attempt, request: &Request, outcome: &AttemptOutcome);

    /// An attempt ended whose client had left without the server noticing: it was told as cancelled before.
    fn orphan_ended(&mut self, now: SimTime, attempt: &Attempt, outcome: &AttemptOutcome) {}

    /// At the end: an attempt that its client waits for is still in the system. By request, then attempt.
    fn attempt_in_system(&mut self, attempt: &Attempt, request: &Request) {}

    /// A threshold post reached a stage at a frontend, `lag` after it came there.
    fn update_reached(&mut self, frontend: u32, stage: UpdateStage, lag: Span) {}

    /// Client classes have names, by their index; a trace may name further ones as it is read.
    fn classes_named(&mut self, names: &[String]) {}

    /// Whether refusals shall say what was measured.
    fn wants_witness(&self) -> bool {
        false
    }

    /// Whether samples shall tell what routers track.
    fn wants_tracking(&self) -> bool {
        false
    }

    /// An interval of the time series ended at `now`.
    fn interval(&mut self, start: SimTime, now: SimTime, point: &Point, fleet: &FleetSample);
}

/// Streams nothing.
impl Sink for () {
    fn attempt(&mut self, _: SimTime, _: &Attempt, _: &Request, _: &AttemptOutcome) {}
    fn interval(&mut self, _: SimTime, _: SimTime, _: &Point, _: &FleetSample) {}
}

/// Streams to both.
impl<A: Sink, B: Sink> Sink for (A, B) {
    fn attempt_started(&mut self) {
        self.0.attempt_started();
        self.1.attempt_started();
    }

    fn first_token(&mut self, now: SimTime, attempt: &Attempt) {
        self.0.first_token(now, attempt);
        self.1.first_token(now, attempt);
    }

    fn migrated(&mut self, failure: DispatchFailure) {
        self.0.migrated(failure);
        self.1.migrated(failure);
    }

    fn worker_rejected(&mut self, worker: u32) {
        self.0.worker_rejected(worker);
        self.1.worker_rejected(worker);
    }

    fn attempt(&mut self, now: SimTime, attempt: &Attempt, request: &Request, outcome: &AttemptOutcome) {
        self.0.attempt(now, attempt, request, outcome);
        self.1.attempt(now, attempt, request, outcome);
    }

    fn orphan_ended(&mut self, now: SimTime, attempt: &Attempt, outcome: &AttemptOutcome) {
        self.0.orphan_ended(now, attempt, outcome);
        self.1.orphan_ended(now, attempt, outcome);
    }

    fn attempt_in_system(&mut self, attempt: &Attempt, request: &Request) {
        self.0.attempt_in_system(attempt, request);
        self.1.attempt_in_system(attempt, request);
    }

    fn update_reached(&mut self, frontend: u32, stage: UpdateStage, lag: Span) {
        self.0.update_reached(frontend, stage, lag);
        self.1.update_reached(frontend, stage, lag);
    }

    fn classes_named(&mut self, names: &[String]) {
        self.0.classes_named(names);
        self.1.classes_named(names);
    }

    fn wants_witness(&self) -> bool {
        self.0.wants_witness() || self.1.wants_witness()
    }

    fn wants_tracking(&self) -> bool {
        self.0.wants_tracking() || self.1.wants_tracking()
    }

    fn interval(&mut self, start: SimTime, now: SimTime, point: &Point, fleet: &FleetSample) {
        self.0.interval(start, now, point, fleet);
        self.1.interval(start, now, point, fleet);
    }
}

/// Streams if there is something to stream to.
impl<S: Sink> Sink for Option<S> {
    fn attempt_started(&mut self) {
        self.iter_mut().for_each(Sink::attempt_started);
    }

    fn first_token(&mut self, now: SimTime, attempt: &Attempt) {
        self.iter_mut().for_each(|sink| sink.first_token(now, attempt));
    }

    fn migrated(&mut self, failure: DispatchFailure) {
        self.iter_mut().for_each(|sink| sink.migrated(failure));
    }

    fn worker_rejected(&mut self, worker: u32) {
        self.iter_mut().for_each(|sink| sink.worker_rejected(worker));
    }

    fn attempt(&mut self, now: SimTime, attempt: &Attempt, request: &Request, outcome: &AttemptOutcome) {
        self.iter_mut().for_each(|sink| sink.attempt(now, attempt, request, outcome));
    }

    fn orphan_ended(&mut self, now: SimTime, attempt: &Attempt, outcome: &AttemptOutcome) {
        self.iter_mut().for_each(|sink| sink.orphan_ended(now, attempt, outcome));
    }

    fn attempt_in_system(&mut self, attempt: &Attempt, request: &Request) {
        self.iter_mut().for_each(|sink| sink.attempt_in_system(attempt, request));
    }

    fn update_reached(&mut self, frontend: u32, stage: UpdateStage, lag: Span) {
        self.iter_mut().for_each(|sink| sink.update_reached(frontend, stage, lag));
    }

    fn classes_named(&mut self, names: &[String]) {
        self.iter_mut().for_each(|sink| sink.classes_named(names));
    }

    fn wants_witness(&self) -> bool {
        self.as_ref().is_some_and(Sink::wants_witness)
    }

    fn wants_tracking(&self) -> bool {
        self.as_ref().is_some_and(Sink::wants_tracking)
    }

    fn interval(&mut self, start: SimTime, now: SimTime, point: &Point, fleet: &FleetSample) {
        self.iter_mut().for_each(|sink| sink.interval(start, now, point, fleet));
    }
}
