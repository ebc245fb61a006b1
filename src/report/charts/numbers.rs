//! Numbers as people read them.

use super::data::Unit;
use super::scale::{decade, pow10};

/// A tick of a linear axis, with SI suffix where the number is long.
pub(super) fn tick(value: f64, decimals: usize) -> String {
    let value = if value == 0.0 { 0.0 } else { value };
    if value.abs() >= 10_000.0 {
        return suffixed(value);
    }
    signed(format!("{value:.decimals$}"))
}

/// A value with its unit, to three significant digits at most.
pub(super) fn human(value: f64, unit: &Unit) -> String {
    if !value.is_finite() {
        return "n/a".to_owned();
    }
    match unit {
        Unit::Number | Unit::Named(_) => suffixed(value),
        Unit::Share => format!("{} %", digits(value * 100.0)),
        Unit::Seconds => seconds(value),
    }
}

fn seconds(value: f64) -> String {
    let (factor, name) = match value.abs() {
        0.0 => (1.0, "s"),
        v if v < 0.999_5e-6 => (1e9, "ns"),
        v if v < 0.999_5e-3 => (1e6, "µs"),
        v if v < 0.999_5 => (1e3, "ms"),
        v if v < 180.0 => (1.0, "s"),
        v if v < 3.0 * 3600.0 => (1.0 / 60.0, "min"),
        _ => (1.0 / 3600.0, "h"),
    };
    format!("{} {name}", digits(value * factor))
}

fn suffixed(value: f64) -> String {
    let (factor, suffix) = match value.abs() {
        v if v < 10_000.0 => (1.0, ""),
        v if v < 999_500.0 => (1e-3, "k"),
        v if v < 999_500_000.0 => (1e-6, "M"),
        v if v < 999_500_000_000.0 => (1e-9, "G"),
        _ => (1e-12, "T"),
    };
    format!("{}{suffix}", digits(value * factor))
}

/// At most three significant digits, whole numbers below 10,000 in full, no idle zeros.
fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.abs() >= 99.95 {
        return signed(format!("{value:.0}"));
    }
    let place = decade(value.abs());
    if place < -6 {
        return signed(format!("{:.1}e{place}", value / pow10(place)));
    }
    let decimals = (2 - place).max(0) as usize;
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    signed(text)
}

/// A true minus sign, and none before zero.
fn signed(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| c == '0' || c == '.') => rest.to_owned(),
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_choose_their_unit() {
        let written = [0.0, 0.35, 0.000_035, 0.999_9, 1.25, 119.0, 300.0, 86_400.0].map(|v| human(v, &Unit::Seconds));
        assert_eq!(written, ["0 s", "350 ms", "35 µs", "1 s", "1.25 s", "119 s", "5 min", "24 h"]);
    }

    #[test]
    fn numbers_take_suffixes_and_shares_percent() {
        assert_eq!([7.0, 1234.0, 12_345.0, 2.5e6].map(|v| human(v, &Unit::Number)), ["7", "1234", "12.3k", "2.5M"]);
        assert_eq!([0.0, 0.5, 0.001_234, 1.0].map(|v| human(v, &Unit::Share)), ["0 %", "50 %", "0.123 %", "100 %"]);
    }

    #[test]
    fn what_is_not_finite_is_said_to_be_missing() {
        assert_eq!(human(f64::NAN, &Unit::Share), "n/a");
    }

    #[test]
    fn minus_stands_before_numbers_only() {
        assert_eq!([tick(-0.0, 1), tick(-0.04, 1), tick(-2.0, 0)], ["0.0", "0.0", "−2"]);
    }
}
