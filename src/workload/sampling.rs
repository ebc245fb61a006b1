//! All sampling that needs transcendental functions, over the `libm` crate alone.
//!
//! The platform's `exp`, `ln` and `pow` differ by a last digit between processors, and one digit can reorder events.
//! So everything random that goes beyond exact arithmetic is drawn here, by published algorithms over one maths library;
//! golden first draws are tested. Most draws are inversions of one uniform number, so that a changed parameter moves
//! each draw a little instead of shifting the whole stream.

use crate::engine::rng::SimRng;

#[cfg(test)]
mod tests;

/// The 99th percentile of the standard normal distribution.
pub const NORMAL_P99: f64 = 2.326_347_874_040_841;

/// A float in the open interval (0, 1): both `ln(u)` and `ln(1 - u)` are finite.
pub fn open_unit(rng: &mut SimRng) -> f64 {
    ((rng.bits() >> 12) as f64 + 0.5) * (1.0 / 4_503_599_627_370_496.0)
}

/// An exponential draw with mean 1, by inversion.
pub fn exponential(rng: &mut SimRng) -> f64 {
    -libm::log(rng.unit_open_left())
}

/// A standard normal draw, by inversion.
pub fn standard_normal(rng: &mut SimRng) -> f64 {
    normal_quantile(open_unit(rng))
}

/// Probability that a standard normal variable is at most `z`.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// Evaluates a polynomial, coefficients from the constant term up (Horner).
fn polynomial(x: f64, coefficients: &[f64; 8]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// The value below which a standard normal variable lies with probability `p`, 0 < p < 1; relative error about 1e-16.
///
/// Algorithm AS 241, PPND16 (Wichura, Applied Statistics 37, 1988).
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return q * polynomial(r, &CENTRE_NUMERATOR) / polynomial(r, &CENTRE_DENOMINATOR);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-libm::log(tail)).sqrt();
    let z = if r <= 5.0 {
        polynomial(r - 1.6, &MIDDLE_NUMERATOR) / polynomial(r - 1.6, &MIDDLE_DENOMINATOR)
    } else {
        polynomial(r - 5.0, &FAR_NUMERATOR) / polynomial(r - 5.0, &FAR_DENOMINATOR)
    };
    if q < 0.0 { -z } else { z }
}

const CENTRE_NUMERATOR: [f64; 8] = [
    3.387_132_872_796_366_5,
    133.141_667_891_784_38,
    1_971.590_950_306_551_3,
    13_731.693_765_509_46,
    45_921.953_931_549_87,
    67_265.770_927_008_7,
    33_430.575_583_588_13,
    2_509.080_928_730_122_7,
];
const CENTRE_DENOMINATOR: [f64; 8] = [
    1.0,
    42.313_330_701_600_91,
    687.187_007_492_057_9,
    5_394.196_021_424_751,
    21_213.794_301_586_597,
    39_307.895_800_092_71,
    28_729.085_735_721_943,
    5_226.495_278_852_854,
];
const MIDDLE_NUMERATOR: [f64; 8] = [
    1.423_437_110_749_683_5,
    4.630_337_846_156_546,
    5.769_497_221_460_691,
    3.647_848_324_763_204_5,
    1.270_458_252_452_368_4,
    0.241_780_725_177_450_6,
    0.022_723_844_989_269_184,
    7.745_450_142_783_414e-4,
];
const MIDDLE_DENOMINATOR: [f64; 8] = [
    1.0,
    2.053_191_626_637_759,
    1.676_384_830_183_803_8,
    0.689_767_334_985_1,
    0.148_103_976_427_480_08,
    0.015_198_666_563_616_457,
    5.475_938_084_995_345e-4,
    1.050_750_071_644_416_8e-9,
];
const FAR_NUMERATOR: [f64; 8] = [
    6.657_904_643_501_103,
    5.463_784_911_164_114,
    1.784_826_539_917_291_3,
    0.296_560_571_828_504_87,
    0.026_532_189_526_576_124,
    1.242_660_947_388_078_4e-3,
    2.711_555_568_743_487_6e-5,
    2.010_334_399_292_288_1e-7,
];
const FAR_DENOMINATOR: [f64; 8] = [
    1.0,
    0.599_832_206_555_888,
    0.136_929_880_922_735_8,
    0.014_875_361_290_850_615,
    7.868_691_311_456_133e-4,
    1.846_318_317_510_054_7e-5,
    1.421_511_758_316_446e-7,
    2.044_263_103_389_939_8e-15,
];

/// A lognormal distribution: its logarithm is normal with mean `mu` and standard deviation `sigma`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lognormal {
    mu: f64,
    sigma: f64,
}

