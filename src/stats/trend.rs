//! Whether something grows: regression lines, and the test behind the verdict "saturated".

use super::batch_means::batch_means;
use super::intervals::sample_mean_and_variance;
use super::special::t_cdf;

/// Batches in the half that is tested; each needs two observations at least.
const BATCHES: usize = 20;

/// A slope with the test whether it is above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Growth per step of the series.
    pub slope: f64,
    /// Its standard error; 0 where growth is perfectly even.
    pub standard_error: f64,
    /// The probability of such growth, or more, if there were none (one-sided).
    pub p_value: f64,
}

impl Trend {
    /// Whether growth is above zero at the one-sided confidence `level` (0.99 for 99 %).
    pub fn is_rising(&self, level: f64) -> bool {
        self.p_value < 1.0 - level
    }

    fn new(slope: f64, standard_error: f64, df: f64) -> Self {
        let p_value = if standard_error > 0.0 {
            t_cdf(-slope / standard_error, df)
        } else if slope > 0.0 {
            0.0
        } else {
            1.0
        };
        Self { slope, standard_error, p_value }
    }
}

/// The least-squares line through equally spaced observations with the usual t test of its slope (n - 2 degrees of
/// freedom; Draper and Smith, "Applied regression analysis", section 1.4). `None` with fewer than three.
///
/// The test takes deviations from the line as independent. Queue lengths are not: use [`backlog_trend`] for them.
pub fn linear_trend(series: &[f64]) -> Option<Trend> {
    if series.len() < 3 {
        return None;
    }
    let n = series.len() as f64;
    let (mean, _) = sample_mean_and_variance(series)?;
    let middle = 0.5 * (n - 1.0);
    let spread = n * (n * n - 1.0) / 12.0;
    let at = |i: usize| i as f64 - middle;
    let slope = series.iter().enumerate().map(|(i, y)| at(i) * (y - mean)).sum::<f64>() / spread;
    let squares: f64 = series.iter().enumerate().map(|(i, y)| y - mean - slope * at(i)).map(|r| r * r).sum();
    Some(Trend::new(slope, (squares / (n - 2.0) / spread).sqrt(), n - 2.0))
}

/// Whether a backlog grew over the last half of its (equally spaced) series: the test behind "saturated".
///
/// The half is made into 20 batch means, and the growth from each to the next is tested by a one-sided t test (19
/// increments). The backlog of an overloaded queue is a random walk with drift: its increments are all but independent,
/// while deviations from a regression line are strongly correlated and would cry wolf for a queue that is merely slow. Of a
/// queue that returns to its level, increments are negatively correlated, which makes the test cautious.
/// `slope` is the mean growth per step of the series. `None` with fewer than 40 observations in that half: nothing can be told.
pub fn backlog_trend(series: &[f64]) -> Option<Trend> {
    let half = &series[series.len() / 2..];
    let size = half.len() / BATCHES;
    if size < 2 {
        return None;
    }
    let means = batch_means(half, BATCHES);
    let growth: Vec<f64> = means.windows(2).map(|pair| (pair[1] - pair[0]) / size as f64).collect();
    let (slope, variance) = sample_mean_and_variance(&growth)?;
    let n = growth.len() as f64;
    Some(Trend::new(slope, (variance? / n).sqrt(), n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    /// The number in an M/M/1 queue at every event of its uniformised chain (arrival with probability p, else a service
    /// that takes place if somebody is there), every 20th one kept.
    fn queue(rng: &mut rand_pcg::Pcg64, arrival: f64, n: usize) -> Vec<f64> {
        let mut length = 0u32;
        let mut step = || {
            for _ in 0..20 {
                length = if rng.random::<f64>() < arrival { length + 1 } else { length.saturating_sub(1) };
            }
            f64::from(length)
        };
        (0..n).map(|_| step()).collect()
    }

    #[test]
    fn a_regression_line_agrees_with_hand_arithmetic() {
        // Points (0, 1), (1, 3), (2, 2), (3, 6): slope 1.4, residual squares 4.2, error sqrt(2.1 / 5).
        let trend = linear_trend(&[1.0, 3.0, 2.0, 6.0]).unwrap();
        assert!((trend.slope - 1.4).abs() < 1e-12 && (trend.standard_error - 0.42f64.sqrt()).abs() < 1e-12);
        assert!((trend.p_value - t_cdf(-1.4 / 0.42f64.sqrt(), 2.0)).abs() < 1e-12);
        assert_eq!(linear_trend(&[1.0, 2.0]), None);
    }

    #[test]
    fn perfectly_even_growth_is_certain_and_a_flat_line_is_not_growth() {
        let line: Vec<f64> = (0..200).map(f64::from).collect();
        let trend = backlog_trend(&line).unwrap();
        assert!((trend.slope - 1.0).abs() < 1e-9 && trend.is_rising(0.99));
        assert!(!backlog_trend(&[5.0; 200]).unwrap().is_rising(0.99));
        let falling: Vec<f64> = line.iter().map(|x| -x).collect();
        assert!(!backlog_trend(&falling).unwrap().is_rising(0.99));
        assert_eq!(backlog_trend(&line[..78]), None);
    }

    #[test]
    fn an_overloaded_queue_is_found_and_a_busy_stable_one_is_not() {
        let mut rng = rand_pcg::Pcg64::seed_from_u64(7);
        let rising = |rng: &mut rand_pcg::Pcg64, load: f64| {
            let arrival = load / (1.0 + load);
            (0..300).filter(|_| backlog_trend(&queue(rng, arrival, 600)).unwrap().is_rising(0.99)).count()
        };
        let (light, busy, over) = (rising(&mut rng, 0.7), rising(&mut rng, 0.95), rising(&mut rng, 1.2));
        // One in a hundred is allowed: 3 of 300, with five standard errors 11.
        assert!(light <= 11 && busy <= 11, "{light} {busy}");
        assert!(over >= 295, "{over}");
    }
}
