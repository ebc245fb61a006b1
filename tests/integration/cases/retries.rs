//! Case 36: metastable overload. The spike ends, the outage does not.

use crate::harness::{Case, case};

/// Requests per second at the base.
const BASE: u64 = 80;

fn attempts(n: u32) -> String {
    format!("clients.retry.attempts={n}")
}

/// The first second, counted from 0, from which on at least 79 requests complete in every one.
fn back_by(goodput: &[u64]) -> usize {
    let last_bad = goodput.iter().rposition(|&n| n < BASE - 1).expect("the spike costs something");
    last_bad + 1
}

/// How far the attempts are from those expected, as a share.
fn off(case: &Case, expected: f64) -> f64 {
    (case.result.total.attempts.started as f64 / expected - 1.0).abs()
}

#[test]
fn case_36_without_a_bound_one_attempt_each_recovers_by_itself() {
    let case = case("36", &[]);
    let back = back_by(&case.completed_by_second());
    assert!((31..=33).contains(&back), "back at 80/s from second {back} on");
}

#[test]
fn case_36_without_a_bound_retries_hold_the_outage() {
    for n in [2, 4] {
        let case = case("36", &[&attempts(n)]);
        let goodput = case.completed_by_second();
        assert_eq!(goodput[20..].iter().sum::<u64>(), 0, "{n} attempts: nothing useful from second 20 to the end");
        assert!(case.result.total.tokens.wasted > 0, "the worker works for nobody");
    }
}

#[test]
fn case_36_a_bounded_queue_never_collapses() {
    for (n, expected) in [(1, 10_100.0), (2, 10_558.0), (4, 11_414.0)] {
        for name in ["36", "36-reports"] {
            // With the lease on, load events clear it every 10 ms.
            let case = case(name, &["fleet.request_queue_limit=40", &attempts(n)]);
            let goodput = case.completed_by_second();
            let worst = goodput[1..].iter().min().expect("seconds");
            assert!(*worst >= BASE - 1, "case {name}, {n} attempts: {worst} in some second");
            assert_eq!(case.result.total.tokens.wasted, 0, "case {name}, {n} attempts: no wasted completion");
            assert!(off(&case, expected) < 0.01, "case {name}, {n} attempts: {}", case.result.total.attempts.started);
        }
    }
}

#[test]
fn case_36_leases_and_retries_of_one_period_lock_together() {
    let locked = case("36", &["frontend.overload_lease=1s", "fleet.request_queue_limit=40", &attempts(4)]);
    let goodput = locked.completed_by_second();
    let late: Vec<u64> = goodput[60..].to_vec();
    let mean = late.iter().sum::<u64>() as f64 / late.len() as f64;
    assert!(mean < 0.75 * BASE as f64, "far below 80/s to the end: {mean:.1}/s");
    let busy = locked.result.workers[0].slots.mean().expect("time passed");
    assert!(busy < 7.5, "of ten slots {busy:.1} are busy on average, while requests are refused");
    assert!(locked.result.total.decisive.lease > 0);

    let once = case("36", &["frontend.overload_lease=1s", "fleet.request_queue_limit=40", &attempts(1)]);
    let back = back_by(&once.completed_by_second());
    assert!(back <= 12, "back by second {back}");
}
