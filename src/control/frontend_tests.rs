use super::*;
use crate::control::checks::{Check, Checks};
use crate::control::picker::tests::Counting;
use crate::control::rank_load::Observation;
use crate::units::Span;

const W: [WorkerId; 3] = [WorkerId(1), WorkerId(2), WorkerId(3)];

fn at(ms: u64) -> SimTime {
    SimTime::ZERO + Span::from_millis(ms)
}

fn thresholds(decode: Option<f64>, prefill: Option<u64>, frac: Option<f64>) -> ThresholdUpdate {
    ThresholdUpdate {
        active_decode_blocks_threshold: decode,
        active_prefill_tokens_threshold: prefill,
        active_prefill_tokens_threshold_frac: frac,
    }
}

fn frontend(mode: PickerMode, update: ThresholdUpdate, workers: &[WorkerId]) -> FrontendControl {
    let mut frontend = FrontendControl::new(FrontendSettings {
        mode,
        thresholds: BusyThresholds::default().merged(update),
        times: RouterTimes::default(),
        tracking: TrackingOptions::new(16).unwrap(),
    })
    .unwrap();
    frontend.discover(at(0), workers);
    configure(&mut frontend, at(0), workers);
    frontend
}

fn configure(frontend: &mut FrontendControl, now: SimTime, workers: &[WorkerId]) -> LoadOutcome {
    let config = RuntimeConfig { dp_start: 0, dp_size: 1, kv_total_blocks: Some(100), max_num_batched_tokens: Some(1000) };
    let configs: Vec<_> = workers.iter().map(|&w| (w, config)).collect();
    frontend.runtime_config(now, &configs)
}

fn load(worker: WorkerId, kv: Option<u64>, prefill: Option<u64>) -> WorkerLoad {
    let report = Observation { kv_used_blocks: kv, active_prefill_tokens: prefill, active_decode_blocks: None };
    WorkerLoad { worker, rank: 0, report }
}

fn refusal(frontend: &mut FrontendControl, now: SimTime) -> Refusal {
    frontend.probe(now, &RouteRequest::default(), &mut Counting(0)).expect_err("every worker is excluded")
}

#[test]
fn each_check_that_alone_would_have_routed_is_decisive() {
    let mut f = frontend(PickerMode::RoundRobin, thresholds(Some(0.5), Some(10), None), &W[..2]);
    f.worker_load(at(1), &load(W[0], Some(90), None));
    f.worker_load(at(2), &load(W[1], Some(90), Some(11)));
    let refused = refusal(&mut f, at(3));
    assert_eq!(refused.reason, RefusalReason::AllWorkersBusy);
    assert_eq!(refused.freed_by, Check::Decode.into());
    let witness = f.shedding().witness(&refused).unwrap();
    assert_eq!((witness.worker, witness.measured, witness.limit, witness.observed_at), (W[0], 90, 50.0, at(1)));
    // Now both workers are over in both ways: no check alone frees one.
    f.worker_load(at(4), &load(W[0], None, Some(11)));
    let refused = refusal(&mut f, at(5));
    assert!(refused.is_joint() && f.shedding().witness(&refused).is_some());
    // One that is over by prefill tokens alone makes that check decisive.
    f.worker_load(at(6), &load(W[0], Some(10), None));
    assert_eq!(refusal(&mut f, at(7)).freed_by, Check::Prefill.into());
}

#[test]
fn a_lease_is_decisive_where_nothing_else_excludes_the_worker() {
    let mut f = frontend(PickerMode::RoundRobin, thresholds(Some(0.5), None, None), &W[..2]);
    f.worker_load(at(1), &load(W[0], Some(90), None));
    f.worker_rejected(at(2), W[1]);
    let refused = refusal(&mut f, at(3));
    assert_eq!(refused.freed_by, Checks::from(Check::Decode) | Check::Lease.into());
    assert_eq!(refused.leased_since, Some(at(2)));
    // A busy worker under a lease is freed by neither alone.
    f.worker_rejected(at(4), W[0]);
    assert_eq!(refusal(&mut f, at(5)).freed_by, Check::Lease.into());
    let pinned = RouteRequest { pinned: Some(W[0]), ..Default::default() };
    let refused = f.probe(at(5), &pinned, &mut Counting(0)).unwrap_err();
    assert!(refused.reason == RefusalReason::PinnedWorkerBusy && refused.is_joint());
    // The lease ends exactly at its deadline.
    assert!(f.probe(at(1001), &RouteRequest::default(), &mut Counting(0)).is_err());
    assert!(f.probe(at(1002), &RouteRequest::default(), &mut Counting(0)).is_ok());
}

