//! Whole runs, and parts of them.

use std::hint::black_box;
use std::io;

use shedcast::cluster::batching::Coalesced;
use shedcast::cluster::{Remote, Setup, Simulation, Unobserved};
use shedcast::engine::Streams as Randomness;
use shedcast::experiment::run::sample_interval;
use shedcast::experiment::{RunOptions, RunResult, Sink, run};
use shedcast::report::streams::WORKERS_IN_TIMESERIES;
use shedcast::report::{Streams, Summary, to_json};
use shedcast::scenario::{Scenario, SetOption};
use shedcast::stats::{Quantiles, Window};
use shedcast::workload::source::{Bounds, RequestSource};

use super::checksum::Checksum;

/// The runs that speed is told of, by the letters of their files.
pub const RUNS: [(&str, &str); 7] = [
    ("a", include_str!("../scenarios/a.toml")),
    ("b", include_str!("../scenarios/b.toml")),
    ("c", include_str!("../scenarios/c.toml")),
    ("d", include_str!("../scenarios/d.toml")),
    ("e", include_str!("../scenarios/e.toml")),
    ("f", include_str!("../scenarios/f.toml")),
    ("g", include_str!("../scenarios/g.toml")),
];

/// A scenario of [`RUNS`], cut to `requests` requests and changed by `sets` (key and value).
pub fn scenario(text: &str, requests: u64, sets: &[(&str, &str)]) -> Scenario {
    let requests = requests.to_string();
    let all = [("requests", requests.as_str())].into_iter().chain(sets.iter().copied());
    let all: Vec<SetOption> = all.map(|(key, value)| SetOption::new("--set", key, value.to_owned())).collect();
    Scenario::parse(text, "bench.toml", &all).unwrap_or_else(|faults| panic!("{faults:?}")).scenario
}

/// A run with its summary and time series, written to nowhere.
pub fn whole(scenario: &Scenario) -> RunResult {
    let mut streams = Streams::new(scenario).with_timeseries(io::sink());
    if scenario.fleet.worker_count() <= WORKERS_IN_TIMESERIES {
        streams = streams.with_worker_timeseries(io::sink());
    }
    let (result, streams) = ran(scenario, streams);
    streams.finish().expect("nowhere takes everything");
    black_box(to_json(&Summary::of(scenario, &result)));
    result
}

/// A run that is measured, and of which nothing is written.
pub fn measured(scenario: &Scenario) -> RunResult {
    ran(scenario, ()).0
}

fn ran<S: Sink>(scenario: &Scenario, sink: S) -> (RunResult, S) {
    run(scenario, RunOptions::default(), sink, &Remote::default()).expect("generated requests have no errors")
}

/// A run that nobody watches; answers how many events it had.
pub fn unobserved(scenario: &Scenario) -> u64 {
    let setup = Setup {
        fleet: &scenario.fleet,
        frontend: &scenario.frontend,
        telemetry: &scenario.telemetry,
        clients: &scenario.clients,
        workload: &scenario.workload,
        events: &scenario.events,
        streams: Randomness::new(scenario.seed),
        horizon: scenario.horizon,
        requests: scenario.requests,
        sample_interval: sample_interval(scenario),
        max_events: scenario.limits.max_events,
        max_requests_in_system: scenario.limits.max_requests_in_system,
        judge_decisions: scenario.judges_decisions(),
    };
    let mut simulation = Simulation::<Coalesced, _>::new(setup, Unobserved).expect("the workload opens");
    simulation.run(&Remote::default()).expect("generated requests have no errors");
    simulation.events()
}

/// The requests of a run, drawn and dropped; answers their tokens.
pub fn drawn(scenario: &Scenario) -> u64 {
    let bounds = Bounds { horizon: scenario.horizon, requests: scenario.requests };
    let mut source = RequestSource::open(&scenario.workload, Randomness::new(scenario.seed), bounds).expect("the workload opens");
    let mut tokens = 0;
    while let Some(request) = source.next().expect("generated requests have no errors") {
        tokens += u64::from(request.input_tokens) + u64::from(request.output_tokens);
    }
    tokens
}

/// Groups of ranks that end their steps together.
pub fn groups(scenario: &Scenario) -> usize {
    let of_type = |t: &shedcast::cluster::config::WorkerType| t.count() * if t.dp_lockstep { 1 } else { t.data_parallel_size };
    scenario.fleet.types.iter().map(of_type).sum::<u32>() as usize
}

/// What a run found out, in one number: outcomes, latencies, occupancy, decisions and what the ranks did.
pub fn answer(result: &RunResult) -> u64 {
    let mut sum = Checksum::new();
    let all = &result.total;
    let (requests, attempts) = (&all.requests, &all.attempts);
    [requests.offered, requests.completed, requests.lost_to_overload, requests.gave_up].into_iter().for_each(|n| sum.add(n));
    [attempts.started, attempts.completed, attempts.cancelled].into_iter().chain(attempts.refused).for_each(|n| sum.add(n));
    let wide = |sum: &mut Checksum, n: u128| [n as u64, (n >> 64) as u64].into_iter().for_each(|half| sum.add(half));
    let latency = |sum: &mut Checksum, of: &Quantiles| {
        wide(sum, of.sum());
        [0.5, 0.9, 0.99].into_iter().for_each(|p| sum.add(of.quantile(p).unwrap_or(0)));
    };
    all.latencies.named().into_iter().for_each(|(_, of)| latency(&mut sum, of));
    all.attempt_latencies.iter().flat_map(|l| l.named()).for_each(|(_, of)| latency(&mut sum, of));
    let held = |sum: &mut Checksum, of: &Window| wide(sum, of.integral());
    let inside = &all.occupancy;
    [&inside.slots, &inside.waiting, &inside.full_workers, &inside.in_workers].into_iter().for_each(|of| held(&mut sum, of));
    let quality = &all.quality;
    [quality.unlike_fresh, quality.routed_to_busy, quality.fresh.wrong(), quality.engine.wrong(), quality.waited_in_engine]
        .into_iter()
        .for_each(|n| sum.add(n));
    for rank in &result.ranks {
        sum.add(rank.preemptions);
        [&rank.kv_used_blocks, &rank.running, &rank.waiting].into_iter().for_each(|of| wide(&mut sum, of.sum()));
    }
    for worker in &result.workers {
        [worker.completed, worker.rejected].into_iter().for_each(|n| sum.add(n));
    }
    sum.add(result.ended_at.as_nanos());
    sum.value()
}
