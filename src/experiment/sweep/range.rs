//! Ranges of a swept axis, stepped exactly: `lo..hi step s`, `lo..hi linear n`, `lo..hi log n`.

use std::fmt;

use crate::units::Span;
use crate::workload::sampling::{exp, ln};

/// Most values of one axis.
pub const MAX_VALUES: usize = 100_000;

/// Digits after the point at most, and digits in all: far beyond what a scenario can tell apart.
const MAX_SCALE: u32 = 15;
const MAX_DIGITS: usize = 24;

/// What is wrong with a range or a list, and what to do.
pub type Refusal = (String, String);

const FORMS: &str =
    "a range is `lo..hi step s`, `lo..hi linear n` or `lo..hi log n`, such as `0.5..0.95 step 0.05` or `1ms..10s log 5`";

/// A decimal number `digits / 10^scale`, or a duration in nanoseconds (scale 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Exact {
    digits: i128,
    scale: u32,
    is_span: bool,
}

impl Exact {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.ends_with(|c: char| c.is_alphabetic()) && text.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            let span = text.parse::<Span>().map_err(|e| format!("`{text}`: {e}"))?;
            return Ok(Self { digits: i128::from(span.as_nanos()), scale: 0, is_span: true });
        }
        let (negative, number) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let all = [whole, fraction].concat().replace('_', "");
        let readable = !whole.is_empty() && all.bytes().all(|b| b.is_ascii_digit()) && !number.ends_with('.');
        if !readable || all.len() > MAX_DIGITS || fraction.len() > MAX_SCALE as usize {
            return Err(format!("`{text}` is no decimal number and no duration"));
        }
        let digits: i128 = all.parse().map_err(|_| format!("`{text}` is no decimal number"))?;
        let scale = u32::try_from(fraction.len()).unwrap_or(MAX_SCALE);
        Ok(Self { digits: if negative { -digits } else { digits }, scale, is_span: false })
    }

    /// The digits at another, finer scale.
    fn at(self, scale: u32) -> i128 {
        self.digits * 10i128.pow(scale - self.scale)
    }

    fn value(self) -> f64 {
        self.digits as f64 / 10i128.pow(self.scale) as f64
    }

    /// Without trailing zeros after the point.
    fn trimmed(mut self) -> Self {
        while self.scale > 0 && self.digits % 10 == 0 {
            self.digits /= 10;
            self.scale -= 1;
        }
        self
    }
}

/// As TOML: a number, or a duration in quotes.
impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_span {
            return write!(f, "\"{}\"", Span::from_nanos(u64::try_from(self.digits).unwrap_or(0)));
        }
        let sign = if self.digits < 0 { "-" } else { "" };
        let (size, width) = (10u128.pow(self.scale), self.scale as usize);
        let (whole, part) = (self.digits.unsigned_abs() / size, self.digits.unsigned_abs() % size);
        if self.scale == 0 { write!(f, "{sign}{whole}") } else { write!(f, "{sign}{whole}.{part:0width$}") }
    }
}

/// The values of the range `text`, as TOML.
///
/// # Errors
/// What is wrong, and a hint.
pub fn parse_range(text: &str) -> Result<Vec<String>, Refusal> {
    let bad = |what: String| (what, FORMS.to_owned());
    let (low, rest) = text.split_once("..").ok_or_else(|| bad(format!("`{text}` is no range")))?;
    let mut words = rest.split_whitespace();
    let (Some(high), Some(rule), Some(amount), None) = (words.next(), words.next(), words.next(), words.next()) else {
        return Err(bad(format!("`{}` does not say how the range is divided", text.trim())));
    };
    let (low, high) = (Exact::parse(low).map_err(bad)?, Exact::parse(high).map_err(bad)?);
    if low.is_span != high.is_span {
        return Err(bad(format!("`{}` mixes a number and a duration", text.trim())));
    }
    let scale = low.scale.max(high.scale);
    if low.at(scale) > high.at(scale) {
        return Err((format!("`{low}..{high}` is an empty range"), format!("write the lower end first: `{high}..{low}`")));
    }
    match rule {
        "step" => stepped(low, high, Exact::parse(amount).map_err(bad)?),
        "linear" => divided(low, high, count(amount)?, linear),
        "log" => {
            if low.digits <= 0 {
                return Err((format!("`{low}` cannot start a logarithmic range"), "both ends must be above 0".to_owned()));
            }
            divided(low, high, count(amount)?, logarithmic)
        }
        other => Err(bad(format!("`{other}` divides no range"))),
    }
}

fn count(text: &str) -> Result<usize, Refusal> {
    let hint = || format!("give a whole number from 2 to {MAX_VALUES}");
    let count = text.parse::<usize>().map_err(|_| (format!("`{text}` is no number of values"), hint()))?;
    if (2..=MAX_VALUES).contains(&count) { Ok(count) } else { Err((format!("`{text}` values are not possible"), hint())) }
}

/// `low`, `low + step`, ... up to `high`, exact.
fn stepped(low: Exact, high: Exact, step: Exact) -> Result<Vec<String>, Refusal> {
    if step.is_span != low.is_span {
        return Err((format!("the step `{step}` is not in the unit of the range"), FORMS.to_owned()));
    }
    if step.digits <= 0 {
        return Err((format!("a step of `{step}` never reaches the end"), "give a step above 0".to_owned()));
    }
    let scale = low.scale.max(high.scale).max(step.scale);
    let (from, to, by) = (low.at(scale), high.at(scale), step.at(scale));
    let count = (to - from) / by + 1;
    if count > MAX_VALUES as i128 {
        return Err((
            format!("`{low}..{high} step {step}` has {count} values: at most {MAX_VALUES} are possible"),
            "take a longer step, or `linear n`".to_owned(),
        ));
    }
    Ok((0..count).map(|k| Exact { digits: from + k * by, scale, is_span: low.is_span }.to_string()).collect())
}