#[test]
fn a_post_waits_for_an_event_and_decode_for_each_ranks_own() {
    let mut f = frontend(PickerMode::RoundRobin, thresholds(Some(0.95), None, None), &W[..2]);
    f.worker_load(at(1), &load(W[0], Some(90), None));
    f.worker_load(at(1), &load(W[1], Some(90), None));
    assert!(!f.post_busy_threshold(thresholds(Some(0.95), None, None)).unwrap().changed);
    assert!(f.post_busy_threshold(thresholds(Some(0.6), None, None)).unwrap().changed);
    let outcome = f.worker_load(at(3), &load(W[0], Some(90), None));
    assert!(outcome.noticed && outcome.set_changed);
    assert!(f.monitor().is_current(W[0]) && !f.monitor().is_current(W[1]));
    assert_eq!(f.router().eligible(), [W[1]]);
    assert!(!f.worker_load(at(4), &load(W[1], None, Some(1))).noticed);
    assert!(f.monitor().is_current(W[1]), "observed since the post");
    // An update of the prefill limit alone leaves latches current.
    f.post_busy_threshold(thresholds(None, Some(5), None)).unwrap();
    assert!(!f.monitor().is_current(W[0]));
    assert!(f.worker_load(at(5), &load(W[1], None, Some(1))).noticed);
    assert!(f.monitor().is_current(W[0]));
}

#[test]
fn a_shadow_keeps_the_old_thresholds_and_sees_the_same_events() {
    let mut f = frontend(PickerMode::RoundRobin, thresholds(None, Some(100), None), &W[..1]);
    let mut shadow = f.shedding().clone();
    f.post_busy_threshold(thresholds(None, Some(10), None)).unwrap();
    let event = load(W[0], None, Some(50));
    f.worker_load(at(1), &event);
    shadow.worker_load(at(1), &event);
    let request = RouteRequest::default();
    assert!(f.probe(at(2), &request, &mut Counting(0)).is_err());
    assert_eq!(f.probe_with(at(2), &mut shadow, &request, &mut Counting(0)).unwrap().worker, W[0]);
}

#[test]
fn a_reported_down_worker_is_back_at_the_next_reconciliation_without_its_configuration() {
    let mut f = frontend(PickerMode::RoundRobin, thresholds(Some(0.5), None, None), &W[..2]);
    f.worker_load(at(10), &load(W[0], Some(90), None));
    f.report_down(at(6000), W[0]);
    f.report_down(at(7000), W[1]);
    assert_eq!(refusal(&mut f, at(9999)).reason, RefusalReason::Unavailable);
    assert_eq!(f.next_reconcile(), Some(at(10_000)));
    assert!(f.reconcile(at(10_000)));
    assert_eq!(f.router().eligible(), &W[..2]);
    f.worker_load(at(10_001), &load(W[0], Some(95), None));
    assert_eq!(f.router().eligible(), &W[..2], "no total, no decode check");
    configure(&mut f, at(10_002), &W[..2]);
    assert_eq!(f.router().eligible(), [W[1]], "a configuration rebuilds from the last values");
    assert_eq!(f.next_reconcile(), None);
}

#[test]
fn a_zero_inhibition_never_inhibits_and_a_zero_lease_never_leases() {
    let times = RouterTimes { overload_lease: Span::ZERO, inhibited_duration: Span::ZERO };
    let mut router = MonitoredRouter::new(BusyThresholds::default(), times).unwrap();
    router.discover(at(0), &W);
    router.report_down(at(1), W[0]);
    router.worker_rejected(at(1), W[1]);
    assert_eq!(router.router().eligible(), W);
}

