//! A rate over time and its integral, walked forward without loss.

use super::config::RateSchedule;
use super::error::WorkloadError;
use crate::units::{NANOS_PER_SECOND, SimTime};

/// Highest rate of one stream, requests per second: one each nanosecond.
const HIGHEST: f64 = 1e9;
/// Lowest rate above zero: one request in 30 years.
const LOWEST: f64 = 1e-9;

/// One piece of a schedule, with its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    /// First nanosecond.
    pub(super) start: u64,
    /// First nanosecond after it; `u64::MAX` for the last piece.
    pub(super) end: u64,
    /// Requests per second at the start.
    pub(super) rate: f64,
    /// Requests per second at the end; the same unless it is a ramp.
    pub(super) end_rate: f64,
}

impl Piece {
    /// The rate changes within the piece.
    pub(super) fn is_ramp(&self) -> bool {
        self.rate != self.end_rate
    }
}

/// Checks a schedule and gives its pieces their ends.
///
/// # Errors
/// If it is empty, does not start at 0, is not in order, has a rate out of range, or ramps to nowhere.
pub(super) fn pieces(schedule: &RateSchedule) -> Result<Vec<Piece>, WorkloadError> {
    let bad = |problem: String, hint: &str| WorkloadError::parameter("rate", problem, hint);
    let steps = &schedule.0;
    if steps.first().is_none_or(|first| first.at != SimTime::ZERO) {
        return Err(bad("expected a first piece at `0s`".into(), "a stream that starts later has rate 0 first"));
    }
    let mut pieces = Vec::with_capacity(steps.len());
    for (i, step) in steps.iter().enumerate() {
        if step.rate != 0.0 && !(LOWEST..=HIGHEST).contains(&step.rate) {
            let problem = format!("`{}` is no rate: expected 0, or 1e-9 to 1e9 requests per second", step.rate);
            return Err(bad(problem, "rates are requests per second of the whole stream"));
        }
        let next = steps.get(i + 1);
        if let Some(next) = next.filter(|next| next.at <= step.at) {
            let problem = format!("a piece at `{}` follows one at `{}`: expected later and later", next.at, step.at);
            return Err(bad(problem, "order the pieces by time"));
        }
        if step.ramp && next.is_none() {
            return Err(bad(format!("the ramp at `{}` has no next piece to end at", step.at), "add the piece that it leads to"));
        }
        pieces.push(Piece {
            start: step.at.as_nanos(),
            end: next.map_or(u64::MAX, |next| next.at.as_nanos()),
            rate: step.rate,
            end_rate: next.filter(|_| step.ramp).map_or(step.rate, |next| next.rate),
        });
    }
    Ok(pieces)
}

/// A position in time that moves on by amounts of *operational* time: the integral of the rate, in requests.
///
/// The instant is kept as whole nanoseconds plus a fraction below one, so that no error adds up over a long run.
#[derive(Clone, Debug)]
pub(super) struct RateWalk {
    pieces: Vec<Piece>,
    current: usize,
    nanos: u64,
    fraction: f64,
}

impl RateWalk {
    pub(super) fn new(schedule: &RateSchedule) -> Result<Self, WorkloadError> {
        Ok(Self { pieces: pieces(schedule)?, current: 0, nanos: 0, fraction: 0.0 })
    }

    /// Moves on by `nanos`, at most to the end of the clock.
    fn step(&mut self, nanos: f64) {
        let sum = self.fraction + nanos;
        // A cast from float saturates.
        let whole = sum as u64;
        self.nanos = self.nanos.saturating_add(whole);
        self.fraction = if whole == u64::MAX { 0.0 } else { sum - whole as f64 };
    }

    /// Moves on until `requests` more have been integrated, and returns the nanosecond; `None` if the rate is 0 from
    /// some instant on and it never comes.
    pub(super) fn advance(&mut self, mut requests: f64) -> Option<SimTime> {
        loop {
            let piece = self.pieces[self.current];
            let left = (piece.end - self.nanos) as f64 - self.fraction;
            let (needed, available) =
                if piece.is_ramp() { self.along_ramp(&piece, requests, left) } else { along_step(&piece, requests, left) };
            if needed < left {
                self.step(needed);
                return (self.nanos < u64::MAX).then_some(SimTime::from_nanos(self.nanos));
            }
            if self.current + 1 == self.pieces.len() {
                return None;
            }
            requests = (requests - available).max(0.0);
            self.current += 1;
            (self.nanos, self.fraction) = (piece.end, 0.0);
        }
    }

