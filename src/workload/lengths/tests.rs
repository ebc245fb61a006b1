use super::*;
use crate::engine::rng::Streams;
use crate::workload::config::MixtureComponent;
use proptest::prelude::*;

fn plain(shape: LengthShape) -> LengthDistribution {
    LengthDistribution { shape, min: 1, max: None }
}

fn shapes() -> Vec<LengthDistribution> {
    let lognormal = plain(LengthShape::Lognormal { mean: 211.0, p99: 601.0 });
    let far = plain(LengthShape::Empirical { values: vec![(100_000, 1.0), (90, 3.0)] });
    let parts = [(0.7, lognormal.clone()), (0.3, far.clone())];
    let components = parts.into_iter().map(|(weight, distribution)| MixtureComponent { weight, distribution }).collect();
    vec![
        plain(LengthShape::Constant { value: 17 }),
        plain(LengthShape::Uniform { low: 5, high: 12 }),
        lognormal,
        plain(LengthShape::Gamma { mean: 100.0, cv: 0.7 }),
        LengthDistribution { max: Some(50_000), ..plain(LengthShape::Pareto { scale: 100.0, alpha: 1.2 }) },
        far,
        LengthDistribution { min: 40, max: Some(99_999), ..plain(LengthShape::Mixture { components }) },
    ]
}

/// Greatest distance of counts from the stated distribution, over every token count drawn.
fn distance(sampler: &LengthSampler, mut draws: Vec<u32>) -> f64 {
    draws.sort_unstable();
    let n = draws.len() as f64;
    let mut worst = 0.0_f64;
    for i in 0..draws.len() {
        if draws.get(i + 1) != Some(&draws[i]) {
            worst = worst.max(((i + 1) as f64 / n - sampler.cdf(draws[i])).abs());
        }
    }
    worst
}

/// Kolmogorov-Smirnov at level 0.001 (conservative for whole numbers).
const LIMIT: f64 = 1.949 / 316.2;

#[test]
fn draws_follow_every_shape() {
    for (i, distribution) in shapes().iter().enumerate() {
        let sampler = LengthSampler::new(distribution).unwrap();
        let mut rng = Streams::new(3).stream("lengths", i as u64);
        let draws: Vec<u32> = (0..100_000).map(|_| sampler.draw(&mut rng)).collect();
        let found = distance(&sampler, draws);
        assert!(found < LIMIT, "{distribution:?}: {found}");
    }
}

#[test]
fn correlated_draws_keep_their_marginals_and_correlate() {
    let output = plain(LengthShape::Lognormal { mean: 211.0, p99: 601.0 });
    for (i, input) in shapes().iter().enumerate() {
        for correlation in [-0.6, 0.5] {
            let pair = LengthPair::from_parts(input, &output, correlation).unwrap();
            let mut rng = Streams::new(4).stream("lengths", i as u64);
            let draws: Vec<(u32, u32)> = (0..100_000).map(|_| pair.draw(&mut rng)).collect();
            let inputs: Vec<u32> = draws.iter().map(|d| d.0).collect();
            let outputs: Vec<u32> = draws.iter().map(|d| d.1).collect();
            assert!(distance(&LengthSampler::new(input).unwrap(), inputs.clone()) < LIMIT, "{input:?}");
            assert!(distance(&LengthSampler::new(&output).unwrap(), outputs.clone()) < LIMIT, "{input:?}");
            // Ties thin the rank correlation of lumpy marginals: only the smooth ones are held to it.
            if i == 2 || i == 3 {
                let found = spearman(&inputs, &outputs);
                assert!((found - correlation).abs() < 0.012, "{input:?}: {found}");
            }
        }
    }
}

fn spearman(a: &[u32], b: &[u32]) -> f64 {
    let ranks = |values: &[u32]| {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let rank = |v: &u32| (sorted.partition_point(|x| x < v) + sorted.partition_point(|x| x <= v)) as f64 / 2.0;
        values.iter().map(rank).collect::<Vec<f64>>()
    };
    let (a, b) = (ranks(a), ranks(b));
    let mean = a.len() as f64 / 2.0;
    let sum = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    sum(&a, &b) / (sum(&a, &a) * sum(&b, &b)).sqrt()
}

#[test]
fn the_first_draws_are_golden() {
    let drawn: Vec<u32> =
        shapes().iter().map(|d| LengthSampler::new(d).unwrap().draw(&mut Streams::new(1).stream("lengths", 0))).collect();
    assert_eq!(drawn, GOLDEN);
}

const GOLDEN: [u32; 7] = [17, 5, 83, 17, 1_140, 90, 309];

#[test]
fn parameters_without_meaning_are_refused() {
    let refuse = |d: LengthDistribution| LengthSampler::new(&d).unwrap_err().to_string();
    assert!(refuse(plain(LengthShape::Lognormal { mean: 10.0, p99: 200.0 })).contains("14.97"));
    assert!(refuse(plain(LengthShape::Uniform { low: 2, high: 1 })).contains("`2` to `1`"));
    assert!(refuse(plain(LengthShape::Empirical { values: vec![] })).contains("at least one value"));
    assert!(refuse(LengthDistribution { max: Some(0), ..plain(LengthShape::Constant { value: 1 }) }).contains("min <= max"));
    let zero = LengthDistribution { min: 0, ..plain(LengthShape::Constant { value: 1 }) };
    assert!(LengthPair::from_parts(&zero, &zero, 0.0).is_err());
    let one = plain(LengthShape::Constant { value: 1 });
    assert!(LengthPair::from_parts(&one, &one, f64::NAN).is_err());
}

proptest! {
    #[test]
    fn no_draw_leaves_its_bounds(min in 1u32..2_000, width in 0u32..5_000, seed in any::<u64>(), mean in 1.0f64..10_000.0) {
        for shape in [
            LengthShape::Lognormal { mean, p99: mean * 5.0 },
            LengthShape::Gamma { mean, cv: 1.5 },
            LengthShape::Pareto { scale: mean, alpha: 0.5 },
        ] {
            let distribution = LengthDistribution { shape, min, max: Some(min + width) };
            let pair = LengthPair::from_parts(&distribution, &distribution, 0.4).unwrap();
            let sampler = LengthSampler::new(&distribution).unwrap();
            let mut rng = Streams::new(seed).stream("lengths", 0);
            for _ in 0..20 {
                let (input, output) = pair.draw(&mut rng);
                let alone = sampler.draw(&mut rng);
                prop_assert!([input, output, alone].iter().all(|t| (min..=min + width).contains(t)));
            }
        }
    }
}
