//! One run of a scenario.

use super::record::Recorder;
use super::result::{RunEnd, RunResult, natural_interval};
use super::sink::Sink;
use crate::cluster::batching::{Coalesced, StepGroup, Stepwise};
use crate::cluster::{Ended, Remote, Setup, Simulation};
use crate::engine::Streams;
use crate::scenario::{Scenario, Warmup};
use crate::units::{SimTime, Span};
use crate::workload::config::ArrivalProcess;
use crate::workload::error::WorkloadError;

/// How ranks are simulated; the results are the same to the last byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// Runs of steps in closed form.
    #[default]
    Coalesced,
    /// Step by step: the oracle.
    Stepwise,
}

/// What a run takes besides its scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Which of the scenario's independent replications to run; 0 is the run itself.
    pub replication: u64,
    /// How ranks are simulated.
    pub engine: EngineKind,
    /// The request, counted from 0, whose story is wanted.
    pub explain: Option<u64>,
}

/// Runs `scenario`; streamed parts of the result go to `sink`.
///
/// # Errors
/// A workload that cannot be opened or read on.
pub fn run<S: Sink>(scenario: &Scenario, options: RunOptions, sink: S, remote: &Remote) -> Result<(RunResult, S), WorkloadError> {
    match options.engine {
        EngineKind::Coalesced => run_with::<Coalesced, S>(scenario, options, sink, remote),
        EngineKind::Stepwise => run_with::<Stepwise, S>(scenario, options, sink, remote),
    }
}

fn run_with<G: StepGroup, S: Sink>(
    scenario: &Scenario,
    options: RunOptions,
    sink: S,
    remote: &Remote,
) -> Result<(RunResult, S), WorkloadError> {
    let interval = sample_interval(scenario);
    let warmup = match scenario.warmup {
        Warmup::Fixed(span) => span,
        Warmup::Mser5 => super::warmup::find::<G>(scenario, options, interval, remote)?,
    };
    let setup = setup(scenario, options, interval);
    let recorder = Recorder::new(scenario, warmup, interval, sink).with_story_of(options.explain);
    let mut simulation = Simulation::<G, _>::new(setup, recorder)?;
    let ended = match simulation.run(remote)? {
        Ended::Horizon => RunEnd::Horizon,
        Ended::Drained => RunEnd::Drained,
        Ended::MaxEvents => RunEnd::MaxEvents,
        Ended::MaxRequestsInSystem => RunEnd::MaxRequestsInSystem,
        Ended::TimeStandsStill => RunEnd::TimeStandsStill,
        Ended::Interrupted => RunEnd::Interrupted,
    };
    let (now, source) = (simulation.now(), simulation.source());
    let (classes, trace, sessions) = (source.class_names().to_vec(), source.trace_report(), source.session_counts());
    let (mut result, sink) = simulation.into_observer().finish(now, ended, &classes);
    (result.trace, result.sessions) = (trace, sessions);
    result.recovery = super::verdicts::recovery(scenario, &result);
    result.warnings = super::verdicts::warnings(scenario, &result);
    Ok((result, sink))
}

/// What the simulator is told of a scenario.
pub(super) fn setup(scenario: &Scenario, options: RunOptions, sample_interval: Span) -> Setup<'_> {
    Setup {
        fleet: &scenario.fleet,
        frontend: &scenario.frontend,
        telemetry: &scenario.telemetry,
        clients: &scenario.clients,
        workload: &scenario.workload,
        events: &scenario.events,
        streams: Streams::new(scenario.seed).replication(options.replication),
        horizon: scenario.horizon,
        requests: scenario.requests,
        sample_interval,
        max_events: scenario.limits.max_events,
        max_requests_in_system: scenario.limits.max_requests_in_system,
        judge_decisions: scenario.judges_decisions(),
    }
}

/// Width of the intervals of the time series: as the scenario says, or by the length it can be expected to have.
pub fn sample_interval(scenario: &Scenario) -> Span {
    scenario.output.timeseries_interval.unwrap_or_else(|| natural_interval(expected_length(scenario)))
}

/// How long the run will about be.
fn expected_length(scenario: &Scenario) -> Span {
    if let Some(horizon) = scenario.horizon {
        return horizon.since(SimTime::ZERO);
    }
    let listed = scenario.workload.requests.iter().map(|r| {
        let gaps = r.every.unwrap_or(Span::ZERO).saturating_mul(r.count.saturating_sub(1));
        r.at.saturating_add(gaps)
    });
    let last = listed.max().unwrap_or(SimTime::ZERO).since(SimTime::ZERO);
    // A trace tells its length only when it is read: an hour is usual.
    let trace = if scenario.workload.trace.is_some() { Span::from_secs(3600) } else { Span::ZERO };
    let rate: f64 = scenario.workload.processes().map(|(_, process)| first_rate(process)).sum();
    let generated = match scenario.requests {
        Some(n) if rate > 0.0 => Span::from_secs_f64(n as f64 / rate).unwrap_or(Span::ZERO),
        Some(_) | None => Span::ZERO,
    };
    // What is served after the last arrival is seen as well.
    last.max(trace).max(generated).max(Span::from_secs(10))
}

/// Requests per second at the start.
fn first_rate(process: &ArrivalProcess) -> f64 {
    match process {
        ArrivalProcess::Poisson { rate }
        | ArrivalProcess::Constant { rate }
        | ArrivalProcess::Gamma { rate, .. }
        | ArrivalProcess::Weibull { rate, .. } => rate.0.iter().map(|piece| piece.rate).fold(0.0, f64::max),
        ArrivalProcess::OnOff { on_rate, off_rate, mean_on, mean_off } => {
            let (on, off) = (mean_on.as_secs_f64(), mean_off.as_secs_f64());
            (on_rate * on + off_rate * off) / (on + off)
        }
    }
}
