//! Decision quality as reports show it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::RunResult;
use crate::experiment::quality::{Confusion, Cost};
use crate::stats::text::count;

/// Decisions held against two references that are never mixed, over what the statistics cover.
///
/// *Fresh*: the same rules, told everything at once, without leases. *Engine*: is there a worker that would take the request now?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QualitySummary {
    /// Decisions; a migration inside a frontend is one of its own.
    pub decisions: u64,
    /// Unlike fresh's: refused instead of routed, the reverse, or another destination.
    pub unlike_fresh: u64,
    /// That over the decisions.
    pub unlike_fresh_share: Option<f64>,
    /// Routed to a worker that fresh holds for busy.
    pub routed_to_busy: u64,
    /// Against fresh.
    pub fresh: ConfusionSummary,
    /// Against engine.
    pub engine: ConfusionSummary,
    /// Accepted, and then without seat or blocks at once.
    pub waited_in_engine: u64,
    /// Sequences that a rank preempted over the whole run.
    pub preemptions: u64,
}

/// Decisions by what was done and what a reference says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfusionSummary {
    /// Routed, and there was room.
    pub routed_with_room: u64,
    /// Routed although there was none.
    pub routed_without_room: u64,
    /// Refused although there was room.
    pub refused_with_room: u64,
    /// Refused, and there was none.
    pub refused_without_room: u64,
    /// Prompt and output tokens of those refused although there was room.
    pub refused_with_room_tokens: u64,
    /// Share of wrong decisions.
    pub wrong_share: Option<f64>,
}

impl ConfusionSummary {
    fn of(table: &Confusion, cost: &Cost) -> Self {
        Self {
            routed_with_room: table.routed_with_room,
            routed_without_room: table.routed_without_room,
            refused_with_room: table.refused_with_room,
            refused_without_room: table.refused_without_room,
            refused_with_room_tokens: cost.tokens,
            wrong_share: table.wrong_share(),
        }
    }
}

impl QualitySummary {
    /// The figures of a run; `None` where it did not judge decisions.
    pub fn of(result: &RunResult) -> Option<Self> {
        let quality = &result.total.quality;
        (!result.quality.is_empty()).then(|| Self {
            decisions: quality.decisions(),
            unlike_fresh: quality.unlike_fresh,
            unlike_fresh_share: quality.unlike_fresh_share(),
            routed_to_busy: quality.routed_to_busy,
            fresh: ConfusionSummary::of(&quality.fresh, &quality.cost_fresh),
            engine: ConfusionSummary::of(&quality.engine, &quality.cost_engine),
            waited_in_engine: quality.waited_in_engine,
            preemptions: result.ranks.iter().map(|rank| rank.preemptions).sum(),
        })
    }

    /// What is said of it to people; nothing of no decision.
    pub(super) fn said(&self) -> Option<String> {
        if self.decisions == 0 {
            return None;
        }
        let share = |n: u64| format!("{:.1} %", 100.0 * n as f64 / self.decisions as f64);
        Some(format!(
            "{} of {} decisions unlike those of a frontend told everything at once ({}); refused although a worker would have \
             taken it: {} ({} tokens); routed although none would: {}; waited in the engine: {}, preempted: {}",
            count(self.unlike_fresh),
            count(self.decisions),
            share(self.unlike_fresh),
            count(self.engine.refused_with_room),
            count(self.engine.refused_with_room_tokens),
            count(self.engine.routed_without_room),
            count(self.waited_in_engine),
            count(self.preemptions),
        ))
    }
}
