//! Quantiles of many values in bounded memory.

use std::borrow::Cow;
use std::fmt;

use hdrhistogram::Histogram;
use hdrhistogram::iterators::{self, HistogramIterator};

use super::rank::RankRule;

/// Up to this many values are kept as they are, so that every quantile is exact.
pub const EXACT_LIMIT: usize = 1 << 15;
/// Values that wait to be counted in the histogram: counted together, they wait for memory together.
const BATCH: usize = 256;
/// Significant decimal digits of the histogram beyond: a cell is at most 1/1024 of its value wide.
const SIGNIFICANT_DIGITS: u8 = 3;

/// A recorder of non-negative whole values (spans in nanoseconds, or counts) of which it tells quantiles, mean and
/// extremes.
///
/// Count, sum, mean, least and greatest are always exact. Quantiles are exact up to [`EXACT_LIMIT`] values; beyond, the
/// values live in an HDR histogram (Gil Tene's) and a quantile is the middle of its cell, at most 0.05 % from the sample
/// that has the rank. Memory: at most 256 KiB of kept values, or 8 KiB of histogram per octave of the range seen.
/// The state depends on the values alone, not on their order nor on how they were split over merged recorders.
#[derive(Clone, Debug, Default)]
pub struct Quantiles {
    count: u64,
    sum: u128,
    /// Meaningless while `count` is 0.
    least: u64,
    greatest: u64,
    store: Store,
}

#[derive(Clone, Debug)]
enum Store {
    Exact { values: Vec<u64>, sorted: bool },
    Histogram(Box<Cells>),
}

/// A histogram, and values that are not counted in it yet.
#[derive(Clone, Debug)]
struct Cells {
    counted: Histogram<u64>,
    waiting: Vec<u64>,
}

impl Cells {
    #[inline]
    fn record(&mut self, value: u64) {
        self.waiting.push(value);
        if self.waiting.len() == BATCH {
            self.count();
        }
    }

    /// Counts the values that wait.
    fn count(&mut self) {
        self.waiting.drain(..).for_each(|value| self.counted.record(value).expect(AUTO_RESIZES));
    }

    /// The histogram with every value in it.
    fn complete(&self) -> Cow<'_, Histogram<u64>> {
        if self.waiting.is_empty() {
            return Cow::Borrowed(&self.counted);
        }
        let mut all = self.counted.clone();
        self.waiting.iter().for_each(|&value| all.record(value).expect(AUTO_RESIZES));
        Cow::Owned(all)
    }
}

impl Default for Store {
    fn default() -> Self {
        Self::Exact { values: Vec::new(), sorted: true }
    }
}

/// How a recorder arrives at its quantiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantileMethod {
    /// Every value was kept: the quantile is a sample.
    Exact,
    /// HDR histogram: within 0.05 % of the sample.
    Histogram,
}

impl fmt::Display for QuantileMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exact => "exact nearest rank",
            Self::Histogram => "nearest rank in an HDR histogram, 3 significant digits (within 0.05 %)",
        })
    }
}

