//! What a run looks like to a reader: pure functions from results to bytes.
//!
//! [`Summary`] holds every figure that is shown of a run, so that JSON, text and pages cannot differ. Rows of the time
//! series and of requests are written while the run goes on ([`streams`]). [`Directory`] takes care that a reader never
//! meets a file that is only half there.

pub mod calibration;
pub mod charts;
pub mod compare;
mod directory;
mod figure_loads;
mod figures;
mod findings;
pub mod html;
mod json;
mod marks;
pub mod openmetrics;
pub mod plan;
mod quality;
mod run_charts;
pub mod schema;
pub mod screen;
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

pub use directory::{Directory, DirectoryError, DirectoryLock, LimitedFile, RESULT_FILES};
pub use figure_loads::loads_data;
pub use figures::{busy_data, latency_data, occupancy_data, refusals_data, traffic_data, updates_data};
pub use findings::Findings;
pub use json::to_json;
pub use quality::{ConfusionSummary, QualitySummary};
pub use run_charts::{CHARTS_SCHEMA, RunCharts, RunFigure, run_figures};
pub use story::story_text;
pub use streams::Streams;
pub use summary::*;
pub use text::{Extent, summary_screen, summary_text};
pub use updates_csv::threshold_updates_csv;
pub use verdict::{admitting_setting, headline};
pub use workers_csv::{ranks_csv, workers_csv};
pub use wrap::wrap;
