//! What a reader of a result should know beyond its figures.

mod checks;
mod disturbance;
mod idle;
mod recovery;

pub use checks::{HeldLatch, MonitorEnd};
pub use idle::Idle;
pub(super) use idle::IdleTimes;
pub(super) use recovery::recovery;
pub use recovery::{Flow, Recovery};

use super::result::{Point, RunResult};
use crate::scenario::{Scenario, Warning};
use crate::stats::backlog_trend;

/// Codes of the warnings that a run can give.
pub mod codes {
    /// More is offered than is served.
    pub const SATURATED: &str = "saturated";
    /// Goodput stays below what it was before a disturbance, at no more load.
    pub const DOES_NOT_RECOVER: &str = "does_not_recover";
    /// The run ended before what the scenario asked for.
    pub const INCOMPLETE: &str = "incomplete";
    /// Nothing arrived.
    pub const NO_REQUESTS: &str = "no_requests";
    /// A configured check whose signal or capacity never came.
    pub const NEVER_EVALUABLE: &str = "never_evaluable";
    /// A configured check whose line no rank can cross.
    pub const THRESHOLD_CANNOT_FIRE: &str = "threshold_cannot_fire";
    /// A latch that stays set by a signal that has gone silent.
    pub const LATCH_HELD_BY_SILENCE: &str = "latch_held_by_silence";
    /// A worker that was excluded as busy while it had nothing to do.
    pub const BUSY_WHILE_IDLE: &str = "busy_while_idle";
    /// A worker that was under a lease while it had nothing to do.
    pub const LEASED_WHILE_IDLE: &str = "leased_while_idle";
    /// Leases that end just when the refused come back.
    pub const LEASE_LOCKED_TO_RETRIES: &str = "lease_locked_to_retries";
    /// A worker that came back from reported down without its configuration.
    pub const UNCONFIGURED_WORKER: &str = "unconfigured_worker";
}

/// The warnings of a finished run.
pub fn warnings(scenario: &Scenario, result: &RunResult) -> Vec<Warning> {
    let mut warnings = Vec::new();
    warnings.extend(saturated(scenario, result));
    warnings.extend(recovery::does_not_recover(scenario, result));
    warnings.extend(checks::never_evaluable(scenario, result));
    warnings.extend(checks::cannot_fire(scenario));
    warnings.extend(checks::held_by_silence(result));
    warnings.extend(idle::warnings(result));
    warnings.extend(idle::locked_to_retries(scenario, result));
    if !result.end.is_complete() {
        warnings.push(Warning {
            code: codes::INCOMPLETE,
            subject: result.end.name().to_owned(),
            cause: format!("the run ended at {} before what the scenario asks for", result.ended_at),
            next_step: "raise the bound under [limits], or ask for less".to_owned(),
        });
    }
    if result.whole.requests.offered == 0 {
        warnings.push(Warning {
            code: codes::NO_REQUESTS,
            subject: scenario.name.clone(),
            cause: "no request arrived".to_owned(),
            next_step: "give the workload arrivals before the end of the run".to_owned(),
        });
    }
    warnings
}

/// Whether the backlog grew over the last half of the run (one-sided t test between batch means, at 99 %).
fn saturated(scenario: &Scenario, result: &RunResult) -> Option<Warning> {
    let backlog: Vec<f64> = result.series.full_points().iter().map(|p: &Point| p.unfinished as f64).collect();
    let last_half = &backlog[backlog.len() / 2..];
    let rising = backlog_trend(last_half)?.is_rising(0.99);
    let total = &result.total;
    rising.then(|| Warning {
        code: codes::SATURATED,
        subject: "backlog".to_owned(),
        cause: format!(
            "requests in the system kept growing over the last half of the run: {:.2}/s offered, {:.2}/s completed{}",
            total.offered_rate().unwrap_or(0.0),
            total.throughput().unwrap_or(0.0),
            checks::decode_never_fired(scenario, result),
        ),
        next_step: "latencies of such a run grow with its length: add workers, lower the rate, or set limits".to_owned(),
    })
}
