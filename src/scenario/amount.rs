//! Exact decimals: texts and numbers to attoseconds and back, without a float in between.

use std::fmt;

use crate::units::Attos;

/// Digits a coefficient may have: 10^6 seconds to the attosecond, so that whatever is printed can be read back.
const MAX_DIGITS: usize = 25;

/// Longest coefficient, in attoseconds.
pub(crate) const MAX_ATTOS: u128 = 1_000_000 * 10u128.pow(18);

/// Units from the largest to the smallest, with the power of ten of an attosecond.
const UNITS: [(&str, i32); 7] = [("s", 18), ("ms", 15), ("us", 12), ("ns", 9), ("ps", 6), ("fs", 3), ("as", 0)];

/// A decimal number `digits * 10^exponent`, 0 or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u128,
    exponent: i32,
}

/// Why a text is no amount of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AmountError {
    /// No number where one was expected.
    NotANumber,
    /// A minus sign.
    Negative,
    /// A number without a unit.
    NoUnit,
    /// A unit that is none of ours.
    UnknownUnit,
    /// Digits beyond an attosecond.
    TooFine,
    /// Beyond what a step may take.
    TooLong,
}

impl fmt::Display for AmountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotANumber => "expected seconds as a number, or a duration such as `62ns` or `0.4209989ns`",
            Self::Negative => "a step time cannot be negative",
            Self::NoUnit => "a duration needs a unit: s, ms, us, ns, ps, fs or as",
            Self::UnknownUnit => "expected a unit of time: s, ms, us, ns, ps, fs or as",
            Self::TooFine => "a step time has at most 25 digits, the last one not below an attosecond (10^-18 s)",
            Self::TooLong => "a coefficient of the step time is at most 1000000s",
        })
    }
}

impl Decimal {
    /// The number 1.
    pub const ONE: Self = Self { digits: 1, exponent: 0 };

    /// Reads `12`, `0.5`, `6.2e-8`; nothing else.
    pub fn parse(text: &str) -> Result<Self, AmountError> {
        let text = text.strip_prefix('+').unwrap_or(text);
        if text.starts_with('-') {
            return Err(AmountError::Negative);
        }
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| AmountError::NotANumber)?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all: String = [whole, fraction].concat();
        if all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) {
            return Err(AmountError::NotANumber);
        }
        let significant = all.trim_start_matches('0').trim_end_matches('0');
        if significant.len() > MAX_DIGITS {
            return Err(AmountError::TooFine);
        }
        if significant.is_empty() {
            return Ok(Self { digits: 0, exponent: 0 });
        }
        let dropped = all.len() - all.trim_end_matches('0').len();
        let shift = i32::try_from(dropped).ok().zip(i32::try_from(fraction.len()).ok()).map(|(d, f)| d - f);
        let exponent = shift.and_then(|s| exponent.checked_add(s)).ok_or(AmountError::TooLong)?;
        let digits = significant.parse().map_err(|_| AmountError::NotANumber)?;
        Ok(Self { digits, exponent })
    }

    /// This number of units of 10^`unit` attoseconds.
    pub fn attos(self, unit: i32) -> Result<Attos, AmountError> {
        if self.digits == 0 {
            return Ok(Attos::ZERO);
        }
        let power = self.exponent.saturating_add(unit);
        if power < 0 {
            // Trailing zeros are stripped, so the last digit stands below an attosecond.
            return Err(AmountError::TooFine);
        }
        let scaled = 10u128.checked_pow(power.unsigned_abs()).and_then(|scale| self.digits.checked_mul(scale));
        scaled.filter(|&n| n <= MAX_ATTOS).map(Attos).ok_or(AmountError::TooLong)
    }

    /// `amount` times this number, rounded half up to an attosecond; `None` where 128 bits do not hold it.
    pub fn scale(self, amount: Attos) -> Option<Attos> {
        let product = amount.0.checked_mul(self.digits)?;
        let power = 10u128.checked_pow(self.exponent.unsigned_abs())?;
        match self.exponent {
            0.. => product.checked_mul(power).map(Attos),
            _ => product.checked_add(power / 2).map(|n| Attos(n / power)),
        }
    }
}

