//! Experiments: one run, and many.

pub mod compare;
pub mod imitation;
mod journal_lines;
pub mod measure_table;
pub mod measures;
pub mod phases;
pub mod plan;
pub mod quality;
pub mod record;
pub mod result;
pub mod run;
pub mod sink;
pub mod sweep;
pub mod verdicts;
pub mod warmup;

pub use result::{RunEnd, RunResult};
pub use run::{EngineKind, RunOptions, run};
pub use sink::Sink;
