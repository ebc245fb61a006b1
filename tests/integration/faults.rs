//! Crashes, drains, slow workers, slow networks, scaling and faults of the reports; and that the books balance through all of it.

use proptest::prelude::*;
use shedcast::cluster::Remote;
use shedcast::experiment::{EngineKind, RunOptions, RunResult, run};
use shedcast::scenario::Scenario;

use crate::harness::{Case, run_text};

fn opaque(fleet: &str, frontend: &str, requests: &[u64], events: &str) -> Case {
    let requests: String = requests
        .iter()
        .map(|ms| format!("[[workload.requests]]\nat = \"{ms}ms\"\ninput_tokens = 10\noutput_tokens = 1\n"))
        .collect();
    let text = format!(
        "name = \"faults\"\nhorizon = \"60s\"\n[fleet]\nkv_total_blocks = 100\nmax_num_batched_tokens = 8192\n{fleet}\n\
         [frontend]\n{frontend}\n{requests}{events}"
    );
    let case = run_text(&text, &[]);
    conserved(&case.result);
    case
}

fn conserved(result: &RunResult) {
    for measures in std::iter::once(&result.whole).chain(result.phases.iter().map(|phase| &phase.measures)) {
        assert_eq!(measures.attempts.started, measures.attempts.accounted(), "{:?}", measures.attempts);
        assert_eq!(measures.requests.offered, measures.requests.accounted(), "{:?}", measures.requests);
    }
}

/// Answer, worker and instant (in milliseconds) of each request.
fn ends(case: &Case) -> Vec<(String, Option<u32>, u64)> {
    case.by_request().iter().map(|e| (e.answer(), e.attempt.worker(), e.at.as_nanos() / 1_000_000)).collect()
}

fn ok(worker: u32, at: u64) -> (String, Option<u32>, u64) {
    ("OK".to_owned(), Some(worker), at)
}

#[test]
fn a_crash_loses_what_is_in_flight_and_the_worker_registers_when_it_has_loaded() {
    let events = "[[events]]\nat = \"3s\"\nworker_crash = { worker = 1, rejoin_after = \"2s\", load_time = \"1s\" }\n";
    let fleet = "workers = 2\nservice_time = \"10s\"";
    let case = opaque(fleet, "", &[0, 0, 4000, 5999, 6000], events);
    let failed = ("FAILED".to_owned(), Some(1), 3000);
    assert_eq!(ends(&case), [failed, ok(2, 10_000), ok(2, 14_000), ok(2, 15_999), ok(1, 16_000)]);
    let migrated = opaque(fleet, "migration_limit = 1", &[0, 0], events);
    assert_eq!(ends(&migrated), [ok(2, 13_000), ok(2, 10_000)], "the frontend sends it elsewhere");
}

#[test]
fn a_drained_worker_finishes_what_it_has_and_gets_nothing_new() {
    let events = "[[events]]\nat = \"3s\"\nworker_drain = 1\n[[events]]\nat = \"5s\"\nworker_drain = 2\n";
    let case = opaque("workers = 2\nservice_time = \"10s\"", "", &[0, 4000, 6000], events);
    let unavailable = ("503".to_owned(), None, 6000);
    assert_eq!(ends(&case), [ok(1, 10_000), ok(2, 14_000), unavailable]);
}

#[test]
fn until_a_crash_is_discovered_dispatches_find_nobody() {
    let events = "[[events]]\nat = \"3s\"\nworker_crash = 1\n";
    let fleet = "workers = 2\nservice_time = \"1s\"";
    let frontend = "discovery_delay = \"2s\"";
    let case = opaque(fleet, frontend, &[3500, 3600], events);
    assert_eq!(ends(&case), [("503".to_owned(), Some(1), 3500), ok(2, 4600)], "the first one finds out for all");
    assert_eq!((case.result.whole.attempts.unavailable, case.result.whole.attempts.refused_total()), (1, 0));
    let case = opaque(fleet, &format!("{frontend}\nmigration_limit = 1"), &[3500], events);
    assert_eq!(ends(&case), [ok(2, 4500)]);
}

#[test]
fn a_slow_worker_takes_its_factor_for_as_long_as_it_lasts() {
    let events = "[[events]]\nat = \"1s\"\nworker_slow = { worker = 1, factor = 2.5, for = \"5s\" }\n";
    let case = opaque("workers = 1\nservice_time = \"1s\"", "", &[0, 2000, 7000], events);
    assert_eq!(ends(&case), [ok(1, 1000), ok(1, 4500), ok(1, 8000)]);
}

