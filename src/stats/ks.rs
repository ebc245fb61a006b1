//! Whether samples follow a distribution: the test of Kolmogorov and Smirnov.

use super::special::kolmogorov_tail;

/// Outcome of a Kolmogorov-Smirnov test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KsTest {
    /// The greatest distance of the distribution functions.
    pub statistic: f64,
    /// The probability of so great a distance, or a greater one, if both are the same.
    pub p_value: f64,
}

/// Samples against the continuous distribution function `cdf` (Kolmogorov 1933). Sorts the samples; `None` without any.
pub fn ks_one_sample(samples: &mut [f64], cdf: impl Fn(f64) -> f64) -> Option<KsTest> {
    if samples.is_empty() {
        return None;
    }
    samples.sort_unstable_by(f64::total_cmp);
    let n = samples.len() as f64;
    let distance = |(i, &x): (usize, &f64)| {
        let expected = cdf(x);
        ((i + 1) as f64 / n - expected).max(expected - i as f64 / n)
    };
    let statistic = samples.iter().enumerate().map(distance).fold(0.0, f64::max);
    Some(outcome(statistic, n))
}

/// Two samples against each other (Smirnov 1939). Sorts both; `None` if one is empty.
pub fn ks_two_sample(a: &mut [f64], b: &mut [f64]) -> Option<KsTest> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    a.sort_unstable_by(f64::total_cmp);
    b.sort_unstable_by(f64::total_cmp);
    let (n, m) = (a.len() as f64, b.len() as f64);
    let (mut i, mut j, mut statistic) = (0, 0, 0.0f64);
    while i < a.len() && j < b.len() {
        // Equal values step together, on both sides.
        let x = if a[i].total_cmp(&b[j]).is_le() { a[i] } else { b[j] };
        i += a[i..].iter().take_while(|v| v.total_cmp(&x).is_le()).count();
        j += b[j..].iter().take_while(|v| v.total_cmp(&x).is_le()).count();
        statistic = statistic.max((i as f64 / n - j as f64 / m).abs());
    }
    Some(outcome(statistic, n * m / (n + m)))
}

/// The p-value by the limiting distribution, with the correction of Stephens (1970, "Use of the Kolmogorov-Smirnov,
/// Cramer-von Mises and related statistics without extensive tables") for small samples.
fn outcome(statistic: f64, n: f64) -> KsTest {
    let root = n.sqrt();
    KsTest { statistic, p_value: kolmogorov_tail((root + 0.12 + 0.11 / root) * statistic) }
}

#[cfg(test)]
mod tests {
    use super::super::special::{gamma_cdf, normal_cdf};
    use super::*;
    use rand::{RngExt, SeedableRng};

    fn uniforms(n: usize, seed: u64) -> Vec<f64> {
        let mut rng = rand_pcg::Pcg64::seed_from_u64(seed);
        (0..n).map(|_| rng.random::<f64>()).collect()
    }

    #[test]
    fn the_statistic_of_a_few_samples_is_that_of_hand_arithmetic() {
        // Distribution function x; steps at 0.2, 0.3, 0.9: greatest gap 2/3 - 0.3.
        let test = ks_one_sample(&mut [0.9, 0.2, 0.3], |x| x).unwrap();
        assert!((test.statistic - (2.0 / 3.0 - 0.3)).abs() < 1e-12);
        let two = ks_two_sample(&mut [1.0, 2.0, 2.0, 5.0], &mut [2.0, 3.0]).unwrap();
        // At 2: 3/4 against 1/2; at 1: 1/4 against 0; at 3: 3/4 against 1.
        assert!((two.statistic - 0.25).abs() < 1e-12);
        assert_eq!((ks_one_sample(&mut [], |x| x), ks_two_sample(&mut [], &mut [1.0])), (None, None));
    }

    #[test]
    fn the_p_value_agrees_with_published_critical_values() {
        // Massey 1951: n = 20, 5 % critical value 0.294; n = 10, 1 % 0.490 (rounded); n large, 5 % 1.358 / sqrt(n).
        assert!((outcome(0.294, 20.0).p_value - 0.05).abs() < 0.003);
        assert!((outcome(0.49, 10.0).p_value - 0.01).abs() < 0.002);
        assert!((outcome(1.3581 / 1000.0, 1e6).p_value - 0.05).abs() < 0.0005);
    }

    #[test]
    fn right_distributions_pass_and_wrong_ones_fail() {
        assert!(ks_one_sample(&mut uniforms(10_000, 1), |x| x).unwrap().p_value > 0.01);
        assert!(ks_one_sample(&mut uniforms(10_000, 1), |x| x * x).unwrap().p_value < 1e-9);
        // The sum of twelve uniforms less six is nearly normal; gamma of shape 1 is -ln of a uniform.
        let mut sums: Vec<f64> = uniforms(24_000, 10).chunks(12).map(|c| c.iter().sum::<f64>() - 6.0).collect();
        assert!(ks_one_sample(&mut sums, normal_cdf).unwrap().p_value > 0.01);
        let mut exponentials: Vec<f64> = uniforms(10_000, 3).iter().map(|&u| -libm::log(1.0 - u)).collect();
        assert!(ks_one_sample(&mut exponentials, |x| gamma_cdf(x, 1.0)).unwrap().p_value > 0.01);
        let mut shifted: Vec<f64> = uniforms(5000, 5).iter().map(|u| u + 0.05).collect();
        assert!(ks_two_sample(&mut uniforms(5000, 4), &mut uniforms(5000, 6)).unwrap().p_value > 0.01);
        assert!(ks_two_sample(&mut uniforms(5000, 4), &mut shifted).unwrap().p_value < 1e-4);
    }

    #[test]
    fn p_values_of_right_distributions_are_themselves_uniform() {
        let mut one: Vec<f64> = (0..400).map(|seed| ks_one_sample(&mut uniforms(300, seed), |x| x).unwrap().p_value).collect();
        assert!(ks_one_sample(&mut one, |p| p).unwrap().p_value > 0.01);
        let pair = |seed| ks_two_sample(&mut uniforms(300, seed), &mut uniforms(500, seed + 1000)).unwrap().p_value;
        let mut two: Vec<f64> = (0..400).map(pair).collect();
        assert!(ks_one_sample(&mut two, |p| p).unwrap().p_value > 0.01);
    }
}
