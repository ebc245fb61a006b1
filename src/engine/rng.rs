//! Named random sub-streams from one root seed.
//!
//! Each cause of randomness (arrivals, lengths, service, routing, clients, faults ...) draws from a stream of its own,
//! so that a change in one of them (say, a threshold) leaves every draw of the others as it was: two policies meet the
//! very same arrivals. The generator is PCG64 (`Lcg128Xsl64`, O'Neill 2014), which is documented as portable.

use rand::TryRng;
use rand::rand_core::Infallible;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// The root of a run's randomness: hands out independent generators by cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
    replication: u64,
}

impl Streams {
    /// The streams of `seed`, replication 0.
    pub const fn new(seed: u64) -> Self {
        Self { seed, replication: 0 }
    }

    /// The same causes, drawn independently: replication `index` of the experiment (0 is the run itself).
    #[must_use]
    pub const fn replication(self, index: u64) -> Self {
        Self { replication: index, ..self }
    }

    /// The generator of one cause; `index` tells several of its kind apart (client classes, workers).
    pub fn stream(&self, cause: &str, index: u64) -> SimRng {
        // FNV-1a over the name, then SplitMix64 over everything: any bit of any part changes the whole seed.
        let name = cause.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3));
        let mut state = self.seed;
        let mut seed = [0u8; 32];
        for part in [name, index, self.replication] {
            state = mix(state ^ mix(part.wrapping_add(0x9e37_79b9_7f4a_7c15)));
        }
        for chunk in seed.chunks_exact_mut(8) {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            chunk.copy_from_slice(&mix(state).to_le_bytes());
        }
        SimRng(Pcg64::from_seed(seed))
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One random sub-stream.
#[derive(Clone, Debug)]
pub struct SimRng(Pcg64);

impl SimRng {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A float in [0, 1), a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// A float in (0, 1], a multiple of 2^-53: safe to take a logarithm of.
    pub fn unit_open_left(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// A whole number below `n`, each equally likely (Lemire 2019, with rejection).
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "nothing to choose from");
        let threshold = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }
}

impl TryRng for SimRng {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.bits() >> 32) as u32)
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.bits())
    }
    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(dst);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_draws_are_golden() {
        let mut arrivals = Streams::new(1).stream("arrivals", 0);
        let drawn: Vec<u64> = (0..3).map(|_| arrivals.bits()).collect();
        assert_eq!(drawn, [1_005_552_742_055_604_613, 126_956_826_847_240_030, 2_855_199_065_492_735_490]);
    }

    #[test]
    fn streams_differ_by_cause_index_seed_and_replication() {
        let first = |s: Streams, cause: &str, i| s.stream(cause, i).bits();
        let s = Streams::new(1);
        let all = [
            first(s, "arrivals", 0),
            first(s, "lengths", 0),
            first(s, "arrivals", 1),
            first(Streams::new(2), "arrivals", 0),
            first(s.replication(1), "arrivals", 0),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b), "{all:x?}");
        }
    }

    #[test]
    fn choices_below_n_are_even() {
        let mut rng = Streams::new(7).stream("test", 0);
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[rng.below(10) as usize] += 1;
        }
        // 4.5 standard deviations of a binomial(100000, 0.1) are 427.
        assert!(counts.iter().all(|&c| c.abs_diff(10_000) < 427), "{counts:?}");
    }
}