#[test]
fn a_slow_network_delays_dispatches_and_answers() {
    let events = "[[events]]\nat = \"0s\"\nnetwork_delay = { delay = \"100ms\", for = \"5s\" }\n";
    let fleet = "workers = 1\nservice_time = \"1s\"\nengine_request_limit = 1\nrequest_queue_limit = 2";
    let case = opaque(fleet, "", &[1000, 1000, 1000, 1000, 10_000], events);
    let shed = ("SHED".to_owned(), Some(1), 1200);
    assert_eq!(ends(&case), [ok(1, 2200), ok(1, 3200), ok(1, 4200), shed, ok(1, 11_000)]);
    let first = case.by_request()[0];
    assert_eq!(first.attempt.slot().map(|at| at.as_nanos()), Some(1_100_000_000));
    assert_eq!(first.attempt.first_token().map(|at| at.as_nanos()), Some(2_200_000_000));
}

#[test]
fn a_fleet_scales_up_with_its_lowest_and_down_with_its_highest_workers() {
    let events = "[[events]]\nat = \"2s\"\nscale = { workers = 3, load_time = \"1s\" }\n[[events]]\nat = \"5s\"\nscale = { workers = 1 }\n";
    let requests = [2500, 3000, 3000, 3000, 6000, 6000];
    let case = opaque("workers = 1\nstandby = 3\nservice_time = \"1s\"", "", &requests, events);
    let workers: Vec<_> = case.by_request().iter().map(|e| e.attempt.worker().unwrap()).collect();
    assert_eq!(workers, [1, 2, 3, 1, 1, 1]);
}

#[test]
fn reports_are_lost_in_an_outage_and_frozen_in_a_freeze() {
    let text = |event: &str| {
        format!(
            "name = \"reports\"\nhorizon = \"8s\"\n[fleet]\nworkers = 1\nengine = \"h100-llama-3.1-8b-bf16-vllm\"\n\
             kv_total_blocks = 1000\n[frontend]\nactive_decode_blocks_threshold = 0.9\n[output]\ntimeseries_interval = \"500ms\"\n\
             [[workload.requests]]\nat = \"1s\"\ninput_tokens = 1000\noutput_tokens = 900\n\
             [[events]]\nat = \"500ms\"\n{event}\n"
        )
    };
    let observed = |event: &str| {
        let case = run_text(&text(event), &[]);
        let at = |n: usize| {
            (case.log.intervals[n].fleet.ranks[0].observed_blocks, case.log.intervals[n].fleet.ranks[0].kv_used_blocks)
        };
        (at(7), at(10))
    };
    for event in ["telemetry_outage = { worker = 1, for = \"4s\" }", "telemetry_freeze = \"4s\""] {
        let ((early, used), (late, _)) = observed(event);
        assert!(used > 60, "{event}: {used} blocks are used at 4 s");
        assert_eq!(early, Some(0), "{event}: nobody knows at 4 s");
        assert!(late > Some(60), "{event}: everybody knows at 5.5 s: {late:?}");
    }
    let ((early, used), _) = observed("telemetry_outage = { rank = 3, for = \"4s\" }");
    assert!(early.is_some_and(|blocks| blocks + 2 >= used), "no other rank is concerned: {early:?} of {used}");
}

