//! What a monitor knows of one data-parallel rank: the last value of each signal and the decode latch.

use super::checks::{Check, Checks};
use super::thresholds::RankLimits;
use crate::units::SimTime;

/// One report on a rank; an absent field is not in the report and keeps its last value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// KV blocks by the router's own tracking.
    pub active_decode_blocks: Option<u64>,
    /// Prefill tokens by the router's own tracking.
    pub active_prefill_tokens: Option<u64>,
    /// KV blocks by the worker's own count.
    pub kv_used_blocks: Option<u64>,
}

/// Which signal a value came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// `active_decode_blocks`.
    ActiveDecodeBlocks,
    /// `kv_used_blocks`.
    KvUsedBlocks,
    /// `active_prefill_tokens`.
    ActivePrefillTokens,
}

impl Signal {
    /// Its name as events spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ActiveDecodeBlocks => "active_decode_blocks",
            Self::KvUsedBlocks => "kv_used_blocks",
            Self::ActivePrefillTokens => "active_prefill_tokens",
        }
    }
}

/// A value and when it was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The value: blocks or tokens.
    pub value: u64,
    /// When it reached the monitor.
    pub at: SimTime,
}

/// What a latch remembers of one source of used blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SourceMemory {
    /// Over the line when it was last observed. A source not seen since the latch came into being is under.
    pub over: bool,
    /// The line of that moment, in blocks.
    pub line: f64,
    /// Version of the decode threshold of that moment.
    pub version: u32,
}

impl SourceMemory {
    fn of(value: Option<u64>, line: f64, version: u32) -> Self {
        Self { over: value.is_some_and(|v| v as f64 > line), line, version }
    }
}

/// The memory of a rank's decode check.
///
/// The rule (set by a source over the line; cleared once both are under) leaves the latch set exactly while one of the
/// two remembered states is "over": a report can set it only through a source it carries, and clears it when none is left.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latch {
    /// Memory of `active_decode_blocks`.
    pub active_decode_blocks: SourceMemory,
    /// Memory of `kv_used_blocks`.
    pub kv_used_blocks: SourceMemory,
    /// Version of the decode threshold at the rank's last report, or when the latch was rebuilt.
    pub version: u32,
}

impl Latch {
    /// Whether the rank is busy by decode.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.active_decode_blocks.over || self.kv_used_blocks.over
    }
}

/// The state of one rank.
#[derive(Clone, Debug, Default)]
pub struct RankLoad {
    /// Last `active_decode_blocks`.
    pub active_decode_blocks: Option<Seen>,
    /// Last `kv_used_blocks`.
    pub kv_used_blocks: Option<Seen>,
    /// Last `active_prefill_tokens`.
    pub active_prefill_tokens: Option<Seen>,
    /// The latch, from the first report made while the decode check could be evaluated.
    pub latch: Option<Latch>,
    /// Checks that fired at the last evaluation.
    pub fired: Checks,
}

impl RankLoad {
    /// Takes in a report made at `now`; `line` is the decode line of this moment (blocks), `version` its version.
    #[inline]
    pub(crate) fn observe(&mut self, now: SimTime, report: &Observation, line: Option<f64>, version: u32) {
        let seen = |value| Seen { value, at: now };
        if let Some(value) = report.active_decode_blocks {
            self.active_decode_blocks = Some(seen(value));
        }
        if let Some(value) = report.kv_used_blocks {
            self.kv_used_blocks = Some(seen(value));
        }
        if let Some(value) = report.active_prefill_tokens {
            self.active_prefill_tokens = Some(seen(value));
        }
        let Some(line) = line else { return };
        // Whatever was stored before, a new latch starts clear with both sources under.
        let latch = self.latch.get_or_insert_default();
        latch.version = version;
        if report.active_decode_blocks.is_some() {
            latch.active_decode_blocks = SourceMemory::of(report.active_decode_blocks, line, version);
        }
        if report.kv_used_blocks.is_some() {
            latch.kv_used_blocks = SourceMemory::of(report.kv_used_blocks, line, version);
        }
    }

    /// Throws the latch away and makes it anew from the last values, as a runtime configuration does.
    pub(crate) fn rebuild_latch(&mut self, line: Option<f64>, version: u32) {
        let value = |seen: Option<Seen>| seen.map(|s| s.value);
        self.latch = line.map(|line| Latch {
            active_decode_blocks: SourceMemory::of(value(self.active_decode_blocks), line, version),
            kv_used_blocks: SourceMemory::of(value(self.kv_used_blocks), line, version),
            version,
        });
    }

    /// The checks that fire under `limits`.
    #[inline]
    pub(crate) fn evaluate(&self, limits: &RankLimits) -> Checks {
        let decode = match &self.latch {
            Some(latch) => latch.is_set(),
            None => limits.decode_line.is_some_and(|line| {
                let over = |seen: Option<Seen>| seen.is_some_and(|s| s.value as f64 > line);
                over(self.active_decode_blocks) || over(self.kv_used_blocks)
            }),
        };
        let prefill = self.active_prefill_tokens.map_or(0, |s| s.value);
        Checks::when(Check::Decode, decode)
            | Checks::when(Check::Prefill, limits.prefill.is_some_and(|limit| prefill > limit))
            | Checks::when(Check::PrefillFraction, limits.prefill_fraction.is_some_and(|limit| prefill > limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The latch as the rule words it, with a state of its own.
    #[derive(Default)]
    struct AsWorded {
        busy: bool,
        active_over: bool,
        kv_over: bool,
    }

    impl AsWorded {
        fn observe(&mut self, report: &Observation, line: f64) {
            let over = |v: u64| v as f64 > line;
            let sources = [report.active_decode_blocks, report.kv_used_blocks];
            if sources.into_iter().flatten().any(over) {
                self.busy = true;
            }
            self.active_over = report.active_decode_blocks.map_or(self.active_over, over);
            self.kv_over = report.kv_used_blocks.map_or(self.kv_over, over);
            if !self.active_over && !self.kv_over {
                self.busy = false;
            }
        }
    }

    proptest! {
        #[test]
        fn the_latch_is_the_or_of_its_two_memories(
            steps in prop::collection::vec((prop::option::of(0u64..100), prop::option::of(0u64..100), 0f64..100.0), 1..40),
        ) {
            let (mut rank, mut worded) = (RankLoad::default(), AsWorded::default());
            for (active, kv, line) in steps {
                let report = Observation { active_decode_blocks: active, kv_used_blocks: kv, active_prefill_tokens: None };
                rank.observe(SimTime::ZERO, &report, Some(line), 0);
                worded.observe(&report, line);
                prop_assert_eq!(rank.evaluate(&RankLimits::default()).contains(Check::Decode), worded.busy);
            }
        }
    }
}
