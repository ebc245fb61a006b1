//! Adding replications until the figure is clear of its target, without fooling oneself by looking often.

use super::intervals::mean_interval;
use super::shares::replicated_share;

/// Where a figure lies against its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The whole interval is at or below the target.
    Below,
    /// The whole interval is above the target.
    Above,
    /// The interval holds the target: more replications may tell.
    Undecided,
}

/// A test whether a mean over replications is above or below a target, that looks at growing numbers of replications and
/// stops at the first look that decides.
///
/// Looking k times at the same error would multiply it up to k times; here the error 1 - level is shared evenly among
/// the looks that the budget allows (Bonferroni's inequality), so a verdict is wrong with at most that probability,
/// however the looks depend on each other. Looks are few because each takes half as many replications again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequentialTest {
    target: f64,
    level: f64,
    first: usize,
    budget: usize,
}

impl SequentialTest {
    /// A test against `target` at the confidence `level` in (0, 1), with a first look at `first` replications (at least
    /// 2) and a last one at `budget` (at least `first`).
    pub fn new(target: f64, level: f64, first: usize, budget: usize) -> Self {
        let first = first.max(2);
        Self { target, level, first, budget: budget.max(first) }
    }

    /// How many replications to have at the next look, if `done` are there; `None` once the budget is used up.
    pub fn next_look(&self, done: usize) -> Option<usize> {
        let mut look = self.first;
        while look <= done {
            if look >= self.budget {
                return None;
            }
            look = look.saturating_add(look.div_ceil(2)).min(self.budget);
        }
        Some(look)
    }

    /// The looks that the budget allows.
    pub fn looks(&self) -> usize {
        std::iter::successors(self.next_look(0), |&done| self.next_look(done)).count()
    }

    /// The confidence level of the interval taken at each look.
    pub fn look_level(&self) -> f64 {
        1.0 - (1.0 - self.level) / self.looks() as f64
    }

    /// The verdict of one look over a measure of each replication, by the Student-t interval.
    ///
    /// For shares use [`share`](Self::share): replications that all saw no refusal have no spread, and would decide
    /// anything.
    pub fn mean(&self, samples: &[f64]) -> Side {
        let interval = mean_interval(samples, self.look_level()).and_then(|mean| mean.interval());
        interval.map_or(Side::Undecided, |interval| self.side(interval.low, interval.high))
    }

    /// The verdict of one look over a share, of which each replication gives `(hits, trials)`.
    pub fn share(&self, replications: &[(u64, u64)]) -> Side {
        replicated_share(replications, self.look_level()).map_or(Side::Undecided, |share| self.side(share.low, share.high))
    }

    /// Where the interval from `low` to `high` lies against the target.
    pub fn side(&self, low: f64, high: f64) -> Side {
        if high <= self.target {
            Side::Below
        } else if low > self.target {
            Side::Above
        } else {
            Side::Undecided
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn looks_grow_by_half_up_to_the_budget() {
        let test = SequentialTest::new(0.01, 0.95, 4, 40);
        let looks: Vec<usize> = std::iter::successors(test.next_look(0), |&done| test.next_look(done)).collect();
        assert_eq!(looks, [4, 6, 9, 14, 21, 32, 40]);
        assert_eq!((test.looks(), test.next_look(5), test.next_look(40)), (7, Some(6), None));
        assert!((test.look_level() - (1.0 - 0.05 / 7.0)).abs() < 1e-12);
        assert_eq!(SequentialTest::new(0.0, 0.95, 0, 0).looks(), 1);
    }

    #[test]
    fn a_clear_figure_is_decided_and_a_close_one_is_not() {
        let test = SequentialTest::new(10.0, 0.95, 4, 40);
        assert_eq!(test.mean(&[8.0, 8.2, 7.9, 8.1]), Side::Below);
        assert_eq!(test.mean(&[12.0, 12.2, 11.9, 12.1]), Side::Above);
        assert_eq!(test.mean(&[9.0, 11.2, 9.9, 10.1]), Side::Undecided);
        assert_eq!((test.mean(&[]), test.mean(&[3.0])), (Side::Undecided, Side::Undecided));
    }

    #[test]
    fn no_refusal_in_few_trials_is_no_proof_of_a_small_rate() {
        let test = SequentialTest::new(0.001, 0.95, 4, 40);
        assert_eq!(test.share(&[(0, 100); 4]), Side::Undecided);
        assert_eq!(test.share(&[(0, 10_000); 4]), Side::Below);
        assert_eq!(test.share(&[(90, 10_000), (110, 10_000), (95, 10_000), (99, 10_000)]), Side::Above);
    }

    #[test]
    fn verdicts_on_the_target_itself_are_wrong_no_more_often_than_stated() {
        // The mean of uniforms is the target: every verdict but undecided is an error, allowed in 5 % of runs.
        // 2,000 runs: five standard errors are 2.4 %.
        let test = SequentialTest::new(0.5, 0.95, 5, 50);
        let mut rng = rand_pcg::Pcg64::seed_from_u64(11);
        let wrong = (0..2000).filter(|_| {
            let mut samples: Vec<f64> = Vec::new();
            let mut side = Side::Undecided;
            while let Some(look) = test.next_look(samples.len()).filter(|_| side == Side::Undecided) {
                samples.resize_with(look, || rng.random::<f64>());
                side = test.mean(&samples);
            }
            side != Side::Undecided
        });
        let wrong = wrong.count();
        assert!((2..150).contains(&wrong), "{wrong} of 2000");
    }
}
