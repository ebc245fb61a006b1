//! What a simulation tells whoever measures it. Every method has a default that does nothing, so that an observer pays
//! only for what it watches.

use super::request::{Attempt, Request};
use super::story::StoryEvent;
use crate::control::{BusyThresholds, Checks, DispatchFailure, FiringCheck, Refusal, ThresholdUpdate, WorkerMonitor};
use crate::units::SimTime;

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub enum AttemptOutcome {
    /// Answered in full.
    Completed,
    /// Refused for overload, with the status the client saw.
    Refused {
        /// By what and why.
        refusal: Refusal,
        /// HTTP status.
        status: u16,
        /// One measured value that stands for it, where a check had a say and the observer asks for it
        /// ([`Observer::wants_witness`]).
        why: Option<FiringCheck>,
    },
    /// No usable worker: 503.
    Unavailable {
        /// By what and why.
        refusal: Refusal,
    },
    /// The worker was lost, or the stream broke.
    Failed,
    /// The client left; a server that did not notice works on.
    Cancelled,
    /// Can never fit any worker of the fleet.
    Unservable,
}

/// How a logical request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestOutcome {
    /// Answered in full.
    Completed,
    /// The last answer was an overload response.
    LostToOverload,
    /// The last answer was 503 with nobody there.
    LostToUnavailability,
    /// The last attempt failed.
    Failed,
    /// The client lost patience.
    GaveUp,
    /// Can never fit any worker of the fleet.
    Unservable,
}

/// A worker's gate as it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateState {
    /// Engine slots in use; without a gate, requests in the engine.
    pub in_engine: u32,
    /// Requests waiting for a slot, the dispatcher's included.
    pub waiting: u32,
    /// What `dynamo_request_queue` reads: those in the channel.
    pub gauge: u32,
}

/// A `POST /busy_threshold` at one frontend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostAnswer {
    /// 200: stored, and different from before.
    Changed,
    /// 200: a read, or equal to what was stored.
    Unchanged,
    /// 400: an invalid value; nothing stored.
    Invalid,
    /// 404: not this frontend's model.
    UnknownModel,
}

/// A stage of a threshold update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateStage {
    /// An event re-evaluated every worker under the new thresholds.
    Noticed,
    /// This worker's state rests on the new thresholds alone.
    Worker {
        /// Its id.
        worker: u32,
    },
    /// Every worker's does.
    All,
    /// A decision that would have been another one without it: the first.
    Effect,
    /// A later post replaced it.
    Superseded,
}

/// A decision of a frontend, held against two references.
///
/// *Fresh*: the same rules, told everything at once, without leases. *Engine*: is there a worker that would take the request
/// now (a place at its gate, and a rank whose free blocks and seats admit it without waiting).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The frontend found a worker.
    pub routed: bool,
    /// Fresh would have found one.
    pub fresh_routes: bool,
    /// Fresh would have decided otherwise: refused instead of routed, the reverse, or another destination.
    pub unlike_fresh: bool,
    /// Fresh holds the worker picked for busy.
    pub picked_is_busy: bool,
    /// Some worker would take the request now.
    pub engine_has_room: bool,
}

/// How a frontend and the fresh reference stand to a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// It is registered, and the frontend holds it for routable.
    pub known: bool,
    /// The frontend excludes it: busy as published, or under a lease.
    pub excluded: bool,
    /// Fresh holds it for busy.
    pub busy: bool,
}

/// A rank at the instant of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankSample {
    /// KV blocks in use, as they are.
    pub kv_used_blocks: u64,
    /// Sequences with a seat.
    pub running: u32,
    /// Sequences waiting for one.
    pub waiting: u32,
    /// Preemptions so far.
    pub preemptions: u64,
    /// Blocks the first frontend's monitor last saw: the greater of its two sources.
    pub observed_blocks: Option<u64>,
    /// Prefill tokens the first frontend's monitor last saw.
    pub observed_prefill_tokens: Option<u64>,
    /// Blocks and prefill tokens that the routers themselves track, over all frontends; `None` where they do not, or were not asked
    /// ([`Observer::wants_tracking`]).
    pub tracked: Option<[u64; 2]>,
}

/// A worker at the instant of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerSample {
    /// Registered.
    pub present: bool,
    /// Reported down by the first frontend.
    pub down: bool,
    /// Checks for which the first frontend excludes it; empty if it does not.
    pub excluded: Checks,
    /// Its gate.
    pub gate: GateState,
    /// The first frontend holds it for routable but has no runtime configuration of it: it was reported down, and came back.
    pub unconfigured: bool,
}

