//! Simulated time and its parts: parsing, arithmetic and printing in one place.
//!
//! The event clock is a whole number of nanoseconds ([`SimTime`], differences are [`Span`]). Step times of a rank are
//! whole numbers of attoseconds ([`Attos`]), so that coefficients such as 0.4209989 ns per token squared are exact;
//! a busy rank carries an [`ExactTime`] and an event happens at its floor in nanoseconds. No float takes part, so
//! no rounding can decide which of two events comes first.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// Nanoseconds in a second.
pub const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Attoseconds in a nanosecond.
pub const ATTOS_PER_NANO: u64 = 1_000_000_000;

/// An instant of the simulated clock, in nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(u64);

/// A length of simulated time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl SimTime {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than any event of any run: a run is bounded to less than this (584 years).
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for reports only: never compare or order by it.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// The span from `earlier` to this instant.
    ///
    /// # Panics
    /// If `earlier` is later than this instant: simulated time never runs backwards.
    pub fn since(self, earlier: Self) -> Span {
        Span(self.0.checked_sub(earlier.0).expect("time never runs backwards"))
    }

    /// This instant plus `span`, or [`SimTime::NEVER`] where the clock cannot hold it.
    pub const fn saturating_add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span the clock can hold (584 years).
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * NANOS_PER_SECOND)
    }

    /// The span nearest to `secs` seconds; `None` if negative, not finite or beyond the clock.
    pub fn from_secs_f64(secs: f64) -> Option<Self> {
        let nanos = secs * NANOS_PER_SECOND as f64;
        // 2^64 as a float: the first value the clock cannot hold.
        (0.0..18_446_744_073_709_551_616.0).contains(&nanos).then(|| Self(nanos.round() as u64))
    }

    /// Length in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Length in seconds, for reports and for the float arithmetic of distributions.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// Whether the span is empty.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The span `n` times over, or the longest one the clock can hold.
    pub const fn saturating_mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl Add<Span> for SimTime {
    type Output = SimTime;
    fn add(self, span: Span) -> SimTime {
        SimTime(self.0.checked_add(span.0).expect("runs are bounded far below the end of the clock"))
    }
}

