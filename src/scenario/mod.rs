//! The file a user writes: TOML to a resolved, valid [`Scenario`], with all faults of the file at once, and back to TOML.
//!
//! A [`Document`] is a file parsed once; [`Document::with`] applies options such as `--set fleet.workers=8`, and
//! [`Document::decode`] checks and resolves. Every fault names file, line and field, the value, and what was expected;
//! settings that can have no effect are typed [`Warning`]s. [`Scenario::to_toml`] writes everything out, defaults and
//! presets included, in a form that reads back to the very same scenario.

mod amount;
mod check;
mod clients;
mod document;
mod engine;
mod epoch;
mod events;
mod fault;
mod faults;
mod fleet;
mod frontend;
mod item;
mod lengths;
mod node;
mod notes;
mod preset_file;
mod presets;
mod resolved;
mod section;
mod set_option;
mod spans;
mod stream_lengths;
mod top;
mod trace;
mod types;
mod warning;
mod workload;

#[cfg(test)]
mod tests;

pub use document::{Document, MAX_FILE_BYTES};
pub use epoch::Epoch;
pub use fault::{Fault, Faults, Place};
pub use item::{Item, NumberRange};
pub use notes::{Notebook, Notes, Shape, TableNotes};
pub use preset_file::PresetFile;
pub use presets::{PRESETS, Preset, PresetKind, PresetTiming};
pub use resolved::workload_toml;
pub use section::{Context, Section};
pub use set_option::SetOption;
pub use trace::trace_config;
pub use types::{Limits, Loaded, OutputConfig, QuantileMethod, Scenario, SloConfig, Warmup};
pub use warning::{Warning, codes};
