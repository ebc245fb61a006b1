//! Confidence intervals for means over replications, for paired differences and for quantiles.

use super::special::{binomial_cdf, t_quantile};

/// A two-sided confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A mean with the half-width of its Student-t interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanInterval {
    /// The mean of the samples.
    pub mean: f64,
    /// Half the width of the interval; `None` of a single sample, whose spread nobody knows.
    pub half_width: Option<f64>,
    /// How many samples.
    pub samples: usize,
}

impl MeanInterval {
    /// The interval's ends; `None` of a single sample.
    pub fn interval(&self) -> Option<Interval> {
        self.half_width.map(|half| Interval { low: self.mean - half, high: self.mean + half })
    }
}

/// A mean difference of pairs with its interval, and what the pairing was worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedDifference {
    /// The mean of `a - b` with its interval.
    pub difference: MeanInterval,
    /// The variance of the difference had the samples been independent, over the one observed: above 1 where common
    /// random numbers helped. `None` with fewer than two pairs or where the difference does not vary at all.
    pub variance_reduction: Option<f64>,
}

/// Mean and unbiased variance (two passes; the order of summation is that of the slice). The variance is `None` with
/// fewer than two samples, all of it with none.
pub fn sample_mean_and_variance(samples: &[f64]) -> Option<(f64, Option<f64>)> {
    if samples.is_empty() {
        return None;
    }
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let squares: f64 = samples.iter().map(|x| (x - mean) * (x - mean)).sum();
    Some((mean, (samples.len() > 1).then(|| squares / (n - 1.0))))
}

/// The mean of independent replications with its Student-t interval at `level` (0.95 for 95 %): half-width
/// t(1 - (1 - level) / 2; n - 1) s / sqrt(n) (Student 1908; Law, "Simulation modeling and analysis", section 9.4).
/// `None` without samples. Samples must be finite: leave out replications without the measure, and say how many.
pub fn mean_interval(samples: &[f64], level: f64) -> Option<MeanInterval> {
    let (mean, variance) = sample_mean_and_variance(samples)?;
    let n = samples.len() as f64;
    let half_width = variance.map(|variance| t_for(level, n - 1.0) * (variance / n).sqrt());
    Some(MeanInterval { mean, half_width, samples: samples.len() })
}

/// The mean of `a - b` over pairs that share their random numbers, with its Student-t interval (Law, section 10.2.1).
/// `None` without pairs or if the two differ in length.
pub fn paired_difference(a: &[f64], b: &[f64], level: f64) -> Option<PairedDifference> {
    if a.len() != b.len() {
        return None;
    }
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let difference = mean_interval(&differences, level)?;
    let variance = |samples: &[f64]| sample_mean_and_variance(samples).and_then(|(_, variance)| variance);
    let variance_reduction =
        variance(&differences).filter(|&paired| paired > 0.0).and_then(|paired| Some((variance(a)? + variance(b)?) / paired));
    Some(PairedDifference { difference, variance_reduction })
}

/// The two-sided t factor of a level.
pub(super) fn t_for(level: f64, df: f64) -> f64 {
    t_quantile(0.5 + 0.5 * level, df)
}

/// The mean of `b` less that of `a`, which are independent and may vary differently, with the Student-t interval of Welch (1947): the
/// degrees of freedom are those of Satterthwaite. `None` of an empty slice; no interval of a single sample, whose spread nobody
/// knows. `samples` counts the smaller of the two.
pub fn unpaired_difference(b: &[f64], a: &[f64], level: f64) -> Option<MeanInterval> {
    let ((mean_b, of_b), (mean_a, of_a)) = (sample_mean_and_variance(b)?, sample_mean_and_variance(a)?);
    let share = |variance: Option<f64>, samples: &[f64]| variance.map(|variance| variance / samples.len() as f64);
    let half_width = share(of_b, b).zip(share(of_a, a)).map(|(vb, va)| {
        let total = vb + va;
        if total <= 0.0 {
            return 0.0;
        }
        let df = total * total / (vb * vb / (b.len() - 1) as f64 + va * va / (a.len() - 1) as f64);
        t_for(level, df) * total.sqrt()
    });
    Some(MeanInterval { mean: mean_b - mean_a, half_width, samples: a.len().min(b.len()) })
}

/// The ranks (from 1) of the order statistics of `n` independent samples that enclose the quantile `p` with at least
/// the confidence `level`, whatever the distribution (Thompson 1936; Hahn and Meeker, "Statistical intervals",
/// section 5.2). An end is `None` where no sample lies far enough out: too few samples for this quantile.
///
/// Latencies of one run depend on each other: there the interval is too narrow, and the t interval over the quantiles
/// of replications is the one to trust.
pub fn quantile_ranks(n: u64, p: f64, level: f64) -> (Option<u64>, Option<u64>) {
    if n == 0 || !(0.0..=1.0).contains(&p) || !(level > 0.0 && level < 1.0) {
        return (None, None);
    }
    let tail = 0.5 * (1.0 - level);
    // With K of n samples at or below the quantile: rank l lies above it with P(K <= l - 1), rank u below it with
    // P(K >= u).
    let lower = first_above(n, |k| binomial_cdf(k, n, p) > tail);
    let upper = first_above(n, |k| binomial_cdf(k, n, p) >= 1.0 - tail) + 1;
    ((lower >= 1).then_some(lower), (upper <= n).then_some(upper))
}

