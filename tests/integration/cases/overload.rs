//! Part D: overload dynamics, but for metastability.

use shedcast::control::RefusalReason;
use shedcast::experiment::verdicts;
use shedcast::units::Span;

use crate::harness::{Case, case};

#[test]
fn case_31_a_decode_threshold_is_blind_to_a_prefill_backlog() {
    let blind = case("31", &[]);
    let total = &blind.result.total;
    assert_eq!((total.requests.offered, total.requests.completed, total.attempts.refused_total()), (4_800, 4_000, 0));
    let ttft = &total.latencies.ttft;
    let seconds = |nanos: Option<u64>| nanos.map(|n| n as f64 / 1e9);
    assert_eq!(seconds(ttft.min()), Some(0.15));
    assert_eq!(seconds(ttft.max()), Some(100.125), "100.1 s, of the last that finished");
    let verdict = blind.result.warnings.iter().find(|w| w.code == verdicts::codes::SATURATED).expect("a verdict");
    assert!(verdict.cause.contains("8.00/s offered, 6.67/s completed"), "{verdict}");
    let peak = blind.log.intervals.iter().flat_map(|i| &i.fleet.ranks).map(|rank| rank.kv_used_blocks).max();
    assert!(peak.expect("a rank") <= 375, "one prompt of 375 blocks at a time: the threshold of 3,200 is never near");

    let drained = case("31", &["horizon=none", "requests=4800"]);
    assert_eq!(drained.result.total.requests.completed, 4_800);
    assert_eq!(seconds(drained.result.total.latencies.ttft.max()), Some(120.125));
}

#[test]
fn case_31_a_prefill_threshold_in_kv_mode_refuses_within_seconds() {
    let sets = ["frontend.router_mode=kv", "frontend.active_prefill_tokens_threshold=12000"];
    let case = case("31", &sets);
    let first = case.log.attempts.iter().find(|ended| ended.refusal().is_some()).expect("a refusal");
    assert!(first.at.as_secs_f64() < 5.0, "at {}", first.at);
    assert_eq!(first.refusal().expect("refused").reason, RefusalReason::AllWorkersBusy);
    assert!(!case.warns(verdicts::codes::SATURATED), "what is let in is served");
    let total = &case.result.total;
    assert_eq!(total.decisive.prefill, total.attempts.refused_total());
    // At most three prompts are inside at once, and each waits for those before it.
    assert!(total.latencies.ttft.max() <= Some(Span::from_millis(450).as_nanos()));
}

#[test]
fn case_33_decisions_of_one_instant_see_each_other() {
    let case = case("33", &[]);
    let completed: Vec<u64> = case.result.workers.iter().map(|worker| worker.completed).collect();
    assert!(completed == [4, 5] || completed == [5, 4], "nine requests in all: {completed:?}");
}

#[test]
fn case_35_leases_end_before_the_retries_of_their_instant() {
    let case = case("35", &[]);
    let second: Vec<_> = case.by_request().into_iter().filter(|e| e.attempt.number == 2 && e.attempt.id < 130).collect();
    assert_eq!(second.len(), 100);
    assert!(second.iter().all(|e| e.attempt.start.as_secs_f64() == 1.0));
    let answers: Vec<String> = second.iter().map(|e| e.answer()).collect();
    let count = |answer: &str| answers.iter().filter(|a| *a == answer).count();
    assert_eq!((count("OK"), count("SHED"), count("529")), (30, 10, 60));
    assert!(answers[..30].iter().all(|a| a == "OK"), "first come, first served, by request id");
    let mut refusers: Vec<u32> = second[30..40].iter().map(|e| e.attempt.worker().expect("refused by a worker")).collect();
    refusers.sort_unstable();
    assert_eq!(refusers, (1..=10).collect::<Vec<u32>>(), "every worker is leased again");
    let probes: Vec<_> = case.by_request().into_iter().filter(|e| e.attempt.number == 1 && e.attempt.id >= 130).collect();
    assert_eq!([probes[0].answer(), probes[1].answer()], ["529", "SHED"], "leased until 2 s, and not at 2 s");
}

/// Attempts in all, refusals, and requests lost to overload.
fn figures(case: &Case) -> (u64, u64, u64) {
    let total = &case.result.total;
    (total.attempts.started, total.attempts.refused_total(), total.requests.lost_to_overload)
}

#[test]
fn case_37_a_token_throttle_holds_retries_to_three_percent() {
    assert_eq!(figures(&case("37", &[])), (103, 103, 100));
    assert_eq!(figures(&case("37", &["clients.retry.budget=none"])), (400, 400, 100));
}

#[test]
fn case_38_the_overload_status_decides_whether_clients_retry() {
    assert_eq!(figures(&case("38", &[])), (100, 100, 100));
    assert_eq!(figures(&case("38", &["frontend.overload_status_code=503"])), (300, 300, 100));
}
