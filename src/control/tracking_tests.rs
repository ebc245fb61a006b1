use super::*;
use crate::control::picker::tests::Counting;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The choice as the rule words it: the lowest of the exact costs, of equals the one drawn.
fn by_cost(t: &RouterTracking, isl: u64, workers: &[WorkerId], chooser: &mut Counting) -> Option<(WorkerId, u32)> {
    let loads = t.loads().filter(|load| workers.contains(&load.worker));
    let costs: Vec<(f64, WorkerId, u32)> =
        loads.map(|l| (t.options().cost(l.active_prefill_tokens, l.active_decode_blocks, isl), l.worker, l.rank)).collect();
    let lowest = costs.iter().map(|c| c.0).min_by(f64::total_cmp)?;
    let tied: Vec<_> = costs.iter().filter(|c| c.0 == lowest).collect();
    let n = if tied.len() > 1 { chooser.below(tied.len() as u64) } else { 0 };
    Some((tied[n as usize].1, tied[n as usize].2))
}

fn tracking(block_size: u32, output: bool) -> RouterTracking {
    let options = TrackingOptions::new(block_size).unwrap().with(output, true, true).unwrap();
    let mut tracking = RouterTracking::new(options);
    tracking.set_ranks([(WorkerId(1), 0), (WorkerId(1), 1), (WorkerId(2), 0)]);
    tracking
}

#[test]
fn a_second_booking_under_a_live_id_is_refused() {
    let mut t = tracking(16, false);
    t.book(BookingId(3), WorkerId(1), 0, 40).unwrap();
    assert_eq!(t.book(BookingId(3), WorkerId(2), 0, 40), Err(BookingError::AlreadyBooked));
    t.end(BookingId(3)).unwrap();
    t.book(BookingId(3), WorkerId(2), 0, 40).unwrap();
    let unknown = BookingError::UnknownRank { worker: WorkerId(7), rank: 0 };
    assert_eq!(t.book(BookingId(4), WorkerId(7), 0, 40), Err(unknown));
}

#[test]
fn options_that_contradict_each_other_are_an_error() {
    let options = TrackingOptions::new(16).unwrap();
    assert_eq!(options.with(true, true, false), Err(TrackingOptionsError::OutputWithoutActive));
    assert_eq!(TrackingOptions::new(0), Err(TrackingOptionsError::NoBlockSize));
}

#[test]
fn a_worker_already_tried_is_no_candidate() {
    let mut t = tracking(16, false);
    t.book(BookingId(0), WorkerId(2), 0, 400).unwrap();
    let both = [WorkerId(1), WorkerId(2)];
    assert_eq!(t.choose(10, &both, &[WorkerId(1)], &mut Counting(0)), Some((WorkerId(2), 0)));
    assert_eq!(t.choose(10, &both, &both, &mut Counting(0)), None);
    assert_eq!(t.choose(10, &[], &[], &mut Counting(0)), None);
}

#[test]
fn equal_costs_are_chosen_evenly() {
    let mut t = tracking(16, false);
    t.book(BookingId(0), WorkerId(1), 1, 1).unwrap();
    let mut counts = BTreeMap::new();
    let mut chooser = Counting(3);
    for _ in 0..20_000 {
        let chosen = t.choose(10, &[WorkerId(1), WorkerId(2)], &[], &mut chooser).unwrap();
        *counts.entry(chosen).or_insert(0u32) += 1;
    }
    // 4.5 standard deviations of a binomial(20000, 1/2) are 318.
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [(WorkerId(1), 0), (WorkerId(2), 0)]);
    assert!(counts.values().all(|n| n.abs_diff(10_000) < 318), "{counts:?}");
}

/// Blocks and prefill tokens: small ones, so that equal costs are made in different ways, and some of any size.
fn load_values() -> impl Strategy<Value = (u64, u64)> {
    prop_oneof![6 => (0u64..4, 0u64..200), 1 => (0u64..1 << 40, 0u64..1 << 50), 1 => any::<(u64, u64)>()]
}

/// Calls on bookings 0 to 5.
#[derive(Clone, Debug)]
enum Call {
    Book(u32, u32, u64),
    FirstToken(u32),
    Output(u32, u64),
    InStep(u32, bool),
    Step(u32, u64),
    End(u32),
    Ranks(bool),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let id = 0u32..6;
    let call = prop_oneof![
        3 => (id.clone(), 0u32..2, 0u64..40).prop_map(|(i, r, isl)| Call::Book(i, r, isl)),
        2 => id.clone().prop_map(Call::FirstToken),
        2 => (id.clone(), 1u64..60).prop_map(|(i, g)| Call::Output(i, g)),
        2 => (id.clone(), any::<bool>()).prop_map(|(i, on)| Call::InStep(i, on)),
        3 => (0u32..2, 0u64..50).prop_map(|(r, n)| Call::Step(r, n)),
        1 => id.prop_map(Call::End),
        1 => any::<bool>().prop_map(Call::Ranks),
    ];
    prop::collection::vec(call, 0..60)
}

