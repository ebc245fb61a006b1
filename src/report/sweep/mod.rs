//! What a sweep looks like to a reader: pure functions from a result to bytes.

pub(in crate::report) mod axes;
mod charts;
mod csv;
mod emit;
mod findings;
mod json;
mod table;
mod titles;
mod trade_off;

#[cfg(test)]
mod tests;

pub(in crate::report) use axes::show;
pub use charts::{SweepFigure, sweep_figures};
pub use csv::{cells_csv, differences_csv, replications_csv};
pub use emit::{Emit, JobFile, emit};
pub use findings::{BestFigure, best_figures, sweep_findings};
pub use json::sweep_json;
pub use table::{sweep_cells, sweep_headline, sweep_screen, sweep_text};