    /// On a ramp: nanoseconds until `requests` are integrated, and what the rest of the piece integrates to.
    ///
    /// With rate r and slope s now: r d + s d^2/2 = requests, solved as d = 2 requests / (r + sqrt(r^2 + 2 s requests)).
    fn along_ramp(&self, piece: &Piece, requests: f64, left: f64) -> (f64, f64) {
        let second = NANOS_PER_SECOND as f64;
        let slope = (piece.end_rate - piece.rate) / (piece.end - piece.start) as f64 / second;
        let done = (self.nanos - piece.start) as f64 + self.fraction;
        let rate = (piece.rate / second + slope * done).max(0.0);
        let square = rate * rate + 2.0 * slope * requests;
        let available = (rate + piece.end_rate / second) / 2.0 * left;
        if square < 0.0 || requests >= available {
            return (f64::INFINITY, available);
        }
        let divisor = rate + square.sqrt();
        (if requests > 0.0 { 2.0 * requests / divisor } else { 0.0 }, available)
    }
}

/// At a steady rate: nanoseconds until `requests` are integrated, and what `left` nanoseconds integrate to.
fn along_step(piece: &Piece, requests: f64, left: f64) -> (f64, f64) {
    if piece.rate == 0.0 {
        return (f64::INFINITY, 0.0);
    }
    let second = NANOS_PER_SECOND as f64;
    (requests * second / piece.rate, left * piece.rate / second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::config::RatePiece;

    fn schedule(pieces: &[(u64, f64, bool)]) -> RateSchedule {
        RateSchedule(
            pieces
                .iter()
                .map(|&(s, rate, ramp)| RatePiece { at: SimTime::from_nanos(s * NANOS_PER_SECOND), rate, ramp })
                .collect(),
        )
    }

    #[test]
    fn a_step_is_met_at_its_instant() {
        let mut walk = RateWalk::new(&schedule(&[(0, 2.0, false), (10, 0.0, false), (20, 4.0, false)])).unwrap();
        assert_eq!(walk.advance(1.0), Some(SimTime::from_nanos(500_000_000)));
        // 19 requests are left before the pause; the next two come at 4/s after it.
        assert_eq!(walk.advance(21.0), Some(SimTime::from_nanos(20_500_000_000)));
    }

    #[test]
    fn a_ramp_integrates_to_its_triangle() {
        // 0 to 10/s over 10 s: t^2/2 requests.
        let mut walk = RateWalk::new(&schedule(&[(0, 0.0, true), (10, 10.0, true), (20, 0.0, false)])).unwrap();
        assert_eq!(walk.advance(8.0).map(|t| t.as_nanos().abs_diff(4_000_000_000) <= 1), Some(true));
        assert_eq!(walk.advance(42.0).map(|t| t.as_nanos().abs_diff(10_000_000_000) <= 1), Some(true));
        let last = walk.advance(49.99).unwrap().as_secs_f64();
        assert!((20.0 - last - 0.02_f64.sqrt()).abs() < 1e-6, "{last}");
        assert_eq!(walk.advance(1.0), None);
    }

    #[test]
    fn no_error_adds_up_over_a_long_run() {
        let mut walk = RateWalk::new(&schedule(&[(0, 3.0, false)])).unwrap();
        let mut last = SimTime::ZERO;
        for _ in 0..3_000_000 {
            last = walk.advance(1.0).unwrap();
        }
        assert!(last.as_nanos().abs_diff(1_000_000 * NANOS_PER_SECOND) <= 1, "{last}");
    }

    #[test]
    fn schedules_without_meaning_are_refused() {
        for bad in [
            schedule(&[]),
            schedule(&[(1, 2.0, false)]),
            schedule(&[(0, -1.0, false)]),
            schedule(&[(0, f64::NAN, false)]),
            schedule(&[(0, 1e300, false)]),
            schedule(&[(0, 1.0, false), (0, 2.0, false)]),
            schedule(&[(0, 1.0, true)]),
        ] {
            assert!(RateWalk::new(&bad).unwrap_err().to_string().starts_with("rate: "), "{bad:?}");
        }
    }
}
