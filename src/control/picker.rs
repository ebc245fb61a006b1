//! How a worker is picked from the eligible ones, except by kv cost.

use super::ids::{WorkerId, WorkerMap};

/// The source of every random choice of the control code.
pub trait Choose {
    /// A whole number below `n`, each equally likely; `n` is at least 1.
    fn below(&mut self, n: u64) -> u64;
}

/// `--router-mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PickerMode {
    /// One cursor over the eligible workers.
    #[default]
    RoundRobin,
    /// Evenly at random.
    Random,
    /// The one with fewer requests in flight of two distinct random workers; the first wins ties.
    PowerOfTwo,
    /// The one with the fewest requests in flight, evenly at random on ties.
    LeastLoaded,
    /// The rank of the lowest kv cost.
    Kv,
}

/// The cursor and the in-flight counts of one frontend. A request is in flight from its pick to the end of its answer;
/// counts survive a worker's leave and return.
#[derive(Clone, Debug, Default)]
pub struct Pickers {
    cursor: u64,
    in_flight: WorkerMap<u32>,
}

impl Pickers {
    /// Pickers that have these requests in flight already; the last figure of a worker counts.
    pub fn with_in_flight(loads: impl IntoIterator<Item = (WorkerId, u32)>) -> Self {
        let mut pickers = Self::default();
        for (worker, load) in loads {
            *pickers.in_flight.entry(worker, || 0) = load;
        }
        pickers
    }

    /// A request went to `worker`.
    #[inline]
    pub fn start(&mut self, worker: WorkerId) {
        *self.in_flight.entry(worker, || 0) += 1;
    }

    /// A request that went to `worker` is over, however it ended.
    ///
    /// # Panics
    /// If none was in flight there: starts and ends come in pairs.
    #[inline]
    pub fn finish(&mut self, worker: WorkerId) {
        let count = self.in_flight.get_mut(worker).filter(|count| **count > 0);
        *count.expect("a request ends on the worker it was sent to") -= 1;
    }

    /// Requests in flight at `worker`.
    #[inline]
    pub fn in_flight(&self, worker: WorkerId) -> u32 {
        self.in_flight.get(worker).copied().unwrap_or(0)
    }

    /// A pick was made: the cursor moves on. Only round robin looks at it.
    #[inline]
    pub fn advance_cursor(&mut self) {
        self.cursor = self.cursor.wrapping_add(1);
    }

    /// The worker that `mode` picks of `eligible` (ascending); `None` where it is empty, and for [`PickerMode::Kv`],
    /// which picks by the tracked loads. Changes no state: the caller commits the pick.
    #[inline]
    pub fn pick(&self, mode: PickerMode, eligible: &[WorkerId], choose: &mut impl Choose) -> Option<WorkerId> {
        let n = eligible.len() as u64;
        if n == 0 {
            return None;
        }
        match mode {
            PickerMode::RoundRobin => Some(eligible[(self.cursor % n) as usize]),
            PickerMode::Random => Some(eligible[choose.below(n) as usize]),
            PickerMode::PowerOfTwo => Some(self.power_of_two(eligible, choose)),
            PickerMode::LeastLoaded => self.least_loaded(eligible, choose),
            PickerMode::Kv => None,
        }
    }

    fn power_of_two(&self, eligible: &[WorkerId], choose: &mut impl Choose) -> WorkerId {
        let n = eligible.len() as u64;
        if n == 1 {
            return eligible[0];
        }
        let first = choose.below(n);
        // The second draw passes over the first, which leaves the others equally likely.
        let second = choose.below(n - 1);
        let second = second + u64::from(second >= first);
        let (first, second) = (eligible[first as usize], eligible[second as usize]);
        if self.in_flight(second) < self.in_flight(first) { second } else { first }
    }

    fn least_loaded(&self, eligible: &[WorkerId], choose: &mut impl Choose) -> Option<WorkerId> {
        let loads = || self.in_flight.walk(eligible).map(|load| load.copied().unwrap_or(0));
        let (mut lowest, mut tied) = (u32::MAX, 0);
        for load in loads() {
            match load {
                load if load < lowest => (lowest, tied) = (load, 1),
                load => tied += u64::from(load == lowest),
            }
        }
        let n = if tied > 1 { choose.below(tied) } else { 0 };
        let mut at_lowest = eligible.iter().zip(loads()).filter(|(_, load)| *load == lowest);
        at_lowest.nth(n as usize).map(|(&id, _)| id)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A chooser that counts on: over many picks it visits every choice.
    pub(crate) struct Counting(pub u64);

    impl Choose for Counting {
        fn below(&mut self, n: u64) -> u64 {
            // A full-period generator (Knuth's MMIX constants); the high bits are even enough for sets.
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((u128::from(self.0) * u128::from(n)) >> 64) as u64
        }
    }

    fn ids(list: &[u32]) -> Vec<WorkerId> {
        list.iter().map(|&id| WorkerId(id)).collect()
    }

    #[test]
    fn the_round_robin_cursor_counts_picks_not_places() {
        let mut pickers = Pickers::default();
        let mut pick = |eligible: &[u32]| {
            let picked = pickers.pick(PickerMode::RoundRobin, &ids(eligible), &mut Counting(0)).map(|w| w.0);
            if picked.is_some() {
                pickers.advance_cursor();
            }
            picked
        };
        assert_eq!(pick(&[1, 2, 3]), Some(1));
        assert_eq!(pick(&[]), None);
        assert_eq!(pick(&[1, 2, 3]), Some(2));
        assert_eq!(pick(&[1, 2]), Some(1));
    }

    #[test]
    fn eight_requests_of_one_instant_see_each_other() {
        let mut pickers = Pickers::default();
        pickers.start(WorkerId(2));
        let mut chooser = Counting(7);
        let mut to_first = 0;
        for _ in 0..8 {
            let worker = pickers.pick(PickerMode::LeastLoaded, &ids(&[1, 2]), &mut chooser).unwrap();
            pickers.start(worker);
            to_first += u32::from(worker == WorkerId(1));
        }
        assert!((4..=5).contains(&to_first), "{to_first}");
    }

    #[test]
    fn ties_of_the_least_loaded_are_broken_evenly() {
        let mut pickers = Pickers::default();
        pickers.start(WorkerId(2));
        let mut chooser = Counting(1);
        let mut counts = [0u32; 5];
        for _ in 0..30_000 {
            counts[pickers.pick(PickerMode::LeastLoaded, &ids(&[1, 2, 3, 4]), &mut chooser).unwrap().0 as usize] += 1;
        }
        // 4.5 standard deviations of a binomial(30000, 1/3) are 368.
        assert_eq!(counts[2], 0);
        assert!([1, 3, 4].iter().all(|&w| counts[w].abs_diff(10_000) < 368), "{counts:?}");
    }
}
