//! Inversion of a length distribution that has no closed quantile function.

use super::lengths::LengthSampler;

/// The quantile function of a distribution of token counts, exact up to the probability 1 - 1e-9, where the tail is cut.
///
/// A point per token count up to 16,384 and points 0.1 % apart beyond, between which it bisects.
#[derive(Clone, Debug)]
pub(super) struct QuantileTable {
    /// (tokens, probability of at most so many), the counts increasing.
    points: Vec<(u32, f64)>,
    sampler: LengthSampler,
}

/// Token counts up to this have a point each.
const EXACT: u32 = 16_384;
/// Probability above which the tail is cut.
const TAIL: f64 = 1.0 - 1e-9;

impl QuantileTable {
    pub(super) fn new(sampler: &LengthSampler) -> Self {
        let mut points = Vec::new();
        let mut tokens = sampler.min();
        loop {
            let p = sampler.cdf(tokens);
            points.push((tokens, p));
            if p >= TAIL || tokens >= sampler.max() {
                return Self { points, sampler: sampler.clone() };
            }
            let step = if tokens < EXACT { 1 } else { tokens / 1024 };
            tokens = tokens.saturating_add(step).min(sampler.max());
        }
    }

    /// The smallest token count that is not exceeded with probability `p` or more.
    pub(super) fn at(&self, p: f64) -> u32 {
        let i = self.points.partition_point(|point| point.1 < p).min(self.points.len() - 1);
        let mut high = self.points[i].0;
        let Some(&(mut low, _)) = i.checked_sub(1).and_then(|j| self.points.get(j)) else { return high };
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.sampler.cdf(middle) < p { low = middle } else { high = middle }
        }
        high
    }
}
