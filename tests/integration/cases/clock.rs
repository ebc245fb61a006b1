//! Part F: the clock, the order of one instant, and work that is never lost sight of.

use std::time::{Duration, Instant};

use shedcast::cluster::observer::{AttemptOutcome, PostAnswer};
use shedcast::experiment::RunEnd;

use crate::harness::{case, load};

#[test]
fn case_54_long_services_and_long_gaps_do_not_overflow_the_clock() {
    assert_eq!(case("54a", &[]).completions(), [2.2]);
    for endless in ["1e30s", "1000000000000000000000000000000s"] {
        let message = load("54a", &[&format!("fleet.service_time={endless}")]).expect_err("longer than any run");
        assert!(message.contains("service_time"), "{message}");
    }
    let started = wall_clock();
    let year = case("54c", &[]);
    let took = started.elapsed();
    assert_eq!(year.completions(), [2.2, 31_536_002.2]);
    assert!(took < Duration::from_secs(1), "a year without events costs nothing, but took {took:?}");
    let order: Vec<_> = year.log.intervals.iter().map(|interval| interval.end).collect();
    assert!(order.windows(2).all(|pair| pair[0] < pair[1]), "time never runs backwards");
}

#[expect(clippy::disallowed_methods, reason = "the case asks for real time")]
fn wall_clock() -> Instant {
    Instant::now()
}

#[test]
fn case_55_no_tick_is_lost_in_a_thousand_seconds() {
    let case = case("55a", &[]);
    let updates = &case.result.updates;
    assert!(updates.iter().all(|update| update.answer == PostAnswer::Changed));
    let ticks: Vec<u64> = updates.iter().map(|update| update.noticed.expect("an event follows").as_nanos()).collect();
    let expected: Vec<u64> = (1..=10_000).map(|k| k * 100_000_000).collect();
    assert!(ticks == expected, "10,000 events at k/10 s, the last at 1,000 s: {} and {:?}", ticks.len(), ticks.last());
}

#[test]
fn case_55_services_in_a_row_end_at_whole_tenths() {
    let case = case("55b", &[]);
    let printed: Vec<String> = case.log.attempts.iter().map(|e| format!("{} {}", e.at, e.at.as_secs_f64())).collect();
    assert_eq!(printed, ["200ms 0.2", "400ms 0.4", "600ms 0.6"]);
}

#[test]
fn case_60_work_unfinished_at_the_horizon_stays_in_the_books() {
    let case = case("60", &[]);
    let total = &case.result.total;
    assert_eq!((case.result.end, case.completions()), (RunEnd::Horizon, vec![4.0, 8.0]));
    let attempts = &total.attempts;
    assert_eq!((attempts.completed, attempts.in_system, attempts.refused_total(), attempts.started), (2, 3, 0, 5));
    let last = &case.log.intervals.last().expect("an interval").point;
    assert_eq!((last.slots[0], last.waiting[0], last.unfinished), (1, 2, 3));
    assert_eq!((total.requests.unfinished, total.slo_share()), (3, Some(0.4)), "two of the five that were offered");
}

#[test]
fn case_60_events_at_the_horizon_still_happen() {
    let case = case("60", &["horizon=8s"]);
    assert_eq!(case.completions(), [4.0, 8.0]);
}

#[test]
fn case_62_completions_come_before_arrivals_of_the_same_instant() {
    let case_in_order = case("62", &[]);
    let line = "{ at = \"0s\", input_tokens = 10, output_tokens = 1 }";
    let late = "{ at = \"10s\", input_tokens = 10, output_tokens = 1 }";
    let shuffled = case("62", &[&format!("workload.requests=[{late}, {line}, {line}, {line}]")]);
    for case in [&case_in_order, &shuffled] {
        assert_eq!(case.answers(), ["OK"; 4]);
        assert_eq!(case.result.total.worker_rejections, 0);
    }
    assert_eq!(case_in_order.log.attempts, shuffled.log.attempts);
}

#[test]
fn case_64_a_request_that_never_fits_is_unservable_and_blocks_nobody() {
    let case = case("64", &[]);
    assert_eq!(case.answers(), ["UNSERVABLE", "OK"]);
    let attempts = &case.result.total.attempts;
    assert_eq!((attempts.unservable, attempts.completed, attempts.refused_total()), (1, 1, 0));
    let first = case.by_request()[0];
    assert_eq!((first.at.as_nanos(), &first.outcome), (0, &AttemptOutcome::Unservable), "at once");
    assert_eq!(case.result.end, RunEnd::Drained);
}
