//! A whole-numbered quantity that jumps at events, weighted by how long it held each value: slots in use, queue lengths,
//! blocks, a busy flag (0 or 1).

use crate::units::{SimTime, Span};

use super::rank::share_of;

/// Values below this have a cell of their own.
const EXACT_VALUES: u64 = 1024;
/// Beyond, each octave has this many cells, so that a cell's middle is within 0.2 % of its values.
const CELLS_PER_OCTAVE: u64 = 256;

/// A step function of simulated time that is being recorded.
///
/// What happens within one instant leaves no trace: a value counts only if it held for some time, so the measures do
/// not depend on the order of events at one instant. Time must not run backwards.
///
/// ```
/// use shedcast::stats::TimeWeighted;
/// use shedcast::units::SimTime;
///
/// let second = |s: u64| SimTime::from_nanos(s * 1_000_000_000);
/// let mut queue = TimeWeighted::new(second(0), 0).with_limit(3);
/// queue.set(second(2), 3);
/// queue.set(second(6), 1);
/// let window = queue.window_at(second(8));
/// assert_eq!(window.mean(), Some(1.75));
/// assert_eq!(window.share_at_limit(), Some(0.5));
/// ```
#[derive(Clone, Debug)]
pub struct TimeWeighted {
    value: u64,
    since: SimTime,
    /// `u64::MAX` without a limit.
    limit: u64,
    /// Nanoseconds per value, see `cell_of`; as long as the greatest value asks for. Values below [`EXACT_VALUES`] have
    /// cells of their own, from which all else can be told: recording one costs an addition.
    cells: Vec<u64>,
    /// What the cells of greater values do not tell.
    beyond: Beyond,
}

/// Exact figures of the values from [`EXACT_VALUES`] on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Beyond {
    integral: u128,
    at_limit: u64,
    greatest: u64,
    /// Meaningless while `greatest` is 0.
    least: u64,
}

/// What a step function did over a stretch of time, or over several of them merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    length: u64,
    /// Sum of value times nanoseconds.
    integral: u128,
    at_limit: u64,
    limited: bool,
    /// Nanoseconds per value, see `cell_of`.
    cells: Vec<u64>,
    /// The greatest value held for some time.
    greatest: u64,
    /// The least one; meaningless while `length` is 0.
    least: u64,
}

impl TimeWeighted {
    /// A quantity that has `value` from `start` on.
    pub const fn new(start: SimTime, value: u64) -> Self {
        let beyond = Beyond { integral: 0, at_limit: 0, greatest: 0, least: 0 };
        Self { value, since: start, limit: u64::MAX, cells: Vec::new(), beyond }
    }

    /// Also takes the time during which the value is at or above `limit`, exactly.
    #[must_use]
    pub const fn with_limit(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    /// The value is `value` from `now` on. Setting it to what it is changes nothing.
    #[inline]
    pub fn set(&mut self, now: SimTime, value: u64) {
        if value != self.value {
            self.advance(now);
            self.value = value;
        }
    }

    /// The current value.
    #[inline]
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// What happened from the start, or the last cut, to `now`.
    pub fn window_at(&self, now: SimTime) -> Window {
        self.clone().cut(now)
    }

    /// Ends the window at `now` and returns it; a new one begins there with the value as it is. For a warm-up cut the
    /// returned window is dropped, for a phase it is kept.
    pub fn cut(&mut self, now: SimTime) -> Window {
        self.advance(now);
        Window::of(std::mem::take(&mut self.cells), std::mem::take(&mut self.beyond), self.limit)
    }

    #[inline]
    fn advance(&mut self, now: SimTime) {
        let held = now.since(self.since).as_nanos();
        self.since = now;
        match self.cells.get_mut(self.value as usize) {
            Some(cell) if self.value < EXACT_VALUES => *cell += held,
            _ if held > 0 => self.add_rare(held),
            _ => {}
        }
    }

    /// A value that was not held before, or that is not its own cell.
    #[cold]
    fn add_rare(&mut self, held: u64) {
        let value = self.value;
        let cell = cell_of(value);
        if cell >= self.cells.len() {
            self.cells.resize(cell + 1, 0);
        }
        self.cells[cell] += held;
        if value >= EXACT_VALUES {
            let beyond = &mut self.beyond;
            beyond.integral += u128::from(value) * u128::from(held);
            beyond.at_limit += if value >= self.limit { held } else { 0 };
            beyond.least = if beyond.greatest == 0 { value } else { beyond.least.min(value) };
            beyond.greatest = beyond.greatest.max(value);
        }
    }
}

impl Window {
    /// The window whose time per value is `cells`.
    fn of(mut cells: Vec<u64>, beyond: Beyond, limit: u64) -> Self {
        while cells.last() == Some(&0) {
            cells.pop();
        }
        let exact = &cells[..cells.len().min(EXACT_VALUES as usize)];
        let held = || exact.iter().zip(0u64..).filter(|(time, _)| **time > 0);
        let greatest = if beyond.greatest > 0 { Some(beyond.greatest) } else { held().last().map(|(_, v)| v) };
        let least = held().next().map(|(_, v)| v).unwrap_or(beyond.least);
        Self {
            length: cells.iter().sum(),
            integral: held().map(|(&time, v)| u128::from(v) * u128::from(time)).sum::<u128>() + beyond.integral,
            at_limit: held().filter(|(_, v)| *v >= limit).map(|(time, _)| time).sum::<u64>() + beyond.at_limit,
            limited: limit != u64::MAX,
            greatest: greatest.unwrap_or(0),
            least,
            cells,
        }
    }