/// A live booking of the model: rank, isl, prefilling, generated, in step.
type Live = (u32, u64, bool, u64, bool);

fn model(live: &mut BTreeMap<u32, Live>, call: &Call, both: &mut bool) {
    match *call {
        Call::Book(id, rank, isl) if rank == 0 || *both => _ = live.entry(id).or_insert((rank, isl, true, 0, false)),
        Call::Book(..) => {}
        Call::FirstToken(id) => _ = live.get_mut(&id).map(|b| b.2 = false),
        Call::Output(id, g) => _ = live.get_mut(&id).map(|b| b.3 = b.3.max(g)),
        Call::InStep(id, on) => _ = live.get_mut(&id).map(|b| b.4 = on),
        Call::Step(rank, n) => live.values_mut().filter(|b| b.0 == rank && b.4).for_each(|b| b.3 += n),
        Call::End(id) => _ = live.remove(&id),
        Call::Ranks(all) => {
            *both = all;
            live.retain(|_, b| b.0 == 0 || all);
        }
    }
}

proptest! {
    #[test]
    fn index_scan_and_rule_choose_the_same_rank(
        bs in prop_oneof![Just(16u32), 1u32..70],
        loads in prop::collection::vec((0u32..4, 0u32..3, load_values()), 0..14),
        isl in prop_oneof![0u64..200, any::<u64>()],
        eligible in prop::collection::btree_set(0u32..4, 0..4),
        (prefill, active) in any::<(bool, bool)>(),
    ) {
        let options = TrackingOptions::new(bs).unwrap().with(false, prefill, active).unwrap();
        let loads: Vec<SchedulerLoad> = loads
            .into_iter()
            .map(|(worker, rank, (blocks, prefill))| SchedulerLoad {
                worker: WorkerId(worker),
                rank,
                active_decode_blocks: blocks,
                active_prefill_tokens: prefill,
            })
            .collect();
        let mut t = RouterTracking::at_loads(options, &loads);
        let workers: Vec<WorkerId> = eligible.into_iter().map(WorkerId).collect();
        t.set_candidates(&workers);
        for seed in 0..5 {
            // Some move between two choices, one of them there and back.
            for (id, load) in loads.iter().enumerate().filter(|(i, _)| i % 3 == seed as usize % 3) {
                let id = BookingId(id as u32);
                let known = t.end(id).is_some();
                if !known {
                    t.book(id, load.worker, load.rank, isl % 64).unwrap();
                }
            }
            let rule = by_cost(&t, isl, &workers, &mut Counting(seed));
            prop_assert_eq!(t.choose(isl, &workers, &[], &mut Counting(seed)), rule);
            t.settle();
            prop_assert_eq!(t.choose_candidate(isl, &mut Counting(seed)), rule);
        }
    }

    #[test]
    fn tracked_loads_are_the_sums_over_live_bookings(bs in 1u32..9, calls in calls()) {
        let options = TrackingOptions::new(bs).unwrap().with(true, true, true).unwrap();
        let mut t = RouterTracking::new(options);
        let rank_set = |all: bool| (0..1 + u32::from(all)).map(|rank| (WorkerId(5), rank));
        t.set_ranks(rank_set(true));
        let (mut live, mut both) = (BTreeMap::new(), true);
        for call in &calls {
            match *call {
                Call::Book(id, rank, isl) => _ = t.book(BookingId(id), WorkerId(5), rank, isl),
                Call::FirstToken(id) => _ = t.first_token(BookingId(id)),
                Call::Output(id, g) => t.output(BookingId(id), g),
                Call::InStep(id, on) => t.set_in_step(BookingId(id), on),
                Call::Step(rank, n) => t.step(WorkerId(5), rank, n),
                Call::End(id) => _ = t.end(BookingId(id)),
                Call::Ranks(all) => t.set_ranks(rank_set(all)),
            }
            model(&mut live, call, &mut both);
            let bs = u64::from(bs);
            for load in t.loads() {
                let on_rank = || live.values().filter(|b| b.0 == load.rank);
                let blocks: u64 = on_rank().map(|b| b.1 / bs + (b.1 + b.3).div_ceil(bs) - b.1.div_ceil(bs)).sum();
                let prefill: u64 = on_rank().filter(|b| b.2).map(|b| b.1).sum();
                prop_assert_eq!((load.active_decode_blocks, load.active_prefill_tokens), (blocks, prefill), "{:?}", call);
            }
        }
    }
}
