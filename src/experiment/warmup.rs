//! Where the warm-up of a run ends, found by a run of its own.

use super::run::{RunOptions, setup};
use crate::cluster::batching::StepGroup;
use crate::cluster::observer::{FleetSample, Observer};
use crate::cluster::{Remote, Simulation};
use crate::scenario::Scenario;
use crate::stats::{WarmUp, mser5};
use crate::units::{SimTime, Span};
use crate::workload::error::WorkloadError;

/// Requests in the system, sample by sample.
#[derive(Debug, Default)]
struct Backlog(Vec<f64>);

impl Observer for Backlog {
    fn sample(&mut self, _now: SimTime, fleet: &FleetSample) {
        self.0.push(fleet.unfinished as f64);
    }
}

/// The cut that the MSER-5 rule (White 1997) finds in the number of requests in the system, sampled every `interval`; none
/// where it finds none.
///
/// # Errors
/// As a run.
pub(super) fn find<G: StepGroup>(scenario: &Scenario, options: RunOptions, interval: Span) -> Result<Span, WorkloadError> {
    // Judging decisions changes none, and the cut does not ask for it.
    let setup = crate::cluster::Setup { judge_decisions: false, ..setup(scenario, options, interval) };
    let mut simulation = Simulation::<G, _>::new(setup, Backlog::default())?;
    simulation.run(&Remote::default())?;
    Ok(match mser5(&simulation.into_observer().0) {
        WarmUp::Cut(samples) => interval.saturating_mul(samples as u64),
        WarmUp::NotFound | WarmUp::TooShort => Span::ZERO,
    })
}