impl Quantiles {
    /// An empty recorder; it allocates nothing until the first value.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in one value. Costs a few nanoseconds, and no allocation once the store has grown.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.account(value, 1);
        match &mut self.store {
            Store::Exact { values, sorted } if values.len() < EXACT_LIMIT => {
                values.push(value);
                *sorted = false;
            }
            Store::Exact { .. } => self.spill().record(value),
            Store::Histogram(cells) => cells.record(value),
        }
    }

    /// Takes in `times` equal values at once.
    pub fn record_n(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.account(value, times);
        match &mut self.store {
            Store::Exact { values, sorted } if times <= (EXACT_LIMIT - values.len()) as u64 => {
                values.extend(std::iter::repeat_n(value, times as usize));
                *sorted = false;
            }
            _ => self.spill().counted.record_n(value, times).expect(AUTO_RESIZES),
        }
    }

    /// Takes in all that `other` recorded.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.least = if self.count == 0 { other.least } else { self.least.min(other.least) };
        self.greatest = self.greatest.max(other.greatest);
        self.count += other.count;
        self.sum += other.sum;
        match (&mut self.store, &other.store) {
            (Store::Exact { values, sorted }, Store::Exact { values: more, .. }) if values.len() + more.len() <= EXACT_LIMIT => {
                values.extend_from_slice(more);
                *sorted = false;
            }
            (_, Store::Exact { values, .. }) => {
                let cells = self.spill();
                values.iter().for_each(|&value| cells.record(value));
                cells.count();
            }
            (_, Store::Histogram(more)) => {
                let cells = self.spill();
                cells.count();
                cells.counted.add(&*more.complete()).expect(AUTO_RESIZES);
            }
        }
    }

    /// Sorts the kept values, so that reading many quantiles costs one sort. Reading works without it.
    pub fn sort(&mut self) {
        match &mut self.store {
            Store::Exact { sorted: true, .. } => {}
            Store::Exact { values, sorted } => {
                values.sort_unstable();
                *sorted = true;
            }
            Store::Histogram(cells) => cells.count(),
        }
    }

    /// How many values were recorded.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Whether nothing was recorded.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The exact sum of all values.
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// The mean, from the exact sum; `None` of no values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The least value, exact; `None` of no values.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.least)
    }

    /// The greatest value, exact; `None` of no values.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.greatest)
    }

    /// How quantiles are found, with the bound of their error.
    pub fn method(&self) -> QuantileMethod {
        match self.store {
            Store::Exact { .. } => QuantileMethod::Exact,
            Store::Histogram(_) => QuantileMethod::Histogram,
        }
    }

    /// The quantile `p` in [0, 1] by the nearest rank; `None` of no values.
    pub fn quantile(&self, p: f64) -> Option<u64> {
        self.quantile_by(RankRule::NearestRank, p)
    }

    /// The quantile `p` in [0, 1] by the given rule; `None` of no values. Never falls as `p` grows.
    pub fn quantile_by(&self, rule: RankRule, p: f64) -> Option<u64> {
        self.at_rank(rule.rank(self.count, p)?)
    }

    /// The quantiles `shares`, which rise, by the nearest rank: in one pass over the values however many there are. Empty of no values.
    pub fn quantiles(&self, shares: impl Iterator<Item = f64>) -> Vec<u64> {
        let ranks = shares.filter_map(|p| RankRule::NearestRank.rank(self.count, p));
        match &self.store {
            Store::Exact { values, sorted } => {
                let mut values = Cow::Borrowed(values);
                if !sorted {
                    values.to_mut().sort_unstable();
                }
                ranks.map(|rank| values[rank as usize - 1]).collect()
            }
            Store::Histogram(cells) => {
                let histogram = cells.complete();
                let mut walk = Walk::over(&histogram);
                ranks.map(|rank| self.extreme(rank).unwrap_or_else(|| self.middle(&histogram, walk.cell_of_rank(rank)))).collect()
            }
        }
    }

    /// The value of a rank that is known exactly.
    fn extreme(&self, rank: u64) -> Option<u64> {
        match rank {
            1 => Some(self.least),
            _ if rank == self.count => Some(self.greatest),
            _ => None,
        }
    }

    /// What stands for the values in a cell.
    fn middle(&self, histogram: &Histogram<u64>, cell: u64) -> u64 {
        histogram.median_equivalent(cell).clamp(self.least, self.greatest)
    }

    /// The value of rank `rank`, counted from 1 in ascending order; `None` outside 1..=count.
    ///
    /// The ranks 1 and count give the exact extremes under either method.
    pub fn at_rank(&self, rank: u64) -> Option<u64> {
        if rank == 0 || rank > self.count {
            return None;
        }
        if let extreme @ Some(_) = self.extreme(rank) {
            return extreme;
        }
        Some(match &self.store {
            Store::Exact { values, sorted: true } => values[rank as usize - 1],
            Store::Exact { values, sorted: false } => *values.clone().select_nth_unstable(rank as usize - 1).1,
            Store::Histogram(cells) => {
                let histogram = cells.complete();
                self.middle(&histogram, Walk::over(&histogram).cell_of_rank(rank))
            }
        })
    }

    /// How many values are at or below `limit`: exact while values are kept, else a cell counts if its middle does.
    pub fn count_at_or_below(&self, limit: u64) -> u64 {
        if self.count > 0 && limit >= self.greatest {
            return self.count;
        }
        match &self.store {
            Store::Exact { values, sorted: true } => values.partition_point(|&value| value <= limit) as u64,
            Store::Exact { values, sorted: false } => values.iter().filter(|&&value| value <= limit).count() as u64,
            Store::Histogram(cells) => {
                let histogram = cells.complete();
                let cells = histogram.iter_recorded();
                let below = cells.take_while(|cell| histogram.median_equivalent(cell.value_iterated_to()) <= limit);
                below.map(|cell| cell.count_since_last_iteration()).sum()
            }
        }
    }

    #[inline]
    fn account(&mut self, value: u64, times: u64) {
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.greatest = self.greatest.max(value);
        self.count += times;
        self.sum += u128::from(value) * u128::from(times);
    }

    /// The histogram; the kept values move into it first.
    #[cold]
    fn spill(&mut self) -> &mut Cells {
        if let Store::Exact { values, .. } = &self.store {
            let mut counted = Histogram::new(SIGNIFICANT_DIGITS).expect("three digits are within 0 to 5");
            values.iter().for_each(|&value| counted.record(value).expect(AUTO_RESIZES));
            self.store = Store::Histogram(Box::new(Cells { counted, waiting: Vec::with_capacity(BATCH) }));
        }
        match &mut self.store {
            Store::Histogram(cells) => cells,
            Store::Exact { .. } => unreachable!("the store was replaced above"),
        }
    }
}

