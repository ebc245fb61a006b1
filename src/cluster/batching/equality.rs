//! The two engines, driven side by side by random traffic: every observable must agree at every instant.

use proptest::prelude::*;

use super::*;
use crate::cluster::config::StepTiming;
use crate::engine::EventQueue;
use crate::units::{Attos, SimTime};

/// What happens to a group from outside.
#[derive(Clone, Copy, Debug)]
enum Act {
    Enqueue {
        rank: u32,
        input: u32,
        output: u32,
    },
    /// The `nth` of the requests so far leaves, if it is still here.
    Leave {
        nth: usize,
    },
    Slow {
        factor: u128,
    },
    Crash,
    Look,
}

#[derive(Clone, Debug)]
struct Case {
    spec: RankSpec,
    ranks: u32,
    watch: Watch,
    acts: Vec<(u64, Act)>,
}

/// Order of kinds within an instant, as in the simulator.
const CRASH: u8 = 0;
const END: u8 = 1;
const LEAVE: u8 = 4;
const ENQUEUE: u8 = 5;
const START: u8 = 6;
const LOOK: u8 = 7;

fn scaled(timing: &StepTiming, factor: u128) -> StepTiming {
    let by = |a: &Attos| a.times(factor);
    match timing {
        StepTiming::TwoPart { prefill, decode } => {
            StepTiming::TwoPart { prefill: prefill.each_ref().map(by), decode: decode.each_ref().map(by) }
        }
        other => other.clone(),
    }
}

/// Runs a case and writes down everything that can be seen.
fn observe<G: StepGroup>(case: &Case) -> Vec<String> {
    let mut group = G::new(&case.spec.clone().into(), case.ranks, case.watch);
    let mut queue: EventQueue<(Option<Act>, u64)> = EventQueue::new();
    for &(at, act) in &case.acts {
        let kind = match act {
            Act::Enqueue { .. } => ENQUEUE,
            Act::Leave { .. } => LEAVE,
            Act::Crash | Act::Slow { .. } => CRASH,
            Act::Look => LOOK,
        };
        queue.push(SimTime::from_nanos(at), kind, (Some(act), 0));
    }
    let (mut log, mut events, mut handles) = (Vec::new(), Vec::new(), Vec::<Option<u32>>::new());
    let mut generation = 0u64;
    let mut keys = 0u32;
    while let Some(next) = queue.pop() {
        let now = next.at();
        let mut follow = Next::Unchanged;
        match next.event {
            (None, stamp) if next.kind() == END => {
                if stamp != generation {
                    continue;
                }
                group.end(now, &mut events);
                follow = Next::StartNow;
            }
            (None, _) => {
                if let Some(end) = group.start(now) {
                    follow = Next::EndAt(end);
                }
            }
            (Some(Act::Enqueue { rank, input, output }), _) => {
                let sequence = NewSequence { key: keys, input_tokens: input, output_tokens: output };
                let (handle, next) = group.enqueue(now, rank % case.ranks, sequence);
                keys += 1;
                handles.push(Some(handle));
                follow = next;
            }
            (Some(Act::Leave { nth }), _) => {
                let there = if handles.is_empty() { None } else { handles[nth % handles.len()] };
                if let Some(handle) = there {
                    let index = nth % handles.len();
                    handles[index] = None;
                    log.push(format!("{now} {index} leaves after {}", group.generated(now, true, handle)));
                    follow = group.leave(now, handle, &mut events);
                }
            }
            (Some(Act::Slow { factor }), _) => follow = group.set_timing(now, scaled(&case.spec.timing, factor)),
            (Some(Act::Crash), _) => {
                let mut lost = Vec::new();
                group.clear(now, &mut lost);
                log.push(format!("{now} lost {lost:?}"));
                handles.iter_mut().for_each(|h| *h = None);
                generation += 1;
            }
            (Some(Act::Look), _) => {
                let tokens: Vec<u32> = handles.iter().flatten().map(|&h| group.generated(now, true, h)).collect();
                let ranks: Vec<RankSnapshot> = (0..case.ranks).map(|r| group.snapshot(now, r)).collect();
                log.push(format!("{now} {tokens:?} {ranks:?}"));
            }
        }
        for event in events.drain(..) {
            log.push(format!("{now} {event:?}"));
            if let StepEvent::Completed { key } | StepEvent::Left { key, .. } = event {
                handles[key as usize] = None;
            }
        }
        match follow {
            Next::Unchanged => {}
            Next::EndAt(end) => {
                generation += 1;
                queue.push(end, END, (None, generation));
            }
            Next::StartNow => {
                generation += 1; // no end is due any more
                queue.push(now, START, (None, 0));
            }
        }
    }
    log
}

