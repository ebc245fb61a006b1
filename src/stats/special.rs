//! Special functions and the distributions made of them, over the `libm` crate, so that a figure has the same bits on
//! every platform.
//!
//! Arguments outside a function's domain give NaN, as is usual for such functions; callers check first.

use std::f64::consts::{PI, SQRT_2};

/// ln sqrt(2 pi).
const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_8;
/// Enough for the continued fraction at parameters of 10^9, which needs about the root of them.
const MAX_TERMS: u32 = 200_000;

/// e to the `x`.
pub(crate) fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// Natural logarithm.
pub(crate) fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// What Stirling's formula leaves of ln Gamma(x + 1): ln Gamma(x + 1) - (x + 1/2) ln x + x - ln sqrt(2 pi), x > 0.
///
/// Above 15 the asymptotic series (Loader 2000, "Fast and accurate computation of binomial probabilities").
fn stirling_error(x: f64) -> f64 {
    if x <= 15.0 {
        return libm::lgamma(x + 1.0) - (x + 0.5) * ln(x) + x - HALF_LN_TWO_PI;
    }
    let square = x * x;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / square) / square) / square) / square) / x
}

/// x ln(x / m) + m - x for x, m > 0, without cancellation where they are close (Loader 2000, deviance term).
fn deviance(x: f64, m: f64) -> f64 {
    if (x - m).abs() >= 0.1 * (x + m) {
        return x * ln(x / m) + m - x;
    }
    let ratio = (x - m) / (x + m);
    let mut sum = (x - m) * ratio;
    let mut power = 2.0 * x * ratio;
    for j in 1..1000 {
        power *= ratio * ratio;
        let next = sum + power / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// x^a y^b / B(a, b) with y = 1 - x, by the saddle-point form of Loader (2000).
fn beta_power(x: f64, y: f64, a: f64, b: f64) -> f64 {
    let n = a + b;
    let exponent = stirling_error(n) - stirling_error(a) - stirling_error(b) - deviance(a, n * x) - deviance(b, n * y);
    (a * b / (2.0 * PI * n)).sqrt() * exp(exponent)
}

/// The continued fraction of the incomplete beta function (DLMF 8.17.22) by the method of Lentz as modified by
/// Thompson and Barnett (1986). Converges fast for x < (a + 1) / (a + b + 2).
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..MAX_TERMS {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / guard(1.0 + even * d);
        c = guard(1.0 + even / c);
        value *= c * d;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / guard(1.0 + odd * d);
        c = guard(1.0 + odd / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

/// The beta distribution's P(X <= x), that is the regularised incomplete beta function I_x(a, b), for a, b > 0.
/// Relative error below 1e-11, and below 1e-9 with parameters of 10^8.
pub fn beta_cdf(x: f64, a: f64, b: f64) -> f64 {
    if !(a > 0.0 && b > 0.0) || x.is_nan() {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let y = 1.0 - x;
    let front = beta_power(x, y, a, b);
    if x < (a + 1.0) / (a + b + 2.0) { front * beta_fraction(x, a, b) / a } else { 1.0 - front * beta_fraction(y, b, a) / b }
}

/// The beta distribution's quantile: the x with I_x(a, b) = p, for a, b > 0 and p in [0, 1].
///
/// Newton's method kept inside a shrinking bracket, to the last bits.
pub fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    if !(a > 0.0 && b > 0.0 && (0.0..=1.0).contains(&p)) {
        return f64::NAN;
    }
    if p == 0.0 || p == 1.0 {
        return p;
    }
    let (mut low, mut high) = (0.0, 1.0);
    let mut x = a / (a + b);
    for _ in 0..400 {
        let miss = beta_cdf(x, a, b) - p;
        if miss == 0.0 {
            return x;
        }
        if miss > 0.0 {
            high = x
        } else {
            low = x
        }
        let density = beta_power(x, 1.0 - x, a, b) / (x * (1.0 - x));
        let newton = x - miss / density;
        let next = if newton > low && newton < high {
            newton
        } else if low == 0.0 {
            // Towards a solution near 0 by orders of magnitude.
            high / 16.0
        } else {
            low + (high - low) / 2.0
        };
        if (next - x).abs() <= 2.0 * f64::EPSILON * x {
            return next;
        }
        x = next;
    }
    x
}

/// The gamma distribution's P(X <= x) with scale 1, that is the regularised incomplete gamma function P(shape, x),
/// for shape > 0: the series below shape + 1, the continued fraction above (DLMF 8.11.4 and 8.9.2).
pub fn gamma_cdf(x: f64, shape: f64) -> f64 {
    if shape.is_nan() || shape <= 0.0 || x.is_nan() {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 0.0;
    }
    // x^shape e^-x / Gamma(shape + 1), in the saddle-point form (Loader 2000).
    let front = exp(-stirling_error(shape) - deviance(shape, x)) / (2.0 * PI * shape).sqrt();
    if x < shape + 1.0 { front * gamma_series(x, shape) } else { 1.0 - front * shape * gamma_fraction(x, shape) }
}

/// 1 + x / (a + 1) + x^2 / ((a + 1)(a + 2)) + ...
fn gamma_series(x: f64, a: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..MAX_TERMS {
        term *= x / (a + f64::from(n));
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    sum
}

/// 1 / (x + 1 - a - 1(1 - a) / (x + 3 - a - ...)), modified Lentz.
fn gamma_fraction(x: f64, a: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / guard(b);
    let mut value = d;
    for n in 1..MAX_TERMS {
        let n = f64::from(n);
        let numerator = -n * (n - a);
        b += 2.0;
        d = 1.0 / guard(numerator * d + b);
        c = guard(b + numerator / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

/// The standard normal distribution's P(Z <= z).
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / SQRT_2)
}

/// The standard normal quantile for p in (0, 1): the rational start of Hastings (Abramowitz and Stegun 26.2.23),
/// made exact by Halley steps on the distribution function.
pub fn normal_quantile(p: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        return f64::NAN;
    }
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    let t = (-2.0 * ln(p)).sqrt();
    let start = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    let mut z = -start;
    for _ in 0..4 {
        let density = exp(-0.5 * z * z) / (2.0 * PI).sqrt();
        let step = (normal_cdf(z) - p) / density;
        z -= step / (1.0 + 0.5 * z * step);
    }
    z
}

/// Student's t distribution: P(T <= t) with `df` > 0 degrees of freedom (need not be whole).
///
/// By the incomplete beta function (Abramowitz and Stegun 26.7.1), from whichever side keeps the small tail exact.
pub fn t_cdf(t: f64, df: f64) -> f64 {
    if df.is_nan() || df <= 0.0 || t.is_nan() {
        return f64::NAN;
    }
    if t.is_infinite() {
        return if t > 0.0 { 1.0 } else { 0.0 };
    }
    let square = t * t;
    let tail = if square < df {
        0.5 * (1.0 - beta_cdf(square / (df + square), 0.5, 0.5 * df))
    } else {
        0.5 * beta_cdf(df / (df + square), 0.5 * df, 0.5)
    };
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// Student's t quantile: the t with P(T <= t) = p, for p in (0, 1) and `df` > 0.
pub fn t_quantile(p: f64, df: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if p == 0.5 {
        return 0.0;
    }
    let tail = if p < 0.5 { p } else { 1.0 - p };
    let central = 1.0 - 2.0 * tail;
    // t^2 / (df + t^2) is beta(1/2, df/2); solve for it or for its complement, whichever is the smaller.
    let t = if beta_cdf(0.5, 0.5, 0.5 * df) > central {
        let y = beta_quantile(central, 0.5, 0.5 * df);
        (df * y / (1.0 - y)).sqrt()
    } else {
        let x = beta_quantile(2.0 * tail, 0.5 * df, 0.5);
        (df * (1.0 - x) / x).sqrt()
    };
    if p < 0.5 { -t } else { t }
}

/// The binomial distribution's P(K <= k) of `n` trials with probability `p` in [0, 1], by the incomplete beta function.
pub fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    beta_cdf(1.0 - p, (n - k) as f64, k as f64 + 1.0)
}

/// P(K > x) of Kolmogorov's limiting distribution, x >= 0 (Kolmogorov 1933; below 1 its theta-function twin, which
/// converges at once where the other does not).
pub fn kolmogorov_tail(x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    if x < 1.0 {
        let body: f64 = (0..20u32).map(|k| f64::from(2 * k + 1)).map(|odd| exp(-odd * odd * PI * PI / (8.0 * x * x))).sum();
        return (1.0 - (2.0 * PI).sqrt() / x * body).clamp(0.0, 1.0);
    }
    let term = |k: f64| exp(-2.0 * k * k * x * x);
    let sum: f64 = (1..20u32).map(|k| if k % 2 == 1 { term(f64::from(k)) } else { -term(f64::from(k)) }).sum();
    (2.0 * sum).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    include!("special_reference.rs");

    fn close(name: &str, got: f64, want: f64, relative: f64) {
        assert!((got - want).abs() <= relative * want.abs().max(1e-300), "{name}: got {got:e}, want {want:e}");
    }

    #[test]
    fn special_functions_agree_with_forty_digit_references() {
        for (x, a, b, want) in BETA_CDF {
            // Parameters of 10^8 lose digits in the hundreds of terms of the continued fraction.
            let tolerance = if b > 1e7 { 1e-9 } else { 1e-11 };
            close(&format!("I_{x}({a}, {b})"), beta_cdf(x, a, b), want, tolerance);
        }
        for (x, shape, want) in GAMMA_CDF {
            close(&format!("P({shape}, {x})"), gamma_cdf(x, shape), want, 1e-12);
        }
        for (z, want) in NORMAL_CDF {
            close(&format!("Phi({z})"), normal_cdf(z), want, 1e-14);
            close(&format!("Phi^-1({want})"), normal_quantile(want), z, 1e-12);
        }
        for (t, df, want) in T_CDF {
            close(&format!("T_{df}({t})"), t_cdf(t, df), want, 1e-12);
        }
        for (x, want) in KOLMOGOROV_TAIL {
            close(&format!("K({x})"), kolmogorov_tail(x), want, 1e-12);
        }
    }

    #[test]
    fn t_quantiles_agree_with_the_published_table() {
        // Two-sided 95 % (0.975) and 99 % (0.995), one-sided 99 % (0.99).
        let table = [
            (0.975, 1.0, 12.706_204_736),
            (0.975, 2.0, 4.302_652_730),
            (0.975, 3.0, 3.182_446_305),
            (0.975, 4.0, 2.776_445_105),
            (0.975, 5.0, 2.570_581_836),
            (0.975, 9.0, 2.262_157_163),
            (0.975, 10.0, 2.228_138_852),
            (0.975, 29.0, 2.045_229_642),
            (0.975, 30.0, 2.042_272_456),
            (0.975, 120.0, 1.979_930_405),
            (0.995, 1.0, 63.656_741_162),
            (0.995, 10.0, 3.169_272_673),
            (0.99, 18.0, 2.552_379_630),
            (0.99, 19.0, 2.539_483_191),
            (0.95, 7.0, 1.894_578_605),
        ];
        for (p, df, want) in table {
            close(&format!("t({p}, {df})"), t_quantile(p, df), want, 1e-9);
            close(&format!("t({}, {df})", 1.0 - p), t_quantile(1.0 - p, df), -want, 1e-9);
        }
        close("many degrees of freedom are normal", t_quantile(0.975, 1e9), normal_quantile(0.975), 1e-8);
    }

    #[test]
    fn arguments_out_of_domain_are_nan_and_never_hang() {
        for v in [t_quantile(0.0, 3.0), t_quantile(0.5, 0.0), t_quantile(f64::NAN, 2.0), beta_cdf(0.5, 0.0, 1.0)] {
            assert!(v.is_nan());
        }
        for v in [beta_quantile(1.1, 1.0, 1.0), normal_quantile(1.0), gamma_cdf(1.0, -1.0), t_cdf(f64::NAN, 1.0)] {
            assert!(v.is_nan());
        }
    }

    #[test]
    fn the_binomial_distribution_agrees_with_its_sum() {
        let (n, p) = (12u64, 0.3f64);
        let (mut sum, mut term) = (0.0, (0..n).fold(1.0, |product, _| product * (1.0 - p)));
        for k in 0..=n {
            sum += term;
            close(&format!("binomial {k}"), binomial_cdf(k, n, p), sum, 1e-12);
            term *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
        }
    }

    proptest! {
        #[test]
        fn a_beta_quantile_inverts_its_distribution(p in 0.0001f64..0.9999, a in 0.3f64..2000.0, b in 0.3f64..2000.0) {
            let x = beta_quantile(p, a, b);
            prop_assert!((0.0..=1.0).contains(&x));
            // A quantile close to 1 has lost digits of its complement, and the density there may be steep.
            if x < 1.0 - 1e-9 {
                prop_assert!((beta_cdf(x, a, b) - p).abs() < 1e-8, "x = {x}");
            }
        }

        #[test]
        fn a_t_quantile_inverts_its_distribution(p in 0.0001f64..0.9999, df in 0.5f64..500.0) {
            prop_assert!((t_cdf(t_quantile(p, df), df) - p).abs() < 1e-12);
        }
    }
}
