//! Part B: routing, status codes, and marks of the request path.

use shedcast::cluster::observer::AttemptOutcome;
use shedcast::control::{Check, OverloadScope, RefusalClass};
use shedcast::units::SimTime;

use crate::harness::case;

#[test]
fn case_16_busy_workers_are_no_candidates() {
    let case = case("16", &[]);
    assert_eq!(case.count("OK"), 100);
    let completed: Vec<u64> = case.result.workers.iter().map(|worker| worker.completed).collect();
    assert_eq!(completed, [0, 0, 0, 100]);
}

#[test]
fn case_17_all_busy_and_nobody_there_are_different_answers() {
    for (name, answer) in [("17a", "529"), ("17b", "529"), ("17c", "503"), ("17d", "503"), ("17e", "503")] {
        let case = case(name, &[]);
        assert_eq!(case.answers(), [answer], "case {name}");
        let overload = u64::from(answer == "529");
        let counts = (case.result.total.requests.lost_to_overload, case.result.total.requests.lost_to_unavailability);
        assert_eq!(counts, (overload, 1 - overload), "case {name}");
    }
}

#[test]
fn case_19_a_worker_refusal_reaches_the_client_with_the_overload_status() {
    let case_529 = case("19", &[]);
    assert_eq!(case_529.answers(), ["OK", "OK", "OK", "SHED"]);
    let case_503 = case("19", &["frontend.overload_status_code=503"]);
    for (case, code) in [(&case_529, 529), (&case_503, 503)] {
        let (total, last) = (&case.result.total, &case.by_request()[3].outcome);
        let AttemptOutcome::Refused { refusal, status, .. } = last else { panic!("{last:?}") };
        assert_eq!((*status, refusal.reason.class()), (code, RefusalClass::Overloaded(OverloadScope::Worker)));
        assert_eq!((total.attempts.refused_total(), total.attempts.unavailable, total.attempts.completed), (1, 0, 3));
    }
}

#[test]
fn case_20_a_lease_lasts_exactly_a_second_unless_a_load_event_clears_it() {
    let leased = case("20", &[]);
    assert_eq!(leased.answers(), ["OK", "OK", "OK", "SHED", "529", "529", "OK"]);
    let end_of_work = leased.completions()[2];
    assert_eq!(end_of_work, 0.6);
    for ended in &leased.by_request()[4..6] {
        let refusal = ended.refusal().expect("refused");
        assert_eq!((refusal.leased_since, refusal.freed_by), (Some(SimTime::ZERO), Check::Lease.into()));
    }
    assert_eq!(leased.result.total.decisive.lease, 2, "the lease alone refused both");
    // Idle, and yet leased: the series shows it.
    let idle = leased.log.intervals.iter().filter(|i| i.end.as_secs_f64() > 0.65 && i.end.as_secs_f64() < 0.95);
    let seen: Vec<_> = idle.map(|i| (i.point.slots[0], i.fleet.workers[0].excluded)).collect();
    assert_eq!(seen, vec![(0, Check::Lease.into()); 3]);

    let cleared = case("20", &["events=[{ at = \"650ms\", load = { worker = 1, kv_used_blocks = 10 } }]"]);
    assert_eq!(cleared.answers(), ["OK", "OK", "OK", "SHED", "OK", "OK", "OK"]);
}
