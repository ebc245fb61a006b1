//! What can be said of a stream of arrivals in constant memory: its head, its ticks, its rate.

use super::report::TraceWarning;
use crate::units::Span;
use crate::workload::config::TimeUnit;

/// Bins of the profile; full, their width doubles.
const BINS: usize = 1024;

/// Counts of arrivals over time, in bins that widen as the trace grows.
#[derive(Clone, Debug)]
pub(in crate::workload) struct ArrivalProfile {
    bins: Vec<u64>,
    /// Width of a bin in nanoseconds.
    width: i128,
    /// First arrival, on the clock of the source.
    start: i128,
    last: i128,
    count: u64,
    /// Gaps of 0, and the smallest other.
    ties: u64,
    smallest: i128,
}

impl ArrivalProfile {
    pub(in crate::workload) fn new() -> Self {
        Self { bins: vec![0; BINS], width: 1_000_000, start: 0, last: 0, count: 0, ties: 0, smallest: i128::MAX }
    }

    /// Counts an arrival, in nanoseconds, not before the one counted last.
    pub(in crate::workload) fn add(&mut self, at: i128) {
        if self.count == 0 {
            (self.start, self.last) = (at, at);
        } else if at == self.last {
            self.ties += 1;
        } else {
            self.smallest = self.smallest.min(at - self.last);
        }
        self.last = at;
        self.count += 1;
        let offset = at - self.start;
        while offset / self.width >= BINS as i128 {
            for i in 0..BINS {
                self.bins[i] = if i < BINS / 2 { self.bins[2 * i] + self.bins[2 * i + 1] } else { 0 };
            }
            self.width *= 2;
        }
        self.bins[(offset / self.width) as usize] += 1;
    }

    /// Rates of the first tenth of the time and of the whole, per second; the head to within one bin of 512 or more.
    fn head(&self) -> Option<(f64, f64)> {
        let span = (self.last - self.start) as f64;
        if self.count < 100 || span <= 0.0 {
            return None;
        }
        let edge = span / 10.0;
        let mut head = 0.0;
        for (i, count) in self.bins.iter().enumerate() {
            let share = (edge / self.width as f64 - i as f64).clamp(0.0, 1.0);
            head += share * *count as f64;
        }
        Some((head / edge * 1e9, self.count as f64 / span * 1e9))
    }

    /// What is noticeable about the arrivals.
    pub(in crate::workload) fn warnings(&self, unit: (TimeUnit, bool)) -> Vec<TraceWarning> {
        let mut warnings = Vec::new();
        let span = self.last - self.start;
        let rate = (self.count.saturating_sub(1)) as f64 / span as f64 * 1e9;
        let (unit, chosen) = unit;
        if self.count >= 3 && span > 0 && !chosen && unit != TimeUnit::Date && !(1.0 / 3_600.0..=1_000.0).contains(&rate) {
            warnings.push(TraceWarning::UnitDoubt { unit: unit.name(), rate });
        }
        if let Some((head, overall)) = self.head().filter(|(head, overall)| head * 10.0 < *overall || *head > overall * 10.0) {
            warnings.push(TraceWarning::UnevenHead { head, overall });
        }
        warnings.extend(self.ticks());
        warnings
    }

    /// Ticks: half the requests or more share an instant, and the instants are about evenly spaced.
    fn ticks(&self) -> Option<TraceWarning> {
        let instants = self.count - self.ties;
        if self.ties * 2 < self.count || instants < 10 {
            return None;
        }
        let mean = (self.last - self.start) / i128::from(instants - 1);
        let width = Span::from_nanos(u64::try_from(mean).ok()?);
        let share = self.ties as f64 / self.count as f64;
        (self.smallest * 2 >= mean).then_some(TraceWarning::Ticks { width, share })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i128 = 1_000_000_000;

    fn profile(times: impl IntoIterator<Item = i128>) -> ArrivalProfile {
        let mut profile = ArrivalProfile::new();
        times.into_iter().for_each(|t| profile.add(t));
        profile
    }

    #[test]
    fn a_quiet_head_is_noticed_in_constant_memory() {
        // One request each 100 s for 1,000 s, then one a second for 9,000 s.
        let quiet = profile((0..10).map(|i| i * 100 * S).chain((1_000..10_000).map(|i| i * S)));
        assert_eq!(quiet.bins.len(), BINS);
        assert_eq!(quiet.bins.iter().sum::<u64>(), 9_010);
        let warnings = quiet.warnings((TimeUnit::Seconds, false));
        let [TraceWarning::UnevenHead { head, overall }] = warnings[..] else { panic!("{warnings:?}") };
        assert!((head - 0.01).abs() < 0.002 && (overall - 0.9).abs() < 0.01, "{head} {overall}");
        assert_eq!(profile((0..10_000).map(|i| i * S)).warnings((TimeUnit::Seconds, false)), []);
    }

    #[test]
    fn ticks_and_an_unlikely_rate_are_noticed() {
        let ticks = profile((0..100).flat_map(|i| [i * 3 * S; 10]));
        let warnings = ticks.warnings((TimeUnit::Milliseconds, false));
        assert_eq!(warnings, [TraceWarning::Ticks { width: Span::from_secs(3), share: 0.9 }]);
        let fast = profile([0, 400_000, 1_200_000]);
        assert!(matches!(fast.warnings((TimeUnit::Milliseconds, false))[..], [TraceWarning::UnitDoubt { unit: "ms", .. }]));
        assert_eq!(fast.warnings((TimeUnit::Milliseconds, true)), []);
    }
}