impl AddAssign<Span> for SimTime {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for SimTime {
    type Output = SimTime;
    fn sub(self, span: Span) -> SimTime {
        SimTime(self.0.checked_sub(span.0).expect("time starts at zero"))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.checked_add(other.0).expect("spans are bounded far below the end of the clock"))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Span>>(iter: I) -> Span {
        iter.fold(Span::ZERO, Add::add)
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

/// Prints the span exactly, in the largest unit that leaves no fraction or in seconds: `250ms`, `1.5s`, `10m`, `0s`.
/// The text parses back to the same span.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 3] = [("h", 3600 * NANOS_PER_SECOND), ("m", 60 * NANOS_PER_SECOND), ("s", NANOS_PER_SECOND)];
        let n = self.0;
        if n == 0 {
            return f.pad("0s");
        }
        for (unit, size) in UNITS {
            if n.is_multiple_of(size) {
                return f.pad(&format!("{}{unit}", n / size));
            }
        }
        let (unit, size) = match n {
            0..1_000 => ("ns", 1),
            1_000..1_000_000 => ("us", 1_000),
            1_000_000..1_000_000_000 => ("ms", 1_000_000),
            _ => ("s", NANOS_PER_SECOND),
        };
        f.pad(&format!("{}{unit}", decimal(n, size)))
    }
}

/// `n / size` as an exact decimal without trailing zeros; `size` is a power of ten.
fn decimal(n: u64, size: u64) -> String {
    let (whole, part) = (n / size, n % size);
    if part == 0 {
        return whole.to_string();
    }
    let width = size.ilog10() as usize;
    let text = format!("{whole}.{part:0width$}");
    text.trim_end_matches('0').to_owned()
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for SimTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why a text is no duration; the message says what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSpanError {
    /// No number where one was expected.
    #[error("expected a duration such as `250ms`, `1.5s`, `10m` or `1h30m`")]
    NotADuration,
    /// A number without a unit.
    #[error("a duration needs a unit: ns, us, ms, s, m, h or d")]
    NoUnit,
    /// A blank between a number and its unit; it could as well be two durations.
    #[error("the unit stands right behind its number: write `{0}`")]
    Blank(String),
    /// A decimal comma.
    #[error("a decimal point is a dot: write `{0}`")]
    Comma(String),
    /// A unit that is none of ours.
    #[error("`{0}` is no unit of time: expected ns, us, ms, s, m, h or d")]
    UnknownUnit(String),
    /// More digits than the clock has.
    #[error("the clock counts whole nanoseconds: the value has finer digits")]
    TooFine,
    /// Beyond the clock.
    #[error("too long: the clock holds 584 years")]
    TooLong,
    /// A minus sign.
    #[error("a duration cannot be negative")]
    Negative,
}

/// Parses an exact decimal with a unit, or several in a row: `250ms`, `1.5s`, `10m`, `1h30m`, `1e-3s` is not accepted.
impl FromStr for Span {
    type Err = ParseSpanError;

    fn from_str(text: &str) -> Result<Self, ParseSpanError> {
        let mut rest = text.trim();
        if rest.starts_with('-') {
            return Err(ParseSpanError::Negative);
        }
        if rest.is_empty() {
            return Err(ParseSpanError::NotADuration);
        }
        let mut total: u128 = 0;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(rest.len());
            let (number, tail) = rest.split_at(digits);
            let letters = tail.find(|c: char| !c.is_alphabetic()).unwrap_or(tail.len());
            let (unit, next) = tail.split_at(letters);
            if number.is_empty() {
                return Err(ParseSpanError::NotADuration);
            }
            if unit.is_empty() && next.starts_with(',') {
                return Err(ParseSpanError::Comma(text.trim().replace(',', ".")));
            }
            let after = next.trim_start();
            if unit.is_empty() && after.starts_with(char::is_alphabetic) {
                let unit = after.split(|c: char| !c.is_alphabetic()).next().unwrap_or(after);
                return Err(scaled(number, unit).map_or_else(|error| error, |_| ParseSpanError::Blank(format!("{number}{unit}"))));
            }
            total = total.checked_add(scaled(number, unit)?).ok_or(ParseSpanError::TooLong)?;
            rest = after;
        }
        u64::try_from(total).map(Span).map_err(|_| ParseSpanError::TooLong)
    }
}

/// `number` of `unit` in nanoseconds.
fn scaled(number: &str, unit: &str) -> Result<u128, ParseSpanError> {
    let size: u128 = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        "" => return Err(ParseSpanError::NoUnit),
        other => return Err(ParseSpanError::UnknownUnit(other.to_owned())),
    };
    let plain = number.replace('_', "");
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let fraction = fraction.trim_end_matches('0');
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(ParseSpanError::NotADuration);
    }
    if fraction.len() > 18 {
        return Err(ParseSpanError::TooFine);
    }
    let parse = |digits: &str| if digits.is_empty() { Ok(0) } else { digits.parse::<u64>().map(u128::from) };
    let whole = parse(whole).map_err(|_| ParseSpanError::TooLong)?;
    let part = parse(fraction).map_err(|_| ParseSpanError::TooFine)? * size;
    let scale = 10u128.pow(fraction.len() as u32);
    if !part.is_multiple_of(scale) {
        return Err(ParseSpanError::TooFine);
    }
    Ok(whole * size + part / scale)
}

/// An amount of time in whole attoseconds (1e-18 s): step-time coefficients and the sums made of them.
///
/// Wide enough (u128) for any product of a coefficient and a token count squared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attos(pub u128);

