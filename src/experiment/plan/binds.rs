//! What binds: which check refuses, and which resource is full.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::config::WorkerEngine;
use crate::experiment::RunResult;
use crate::scenario::Scenario;

use super::record::Record;

/// Share of refusals from which a check is told.
const TOLD: f64 = 0.05;
/// Share of a resource from which it counts as full.
const FULL: f64 = 0.9;

/// How full everything was in a run, and what refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Facts {
    /// Attempts.
    pub attempts: u64,
    /// Overload responses by decisive check, in the order of [`DecisiveCounts::named`].
    ///
    /// [`DecisiveCounts::named`]: crate::experiment::measures::DecisiveCounts::named
    pub decisive: [u64; 6],
    /// KV blocks in use of those there are, p99 over time, mean over ranks.
    pub kv: Option<f64>,
    /// Running sequences of the seats there are, p99 over time, mean over ranks.
    pub seats: Option<f64>,
    /// Sequences waiting inside the engine of a rank, p99 over time, mean over ranks.
    pub engine_waiting: Option<f64>,
    /// Engine slots in use of N, p99 over time, over the fleet.
    pub slots: Option<f64>,
    /// Requests in overflow queues of Q, p99 over time, over the fleet.
    pub queue: Option<f64>,
    /// Preemptions per completed request.
    pub preemptions: Option<f64>,
    /// Of the tokens computed for completed requests, those of prompts.
    pub prompt_share: Option<f64>,
}

impl Facts {
    /// The facts of a run.
    pub fn of(scenario: &Scenario, result: &RunResult) -> Self {
        let completed = result.total.requests.completed;
        let preempted: u64 = result.ranks.iter().map(|rank| rank.preemptions).sum();
        let gated = || result.workers.iter().filter_map(|w| w.engine_request_limit.map(|n| (n, w.request_queue_limit)));
        let (slots, places) = gated().fold((0, 0), |(n, q), (slots, queue)| (n + u64::from(slots), q + u64::from(queue)));
        let level = |window: &crate::stats::Window, of: u64| Some(window.quantile(0.99)? as f64 / of as f64).filter(|_| of > 0);
        let tokens = &result.total.tokens;
        Self {
            attempts: result.total.attempts.started,
            decisive: result.total.decisive.named().map(|(_, count)| count),
            kv: mean(result.ranks.iter().filter_map(|rank| {
                let total = rank.kv_total_blocks.filter(|total| *total > 0)?;
                Some(rank.kv_used_blocks.quantile(0.99)? as f64 / total as f64)
            })),
            seats: mean(
                result
                    .ranks
                    .iter()
                    .filter_map(|rank| Some(rank.running.quantile(0.99)? as f64 / f64::from(seats(scenario, rank.worker)?))),
            ),
            engine_waiting: mean(result.ranks.iter().filter_map(|rank| Some(rank.waiting.quantile(0.99)? as f64))),
            slots: level(&result.total.occupancy.slots, slots),
            queue: level(&result.total.occupancy.waiting, places),
            preemptions: (completed > 0).then(|| preempted as f64 / completed as f64),
            prompt_share: crate::experiment::measures::share(tokens.input, tokens.input + tokens.output),
        }
    }

    /// The mean of some runs' facts, counts added up.
    fn together(records: &[&Record]) -> Self {
        let of = |take: fn(&Self) -> Option<f64>| mean(records.iter().filter_map(|record| take(&record.facts)));
        let mut decisive = [0; 6];
        for record in records {
            decisive.iter_mut().zip(record.facts.decisive).for_each(|(sum, count)| *sum += count);
        }
        Self {
            attempts: records.iter().map(|record| record.facts.attempts).sum(),
            decisive,
            kv: of(|f| f.kv),
            seats: of(|f| f.seats),
            engine_waiting: of(|f| f.engine_waiting),
            slots: of(|f| f.slots),
            queue: of(|f| f.queue),
            preemptions: of(|f| f.preemptions),
            prompt_share: of(|f| f.prompt_share),
        }
    }
}

fn seats(scenario: &Scenario, worker: u32) -> Option<u32> {
    match &scenario.fleet.type_of(worker)?.engine {
        WorkerEngine::Batching(engine) => Some(engine.max_num_seqs),
        WorkerEngine::Opaque { .. } => None,
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Something that holds a fleet back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Binding {
    /// A check decides so great a share of the refusals; its name is that of [`DecisiveCounts::named`].
    ///
    /// [`DecisiveCounts::named`]: crate::experiment::measures::DecisiveCounts::named
    Check {
        /// `decode`, `prefill`, `prefill_fraction`, `lease`, `joint` or `worker_gate`.
        check: &'static str,
        /// Of all refusals.
        share: f64,
    },
    /// KV blocks are all but used up: p99 of the share in use.
    Kv(f64),
    /// Seats (`max_num_seqs`) are all but taken: p99 of the share.
    Seats(f64),
    /// Engine slots (N) are all but taken: p99 of the share.
    Slots(f64),
    /// Overflow queues (Q) are all but full: p99 of the share.
    Queue(f64),
    /// Sequences wait inside engines although KV blocks and seats are left: steps take what time there is, for prompts first.
    Prefill {
        /// Waiting at a rank, p99 over time.
        waiting: f64,
    },
    /// Preempted sequences computed again, per completed request.
    Preemptions(f64),
}

/// What binds in the runs of a cell, the checks with the greatest shares first.
pub(super) fn bindings(records: &[&Record]) -> Vec<Binding> {
    let facts = Facts::together(records);
    let names = crate::experiment::measures::DecisiveCounts::default().named().map(|(name, _)| name);
    let refused: u64 = facts.decisive.iter().sum();
    let mut checks: Vec<(u64, &'static str)> = facts.decisive.into_iter().zip(names).collect();
    checks.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let share = |count: u64| count as f64 / refused.max(1) as f64;
    let mut found: Vec<Binding> = checks
        .into_iter()
        .filter(|(count, _)| *count > 0 && share(*count) >= TOLD)
        .map(|(count, check)| Binding::Check { check, share: share(count) })
        .collect();
    let full = |value: Option<f64>| value.filter(|share| *share >= FULL);
    found.extend(full(facts.kv).map(Binding::Kv));
    found.extend(full(facts.seats).map(Binding::Seats));
    found.extend(full(facts.slots).map(Binding::Slots));
    found.extend(full(facts.queue).map(Binding::Queue));
    let room = full(facts.kv).is_none() && full(facts.seats).is_none();
    found.extend(facts.engine_waiting.filter(|w| *w >= 1.0 && room).map(|waiting| Binding::Prefill { waiting }));
    found.extend(facts.preemptions.filter(|p| *p >= 0.01).map(Binding::Preemptions));
    found
}
