//! The lengths of a fit: what was asked and answered together, piece by piece.

use std::collections::BTreeMap;

use crate::units::SimTime;
use crate::workload::config::{PairPiece, PairSchedule, RateSchedule, WeightedPair};

/// The pairs of lengths that arrived in each piece of the rate, at most about `most` a piece. A piece without requests keeps
/// the pairs of the one before.
pub(super) fn pair_pieces(
    rate: &RateSchedule,
    times: &[u64],
    input: &[u32],
    output: &[u32],
    most: Option<usize>,
) -> PairSchedule {
    let first = times[0];
    let starts: Vec<SimTime> = rate.0.iter().map(|piece| piece.at).collect();
    let mut pieces: Vec<PairPiece> = Vec::new();
    for (i, at) in starts.iter().enumerate() {
        let end = starts.get(i + 1).map_or(u64::MAX, |end| end.as_nanos());
        let of = |instant: u64| times.partition_point(|t| t - first < instant);
        let rows = of(at.as_nanos())..of(end);
        let mut pairs: Vec<(u32, u32)> = input[rows.clone()].iter().copied().zip(output[rows].iter().copied()).collect();
        if pairs.is_empty() {
            continue;
        }
        pairs.sort_unstable();
        let pairs = match most.filter(|most| *most < pairs.len()) {
            Some(most) => thinned(&pairs, most),
            None => counted(pairs.into_iter().map(|pair| (pair, 1.0))),
        };
        // The first piece holds from the start, also if nothing came in the first pieces of the rate.
        pieces.push(PairPiece { at: if pieces.is_empty() { SimTime::ZERO } else { *at }, pairs });
    }
    PairSchedule(pieces)
}

/// Equal pairs together, in ascending order.
fn counted(pairs: impl Iterator<Item = ((u32, u32), f64)>) -> Vec<WeightedPair> {
    let mut counts: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    pairs.for_each(|(pair, weight)| *counts.entry(pair).or_default() += weight);
    let pair = |((input_tokens, output_tokens), weight)| WeightedPair { input_tokens, output_tokens, weight };
    counts.into_iter().map(pair).collect()
}

/// About `most` pairs that stand for all: cut along the prompts and each part along the answers, so that every bin holds
/// about as many, each at its mean. Pairs of the longest hundredth of either side stay as they are: tails decide.
fn thinned(pairs: &[(u32, u32)], most: usize) -> Vec<WeightedPair> {
    let tail = |side: fn(&(u32, u32)) -> u32| {
        let mut sorted: Vec<u32> = pairs.iter().map(side).collect();
        sorted.sort_unstable();
        sorted[sorted.len() * 99 / 100]
    };
    let (long_input, long_output) = (tail(|p| p.0), tail(|p| p.1));
    let (long, mut usual): (Vec<_>, Vec<_>) = pairs.iter().partition(|p| p.0 >= long_input || p.1 >= long_output);
    let mut kept: Vec<((u32, u32), f64)> = long.into_iter().map(|pair| (pair, 1.0)).collect();
    // As many cuts one way as the other.
    let cuts = most.saturating_sub(kept.len()).max(1).isqrt().max(1);
    let part = usual.len().div_ceil(cuts).max(1);
    for column in usual.chunks_mut(part) {
        column.sort_unstable_by_key(|pair| (pair.1, pair.0));
        for bin in column.chunks(column.len().div_ceil(cuts).max(1)) {
            let mean = |side: fn(&(u32, u32)) -> u32| {
                let sum: u64 = bin.iter().map(|pair| u64::from(side(pair))).sum();
                ((sum + bin.len() as u64 / 2) / bin.len() as u64) as u32
            };
            kept.push(((mean(|p| p.0), mean(|p| p.1)), bin.len() as f64));
        }
    }
    counted(kept.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::NANOS_PER_SECOND;
    use crate::workload::config::RatePiece;

    fn rate(starts: &[u64]) -> RateSchedule {
        let piece = |s: &u64| RatePiece { at: SimTime::from_nanos(s * NANOS_PER_SECOND), rate: 1.0, ramp: false };
        RateSchedule(starts.iter().map(piece).collect())
    }

    #[test]
    fn each_piece_has_the_pairs_that_came_in_it() {
        let times: Vec<u64> = [5, 5, 7, 30, 31].iter().map(|s| s * NANOS_PER_SECOND).collect();
        let schedule = pair_pieces(&rate(&[0, 10, 20]), &times, &[9, 9, 1, 4, 4], &[2, 2, 1, 6, 5], None);
        let pairs = |p: &PairPiece| p.pairs.iter().map(|p| (p.input_tokens, p.output_tokens, p.weight)).collect::<Vec<_>>();
        let found: Vec<_> = schedule.0.iter().map(|p| (p.at.as_nanos() / NANOS_PER_SECOND, pairs(p))).collect();
        // The second piece, from 15 s of the source on, has none of its own.
        assert_eq!(found, [(0, vec![(1, 1, 1.0), (9, 2, 2.0)]), (20, vec![(4, 5, 1.0), (4, 6, 1.0)])]);
    }

    #[test]
    fn thinned_pairs_keep_mean_correlation_and_tail() {
        let pairs: Vec<(u32, u32)> = (0..10_000u32).map(|i| (i + 1, 1 + (i / 2 + (i * 7_919) % 5_000))).collect();
        let mut sorted = pairs.clone();
        sorted.sort_unstable();
        let thin = thinned(&sorted, 400);
        assert!((100..=600).contains(&thin.len()), "{}", thin.len());
        let total: f64 = thin.iter().map(|p| p.weight).sum();
        assert_eq!(total, 10_000.0);
        let mean = |f: &dyn Fn(f64, f64) -> f64| {
            let thin: f64 = thin.iter().map(|p| p.weight * f(f64::from(p.input_tokens), f64::from(p.output_tokens))).sum();
            let all: f64 = pairs.iter().map(|p| f(f64::from(p.0), f64::from(p.1))).sum();
            thin / all
        };
        assert!((mean(&|i, _| i) - 1.0).abs() < 1e-3 && (mean(&|_, o| o) - 1.0).abs() < 1e-3);
        assert!((mean(&|i, o| i * o) - 1.0).abs() < 0.01, "{}", mean(&|i, o| i * o));
        assert_eq!(thin.last().map(|p| p.input_tokens), Some(10_000));
    }
}
