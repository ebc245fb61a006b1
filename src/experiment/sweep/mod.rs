//! Sweeps: the same scenario over a grid of settings, with replications that share their random numbers between cells.
//!
//! A [`Plan`] is read from the `[sweep]` table of a scenario and from options, and refuses everything that is wrong before
//! the first run. [`run_sweep`] makes [`Record`]s of runs in parallel; [`SweepResult`] sums them up. What is found depends
//! on the plan alone: not on the number of jobs, the order of the runs, the shards, or how often it was stopped and
//! resumed ([`journal`]).

pub mod fingerprint;
pub mod grid;
pub mod journal;
pub(in crate::experiment) mod plan;
mod probe;
pub(in crate::experiment) mod range;
mod record;
mod result;
mod run;
pub(in crate::experiment) mod target;

#[cfg(test)]
mod coverage_tests;
#[cfg(test)]
mod overhead_tests;
#[cfg(test)]
mod tests;

pub use grid::{Axis, Grid};
pub use journal::{Journal, MergeError, merge};
pub use plan::{DEFAULT_MOST, DEFAULT_REPLICATIONS, Description, MAX_REPLICATIONS, MAX_RUNS, Plan, Request, SCHEMA};
pub use probe::{Probe, probe};
pub use range::parse_range;
pub use record::{Entry, Record};
pub use result::{Cell, Difference, Estimate, LEVEL, Method, Status, SweepResult, estimate};
pub use run::{Progress, Settings, Shard, run_sweep};
pub use target::{Precision, Target, Verdict, find as find_measure};
