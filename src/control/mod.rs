//! The code a real frontend and worker would link: thresholds, rank load, monitor, router, tracking, admission gate,
//! refusal to status, metric names. No I/O, clock, thread or randomness; of this crate it uses `units` alone.

pub mod thresholds;

pub use thresholds::{BusyThresholds, ThresholdError, ThresholdUpdate};
