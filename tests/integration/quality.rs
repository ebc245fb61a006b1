//! Decisions held against what a frontend without delay would have known.

use proptest::prelude::*;
use shedcast::cluster::Remote;
use shedcast::experiment::quality::QualityCounts;
use shedcast::experiment::{RunOptions, run};
use shedcast::scenario::Scenario;

use crate::harness::run_text;

/// Overload on two workers with two ranks each.
fn scenario(seed: u64, extra_fleet: &str, frontend: &str, rest: &str) -> String {
    format!(
        "name = \"quality\"\nseed = {seed}\nhorizon = \"20s\"\n[fleet]\nworkers = 2\ndata_parallel_size = 2\n\
         engine = \"h100-llama-3.1-8b-bf16-vllm\"\nkv_total_blocks = 600\n{extra_fleet}\n[frontend]\n{frontend}\n\
         [workload]\narrivals = {{ process = \"poisson\", rate = 60 }}\n\
         input_tokens = {{ distribution = \"lognormal\", mean = 600, p99 = 2000 }}\n\
         output_tokens = {{ distribution = \"lognormal\", mean = 100, p99 = 300 }}\n{rest}"
    )
}

fn counts(text: &str) -> QualityCounts {
    let case = run_text(text, &[]);
    let quality = case.result.whole.quality;
    assert_eq!(quality.engine.total(), quality.fresh.total());
    quality
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn without_delay_no_decision_of_a_kv_frontend_differs_from_fresh(
        seed in 0u64..1000,
        decode in 0.2f64..0.9,
        prefill in 500u64..4000,
        post in 0.1f64..0.9,
    ) {
        let frontend = format!(
            "router_mode = \"kv\"\nactive_decode_blocks_threshold = {decode}\nactive_prefill_tokens_threshold = {prefill}"
        );
        let rest = format!(
            "[telemetry]\ndebounce = \"0s\"\n[[events]]\nat = \"7s\"\npost_busy_threshold = {{ active_decode_blocks_threshold = {post} }}\n\
             [[events]]\nat = \"9s\"\nworker_leave = 1\n[[events]]\nat = \"12s\"\nworker_join = 1\n"
        );
        let quality = counts(&scenario(seed, "", &frontend, &rest));
        prop_assert!(quality.decisions() > 500 && quality.fresh.refused_without_room > 0, "{quality:?}");
        prop_assert_eq!((quality.unlike_fresh, quality.routed_to_busy, quality.fresh.wrong()), (0, 0, 0), "{:?}", quality);
    }
}

#[test]
fn with_a_gate_only_leases_make_decisions_differ_from_fresh() {
    let gate = "engine_request_limit = 8\nrequest_queue_limit = 2";
    let frontend = "active_decode_blocks_threshold = 0.7";
    // Without reports nothing ends a lease early.
    let rest = "[telemetry]\ndebounce = \"0s\"\n";
    let leased = counts(&scenario(3, gate, frontend, rest));
    assert!(leased.fresh.refused_with_room > 0 && leased.unlike_fresh > 0, "{leased:?}");
    assert_eq!(leased.routed_to_busy, 0, "a lease only keeps workers out: {leased:?}");
    let without = counts(&scenario(3, gate, &format!("{frontend}\noverload_lease = \"0s\""), rest));
    assert_eq!((without.unlike_fresh, without.fresh.wrong()), (0, 0), "{without:?}");
    assert!(without.engine.routed_without_room > 0, "the gate refuses what the router sends: {without:?}");
}

/// Mean and half-width of the 95 % interval over ten replications (Student t with 9 degrees of freedom).
fn interval(shares: &[f64]) -> (f64, f64) {
    let n = shares.len() as f64;
    let mean = shares.iter().sum::<f64>() / n;
    let variance = shares.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, 2.262 * (variance / n).sqrt())
}

