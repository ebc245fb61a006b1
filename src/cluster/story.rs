//! What happened to one request, for whoever asks why.

use super::observer::{AttemptOutcome, GateState, RequestOutcome};
use crate::control::{Admission, Destination, DispatchFailure, FiringCheck, Refusal};
use crate::units::SimTime;

/// A worker as a frontend sees it when it decides.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerView {
    /// Its id.
    pub worker: u32,
    /// Registered, as the frontend knows.
    pub discovered: bool,
    /// Registered, as it is.
    pub present: bool,
    /// The frontend holds it for unreachable.
    pub down: bool,
    /// Busy as published.
    pub busy: bool,
    /// End of its lease, if it is under one.
    pub leased_until: Option<SimTime>,
    /// Checks that fire on its ranks.
    pub firing: Vec<FiringCheck>,
    /// Its gate, which the frontend does not see.
    pub gate: GateState,
    /// Failed this request before: kv mode passes it over.
    pub tried: bool,
}

impl WorkerView {
    /// Whether the frontend could pick it.
    pub const fn is_eligible(&self) -> bool {
        self.discovered && !self.down && !self.busy && self.leased_until.is_none() && !self.tried
    }
}

/// A step of a request's way.
#[derive(Clone, Debug, PartialEq)]
pub enum StoryEvent {
    /// The client sent it for the first time.
    Arrived {
        /// Prompt tokens.
        input_tokens: u32,
        /// Tokens to generate.
        output_tokens: u32,
    },
    /// An attempt reaches a frontend.
    Attempt {
        /// Which one, from 1.
        number: u32,
        /// The frontend.
        frontend: u32,
    },
    /// The frontend decides.
    Decision {
        /// Every worker, as the frontend sees it just before.
        workers: Vec<WorkerView>,
        /// What it decides.
        routed: Result<Destination, Refusal>,
    },
    /// The attempt knocks at a worker's gate.
    Gate {
        /// The worker.
        worker: u32,
        /// What the gate says; `None` where nobody answers.
        admission: Option<Admission>,
        /// The gate after it.
        gate: GateState,
    },
    /// The attempt has an engine slot.
    Slot {
        /// The worker.
        worker: u32,
    },
    /// The attempt joined the waiting line of a rank.
    Rank {
        /// The worker.
        worker: u32,
        /// The rank.
        rank: u32,
    },
    /// The first output token reached the frontend.
    FirstToken,
    /// The frontend tries another worker.
    Migrated {
        /// The worker that failed.
        worker: u32,
        /// How.
        failure: DispatchFailure,
        /// Tokens put out so far: they count as prompt from here on.
        produced: u32,
    },
    /// The attempt ended.
    Ended {
        /// How.
        outcome: AttemptOutcome,
    },
    /// The client will try again.
    Retries {
        /// When.
        at: SimTime,
    },
    /// The request is over.
    Over {
        /// How.
        outcome: RequestOutcome,
    },
}
