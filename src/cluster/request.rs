//! Requests as clients see them, and the attempts that serve them.

use crate::control::{MigrationBudget, WorkerId, migration};
use crate::units::{SimTime, Span};
use crate::workload::source::RequestSpec;

/// Who sends on when a request is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// Nobody: what comes next comes anyway.
    World,
    /// A user of a closed loop, by number.
    User(u32),
    /// A session that an arrival began, by number.
    Visit(u32),
    /// A recorded session whose turns wait for one another, by number.
    Session(u32),
}

/// A request as its client sees it: one or several attempts until an answer is accepted.
///
/// There are as many as are in the system or waiting to retry, and each event looks at another one: with its stamp it fills one cache
/// line of a [`Slab`](super::slab::Slab).
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Counts the arrivals of the run from 0.
    pub id: u64,
    /// Who waits for its end.
    pub sender: Sender,
    /// When the client first sent it.
    pub arrival: SimTime,
    service_time: Span,
    /// Prompt tokens.
    pub input_tokens: u32,
    /// Tokens to generate.
    pub output_tokens: u32,
    /// Attempts so far, the current one included.
    pub attempts: u32,
    /// Asks for exactly this worker.
    pub pinned: Option<u32>,
    /// Class, by its index in the workload.
    pub class: u16,
    /// What the observer answered at its arrival.
    pub tag: u16,
}

impl Request {
    /// A request of `spec` that arrives, the `id`-th of the run, with no attempt yet.
    pub fn new(id: u64, sender: Sender, arrival: SimTime, spec: &RequestSpec) -> Self {
        Self {
            id,
            sender,
            arrival,
            service_time: spec.service_time.unwrap_or(Span::MAX),
            input_tokens: spec.input_tokens,
            output_tokens: spec.output_tokens,
            attempts: 0,
            pinned: spec.worker,
            class: spec.class.0,
            tag: 0,
        }
    }
}

/// Where an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// At its frontend: being routed, or about to be dispatched again.
    Frontend,
    /// On its way to its worker.
    UnderWay,
    /// In the overflow queue of its worker.
    Queued,
    /// In an engine slot of its worker.
    Engine,
    /// Its worker is done with it, and the last of the answer is on its way to the frontend.
    Answered,
}

/// An optional number in four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Maybe(u32);

impl Maybe {
    const NONE: Self = Self(u32::MAX);

    fn new(number: Option<u32>) -> Self {
        debug_assert_ne!(number, Some(u32::MAX), "this number stands for none");
        Self(number.unwrap_or(u32::MAX))
    }

    const fn get(self) -> Option<u32> {
        if self.0 == u32::MAX { None } else { Some(self.0) }
    }
}

/// Workers that failed an attempt, and what they put out for it before.
#[derive(Clone, Debug, Default, PartialEq)]
struct Failures {
    workers: Vec<WorkerId>,
    produced: u32,
}

/// One try to get a request answered: from a frontend to a worker, or several after migrations.
///
/// With its stamp it fills two cache lines of a [`Slab`](super::slab::Slab): fetching these is a good part of what an event costs in a
/// large fleet, so what is optional is kept without a flag of its own, and what is rare elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The request's id.
    pub id: u64,
    /// When the client sent it.
    pub start: SimTime,
    /// When the last part of the answer that is under way reaches the frontend.
    pub answer_at: SimTime,
    /// [`SimTime::NEVER`] until it is known, as are the two below.
    slot: SimTime,
    first_token: SimTime,
    /// [`Span::MAX`] for none.
    service_time: Span,
    failures: Option<Box<Failures>>,
    request: Maybe,
    pinned: Maybe,
    worker: Maybe,
    rank: Maybe,
    /// Its frontend.
    pub frontend: u32,
    /// Which try it is, from 1.
    pub number: u32,
    /// Prompt tokens it computes (after a migration, the tokens put out before count too).
    pub input_tokens: u32,
    /// Tokens it still has to put out.
    pub output_tokens: u32,
    /// Handle in its rank's engine; at an opaque worker, the number of its service.
    pub handle: u32,
    /// Tokens its present worker has put out for it, once that is done with it.
    pub answered: u32,
    /// Further dispatches it may have.
    pub migration: MigrationBudget,
    /// The request's tag.
    pub tag: u16,
    /// The request's class.
    pub class: u16,
    /// Where it is.
    pub stage: Stage,
    /// Its client left and the server noticed: it holds its place in a queue, or leaves at the end of the step.
    pub abandoned: bool,
}

