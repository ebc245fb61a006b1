//! Draws of token counts.

use super::config::{LengthDistribution, LengthShape};
use super::error::WorkloadError;
use super::quantiles::QuantileTable;
use super::sampling::{AliasTable, Gamma, Lognormal, Pareto, copula_correlation, normal_cdf, standard_normal};
use crate::engine::rng::SimRng;

impl LengthDistribution {
    /// The mean number of tokens before truncation and rounding; infinite where the distribution has none.
    pub fn mean(&self) -> f64 {
        match &self.shape {
            LengthShape::Constant { value } => f64::from(*value),
            LengthShape::Uniform { low, high } => (f64::from(*low) + f64::from(*high)) / 2.0,
            LengthShape::Lognormal { mean, .. } | LengthShape::Gamma { mean, .. } => *mean,
            LengthShape::Pareto { scale, alpha } if *alpha > 1.0 => alpha * scale / (alpha - 1.0),
            LengthShape::Pareto { .. } => f64::INFINITY,
            LengthShape::Empirical { values } => weighted_mean(values.iter().map(|v| (f64::from(v.0), v.1))),
            LengthShape::Mixture { components } => weighted_mean(components.iter().map(|c| (c.distribution.mean(), c.weight))),
        }
    }
}

fn weighted_mean(values: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (sum, weights) = values.fold((0.0, 0.0), |(sum, weights), (value, weight)| (sum + value * weight, weights + weight));
    sum / weights
}

/// A [`LengthDistribution`], ready to draw from.
#[derive(Clone, Debug)]
pub struct LengthSampler {
    shape: Shape,
    min: u32,
    max: u32,
}

#[derive(Clone, Debug)]
enum Shape {
    Constant(u32),
    Uniform { low: u32, count: u64 },
    Lognormal(Lognormal),
    Gamma(Gamma),
    Pareto(Pareto),
    Empirical { values: Vec<u32>, weights: Vec<f64>, choice: AliasTable },
    Mixture { components: Vec<LengthSampler>, weights: Vec<f64>, choice: AliasTable },
}

/// The nearest whole number of tokens; beyond u32 its largest value.
fn whole(tokens: f64) -> u32 {
    // A cast from float saturates.
    (tokens + 0.5) as u32
}

/// Mixtures of mixtures deeper than this are refused: nobody means them.
const DEEPEST: u32 = 8;

impl LengthSampler {
    /// Prepares a distribution.
    ///
    /// # Errors
    /// If a parameter has no meaning.
    pub fn new(distribution: &LengthDistribution) -> Result<Self, WorkloadError> {
        Self::nested(distribution, 0)
    }

    fn nested(distribution: &LengthDistribution, depth: u32) -> Result<Self, WorkloadError> {
        let max = distribution.max.unwrap_or(u32::MAX);
        if distribution.min > max {
            let problem = format!("min `{}` is above max `{max}`: expected min <= max", distribution.min);
            return Err(WorkloadError::parameter("min", problem, "swap them, or leave one out"));
        }
        if depth > DEEPEST {
            let problem = format!("a mixture nested more than {DEEPEST} deep");
            return Err(WorkloadError::parameter("components", problem, "multiply the weights and write one mixture"));
        }
        let bad = |field: &str, problem: String| WorkloadError::parameter(field, problem, "all parameters are in tokens");
        let shape = match &distribution.shape {
            LengthShape::Constant { value } => Shape::Constant(*value),
            LengthShape::Uniform { low, high } => {
                let width = high.checked_sub(*low);
                let width = width.ok_or_else(|| bad("low", format!("`{low}` to `{high}` is no range: expected low <= high")))?;
                Shape::Uniform { low: *low, count: u64::from(width) + 1 }
            }
            LengthShape::Lognormal { mean, p99 } => {
                let problem =
                    || format!("no lognormal has mean `{mean}` and p99 `{p99}`: expected both > 0 and p99 <= 14.97 * mean");
                Shape::Lognormal(Lognormal::from_mean_p99(*mean, *p99).ok_or_else(|| bad("p99", problem()))?)
            }
            LengthShape::Gamma { mean, cv } => {
                let problem = || format!("no gamma has mean `{mean}` and cv `{cv}`: expected both > 0");
                Shape::Gamma(Gamma::from_mean_cv(*mean, *cv).ok_or_else(|| bad("cv", problem()))?)
            }
            LengthShape::Pareto { scale, alpha } => {
                let problem = || format!("no Pareto has scale `{scale}` and alpha `{alpha}`: expected both > 0");
                Shape::Pareto(Pareto::new(*scale, *alpha).ok_or_else(|| bad("alpha", problem()))?)
            }
            LengthShape::Empirical { values } => {
                let mut values = values.clone();
                values.sort_by_key(|v| v.0);
                let weights: Vec<f64> = values.iter().map(|v| v.1).collect();
                let choice = AliasTable::new(&weights);
                let choice = choice.ok_or_else(|| bad("values", "expected at least one value with weight > 0".into()))?;
                Shape::Empirical { values: values.iter().map(|v| v.0).collect(), weights, choice }
            }
            LengthShape::Mixture { components } => {
                let weights: Vec<f64> = components.iter().map(|c| c.weight).collect();
                let choice = AliasTable::new(&weights);
                let choice = choice.ok_or_else(|| bad("components", "expected at least one component with weight > 0".into()))?;
                let components = components.iter().map(|c| Self::nested(&c.distribution, depth + 1)).collect::<Result<_, _>>()?;
                Shape::Mixture { components, weights, choice }
            }
        };
        Ok(Self { shape, min: distribution.min, max })
    }

