//! What a plan looks like to a reader: pure functions from an answer to bytes.

mod charts;
mod csv;
mod json;
mod page;
mod settings;
mod text;
mod words;

pub use charts::{PlanFigure, plan_figures};
pub use csv::{plan_cells_csv, plan_runs_csv};
pub use json::plan_json;
pub use page::plan_page;
pub use settings::{Typed, dynamo_settings, guidance};
pub use text::{plan_text, plan_toml};

use crate::scenario::Scenario;

/// The scenarios of the cell that is the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// As one would run it.
    pub fleet: Scenario,
    /// As it was tested: under the plan's conditions, as long as its first run.
    pub proof: Scenario,
}
