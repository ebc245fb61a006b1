//! How far a run of a cell comes in a given time: what the time of a whole sweep is estimated from.

use crate::cluster::Remote;
use crate::experiment::{RunEnd, RunOptions, RunResult, run};
use crate::scenario::{Scenario, Warmup};
use crate::units::Span;

use super::plan::Plan;
use super::record::Record;

/// What a probe of a cell gives.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Which share of the first replication it went through, above 0 and up to 1.
    pub share: f64,
    /// The first replication, if it was finished: a record like any other.
    pub record: Option<Record>,
}

/// Runs the first replication of a cell until it is over, or stopped through `remote`. `None` where it cannot be told how far it
/// went, or where the cell fails: the sweep will say why.
pub fn probe(plan: &Plan, cell: usize, remote: &Remote) -> Option<Probe> {
    let mut scenario = plan.scenario(cell).ok()?;
    // The search for a warm-up is a run of its own, of which it cannot be told how far it is: it is left out, and counted.
    let searched = scenario.warmup == Warmup::Mser5;
    if searched {
        scenario.warmup = Warmup::Fixed(Span::ZERO);
    }
    let runs = if searched { 2.0 } else { 1.0 };
    let (result, ()) = run(&scenario, RunOptions::default(), (), remote).ok()?;
    if result.end == RunEnd::Interrupted {
        return covered(&scenario, &result).map(|share| Probe { share: share / runs, record: None });
    }
    let record = (!searched).then(|| Record::of(cell, 0, &scenario, &result));
    Some(Probe { share: 1.0 / runs, record })
}

/// Which share of the run was simulated: of the time, or of the requests.
fn covered(scenario: &Scenario, result: &RunResult) -> Option<f64> {
    let of = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    let time = scenario.horizon.and_then(|end| of(result.ended_at.as_nanos(), end.as_nanos()));
    let count = scenario.requests.and_then(|all| of(result.whole.requests.offered, all));
    // Whichever comes first ends a run.
    let share = time.into_iter().chain(count).fold(0.0, f64::max);
    (share > 0.0).then_some(share.min(1.0))
}
