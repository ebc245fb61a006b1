//! Which sample of an ordered set stands for a quantile.

/// A probability is taken as a decimal of this many parts, so that 0.07 of 100 samples is rank 7 and not 8 because
/// the float nearest to 0.07 lies above it.
const PARTS: u128 = 1_000_000_000;

/// How a probability picks one of n ordered samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankRule {
    /// The nearest rank: the smallest sample with at least a share p of all samples at or below it, rank ceil(n p).
    #[default]
    NearestRank,
    /// The sample at index round((n - 1) p) counted from 0, halves to even: the definition of NVIDIA's simulator.
    RoundedRank,
}

impl RankRule {
    /// The rank, counted from 1 to `n`, that stands for the quantile `p`; `None` if `n` is 0.
    ///
    /// `p` is read as a decimal of nine digits and kept within [0, 1] (NaN reads as 0).
    pub fn rank(self, n: u64, p: f64) -> Option<u64> {
        if n == 0 {
            return None;
        }
        let parts = parts(p);
        let rank = match self {
            Self::NearestRank => (u128::from(n) * parts).div_ceil(PARTS),
            Self::RoundedRank => {
                let product = u128::from(n - 1) * parts;
                let (index, rest) = (product / PARTS, product % PARTS);
                let up = rest * 2 > PARTS || rest * 2 == PARTS && index % 2 == 1;
                index + u128::from(up) + 1
            }
        };
        Some(u64::try_from(rank).expect("a rank is at most n").max(1))
    }

    /// The rule in words, as it stands beside printed figures.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::NearestRank => "nearest rank",
            Self::RoundedRank => "sample at index round((n-1)p)",
        }
    }
}

/// The share `p` of `total`, rounded up to a whole number: the least amount that is at least that share.
pub(super) fn share_of(total: u64, p: f64) -> u64 {
    let amount = (u128::from(total) * parts(p)).div_ceil(PARTS);
    u64::try_from(amount).expect("a share is at most the whole")
}

/// `p` in whole parts, within [0, 1].
fn parts(p: f64) -> u128 {
    // The cast saturates and takes NaN as 0.
    ((p.clamp(0.0, 1.0) * PARTS as f64).round() as u128).min(PARTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_decimal_probability_means_its_decimal() {
        let nearest = |n, p| RankRule::NearestRank.rank(n, p).unwrap();
        // In floats 100 * 0.07 is 7.000000000000001 and 1000 * 0.999 may round either way.
        assert_eq!((nearest(100, 0.07), nearest(1000, 0.999), nearest(100, 0.29), nearest(10, 0.9)), (7, 999, 29, 9));
        assert_eq!((nearest(3, 0.5), nearest(3, 0.75), nearest(3, 1.0), nearest(3, 0.0)), (2, 3, 3, 1));
        assert_eq!((nearest(u64::MAX, 1.0), nearest(5, 7.0), nearest(5, f64::NAN)), (u64::MAX, 5, 1));
        assert_eq!(RankRule::NearestRank.rank(0, 0.5), None);
    }

    #[test]
    fn the_rounded_rank_rounds_halves_to_even_as_python_does() {
        let rounded = |n, p| RankRule::RoundedRank.rank(n, p).unwrap() - 1;
        // round(0.5) = 0, round(1.5) = 2, round(2.5) = 2, round(999.5) = 1000.
        assert_eq!((rounded(2, 0.5), rounded(4, 0.5), rounded(6, 0.5), rounded(2000, 0.5)), (0, 2, 2, 1000));
        assert_eq!((rounded(2000, 0.99), rounded(1, 0.99), rounded(10, 1.0), rounded(10, 0.0)), (1979, 0, 9, 0));
    }

    proptest! {
        #[test]
        fn ranks_stay_within_the_samples_and_never_fall(n in 1u64.., p in 0.0f64..=1.0, q in 0.0f64..=1.0) {
            for rule in [RankRule::NearestRank, RankRule::RoundedRank] {
                let (low, high) = (rule.rank(n, p.min(q)).unwrap(), rule.rank(n, p.max(q)).unwrap());
                prop_assert!(1 <= low && low <= high && high <= n);
            }
        }
    }
}