/// The least k in 0..=n that `holds`, which must be monotone and hold at n.
fn first_above(n: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::super::special::t_quantile;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_mean_interval_agrees_with_a_textbook_example() {
        // Law, example 4.26: ten values, 90 % interval 1.34 +- 0.24.
        let values = [1.20, 1.50, 1.68, 1.89, 0.95, 1.49, 1.58, 1.55, 0.50, 1.09];
        let interval = mean_interval(&values, 0.9).unwrap();
        assert!((interval.mean - 1.343).abs() < 1e-12);
        assert!((interval.half_width.unwrap() - 0.24).abs() < 0.005, "{interval:?}");
    }

    #[test]
    fn one_sample_has_a_mean_but_no_spread_and_none_has_nothing() {
        assert_eq!(mean_interval(&[], 0.95), None);
        let one = mean_interval(&[3.0], 0.95).unwrap();
        assert_eq!((one.mean, one.half_width, one.interval()), (3.0, None, None));
        assert_eq!(paired_difference(&[1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(paired_difference(&[], &[], 0.95), None);
    }

    #[test]
    fn pairing_tells_what_it_was_worth() {
        let base = [10.0, 14.0, 9.0, 12.0, 17.0];
        let noise = [0.1, -0.2, 0.0, 0.15, -0.05];
        let a: Vec<f64> = base.iter().zip(noise).map(|(b, e)| b + 1.0 + e).collect();
        let paired = paired_difference(&a, &base, 0.95).unwrap();
        assert!((paired.difference.mean - 1.0).abs() < 1e-12);
        assert!(paired.difference.half_width.unwrap() < 0.2 && paired.variance_reduction.unwrap() > 500.0);
        assert_eq!(paired_difference(&base, &base, 0.95).unwrap().variance_reduction, None);
    }

    #[test]
    fn the_interval_of_an_unpaired_difference_is_welchs() {
        let (a, b) = ([20.0, 22.0, 19.0, 24.0, 21.0, 23.0, 20.5], [27.0, 24.0, 26.5, 22.0, 28.0, 24.5, 23.0, 29.0, 22.5]);
        let found = unpaired_difference(&b, &a, 0.95).unwrap();
        let (mean_b, mean_a) = (b.iter().sum::<f64>() / 9.0, a.iter().sum::<f64>() / 7.0);
        assert!((found.mean - (mean_b - mean_a)).abs() < 1e-12 && found.samples == 7);
        let alike = unpaired_difference(&[2.0, 2.0], &[1.0, 1.0], 0.95).unwrap();
        assert_eq!((alike.mean, alike.half_width), (1.0, Some(0.0)));
        assert_eq!(unpaired_difference(&[2.0], &[1.0, 2.0], 0.95).unwrap().half_width, None);
        assert_eq!(unpaired_difference(&[], &[1.0], 0.95), None);
        // Equal variances and sizes: the pooled interval, with 2 (n - 1) degrees of freedom.
        let (x, y) = ([1.0, 2.0, 3.0], [5.0, 6.0, 7.0]);
        let half = unpaired_difference(&y, &x, 0.95).unwrap().half_width.unwrap();
        assert!((half - t_quantile(0.975, 4.0) * (2.0_f64 / 3.0).sqrt()).abs() < 1e-9, "{half}");
    }

    #[test]
    fn quantile_ranks_agree_with_published_ones() {
        // Hahn and Meeker, section 5.2: n = 100, p = 0.9, 95 %: ranks 84 (85 at a slightly lower confidence) and 96.
        let (low, high) = quantile_ranks(100, 0.9, 0.95);
        assert_eq!((low, high), (Some(84), Some(96)));
        // The median of 10 at 95 %: ranks 2 and 9 (confidence 0.979).
        assert_eq!(quantile_ranks(10, 0.5, 0.95), (Some(2), Some(9)));
        // Six samples are the fewest for a median, and 99 % of 100 samples has no upper end.
        assert_eq!(quantile_ranks(5, 0.5, 0.95), (None, None));
        assert_eq!(quantile_ranks(6, 0.5, 0.95), (Some(1), Some(6)));
        assert_eq!(quantile_ranks(100, 0.99, 0.95).1, None);
        assert_eq!(quantile_ranks(0, 0.5, 0.95), (None, None));
        assert_eq!(quantile_ranks(10, 0.0, 0.95), (None, Some(1)));
    }

    proptest! {
        #[test]
        fn quantile_ranks_hold_their_level_and_are_tight(n in 1u64..5000, p in 0.01f64..0.999) {
            let (low, high) = quantile_ranks(n, p, 0.95);
            if let Some(low) = low {
                prop_assert!(binomial_cdf(low - 1, n, p) <= 0.025);
                prop_assert!(binomial_cdf(low, n, p) > 0.025);
            }
            if let Some(high) = high {
                prop_assert!(1.0 - binomial_cdf(high - 1, n, p) <= 0.025 + 1e-12);
                prop_assert!(low.is_none_or(|low| low <= high));
            }
        }
    }
}
