//! Continuous batching: ranks with chunked prefill, KV blocks and recompute preemption.
//!
//! The rules are vLLM's as far as they decide overload: running sequences come first, in admission order, then waiting
//! ones first come, first served; a sequence that needs a block where none is free preempts the most recently admitted
//! one. [`Stepwise`] is the plain algorithm, one event per step and work per sequence: the oracle. [`Coalesced`] jumps over
//! runs of steps in closed form and must agree with it to the last byte.
//!
//! Ranks that end their steps together form a [`StepGroup`]: one rank alone, or all ranks of a worker in lockstep.

mod block_size;
mod buckets;
mod coalesced;
mod group;
mod stepwise;
mod timing;

pub use coalesced::Coalesced;
pub use group::{NewSequence, Next, RankSnapshot, RankSpec, StepEvent, StepGroup, Watch};
pub use stepwise::Stepwise;
pub use timing::StepWork;

#[cfg(test)]
mod equality;
