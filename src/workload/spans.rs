//! Draws of spans: service times, delays, think times.

use super::config::SpanDistribution;
use super::error::WorkloadError;
use super::sampling::{AliasTable, Gamma, Lognormal, exponential};
use crate::engine::rng::SimRng;
use crate::units::Span;

/// The longest span drawn: 73 years, so that an instant plus a few of them stays on the clock.
const LONGEST: u64 = u64::MAX / 8;

/// A [`SpanDistribution`], ready to draw from. Draws are rounded to the nearest nanosecond and cut at 73 years.
#[derive(Clone, Debug)]
pub struct SpanSampler(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Constant(Span),
    Uniform { low: u64, width: u64 },
    Exponential { mean_nanos: f64 },
    Gamma(Gamma),
    Lognormal(Lognormal),
    Empirical { values: Vec<Span>, choice: AliasTable },
}

impl SpanSampler {
    /// Prepares a distribution.
    ///
    /// # Errors
    /// If a parameter has no meaning (an empty range, a coefficient of variation that is not positive, no values).
    pub fn new(distribution: &SpanDistribution) -> Result<Self, WorkloadError> {
        let bad = |problem: String| WorkloadError::parameter("distribution", problem, "see the parameters of the distribution");
        let kind = match distribution {
            SpanDistribution::Constant { value } => Kind::Constant(*value),
            SpanDistribution::Uniform { low, high } => {
                let width = high.as_nanos().checked_sub(low.as_nanos());
                let width = width.ok_or_else(|| bad(format!("`{low}` to `{high}` is no range: expected low <= high")))?;
                Kind::Uniform { low: low.as_nanos(), width }
            }
            SpanDistribution::Exponential { mean } => Kind::Exponential { mean_nanos: mean.as_nanos() as f64 },
            SpanDistribution::Gamma { mean, cv } => {
                let gamma = Gamma::from_mean_cv(mean.as_nanos() as f64, *cv);
                Kind::Gamma(gamma.ok_or_else(|| bad(format!("no gamma has mean `{mean}` and cv `{cv}`: expected both > 0")))?)
            }
            SpanDistribution::Lognormal { mean, cv } => {
                let lognormal = Lognormal::from_mean_cv(mean.as_nanos() as f64, *cv);
                let problem = || bad(format!("no lognormal has mean `{mean}` and cv `{cv}`: expected both > 0"));
                Kind::Lognormal(lognormal.ok_or_else(problem)?)
            }
            SpanDistribution::Empirical { values } => {
                let weights: Vec<f64> = values.iter().map(|v| v.1).collect();
                let choice =
                    AliasTable::new(&weights).ok_or_else(|| bad("expected at least one value with weight > 0".into()))?;
                Kind::Empirical { values: values.iter().map(|v| v.0).collect(), choice }
            }
        };
        Ok(Self(kind))
    }

    /// One draw.
    pub fn draw(&self, rng: &mut SimRng) -> Span {
        let nanos = match &self.0 {
            Kind::Constant(value) => return *value,
            Kind::Uniform { low, width: u64::MAX } => low.saturating_add(rng.bits()),
            Kind::Uniform { low, width } => low + rng.below(width + 1),
            Kind::Exponential { mean_nanos } => (exponential(rng) * mean_nanos).round() as u64,
            Kind::Gamma(gamma) => gamma.draw(rng).round() as u64,
            Kind::Lognormal(lognormal) => lognormal.draw(rng).round() as u64,
            Kind::Empirical { values, choice } => return values[choice.draw(rng)],
        };
        Span::from_nanos(nanos.min(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rng::Streams;

    fn mean_and_cv(distribution: &SpanDistribution) -> (f64, f64) {
        let sampler = SpanSampler::new(distribution).unwrap();
        let mut rng = Streams::new(5).stream("spans", 0);
        let draws: Vec<f64> = (0..200_000).map(|_| sampler.draw(&mut rng).as_secs_f64()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / draws.len() as f64;
        (mean, variance.sqrt() / mean)
    }

    #[test]
    fn draws_have_the_mean_and_variation_asked_for() {
        let mean = Span::from_millis(250);
        for (distribution, cv) in [
            (SpanDistribution::Exponential { mean }, 1.0),
            (SpanDistribution::Gamma { mean, cv: 0.5 }, 0.5),
            (SpanDistribution::Lognormal { mean, cv: 1.2 }, 1.2),
            (SpanDistribution::Uniform { low: Span::ZERO, high: Span::from_millis(500) }, 0.577_35),
            (SpanDistribution::Empirical { values: vec![(Span::ZERO, 1.0), (Span::from_millis(500), 1.0)] }, 1.0),
        ] {
            let found = mean_and_cv(&distribution);
            // Four standard errors of the mean are below 1.1 %; the cv of the lognormal has a heavier tail.
            assert!((found.0 / 0.25 - 1.0).abs() < 0.011 && (found.1 / cv - 1.0).abs() < 0.03, "{distribution:?}: {found:?}");
        }
    }

    #[test]
    fn a_constant_is_exact_and_a_uniform_includes_both_ends() {
        let mut rng = Streams::new(5).stream("spans", 1);
        let constant = SpanSampler::new(&SpanDistribution::Constant { value: Span::from_nanos(7) }).unwrap();
        assert_eq!(constant.draw(&mut rng), Span::from_nanos(7));
        let ends = SpanDistribution::Uniform { low: Span::from_nanos(1), high: Span::from_nanos(3) };
        let uniform = SpanSampler::new(&ends).unwrap();
        let mut seen = [false; 4];
        (0..200).for_each(|_| seen[uniform.draw(&mut rng).as_nanos() as usize] = true);
        assert_eq!(seen, [false, true, true, true]);
    }

    #[test]
    fn a_distribution_without_meaning_is_refused() {
        let span = Span::from_secs;
        for bad in [
            SpanDistribution::Uniform { low: span(2), high: span(1) },
            SpanDistribution::Gamma { mean: span(1), cv: 0.0 },
            SpanDistribution::Lognormal { mean: Span::ZERO, cv: 1.0 },
            SpanDistribution::Empirical { values: vec![] },
        ] {
            let message = SpanSampler::new(&bad).unwrap_err().to_string();
            assert!(message.contains("expected") && message.contains("\n  hint: "), "{message}");
        }
    }

    #[test]
    fn a_huge_draw_is_cut_below_the_end_of_the_clock() {
        let sampler = SpanSampler::new(&SpanDistribution::Exponential { mean: Span::MAX }).unwrap();
        let mut rng = Streams::new(5).stream("spans", 2);
        assert!((0..100).all(|_| sampler.draw(&mut rng).as_nanos() <= LONGEST));
    }
}