#[test]
fn tracked_output_grows_the_load_that_frontends_see_and_both_engines_agree() {
    let text = |track: bool| {
        format!(
            "name = \"output\"\nhorizon = \"10s\"\n[fleet]\nworkers = 1\nengine = \"h100-llama-3.1-8b-bf16-vllm\"\n\
             kv_total_blocks = 1000\n[frontend]\nrouter_mode = \"kv\"\nrouter_track_output_blocks = {track}\n\
             [telemetry]\nworker_kv_metrics = false\n[output]\ntimeseries_interval = \"500ms\"\n\
             [[workload.requests]]\nat = \"1s\"\ninput_tokens = 160\noutput_tokens = 400\n\
             [[workload.requests]]\nat = \"2s\"\ninput_tokens = 160\noutput_tokens = 1\n"
        )
    };
    let observed = |track: bool| {
        let scenario = Scenario::parse(&text(track), "output.toml", &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario;
        let [fast, plain] = [EngineKind::Coalesced, EngineKind::Stepwise].map(|engine| {
            let options = RunOptions { engine, ..RunOptions::default() };
            run(&scenario, options, crate::harness::Log::default(), &Remote::default()).expect("it runs")
        });
        assert!(fast.1 == plain.1, "both engines give the same");
        fast.1.intervals.iter().find(|i| i.end.as_nanos() == 2_500_000_000).and_then(|i| i.fleet.ranks[0].observed_blocks)
    };
    let (without, with) = (observed(false), observed(true));
    assert_eq!(without, Some(10), "the whole blocks of the prompt");
    assert!(with > Some(11), "what was put out by the publication at 2 s counts as well: {with:?}");
}

/// A random scenario with everything that can go wrong.
#[derive(Clone, Debug)]
pub struct Chaos(pub String);

pub fn event() -> impl Strategy<Value = String> {
    let worker = 1u32..4;
    let kind = prop_oneof![
        worker
            .clone()
            .prop_map(|w| format!("worker_crash = {{ worker = {w}, rejoin_after = \"700ms\", load_time = \"300ms\" }}")),
        worker.clone().prop_map(|w| format!("worker_drain = {w}")),
        worker.clone().prop_map(|w| format!("worker_leave = {w}")),
        worker.clone().prop_map(|w| format!("worker_join = {w}")),
        worker.clone().prop_map(|w| format!("report_down = {w}")),
        (worker.clone(), 1u32..8)
            .prop_map(|(w, f)| format!("worker_slow = {{ worker = {w}, factor = {f}.5, for = \"1500ms\" }}")),
        (1u32..200).prop_map(|ms| format!("network_delay = {{ delay = \"{ms}ms\", for = \"900ms\" }}")),
        (worker.clone(), 1u32..50).prop_map(|(w, ms)| format!("network_delay = {{ delay = \"{ms}ms\", worker = {w} }}")),
        (0u32..4).prop_map(|n| format!("scale = {{ workers = {n}, load_time = \"200ms\" }}")),
        worker.clone().prop_map(|w| format!("telemetry_outage = {{ worker = {w}, for = \"1s\" }}")),
        Just("telemetry_freeze = \"1s\"".to_owned()),
        (1u32..99).prop_map(|d| format!("post_busy_threshold = {{ active_decode_blocks_threshold = 0.{d:02} }}")),
        (0u32..3000).prop_map(|p| format!("post_busy_threshold = {{ active_prefill_tokens_threshold = {p} }}")),
        (worker, 50u32..400).prop_map(|(w, b)| format!("runtime_config = {{ worker = {w}, kv_total_blocks = {b} }}")),
    ];
    (0u32..6000, kind).prop_map(|(ms, kind)| format!("[[events]]\nat = \"{ms}ms\"\n{kind}\n"))
}

pub fn chaos() -> impl Strategy<Value = Chaos> {
    let mode = prop::sample::select(vec!["round-robin", "random", "power-of-two", "least-loaded", "kv"]);
    let shape = (0u64..1000, 1u32..3, 150u64..500, any::<bool>(), mode, 1u32..3, 0u32..3, any::<bool>());
    let clients = (prop::option::of(200u32..3000), any::<bool>(), 1u32..4, 0u32..400);
    (shape, clients, prop::collection::vec(event(), 0..8)).prop_map(|(shape, (patience, notices, attempts, discovery), events)| {
        let (seed, ranks, blocks, gate, mode, frontends, migrations, output) = shape;
        let gate = if gate { "engine_request_limit = 6\nrequest_queue_limit = 3\n" } else { "" };
        let patience = patience.map_or(String::new(), |ms| format!("patience = \"{ms}ms\"\nserver_notices = {notices}\n"));
        Chaos(format!(
            "name = \"chaos\"\nseed = {seed}\nhorizon = \"8s\"\n[fleet]\nworkers = 2\nstandby = 1\ndata_parallel_size = {ranks}\n\
             engine = \"h100-llama-3.1-8b-bf16-vllm\"\nkv_total_blocks = {blocks}\n{gate}\n[frontend]\nrouter_mode = \"{mode}\"\n\
             frontends = {frontends}\nmigration_limit = {migrations}\ndiscovery_delay = \"{discovery}ms\"\n\
             router_track_output_blocks = {output}\nactive_decode_blocks_threshold = 0.8\n[telemetry]\ndelay = \"7ms\"\nloss = 0.05\n\
             reorder = {output}\n\
             [clients]\n{patience}retry = {{ statuses = [529, 503], attempts = {attempts}, initial = \"300ms\", jitter = \"full\" }}\n\
             [workload]\narrivals = {{ process = \"poisson\", rate = 40 }}\n\
             input_tokens = {{ distribution = \"lognormal\", mean = 400, p99 = 1500 }}\n\
             output_tokens = {{ distribution = \"lognormal\", mean = 60, p99 = 200 }}\n{}",
            events.concat()
        ))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_books_balance_and_both_engines_agree_whatever_goes_wrong(chaos in chaos()) {
        let scenario = Scenario::parse(&chaos.0, "chaos.toml", &[]).unwrap_or_else(|faults| panic!("{faults}\n{}", chaos.0)).scenario;
        let resolved = Scenario::parse(&scenario.to_toml(), "resolved.toml", &[]).unwrap_or_else(|faults| panic!("{faults}"));
        prop_assert_eq!(&resolved.scenario, &scenario);
        let [fast, plain] = [EngineKind::Coalesced, EngineKind::Stepwise].map(|engine| {
            let options = RunOptions { engine, ..RunOptions::default() };
            run(&scenario, options, (), &Remote::default()).expect("it runs").0
        });
        conserved(&fast);
        prop_assert_eq!(fast.whole.quality.decisions(), fast.whole.quality.engine.total());
        prop_assert!(format!("{fast:?}") == format!("{plain:?}"), "the engines differ");
    }
}
