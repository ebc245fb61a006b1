//! Decoding sequences by the tick at which they take their next block.

use super::block_size::BlockSize;

/// How many decoding sequences take a new block in a step, by the tick at which it starts.
///
/// A sequence takes one whenever its computed tokens are a multiple of the block size. It computes one token with each tick, so it
/// stays in the bucket of the ticks at which that is so, modulo the block size.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    size: BlockSize,
    counts: Vec<u32>,
    /// The present tick modulo the block size.
    now: usize,
    members: u64,
}

impl Buckets {
    /// None yet, of blocks of `size` with `tokens` tokens.
    pub fn new(tokens: u32) -> Self {
        Self { size: BlockSize::new(tokens), counts: vec![0; tokens as usize], now: 0, members: 0 }
    }

    /// The block size.
    #[inline]
    pub fn size(&self) -> BlockSize {
        self.size
    }

    /// Sequences in all.
    #[inline]
    pub fn members(&self) -> u64 {
        self.members
    }

    /// A sequence with `computed` tokens joins; answers its bucket.
    #[inline]
    pub fn join(&mut self, computed: u64) -> u32 {
        let (_, back) = self.size.split(computed);
        let bucket = if back > self.now { self.now + self.counts.len() - back } else { self.now - back };
        self.counts[bucket] += 1;
        self.members += 1;
        bucket as u32
    }

    /// A sequence leaves its bucket.
    #[inline]
    pub fn leave(&mut self, bucket: u32) {
        self.counts[bucket as usize] -= 1;
        self.members -= 1;
    }

    /// Blocks taken by the step that starts at the present tick.
    #[inline]
    pub fn taken_now(&self) -> u64 {
        self.counts[self.now].into()
    }

    /// Blocks taken by the steps that start 1, 2, ... ticks from now, over one block of ticks.
    #[inline]
    pub fn taken_later(&self) -> impl Iterator<Item = u64> + '_ {
        let (before, after) = self.counts.split_at(self.now + 1);
        after.iter().chain(before).map(|&count| u64::from(count))
    }

    /// Blocks taken by the `steps` steps after the one that starts at the present tick.
    #[inline]
    pub fn taken_by_next(&self, steps: u64) -> u64 {
        let (whole, rest) = self.size.split(steps);
        let sum = |counts: &[u32]| counts.iter().map(|&count| u64::from(count)).sum::<u64>();
        let (before, after) = self.counts.split_at(self.now + 1);
        let partial = match after.get(..rest) {
            Some(some) => sum(some),
            None => sum(after) + sum(&before[..rest - after.len()]),
        };
        whole * self.members + partial
    }

    /// Steps after the one that starts at the present tick, at most `most`, before one takes more than is left of `free` blocks.
    pub fn steps_within(&self, free: u64, most: u64) -> u64 {
        let (whole, rest) = self.size.split(most);
        if (whole + u64::from(rest > 0)).saturating_mul(self.members) <= free {
            return most;
        }
        let cycles = free / self.members;
        let mut left = free - cycles * self.members;
        let mut steps = cycles * self.counts.len() as u64;
        for taken in self.taken_later() {
            if steps >= most || taken > left {
                break;
            }
            left -= taken;
            steps += 1;
        }
        steps.min(most)
    }

    /// `ticks` ticks pass.
    #[inline]
    pub fn pass(&mut self, ticks: u64) {
        let (_, ahead) = self.size.split(ticks);
        let now = self.now + ahead;
        self.now = if now >= self.counts.len() { now - self.counts.len() } else { now };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counting_by_buckets_is_counting_one_by_one(
            size in 1u32..20,
            start in 0u64..100,
            computed in prop::collection::vec(0u64..200, 0..12),
            steps in 0u64..100,
            free in 0u64..60,
        ) {
            let mut buckets = Buckets::new(size);
            buckets.pass(start);
            let joined: Vec<u32> = computed.iter().map(|&c| buckets.join(c)).collect();
            let wide = u64::from(size);
            let taken = |ahead: u64| computed.iter().filter(|&&c| (c + ahead).is_multiple_of(wide)).count() as u64;
            prop_assert_eq!(buckets.taken_now(), taken(0));
            prop_assert_eq!(buckets.taken_by_next(steps), (1..=steps).map(taken).sum::<u64>());
            let later: Vec<u64> = buckets.taken_later().collect();
            prop_assert_eq!(later, (1..=wide).map(taken).collect::<Vec<_>>());
            let mut left = free;
            let fit = (1..=steps).take_while(|&i| {
                let fits = taken(i) <= left;
                left = left.saturating_sub(taken(i));
                fits
            });
            prop_assert_eq!(buckets.steps_within(free, steps), fit.count() as u64);
            joined.into_iter().for_each(|bucket| buckets.leave(bucket));
            prop_assert_eq!((buckets.members(), buckets.taken_by_next(wide)), (0, 0));
        }
    }
}
