//! Whatever happens to a frontend, what it keeps up to date change by change is what a look at everything gives.

use super::*;
use crate::control::checks::{Check, Checks};
use crate::control::picker::tests::Counting;
use crate::control::rank_load::Observation;
use crate::units::Span;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Event {
    Discover(Vec<u32>),
    Down(u32),
    Config(Vec<(u32, u32)>),
    Load(u32, u32, Option<u64>, Option<u64>, Option<u64>),
    Post(Option<f64>, Option<u64>, Option<f64>),
    Rejected(u32),
    Wait(u64),
    Book(u32, u64),
    End(u32),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let worker = 0u32..4;
    let workers = prop::collection::vec(worker.clone(), 0..5);
    let blocks = || prop::option::of(0u64..101);
    let share = prop::option::of(prop::sample::select(vec![0.0, 0.3, 0.6, 1.0]));
    let fraction = prop::option::of(prop::sample::select(vec![0.0, 0.05, 0.5]));
    let event = prop_oneof![
        1 => workers.prop_map(Event::Discover),
        1 => worker.clone().prop_map(Event::Down),
        1 => prop::collection::vec((worker.clone(), 1u32..3), 0..5).prop_map(Event::Config),
        8 => (worker.clone(), 0u32..2, blocks(), blocks(), blocks()).prop_map(|(w, r, a, p, k)| Event::Load(w, r, a, p, k)),
        2 => (share, prop::option::of(0u64..80), fraction).prop_map(|(d, p, f)| Event::Post(d, p, f)),
        2 => worker.prop_map(Event::Rejected),
        1 => (0u64..1500).prop_map(Event::Wait),
        4 => (0u32..8, 0u64..90).prop_map(|(id, isl)| Event::Book(id, isl)),
        2 => (0u32..8).prop_map(Event::End),
    ];
    // Most runs start with a fleet that is there and configured.
    prop::collection::vec(event, 0..50).prop_map(|mut events| {
        events.insert(0, Event::Discover(vec![0, 1, 2]));
        events.insert(1, Event::Config(vec![(0, 1), (1, 2), (2, 1)]));
        events
    })
}

fn apply(f: &mut FrontendControl, now: SimTime, event: &Event) {
    let worker = |w: &u32| WorkerId(*w);
    match event {
        Event::Discover(workers) => f.discover(now, &workers.iter().map(worker).collect::<Vec<_>>()),
        Event::Down(w) => f.report_down(now, worker(w)),
        Event::Config(configs) => {
            let (kv_total_blocks, max_num_batched_tokens) = (Some(100), Some(1000));
            let config = |dp_size| RuntimeConfig { dp_start: 0, dp_size, kv_total_blocks, max_num_batched_tokens };
            let configs: Vec<_> = configs.iter().map(|(w, size)| (worker(w), config(*size))).collect();
            f.runtime_config(now, &configs);
        }
        Event::Load(w, rank, active_decode_blocks, active_prefill_tokens, kv_used_blocks) => {
            let report = Observation {
                active_decode_blocks: *active_decode_blocks,
                active_prefill_tokens: *active_prefill_tokens,
                kv_used_blocks: *kv_used_blocks,
            };
            f.worker_load(now, &WorkerLoad { worker: worker(w), rank: *rank, report });
        }
        Event::Post(decode, prefill, fraction) => {
            let update = ThresholdUpdate {
                active_decode_blocks_threshold: *decode,
                active_prefill_tokens_threshold: *prefill,
                active_prefill_tokens_threshold_frac: *fraction,
            };
            f.post_busy_threshold(update).expect("every value is in its range");
        }
        Event::Rejected(w) => _ = f.worker_rejected(now, worker(w)),
        Event::Wait(_) => f.advance(now),
        Event::Book(id, isl) => {
            let request = RouteRequest { isl: *isl, ..RouteRequest::default() };
            if let Ok(to) = f.route(now, &request, &mut Counting(u64::from(*id))) {
                // A booking under a live id is refused, which leaves everything as it was.
                _ = f.book(now, BookingId(*id), to.worker, to.rank.expect("kv mode names the rank"), *isl);
            }
        }
        Event::End(id) => _ = f.end(now, BookingId(*id)),
    }
}

/// Whether `worker` would be eligible without `unset`: by its ranks' firing checks and its lease.
fn eligible_without(f: &FrontendControl, worker: WorkerId, unset: Checks) -> bool {
    let state = f.monitor().worker(worker).expect("the monitor follows every routable worker");
    let fires = |fired: Checks| fired.iter().any(|check| !unset.contains(check));
    let declared = state.config().map_or(state.ranks().count(), |c| c.dp_size as usize);
    let busy_ranks = state.ranks().filter(|(_, load)| fires(load.fired)).count();
    let busy = declared > 0 && busy_ranks == declared;
    let leased = f.router().lease_of(worker).is_some() && !unset.contains(Check::Lease);
    !busy && !leased
}

fn look_at_everything(f: &mut FrontendControl, now: SimTime) -> Result<(), TestCaseError> {
    let request = RouteRequest { isl: 20, ..RouteRequest::default() };
    let mut shadow = f.shedding().clone();
    for seed in 0..2 {
        let by_index = f.probe(now, &request, &mut Counting(seed));
        prop_assert_eq!(by_index, f.probe_with(now, &mut shadow, &request, &mut Counting(seed)));
    }
    let routable: Vec<WorkerId> = f.router().routable().collect();
    prop_assert_eq!(f.monitor().workers().map(|(id, _)| id).collect::<Vec<_>>(), routable.clone());
    prop_assert_eq!(f.router().routable_count(), routable.len());
    let without = |unset: Checks| routable.iter().copied().filter(|&w| eligible_without(f, w, unset)).collect::<Vec<_>>();
    let eligible = without(Checks::NONE);
    prop_assert_eq!(f.router().eligible(), eligible.clone());
    prop_assert_eq!(f.monitor().busy_count(), f.monitor().busy_workers().count());
    if eligible.is_empty() && !routable.is_empty() {
        let decisive = Check::ALL.into_iter().filter(|&check| !without(check.into()).is_empty());
        let decisive = decisive.fold(Checks::NONE, |set, check| set | check.into());
        let refusal = f.probe(now, &request, &mut Counting(0)).expect_err("nobody is eligible");
        prop_assert_eq!(refusal.freed_by, decisive);
        let witness = f.shedding().witness(&refusal);
        prop_assert!(witness.is_some() || f.monitor().busy_count() == 0 || !refusal.is_joint());
        prop_assert!(witness.is_none_or(|w| w.measured as f64 > w.limit));
    }
    Ok(())
}

proptest! {
    #[test]
    fn what_is_kept_up_to_date_is_what_a_look_at_everything_gives(events in events()) {
        let tracking = TrackingOptions::new(16).unwrap();
        let settings = FrontendSettings {
            mode: PickerMode::Kv,
            thresholds: BusyThresholds::default(),
            times: RouterTimes::default(),
            tracking,
        };
        let mut f = FrontendControl::new(settings).unwrap();
        let mut now = SimTime::ZERO;
        for event in &events {
            now += Span::from_millis(if let Event::Wait(ms) = event { *ms } else { 1 });
            apply(&mut f, now, event);
            look_at_everything(&mut f, now)?;
        }
    }
}