const AUTO_RESIZES: &str = "an auto-resizing histogram takes every u64";

/// A walk up the cells of a histogram.
struct Walk<'a> {
    ahead: HistogramIterator<'a, u64, iterators::recorded::Iter>,
    /// Values in the cells passed so far.
    passed: u64,
    /// A value of the last of these.
    cell: u64,
}

impl<'a> Walk<'a> {
    fn over(histogram: &'a Histogram<u64>) -> Self {
        Self { ahead: histogram.iter_recorded(), passed: 0, cell: 0 }
    }

    /// A value of the cell that holds the sample of rank `rank`, which is at least 1, at most the count and not below the last.
    fn cell_of_rank(&mut self, rank: u64) -> u64 {
        while self.passed < rank {
            let cell = self.ahead.next().expect("a rank is at most the count");
            self.passed += cell.count_since_last_iteration();
            self.cell = cell.value_iterated_to();
        }
        self.cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Quantiles {
        let mut quantiles = Quantiles::new();
        values.into_iter().for_each(|value| quantiles.record(value));
        quantiles
    }

    /// A spread over many octaves that needs no generator: multiples of an odd number, shifted.
    fn scattered(n: u64) -> impl Iterator<Item = u64> {
        (0..n).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (20 + i % 30))
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let three = of([425_700, 42_800, 42_900]);
        assert_eq!([0.5, 0.75, 1.0].map(|p| three.quantile(p)), [Some(42_900), Some(425_700), Some(425_700)]);
        let one = of([580]);
        assert!([0.0, 0.5, 0.9, 0.99, 1.0].iter().all(|&p| one.quantile(p) == Some(580)));
        let hundred = of((1..=100).rev());
        assert_eq!([0.5, 0.9, 0.99, 0.07].map(|p| hundred.quantile(p)), [Some(50), Some(90), Some(99), Some(7)]);
        assert_eq!(hundred.quantile_by(RankRule::RoundedRank, 0.5), Some(51));
        assert_eq!(hundred.mean(), Some(50.5));
    }

    #[test]
    fn nothing_recorded_gives_nothing() {
        let mut empty = Quantiles::new();
        empty.record_n(5, 0);
        empty.merge(&Quantiles::new());
        assert_eq!((empty.quantile(0.5), empty.mean(), empty.min(), empty.max()), (None, None, None, None));
        assert_eq!((empty.count(), empty.count_at_or_below(9), empty.at_rank(0), empty.at_rank(1)), (0, 0, None, None));
    }

    #[test]
    fn beyond_the_exact_limit_a_quantile_is_within_its_stated_error() {
        let n = 4 * EXACT_LIMIT as u64 + 7;
        let quantiles = of(scattered(n));
        let mut sorted: Vec<u64> = scattered(n).collect();
        sorted.sort_unstable();
        assert_eq!(quantiles.method(), QuantileMethod::Histogram);
        for p in (0..=1000).map(|i| f64::from(i) / 1000.0) {
            let exact = sorted[RankRule::NearestRank.rank(n, p).unwrap() as usize - 1];
            let got = quantiles.quantile(p).unwrap();
            assert!(got.abs_diff(exact) as f64 <= 0.0005 * exact as f64, "p = {p}: {got} for {exact}");
        }
        assert_eq!((quantiles.min(), quantiles.max()), (sorted.first().copied(), sorted.last().copied()));
        assert_eq!(quantiles.sum(), sorted.iter().map(|&v| u128::from(v)).sum());
    }

