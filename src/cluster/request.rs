//! Requests as clients see them, and the attempts that serve them.

use crate::control::{MigrationBudget, WorkerId};
use crate::units::{SimTime, Span};

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
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Counts the arrivals of the run from 0.
    pub id: u64,
    /// Who waits for its end.
    pub sender: Sender,
    /// When the client first sent it.
    pub arrival: SimTime,
    /// Prompt tokens.
    pub input_tokens: u32,
    /// Tokens to generate.
    pub output_tokens: u32,
    /// Class, by its index in the workload.
    pub class: u16,
    /// What the observer answered at its arrival.
    pub tag: u16,
    /// Attempts so far, the current one included.
    pub attempts: u32,
    /// Asks for exactly this worker.
    pub pinned: Option<u32>,
    /// Service time at an opaque worker, if the workload gives it.
    pub service_time: Option<Span>,
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

/// One try to get a request answered: from a frontend to a worker, or several after migrations.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Its logical request; `None` once the client has gone on without it.
    pub request: Option<u32>,
    /// The request's id.
    pub id: u64,
    /// The request's tag.
    pub tag: u16,
    /// The request's class.
    pub class: u16,
    /// Which try it is, from 1.
    pub number: u32,
    /// When the client sent it.
    pub start: SimTime,
    /// Its frontend.
    pub frontend: u32,
    /// Asks for exactly this worker.
    pub pinned: Option<u32>,
    /// Its worker's id, once routed; after a refusal by a gate, the worker that refused.
    pub worker: Option<u32>,
    /// Its rank within the worker, once known.
    pub rank: Option<u32>,
    /// Where it is.
    pub stage: Stage,
    /// Prompt tokens it computes (after a migration, the tokens put out before count too).
    pub input_tokens: u32,
    /// Tokens it still has to put out.
    pub output_tokens: u32,
    /// Tokens put out at workers that failed it.
    pub produced: u32,
    /// Service time at an opaque worker, if the workload gives it.
    pub service_time: Option<Span>,
    /// When it first got an engine slot.
    pub slot: Option<SimTime>,
    /// When its first token came.
    pub first_token: Option<SimTime>,
    /// Further dispatches it may have.
    pub migration: MigrationBudget,
    /// Workers that failed it, kv mode's exclusion list.
    pub tried: Vec<WorkerId>,
    /// Handle in its rank's engine; at an opaque worker, the number of its service.
    pub handle: u32,
    /// Tokens its present worker has put out for it, once that is done with it.
    pub answered: u32,
    /// When the last part of the answer that is under way reaches the frontend.
    pub answer_at: SimTime,
    /// Its client left and the server noticed: it holds its place in a queue, or leaves at the end of the step.
    pub abandoned: bool,
}

impl Attempt {
    /// Whether somebody still waits for the answer.
    pub const fn is_wanted(&self) -> bool {
        self.request.is_some()
    }
}