/// Everything at the instant of a sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetSample {
    /// Workers in the order of their ids.
    pub workers: Vec<WorkerSample>,
    /// Ranks in the order of workers, then ranks.
    pub ranks: Vec<RankSample>,
    /// Requests in the system or waiting to retry.
    pub unfinished: u64,
    /// Thresholds stored at the first frontend.
    pub thresholds: BusyThresholds,
}

/// Watches a simulation.
#[expect(unused_variables, reason = "the defaults ignore what they are told")]
pub trait Observer {
    /// Client classes have names, by their index; a trace may name further ones as it is read.
    fn classes_named(&mut self, names: &[String]) {}

    /// A logical request arrives. The answer is kept with it as its `tag`.
    fn offered(&mut self, now: SimTime, request: &Request) -> u16 {
        0
    }

    /// An attempt reaches a frontend.
    fn attempt_started(&mut self, now: SimTime, request: &Request) {}

    /// A worker refused a dispatch (its own counter; the client may never see it).
    fn worker_rejected(&mut self, now: SimTime, worker: u32) {}

    /// The first token of an attempt reached its frontend. Never for a worker of which nothing inside is known.
    fn first_token(&mut self, now: SimTime, attempt: &Attempt) {}

    /// A dispatch failed, and the frontend is about to try another worker.
    fn migrated(&mut self, now: SimTime, attempt: &Attempt, failure: DispatchFailure) {}

    /// A worker's gate changed.
    fn gate_changed(&mut self, now: SimTime, worker: u32, gate: GateState) {}

    /// An attempt ended. `request` is its logical request, unless the client has gone on without it.
    fn attempt_ended(&mut self, now: SimTime, attempt: &Attempt, request: &Request, outcome: &AttemptOutcome) {}

    /// An attempt ended whose client had left without the server noticing.
    fn orphan_ended(&mut self, now: SimTime, attempt: &Attempt, outcome: &AttemptOutcome) {}

    /// A logical request ended; `last` is the attempt that ended it.
    fn request_ended(&mut self, now: SimTime, request: &Request, last: &Attempt, outcome: RequestOutcome) {}

    /// A server is done with an attempt that nobody waits for any more, after computing `prompt` tokens of its prompt and putting
    /// out `generated` in vain.
    fn wasted(&mut self, now: SimTime, attempt: &Attempt, prompt: u32, generated: u32) {}

    /// Thresholds were posted to a frontend; `post` counts the posts of the run.
    fn threshold_post(&mut self, now: SimTime, post: u32, frontend: u32, update: &ThresholdUpdate, answer: PostAnswer) {}

    /// A post reached a stage at a frontend.
    fn update_stage(&mut self, now: SimTime, post: u32, frontend: u32, stage: UpdateStage) {}

    /// A worker's state did not come to rest on a post's thresholds before the end: these ranks kept silent.
    fn update_never(&mut self, post: u32, frontend: u32, worker: u32, silent: Vec<u32>) {}

    /// A frontend takes a decision while a threshold update is pending.
    fn decision(&mut self, now: SimTime, frontend: u32) {}

    /// Whether a refusal shall say what was measured ([`AttemptOutcome::Refused`]). Asked at each refusal.
    fn wants_witness(&self) -> bool {
        false
    }

    /// Where decisions are judged: a frontend decided about an attempt.
    fn judged(&mut self, now: SimTime, attempt: &Attempt, judgement: &Judgement) {}

    /// Where decisions are judged: a frontend or the fresh reference thinks otherwise of a worker than before.
    fn standing(&mut self, now: SimTime, frontend: u32, worker: u32, standing: Standing) {}

    /// Where decisions are judged: an attempt has an engine slot, but its rank has no seat or not enough blocks for it now.
    fn engine_waits(&mut self, now: SimTime, attempt: &Attempt) {}

    /// The id of the request whose story is wanted, if one is. Asked once, at the start.
    fn follows(&self) -> Option<u64> {
        None
    }

    /// Something happened to the request whose story is wanted.
    fn story(&mut self, now: SimTime, event: StoryEvent) {}

    /// At the end: what a frontend's monitor knows.
    fn monitor_end(&mut self, now: SimTime, frontend: u32, monitor: &WorkerMonitor) {}

    /// At the end: an attempt that its client waits for is still in the system. By request, then attempt.
    fn attempt_in_system(&mut self, attempt: &Attempt, request: &Request) {}

    /// At the end: a request is still in the system or waiting to retry.
    fn request_unfinished(&mut self, request: &Request) {}

    /// Whether samples shall tell what routers track.
    fn wants_tracking(&self) -> bool {
        false
    }

    /// The time series is due.
    fn sample(&mut self, now: SimTime, fleet: &FleetSample) {}
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
