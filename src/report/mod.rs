//! What a run looks like to a reader: pure functions from results to bytes.
//!
//! [`Summary`] holds every figure that is shown of a run, so that JSON, text and pages cannot differ. Rows of the time
//! series and of requests are written while the run goes on ([`streams`]). [`Directory`] takes care that a reader never
//! meets a file that is only half there.

pub mod calibration;
pub mod charts;
mod directory;
mod figure_loads;
mod figures;
mod json;
mod marks;
mod quality;
mod story;
pub mod streams;
mod summarise;
mod summary;
pub mod sweep;
mod text;
pub mod trace;
mod updates_csv;
mod verdict;
pub mod verification;
mod workers_csv;
mod wrap;

pub use directory::{Directory, DirectoryError, LimitedFile, RESULT_FILES};
pub use figure_loads::loads_data;
pub use figures::{
    RunFigure, busy_data, latency_data, occupancy_data, overview_data, refusals_data, run_figures, traffic_data, updates_data,
};
pub use json::to_json;
pub use quality::{ConfusionSummary, QualitySummary};
pub use story::story_text;
pub use streams::Streams;
pub use summary::*;
pub use text::summary_text;
pub use updates_csv::threshold_updates_csv;
pub use verdict::{admitting_setting, headline};
pub use workers_csv::{ranks_csv, workers_csv};
pub use wrap::wrap;