type Divide = fn(Exact, Exact, usize, usize) -> Exact;

/// `count` values from `low` to `high`, both included. Ends written as whole numbers give whole numbers.
fn divided(low: Exact, high: Exact, count: usize, divide: Divide) -> Result<Vec<String>, Refusal> {
    let value = |k| match k {
        0 => low,
        k if k + 1 == count => high,
        k => divide(low, high, k, count - 1),
    };
    let values: Vec<String> = (0..count).map(|k| value(k).to_string()).collect();
    if values.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err((
            format!("`{low}..{high}` has no {count} different values of its kind"),
            "ends written as whole numbers give whole numbers: take fewer values, or write the ends with a decimal point, such as `1.0`"
                .to_owned(),
        ));
    }
    Ok(values)
}

/// The k-th of n equal parts, rounded half up to four digits more than the ends have.
fn linear(low: Exact, high: Exact, k: usize, n: usize) -> Exact {
    let whole = low.scale == 0 && high.scale == 0;
    let scale = if whole { 0 } else { (low.scale.max(high.scale) + 4).min(MAX_SCALE) };
    let (from, to) = (low.at(scale), high.at(scale));
    let (k, n) = (k as i128, n as i128);
    let digits = from + (2 * (to - from) * k + n).div_euclid(2 * n);
    Exact { digits, scale, is_span: low.is_span }.trimmed()
}

/// The k-th of n equal factors, to three significant digits: ends stay as they are written.
fn logarithmic(low: Exact, high: Exact, k: usize, n: usize) -> Exact {
    let whole = low.scale == 0 && high.scale == 0;
    let value = low.value() * exp(ln(high.value() / low.value()) * k as f64 / n as f64);
    let written = format!("{value:.2e}");
    let (mantissa, power) = written.split_once('e').expect("the e notation has an e");
    let digits: i128 = mantissa.replace('.', "").parse().expect("three digits");
    let power = power.parse::<i32>().expect("an exponent") - 2;
    let ten = 10i128.pow(power.unsigned_abs().min(30));
    match (power >= 0, whole) {
        (true, _) => Exact { digits: digits * ten, scale: 0, is_span: low.is_span },
        (false, true) => Exact { digits: (2 * digits + ten).div_euclid(2 * ten), scale: 0, is_span: low.is_span },
        (false, false) => Exact { digits, scale: power.unsigned_abs().min(MAX_SCALE), is_span: false }.trimmed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(text: &str) -> String {
        match parse_range(text) {
            Ok(values) => values.join(" "),
            Err((message, hint)) => format!("{message} ({hint})"),
        }
    }

    #[test]
    fn steps_are_exact_decimals_and_durations() {
        assert_eq!(values("0.1..0.5 step 0.1"), "0.1 0.2 0.3 0.4 0.5");
        assert_eq!(values("0.5..1 step 0.25"), "0.50 0.75 1.00");
        assert_eq!(values("1..10 step 4"), "1 5 9");
        assert_eq!(values("-1..1 step 1"), "-1 0 1");
        assert_eq!(values("0ms..1s step 250ms"), "\"0s\" \"250ms\" \"500ms\" \"750ms\" \"1s\"");
        assert_eq!(values("3..3 step 1"), "3");
    }

    #[test]
    fn linear_and_logarithmic_ranges_keep_their_ends() {
        assert_eq!(values("0.0..1.0 linear 5"), "0.0 0.25 0.5 0.75 1.0");
        assert_eq!(values("0..10 linear 4"), "0 3 7 10");
        assert_eq!(values("1..1000 log 4"), "1 10 100 1000");
        assert_eq!(values("10..500 log 5"), "10 27 71 188 500");
        assert_eq!(values("0.001..1.0 log 3"), "0.001 0.0316 1.0");
        assert_eq!(values("1ms..10s log 5"), "\"1ms\" \"10ms\" \"100ms\" \"1s\" \"10s\"");
    }

    #[test]
    fn bad_ranges_say_what_is_wrong() {
        let said: Vec<String> = [
            "5..1 step 1",
            "1..5 step 0",
            "1..5 step -1",
            "1..5",
            "1..5 by 2",
            "a..b step 1",
            "0..9 log 3",
            "1..1000000000 step 1",
            "1..3 linear 9",
            "1..3 linear 1",
            "1s..3 step 1",
            "1s..3s step 1",
            "0.1.2..3 step 1",
            "1..2 step 1 2",
        ]
        .iter()
        .map(|text| format!("{text}: {}", values(text)))
        .collect();
        insta::assert_snapshot!(said.join("\n"));
    }

    proptest! {
        #[test]
        fn reading_a_range_never_panics_and_stays_bounded(text in "[-0-9.smh]{0,12}\\.\\.[-0-9.smh]{0,12} (step|linear|log) [-0-9.smh]{0,12}") {
            if let Ok(values) = parse_range(&text) {
                prop_assert!(!values.is_empty() && values.len() <= MAX_VALUES);
            }
        }
    }
}
