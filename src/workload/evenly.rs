//! Evenly spaced arrivals, exact: the k-th at the instant where the integral of the rate passes k.

use super::config::RateSchedule;
use super::error::WorkloadError;
use super::rates::{Piece, pieces};
use crate::units::{NANOS_PER_SECOND, SimTime};

/// Arrivals at a steady rate, or several one after the other.
///
/// Rates are taken by their shortest decimal text (`0.1` is one tenth), and a steady piece is walked in whole numbers:
/// the k-th arrival of one rate is k/rate, rounded to the nearest nanosecond, however large k. Along a ramp the square
/// root of one float per arrival is rounded to the nearest nanosecond; what a ramp integrates to is exact again.
#[derive(Clone, Debug)]
pub(super) struct EvenWalk {
    pieces: Vec<Piece>,
    /// Twice the rate of each piece at its start and at its end, in multiples of 10^-decimals.
    rates: Vec<(u128, u128)>,
    /// One request in the units of rate times nanoseconds.
    unit: u128,
    current: usize,
    cursor: Cursor,
}

#[derive(Clone, Debug)]
enum Cursor {
    /// The next arrival is at `nanos` and `rest / rate` of a nanosecond.
    Steady { nanos: u64, rest: u128, rate: u128, gap: u64, gap_rest: u128 },
    /// The next arrival is where the ramp has integrated to `due`, of `total` in all.
    Ramp { due: u128, total: u128 },
    /// No arrival is left.
    Done,
}

/// The shortest decimal digits of a rate and the power of ten to multiply them with.
fn decimal(rate: f64) -> (u128, i32) {
    let text = format!("{rate:e}");
    let (mantissa, exponent) = text.split_once('e').expect("the e format has an exponent");
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let exponent: i32 = exponent.parse().expect("the e format has a decimal exponent");
    (digits.parse().expect("at most 17 digits"), exponent - (digits.len() as i32 - 1))
}

impl EvenWalk {
    pub(super) fn new(schedule: &RateSchedule) -> Result<Self, WorkloadError> {
        let pieces = pieces(schedule)?;
        let all = || pieces.iter().flat_map(|p| [p.rate, p.end_rate]);
        let decimals = all().map(|r| -decimal(r).1).max().unwrap_or(0).max(0);
        // Both ends are in range (pieces() has checked), so that at most 26 decimals and 36 digits come together.
        let scaled = |rate: f64| {
            let (digits, power) = decimal(rate);
            2 * digits * 10u128.pow((power + decimals) as u32)
        };
        let rates: Vec<_> = pieces.iter().map(|p| (scaled(p.rate), scaled(p.end_rate))).collect();
        let unit = 2 * u128::from(NANOS_PER_SECOND) * 10u128.pow(decimals as u32);
        for (piece, rate) in pieces.iter().zip(&rates).filter(|(p, _)| p.end != u64::MAX) {
            if rate.0.max(rate.1).checked_mul(2 * u128::from(piece.end - piece.start)).is_none() {
                let problem = "the digits of the rates differ too much to add them up exactly";
                return Err(WorkloadError::parameter("rate", problem, "round the rates to fewer digits"));
            }
        }
        let mut walk = Self { pieces, rates, unit, current: 0, cursor: Cursor::Done };
        walk.enter(0, 0);
        Ok(walk)
    }

    /// Enters piece `index` or the first later one that has an arrival, `due` units of the integral from its start.
    fn enter(&mut self, mut index: usize, mut due: u128) {
        while let Some(piece) = self.pieces.get(index) {
            let (rate, end_rate) = self.rates[index];
            let length = u128::from(piece.end - piece.start);
            self.current = index;
            index += 1;
            if piece.is_ramp() {
                // Both rates are doubled, so that their mean is whole.
                let total = (rate + end_rate) / 2 * length;
                if due < total {
                    self.cursor = Cursor::Ramp { due, total };
                    return;
                }
                due -= total;
            } else if let Some(needed) = due.checked_div(rate) {
                if needed < length {
                    let nanos = piece.start + needed as u64;
                    let gap = u64::try_from(self.unit / rate).unwrap_or(u64::MAX);
                    self.cursor = Cursor::Steady { nanos, rest: due % rate, rate, gap, gap_rest: self.unit % rate };
                    return;
                }
                due -= rate * length;
            }
        }
        self.cursor = Cursor::Done;
    }

    /// The next arrival; `None` if there is none on the clock.
    pub(super) fn next(&mut self) -> Option<SimTime> {
        let unit = self.unit;
        loop {
            let piece = self.pieces[self.current];
            match &mut self.cursor {
                Cursor::Done => return None,
                Cursor::Steady { nanos, rest, rate, gap, gap_rest } => {
                    if *nanos >= piece.end {
                        let due = u128::from(*nanos - piece.end) * *rate + *rest;
                        self.enter(self.current + 1, due);
                        continue;
                    }
                    let nearest = *nanos + u64::from(*rest * 2 >= *rate);
                    *nanos = nanos.saturating_add(*gap);
                    *rest += *gap_rest;
                    if *rest >= *rate {
                        *nanos = nanos.saturating_add(1);
                        *rest -= *rate;
                    }
                    return Some(SimTime::from_nanos(nearest));
                }
                Cursor::Ramp { due, total } => {
                    if *due >= *total {
                        let due = *due - *total;
                        self.enter(self.current + 1, due);
                        continue;
                    }
                    let requests = *due as f64 / unit as f64;
                    *due += unit;
                    return Some(SimTime::from_nanos(along_ramp(&piece, requests)));
                }
            }
        }
    }
}