impl Attos {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// The amount nearest to `secs` seconds, taken from the shortest decimal text of the float, so that `6.2e-8`
    /// is exactly 62 ns; digits beyond an attosecond are rounded half up. `None` if negative, not finite or above 10^9 s.
    pub fn from_secs_f64(secs: f64) -> Option<Self> {
        if !(0.0..=1e9).contains(&secs) {
            return None;
        }
        // `{:e}` prints the shortest digits that give the float back: d.ddde-x.
        let text = format!("{secs:e}");
        let (mantissa, exponent) = text.split_once('e').expect("the e format has an exponent");
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let exponent: i32 = exponent.parse().expect("the e format has a decimal exponent");
        let shift = exponent - (digits.len() as i32 - 1) + 18;
        let value: u128 = digits.parse().expect("at most 17 digits");
        Some(Self(if shift >= 0 {
            value * 10u128.pow(shift as u32)
        } else if shift < -20 {
            0
        } else {
            let scale = 10u128.pow(-shift as u32);
            (value + scale / 2) / scale
        }))
    }

    /// Whole nanoseconds, and the attoseconds beyond them.
    ///
    /// Below 2^93 as (300 years) without a division of 128 bits, which costs several
    /// times as much as those of 64 bits by a constant: 2^64 as are 18,446,744,073 ns and 709,551,616 as.
    #[inline]
    fn split(self) -> (u64, u64) {
        const NANOS: u64 = ((1u128 << 64) / ATTOS_PER_NANO as u128) as u64;
        const REST: u64 = ((1u128 << 64) % ATTOS_PER_NANO as u128) as u64;
        let (high, low) = ((self.0 >> 64) as u64, self.0 as u64);
        if high <= u64::from(u32::MAX >> 3) {
            let attos = low % ATTOS_PER_NANO + high * REST;
            return (low / ATTOS_PER_NANO + high * NANOS + attos / ATTOS_PER_NANO, attos % ATTOS_PER_NANO);
        }
        let nanos = self.0 / u128::from(ATTOS_PER_NANO);
        let attos = self.0 % u128::from(ATTOS_PER_NANO);
        (u64::try_from(nanos).expect("a step is shorter than the clock"), attos as u64)
    }

    /// Seconds, for reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e18
    }

    /// `n` times this amount.
    #[must_use]
    pub const fn times(self, n: u128) -> Self {
        Self(self.0 * n)
    }

    /// The amount rounded half up to whole nanoseconds, as NVIDIA's simulator rounds its pass times.
    #[must_use]
    pub const fn round_to_nanos(self) -> Self {
        let nano = ATTOS_PER_NANO as u128;
        Self((self.0 + nano / 2) / nano * nano)
    }
}

impl Add for Attos {
    type Output = Attos;
    fn add(self, other: Attos) -> Attos {
        Attos(self.0 + other.0)
    }
}

impl AddAssign for Attos {
    fn add_assign(&mut self, other: Attos) {
        self.0 += other.0;
    }
}

/// An instant finer than the event clock: nanoseconds and the attoseconds beyond them.
///
/// A busy rank sums its step times here without loss; the step's end is an event at [`ExactTime::floor`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExactTime {
    nanos: u64,
    /// Always below [`ATTOS_PER_NANO`].
    attos: u64,
}

impl ExactTime {
    /// The nanosecond this instant falls in.
    pub const fn floor(self) -> SimTime {
        SimTime(self.nanos)
    }
}

impl From<SimTime> for ExactTime {
    fn from(time: SimTime) -> Self {
        Self { nanos: time.0, attos: 0 }
    }
}

