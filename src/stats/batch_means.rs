//! One long run instead of many: batch means and autocorrelation.

use super::intervals::{MeanInterval, mean_interval};

/// The autocorrelation of a series at `lag`: sum of products of deviations `lag` apart over the sum of squares (Box and
/// Jenkins 1970, the estimate r_k). `None` if the series is not longer than the lag or does not vary.
pub fn autocorrelation(series: &[f64], lag: usize) -> Option<f64> {
    if series.len() <= lag || series.is_empty() {
        return None;
    }
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    let squares: f64 = series.iter().map(|x| (x - mean) * (x - mean)).sum();
    let products: f64 = series.iter().zip(&series[lag..]).map(|(x, y)| (x - mean) * (y - mean)).sum();
    (squares > 0.0).then(|| products / squares)
}

/// The means of `batches` batches of equal size that adjoin each other and end with the series; what does not divide is
/// left out at the front, where a run is least typical. Empty if there are fewer observations than batches.
pub fn batch_means(series: &[f64], batches: usize) -> Vec<f64> {
    let size = series.len().checked_div(batches).unwrap_or(0);
    if size == 0 {
        return Vec::new();
    }
    series[series.len() - size * batches..].chunks_exact(size).map(|batch| batch.iter().sum::<f64>() / size as f64).collect()
}

/// The mean of one long steady series with the Student-t interval of its batch means (Schmeiser 1982, "Batch size effects
/// in the analysis of simulation output": 10 to 30 batches do). `None` with fewer observations than batches or no batch.
///
/// It holds if batches are long against the memory of the series: check that [`autocorrelation`] of
/// [`batch_means`] at lag 1 is small.
pub fn batch_means_interval(series: &[f64], batches: usize, level: f64) -> Option<MeanInterval> {
    mean_interval(&batch_means(series, batches), level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    /// First-order autoregressive noise with coefficient `phi`, mean 0.
    fn autoregressive(rng: &mut rand_pcg::Pcg64, n: usize, phi: f64) -> Vec<f64> {
        let mut x = 0.0;
        let mut next = || {
            x = phi * x + rng.random::<f64>() - 0.5;
            x
        };
        (0..100).for_each(|_| {
            next();
        });
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn batches_end_with_the_series() {
        assert_eq!(batch_means(&[9.0, 1.0, 3.0, 5.0, 7.0], 2), [2.0, 6.0]);
        assert_eq!((batch_means(&[1.0], 2), batch_means(&[1.0], 0)), (vec![], vec![]));
        assert_eq!(batch_means_interval(&[], 20, 0.95), None);
    }

    #[test]
    fn autocorrelation_agrees_with_hand_arithmetic_and_with_theory() {
        // Deviations -1, 0, 1: products at lag 1 are 0, squares 2; at lag 2 the product is -1.
        assert_eq!(autocorrelation(&[1.0, 2.0, 3.0], 1), Some(0.0));
        assert_eq!(autocorrelation(&[1.0, 2.0, 3.0], 2), Some(-0.5));
        assert_eq!((autocorrelation(&[1.0, 2.0], 2), autocorrelation(&[4.0; 9], 1)), (None, None));
        let series = autoregressive(&mut rand_pcg::Pcg64::seed_from_u64(1), 50_000, 0.8);
        // Standard error about 0.003 (Bartlett 1946).
        assert!((autocorrelation(&series, 1).unwrap() - 0.8).abs() < 0.015);
        assert!((autocorrelation(&series, 3).unwrap() - 0.512).abs() < 0.03);
    }

    #[test]
    fn batch_means_cover_where_naive_intervals_do_not() {
        let mut rng = rand_pcg::Pcg64::seed_from_u64(2);
        let covers = |interval: MeanInterval| interval.mean.abs() <= interval.half_width.unwrap();
        let (mut batched, mut naive) = (0, 0);
        for _ in 0..1000 {
            let series = autoregressive(&mut rng, 2000, 0.8);
            batched += u32::from(covers(batch_means_interval(&series, 20, 0.95).unwrap()));
            naive += u32::from(covers(mean_interval(&series, 0.95).unwrap()));
        }
        // 950 +- 35 is five standard errors; batches of 100 leave a trace of correlation.
        assert!((905..=985).contains(&batched), "{batched}");
        assert!(naive < 700, "{naive}");
    }
}