fn timings() -> impl Strategy<Value = StepTiming> {
    let a = |max: u64| (0..max).prop_map(|n| Attos(u128::from(n)));
    let linear = (1_000_000_000u64..90_000_000_000, [a(9_000_000_000), a(900_000_000)], [a(9_000_000_000), a(2_000_000_000)]);
    prop_oneof![
        8 => linear.clone().prop_map(|(base, p, d)| StepTiming::TwoPart {
            prefill: [Attos(u128::from(base)), p[0], p[1]],
            decode: [Attos(u128::from(base / 2)), d[0], d[1]],
        }),
        4 => linear.prop_map(|(base, p, d)| StepTiming::SingleBase {
            base: Attos(u128::from(base)), prefill: p[0], prefill_squared: p[1], decode: d[0], context: d[1],
        }),
        1 => Just(StepTiming::Mocker),
    ]
}

fn acts(mocker: bool) -> impl Strategy<Value = Vec<(u64, Act)>> {
    let horizon = if mocker { 400_000_000u64 } else { 6_000 };
    let act = prop_oneof![
        12 => (0u32..4, 0u32..60, 1u32..50).prop_map(|(rank, input, output)| Act::Enqueue { rank, input, output }),
        3 => (0usize..40).prop_map(|nth| Act::Leave { nth }),
        1 => (1u128..4).prop_map(|factor| Act::Slow { factor }),
        1 => Just(Act::Crash),
        6 => Just(Act::Look),
    ];
    prop::collection::vec((0..horizon, act), 1..60)
}

fn cases() -> impl Strategy<Value = Case> {
    let shape = (
        prop_oneof![Just(1u32), Just(3), Just(4), Just(12), Just(16)],
        1u32..4,
        (any::<bool>(), 0u8..5),
        1u32..12,
        0u64..40,
        0u64..60,
    );
    (shape, timings()).prop_flat_map(|((block_size, ranks, (blocks, tokens), seats, budget, spare), timing)| {
        acts(timing == StepTiming::Mocker).prop_map(move |acts| Case {
            spec: RankSpec {
                block_size,
                // The longest request, 59 + 49 - 1 tokens, always fits; how much more there is varies.
                total_blocks: 107u64.div_ceil(u64::from(block_size)) + spare,
                max_num_seqs: seats,
                max_num_batched_tokens: u64::from(seats) + budget,
                timing: timing.clone(),
            },
            ranks,
            watch: Watch { blocks, tokens: tokens == 0 },
            acts,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(1500), ..ProptestConfig::default() })]
    #[test]
    fn both_engines_show_the_same_at_every_instant(case in cases()) {
        let plain = observe::<Stepwise>(&case);
        let fast = observe::<Coalesced>(&case);
        if let Some(i) = (0..plain.len().max(fast.len())).find(|&i| plain.get(i) != fast.get(i)) {
            prop_assert!(false, "after {:#?}\nplain: {:?}\nfast:  {:?}", &plain[i.saturating_sub(3)..i], plain.get(i), fast.get(i));
        }
    }
}
