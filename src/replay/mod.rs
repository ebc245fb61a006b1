//! Recorded control events, replayed through the control code.
//!
//! A record is one JSON object: a case with its steps, or a single choice. Its kind is told by its content. [`replay`] runs
//! one through [`crate::control`] and shows the state after each step; [`verify`] compares that with what the
//! record expects and names the first difference. Nothing is read or printed here.

mod choices;
mod gate;
mod monitor;
mod record;
mod run;
mod tracking;

pub use choices::EveryChoice;
pub use monitor::{ConfigEntry, LoadEntry, MonitorOp, MonitorRecord};
pub use record::{Record, RecordError, Step, WorkerNames};
pub use run::{Difference, ReplayError, StepState, replay, verify};