/// The nanosecond at which a ramp has integrated to `requests`: 2x / (r + sqrt(r^2 + 2 s x)) from its start.
fn along_ramp(piece: &Piece, requests: f64) -> u64 {
    let length = piece.end - piece.start;
    let second = NANOS_PER_SECOND as f64;
    let rate = piece.rate / second;
    let slope = (piece.end_rate - piece.rate) / second / length as f64;
    let root = (rate * rate + 2.0 * slope * requests).max(0.0).sqrt();
    let nanos = if requests > 0.0 { 2.0 * requests / (rate + root) } else { 0.0 };
    piece.start + (nanos.round() as u64).min(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::config::RatePiece;
    use proptest::prelude::*;

    fn walk(pieces: &[(u64, f64, bool)]) -> EvenWalk {
        let piece = |&(ms, rate, ramp): &(u64, f64, bool)| RatePiece { at: SimTime::from_nanos(ms * 1_000_000), rate, ramp };
        EvenWalk::new(&RateSchedule(pieces.iter().map(piece).collect())).unwrap()
    }

    fn first(pieces: &[(u64, f64, bool)], n: usize) -> Vec<u64> {
        let mut walk = walk(pieces);
        (0..n).map_while(|_| walk.next()).map(SimTime::as_nanos).collect()
    }

    #[test]
    fn one_rate_puts_the_k_th_request_at_k_over_rate_to_the_nearest_nanosecond() {
        for (rate, millis_of_request) in
            [(92.0, None), (0.1, Some(10_000_000_000u128)), (10.0, Some(100_000_000)), (1e9, Some(1))]
        {
            let mut walk = walk(&[(0, rate, false)]);
            for k in 0..100_000u128 {
                // For 92/s: round(k * 10^9 / 92).
                let expected = millis_of_request.map_or((2 * k * 1_000_000_000 + 92) / 184, |gap| k * gap);
                assert_eq!(u128::from(walk.next().unwrap().as_nanos()), expected, "{rate}: {k}");
            }
        }
    }

    #[test]
    fn a_step_keeps_the_fraction_of_a_request_that_is_due() {
        // 1/s for 1.5 s leaves half a request, which takes 50 ms at 10/s.
        assert_eq!(first(&[(0, 1.0, false), (1_500, 10.0, false)], 4), [0, 1_000_000_000, 1_550_000_000, 1_650_000_000]);
    }

    #[test]
    fn a_pause_moves_an_arrival_to_its_end() {
        let times =
            first(&[(0, 0.0, false), (1_000, 2.0, false), (2_000, 0.0, false), (5_000, 1.0, false), (6_000, 0.0, false)], 9);
        assert_eq!(times, [1_000_000_000, 1_500_000_000, 5_000_000_000]);
    }

    #[test]
    fn a_ramp_places_requests_where_its_integral_passes_them() {
        // 0 to 4/s over 4 s: t^2/2, so k at sqrt(2k), 8 in all; then 4/s.
        let times = first(&[(0, 0.0, true), (4_000, 4.0, false)], 10);
        let root = |k: f64| ((2.0 * k).sqrt() * 1e9).round() as u64;
        assert_eq!(times[..8], [0, root(1.0), root(2.0), root(3.0), root(4.0), root(5.0), root(6.0), root(7.0)]);
        assert_eq!(times[8..], [4_000_000_000, 4_250_000_000]);
    }

    #[test]
    fn digits_that_cannot_be_added_up_are_refused() {
        let far = |ms: u64| SimTime::from_nanos(ms * 1_000_000);
        let pieces = vec![
            RatePiece { at: far(0), rate: 1.234_567_890_123_456_7e-9, ramp: false },
            RatePiece { at: far(1), rate: 1e9, ramp: false },
            RatePiece { at: far(10_000_000_000), rate: 1.0, ramp: false },
        ];
        assert!(EvenWalk::new(&RateSchedule(pieces)).unwrap_err().to_string().contains("fewer digits"));
    }

    proptest! {
        #[test]
        fn arrivals_never_go_back_and_count_the_integral(rates in prop::collection::vec((0.0f64..50.0, any::<bool>()), 2..6)) {
            let last = rates.len() - 1;
            let pieces: Vec<_> = rates
                .iter()
                .enumerate()
                .map(|(i, &(rate, ramp))| (i as u64 * 1_000, if i == last { 0.0 } else { (rate * 100.0).round() / 100.0 }, ramp && i < last))
                .collect();
            let integral: f64 =
                pieces.windows(2).map(|w| if w[0].2 { (w[0].1 + w[1].1) / 2.0 } else { w[0].1 }).sum();
            let times = first(&pieces, 10_000);
            prop_assert!(times.is_sorted());
            // k = 0, 1, ... below the integral (a float here: let it be off by one at a whole number).
            prop_assert!((times.len() as f64 - integral.ceil()).abs() <= 1.0, "{} of {integral}", times.len());
        }
    }
}
