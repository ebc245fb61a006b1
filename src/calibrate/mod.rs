//! From measurements of a real engine to a preset that scenarios may name.
//!
//! Three kinds of measurement are read: the log of requests of a real run ([`RunLog`]), the output of Dynamo's profiler
//! ([`profile`]) and tables of prefill and decode times ([`timings`]). A run is fitted by simulation: the rank's own batching
//! ([`crate::cluster::batching`]) replays the log, so that the coefficients answer for every step as the simulator will run it.
//! Points of a profile or table are fitted by relative least squares.
//!
//! What cannot be told from the data is said and not fitted ([`CalibrationError`], [`Doubt`]).

mod columns;
mod engine_facts;
mod error;
mod goodness;
pub mod kernels;
mod kv_pool;
mod least_squares;
mod npy;
mod npz;
mod outcome;
mod points;
pub mod profile;
mod replay;
mod rows;
mod run_engine;
mod run_fit;
mod run_load;
mod run_log;
mod run_loss;
mod run_search;
mod run_start;
mod scatter;
mod series;
mod simplex;
pub mod timings;

pub use engine_facts::{EngineFacts, FactSource};
pub use error::CalibrationError;
pub use goodness::{Comparison, Latency, percentile};
pub use outcome::{Calibration, Doubt, Evidence, Goodness, PointErrors, PointPreset, Range};
pub use points::{DecodePoint, PointFit, PrefillPoint, fit_points};
pub use replay::{ReplayLimits, Replayed, Served, replay};
pub(crate) use rows::bounded;
pub use rows::{ColumnNames, Filter};
pub use run_fit::{FitOptions, RunFit, fit_run, judge};
pub use run_log::{LoggedRequest, RunLog, TimeUnit};
pub use series::{Tick, TickSeries};

#[cfg(test)]
mod tests;
