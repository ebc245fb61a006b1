//! Queueing theory: opaque workers, no lease, a million requests a run, fixed seeds. Each run also keeps Little's law to the
//! last nanosecond: it starts and ends empty, so the time integral of what is inside is the sum of all sojourns.

use shedcast::cluster::Remote;
use shedcast::experiment::{RunEnd, RunOptions, RunResult, run};
use shedcast::scenario::Scenario;
use shedcast::stats::theory;

const REQUESTS: u64 = 1_000_000;

/// Runs a text with a million requests and looks at what holds of any run.
fn run_million(text: &str) -> RunResult {
    let text = format!("name = \"theory\"\nrequests = {REQUESTS}\n{text}");
    let loaded = Scenario::parse(&text, "theory.toml", &[]).unwrap_or_else(|faults| panic!("{faults}"));
    let (result, ()) = run(&loaded.scenario, RunOptions::default(), (), &Remote::default()).expect("a run");
    let total = &result.total;
    assert_eq!((result.end, total.requests.offered), (RunEnd::Drained, REQUESTS));
    assert_eq!(total.attempts.completed + total.attempts.refused_total(), REQUESTS);
    little(&result);
    result
}

/// Little (1961): mean number inside = throughput x mean sojourn, here without edge effects.
fn little(result: &RunResult) {
    let total = &result.total;
    let inside = &total.occupancy.in_workers;
    assert_eq!(inside.integral(), total.latencies.e2e.sum(), "request-nanoseconds inside, counted both ways");
    let by_law = total.throughput().expect("time passed") * total.latencies.e2e.mean().expect("completions") / 1e9;
    let seen = inside.mean().expect("time passed");
    assert!((by_law / seen - 1.0).abs() < 1e-9, "{by_law} against {seen}");
}

#[track_caller]
fn near(what: &str, seen: Option<f64>, expected: f64, tolerance: f64) {
    let seen = seen.unwrap_or_else(|| panic!("{what} was not measured"));
    println!("{what}: {seen:.5} against {expected:.5} +- {tolerance:.5}");
    assert!((seen - expected).abs() <= tolerance, "{what}: {seen:.5}, expected {expected:.5} +- {tolerance:.5}");
}

/// Mean wait for a slot of what was served, in seconds.
fn mean_wait(result: &RunResult) -> Option<f64> {
    result.total.latencies.queue_wait.mean().map(|nanos| nanos / 1e9)
}

/// M/M/2/4 through the gate: two slots, two places in the queue, 3 requests/s of a second each.
#[test]
fn a_gate_of_two_slots_and_two_places_is_the_queue_m_m_2_4() {
    let result = run_million(
        r#"
        seed = 24
        [fleet]
        workers = 1
        service_time = { distribution = "exponential", mean = "1s" }
        engine_request_limit = 2
        request_queue_limit = 2
        [frontend]
        overload_lease = "0s"
        [workload]
        arrivals = { process = "poisson", rate = 3 }
        "#,
    );
    let figures = theory::mmck(3.0, 1.0, 2, 4).expect("a queue");
    let close = |a: f64, b: f64| (a - b).abs() < 5e-4;
    assert!(
        close(figures.refused_share, 0.3990) && close(figures.mean_in_system, 2.867) && close(figures.mean_wait, 0.590),
        "{figures:?}"
    );
    near("refused share", result.total.rate_529(), 0.3990, 0.002);
    near("mean in system", result.total.occupancy.in_workers.mean(), 2.867, 0.006);
    near("mean wait of accepted, s", mean_wait(&result), 0.590, 0.004);
    assert_eq!(result.total.worker_rejections, result.total.attempts.refused_total(), "without leases only the gate refuses");
}

/// The mean wait of M/G/1 at load `rho` and mean service 1 s has the standard error sqrt(rho (1 + scv)^3 / (2 (1 - rho)^4) / T)
/// over a run of T seconds (Whitt 1989, "Planning queueing simulations", from the Brownian limit of the workload): 0.7 % of
/// the mean for exponential service here. The tolerance is four of them.
fn pollaczek_khinchine(service: &str, scv: f64, seed: u64) {
    let rho = 0.7;
    let result = run_million(&format!(
        "seed = {seed}\n[fleet]\nworkers = 1\nservice_time = {service}\nengine_request_limit = 1\nrequest_queue_limit = 1000000\n\
         [frontend]\noverload_lease = \"0s\"\n[workload]\narrivals = {{ process = \"poisson\", rate = {rho} }}\n"
    ));
    assert_eq!(result.total.attempts.refused_total(), 0);
    let expected = theory::mg1(rho, 1.0, scv).expect("a stable queue").mean_wait;
    let spread: f64 =
        (1.0 + scv) * (1.0 + scv) * (1.0 + scv) * rho / (2.0 * (1.0 - rho) * (1.0 - rho) * (1.0 - rho) * (1.0 - rho));
    let error = (spread / (REQUESTS as f64 / rho)).sqrt();
    near(&format!("mean wait with {service}, s"), mean_wait(&result), expected, 4.0 * error);
    let busy = result.total.occupancy.slots.mean();
    near("share of time busy", busy, rho, 4.0 * rho * ((1.0 + scv) / REQUESTS as f64).sqrt());
}

#[test]
fn a_gate_of_one_slot_waits_as_pollaczek_and_khinchine_say_for_constant_service() {
    pollaczek_khinchine("\"1s\"", 0.0, 1);
}

#[test]
fn a_gate_of_one_slot_waits_as_pollaczek_and_khinchine_say_for_exponential_service() {
    pollaczek_khinchine(r#"{ distribution = "exponential", mean = "1s" }"#, 1.0, 2);
}

#[test]
fn a_gate_of_one_slot_waits_as_pollaczek_and_khinchine_say_for_lognormal_service() {
    pollaczek_khinchine(r#"{ distribution = "lognormal", mean = "1s", cv = 1.0 }"#, 1.0, 3);
}

/// Erlang's loss system through the busy thresholds: in kv mode a threshold of 0 makes a worker busy as soon as it holds a
/// request of one block, so c workers without a gate are c lines without a queue.
#[test]
fn thresholds_of_zero_in_kv_mode_lose_what_erlang_b_says_whatever_the_service() {
    let services = [
        r#"{ distribution = "exponential", mean = "1s" }"#,
        r#""1s""#,
        r#"{ distribution = "lognormal", mean = "1s", cv = 1.0 }"#,
    ];
    let expected = theory::erlang_b(4, 3.0).expect("a share");
    assert!((expected - 0.2061).abs() < 1e-4, "{expected}");
    for (service, seed) in services.into_iter().zip(5..) {
        let result = run_million(&format!(
            r#"
            seed = {seed}
            [fleet]
            workers = 4
            service_time = {service}
            kv_total_blocks = 100
            kv_cache_block_size = 16
            [frontend]
            router_mode = "kv"
            active_decode_blocks_threshold = 0.0
            overload_lease = "0s"
            [workload]
            arrivals = {{ process = "poisson", rate = 3 }}
            input_tokens = 16
            output_tokens = 1
            "#
        ));
        near(&format!("refused share with {service}"), result.total.rate_529(), 0.2061, 0.002);
        assert!(result.workers.iter().all(|worker| worker.slots.max() == Some(1)), "each worker takes one request at a time");
        assert_eq!(result.total.decisive.decode, result.total.attempts.refused_total(), "the decode check alone refuses");
    }
}
