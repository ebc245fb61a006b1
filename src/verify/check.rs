//! A value beside its reference.

use schemars::JsonSchema;
use serde::Serialize;

use crate::calibrate::CalibrationError;
use crate::cluster::Remote;
use crate::experiment::{EngineKind, RunEnd, RunOptions, RunResult, run};
use crate::scenario::{Faults, Scenario};
use crate::workload::error::WorkloadError;

/// One figure that is held against a reference.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Check {
    /// What is checked.
    pub name: String,
    /// As simulated, in base units.
    pub value: f64,
    /// What it should be.
    pub reference: f64,
    /// `value / reference - 1`; not finite, in JSON null, where the reference is 0.
    #[schemars(with = "Option<f64>")]
    pub error: f64,
    /// How far the value may be from its reference, in the unit of both.
    pub allowed: f64,
    /// Whether it is no further.
    pub passed: bool,
}

impl Check {
    /// Holds `value` against `reference`; it passes within `allowed` of it.
    pub fn new(name: impl Into<String>, value: f64, reference: f64, allowed: f64) -> Self {
        let error = if value == reference { 0.0 } else { value / reference - 1.0 };
        Self { name: name.into(), value, reference, error, allowed, passed: (value - reference).abs() <= allowed }
    }
}

/// Checks of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CheckTable {
    /// What they hold the program against.
    pub title: String,
    /// How the bounds come about.
    pub rule: String,
    /// The checks.
    pub checks: Vec<Check>,
}

impl CheckTable {
    /// Whether all pass.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }
}

/// Why a verification could not be made.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// A scenario that is faulty.
    #[error(transparent)]
    Scenario(#[from] Faults),
    /// A workload that cannot be read.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A recording that cannot be read.
    #[error(transparent)]
    Recording(#[from] CalibrationError),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// Something else, in words.
    #[error("{0}")]
    Other(String),
}

/// Runs the scenario in `text`, in replication `replication`.
pub(super) fn run_text(text: &str, replication: u64, remote: &Remote) -> Result<RunResult, VerifyError> {
    let loaded = Scenario::parse(text, "built-in check", &[])?;
    let options = RunOptions { replication, engine: EngineKind::default(), explain: None };
    let (result, ()) = run(&loaded.scenario, options, (), remote)?;
    if result.end == RunEnd::Interrupted { Err(VerifyError::Interrupted) } else { Ok(result) }
}
