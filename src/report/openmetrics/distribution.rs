//! A histogram as Prometheus keeps it: counts by bound, sum and count.

use crate::control::metrics::LogBounds;
use crate::units::NANOS_PER_SECOND;

/// What was observed, by bound.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Distribution {
    /// Upper bounds, included, ascending.
    bounds: Vec<f64>,
    /// Observations above the bound before and up to this one; the last ones are above all bounds.
    counts: Vec<u64>,
    /// Exact sum of the observations, in units of `1 / scale`.
    sum: u128,
    /// What one unit of a bound is in the whole numbers that are observed.
    scale: f64,
}

impl Distribution {
    /// A histogram of times, which are observed in nanoseconds and told in seconds.
    pub fn of_seconds(bounds: LogBounds) -> Self {
        Self::new(bounds, NANOS_PER_SECOND as f64)
    }

    /// A histogram of whole numbers.
    pub fn of_counts(bounds: LogBounds) -> Self {
        Self::new(bounds, 1.0)
    }

    fn new(bounds: LogBounds, scale: f64) -> Self {
        let bounds = bounds.bounds();
        let counts = vec![0; bounds.len() + 1];
        Self { bounds, counts, sum: 0, scale }
    }

    /// Takes in `times` observations of `value`.
    pub fn observe(&mut self, value: u64, times: u64) {
        let told = value as f64 / self.scale;
        self.counts[self.bounds.partition_point(|bound| *bound < told)] += times;
        self.sum += u128::from(value) * u128::from(times);
    }

    /// Its columns: the count up to each bound, the count of all, the sum.
    pub fn push_to(&self, row: &mut Vec<f64>) {
        let mut below = 0;
        row.extend(self.counts.iter().map(|count| {
            below += count;
            below as f64
        }));
        row.push(self.sum as f64 / self.scale);
    }

    /// How many columns it has.
    pub fn width(bounds: LogBounds) -> usize {
        bounds.bounds().len() + 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::metrics::{INPUT_SEQUENCE_TOKENS, MetricKind, TIME_TO_FIRST_TOKEN_SECONDS};

    fn bounds(kind: MetricKind) -> LogBounds {
        let MetricKind::Histogram(bounds) = kind else { panic!("no histogram") };
        bounds
    }

    #[test]
    fn a_value_on_a_bound_counts_below_it_and_counts_are_cumulative() {
        let bounds = bounds(TIME_TO_FIRST_TOKEN_SECONDS.kind);
        let mut times = Distribution::of_seconds(bounds);
        // The second bound is 2.2 ms.
        [0, 2_200_000, 2_200_001, 10_000_000_000_000].into_iter().for_each(|nanos| times.observe(nanos, 1));
        let mut row = Vec::new();
        times.push_to(&mut row);
        assert_eq!(row.len(), Distribution::width(bounds));
        assert_eq!(row[..3], [1.0, 2.0, 3.0]);
        let [last, all, sum] = row[row.len() - 3..] else { panic!("three columns") };
        assert_eq!((last, all, sum), (3.0, 4.0, 10_000.004_400_001));
    }

    #[test]
    fn tokens_count_as_they_are() {
        let mut tokens = Distribution::of_counts(bounds(INPUT_SEQUENCE_TOKENS.kind));
        tokens.observe(500, 3);
        let mut row = Vec::new();
        tokens.push_to(&mut row);
        assert_eq!((row[0], row[row.len() - 2], row[row.len() - 1]), (0.0, 3.0, 1500.0));
    }
}
