//! Where the start-up of a run ends.

/// Observations to a batch in MSER-5.
const BATCH: usize = 5;
/// Fewer batches than this tell nothing about a start-up.
const LEAST_BATCHES: usize = 10;

/// What the rule says about the start of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// Drop so many observations from the front (a multiple of 5; 0: no start-up to be seen).
    Cut(usize),
    /// The best cut lies in the second half: the series is still on its way, or too short for its swings.
    NotFound,
    /// Fewer than 50 observations.
    TooShort,
}

/// MSER-5 (White 1997, "An effective truncation heuristic for bias reduction in simulation output"; with batches of 5,
/// White, Cobb and Spratt 2000): cut where the squared standard error of what remains, sum of squared deviations over
/// the square of their number, is least. A cut in the second half counts as not found.
///
/// Observations must be finite and equally spaced; a remainder below 5 at the end is left out.
pub fn mser5(series: &[f64]) -> WarmUp {
    let batches: Vec<f64> = series.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    if batches.len() < LEAST_BATCHES {
        return WarmUp::TooShort;
    }
    // From the end towards the front, mean and squared deviations of the rest (Welford 1962). The last five batches
    // never stand alone: of so few the error is small by chance.
    let mut best = (f64::INFINITY, batches.len());
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for (cut, &batch) in batches.iter().enumerate().rev() {
        count += 1.0;
        let delta = batch - mean;
        mean += delta / count;
        squares += delta * (batch - mean);
        let error = squares / (count * count);
        // Of equal errors the smallest cut: it comes last here.
        if cut + BATCH < batches.len() && error <= best.0 {
            best = (error, cut);
        }
    }
    if best.1 > batches.len() / 2 { WarmUp::NotFound } else { WarmUp::Cut(best.1 * BATCH) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};

    fn noise(n: usize, seed: u64) -> Vec<f64> {
        let mut rng = rand_pcg::Pcg64::seed_from_u64(seed);
        (0..n).map(|_| rng.random::<f64>() - 0.5).collect()
    }

    #[test]
    fn a_start_up_is_cut_where_it_ends() {
        let mut series = noise(1000, 3);
        // A decaying start: halves every 20 observations from 50.
        let mut level = 50.0;
        for (i, value) in series.iter_mut().enumerate() {
            *value += level;
            level *= if i % 20 == 19 { 0.5 } else { 1.0 };
        }
        let WarmUp::Cut(cut) = mser5(&series) else { panic!("{:?}", mser5(&series)) };
        assert!((120..=260).contains(&cut), "{cut}");
    }

    #[test]
    fn a_steady_series_loses_little_and_a_constant_one_nothing() {
        let WarmUp::Cut(cut) = mser5(&noise(1000, 5)) else { panic!("a steady series has a cut") };
        assert!(cut <= 250, "{cut}");
        assert_eq!(mser5(&[7.0; 100]), WarmUp::Cut(0));
    }

    #[test]
    fn a_series_still_on_its_way_has_no_cut() {
        let growing: Vec<f64> = (0..400).map(f64::from).collect();
        assert_eq!(mser5(&growing), WarmUp::NotFound);
        assert_eq!((mser5(&[]), mser5(&[1.0; 49])), (WarmUp::TooShort, WarmUp::TooShort));
    }

    proptest! {
        #[test]
        fn the_cut_is_the_one_that_the_plain_formula_finds(series in prop::collection::vec(-100.0f64..100.0, 50..200)) {
            let batches: Vec<f64> = series.chunks_exact(5).map(|b| b.iter().sum::<f64>() / 5.0).collect();
            let error = |cut: usize| {
                let rest = &batches[cut..];
                let n = rest.len() as f64;
                let mean = rest.iter().sum::<f64>() / n;
                rest.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n * n)
            };
            let least = (0..batches.len() - 5).map(error).fold(f64::INFINITY, f64::min);
            if let WarmUp::Cut(cut) = mser5(&series) {
                prop_assert!(cut % 5 == 0 && cut / 5 <= batches.len() / 2);
                prop_assert!(error(cut / 5) <= least * (1.0 + 1e-9));
            }
        }
    }
}