impl Add<Attos> for ExactTime {
    type Output = ExactTime;
    fn add(self, amount: Attos) -> ExactTime {
        let (nanos, attos) = amount.split();
        let attos = self.attos + attos;
        let carry = attos / ATTOS_PER_NANO;
        let nanos = self.nanos.checked_add(nanos + carry).expect("runs are bounded far below the end of the clock");
        ExactTime { nanos, attos: attos % ATTOS_PER_NANO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nanos(text: &str) -> u64 {
        text.parse::<Span>().unwrap_or_else(|e| panic!("{text}: {e}")).as_nanos()
    }

    #[test]
    fn durations_parse_exactly() {
        assert_eq!(nanos("250ms"), 250_000_000);
        assert_eq!(nanos("1.5s"), 1_500_000_000);
        assert_eq!(nanos("10m"), 600_000_000_000);
        assert_eq!(nanos("1h30m"), 5_400_000_000_000);
        assert_eq!(nanos("0.000000001s"), 1);
        assert_eq!(nanos("3435.948056s"), 3_435_948_056_000);
        assert_eq!(nanos("0.1s"), 100_000_000);
        assert_eq!(nanos("1d"), 86_400_000_000_000);
        assert_eq!(nanos(" 5 us".replace(' ', "").as_str()), 5_000);
    }

    #[test]
    fn bad_durations_say_what_was_expected() {
        let error = |text: &str| text.parse::<Span>().unwrap_err();
        assert_eq!(error("10"), ParseSpanError::NoUnit);
        assert_eq!(error("1 m"), ParseSpanError::Blank("1m".into()));
        assert_eq!(error("1h 30 m"), ParseSpanError::Blank("30m".into()));
        assert_eq!(error("10 minutes"), ParseSpanError::UnknownUnit("minutes".into()));
        assert_eq!(error("1,5s"), ParseSpanError::Comma("1.5s".into()));
        assert_eq!(error(""), ParseSpanError::NotADuration);
        assert_eq!(error("fast"), ParseSpanError::NotADuration);
        assert_eq!(error("-1s"), ParseSpanError::Negative);
        assert_eq!(error("0.5ns"), ParseSpanError::TooFine);
        assert_eq!(error("1e30s"), ParseSpanError::UnknownUnit("e".into()));
        assert_eq!(error("600y"), ParseSpanError::UnknownUnit("y".into()));
        assert_eq!(error("999999999999h"), ParseSpanError::TooLong);
        assert_eq!(error("1.2.3s"), ParseSpanError::NotADuration);
    }

    #[test]
    fn attoseconds_follow_the_decimal_text_of_a_coefficient() {
        assert_eq!(Attos::from_secs_f64(6.20e-8), Some(Attos(62_000_000_000)));
        assert_eq!(Attos::from_secs_f64(4.209989e-10), Some(Attos(420_998_900)));
        assert_eq!(Attos::from_secs_f64(0.01750), Some(Attos(17_500_000_000_000_000)));
        assert_eq!(Attos::from_secs_f64(1e-18), Some(Attos(1)));
        assert_eq!(Attos::from_secs_f64(4e-19), Some(Attos(0)));
        assert_eq!(Attos::from_secs_f64(5e-19), Some(Attos(1)));
        assert_eq!(Attos::from_secs_f64(0.0), Some(Attos(0)));
        assert_eq!(Attos::from_secs_f64(-1.0), None);
        assert_eq!(Attos::from_secs_f64(f64::NAN), None);
    }

    proptest! {
        #[test]
        fn an_amount_splits_as_the_division_says(shift in 0u32..93, bits in any::<u128>()) {
            let amount = bits >> (128 - 93) >> shift; // up to the longest the clock holds
            let nano = u128::from(ATTOS_PER_NANO);
            prop_assert_eq!(Attos(amount).split(), ((amount / nano) as u64, (amount % nano) as u64));
        }

        #[test]
        fn a_printed_span_parses_back(n in any::<u64>()) {
            let span = Span::from_nanos(n);
            prop_assert_eq!(span.to_string().parse::<Span>(), Ok(span));
        }

        #[test]
        fn exact_time_never_loses_an_attosecond(steps in prop::collection::vec(0u64..40_000_000_000_000_000_000u128 as u64, 1..50)) {
            let mut time = ExactTime::from(SimTime::ZERO);
            let mut total = 0u128;
            for step in steps {
                time = time + Attos(u128::from(step));
                total += u128::from(step);
                prop_assert_eq!(u128::from(time.floor().as_nanos()), total / 1_000_000_000);
            }
        }
    }
}
