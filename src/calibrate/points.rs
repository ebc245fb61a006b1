//! Prefill and decode times by themselves, and the two-part step time that fits them.

use super::error::CalibrationError;
use super::goodness::percentile;
use super::least_squares::non_negative;
use super::outcome::{Doubt, Range};
use crate::cluster::config::StepTiming;
use crate::units::Attos;

/// Points below which three coefficients cannot be told.
const LEAST_PREFILL: usize = 4;
const LEAST_DECODE: usize = 6;
/// Medians outside these seconds speak for another unit.
const PLAUSIBLE_DECODE: (f64, f64) = (2e-4, 2.0);
const PLAUSIBLE_PREFILL: (f64, f64) = (1e-3, 600.0);
/// A point off by more is an outlier worth a word.
const FAR_OFF: f64 = 0.25;
/// Digits of a coefficient.
const DIGITS: usize = 4;

/// The time of a prefill alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrefillPoint {
    /// Prompt tokens computed together.
    pub tokens: f64,
    /// Seconds.
    pub seconds: f64,
}

/// The time of a decode step alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecodePoint {
    /// Sequences that decode.
    pub batch: f64,
    /// Their context tokens, all together.
    pub context: f64,
    /// Seconds.
    pub seconds: f64,
}

impl DecodePoint {
    /// Mean context of a sequence, tokens.
    pub fn mean_context(&self) -> f64 {
        self.context / self.batch
    }
}

/// Two parts fitted to points, and how well.
#[derive(Clone, Debug, PartialEq)]
pub struct PointFit {
    /// Milliseconds: constant, per token, per token squared.
    pub prefill: [f64; 3],
    /// Milliseconds: constant, per sequence, per context token.
    pub decode: [f64; 3],
    /// Prefill: measured and fitted seconds, point by point.
    pub prefill_pairs: Vec<(f64, f64)>,
    /// Decode: the same.
    pub decode_pairs: Vec<(f64, f64)>,
    /// What the data reach up to.
    pub range: Range,
    /// What the data leave open.
    pub doubts: Vec<Doubt>,
}

impl PointFit {
    /// The step times.
    pub fn timing(&self) -> StepTiming {
        let exact = |ms: &f64| {
            // Scaled as a decimal, so that 18.55 ms is exactly that.
            let text = format!("{ms:e}");
            let (digits, exponent) = text.split_once('e').expect("the e format has an exponent");
            let exponent: i32 = exponent.parse().expect("the e format has a decimal exponent");
            let seconds: f64 = format!("{digits}e{}", exponent - 3).parse().expect("a float");
            Attos::from_secs_f64(seconds).unwrap_or(Attos::ZERO)
        };
        StepTiming::TwoPart { prefill: self.prefill.each_ref().map(exact), decode: self.decode.each_ref().map(exact) }
    }

    /// Quantile `p` of the absolute relative errors of pairs.
    pub fn error(pairs: &[(f64, f64)], p: f64) -> f64 {
        let mut errors: Vec<f64> = pairs.iter().map(|(measured, fitted)| (fitted / measured - 1.0).abs()).collect();
        errors.sort_by(f64::total_cmp);
        percentile(&errors, p).unwrap_or(0.0)
    }
}

/// Fits both parts by least squares of relative errors, no coefficient negative, so that short steps count as much as long ones.
/// `factor` multiplies all times first.
///
/// # Errors
/// Too few points, points that do not vary, or times that seem to be in another unit.
pub fn fit_points(prefill: &[PrefillPoint], decode: &[DecodePoint], factor: f64) -> Result<PointFit, CalibrationError> {
    check(prefill, decode)?;
    let prefill_row = |p: &PrefillPoint| [1.0, p.tokens, p.tokens * p.tokens];
    let decode_row = |d: &DecodePoint| [1.0, d.batch, d.context];
    let a = relative(prefill.iter().map(|p| (prefill_row(p), p.seconds * 1e3 * factor)));
    let d = relative(decode.iter().map(|p| (decode_row(p), p.seconds * 1e3 * factor)));
    let value = |row: [f64; 3], x: &[f64; 3]| row.iter().zip(x).map(|(r, x)| r * x).sum::<f64>() / 1e3;
    let prefill_pairs: Vec<(f64, f64)> = prefill.iter().map(|p| (p.seconds * factor, value(prefill_row(p), &a))).collect();
    let decode_pairs: Vec<(f64, f64)> = decode.iter().map(|p| (p.seconds * factor, value(decode_row(p), &d))).collect();
    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max) as u64;
    let range = Range {
        prefill_tokens: most(&mut prefill.iter().map(|p| p.tokens)),
        decoding: most(&mut decode.iter().map(|p| p.batch)),
        context_tokens: most(&mut decode.iter().map(|p| p.context)),
    };
    let doubts = doubts(&a, &d, decode, &decode_pairs);
    Ok(PointFit { prefill: a, decode: d, prefill_pairs, decode_pairs, range, doubts })
}

fn relative(points: impl Iterator<Item = ([f64; 3], f64)>) -> [f64; 3] {
    let rows: Vec<[f64; 3]> = points.map(|(row, ms)| row.map(|v| v / ms)).collect();
    let wanted = vec![1.0; rows.len()];
    non_negative(&rows, &wanted, [true; 3]).map(|c| format!("{c:.*e}", DIGITS - 1).parse().expect("the e format is a float"))
}

