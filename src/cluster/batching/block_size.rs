//! Tokens in a KV block, made ready to divide by.

/// A block size. Sizes that are powers of two, as almost all are, cost no division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockSize {
    tokens: u64,
    /// Of a power of two, its exponent.
    shift: Option<u32>,
}

impl BlockSize {
    /// Blocks of `tokens` tokens, 1 or more.
    pub fn new(tokens: u32) -> Self {
        let tokens = u64::from(tokens);
        Self { tokens, shift: tokens.is_power_of_two().then(|| tokens.trailing_zeros()) }
    }

    /// Blocks that `tokens` tokens take.
    #[inline]
    pub const fn blocks(self, tokens: u64) -> u64 {
        match self.shift {
            Some(shift) => (tokens + self.tokens - 1) >> shift,
            None => tokens.div_ceil(self.tokens),
        }
    }

    /// `n` divided by the size: quotient and rest.
    #[inline]
    pub const fn split(self, n: u64) -> (u64, usize) {
        match self.shift {
            Some(shift) => (n >> shift, (n & (self.tokens - 1)) as usize),
            None => (n / self.tokens, (n % self.tokens) as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_divides_as_the_operators_do() {
        for size in [1u32, 2, 3, 12, 16, 48, 64, 65_536] {
            let blocks = BlockSize::new(size);
            for n in [0, 1, 2, 3, 15, 16, 17, 47, 48, 49, 1_000_003, 1 << 40] {
                let wide = u64::from(size);
                assert_eq!(blocks.blocks(n), n.div_ceil(wide), "{n} / {size}");
                assert_eq!(blocks.split(n), (n / wide, (n % wide) as usize), "{n} / {size}");
            }
        }
    }
}
