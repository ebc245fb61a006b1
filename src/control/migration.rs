//! When a frontend sends a failed request to another worker (`migration_limit`).

use super::status::RefusalReason;

/// How a dispatch failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DispatchFailure {
    /// The worker's gate was full.
    WorkerAtCapacity,
    /// The worker could not be reached, or the connection broke before any output.
    ConnectionFailed,
    /// The stream ended early; what it produced counts as prompt of the next dispatch.
    StreamCut,
}

impl DispatchFailure {
    /// The reason the client is given if nothing better comes after it.
    pub const fn reason(self) -> RefusalReason {
        match self {
            Self::WorkerAtCapacity => RefusalReason::WorkerAtCapacity,
            Self::ConnectionFailed | Self::StreamCut => RefusalReason::Unavailable,
        }
    }
}

/// What a frontend does after a failed dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// Route and dispatch it again.
    TryAgain,
    /// Answer the client with the status of this reason.
    Answer(RefusalReason),
}

/// The further dispatches one request may have.
///
/// Only a failed dispatch is tried again: an exhausted pool is answered at once, and a client that is gone needs no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MigrationBudget {
    left: u32,
    last: Option<DispatchFailure>,
}

impl MigrationBudget {
    /// The budget of a new request; a pinned one is never sent elsewhere.
    pub const fn new(migration_limit: u32, pinned: bool) -> Self {
        Self { left: if pinned { 0 } else { migration_limit }, last: None }
    }

    /// A dispatch failed: what now?
    pub fn after(&mut self, failure: DispatchFailure) -> AfterFailure {
        self.last = Some(failure);
        if self.left == 0 {
            return AfterFailure::Answer(failure.reason());
        }
        self.left -= 1;
        AfterFailure::TryAgain
    }

    /// The last failure, which also decides the answer where no untried worker is left (kv mode).
    pub const fn last_failure(&self) -> Option<DispatchFailure> {
        self.last
    }

    /// Further dispatches left.
    pub const fn left(&self) -> u32 {
        self.left
    }
}

/// Prompt and remaining output, in tokens, of a request whose stream was cut after `produced` tokens.
pub const fn after_cut(isl: u64, osl: u64, produced: u64) -> (u64, u64) {
    (isl + produced, osl.saturating_sub(produced))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_request_and_one_without_budget_are_answered_at_once() {
        let answer = AfterFailure::Answer(RefusalReason::WorkerAtCapacity);
        assert_eq!(MigrationBudget::new(3, true).after(DispatchFailure::WorkerAtCapacity), answer);
        assert_eq!(MigrationBudget::new(0, false).after(DispatchFailure::WorkerAtCapacity), answer);
    }

    #[test]
    fn the_last_failure_decides_the_answer() {
        let mut budget = MigrationBudget::new(1, false);
        assert_eq!(budget.after(DispatchFailure::WorkerAtCapacity), AfterFailure::TryAgain);
        assert_eq!(budget.after(DispatchFailure::ConnectionFailed), AfterFailure::Answer(RefusalReason::Unavailable));
        assert_eq!(budget.last_failure(), Some(DispatchFailure::ConnectionFailed));
    }

    #[test]
    fn produced_tokens_move_from_the_output_to_the_prompt() {
        assert_eq!(after_cut(100, 50, 20), (120, 30));
    }
}
