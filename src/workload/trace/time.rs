//! Exact times: decimals and dates to whole nanoseconds, without a float.

use crate::units::{NANOS_PER_SECOND, SimTime};
use crate::workload::config::TimeUnit;

/// Largest number of nanoseconds that a time in a trace may be away from zero: 3,000 years.
const FARTHEST: i128 = 100_000_000_000 * NANOS_PER_SECOND as i128;

impl TimeUnit {
    /// Power of ten from this unit to nanoseconds; dates count as seconds.
    const fn digits(self) -> i32 {
        match self {
            Self::Seconds | Self::Date => 9,
            Self::Milliseconds => 6,
            Self::Microseconds => 3,
            Self::Nanoseconds => 0,
        }
    }

    /// The unit's name, as options take it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
            Self::Nanoseconds => "ns",
            Self::Date => "date",
        }
    }
}

/// Nanoseconds in `text`, a time in `unit`; digits finer than a nanosecond are rounded half up. The error says what was
/// expected.
pub(super) fn nanos(text: &str, unit: TimeUnit) -> Result<i128, String> {
    let nanos = match unit {
        TimeUnit::Date => date(text)?,
        _ => decimal(text, unit.digits()).ok_or_else(|| format!("expected a time in {}, a decimal number", unit.name()))?,
    };
    if nanos.abs() > FARTHEST { Err("expected a time within 3,000 years of zero".into()) } else { Ok(nanos) }
}

/// The instant `text` seconds after 0, if it is one that the clock holds.
pub(in crate::workload) fn seconds(text: &str) -> Option<SimTime> {
    let nanos = nanos(text, TimeUnit::Seconds).ok()?;
    u64::try_from(nanos).ok().map(SimTime::from_nanos)
}

/// `text` times ten to the power `shift`, rounded half up to a whole number: `12`, `-0.5`, `19440110.0`, `1.7e9`.
pub(super) fn decimal(text: &str, shift: i32) -> Option<i128> {
    let bytes = text.trim_ascii().as_bytes();
    let (negative, bytes) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, bytes),
    };
    let (mut value, mut power, mut seen, mut point) = (0i128, shift, 0usize, false);
    let mut at = 0;
    // The first digit beyond what the sum holds decides the rounding; later ones say nothing more to half up.
    let mut full = false;
    let mut round = None;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' => {
                let digit = i128::from(byte - b'0');
                seen += 1;
                full = full || value > i128::MAX / 1_000_000_000_000_000;
                if full {
                    round.get_or_insert(digit);
                    power += i32::from(!point);
                } else {
                    value = value * 10 + digit;
                    power -= i32::from(point);
                }
            }
            b'.' if !point => point = true,
            b'e' | b'E' => break,
            _ => return None,
        }
        at += 1;
    }
    if seen == 0 {
        return None;
    }
    if at < bytes.len() {
        let exponent: i32 = std::str::from_utf8(&bytes[at + 1..]).ok()?.parse().ok()?;
        power = power.checked_add(exponent)?;
    }
    let scaled = if value == 0 {
        0
    } else if power >= 0 {
        value.checked_mul(10i128.checked_pow(power as u32)?)?
    } else {
        shrink(value, power.unsigned_abs(), negative)
    };
    Some(if negative { -scaled } else { scaled })
}

/// `value` / 10^`power`, to the nearest whole number; halves go up in the signed value.
fn shrink(value: i128, power: u32, negative: bool) -> i128 {
    let Some(scale) = 10i128.checked_pow(power) else { return 0 };
    let (whole, rest) = (value / scale, value % scale);
    let up = if negative { rest * 2 > scale } else { rest * 2 >= scale };
    whole + i128::from(up)
}

