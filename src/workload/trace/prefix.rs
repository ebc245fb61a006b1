//! How much of a trace's prompts an infinite prefix cache would hold.

use super::report::TraceWarning;

/// Slots of a bounded set: 512 KiB, which a processor's cache holds.
const BOUNDED_SLOTS: usize = 1 << 16;

/// A set of block identities: open addressing with linear probing, which costs no allocation per block.
#[derive(Clone, Debug)]
struct IdSet {
    /// Identity plus one; 0 is a free slot.
    slots: Vec<u64>,
    len: usize,
    /// Whether the one identity that plus one makes 0 is in.
    has_last: bool,
    bounded: bool,
}

impl IdSet {
    fn new(bounded: bool) -> Self {
        Self { slots: vec![0; if bounded { BOUNDED_SLOTS } else { 1 << 12 }], len: 0, has_last: false, bounded }
    }

    /// The slot that holds `key` or would.
    fn slot(slots: &[u64], key: u64) -> usize {
        let mask = slots.len() - 1;
        // Fibonacci hashing (Knuth, TAOCP 3, 6.4): the high bits of the product.
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while slots[at] != 0 && slots[at] != key {
            at = (at + 1) & mask;
        }
        at
    }

    fn contains(&self, id: u64) -> bool {
        match id.wrapping_add(1) {
            0 => self.has_last,
            key => self.slots[Self::slot(&self.slots, key)] == key,
        }
    }

    /// Whether another identity still fits.
    fn has_room(&self) -> bool {
        !self.bounded || self.len * 4 < self.slots.len() * 3
    }

    fn insert(&mut self, id: u64) {
        let key = id.wrapping_add(1);
        if key == 0 {
            self.len += usize::from(!self.has_last);
            self.has_last = true;
            return;
        }
        let at = Self::slot(&self.slots, key);
        if self.slots[at] == key {
            return;
        }
        self.slots[at] = key;
        self.len += 1;
        if !self.bounded && self.len * 4 > self.slots.len() * 3 {
            let mut larger = vec![0; self.slots.len() * 2];
            for key in self.slots.iter().filter(|key| **key != 0) {
                let at = Self::slot(&larger, *key);
                larger[at] = *key;
            }
            self.slots = larger;
        }
    }
}

/// Use of an infinite cache of leading blocks: a prompt's leading blocks that any earlier prompt had cost nothing.
#[derive(Clone, Debug)]
pub struct PrefixUse {
    seen: IdSet,
    /// Rows with block identities that were counted.
    pub rows: u64,
    /// Their prompt tokens.
    pub input_tokens: u64,
    /// Those of them in leading blocks seen before.
    pub reusable_tokens: u64,
    /// Rows whose number of blocks is not that of a prompt of their length.
    pub misfits: u64,
    /// Block identities of all rows.
    pub blocks: u64,
    /// Tokens of one block, as the last row had it.
    pub block_size: u32,
    /// A bounded count was full and counted no further rows.
    pub full: bool,
}

impl PrefixUse {
    /// An exact count; its memory grows with the distinct blocks.
    pub fn exact() -> Self {
        Self::with(IdSet::new(false))
    }

    /// A count in fixed memory: exact until about 49,000 distinct blocks, and then no further rows are counted.
    pub fn bounded() -> Self {
        Self::with(IdSet::new(true))
    }

    fn with(seen: IdSet) -> Self {
        Self { seen, rows: 0, input_tokens: 0, reusable_tokens: 0, misfits: 0, blocks: 0, block_size: 1, full: false }
    }

