//! Part C: the worker's gate, N + Q.

use crate::harness::{Case, case, load};

/// Refusals: by workers, and seen by clients.
fn refusals(case: &Case) -> (u64, u64) {
    (case.result.total.worker_rejections, case.result.total.attempts.refused_total())
}

#[test]
fn case_23_a_worker_takes_exactly_n_plus_q() {
    for name in ["23", "23-free"] {
        let case = case(name, &[]);
        assert_eq!(case.result.total.attempts.in_system, 18, "case {name}");
        assert_eq!(refusals(&case), (1, 2), "case {name}");
        assert_eq!(case.result.workers[0].request_queue_limit, 16);
        let last = &case.log.intervals.last().expect("an interval").point;
        assert_eq!((last.slots[0], last.waiting[0], last.gauge), (2, 16, 15), "the gauge counts the channel alone");
    }
    for (q, taken) in [(2, 4), (3, 5)] {
        let sets = [&format!("fleet.request_queue_limit={q}"), "workload.requests.0.count=10"];
        assert_eq!(case("23", &sets).result.total.attempts.in_system, taken, "Q = {q}");
    }
}

#[test]
fn case_23_limits_below_their_minimum_are_errors_that_name_it() {
    for q in [0, 1] {
        let message = load("23", &[&format!("fleet.request_queue_limit={q}")]).expect_err("below the minimum");
        assert!(message.contains("request_queue_limit") && message.contains("the minimum is 2"), "{message}");
    }
    let message = load("23", &["fleet.engine_request_limit=0", "fleet.request_queue_limit=2"]).expect_err("no slot");
    assert!(message.contains("engine_request_limit") && message.contains("from 1"), "{message}");
}

#[test]
fn case_25_the_cap_does_not_depend_on_the_spacing_of_arrivals() {
    let together = case("25a", &[]);
    assert_eq!((together.result.total.attempts.in_system, refusals(&together)), (3, (1, 2)));
    assert_eq!(together.answers(), ["SHED", "529"]);
    let spaced = case("25b", &[]);
    assert_eq!((spaced.result.total.attempts.in_system, refusals(&spaced)), (3, (2, 2)));
    let refused: Vec<(u64, f64)> = spaced.by_request().iter().map(|e| (e.attempt.id, e.at.as_secs_f64())).collect();
    assert_eq!((refused, spaced.answers()), (vec![(3, 3.0), (4, 4.0)], vec!["SHED".to_owned(), "SHED".to_owned()]));
}

#[test]
fn case_27_a_migrated_refusal_counts_at_its_worker_only() {
    let lost = case("27", &[]);
    assert_eq!((lost.answers()[3].as_str(), refusals(&lost)), ("SHED", (1, 1)));
    let moved = case("27", &["frontend.migration_limit=1"]);
    assert_eq!((moved.answers()[3].as_str(), refusals(&moved)), ("OK", (1, 0)));
    assert_eq!(moved.by_request()[3].attempt.worker(), Some(2));
    assert_eq!(moved.result.workers.iter().map(|w| w.rejected).collect::<Vec<_>>(), [1, 0]);
    let pinned = case("27-pinned", &[]);
    assert_eq!((pinned.answers()[3].as_str(), refusals(&pinned)), ("SHED", (1, 1)));
}

#[test]
fn case_28_every_request_has_an_outcome() {
    let drained = case("28", &[]).result.total.attempts;
    assert_eq!((drained.started, drained.completed, drained.refused_total(), drained.in_system), (12, 3, 9, 0));
    let cut = case("28", &["horizon=1.5s"]);
    let attempts = cut.result.total.attempts;
    assert_eq!((attempts.started, attempts.completed, attempts.refused_total(), attempts.in_system), (12, 1, 9, 2));
    let last = &cut.log.intervals.last().expect("an interval").point;
    assert_eq!((last.slots[0], last.waiting[0]), (1, 1));
}

#[test]
fn case_29_clients_that_leave_take_no_permit_along() {
    for notices in ["true", "false"] {
        let case = case("29", &[&format!("clients.server_notices={notices}")]);
        let attempts = &case.result.total.attempts;
        assert_eq!(attempts.started, 10_005);
        assert!((2_700..3_300).contains(&attempts.cancelled), "about 30 % leave: {}", attempts.cancelled);
        let drained = case.log.intervals.iter().find(|i| i.end.as_secs_f64() == 126.0).expect("a sample at 126 s");
        assert_eq!((drained.point.slots[0], drained.point.waiting[0], drained.point.gauge), (0, 0, 0));
        let answers = case.answers();
        assert_eq!(answers[10_000..], ["OK", "OK", "OK", "OK", "SHED"], "server_notices = {notices}");
    }
}