/// Nanoseconds since 1970-01-01 UTC of a date and time; one without a zone is taken as UTC.
fn date(text: &str) -> Result<i128, String> {
    let text = text.trim_ascii();
    let clock = text.get(10..).unwrap_or("");
    let zoned = clock.ends_with(['Z', 'z']) || clock.contains(['+', '-']);
    let timestamp = if zoned {
        text.parse::<jiff::Timestamp>().ok()
    } else {
        let civil = text.parse::<jiff::civil::DateTime>().ok();
        // A bare date is accepted by jiff, and would hide a file whose times are cut off.
        civil.filter(|_| !clock.is_empty()).and_then(|d| jiff::tz::Offset::UTC.to_timestamp(d).ok())
    };
    timestamp
        .map(jiff::Timestamp::as_nanosecond)
        .ok_or_else(|| "expected a date and time such as `2024-05-10 00:00:00.5+00:00`".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_become_nanoseconds_digit_by_digit() {
        let s = |text: &str| nanos(text, TimeUnit::Seconds).unwrap();
        assert_eq!(s("1787267980.0827403"), 1_787_267_980_082_740_300);
        assert_eq!(s("27536.660701067"), 27_536_660_701_067);
        assert_eq!(s("19440110.0"), 19_440_110_000_000_000);
        assert_eq!(s("-0.5"), -500_000_000);
        assert_eq!(s("1.5e-3"), 1_500_000);
        assert_eq!(s("1.7872679800827403e9"), 1_787_267_980_082_740_300);
        assert_eq!(s("0.0000000005"), 1);
        assert_eq!(s("0.00000000049999999999999999999999999999999999999999999"), 0);
        assert_eq!(s("-0.0000000005"), 0);
        assert_eq!(s("5."), 5_000_000_000);
        assert_eq!(nanos("1787000001500", TimeUnit::Milliseconds), Ok(1_787_000_001_500_000_000));
        assert_eq!(nanos("0.4", TimeUnit::Milliseconds), Ok(400_000));
        assert_eq!(nanos("46926808", TimeUnit::Nanoseconds), Ok(46_926_808));
        assert_eq!(nanos("0.1", TimeUnit::Microseconds), Ok(100));
        assert_eq!(nanos(" 5 ", TimeUnit::Seconds), Ok(5_000_000_000));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in
            ["", "abc", "NaN", "inf", ".", "-", "1.2.3", "1e", "0x10", "1e99", "1e-99999999999", "5 s", "99999999999999999999999"]
        {
            let found = nanos(text, TimeUnit::Seconds);
            assert!(found.as_ref().is_err_and(|e| e.starts_with("expected")), "{text}: {found:?}");
        }
        assert_eq!(nanos("0e999", TimeUnit::Seconds), Ok(0));
    }

    #[test]
    fn dates_are_read_with_and_without_zone_and_fraction() {
        let d = |text: &str| nanos(text, TimeUnit::Date).unwrap_or_else(|e| panic!("{text}: {e}"));
        let start = d("2024-05-10 00:00:00+00:00");
        assert_eq!(d("2024-05-10 00:00:00.009930+00:00") - start, 9_930_000);
        assert_eq!(d("2024-05-10T00:00:00.269Z") - start, 269_000_000);
        assert_eq!(d("2024-05-10 02:00:00+02:00"), start);
        assert_eq!(d("2024-05-10 00:00:00"), start);
        assert_eq!(d("2024-05-10 00:00:00.9799600") - start, 979_960_000);
        assert_eq!(d("2024-05-09T23:00:00-01:00"), start);
        for text in ["2024-05-10", "2024-13-10 00:00:00", "10.05.2024 00:00:00", "12", ""] {
            assert!(nanos(text, TimeUnit::Date).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_decimal_of_nine_digits_is_exact(whole in -2_000_000_000i64..2_000_000_000, part in 0u32..1_000_000_000) {
            let sign = if whole < 0 { "-" } else { "" };
            let text = format!("{sign}{}.{part:09}", whole.unsigned_abs());
            let expected = i128::from(whole.unsigned_abs()) * 1_000_000_000 + i128::from(part);
            prop_assert_eq!(nanos(&text, TimeUnit::Seconds), Ok(if whole < 0 { -expected } else { expected }));
        }

        #[test]
        fn no_text_panics(text in "[-+0-9.eE: TZ]{0,60}") {
            let _ = nanos(&text, TimeUnit::Seconds);
            let _ = nanos(&text, TimeUnit::Date);
        }
    }
}
