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

use super::result::{Point, RunEnd, RunResult};
use crate::cluster::config::WorkerType;
use crate::cluster::worker::Engine;
use crate::scenario::{Scenario, Warning};
use crate::stats::backlog_trend;
use crate::stats::text::count;

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
    /// Requests that no worker can ever take.
    pub const UNSERVABLE: &str = "unservable";
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
    warnings.extend(unservable(scenario, result));
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
            cause: ended_early(result),
            next_step: match result.end {
                RunEnd::TimeStandsStill => "let users think (`clients.closed_loop.think_time`), or retry after a wait",
                _ => "raise the bound under [limits], or ask for less",
            }
            .to_owned(),
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

/// Requests that fit no worker, and what would fit.
fn unservable(scenario: &Scenario, result: &RunResult) -> Option<Warning> {
    let requests = &result.whole.requests;
    let longest = |of: &WorkerType| Engine::new(of).ok().and_then(|engine| engine.longest());
    let longest = scenario.fleet.types.iter().filter_map(longest).max().filter(|_| requests.unservable > 0)?;
    Some(Warning {
        code: codes::UNSERVABLE,
        subject: "fleet".to_owned(),
        cause: format!(
            "has no worker for {} of {} requests: prompt and answer together may have {longest} tokens at most (`max_model_len`, and \
             `kv_total_blocks` of a rank)",
            count(requests.unservable),
            count(requests.offered)
        ),
        next_step: "raise these limits, or let the workload have shorter requests".to_owned(),
    })
}

/// That a run did not go as far as the scenario asks, in words.
fn ended_early(result: &RunResult) -> String {
    let at = result.ended_at;
    match result.end {
        RunEnd::TimeStandsStill => format!(
            "simulated time stood still at {at}, and the run ended there: requests were over at once (refused, most likely), and their \
             clients sent again at once, without end"
        ),
        _ => format!("the run ended at {at} before what the scenario asks for"),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Remote;
    use crate::experiment::{EngineKind, RunOptions, run};
    use crate::units::SimTime;

    fn result(text: &str, engine: EngineKind) -> RunResult {
        let scenario = Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario;
        run(&scenario, RunOptions { engine, ..RunOptions::default() }, (), &Remote::default()).unwrap().0
    }

    fn said(result: &RunResult, code: &str) -> String {
        result.warnings.iter().filter(|w| w.code == code).map(Warning::to_string).collect()
    }

    /// One worker that holds four requests.
    fn gated(clients: &str) -> String {
        closed_loop("workers = 1\nengine_request_limit = 2\nrequest_queue_limit = 2", clients)
    }

    fn closed_loop(fleet: &str, clients: &str) -> String {
        format!(
            "horizon = \"1m\"\n[fleet]\nservice_time = \"1s\"\n{fleet}\n[workload]\ninput_tokens = 10\noutput_tokens = 1\n[clients]\n{clients}\n"
        )
    }

    #[test]
    fn users_who_are_refused_at_once_and_send_at_once_do_not_run_for_ever() {
        let endless = gated("max_in_flight = 5");
        let [fast, plain] = [EngineKind::Coalesced, EngineKind::Stepwise].map(|engine| result(&endless, engine));
        assert_eq!(fast.whole.requests.offered, plain.whole.requests.offered, "the bound is no matter of the engine");
        let nobody = result(&closed_loop("workers = 0", "max_in_flight = 5"), EngineKind::Coalesced);
        for result in [fast, nobody] {
            assert_eq!((result.end, result.ended_at), (RunEnd::TimeStandsStill, SimTime::ZERO));
            assert_eq!(result.whole.requests.accounted(), result.whole.requests.offered);
            assert_eq!(result.whole.attempts.accounted(), result.whole.attempts.started);
            assert!(said(&result, codes::INCOMPLETE).contains("simulated time stood still"), "{:?}", result.warnings);
        }
    }

    #[test]
    fn users_whom_the_gates_hold_and_many_refusals_of_one_instant_run_on() {
        let held = result(&gated("max_in_flight = 4"), EngineKind::Coalesced);
        assert_eq!((held.end, held.whole.requests.lost_to_overload), (RunEnd::Horizon, 0));
        let waits = "max_in_flight = 5\nretry = { statuses = [529], attempts = 3, initial = \"100ms\" }";
        let waits = result(&gated(waits), EngineKind::Coalesced);
        assert!(waits.end == RunEnd::Horizon && waits.whole.requests.lost_to_overload > 0);
        // Many sends of one instant, with an end.
        let text = "horizon = \"1m\"\n[fleet]\nworkers = 1\nservice_time = \"1s\"\nengine_request_limit = 2\n\
             request_queue_limit = 2\n[[workload.requests]]\nat = \"1s\"\ncount = 20000\n\
             input_tokens = 1\noutput_tokens = 1\n[clients]\nretry = { statuses = [529], attempts = 3 }\n";
        let burst = result(text, EngineKind::Coalesced);
        assert_eq!((burst.end, burst.whole.requests.completed), (RunEnd::Horizon, 4));
    }

    #[test]
    fn requests_that_fit_no_worker_are_warned_of_with_what_would_fit() {
        let text = |output: u32| {
            format!(
                "horizon = \"1m\"\n[fleet]\nworkers = 1\nengine = \"h100-llama-3.1-8b-bf16-vllm\"\nkv_total_blocks = 4\nkv_cache_block_size = 16\n\
                 [[workload.requests]]\nat = \"1s\"\ncount = 3\ninput_tokens = 60\noutput_tokens = {output}\n"
            )
        };
        let fits = result(&text(5), EngineKind::Coalesced);
        assert_eq!((fits.whole.requests.completed, said(&fits, codes::UNSERVABLE).as_str()), (3, ""));
        let never = result(
            &text(6).replace("[[workload", "[frontend]\nactive_decode_blocks_threshold = 0.5\n[[workload"),
            EngineKind::Coalesced,
        );
        assert_eq!(said(&never, codes::NEVER_EVALUABLE), "", "nothing was routed: the threshold is not at fault");
        let long = said(&never, codes::UNSERVABLE);
        assert!(long.contains("for 3 of 3 requests") && long.contains("65 tokens at most"), "{long}");
    }

    #[test]
    fn a_fleet_without_workers_is_not_told_to_change_its_thresholds() {
        let text = "horizon = \"1s\"\n[fleet]\nworkers = 0\nservice_time = \"1s\"\n[frontend]\nrouter_mode = \"kv\"\n\
                    active_decode_blocks_threshold = 0.5\n[[workload.requests]]\nat = \"0s\"\ninput_tokens = 1\noutput_tokens = 1\n";
        let result = result(text, EngineKind::Coalesced);
        assert_eq!((result.whole.requests.lost_to_unavailability, said(&result, codes::NEVER_EVALUABLE).as_str()), (1, ""));
    }
}
