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
/// where it finds none. Stopped through `remote`, it finds whatever it has seen by then.
///
/// # Errors
/// As a run.
pub(super) fn find<G: StepGroup>(
    scenario: &Scenario,
    options: RunOptions,
    interval: Span,
    remote: &Remote,
) -> Result<Span, WorkloadError> {
    // Judging decisions changes none, and the cut does not ask for it.
    let setup = crate::cluster::Setup { judge_decisions: false, ..setup(scenario, options, interval) };
    let mut simulation = Simulation::<G, _>::new(setup, Backlog::default())?;
    simulation.run(remote)?;
    Ok(match mser5(&simulation.into_observer().0) {
        WarmUp::Cut(samples) => interval.saturating_mul(samples as u64),
        WarmUp::NotFound | WarmUp::TooShort => Span::ZERO,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use crate::cluster::Remote;
    use crate::experiment::{RunEnd, RunOptions, run};
    use crate::scenario::Scenario;

    #[test]
    fn who_stops_a_run_need_not_wait_for_the_search() {
        // Years of traffic: a search that could not be stopped would never end.
        let text = r#"
            horizon = "10000h"
            warmup = "mser-5"
            [fleet]
            workers = 1
            service_time = "10ms"
            [workload]
            arrivals = { process = "poisson", rate = 1000 }
            input_tokens = 10
            output_tokens = 1
        "#;
        let scenario = Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario;
        let remote = Remote::default();
        remote.stop.store(true, Relaxed);
        let (result, ()) = run(&scenario, RunOptions::default(), (), &remote).unwrap();
        assert_eq!(result.end, RunEnd::Interrupted);
    }
}