/// Reads a text with a unit, `0.4209989ns`, or a plain number of 10^`unit` attoseconds where `unit` is given.
pub(crate) fn parse_attos(text: &str, unit: Option<i32>) -> Result<Attos, AmountError> {
    let text = text.trim();
    let name = text.trim_start_matches(|c: char| !c.is_alphabetic() || is_exponent(text, c));
    let number = text[..text.len() - name.len()].trim_end();
    let unit = match (name, unit) {
        ("", Some(unit)) => unit,
        ("", None) if number.is_empty() => return Err(AmountError::NotANumber),
        ("", None) => return Err(AmountError::NoUnit),
        (name, _) => UNITS.iter().find(|u| u.0 == name || (name == "µs" && u.0 == "us")).ok_or(AmountError::UnknownUnit)?.1,
    };
    Decimal::parse(number)?.attos(unit)
}

/// Whether `c` is the `e` of an exponent in `text`: no unit of time contains one.
fn is_exponent(text: &str, c: char) -> bool {
    matches!(c, 'e' | 'E') && text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '.' | '+' | '-'))
}

/// Writes an amount exactly, in the largest unit that it fills: `62ns`, `0.4209989ns` as `420.9989ps`.
pub(crate) fn print_attos(amount: Attos) -> String {
    let n = amount.0;
    if n == 0 {
        return "0s".to_owned();
    }
    let (unit, power) = UNITS.iter().find(|(_, power)| n >= 10u128.pow(power.unsigned_abs())).copied().unwrap_or(("as", 0));
    let size = 10u128.pow(power.unsigned_abs());
    let width = power.unsigned_abs() as usize;
    let text = match n % size {
        0 => (n / size).to_string(),
        part => format!("{}.{part:0width$}", n / size).trim_end_matches('0').to_owned(),
    };
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn step_times_parse_exactly_from_text_and_from_numbers() {
        assert_eq!(parse_attos("62ns", None), Ok(Attos(62_000_000_000)));
        assert_eq!(parse_attos("6.20e-8", Some(18)), Ok(Attos(62_000_000_000)));
        assert_eq!(parse_attos("4.209989e-7", Some(15)), Ok(Attos(420_998_900)));
        assert_eq!(parse_attos("0.4209989ns", None), Ok(Attos(420_998_900)));
        assert_eq!(parse_attos("1e-3 ms", None), Ok(Attos(1_000_000_000_000)));
        assert_eq!(parse_attos("1as", None), Ok(Attos(1)));
        assert_eq!(parse_attos("0", Some(18)), Ok(Attos(0)));
        assert_eq!(parse_attos("20", Some(15)), Ok(Attos(20_000_000_000_000_000)));
    }

    #[test]
    fn bad_step_times_say_what_was_expected() {
        assert_eq!(parse_attos("62", None), Err(AmountError::NoUnit));
        assert_eq!(parse_attos("fast", None), Err(AmountError::UnknownUnit));
        assert_eq!(parse_attos("", None), Err(AmountError::NotANumber));
        assert_eq!(parse_attos("-1ns", None), Err(AmountError::Negative));
        assert_eq!(parse_attos("1 parsec", None), Err(AmountError::UnknownUnit));
        assert_eq!(parse_attos("0.5as", None), Err(AmountError::TooFine));
        assert_eq!(parse_attos("1e-19", Some(18)), Err(AmountError::TooFine));
        assert_eq!(parse_attos("1e300", Some(18)), Err(AmountError::TooLong));
        assert_eq!(parse_attos("1e99999999999", Some(18)), Err(AmountError::NotANumber));
        assert_eq!(parse_attos("1e2147483647s", None), Err(AmountError::TooLong));
        assert_eq!(parse_attos("nan", Some(18)), Err(AmountError::UnknownUnit));
    }

    #[test]
    fn a_factor_rounds_half_up_to_an_attosecond() {
        let factor = |text| Decimal::parse(text).unwrap();
        assert_eq!(factor("1.1").scale(Attos(565_200_000)), Some(Attos(621_720_000)));
        assert_eq!(factor("0.5").scale(Attos(3)), Some(Attos(2)));
        assert_eq!(factor("10").scale(Attos(3)), Some(Attos(30)));
        assert_eq!(factor("1.00").scale(Attos(3)), Some(Attos(3)));
    }

    proptest! {
        #[test]
        fn a_printed_step_time_parses_back(n in 0..=MAX_ATTOS) {
            prop_assert_eq!(parse_attos(&print_attos(Attos(n)), None), Ok(Attos(n)));
        }

        #[test]
        fn reading_an_amount_never_panics(text in "\\PC{0,20}") {
            let _ = parse_attos(&text, None);
            let _ = parse_attos(&text, Some(15));
        }
    }
}
