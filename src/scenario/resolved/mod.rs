//! `resolved.toml`: the scenario written out whole, so that it reads back to the very same one.

mod distributions;
mod events;
mod fleet;
mod frontend;
mod top;
mod workload;
mod writer;

pub(super) use fleet::{step_timing, type_path};
pub use workload::workload_toml;
