//! Means of stretches that count differently much: a ratio estimate.

use super::intervals::{MeanInterval, t_for};

/// The mean of values with weights (lengths of stretches, say), sum(w x) / sum(w), with its interval at `level`: the
/// variance is that of a ratio estimate, n / (n - 1) sum((w (x - mean))^2) / sum(w)^2 (Cochran 1977, "Sampling techniques",
/// section 2.11), the factor Student's with n - 1 degrees of freedom. With equal weights it is the t interval of the values.
/// `None` without any weight.
pub fn weighted_mean_interval(values: &[(f64, f64)], level: f64) -> Option<MeanInterval> {
    let weight: f64 = values.iter().map(|(_, w)| w).sum();
    if weight.is_nan() || weight <= 0.0 {
        return None;
    }
    let mean = values.iter().map(|(x, w)| x * w).sum::<f64>() / weight;
    let squares: f64 = values.iter().map(|(x, w)| w * (x - mean)).map(|r| r * r).sum();
    let n = values.len() as f64;
    let half = |()| t_for(level, n - 1.0) * (n / (n - 1.0) * squares).sqrt() / weight;
    Some(MeanInterval { mean, half_width: (values.len() > 1).then_some(()).map(half), samples: values.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::mean_interval;

    #[test]
    fn equal_weights_give_the_t_interval() {
        let values = [1.20, 1.50, 1.68, 1.89, 0.95];
        let weighted: Vec<(f64, f64)> = values.iter().map(|x| (*x, 3.0)).collect();
        let (a, b) = (weighted_mean_interval(&weighted, 0.95).unwrap(), mean_interval(&values, 0.95).unwrap());
        assert!((a.mean - b.mean).abs() < 1e-12 && (a.half_width.unwrap() - b.half_width.unwrap()).abs() < 1e-12);
    }

    #[test]
    fn weights_count_and_one_value_has_no_spread() {
        assert_eq!(weighted_mean_interval(&[(1.0, 3.0), (5.0, 1.0)], 0.95).unwrap().mean, 2.0);
        assert_eq!(weighted_mean_interval(&[(1.0, 3.0)], 0.95).unwrap().half_width, None);
        assert_eq!((weighted_mean_interval(&[], 0.95), weighted_mean_interval(&[(1.0, 0.0)], 0.95)), (None, None));
    }
}