fn check(prefill: &[PrefillPoint], decode: &[DecodePoint]) -> Result<(), CalibrationError> {
    let mut reasons = Vec::new();
    if prefill.len() < LEAST_PREFILL {
        reasons.push(format!("{} prefill points: expected at least {LEAST_PREFILL}", prefill.len()));
    }
    if decode.len() < LEAST_DECODE {
        reasons.push(format!("{} decode points: expected at least {LEAST_DECODE}", decode.len()));
    }
    let spread =
        |values: &mut dyn Iterator<Item = f64>| values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    for (what, (low, high)) in [
        ("prompt tokens of the prefill points", spread(&mut prefill.iter().map(|p| p.tokens))),
        ("batch of the decode points", spread(&mut decode.iter().map(|d| d.batch))),
        ("context of the decode points", spread(&mut decode.iter().map(DecodePoint::mean_context))),
    ] {
        if high > 0.0 && high < 1.5 * low {
            reasons
                .push(format!("the {what} hardly varies ({low:.0} to {high:.0}): its cost cannot be told from the fixed cost"));
        }
    }
    let median = |values: Vec<f64>| {
        let mut values = values;
        values.sort_by(f64::total_cmp);
        percentile(&values, 0.5)
    };
    for (what, seconds, (low, high)) in [
        ("prefill", median(prefill.iter().map(|p| p.seconds).collect()), PLAUSIBLE_PREFILL),
        ("decode", median(decode.iter().map(|d| d.seconds).collect()), PLAUSIBLE_DECODE),
    ] {
        if let Some(seconds) = seconds.filter(|s| !(low..=high).contains(s)) {
            reasons.push(format!(
                "the median {what} time would be {seconds:.3e} s: expected {low} to {high} s; is the unit right (`--time-unit`)?"
            ));
        }
    }
    if reasons.is_empty() {
        return Ok(());
    }
    let hint = "measure prefills of several lengths, and decode steps over a grid of batch and context".to_owned();
    Err(CalibrationError::Untellable { reasons, hint })
}

fn doubts(prefill: &[f64; 3], decode: &[f64; 3], points: &[DecodePoint], pairs: &[(f64, f64)]) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let names = ["a fixed cost", "tokens or sequences", "tokens squared or context"];
    for (part, coefficients) in [("prefill", prefill), ("decode", decode)] {
        for (_, name) in coefficients.iter().zip(names).filter(|(c, _)| **c <= 0.0) {
            doubts.push(Doubt::new("coefficient_zero", format!("the {part} part has nothing left for {name}")));
        }
    }
    let far: Vec<&DecodePoint> = points
        .iter()
        .zip(pairs)
        .filter(|(_, (measured, fitted))| (fitted / measured - 1.0).abs() > FAR_OFF)
        .map(|(p, _)| p)
        .collect();
    if !far.is_empty() {
        let (least, most) =
            far.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), p| (low.min(p.mean_context()), high.max(p.mean_context())));
        doubts.push(Doubt::new(
            "points_far_off",
            format!(
                "{} of {} decode points are more than {:.0} % off, at contexts of {least:.0} to {most:.0} tokens; `--min-context` \
                 leaves short contexts out",
                far.len(),
                points.len(),
                FAR_OFF * 100.0
            ),
        ));
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> (Vec<PrefillPoint>, Vec<DecodePoint>) {
        let prefill = (1..=8).map(|i| f64::from(i) * 512.0);
        let prefill = prefill.map(|t| PrefillPoint { tokens: t, seconds: (10.0 + 0.02 * t + 1e-6 * t * t) / 1e3 }).collect();
        let batches = [1.0, 4.0, 16.0, 64.0];
        let decode = batches.iter().flat_map(|b| [512.0, 2048.0, 8192.0].map(|c| (*b, b * c)));
        let decode =
            decode.map(|(b, k)| DecodePoint { batch: b, context: k, seconds: (5.0 + 0.03 * b + 4e-5 * k) / 1e3 }).collect();
        (prefill, decode)
    }

    #[test]
    fn known_coefficients_come_back_exactly_as_decimals() {
        let (prefill, decode) = grid();
        let fit = fit_points(&prefill, &decode, 1.0).unwrap();
        assert_eq!((fit.prefill, fit.decode), ([10.0, 0.02, 1e-6], [5.0, 0.03, 4e-5]));
        let StepTiming::TwoPart { prefill, .. } = fit.timing() else { panic!("two parts") };
        assert_eq!(prefill.map(|a| a.0), [10_000_000_000_000_000, 20_000_000_000_000, 1_000_000_000]);
        assert_eq!((fit.range.prefill_tokens, fit.range.decoding, fit.range.context_tokens), (4096, 64, 524_288));
        assert!(fit.doubts.is_empty() && PointFit::error(&fit.decode_pairs, 1.0) < 1e-9);
    }

    #[test]
    fn what_cannot_be_told_is_said_all_at_once() {
        let (prefill, mut decode) = grid();
        decode.retain(|d| d.batch == 1.0);
        decode.iter_mut().for_each(|d| d.seconds *= 1e6);
        insta::assert_snapshot!(fit_points(&prefill[..2], &decode, 1.0).unwrap_err(), @r"
    2 prefill points: expected at least 4
    3 decode points: expected at least 6
    the batch of the decode points hardly varies (1 to 1): its cost cannot be told from the fixed cost
    the median decode time would be 5.112e3 s: expected 0.0002 to 2 s; is the unit right (`--time-unit`)?
      hint: measure prefills of several lengths, and decode steps over a grid of batch and context
    ");
    }

    #[test]
    fn a_factor_scales_every_coefficient() {
        let (prefill, decode) = grid();
        let fit = fit_points(&prefill, &decode, 1.1).unwrap();
        assert_eq!(fit.decode, [5.5, 0.033, 4.4e-5]);
    }
}
