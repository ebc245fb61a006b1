//! The date at which simulated time begins, where something outside counts in dates.

use std::fmt;
use std::str::FromStr;

/// A date from 1970 on, in whole milliseconds: the resolution of Prometheus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch {
    /// Since 1970-01-01T00:00:00Z.
    millis: i64,
}

impl Epoch {
    /// 2026-01-01T00:00:00Z: the same for every scenario, so that runs lie over one another in a dashboard.
    pub const DEFAULT: Self = Self { millis: 1_767_225_600_000 };
    /// Last date that is taken: a run of a hundred years from there still has dates.
    const LAST: i64 = 253_370_764_800_000 - 100 * 366 * 86_400_000;

    /// Milliseconds since 1970-01-01T00:00:00Z, 0 or more.
    pub const fn millis(self) -> i64 {
        self.millis
    }
}

impl Default for Epoch {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl FromStr for Epoch {
    type Err = &'static str;

    /// Reads a date and time with its zone (RFC 3339).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let time: jiff::Timestamp = text.parse().map_err(|_| "it is no date and time with a zone")?;
        match time.as_millisecond() {
            millis if i128::from(millis) * 1_000_000 != time.as_nanosecond() => Err("it is finer than a millisecond"),
            millis if (0..=Self::LAST).contains(&millis) => Ok(Self { millis }),
            _ => Err("it is before 1970 or after 9898"),
        }
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = jiff::Timestamp::from_millisecond(self.millis).expect("an epoch is within the dates that jiff knows");
        write!(f, "{time}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_reads_back_and_what_is_none_is_refused() {
        assert_eq!(Epoch::DEFAULT.to_string(), "2026-01-01T00:00:00Z");
        for (text, shown) in [
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
            ("2026-03-01T12:30:00.25+02:00", "2026-03-01T10:30:00.25Z"),
            ("1970-01-01 00:00:00Z", "1970-01-01T00:00:00Z"),
        ] {
            let epoch: Epoch = text.parse().unwrap();
            assert_eq!((epoch.to_string(), epoch.to_string().parse()), (shown.to_owned(), Ok(epoch)));
        }
        let refused = ["2026-01-01", "now", "", "0", "1969-12-31T23:59:59Z", "9999-01-01T00:00:00Z", "2026-01-01T00:00:00.0001Z"];
        for text in refused {
            assert!(text.parse::<Epoch>().is_err(), "{text}");
        }
        assert!(Epoch { millis: Epoch::LAST }.to_string().starts_with("9898-"));
    }
}