    /// One draw, in tokens.
    pub fn draw(&self, rng: &mut SimRng) -> u32 {
        let tokens = match &self.shape {
            Shape::Constant(value) => *value,
            Shape::Uniform { low, count } => low + rng.below(*count) as u32,
            Shape::Lognormal(lognormal) => whole(lognormal.draw(rng)),
            Shape::Gamma(gamma) => whole(gamma.draw(rng)),
            Shape::Pareto(pareto) => whole(pareto.draw(rng)),
            Shape::Empirical { values, choice, .. } => values[choice.draw(rng)],
            Shape::Mixture { components, choice, .. } => components[choice.draw(rng)].draw(rng),
        };
        tokens.clamp(self.min, self.max)
    }

    /// Probability of a draw of at most `tokens`.
    pub fn cdf(&self, tokens: u32) -> f64 {
        if tokens < self.min {
            return 0.0;
        }
        if tokens >= self.max {
            return 1.0;
        }
        // A draw is rounded: it is at most `tokens` if the value before was below tokens + 1/2.
        let edge = f64::from(tokens) + 0.5;
        match &self.shape {
            Shape::Constant(value) => f64::from(u8::from(tokens >= *value)),
            Shape::Uniform { low, count } => {
                let below = (u64::from(tokens) + 1).saturating_sub(u64::from(*low)).min(*count);
                below as f64 / *count as f64
            }
            Shape::Lognormal(lognormal) => lognormal.cdf(edge),
            Shape::Gamma(gamma) => gamma.cdf(edge),
            Shape::Pareto(pareto) => pareto.cdf(edge),
            Shape::Empirical { values, weights, .. } => {
                let below = values.partition_point(|v| *v <= tokens);
                weights[..below].iter().sum::<f64>() / weights.iter().sum::<f64>()
            }
            Shape::Mixture { components, weights, .. } => {
                let sum: f64 = components.iter().zip(weights).map(|(c, w)| w * c.cdf(tokens)).sum();
                sum / weights.iter().sum::<f64>()
            }
        }
    }

    /// The largest token count a draw can be.
    pub const fn max(&self) -> u32 {
        self.max
    }

    /// The smallest token count a draw can be.
    pub const fn min(&self) -> u32 {
        self.min
    }
}

/// A sampler by standard normal score, as a copula needs it.
#[derive(Clone, Debug)]
enum Inverse {
    /// The score itself is the draw's logarithm, shifted and scaled.
    Lognormal { lognormal: Lognormal, min: u32, max: u32 },
    /// Everything else, through its quantiles.
    Table(QuantileTable),
}

impl Inverse {
    fn new(sampler: &LengthSampler) -> Self {
        match &sampler.shape {
            Shape::Lognormal(lognormal) => Self::Lognormal { lognormal: *lognormal, min: sampler.min, max: sampler.max },
            _ => Self::Table(QuantileTable::new(sampler)),
        }
    }

    fn at_normal(&self, z: f64) -> u32 {
        match self {
            Self::Lognormal { lognormal, min, max } => whole(lognormal.at_normal(z)).clamp(*min, *max),
            Self::Table(table) => table.at(normal_cdf(z)),
        }
    }
}

/// The lengths of the requests of one stream: input and output tokens, independent or correlated.
#[derive(Clone, Debug)]
pub struct LengthPair {
    input: LengthSampler,
    output: LengthSampler,
    coupled: Option<Box<Coupled>>,
}

/// A Gaussian copula: two normals that correlate by `r`, each turned into its own distribution.
#[derive(Clone, Debug)]
struct Coupled {
    r: f64,
    rest: f64,
    input: Inverse,
    output: Inverse,
}

impl LengthPair {
    /// Prepares lengths from two distributions and their rank correlation.
    ///
    /// # Errors
    /// If a parameter has no meaning; outputs of 0 tokens are refused, since every answer has one.
    pub fn from_parts(input: &LengthDistribution, output: &LengthDistribution, correlation: f64) -> Result<Self, WorkloadError> {
        if output.min == 0 {
            let problem = "`0` tokens are no output: expected min >= 1";
            return Err(WorkloadError::parameter("output_tokens.min", problem, "every answer has at least one token"));
        }
        if !(-1.0..=1.0).contains(&correlation) {
            let problem = format!("`{correlation}` is no correlation: expected -1 to 1");
            return Err(WorkloadError::parameter("length_correlation", problem, "0 draws input and output independently"));
        }
        let (input, output) = (LengthSampler::new(input)?, LengthSampler::new(output)?);
        let coupled = (correlation != 0.0).then(|| {
            let r = copula_correlation(correlation);
            let rest = (1.0 - r * r).max(0.0).sqrt();
            Box::new(Coupled { r, rest, input: Inverse::new(&input), output: Inverse::new(&output) })
        });
        Ok(Self { input, output, coupled })
    }

    /// One draw: (input, output) tokens.
    pub fn draw(&self, rng: &mut SimRng) -> (u32, u32) {
        let Some(coupled) = &self.coupled else { return (self.input.draw(rng), self.output.draw(rng)) };
        let first = standard_normal(rng);
        let second = coupled.r * first + coupled.rest * standard_normal(rng);
        (coupled.input.at_normal(first), coupled.output.at_normal(second))
    }
}

#[cfg(test)]
mod tests;
