//! Time series that stay small however long the run, and never lose a peak.

use crate::units::{SimTime, Span};

/// A point of a time series that can take in its successor.
pub trait Merge {
    /// Makes this point stand for its own interval and the next one, which `later` describes: counts add, states become
    /// the later ones, peaks the greater ones.
    fn merge(&mut self, later: &Self);
}

/// A series of points over equal, adjoining intervals, of which at most `2 n` are kept: when they are full, neighbours
/// merge in pairs and the interval doubles.
///
/// The caller asks when the open interval ends ([`next_boundary`](Self::next_boundary)) and pushes there the point that
/// covers it. Since a point carries counts and peaks over its interval, not only a sample of its end, a series of
/// doubled intervals equals one taken at them from the start.
#[derive(Clone, Debug)]
pub struct ThinnedSeries<P> {
    start: SimTime,
    interval: Span,
    capacity: usize,
    points: Vec<P>,
    /// The last point, if the run ended inside its interval, with the instant of that end.
    partial: Option<(P, SimTime)>,
}

/// One point of a series with the stretch of time it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesPoint<'a, P> {
    /// Where its interval begins.
    pub start: SimTime,
    /// Where its interval ends.
    pub end: SimTime,
    /// What happened in it.
    pub value: &'a P,
}

impl<P: Merge> ThinnedSeries<P> {
    /// An empty series from `start` on with intervals of `interval` (at least 1 ns), which keeps at most
    /// `2 * half_capacity` points (`half_capacity` at least 1) and so never fewer than `half_capacity` once it was full.
    pub fn new(start: SimTime, interval: Span, half_capacity: usize) -> Self {
        let interval = interval.max(Span::from_nanos(1));
        let capacity = half_capacity.max(1).saturating_mul(2);
        Self { start, interval, capacity, points: Vec::with_capacity(capacity), partial: None }
    }

    /// The current length of an interval: the first one times a power of two.
    pub const fn interval(&self) -> Span {
        self.interval
    }

    /// The end of the open interval: when the next point is due. At most [`SimTime::NEVER`].
    pub fn next_boundary(&self) -> SimTime {
        self.boundary(self.points.len() + 1)
    }

    /// Adds the point that covers the open interval, to be called at [`next_boundary`](Self::next_boundary). Allocates
    /// nothing.
    pub fn push(&mut self, point: P) {
        self.points.push(point);
        if self.points.len() == self.capacity {
            self.double();
        }
    }

    /// Ends the series inside the open interval, at `end`, with the point that covers its part.
    pub fn finish(&mut self, point: P, end: SimTime) {
        self.partial = Some((point, end));
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.points.len() + usize::from(self.partial.is_some())
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The points in order of time; the last one may cover less than an interval.
    pub fn points(&self) -> impl Iterator<Item = SeriesPoint<'_, P>> + '_ {
        let full = self.points.iter().enumerate();
        let full = full.map(|(i, value)| SeriesPoint { start: self.boundary(i), end: self.boundary(i + 1), value });
        let partial = self.partial.iter();
        full.chain(partial.map(|(value, end)| SeriesPoint { start: self.boundary(self.points.len()), end: *end, value }))
    }

    /// The points that cover a whole interval each, for statistics that need equal spacing.
    pub fn full_points(&self) -> &[P] {
        &self.points
    }

    fn boundary(&self, index: usize) -> SimTime {
        self.start.saturating_add(self.interval.saturating_mul(index as u64))
    }

    /// Merges neighbours in place; the number of points is even.
    fn double(&mut self) {
        let half = self.points.len() / 2;
        for i in 0..half {
            self.points.swap(i, 2 * i);
            // What stood at 2i + 1 is still there: earlier rounds touched only indices below 2i.
            let (head, tail) = self.points.split_at_mut(2 * i + 1);
            head[i].merge(&tail[0]);
        }
        self.points.truncate(half);
        self.interval = self.interval.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Depth {
        arrivals: u64,
        last: u64,
        peak: u64,
    }

    impl Merge for Depth {
        fn merge(&mut self, later: &Self) {
            self.arrivals += later.arrivals;
            self.last = later.last;
            self.peak = self.peak.max(later.peak);
        }
    }

    fn depth(value: u64) -> Depth {
        Depth { arrivals: 1, last: value, peak: value }
    }

    #[test]
    fn a_peak_survives_every_doubling() {
        let mut series = ThinnedSeries::new(SimTime::ZERO, Span::from_secs(1), 4);
        let mut pending = depth(0);
        for second in 1..=1000u64 {
            let now = SimTime::ZERO + Span::from_secs(second);
            let seen = depth(if second == 417 { 99 } else { second % 5 });
            if pending.arrivals == 0 {
                pending = seen
            } else {
                pending.merge(&seen)
            }
            if now == series.next_boundary() {
                series.push(std::mem::replace(&mut pending, Depth { arrivals: 0, last: 0, peak: 0 }));
            }
        }
        series.finish(pending, SimTime::ZERO + Span::from_secs(1000));
        assert!(series.len() <= 9 && series.interval() == Span::from_secs(128));
        assert_eq!(series.points().map(|p| p.value.peak).max(), Some(99));
        assert_eq!(series.points().map(|p| p.value.arrivals).sum::<u64>(), 1001);
        assert_eq!(series.points().last().map(|p| p.end), Some(SimTime::ZERO + Span::from_secs(1000)));
    }

    #[test]
    fn the_end_of_the_clock_is_no_overflow() {
        let mut series = ThinnedSeries::new(SimTime::from_nanos(5), Span::from_nanos(u64::MAX / 2), 1);
        (0..6).for_each(|i| series.push(depth(i)));
        assert_eq!(series.next_boundary(), SimTime::NEVER);
    }

    proptest! {
        #[test]
        fn doubling_equals_merging_pairs(values in prop::collection::vec(0u64..100, 0..200), half in 1usize..9) {
            let mut series = ThinnedSeries::new(SimTime::from_nanos(7), Span::from_nanos(10), half);
            // Interval and points as a plain reference keeps them: all base points, merged at the end.
            let mut taken = 0;
            while let Some(chunk) = values.get(taken..taken + (series.interval().as_nanos() / 10) as usize).filter(|c| !c.is_empty()) {
                let mut point = depth(chunk[0]);
                chunk[1..].iter().for_each(|&value| point.merge(&depth(value)));
                series.push(point);
                taken += chunk.len();
            }
            let stride = (series.interval().as_nanos() / 10) as usize;
            let expected: Vec<Depth> = values[..taken].chunks(stride).map(|chunk| Depth {
                arrivals: chunk.len() as u64,
                last: chunk[chunk.len() - 1],
                peak: *chunk.iter().max().unwrap(),
            }).collect();
            prop_assert_eq!(series.full_points(), &expected[..]);
            prop_assert!(series.len() < 2 * half || half == 0);
            let mut end = SimTime::from_nanos(7);
            for point in series.points() {
                prop_assert_eq!(point.start, end);
                end = point.end;
            }
            prop_assert_eq!(series.next_boundary(), end + series.interval());
        }
    }
}