#[test]
fn older_reports_do_not_make_for_fewer_wrong_decisions() {
    let mut last: Option<(f64, f64)> = None;
    for delay in ["0ms", "10ms", "100ms", "1s"] {
        let rest = format!("[telemetry]\ndelay = \"{delay}\"\n");
        let text = scenario(11, "", "active_decode_blocks_threshold = 0.6", &rest);
        let scenario = Scenario::parse(&text, "delay.toml", &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario;
        let share = |replication| {
            let options = RunOptions { replication, ..RunOptions::default() };
            let (result, ()) = run(&scenario, options, (), &Remote::default()).expect("it runs");
            result.total.quality.unlike_fresh_share().expect("decisions are judged")
        };
        let (mean, half) = interval(&(0..10).map(share).collect::<Vec<_>>());
        if let Some((before, half_before)) = last {
            assert!(mean >= before - half.max(half_before), "{delay}: {mean} +- {half} after {before} +- {half_before}");
        }
        last = Some((mean, half));
    }
    assert!(last.expect("four delays").0 > 0.05, "a second of delay is felt");
}

#[test]
fn several_frontends_know_less_than_fresh_which_sums_their_tracking() {
    let frontend = "frontends = 3\nrouter_mode = \"kv\"\nactive_prefill_tokens_threshold = 1500";
    let quality = counts(&scenario(5, "", frontend, "[telemetry]\ndebounce = \"0s\"\n"));
    assert!(quality.fresh.routed_without_room > 0, "each frontend counts only its own tokens: {quality:?}");
    assert_eq!(quality.fresh.refused_with_room, 0, "{quality:?}");
}

#[test]
fn a_lease_that_outlives_its_cause_counts_to_the_nanosecond() {
    // Case 20: refused at 0 s, idle from 0.6 s, leased until exactly 1 s.
    let case = crate::harness::case("20", &["horizon=2s"]);
    let worker = case.result.quality[0];
    let millis = |span: shedcast::units::Span| span.as_nanos() as f64 / 1e6;
    assert_eq!((millis(worker.known), millis(worker.wrongly_out), millis(worker.wrongly_in)), (2000.0, 1000.0, 0.0));
    assert_eq!(worker.transitions, 2);
    let quality = case.result.whole.quality;
    // At 0 s the fourth finds the gate full; at 0.7 s and 0.999 s an idle worker is refused.
    assert_eq!((quality.engine.routed_without_room, quality.engine.refused_with_room), (1, 2));
    assert_eq!((quality.cost_engine.refused, quality.cost_engine.tokens), (2, 22));
    assert!(case.warns("leased_while_idle"));
}

#[test]
fn judging_decisions_changes_none() {
    let gate = "engine_request_limit = 8\nrequest_queue_limit = 2";
    let on = scenario(9, gate, "active_decode_blocks_threshold = 0.7", "");
    let off = format!("{on}\n[output]\ndecision_quality = false\n");
    let (on, off) = (run_text(&on, &[]), run_text(&off, &[]));
    assert_eq!(on.log.attempts, off.log.attempts);
    assert_eq!(off.result.whole.quality, QualityCounts::default());
}

/// The warning with this code.
fn warning(case: &crate::harness::Case, code: &str) -> String {
    let found = case.result.warnings.iter().find(|warning| warning.code == code);
    found.map_or_else(|| panic!("no {code} among {:?}", case.result.warnings), ToString::to_string)
}

/// One opaque worker without traffic but a request at 1 s.
fn opaque(fleet: &str, rest: &str) -> crate::harness::Case {
    run_text(
        &format!(
            "name = \"warnings\"\nhorizon = \"30s\"\n[fleet]\nservice_time = \"1s\"\nmax_num_batched_tokens = 8192\n{fleet}\n\
             [[workload.requests]]\nat = \"1s\"\ninput_tokens = 10\noutput_tokens = 1\n{rest}"
        ),
        &[],
    )
}

#[test]
fn a_check_that_nothing_was_ever_held_against_is_named() {
    let case = crate::harness::case("07", &[]);
    assert!(
        warning(&case, "never_evaluable").contains("decode threshold D configured, never evaluable (kv_total_blocks missing)")
    );
    let prefill = opaque("workers = 1\nkv_total_blocks = 100", "[frontend]\nactive_prefill_tokens_threshold = 5\n");
    assert!(
        warning(&prefill, "never_evaluable")
            .contains("prefill threshold P configured, never evaluable (active_prefill_tokens missing")
    );
}

#[test]
fn a_latch_held_by_a_silent_signal_and_a_worker_busy_while_idle_are_named() {
    let events =
        "[frontend]\nactive_decode_blocks_threshold = 0.5\n[[events]]\nat = \"2s\"\nload = { worker = 1, kv_used_blocks = 60 }\n";
    let case = opaque("workers = 1\nkv_total_blocks = 100", events);
    let held = warning(&case, "latch_held_by_silence");
    assert!(
        held.contains("worker 1 rank 0 at frontend 0") && held.contains("`kv_used_blocks` = 60, last observed 28s"),
        "{held}"
    );
    assert!(warning(&case, "busy_while_idle").contains("`worker 1` was excluded as busy while idle"));
}

#[test]
fn a_worker_back_from_reported_down_has_no_configuration() {
    let case = opaque("workers = 2\nkv_total_blocks = 100", "[[events]]\nat = \"7s\"\nreport_down = 2\n");
    let unconfigured = warning(&case, "unconfigured_worker");
    assert!(unconfigured.contains("`worker 2`"));
    assert!(!unconfigured.contains("down for"), "it is not how long it was down: {unconfigured}");
}

#[test]
fn leases_locked_to_retries_are_named() {
    let rest = "[clients]\nretry = { statuses = [529], attempts = 4, initial = \"1s\", backoff = \"fixed\" }\n\
                [[workload.requests]]\nat = \"2s\"\ncount = 40\nevery = \"100ms\"\ninput_tokens = 10\noutput_tokens = 1\n";
    let case = opaque("workers = 1\nengine_request_limit = 1\nrequest_queue_limit = 2\nkv_total_blocks = 100", rest);
    assert!(warning(&case, "lease_locked_to_retries").contains("whole multiple of the lease"));
}

#[test]
fn a_pool_advertised_larger_than_it_is_cannot_fire() {
    let text = scenario(1, "advertised = { kv_total_blocks = 1200 }", "active_decode_blocks_threshold = 0.6", "");
    assert!(warning(&run_text(&text, &[]), "threshold_cannot_fire").contains("the line of 720 blocks is never crossed"));
}
