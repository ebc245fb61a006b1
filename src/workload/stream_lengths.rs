//! The lengths of a stream: drawn side by side, or as pairs that may change over time.

use super::config::{PairPiece, PairSchedule, StreamLengths, WeightedPair};
use super::error::WorkloadError;
use super::lengths::LengthPair;
use super::sampling::AliasTable;
use crate::engine::rng::SimRng;
use crate::units::SimTime;

/// [`StreamLengths`], ready to draw from.
#[derive(Clone, Debug)]
pub struct StreamSampler(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Separate(Box<LengthPair>),
    Paired(Vec<Piece>),
}

/// A piece of pairs, ready to draw from.
#[derive(Clone, Debug)]
struct Piece {
    at: SimTime,
    pairs: Vec<(u32, u32)>,
    choice: AliasTable,
}

impl StreamSampler {
    /// Prepares the lengths of a stream.
    ///
    /// # Errors
    /// If a parameter has no meaning; outputs of 0 tokens are refused, since every answer has one.
    pub fn new(lengths: &StreamLengths) -> Result<Self, WorkloadError> {
        match lengths {
            StreamLengths::Separate { input_tokens, output_tokens, correlation } => {
                let pair = LengthPair::from_parts(input_tokens, output_tokens, *correlation)?;
                Ok(Self(Kind::Separate(Box::new(pair))))
            }
            StreamLengths::Paired(schedule) => {
                check_order(schedule)?;
                schedule.0.iter().map(Piece::new).collect::<Result<_, _>>().map(|pieces| Self(Kind::Paired(pieces)))
            }
        }
    }

    /// One draw for a request of the instant `at`: (input, output) tokens.
    pub fn draw(&self, at: SimTime, rng: &mut SimRng) -> (u32, u32) {
        match &self.0 {
            Kind::Separate(pair) => pair.draw(rng),
            Kind::Paired(pieces) => {
                let piece = &pieces[pieces.partition_point(|piece| piece.at <= at).saturating_sub(1)];
                piece.pairs[piece.choice.draw(rng)]
            }
        }
    }
}

impl Piece {
    fn new(piece: &PairPiece) -> Result<Self, WorkloadError> {
        let bad = |problem: &str| WorkloadError::parameter("lengths.pairs", problem, "each pair is [input, output] tokens");
        if piece.pairs.iter().any(|pair| pair.output_tokens == 0) {
            return Err(bad("`0` tokens are no output: expected 1 or more"));
        }
        let weights: Vec<f64> = piece.pairs.iter().map(|pair| pair.weight).collect();
        let choice = AliasTable::new(&weights).ok_or_else(|| bad("expected at least one pair with weight > 0"))?;
        let pairs = piece.pairs.iter().map(|pair| (pair.input_tokens, pair.output_tokens)).collect();
        Ok(Self { at: piece.at, pairs, choice })
    }
}

fn check_order(schedule: &PairSchedule) -> Result<(), WorkloadError> {
    let bad = |problem: String| WorkloadError::parameter("lengths.pieces", problem, "order the pieces by time, from `0s` on");
    if schedule.0.first().is_none_or(|first| first.at != SimTime::ZERO) {
        return Err(bad("expected a first piece at `0s`".into()));
    }
    match schedule.0.windows(2).find(|two| two[1].at <= two[0].at) {
        Some(two) => Err(bad(format!("a piece at `{}` follows one at `{}`: expected later and later", two[1].at, two[0].at))),
        None => Ok(()),
    }
}

impl StreamLengths {
    /// Mean prompt and output, tokens, before truncation and rounding; a side without a mean is infinite. Pieces count alike.
    pub fn means(&self) -> (f64, f64) {
        match self {
            Self::Separate { input_tokens, output_tokens, .. } => (input_tokens.mean(), output_tokens.mean()),
            Self::Paired(schedule) => {
                let share = 1.0 / schedule.0.len() as f64;
                let means = schedule.0.iter().map(PairPiece::means);
                means.fold((0.0, 0.0), |sum, mean| (sum.0 + mean.0 * share, sum.1 + mean.1 * share))
            }
        }
    }
}

impl PairPiece {
    fn means(&self) -> (f64, f64) {
        let weights: f64 = self.pairs.iter().map(|pair| pair.weight).sum();
        let mean = |side: fn(&WeightedPair) -> u32| {
            self.pairs.iter().map(|pair| f64::from(side(pair)) * pair.weight).sum::<f64>() / weights
        };
        (mean(|pair| pair.input_tokens), mean(|pair| pair.output_tokens))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rng::Streams;
    use crate::units::NANOS_PER_SECOND;

    /// (prompt, answer, weight) of the pairs of a piece.
    type Pairs<'a> = &'a [(u32, u32, f64)];

    fn schedule(pieces: &[(u64, Pairs<'_>)]) -> StreamLengths {
        let pair =
            |&(input_tokens, output_tokens, weight): &(u32, u32, f64)| WeightedPair { input_tokens, output_tokens, weight };
        let piece = |&(s, pairs): &(u64, Pairs<'_>)| PairPiece {
            at: SimTime::from_nanos(s * NANOS_PER_SECOND),
            pairs: pairs.iter().map(pair).collect(),
        };
        StreamLengths::Paired(PairSchedule(pieces.iter().map(piece).collect()))
    }

    #[test]
    fn pairs_stay_together_by_weight_and_change_at_their_instant() {
        let sampler = StreamSampler::new(&schedule(&[(0, &[(10, 100, 3.0), (20, 1, 1.0)]), (5, &[(7, 8, 1.0)])])).unwrap();
        let mut rng = Streams::new(1).stream("lengths", 0);
        let early = SimTime::from_nanos(5 * NANOS_PER_SECOND - 1);
        let draws: Vec<(u32, u32)> = (0..40_000).map(|_| sampler.draw(early, &mut rng)).collect();
        let first = draws.iter().filter(|draw| **draw == (10, 100)).count();
        assert!(draws.iter().all(|draw| [(10, 100), (20, 1)].contains(draw)));
        // 30,000 of 40,000; four standard deviations are 346.
        assert!(first.abs_diff(30_000) < 346, "{first}");
        assert_eq!(sampler.draw(SimTime::from_nanos(5 * NANOS_PER_SECOND), &mut rng), (7, 8));
    }

    #[test]
    fn means_weigh_pairs_and_count_pieces_alike() {
        let lengths = schedule(&[(0, &[(10, 100, 3.0), (20, 20, 1.0)]), (5, &[(27, 8, 1.0)])]);
        assert_eq!(lengths.means(), ((12.5 + 27.0) / 2.0, (80.0 + 8.0) / 2.0));
    }

    #[test]
    fn pairs_without_meaning_are_refused() {
        for bad in [
            schedule(&[]),
            schedule(&[(1, &[(1, 1, 1.0)])]),
            schedule(&[(0, &[])]),
            schedule(&[(0, &[(1, 0, 1.0)])]),
            schedule(&[(0, &[(1, 1, 0.0)])]),
            schedule(&[(0, &[(1, 1, 1.0)]), (0, &[(1, 1, 1.0)])]),
        ] {
            let message = StreamSampler::new(&bad).unwrap_err().to_string();
            assert!(message.contains("expected") && message.contains("\n  hint: "), "{message}");
        }
    }
}