impl Lognormal {
    /// By mean and 99th percentile, both > 0; `None` if no lognormal has them (p99 / mean is at most exp(z^2/2) = 14.97).
    ///
    /// From ln(p99/mean) = z*sigma - sigma^2/2 with z = 2.3263; of two solutions the smaller sigma, the one people mean.
    pub fn from_mean_p99(mean: f64, p99: f64) -> Option<Self> {
        if !(mean > 0.0 && p99 > 0.0 && mean.is_finite() && p99.is_finite()) {
            return None;
        }
        let root = (NORMAL_P99 * NORMAL_P99 - 2.0 * libm::log(p99 / mean)).sqrt();
        // A percentile below the mean belongs to one lognormal only, with a huge sigma: the larger root.
        let sigma = if root <= NORMAL_P99 { NORMAL_P99 - root } else { NORMAL_P99 + root };
        sigma.is_finite().then(|| Self { mu: libm::log(mean) - sigma * sigma / 2.0, sigma })
    }

    /// By mean and coefficient of variation, both > 0: sigma^2 = ln(1 + cv^2).
    pub fn from_mean_cv(mean: f64, cv: f64) -> Option<Self> {
        let variance = libm::log1p(cv * cv);
        let valid = mean > 0.0 && mean.is_finite() && cv > 0.0 && variance.is_finite();
        valid.then(|| Self { mu: libm::log(mean) - variance / 2.0, sigma: variance.sqrt() })
    }

    /// One draw.
    pub fn draw(&self, rng: &mut SimRng) -> f64 {
        self.at_normal(standard_normal(rng))
    }

    /// The value at the standard normal score `z`: its quantile at probability Phi(z).
    pub fn at_normal(&self, z: f64) -> f64 {
        libm::exp(self.mu + self.sigma * z)
    }

    /// Probability of a value of at most `x`.
    pub fn cdf(&self, x: f64) -> f64 {
        if x <= 0.0 { 0.0 } else { normal_cdf((libm::log(x) - self.mu) / self.sigma) }
    }
}

/// A gamma distribution by shape and scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gamma {
    shape: f64,
    scale: f64,
    /// Marsaglia and Tsang's d and c, for the shape, or for shape + 1 below 1.
    d: f64,
    c: f64,
}

impl Gamma {
    /// By shape and scale, both > 0 and finite.
    pub fn new(shape: f64, scale: f64) -> Option<Self> {
        let valid = shape > 0.0 && scale > 0.0 && shape.is_finite() && scale.is_finite();
        let d = if shape < 1.0 { shape + 1.0 } else { shape } - 1.0 / 3.0;
        valid.then(|| Self { shape, scale, d, c: 1.0 / (9.0 * d).sqrt() })
    }

    /// By mean and coefficient of variation, both > 0: shape = 1/cv^2, scale = mean * cv^2.
    pub fn from_mean_cv(mean: f64, cv: f64) -> Option<Self> {
        Self::new(1.0 / (cv * cv), mean * cv * cv)
    }

    /// The length-biased distribution (density x f(x) / mean): a gamma with one more of shape.
    #[must_use]
    pub fn length_biased(&self) -> Self {
        Self::new(self.shape + 1.0, self.scale).expect("a valid gamma with a larger shape is valid")
    }

    /// One draw: squeeze-free rejection on a cubed normal (Marsaglia and Tsang, ACM TOMS 26, 2000).
    pub fn draw(&self, rng: &mut SimRng) -> f64 {
        let value = loop {
            let z = standard_normal(rng);
            let root = 1.0 + self.c * z;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            if libm::log(open_unit(rng)) < 0.5 * z * z + self.d - self.d * v + self.d * libm::log(v) {
                break self.d * v;
            }
        };
        // Below shape 1: a draw of shape + 1 times U^(1/shape).
        let boost = if self.shape < 1.0 { libm::exp(libm::log(open_unit(rng)) / self.shape) } else { 1.0 };
        value * boost * self.scale
    }

    /// Probability of a value of at most `x`.
    pub fn cdf(&self, x: f64) -> f64 {
        lower_gamma(self.shape, x / self.scale)
    }
}

/// The regularised lower incomplete gamma function P(a, x), a > 0.
///
/// Series below a + 1, Lentz's continued fraction above (Press et al., Numerical Recipes, 6.2).
pub fn lower_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = libm::exp(a * libm::log(x) - x - libm::lgamma(a));
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-17 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        return (front * sum).min(1.0);
    }
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut fraction = d;
    // Converges in a few times sqrt(a) terms; the bound keeps a hopeless argument from hanging.
    for i in 1..100_000 {
        let i = f64::from(i);
        let an = -i * (i - a);
        b += 2.0;
        d = an * d + b;
        d = 1.0 / if d.abs() < TINY { TINY } else { d };
        c = b + an / c;
        c = if c.abs() < TINY { TINY } else { c };
        let delta = c * d;
        fraction *= delta;
        if (delta - 1.0).abs() < 1e-16 {
            break;
        }
    }
    (1.0 - front * fraction).clamp(0.0, 1.0)
}

/// A Weibull distribution by shape and scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weibull {
    shape: f64,
    scale: f64,
}

impl Weibull {
    /// Smallest and largest shape that are solved for: coefficients of variation from about 0.0013 to 10^7.
    const SHAPES: (f64, f64) = (0.04, 1_000.0);

