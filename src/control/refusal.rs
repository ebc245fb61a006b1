//! A refused request: by which layer, for which reason, and what alone would have let it through.

use super::checks::Checks;
use super::ids::WorkerId;
use super::status::RefusalReason;
use crate::units::SimTime;

/// Where a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalLayer {
    /// The frontend, with all its workers in view.
    Pool,
    /// The frontend, for the exact worker asked for.
    Pinned(WorkerId),
    /// The frontend, which has no worker left that did not fail this request already (kv mode).
    Untried,
    /// The admission gate of this worker.
    WorkerGate(WorkerId),
}

/// A refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// When.
    pub at: SimTime,
    /// For what.
    pub reason: RefusalReason,
    /// By what.
    pub layer: RefusalLayer,
    /// The decisive checks: each of them alone, unset, would have routed the request. Empty where none alone
    /// suffices, and where no check was involved.
    pub freed_by: Checks,
    /// The earliest start of a lease in force on a worker the request could have had.
    pub leased_since: Option<SimTime>,
}

impl Refusal {
    /// No worker could be reached.
    pub fn unavailable(at: SimTime, layer: RefusalLayer) -> Self {
        Self { at, reason: RefusalReason::Unavailable, layer, freed_by: Checks::NONE, leased_since: None }
    }

    /// The gate of `worker` refused the request.
    pub fn at_capacity(at: SimTime, worker: WorkerId) -> Self {
        Self {
            at,
            reason: RefusalReason::WorkerAtCapacity,
            layer: RefusalLayer::WorkerGate(worker),
            freed_by: Checks::NONE,
            leased_since: None,
        }
    }

    /// Whether exclusions refused the request, and no single check among them was decisive.
    pub fn is_joint(&self) -> bool {
        let by_exclusion = matches!(self.reason, RefusalReason::AllWorkersBusy | RefusalReason::PinnedWorkerBusy);
        by_exclusion && self.freed_by.is_empty()
    }
}