    /// Joins another window to this one: a further phase of the same quantity, or the same phase of another one
    /// (then the mean is the mean of both, weighted by time, not their sum).
    pub fn merge(&mut self, other: &Self) {
        if other.length == 0 {
            return;
        }
        if self.length == 0 {
            self.clone_from(other);
            return;
        }
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
        self.length += other.length;
        self.integral += other.integral;
        self.limited &= other.limited;
        self.at_limit += other.at_limit;
        if self.cells.len() < other.cells.len() {
            self.cells.resize(other.cells.len(), 0);
        }
        self.cells.iter_mut().zip(&other.cells).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// How long the window is in all.
    pub const fn length(&self) -> Span {
        Span::from_nanos(self.length)
    }

    /// The integral of the value over time, in value nanoseconds, exact.
    pub const fn integral(&self) -> u128 {
        self.integral
    }

    /// The time-weighted mean; `None` of an empty window.
    pub fn mean(&self) -> Option<f64> {
        (self.length > 0).then(|| self.integral as f64 / self.length as f64)
    }

    /// The greatest value that held for some time; `None` of an empty window.
    pub fn max(&self) -> Option<u64> {
        (self.length > 0).then_some(self.greatest)
    }

    /// The least value that held for some time; `None` of an empty window.
    pub fn min(&self) -> Option<u64> {
        (self.length > 0).then_some(self.least)
    }

    /// The quantile `p` in [0, 1] by time: the least value with at least a share p of the time spent at or below it;
    /// `None` of an empty window. Exact below 1024, within 0.2 % above; 0 and 1 give the exact extremes.
    pub fn quantile(&self, p: f64) -> Option<u64> {
        if self.length == 0 {
            return None;
        }
        let wanted = share_of(self.length, p).max(1);
        if wanted == self.length {
            return Some(self.greatest);
        }
        let mut below = 0;
        let cell = self.cells.iter().position(|&time| {
            below += time;
            below >= wanted
        });
        let cell = cell.expect("the cells sum to the length");
        Some(middle_of(cell).clamp(self.least, self.greatest))
    }

    /// The time at or above the limit given to [`TimeWeighted::with_limit`]; `None` without one.
    pub fn time_at_limit(&self) -> Option<Span> {
        self.limited.then_some(Span::from_nanos(self.at_limit))
    }

    /// The share of time at or above the limit given to [`TimeWeighted::with_limit`], exact; `None` without one or of an
    /// empty window. Of merged windows of several quantities, each counts against its own limit.
    pub fn share_at_limit(&self) -> Option<f64> {
        (self.limited && self.length > 0).then(|| self.at_limit as f64 / self.length as f64)
    }

    /// The share of time at or above any `limit`; `None` of an empty window. Exact for limits up to 1024; above, a cell
    /// counts whole if its middle is at or above the limit.
    pub fn share_at_or_above(&self, limit: u64) -> Option<f64> {
        (self.length > 0).then(|| {
            let first = (0..self.cells.len()).find(|&cell| middle_of(cell) >= limit).unwrap_or(self.cells.len());
            self.cells[first..].iter().sum::<u64>() as f64 / self.length as f64
        })
    }

    /// The values held and the share of time of each, ascending, for charts; values from 1024 on by cells.
    pub fn distribution(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let shown = self.cells.iter().enumerate().filter(|(_, time)| **time > 0);
        shown.map(|(cell, &time)| (middle_of(cell), time as f64 / self.length as f64))
    }
}

/// The cell of a value: its own below 1024, then 256 to an octave.
#[inline]
fn cell_of(value: u64) -> usize {
    if value < EXACT_VALUES {
        return value as usize;
    }
    let octave = u64::from(value.ilog2());
    let within = (value >> (octave - CELLS_PER_OCTAVE.ilog2() as u64)) - CELLS_PER_OCTAVE;
    (EXACT_VALUES + (octave - EXACT_VALUES.ilog2() as u64) * CELLS_PER_OCTAVE + within) as usize
}

/// The middle value of a cell.
fn middle_of(cell: usize) -> u64 {
    let cell = cell as u64;
    if cell < EXACT_VALUES {
        return cell;
    }
    let octave = (cell - EXACT_VALUES) / CELLS_PER_OCTAVE + EXACT_VALUES.ilog2() as u64;
    let within = (cell - EXACT_VALUES) % CELLS_PER_OCTAVE;
    let shift = octave - CELLS_PER_OCTAVE.ilog2() as u64;
    ((CELLS_PER_OCTAVE + within) << shift) + (1 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TENTH: u64 = 100_000_000;

    fn tenths(t: u64) -> SimTime {
        SimTime::from_nanos(t * TENTH)
    }

    #[test]
    fn a_cut_keeps_the_queue_as_it_is() {
        // N = 1, service 1 s, requests at 2.5, 2.6, 2.7, 2.8: the queue is 3 when statistics begin at 3.
        let mut queue = TimeWeighted::new(SimTime::ZERO, 0);
        [(26, 1), (27, 2), (28, 3)].into_iter().for_each(|(at, depth)| queue.set(tenths(at), depth));
        queue.cut(tenths(30));
        assert_eq!(queue.value(), 3);
        [(35, 2), (45, 1), (55, 0)].into_iter().for_each(|(at, depth)| queue.set(tenths(at), depth));
        let window = queue.window_at(tenths(55));
        assert_eq!((window.mean(), window.max(), window.min()), (Some(1.8), Some(3), Some(1)));
        assert_eq!(window.integral(), 45 * u128::from(TENTH));
    }

    #[test]
    fn what_passes_within_one_instant_leaves_no_trace() {
        let mut queue = TimeWeighted::new(SimTime::ZERO, 1);
        queue.set(tenths(5), 9);
        queue.set(tenths(5), 2);
        queue.set(tenths(10), 7);
        assert_eq!((queue.window_at(tenths(10)).max(), queue.value()), (Some(2), 7));
    }

    #[test]
    fn an_empty_window_has_no_figures() {
        let queue = TimeWeighted::new(tenths(3), 4).with_limit(4);
        let window = queue.window_at(tenths(3));
        assert_eq!((window.mean(), window.quantile(0.5), window.max(), window.share_at_limit()), (None, None, None, None));
        assert_eq!((window.share_at_or_above(0), window.distribution().count()), (None, 0));
    }

    #[test]
    fn quantiles_and_shares_are_by_time() {
        let mut slots = TimeWeighted::new(SimTime::ZERO, 0).with_limit(4);
        [(50, 4), (80, 5), (90, 2)].into_iter().for_each(|(at, value)| slots.set(tenths(at), value));
        let window = slots.window_at(tenths(100));
        assert_eq!([0.0, 0.5, 0.6, 0.61, 0.9, 0.91, 1.0].map(|p| window.quantile(p).unwrap()), [0, 0, 2, 4, 4, 5, 5]);
        assert_eq!((window.share_at_limit(), window.share_at_or_above(5)), (Some(0.4), Some(0.1)));
        assert_eq!(window.time_at_limit(), Some(Span::from_secs(4)));
        assert_eq!(window.distribution().collect::<Vec<_>>(), [(0, 0.5), (2, 0.1), (4, 0.3), (5, 0.1)]);
    }

    #[test]
    fn large_values_are_told_within_a_fifth_of_a_percent() {
        for value in (0..64).flat_map(|e| [1u64 << e, (1 << e) + (1 << e) / 3, (1u64 << e) - 1 + (1 << e)]) {
            let middle = middle_of(cell_of(value));
            assert!(middle.abs_diff(value) as f64 <= 0.002 * value as f64, "{value}: {middle}");
            assert!(value >= EXACT_VALUES || middle == value);
        }
        assert!((1..200_000u64).all(|v| cell_of(v) == cell_of(v - 1) || cell_of(v) == cell_of(v - 1) + 1));
    }

    proptest! {
        #[test]
        fn phases_merged_equal_the_whole(steps in prop::collection::vec((0u64..50, 0u64..3000), 1..80), cuts in prop::collection::vec(any::<bool>(), 80)) {
            let mut whole = TimeWeighted::new(SimTime::ZERO, 2).with_limit(1500);
            let mut cut = whole.clone();
            let (mut now, mut total) = (SimTime::ZERO, Window::default());
            let (mut integral, mut value) = (0u128, 2u64);
            for (&(wait, next), &here) in steps.iter().zip(&cuts) {
                now += Span::from_nanos(wait);
                integral += u128::from(wait * value);
                if here {
                    total.merge(&cut.cut(now));
                }
                whole.set(now, next);
                cut.set(now, next);
                value = next;
            }
            total.merge(&cut.cut(now));
            let expected = whole.window_at(now);
            prop_assert_eq!(expected.integral(), integral);
            prop_assert_eq!(expected.length(), now.since(SimTime::ZERO));
            if expected.length > 0 {
                prop_assert_eq!(total, expected);
            }
        }

        #[test]
        fn quantiles_by_time_agree_with_a_sorted_list(steps in prop::collection::vec((1u64..20, 0u64..1024), 1..40), p in 0.0f64..=1.0) {
            let mut quantity = TimeWeighted::new(SimTime::ZERO, steps[0].1);
            let (mut now, mut unrolled) = (SimTime::ZERO, Vec::new());
            for &(held, value) in &steps {
                quantity.set(now, value);
                now += Span::from_nanos(held);
                unrolled.extend(std::iter::repeat_n(value, held as usize));
            }
            unrolled.sort_unstable();
            let rank = crate::stats::RankRule::NearestRank.rank(unrolled.len() as u64, p).unwrap();
            prop_assert_eq!(quantity.window_at(now).quantile(p), Some(unrolled[rank as usize - 1]));
        }
    }
}
