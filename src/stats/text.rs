//! Figures as text for people: as many digits as the figure deserves, and never a 0 or a 100 that is none.

use super::intervals::MeanInterval;

/// A count with its thousands apart: `1,234,567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share in [0, 1] as a percentage: one decimal, and more near 0 and 100 so that two digits of the distance show
/// (`39.9 %`, `0.012 %`, `99.9987 %`). Only exact ends print as `0 %` and `100 %`.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    // 1 - share is exact near 1, 100 - percent need not be.
    let distance = 100.0 * share.min(1.0 - share);
    if distance <= 0.0 || !distance.is_finite() {
        return format!("{percent:.0} %");
    }
    let decimals = decimals_for(distance, 2).clamp(1, 17);
    format!("{percent:.decimals$} %")
}

/// A length of time given in nanoseconds, with three digits in the unit that suits it: `12.3 ms`, `1.50 s`, `7240 s`.
pub fn duration(nanos: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    if nanos == 0.0 {
        return "0 s".to_owned();
    }
    // 999.6 us rounds to 1.00 ms, not to 1000 us.
    let suits = |&(size, _): &(f64, &str)| nanos.abs() >= 0.9995 * size;
    let (size, unit) = UNITS.into_iter().find(suits).unwrap_or((1.0, "ns"));
    format!("{} {unit}", significant(nanos / size, 3))
}

/// A number with `digits` significant digits, whole digits never dropped: `0.0123`, `1.50`, `7240`. 0 is `0`.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value:.0}").trim_start_matches('-').to_owned();
    }
    let decimals = decimals_for(value.abs(), digits);
    format!("{value:.decimals$}")
}

/// A mean with its half-width, to two digits of the half-width: `12.34 +- 0.56`; a mean without spread alone.
pub fn mean_with_interval(interval: &MeanInterval) -> String {
    match interval.half_width {
        Some(half) if half > 0.0 && half.is_finite() => {
            let decimals = decimals_for(half, 2);
            format!("{:.decimals$} +- {half:.decimals$}", interval.mean)
        }
        _ => significant(interval.mean, 4),
    }
}

/// The decimals that show `digits` significant digits of a positive number, once it is rounded to them; at most 17.
fn decimals_for(value: f64, digits: usize) -> usize {
    let (mut decimals, mut scaled) = (0, value);
    // The least scaled value that rounds to a number of that many digits.
    let full = (1..digits).fold(1.0, |power, _| power * 10.0) - 0.5;
    while scaled < full && decimals < 17 {
        scaled *= 10.0;
        decimals += 1;
    }
    decimals
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn figures_print_with_the_digits_they_deserve() {
        let counts = [0, 12, 999, 1000, 1_234_567, u64::MAX].map(count);
        assert_eq!(counts, ["0", "12", "999", "1,000", "1,234,567", "18,446,744,073,709,551,615"]);
        let shares = [0.0, 1.0, 0.399, 0.0231, 0.000_12, 0.999_987, 0.5, 1e-9].map(percent);
        assert_eq!(shares, ["0 %", "100 %", "39.9 %", "2.3 %", "0.012 %", "99.9987 %", "50.0 %", "0.00000010 %"]);
        let spans = [0.0, 7.0, 999_600.0, 12_345_678.0, 1.5e9, 7.24e12, 999.4].map(duration);
        assert_eq!(spans, ["0 s", "7.00 ns", "1.00 ms", "12.3 ms", "1.50 s", "7240 s", "999 ns"]);
        assert_eq!([0.0, -0.0, 0.012_34, -1.5, 99.96].map(|v| significant(v, 3)), ["0", "0", "0.0123", "-1.50", "100"]);
    }

    #[test]
    fn a_mean_shows_two_digits_of_its_spread() {
        let text = |mean, half_width| mean_with_interval(&MeanInterval { mean, half_width, samples: 5 });
        assert_eq!(text(12.3412, Some(0.5599)), "12.34 +- 0.56");
        assert_eq!(text(1234.0, Some(321.0)), "1234 +- 321");
        assert_eq!(text(0.000_123_4, Some(0.000_001)), "0.0001234 +- 0.0000010");
        assert_eq!((text(2.5, None), text(2.5, Some(0.0))), ("2.500".to_owned(), "2.500".to_owned()));
    }

    proptest! {
        #[test]
        fn a_share_that_is_no_end_never_prints_as_one(share in 1e-12f64..1.0) {
            prop_assume!(share < 1.0 - 1e-12);
            let text = percent(share);
            let value: f64 = text.trim_end_matches(" %").parse().unwrap();
            prop_assert!(value > 0.0 && value < 100.0, "{text}");
        }
    }
}
