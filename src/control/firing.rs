//! What a busy rank is busy by: the value, the limit, and when the value was observed.

use super::checks::Check;
use super::ids::WorkerId;
use super::rank_load::{RankLoad, Seen, Signal};
use super::thresholds::RankLimits;
use crate::units::SimTime;

/// A check that fires on a rank, and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FiringCheck {
    /// The worker.
    pub worker: WorkerId,
    /// The rank.
    pub rank: u32,
    /// The check.
    pub check: Check,
    /// The signal that is over.
    pub signal: Signal,
    /// Its value, in blocks or tokens.
    pub measured: u64,
    /// What it exceeds, in blocks or tokens. For a latched decode signal the line of its own observation, which an
    /// update since then has not moved.
    pub limit: f64,
    /// When the value was observed.
    pub observed_at: SimTime,
}

/// Appends every check that fires on one rank under `limits`.
pub(super) fn on_rank(worker: WorkerId, rank: u32, load: &RankLoad, limits: &RankLimits, out: &mut Vec<FiringCheck>) {
    let mut push = |check, signal, seen: Option<Seen>, limit| {
        if let Some(seen) = seen {
            out.push(FiringCheck { worker, rank, check, signal, measured: seen.value, limit, observed_at: seen.at });
        }
    };
    let sources = [(Signal::ActiveDecodeBlocks, load.active_decode_blocks), (Signal::KvUsedBlocks, load.kv_used_blocks)];
    for (signal, seen) in sources {
        let over = match (&load.latch, limits.decode_line) {
            (Some(latch), _) => {
                let memory = if signal == Signal::KvUsedBlocks { latch.kv_used_blocks } else { latch.active_decode_blocks };
                memory.over.then_some(memory.line)
            }
            (None, line) => line.filter(|&line| seen.is_some_and(|s| s.value as f64 > line)),
        };
        if let Some(line) = over {
            push(Check::Decode, signal, seen, line);
        }
    }
    for (check, limit) in [(Check::Prefill, limits.prefill), (Check::PrefillFraction, limits.prefill_fraction)] {
        if let Some(limit) = limit.filter(|_| load.fired.contains(check)) {
            push(check, Signal::ActivePrefillTokens, load.active_prefill_tokens, limit as f64);
        }
    }
}
