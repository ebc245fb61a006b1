//! How long a step takes, in exact attoseconds.

use crate::cluster::config::StepTiming;
use crate::units::Attos;

/// What one step of a rank computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepWork {
    /// Prompt (or recomputed) tokens.
    pub prefill: u64,
    /// Sequences that decode, one token each.
    pub decode: u64,
    /// Context tokens of the decoding sequences before the step.
    pub context: u64,
}

impl StepWork {
    /// Whether the rank has nothing to do.
    pub fn is_empty(&self) -> bool {
        self.prefill == 0 && self.decode == 0
    }
}

/// A step's duration as a line over a run of decode steps: `first`, then `growth` more with each further step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepLine {
    /// Duration of the first step.
    pub first: Attos,
    /// What each further step takes longer than the one before.
    pub growth: Attos,
}

/// Multiples of an amount by counts; the counts are token and sequence numbers.
fn times(amount: Attos, n: u64) -> Attos {
    amount.times(u128::from(n))
}

impl StepTiming {
    /// Duration of one step with `work`; `pool_tokens` is what the rank's KV pool holds.
    pub fn duration(&self, work: StepWork, pool_tokens: u64) -> Attos {
        let StepWork { prefill: p, decode: d, context: k } = work;
        if work.is_empty() {
            return Attos::ZERO;
        }
        match self {
            Self::SingleBase { base, prefill, prefill_squared, decode, context } => {
                *base + polynomial(p, *prefill, *prefill_squared) + times(*decode, d) + times(*context, k)
            }
            Self::TwoPart { prefill: [a0, a1, a2], decode: [d0, d1, d2] } => {
                let first = if p == 0 { Attos::ZERO } else { *a0 + polynomial(p, *a1, *a2) };
                let second = if d == 0 { Attos::ZERO } else { *d0 + times(*d1, d) + times(*d2, k) };
                first + second
            }
            Self::Mocker => mocker_pass(work, pool_tokens),
            Self::Slowed { timing, millionths } => {
                let full_speed = timing.duration(work, pool_tokens);
                Attos(full_speed.0 * u128::from(*millionths) / u128::from(crate::cluster::config::FULL_SPEED))
            }
        }
    }

    /// The durations of a run of decode-only steps that starts with `work`, where they grow along a line: each step adds
    /// one token of context per sequence. `None` for a model without that form.
    pub fn decode_line(&self, work: StepWork) -> Option<StepLine> {
        debug_assert_eq!(work.prefill, 0);
        let per_context = match self {
            Self::SingleBase { context, .. } => *context,
            Self::TwoPart { decode: [.., d2], .. } => *d2,
            Self::Mocker | Self::Slowed { .. } => return None,
        };
        Some(StepLine { first: self.duration(work, 0), growth: times(per_context, work.decode) })
    }
}

/// `linear * n + squared * n^2`.
fn polynomial(n: u64, linear: Attos, squared: Attos) -> Attos {
    times(linear, n) + squared.times(u128::from(n) * u128::from(n))
}

/// The pass time of NVIDIA's mocker (AISimulate 0.13.0), rounded to whole nanoseconds as there.
///
/// It counts a decoding sequence's context with the token it is about to write. Floats are the model's own; only
/// `+ - * /` take part, which IEEE 754 fixes to the last bit on every platform.
fn mocker_pass(work: StepWork, pool_tokens: u64) -> Attos {
    let mut ms = 0.0;
    if work.prefill > 0 {
        let t = work.prefill as f64;
        ms += 4.209989e-7 * (t * t) + 1.518344e-2 * t + 16.50142;
    }
    if work.decode > 0 {
        let share = ((work.context + work.decode) as f64 / pool_tokens as f64).min(1.0);
        ms += (-25.74 * (share * share) + 54.01 * share + 5.74).max(1.0);
    }
    Attos((ms * 1e6).round_ties_even() as u128 * u128::from(crate::units::ATTOS_PER_NANO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mocker_pass_has_the_published_times() {
        let nanos = |work| StepTiming::Mocker.duration(work, 16_384 * 64).0 / 1_000_000_000;
        let prefill = StepWork { prefill: 1024, ..StepWork::default() };
        assert_eq!(nanos(prefill), 32_490_712); // 16.50142 + 15.5478 + 0.4414 ms
        let decode = StepWork { decode: 1, context: 1024, ..StepWork::default() };
        assert_eq!(nanos(decode), 5_792_771); // p = 1025 / 1048576
        assert_eq!(nanos(StepWork::default()), 0);
    }

    #[test]
    fn parts_without_tokens_cost_nothing_and_a_single_base_is_charged_once() {
        let a = |n| Attos(n);
        let parts = StepTiming::TwoPart { prefill: [a(100), a(10), a(1)], decode: [a(1000), a(5), a(2)] };
        let work = |prefill, decode, context| StepWork { prefill, decode, context };
        assert_eq!(parts.duration(work(3, 0, 0), 1), a(100 + 30 + 9));
        assert_eq!(parts.duration(work(0, 2, 50), 1), a(1000 + 10 + 100));
        assert_eq!(parts.duration(work(3, 2, 50), 1), a(139 + 1110));
        let single = StepTiming::SingleBase { base: a(7), prefill: a(10), prefill_squared: a(1), decode: a(5), context: a(2) };
        assert_eq!(single.duration(work(3, 2, 50), 1), a(7 + 30 + 9 + 10 + 100));
        assert_eq!(single.duration(StepWork::default(), 1), a(0));
    }

    #[test]
    fn a_run_of_decode_steps_grows_along_the_line() {
        let timing = StepTiming::TwoPart { prefill: [Attos(1); 3], decode: [Attos(1000), Attos(5), Attos(2)] };
        let mut work = StepWork { prefill: 0, decode: 3, context: 40 };
        let line = timing.decode_line(work).expect("linear");
        for step in 0..10 {
            assert_eq!(timing.duration(work, 1), line.first + line.growth.times(step));
            work.context += work.decode;
        }
    }
}
