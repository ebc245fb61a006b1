//! Workers kept out, or let in, for a reason that has gone.

use super::codes;
use crate::cluster::config::{Backoff, Jitter, RouterMode};
use crate::cluster::observer::FleetSample;
use crate::cluster::worker::Worker;
use crate::control::{Check, Checks};
use crate::experiment::result::RunResult;
use crate::scenario::{Scenario, Warning};
use crate::units::Span;

/// How long a worker was kept out while it had nothing to do, at the first frontend; as far as samples show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Idle {
    /// The worker.
    pub worker: u32,
    /// Busy by a check.
    pub busy: Span,
    /// Under a lease, and not busy by a check.
    pub leased: Span,
    /// Routable without a runtime configuration (idle or not).
    pub unconfigured: Span,
}

/// Sums of [`Idle`] while a run goes on.
#[derive(Clone, Debug, Default)]
pub(in crate::experiment) struct IdleTimes {
    workers: Vec<Idle>,
    fired: Checks,
}

impl IdleTimes {
    pub fn new(workers: u32) -> Self {
        let worker = |n| Idle { worker: Worker::FIRST_ID + n, ..Idle::default() };
        Self { workers: (0..workers).map(worker).collect(), fired: Checks::NONE }
    }

    /// A sample that stands for `span`.
    pub fn sample(&mut self, span: Span, fleet: &FleetSample) {
        for (idle, worker) in self.workers.iter_mut().zip(&fleet.workers) {
            self.fired |= worker.excluded;
            if worker.unconfigured {
                idle.unconfigured += span;
            }
            if !worker.present || worker.gate.in_engine + worker.gate.waiting > 0 || worker.excluded.is_empty() {
                continue;
            }
            let leased_only = Check::OF_MONITOR.into_iter().all(|check| !worker.excluded.contains(check));
            *(if leased_only { &mut idle.leased } else { &mut idle.busy }) += span;
        }
    }

    /// Checks seen to exclude a worker at any sample.
    pub fn fired(&self) -> Checks {
        self.fired
    }

    /// The workers of whom there is anything to say.
    pub fn finish(self) -> Vec<Idle> {
        let said = |idle: &Idle| !(idle.busy.is_zero() && idle.leased.is_zero() && idle.unconfigured.is_zero());
        self.workers.into_iter().filter(said).collect()
    }
}

/// A kind of warning about idle workers: its code, how long it was true of one, what is said, and what to do.
type Kind = (&'static str, fn(&Idle) -> Span, &'static str, &'static str);

/// One warning for each kind, which names the worker it was longest true of.
pub(super) fn warnings(result: &RunResult) -> Vec<Warning> {
    let kinds: [Kind; 3] = [
        (
            codes::BUSY_WHILE_IDLE,
            |idle| idle.busy,
            "excluded as busy while idle",
            "the load it is judged by is old, or counts what is not there: look at its reports and at the tracking",
        ),
        (
            codes::LEASED_WHILE_IDLE,
            |idle| idle.leased,
            "under a lease while idle",
            "a lease of a second outlives short requests: reports from workers end it earlier",
        ),
        (
            codes::UNCONFIGURED_WORKER,
            |idle| idle.unconfigured,
            "routable, but without the runtime configuration that a report of it as down had removed,",
            "its decode check cannot fire and its prefill fraction is taken of 10,000,000 tokens until any worker joins, leaves or \
             changes",
        ),
    ];
    let mut warnings = Vec::new();
    for (code, span, what, next_step) in kinds {
        let concerned = || result.idle.iter().filter(|idle| !span(idle).is_zero());
        let Some(longest) = concerned().max_by_key(|idle| (span(idle), std::cmp::Reverse(idle.worker))) else { continue };
        let others = match concerned().count() - 1 {
            0 => String::new(),
            n => format!(" (and {n} more workers for less)"),
        };
        warnings.push(Warning {
            code,
            subject: format!("worker {}", longest.worker),
            cause: format!("was {what} for {}{others}", span(longest)),
            next_step: next_step.to_owned(),
        });
    }
    warnings
}

/// Refused clients that come back at the very instants at which leases end, or start.
pub(super) fn locked_to_retries(scenario: &Scenario, result: &RunResult) -> Option<Warning> {
    let (frontend, retry) = (&scenario.frontend, scenario.clients.retry.as_ref()?);
    let lease = frontend.overload_lease;
    let gated = scenario.fleet.types.iter().any(|t| t.engine_request_limit.is_some());
    let lasts = gated && !lease.is_zero() && frontend.router_mode != RouterMode::Kv;
    let in_step = retry.jitter == Jitter::None
        && retry.statuses.contains(&frontend.overload_status_code)
        && !retry.initial.is_zero()
        && retry.initial.as_nanos().is_multiple_of(lease.as_nanos().max(1))
        && (retry.backoff == Backoff::Fixed || retry.attempts > 1);
    let refused_by_lease = result.whole.decisive.lease > 0;
    (lasts && in_step && refused_by_lease).then(|| Warning {
        code: codes::LEASE_LOCKED_TO_RETRIES,
        subject: "clients.retry".to_owned(),
        cause: format!(
            "the back-off of {} is a whole multiple of the lease of {lease}: refused clients come back together when leases end, \
             and open new ones ({} refusals by lease alone)",
            retry.initial, result.whole.decisive.lease
        ),
        next_step: "give retries a jitter, or let load reports end leases earlier".to_owned(),
    })
}
