//! How well an imitation of a trace does what it is for: does a fleet refuse as much of it as of the trace?

use super::run::{EngineKind, RunOptions, run};
use crate::cluster::Remote;
use crate::scenario::Scenario;
use crate::stats::MeanInterval;
use crate::units::{SimTime, Span};
use crate::workload::config::{TraceConfig, WorkloadConfig};
use crate::workload::error::WorkloadError;
use crate::workload::fit::Fit;

/// Runs of the imitation, with random numbers of their own.
pub const REPLICATIONS: u64 = 5;
/// An imitation may refuse this much more or less than its trace, relative to the trace.
pub const TOLERANCE: f64 = 0.10;

/// Refusals of a trace and of its imitation on one fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusalComparison {
    /// Name of the scenario whose fleet it is.
    pub scenario: String,
    /// Share of the trace's attempts that were refused; `None` if there was none.
    pub trace: Option<f64>,
    /// Mean share of the imitation's attempts that were refused, over [`REPLICATIONS`], with its 95 % interval.
    pub imitation: Option<MeanInterval>,
}

impl RefusalComparison {
    /// By how much the imitation refuses more than the trace, relative to it; `None` if the trace is refused nothing.
    pub fn relative_error(&self) -> Option<f64> {
        let trace = self.trace.filter(|share| *share > 0.0)?;
        Some(self.imitation.as_ref()?.mean / trace - 1.0)
    }
}

/// Runs the trace and its imitation on the fleet of `scenario`, whose own workload is left out, to the last arrival of the
/// trace.
///
/// # Errors
/// A trace that cannot be opened or read on.
pub fn compare_refusals(scenario: &Scenario, trace: &TraceConfig, fit: &Fit) -> Result<RefusalComparison, WorkloadError> {
    let with = |workload: WorkloadConfig| Scenario {
        workload,
        // Arrivals end before the horizon: that of the last one is the first instant after it.
        horizon: Some(SimTime::ZERO.saturating_add(fit.span.since(SimTime::ZERO) + Span::from_nanos(1))),
        requests: None,
        phases: None,
        ..scenario.clone()
    };
    let share = |scenario: &Scenario, replication: u64| -> Result<Option<f64>, WorkloadError> {
        let options = RunOptions { replication, engine: EngineKind::Coalesced, explain: None };
        Ok(run(scenario, options, (), &Remote::default())?.0.total.rate_529())
    };
    let recorded = with(WorkloadConfig { trace: Some(trace.clone()), ..WorkloadConfig::default() });
    let imitated = with(fit.workload.clone());
    let mut shares = Vec::new();
    for replication in 0..REPLICATIONS {
        shares.extend(share(&imitated, replication)?);
    }
    Ok(RefusalComparison {
        scenario: scenario.name.clone(),
        trace: share(&recorded, 0)?,
        imitation: crate::stats::mean_interval(&shares, 0.95),
    })
}
