//! Golden draws, exact values and goodness of fit.

use super::*;
use crate::engine::rng::Streams;
use rand_distr::Distribution;

fn rng(cause: &str) -> SimRng {
    Streams::new(42).stream(cause, 0)
}

/// Largest distance between the empirical distribution of `draws` and `cdf`.
fn distance(mut draws: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    draws.sort_by(f64::total_cmp);
    let n = draws.len() as f64;
    draws.iter().enumerate().fold(0.0_f64, |worst, (i, x)| {
        let p = cdf(*x);
        worst.max((p - i as f64 / n).abs()).max(((i + 1) as f64 / n - p).abs())
    })
}

/// Kolmogorov-Smirnov at level 0.001: 1.949 / sqrt(n) (one false alarm in a thousand seeds; this seed is fixed).
fn assert_fits(name: &str, draws: Vec<f64>, cdf: impl Fn(f64) -> f64) {
    let limit = 1.949 / (draws.len() as f64).sqrt();
    let found = distance(draws, cdf);
    assert!(found < limit, "{name}: distance {found} exceeds {limit}");
}

const N: usize = 100_000;

fn take(cause: &str, draw: impl Fn(&mut SimRng) -> f64) -> Vec<f64> {
    let mut rng = rng(cause);
    (0..N).map(|_| draw(&mut rng)).collect()
}

#[test]
fn the_normal_quantile_inverts_the_cdf_to_full_accuracy() {
    // Reference values: Abramowitz and Stegun, table 26.5, and Wichura's own test values.
    for (p, z) in [(0.25, -0.674_489_750_196_081_7), (0.001, -3.090_232_306_167_813_5), (1e-20, -9.262_340_089_798_408)] {
        assert!((normal_quantile(p) - z).abs() < 4e-16 * z.abs().max(1.0), "{p}: {}", normal_quantile(p));
    }
    assert!((normal_quantile(0.99) - NORMAL_P99).abs() < 2e-15);
    for i in 1..2_000 {
        let p = f64::from(i) / 2_000.0;
        assert!((normal_cdf(normal_quantile(p)) - p).abs() < 1e-15, "{p}");
    }
}

#[test]
fn draws_follow_their_distributions() {
    assert_fits("exponential", take("exponential", exponential), |x| -libm::expm1(-x));
    assert_fits("normal", take("normal", standard_normal), normal_cdf);
    let lognormal = Lognormal::from_mean_p99(1155.0, 4142.0).unwrap();
    assert_fits("lognormal", take("lognormal", |r| lognormal.draw(r)), |x| lognormal.cdf(x));
    // Far beyond cv 5 a percent of the gamma draws lies below the smallest float: they are 0, which no gap can tell.
    for cv in [0.3, 1.0, 1.7, 5.0] {
        let gamma = Gamma::from_mean_cv(2.0, cv).unwrap();
        assert_fits("gamma", take("gamma", |r| gamma.draw(r)), |x| gamma.cdf(x));
        let weibull = Weibull::from_mean_cv(2.0, cv).unwrap();
        assert_fits("weibull", take("weibull", |r| weibull.draw(r)), |x| weibull.cdf(x));
    }
    let pareto = Pareto::new(10.0, 1.5).unwrap();
    assert_fits("pareto", take("pareto", |r| pareto.draw(r)), |x| pareto.cdf(x));
}

#[test]
fn draws_of_a_wrong_distribution_are_told_apart() {
    let wrong = Gamma::from_mean_cv(1.0, 1.03).unwrap();
    let found = distance(take("exponential", exponential), |x| wrong.cdf(x));
    assert!(found > 1.949 / (N as f64).sqrt(), "{found}");
}

/// Two-sample Kolmogorov-Smirnov at level 0.001 against the rand_distr crate.
#[test]
fn draws_agree_with_rand_distr() {
    let gamma = Gamma::from_mean_cv(3.0, 1.4).unwrap();
    let weibull = Weibull::from_mean_cv(3.0, 2.0).unwrap();
    let theirs_gamma = rand_distr::Gamma::new(1.0 / 1.96, 3.0 * 1.96).unwrap();
    let theirs_weibull = rand_distr::Weibull::new(weibull.scale, weibull.shape).unwrap();
    for (ours, theirs) in [
        (take("ours", |r| gamma.draw(r)), take("theirs", |r| theirs_gamma.sample(r))),
        (take("ours", |r| weibull.draw(r)), take("theirs", |r| theirs_weibull.sample(r))),
    ] {
        let mut sorted = theirs;
        sorted.sort_by(f64::total_cmp);
        let found = distance(ours, |x| sorted.partition_point(|y| *y <= x) as f64 / sorted.len() as f64);
        assert!(found < 1.949 * (2.0 / N as f64).sqrt(), "{found}");
    }
}