    /// Counts one prompt and returns how many of its tokens are reusable.
    pub fn add(&mut self, ids: &[u64], input_tokens: u32, block_size: u32) -> u32 {
        if !self.seen.has_room() {
            self.full = true;
            return 0;
        }
        let hits = ids.iter().take_while(|id| self.seen.contains(**id)).count() as u64;
        let reusable = (hits * u64::from(block_size)).min(u64::from(input_tokens));
        for id in &ids[hits as usize..] {
            if !self.seen.has_room() {
                break;
            }
            self.seen.insert(*id);
        }
        self.rows += 1;
        // A recorder may leave out the last block, which is not full.
        let (whole, all) = (input_tokens / block_size.max(1), input_tokens.div_ceil(block_size.max(1)));
        self.misfits += u64::from(!(u64::from(whole)..=u64::from(all)).contains(&(ids.len() as u64)));
        self.blocks += ids.len() as u64;
        self.block_size = block_size;
        self.input_tokens += u64::from(input_tokens);
        self.reusable_tokens += reusable;
        reusable as u32
    }

    /// Empties the cache; what was counted stays.
    pub(super) fn forget(&mut self) {
        self.seen = IdSet::new(self.seen.bounded);
    }

    /// A warning if most rows have more or fewer blocks than prompts of their lengths.
    pub(in crate::workload) fn block_doubt(&self) -> Option<TraceWarning> {
        let implied = self.input_tokens as f64 / self.blocks.max(1) as f64;
        (self.misfits * 2 > self.rows).then_some(TraceWarning::BlockSizeDoubt {
            block_size: self.block_size,
            implied,
            rows: self.misfits,
        })
    }

    /// Distinct blocks seen.
    pub fn distinct_blocks(&self) -> u64 {
        self.seen.len as u64
    }

    /// Share of the prompt tokens that an infinite cache would hold, 0 to 1.
    pub fn share(&self) -> f64 {
        if self.input_tokens == 0 { 0.0 } else { self.reusable_tokens as f64 / self.input_tokens as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn only_leading_blocks_seen_before_are_reusable() {
        let mut cache = PrefixUse::exact();
        assert_eq!(cache.add(&[0, 1, 2], 1_300, 512), 0);
        assert_eq!(cache.add(&[0, 1, 3], 1_300, 512), 1_024);
        assert_eq!(cache.add(&[9, 1, 2], 1_300, 512), 0);
        assert_eq!(cache.add(&[0, 1, 2], 1_300, 512), 1_300);
        assert_eq!((cache.distinct_blocks(), cache.rows), (5, 4));
        assert!((cache.share() - 2_324.0 / 5_200.0).abs() < 1e-15);
    }

    #[test]
    fn blocks_of_another_size_are_noticed() {
        let mut cache = PrefixUse::exact();
        cache.add(&[1, 2, 3], 1_500, 512);
        cache.add(&[1, 2], 1_500, 512);
        assert_eq!(cache.block_doubt(), None, "the last block may be missing");
        (0..9).for_each(|i| _ = cache.add(&[i, 2, 3, 4], 64, 512));
        assert!(matches!(cache.block_doubt(), Some(TraceWarning::BlockSizeDoubt { block_size: 512, rows: 9, .. })));
    }

    #[test]
    fn a_bounded_count_stops_and_says_so() {
        let mut cache = PrefixUse::bounded();
        for i in 0..100u64 {
            let ids: Vec<u64> = (0..1_000).map(|j| i * 1_000 + j).collect();
            cache.add(&ids, 1_000, 1);
        }
        assert!(cache.full && cache.rows == 50 && cache.seen.slots.len() == BOUNDED_SLOTS, "{}", cache.rows);
    }

    proptest! {
        #[test]
        fn the_set_holds_what_was_put_in(ids in prop::collection::vec(prop_oneof![any::<u64>(), Just(u64::MAX), 0u64..50], 0..9_000)) {
            let mut set = IdSet::new(false);
            let mut reference = BTreeSet::new();
            for id in ids {
                prop_assert_eq!(set.contains(id), reference.contains(&id));
                set.insert(id);
                reference.insert(id);
                prop_assert!(set.contains(id));
            }
            prop_assert_eq!(set.len, reference.len());
        }
    }
}