    /// By mean and coefficient of variation; `None` if no shape from 0.04 to 1,000 has that variation.
    ///
    /// cv^2 = Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 - 1 falls with the shape k: bisection, to the last bit.
    pub fn from_mean_cv(mean: f64, cv: f64) -> Option<Self> {
        let variation = |k: f64| libm::expm1(libm::lgamma(1.0 + 2.0 / k) - 2.0 * libm::lgamma(1.0 + 1.0 / k)).sqrt();
        let (mut low, mut high) = Self::SHAPES;
        if !(mean > 0.0 && mean.is_finite() && cv <= variation(low) && cv >= variation(high)) {
            return None;
        }
        loop {
            let middle = low + (high - low) / 2.0;
            if middle <= low || middle >= high {
                return Some(Self { shape: low, scale: mean / libm::tgamma(1.0 + 1.0 / low) });
            }
            if variation(middle) > cv { low = middle } else { high = middle }
        }
    }

    /// The shape parameter k.
    pub const fn shape(&self) -> f64 {
        self.shape
    }

    /// One draw, by inversion.
    pub fn draw(&self, rng: &mut SimRng) -> f64 {
        self.scale * libm::pow(exponential(rng), 1.0 / self.shape)
    }

    /// One draw of the length-biased distribution (density x f(x) / mean): (x/scale)^k is then gamma of shape 1 + 1/k.
    pub fn draw_length_biased(&self, rng: &mut SimRng) -> f64 {
        let power = Gamma::new(1.0 + 1.0 / self.shape, 1.0).expect("the shape is bounded and positive").draw(rng);
        self.scale * libm::pow(power, 1.0 / self.shape)
    }

    /// Probability of a value of at most `x`.
    pub fn cdf(&self, x: f64) -> f64 {
        if x <= 0.0 { 0.0 } else { -libm::expm1(-libm::pow(x / self.scale, self.shape)) }
    }
}

/// A Pareto distribution of type I: no value below `scale`, tail index `alpha`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    scale: f64,
    alpha: f64,
}

impl Pareto {
    /// By smallest value and tail index, both > 0 and finite.
    pub fn new(scale: f64, alpha: f64) -> Option<Self> {
        (scale > 0.0 && alpha > 0.0 && scale.is_finite() && alpha.is_finite()).then_some(Self { scale, alpha })
    }

    /// One draw, by inversion.
    pub fn draw(&self, rng: &mut SimRng) -> f64 {
        self.at_tail(rng.unit_open_left())
    }

    /// The value exceeded with probability `tail`, 0 < tail <= 1.
    pub fn at_tail(&self, tail: f64) -> f64 {
        self.scale * libm::exp(-libm::log(tail) / self.alpha)
    }

    /// Probability of a value of at most `x`.
    pub fn cdf(&self, x: f64) -> f64 {
        if x <= self.scale { 0.0 } else { -libm::expm1(-self.alpha * libm::log(x / self.scale)) }
    }
}

/// The correlation of the two normals of a Gaussian copula whose rank correlation (Spearman's) is `rank`:
/// 2 sin(pi * rank / 6) (Kruskal, JASA 53, 1958).
pub fn copula_correlation(rank: f64) -> f64 {
    2.0 * libm::sin(std::f64::consts::PI * rank / 6.0)
}

/// The rank correlation of a Gaussian copula whose normals correlate by `normal`: the inverse of [`copula_correlation`].
pub fn rank_correlation(normal: f64) -> f64 {
    6.0 / std::f64::consts::PI * libm::asin(normal / 2.0)
}

/// The natural logarithm, for fits.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// The exponential function, for fits.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// A choice by weight in constant time: Walker's alias method, built as Vose does (IEEE TSE 17, 1991).
#[derive(Clone, Debug, PartialEq)]
pub struct AliasTable {
    /// Per cell: the share of it that is its own, and who has the rest.
    cells: Vec<(f64, u32)>,
}

impl AliasTable {
    /// From weights that are finite, at least 0 and not all 0; `None` otherwise, or beyond 2^32 of them.
    pub fn new(weights: &[f64]) -> Option<Self> {
        let total: f64 = weights.iter().sum();
        let valid = weights.iter().all(|w| *w >= 0.0) && total > 0.0 && total.is_finite();
        if !valid || u32::try_from(weights.len()).is_err() {
            return None;
        }
        let mut share: Vec<f64> = weights.iter().map(|w| w / total * weights.len() as f64).collect();
        let mut cells: Vec<(f64, u32)> = (0..weights.len() as u32).map(|i| (1.0, i)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..share.len()).partition(|&i| share[i] < 1.0);
        while let (Some(low), Some(&high)) = (small.pop(), large.last()) {
            cells[low] = (share[low], high as u32);
            share[high] -= 1.0 - share[low];
            if share[high] < 1.0 {
                large.pop();
                small.push(high);
            }
        }
        Some(Self { cells })
    }

    /// The index of one entry, by weight.
    pub fn draw(&self, rng: &mut SimRng) -> usize {
        let cell = rng.below(self.cells.len() as u64) as usize;
        let (own, alias) = self.cells[cell];
        if rng.unit() < own { cell } else { alias as usize }
    }
}