#[test]
fn the_first_draws_are_golden() {
    let first = |cause: &str, draw: &dyn Fn(&mut SimRng) -> f64| draw(&mut rng(cause)).to_bits();
    let lognormal = Lognormal::from_mean_p99(1155.0, 4142.0).unwrap();
    let gamma = Gamma::from_mean_cv(2.0, 1.7).unwrap();
    let weibull = Weibull::from_mean_cv(2.0, 1.7).unwrap();
    let pareto = Pareto::new(10.0, 1.5).unwrap();
    let drawn = [
        first("a", &exponential),
        first("a", &standard_normal),
        first("a", &|r| lognormal.draw(r)),
        first("a", &|r| gamma.draw(r)),
        first("a", &|r| weibull.draw(r)),
        first("a", &|r| pareto.draw(r)),
    ];
    assert_eq!(drawn, GOLDEN, "{drawn:#x?}");
}

const GOLDEN: [u64; 6] = [
    0x3fd3_1e05_806d_bab4,
    0x3fe4_c33a_e2bc_95ee,
    0x4096_45ea_1010_30a8,
    0x3ffc_df94_de51_434b,
    0x3fc8_cfae_c69d_3320,
    0x4028_6832_049c_3742,
];

#[test]
fn a_lognormal_by_mean_and_p99_has_them_and_the_smaller_sigma() {
    let d = Lognormal::from_mean_p99(1155.0, 4142.0).unwrap();
    assert!((d.at_normal(NORMAL_P99) - 4142.0).abs() < 1e-9);
    assert!((libm::exp(d.mu + d.sigma * d.sigma / 2.0) - 1155.0).abs() < 1e-9);
    assert!(d.sigma < NORMAL_P99);
    // The limit is exp(z^2/2) = 14.97.
    assert!(Lognormal::from_mean_p99(100.0, 1_490.0).is_some());
    assert!(Lognormal::from_mean_p99(100.0, 1_500.0).is_none());
    // Below the mean only a huge sigma has it.
    let heavy = Lognormal::from_mean_p99(100.0, 50.0).unwrap();
    assert!((heavy.at_normal(NORMAL_P99) - 50.0).abs() < 1e-9 && heavy.sigma > 2.0 * NORMAL_P99);
    assert!(Lognormal::from_mean_p99(f64::NAN, 1.0).is_none() && Lognormal::from_mean_p99(1.0, 0.0).is_none());
}

#[test]
fn a_weibull_by_cv_has_it() {
    assert!((Weibull::from_mean_cv(1.0, 1.0).unwrap().shape() - 1.0).abs() < 1e-12);
    // cv of shape 2 (Rayleigh): sqrt(4/pi - 1); of shape 1/2: sqrt(5).
    let rayleigh = (4.0 / std::f64::consts::PI - 1.0).sqrt();
    assert!((Weibull::from_mean_cv(1.0, rayleigh).unwrap().shape() - 2.0).abs() < 1e-11);
    assert!((Weibull::from_mean_cv(1.0, 5.0_f64.sqrt()).unwrap().shape() - 0.5).abs() < 1e-12);
    assert!(Weibull::from_mean_cv(1.0, 0.0).is_none() && Weibull::from_mean_cv(1.0, f64::NAN).is_none());
}

#[test]
fn the_incomplete_gamma_function_has_its_known_values() {
    // P(1, x) = 1 - exp(-x); P(1/2, x) = erf(sqrt x).
    for x in [0.01, 0.5, 1.0, 3.0, 20.0] {
        assert!((lower_gamma(1.0, x) + libm::expm1(-x)).abs() < 1e-14, "{x}");
        assert!((lower_gamma(0.5, x) - libm::erf(x.sqrt())).abs() < 1e-14, "{x}");
    }
    assert!((lower_gamma(1e4, 1e4) - 0.501_329_808_3).abs() < 1e-6);
}

#[test]
fn an_alias_table_chooses_by_weight() {
    let weights = [5.0, 0.0, 1.0, 3.0, 1.0];
    let table = AliasTable::new(&weights).unwrap();
    let mut rng = rng("alias");
    let mut counts = [0u32; 5];
    for _ in 0..N {
        counts[table.draw(&mut rng)] += 1;
    }
    for (count, weight) in counts.iter().zip(weights) {
        // 4.5 standard deviations of a binomial.
        let p = weight / 10.0;
        let allowed = 4.5 * (N as f64 * p * (1.0 - p)).sqrt();
        assert!((f64::from(*count) - N as f64 * p).abs() <= allowed, "{counts:?}");
    }
    assert!(AliasTable::new(&[]).is_none() && AliasTable::new(&[0.0]).is_none() && AliasTable::new(&[-1.0, 2.0]).is_none());
    assert!(AliasTable::new(&[f64::NAN]).is_none());
}

#[test]
fn copula_correlations_invert() {
    assert!((copula_correlation(1.0) - 1.0).abs() < 1e-15 && copula_correlation(0.0) == 0.0);
    for i in -10..=10 {
        let rank = f64::from(i) / 10.0;
        assert!((rank_correlation(copula_correlation(rank)) - rank).abs() < 1e-14);
    }
}