    #[test]
    fn the_limit_itself_is_still_exact() {
        let mut quantiles = of(0..EXACT_LIMIT as u64);
        assert_eq!((quantiles.method(), quantiles.quantile(0.5)), (QuantileMethod::Exact, Some(EXACT_LIMIT as u64 / 2 - 1)));
        quantiles.record(3);
        assert_eq!(quantiles.method(), QuantileMethod::Histogram);
    }

    #[test]
    fn the_whole_range_of_the_clock_is_taken() {
        let mut quantiles = of(std::iter::repeat_n(7, EXACT_LIMIT));
        [0, 1, u64::MAX / 2, u64::MAX, u64::MAX].into_iter().for_each(|value| quantiles.record(value));
        assert_eq!((quantiles.min(), quantiles.max(), quantiles.quantile(0.5)), (Some(0), Some(u64::MAX), Some(7)));
        let second = quantiles.at_rank(quantiles.count() - 1).unwrap();
        assert!(second as f64 > 0.999 * u64::MAX as f64);
    }

    #[test]
    fn memory_stays_bounded_and_counts_do_not_wrap() {
        let mut quantiles = Quantiles::new();
        quantiles.record_n(1_000_000, 3_000_000_000);
        quantiles.record_n(2_000_000, 1_000_000_000);
        assert_eq!((quantiles.count(), quantiles.mean()), (4_000_000_000, Some(1_250_000.0)));
        assert_eq!(quantiles.count_at_or_below(1_500_000), 3_000_000_000);
        assert!(quantiles.quantile(0.75).unwrap().abs_diff(1_000_000) <= 500);
        assert_eq!(quantiles.quantile(1.0), Some(2_000_000));
    }

    proptest! {
        #[test]
        fn quantiles_never_fall_and_never_pass_the_extremes(values in prop::collection::vec(any::<u64>(), 1..300), times in 1u64..300) {
            let mut quantiles = Quantiles::new();
            values.iter().for_each(|&value| quantiles.record_n(value >> 8, times));
            let read: Vec<u64> = [0.0, 0.5, 0.9, 0.95, 0.99, 1.0].iter().map(|&p| quantiles.quantile(p).unwrap()).collect();
            prop_assert!(read.is_sorted());
            prop_assert_eq!((read[0], read[5]), (quantiles.min().unwrap(), quantiles.max().unwrap()));
            prop_assert_eq!(quantiles.quantiles([0.0, 0.5, 0.9, 0.95, 0.99, 1.0].into_iter()), read);
        }

        #[test]
        fn merging_equals_recording_all_in_one(a in 0usize..40_000, b in 0usize..40_000, p in 0.0f64..=1.0) {
            let all: Vec<u64> = scattered((a + b) as u64).collect();
            let mut merged = of(all[a..].iter().copied());
            merged.sort();
            merged.merge(&of(all[..a].iter().copied()));
            let whole = of(all);
            prop_assert_eq!(merged.quantile(p), whole.quantile(p));
            prop_assert_eq!((merged.sum(), merged.count(), merged.method()), (whole.sum(), whole.count(), whole.method()));
            prop_assert_eq!((merged.min(), merged.max()), (whole.min(), whole.max()));
            prop_assert_eq!(merged.count_at_or_below(1 << 20), whole.count_at_or_below(1 << 20));
        }

        #[test]
        fn sorting_changes_nothing_but_the_cost(values in prop::collection::vec(0u64..1000, 1..200), p in 0.0f64..=1.0) {
            let lazy = of(values.iter().copied());
            let mut sorted = lazy.clone();
            sorted.sort();
            prop_assert_eq!(lazy.quantile(p), sorted.quantile(p));
            prop_assert_eq!(lazy.count_at_or_below(500), sorted.count_at_or_below(500));
        }
    }
}