impl Attempt {
    /// The present attempt of `request`, which is stored at `index`, as it comes to a frontend.
    pub fn new(request: &Request, index: u32, start: SimTime, frontend: u32, migration: MigrationBudget) -> Self {
        Self {
            id: request.id,
            start,
            answer_at: SimTime::ZERO,
            slot: SimTime::NEVER,
            first_token: SimTime::NEVER,
            service_time: request.service_time,
            failures: None,
            request: Maybe::new(Some(index)),
            pinned: Maybe::new(request.pinned),
            worker: Maybe::NONE,
            rank: Maybe::NONE,
            frontend,
            number: request.attempts,
            input_tokens: request.input_tokens,
            output_tokens: request.output_tokens,
            handle: 0,
            answered: 0,
            migration,
            tag: request.tag,
            class: request.class,
            stage: Stage::Frontend,
            abandoned: false,
        }
    }

    /// Its logical request; `None` once the client has gone on without it.
    #[inline]
    pub const fn request(&self) -> Option<u32> {
        self.request.get()
    }

    /// Whether somebody still waits for the answer.
    #[inline]
    pub const fn is_wanted(&self) -> bool {
        self.request().is_some()
    }

    /// The client goes on without it.
    pub const fn forsake(&mut self) {
        self.request = Maybe::NONE;
    }

    /// Asks for exactly this worker.
    pub const fn pinned(&self) -> Option<u32> {
        self.pinned.get()
    }

    /// Its worker's id, once routed; after a refusal by a gate, the worker that refused.
    #[inline]
    pub const fn worker(&self) -> Option<u32> {
        self.worker.get()
    }

    /// Its rank within the worker, once known.
    #[inline]
    pub const fn rank(&self) -> Option<u32> {
        self.rank.get()
    }

    /// It is sent to this worker, and to this rank if the router names one.
    #[inline]
    pub fn send_to(&mut self, worker: u32, rank: Option<u32>) {
        (self.worker, self.rank) = (Maybe::new(Some(worker)), Maybe::new(rank));
    }

    /// It computes on this rank of its worker.
    #[inline]
    pub fn set_rank(&mut self, rank: u32) {
        self.rank = Maybe::new(Some(rank));
    }

    /// `worker` failed it: it is back at its frontend, for another dispatch.
    pub fn come_back(&mut self, worker: u32) {
        self.failures.get_or_insert_default().workers.push(WorkerId(worker));
        (self.worker, self.rank, self.stage) = (Maybe::NONE, Maybe::NONE, Stage::Frontend);
    }

    /// Its stream broke after `generated` tokens: what was put out counts as prompt from now on.
    ///
    /// # Panics
    /// If it had fewer tokens to put out.
    pub fn cut(&mut self, generated: u32) {
        let (isl, osl) = (u64::from(self.input_tokens), u64::from(self.output_tokens));
        let (isl, osl) = migration::after_cut(isl, osl, u64::from(generated));
        self.failures.get_or_insert_default().produced += generated;
        self.input_tokens = u32::try_from(isl).expect("a context that fits a worker");
        self.output_tokens = u32::try_from(osl).expect("no more than there was to put out");
    }

    /// Workers that failed it, kv mode's exclusion list.
    #[inline]
    pub fn tried(&self) -> &[WorkerId] {
        self.failures.as_ref().map_or(&[], |failures| &failures.workers)
    }

    /// Tokens put out at workers that failed it.
    #[inline]
    pub fn produced(&self) -> u32 {
        self.failures.as_ref().map_or(0, |failures| failures.produced)
    }

    /// Service time at an opaque worker, if the workload gives it.
    pub fn service_time(&self) -> Option<Span> {
        (self.service_time != Span::MAX).then_some(self.service_time)
    }

    /// When it first got an engine slot.
    #[inline]
    pub fn slot(&self) -> Option<SimTime> {
        (self.slot != SimTime::NEVER).then_some(self.slot)
    }

    /// It has an engine slot at `now`.
    #[inline]
    pub fn get_slot(&mut self, now: SimTime) {
        self.stage = Stage::Engine;
        self.slot = self.slot.min(now);
    }

    /// When its first token came.
    #[inline]
    pub fn first_token(&self) -> Option<SimTime> {
        (self.first_token != SimTime::NEVER).then_some(self.first_token)
    }

    /// A first token of a worker reaches the frontend at `now`; whether it is the first of all.
    #[inline]
    pub fn hear_first_token(&mut self, now: SimTime) -> bool {
        let first = self.first_token == SimTime::NEVER;
        self.first_token = self.first_token.min(now);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_attempts_fill_one_and_two_cache_lines_with_their_stamps() {
        assert!(size_of::<Option<Request>>() <= 60, "{}", size_of::<Option<Request>>());
        assert!(size_of::<Option<Attempt>>() <= 124, "{}", size_of::<Option<Attempt>>());
    }
}
