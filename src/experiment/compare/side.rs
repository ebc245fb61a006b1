//! One directory of results.

use rayon::prelude::*;

use crate::cluster::Remote;
use crate::experiment::measure_table::MEASURES;
use crate::experiment::sweep::Record;
use crate::experiment::{RunEnd, RunOptions, run};
use crate::scenario::Scenario;
use crate::workload::error::WorkloadError;

/// A run, or the cells of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// The directory, as it was named.
    pub name: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Root of all randomness.
    pub seed: u64,
    /// Fields of the scenario and their values as TOML, in the order of the file.
    pub fields: Vec<(String, String)>,
    /// What was run: one unit of a run, one per cell of a sweep.
    pub units: Vec<Unit>,
}

/// Replications of one scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// What tells it from the other units of its side; empty for a run.
    pub label: String,
    /// Its runs, by number.
    pub runs: Vec<Replication>,
}

/// The figures of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Replication {
    /// Which replication, from 0.
    pub number: u32,
    /// A value per measure, in the order of [`MEASURES`]; `None` where the run has none.
    pub values: Vec<Option<f64>>,
}

impl Unit {
    /// The values of a measure, with the numbers of their replications.
    pub(super) fn values(&self, measure: usize) -> Vec<(u32, f64)> {
        self.runs.iter().filter_map(|run| Some((run.number, run.values[measure]?))).collect()
    }
}

/// Runs the first `count` replications of a scenario, in parallel; `None` if they were stopped through `remote`.
///
/// # Errors
/// A workload that cannot be opened or read on.
pub fn replicate(scenario: &Scenario, count: u32, remote: &Remote) -> Result<Option<Vec<Replication>>, WorkloadError> {
    let one = |number: u32| {
        let options = RunOptions { replication: number.into(), ..RunOptions::default() };
        let (result, ()) = run(scenario, options, (), remote)?;
        if result.end == RunEnd::Interrupted {
            return Ok(None);
        }
        let record = Record::of(0, number, scenario, &result);
        debug_assert_eq!(record.values.len(), MEASURES.len());
        Ok(Some(Replication { number, values: record.values.iter().map(|entry| entry.value()).collect() }))
    };
    (0..count).into_par_iter().map(one).collect()
}