#[test]
fn in_kv_mode_the_end_of_the_refused_booking_clears_the_lease() {
    let mut f = frontend(PickerMode::Kv, ThresholdUpdate::default(), &W[..1]);
    let request = RouteRequest { isl: 64, ..Default::default() };
    let to = f.route(at(1), &request, &mut Counting(0)).unwrap();
    let booked = f.book(at(1), BookingId(0), to.worker, to.rank.unwrap(), 64).unwrap();
    assert_eq!(booked.load.unwrap().active_decode_blocks, 4);
    let refused = f.worker_rejected(at(1), to.worker);
    assert_eq!(refused.reason.http_status(Default::default()), 529);
    assert!(f.probe(at(1), &request, &mut Counting(0)).is_err());
    assert!(f.end(at(1), BookingId(0)).outcome.published);
    f.finish(to.worker);
    assert!(f.probe(at(1), &request, &mut Counting(0)).is_ok());
    assert_eq!(f.pickers().in_flight(to.worker), 0);
}

#[test]
fn without_an_untried_worker_the_last_failure_answers() {
    let mut f = frontend(PickerMode::Kv, ThresholdUpdate::default(), &W[..1]);
    for (failure, reason) in [
        (DispatchFailure::WorkerAtCapacity, RefusalReason::WorkerAtCapacity),
        (DispatchFailure::ConnectionFailed, RefusalReason::Unavailable),
    ] {
        let request = RouteRequest { tried: &W[..1], last_failure: Some(failure), ..Default::default() };
        assert_eq!(f.probe(at(1), &request, &mut Counting(0)).unwrap_err().reason, reason);
    }
}

#[test]
fn a_worker_that_leaves_discovery_takes_its_bookings_and_a_down_one_keeps_them() {
    let mut f = frontend(PickerMode::Kv, ThresholdUpdate::default(), &W[..2]);
    f.book(at(1), BookingId(0), W[0], 0, 64).unwrap();
    f.book(at(1), BookingId(1), W[1], 0, 64).unwrap();
    f.report_down(at(2), W[0]);
    assert_eq!(f.tracking().unwrap().load_of(W[0], 0).unwrap().active_decode_blocks, 4);
    f.discover(at(3), &W[..1]);
    assert_eq!(f.tracking().unwrap().load_of(W[1], 0), None);
    assert_eq!(f.end(at(4), BookingId(1)), Publication::default());
    assert_eq!(f.end(at(4), BookingId(0)).load.unwrap().active_decode_blocks, 0);
}

#[test]
fn a_batch_that_goes_there_and_back_again_changes_nothing_and_survives_a_leave() {
    let mut f = frontend(PickerMode::RoundRobin, thresholds(Some(0.5), None, None), &W[..2]);
    let entry = |blocks| SchedulerLoad { worker: W[0], rank: 0, active_decode_blocks: blocks, active_prefill_tokens: 0 };
    let outcome = f.scheduler_load(at(1), &[entry(90), entry(10)]);
    assert!(!outcome.set_changed && !outcome.published);
    f.discover(at(2), &W[1..2]);
    assert!(f.worker_load(at(3), &load(W[1], Some(90), None)).published);
}

#[test]
fn a_configuration_that_leaves_a_busy_worker_out_frees_it_and_keeps_the_leases_of_others() {
    let mut f = frontend(PickerMode::RoundRobin, thresholds(Some(0.5), None, None), &W);
    f.worker_load(at(1), &load(W[0], Some(90), None));
    f.worker_rejected(at(2), W[1]);
    f.worker_rejected(at(2), W[2]);
    let outcome = configure(&mut f, at(3), &W[1..2]);
    assert!(outcome.set_changed && !outcome.published);
    assert_eq!(f.router().eligible(), [W[0], W[2]], "the lease of a worker left out goes with it");
    assert_eq!(f.monitor().busy_count(), 0);
}

#[test]
fn a_configuration_ahead_of_discovery_waits_for_its_worker() {
    let mut f = frontend(PickerMode::Kv, thresholds(Some(0.5), None, None), &[]);
    configure(&mut f, at(1), &W[..2]);
    f.discover(at(2), &W[1..2]);
    assert_eq!(f.tracking().unwrap().loads().count(), 1);
    f.discover(at(3), &W[..2]);
    assert!(f.worker_load(at(4), &load(W[0], Some(90), None)).set_changed);
    assert_eq!(f.tracking().unwrap().loads().count(), 2);
}
