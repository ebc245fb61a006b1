//! What a plan is, as far as its results and their reader are concerned.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::sweep::Grid;

use super::bounds::Bound;
use super::conditions::Conditions;
use super::goal::Goal;
use super::length::Looks;
use super::variants::Variant;

/// Name and version of the format of `plan.json`.
pub const SCHEMA: &str = "shedcast.plan/1";

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Quest {
    /// The least value of a field that meets the targets; cells are ordered from the least value up.
    Fewest {
        /// The field.
        path: String,
    },
    /// The greatest value of a field, or of the load, that meets the targets; cells are ordered from the greatest value down.
    Most {
        /// The field, or [`LOAD`](super::LOAD).
        path: String,
    },
    /// The cell with the best value of a measure among those that meet the targets.
    Best {
        /// The measure.
        measure: String,
    },
    /// The cell whose fleet costs least among those that meet the targets; `costs` stand by cell.
    Cheapest {
        /// Cost of the fleet of each cell.
        costs: Vec<String>,
    },
}

impl Quest {
    /// The cost of a cell, if costs are asked for.
    pub fn cost(&self, cell: usize) -> Option<f64> {
        match self {
            Self::Cheapest { costs } => costs.get(cell)?.parse().ok(),
            _ => None,
        }
    }
}

/// What a plan is: pure data, written with every journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Description {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of the program: other versions may give other numbers.
    pub version: String,
    /// Name of the scenario.
    pub name: String,
    /// What it shows.
    pub description: Option<String>,
    /// Names of the worker types, in their order.
    pub types: Vec<String>,
    /// Root of all randomness, the same for every cell: common random numbers.
    pub seed: u64,
    /// What must hold.
    pub goals: Vec<Goal>,
    /// Under which conditions.
    pub conditions: Conditions,
    /// What is looked for.
    pub quest: Quest,
    /// Where it is looked for. Along a line (`fewest`, `most`), cells are ordered from the hardest to the easiest.
    pub grid: Grid,
    /// Probability, at least, with which a verdict on a cell is right.
    pub confidence: f64,
    /// Runs of the scenario as asked, at most.
    pub max_runs: usize,
    /// How a cell is looked at.
    pub looks: Looks,
    /// What closed forms say.
    pub bounds: Vec<Bound>,
    /// The cell that the search starts from.
    pub start: Option<usize>,
    /// The scenario as asked, and what else is looked at once an answer is there.
    pub variants: Vec<Variant>,
    /// Of all that decides the results.
    pub fingerprint: String,
}

impl Description {
    /// How many cells there are.
    pub fn cells(&self) -> usize {
        self.grid.cells() as usize
    }

    /// The confidence level of one look: the error is shared evenly among the looks that a cell can get (Bonferroni), as in
    /// [`SequentialTest`](crate::stats::SequentialTest).
    pub fn look_level(&self) -> f64 {
        1.0 - (1.0 - self.confidence) / self.looks.deciding() as f64
    }
}
