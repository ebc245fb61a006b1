//! The planner: how many workers, how much load, which limits or which mix, and how sure that is.
//!
//! A [`Plan`] is read from the `[plan]` table of a scenario and from options, and refuses everything that is wrong before
//! the first run. [`answer`] runs what is needed in a [`Lab`], which remembers every run, and returns an [`Answer`]. Runs of a
//! cell share their random numbers with those of all other cells. What is found depends on the plan alone: not on the
//! number of jobs, nor on how often it was stopped and resumed ([`journal`]).

mod answer;
mod binds;
mod bounds;
mod conditions;
mod description;
mod goal;
pub mod journal;
mod judge;
mod lab;
mod length;
mod limits;
mod line;
mod load;
mod mix;
mod question;
mod record;
mod sensitivity;
mod variants;

#[cfg(test)]
mod tests;

pub use answer::{Answer, Looked, Note, Outcome, answer};
pub use binds::{Binding, Facts};
pub use bounds::Bound;
pub use description::{Description, Quest, SCHEMA};
pub use goal::Goal;
pub use judge::{Judged, Judgement, Verdict};
pub use lab::{Halt, Key, Lab, Progress};
pub use length::{Looks, RunLength};
pub use load::LOAD;
pub use question::{Plan, Request};
pub use record::{Batch, Evidence, Record};
pub use sensitivity::Shift;
pub use variants::Variant;
