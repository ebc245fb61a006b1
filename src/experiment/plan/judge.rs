//! What the runs of a cell say of the targets.

use crate::stats::{autocorrelation, replicated_share, weighted_mean_interval};

use super::goal::Goal;
use super::record::{Batch, Record};

/// Batches of a run are joined in pairs while more than so many are left.
const FEWEST_BATCHES: usize = 5;

/// What can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All targets are met, by whole intervals.
    Met,
    /// Some target is missed, by a whole interval; or the cell is not stable.
    Missed,
    /// More runs may tell.
    Undecided,
}

impl Verdict {
    /// Name in machine formats.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Undecided => "undecided",
        }
    }
}

/// What the runs say of one target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The measure: of shares all hits over all trials, of others the mean over the runs; `None` where no run has it.
    pub figure: Option<f64>,
    /// What is held against the bound: the measure, or of a quantile the share of requests beyond the bound.
    pub tested: Option<f64>,
    /// Ends of the interval of `tested` at the level of one look; `None` where nothing can be said of its spread.
    pub interval: Option<(f64, f64)>,
    /// Stretches that were counted as independent.
    pub batches: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether `tested` itself is on the good side.
    pub by_mean: bool,
}

/// What the runs of a cell say.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Runs.
    pub runs: usize,
    /// Per target, in their order.
    pub goals: Vec<Judged>,
    /// Of all targets.
    pub verdict: Verdict,
    /// Whether all tested values are on the good side, and nothing says that the cell is not stable.
    pub by_mean: bool,
    /// All runs say that more is offered than is served.
    pub saturated: bool,
    /// A run reached a bound of `[limits]`; which.
    pub bounded: Option<String>,
}

impl Judgement {
    /// The greatest excess over a bound, relative to it; infinite where a measure is missing.
    pub fn excess(&self, goals: &[Goal]) -> f64 {
        let each = goals.iter().zip(&self.goals).map(|(goal, judged)| judged.tested.map_or(f64::INFINITY, |t| goal.excess(t)));
        each.fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Judges at the confidence `level` of a single look, shared among the targets (Bonferroni).
pub(super) fn judge(records: &[&Record], goals: &[Goal], level: f64) -> Judgement {
    let level = 1.0 - (1.0 - level) / goals.len().max(1) as f64;
    let judged: Vec<Judged> = goals.iter().enumerate().map(|(place, goal)| one(records, goal, place, level)).collect();
    let ended_early = |record: &&&Record| !["horizon", "drained"].contains(&record.end.as_str());
    let bounded = records.iter().find(ended_early).map(|record| record.end.clone());
    let saturated = !records.is_empty() && records.iter().all(|record| record.is_saturated());
    // A fleet that answers nothing refuses nothing either: it keeps no target.
    let served = records.iter().any(|record| record.value("completed_share").is_none_or(|share| share > 0.0));
    let each = |wanted: Verdict| judged.iter().filter(move |j| j.verdict == wanted).count();
    let verdict = match () {
        () if bounded.is_some() || !served || each(Verdict::Missed) > 0 => Verdict::Missed,
        // One run in a hundred looks saturated by chance: a second one must say so too.
        () if saturated && records.len() > 1 => Verdict::Missed,
        () if saturated || each(Verdict::Undecided) > 0 => Verdict::Undecided,
        () => Verdict::Met,
    };
    let by_mean = bounded.is_none() && served && !saturated && judged.iter().all(|j| j.by_mean);
    Judgement { runs: records.len(), goals: judged, verdict, by_mean, saturated, bounded }
}

fn one(records: &[&Record], goal: &Goal, place: usize, level: f64) -> Judged {
    let runs: Vec<&[Batch]> = records.iter().map(|record| record.goals[place].batches.as_slice()).collect();
    let shares = runs.iter().flat_map(|run| run.iter()).all(|batch| matches!(batch, Batch::Share(_)));
    let found = if shares { share_of(&runs, level) } else { value_of(&runs, level) };
    let figures: Vec<f64> = records.iter().filter_map(|record| record.goals[place].figure).collect();
    let mean = (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64);
    let pooled = found.tested.filter(|_| shares && goal.quantile().is_none());
    let by_mean = found.tested.is_some_and(|tested| goal.holds(tested));
    let verdict = match (found.tested, found.interval) {
        // Nothing completed has no latency: that is no way to keep a bound on it.
        (None, _) => Verdict::Missed,
        (_, Some((low, high))) => side(goal, low, high),
        (_, None) => Verdict::Undecided,
    };
    Judged { figure: pooled.or(mean), verdict, by_mean, ..found }
}

fn side(goal: &Goal, low: f64, high: f64) -> Verdict {
    match (goal.holds(low), goal.holds(high)) {
        (true, true) => Verdict::Met,
        (false, false) => Verdict::Missed,
        _ => Verdict::Undecided,
    }
}

/// All hits over all trials. Refusals come in bursts, so that requests are no trials: batches are, and their interval is that
/// of [`replicated_share`].
fn share_of(runs: &[&[Batch]], level: f64) -> Judged {
    let counts = |batch: &Batch| if let Batch::Share([hits, trials]) = batch { (*hits, *trials) } else { (0, 0) };
    let mut runs: Vec<Vec<(u64, u64)>> = runs.iter().map(|run| run.iter().map(counts).collect()).collect();
    let all = || runs.iter().flatten();
    let (hits, trials) = all().fold((0, 0), |(h, n), (hits, trials)| (h + hits, n + trials));
    let tested = (trials > 0).then(|| hits as f64 / trials as f64);
    let share = tested.unwrap_or(0.0);
    let residual = |batch: &(u64, u64)| batch.0 as f64 - share * batch.1 as f64;
    while depend(&runs, residual) {
        join(&mut runs, |a, b| (a.0 + b.0, a.1 + b.1));
    }
    let batches: Vec<(u64, u64)> = runs.into_iter().flatten().collect();
    let interval = replicated_share(&batches, level).map(|share| (share.low, share.high));
    Judged { figure: tested, tested, interval, batches: batches.len(), verdict: Verdict::Undecided, by_mean: false }
}

/// The mean of values, weighted with the lengths of their stretches.
fn value_of(runs: &[&[Batch]], level: f64) -> Judged {
    let value = |batch: &Batch| match batch {
        Batch::Value([value, weight]) => (*value, *weight),
        Batch::Share(_) => (0.0, 0.0),
    };
    let mut runs: Vec<Vec<(f64, f64)>> = runs.iter().map(|run| run.iter().map(value).collect()).collect();
    let flat: Vec<(f64, f64)> = runs.iter().flatten().copied().collect();
    let tested = weighted_mean_interval(&flat, level).map(|mean| mean.mean);
    let mean = tested.unwrap_or(0.0);
    while depend(&runs, |batch| batch.1 * (batch.0 - mean)) {
        join(&mut runs, |a, b| ((a.0 * a.1 + b.0 * b.1) / (a.1 + b.1), a.1 + b.1));
    }
    let batches: Vec<(f64, f64)> = runs.into_iter().flatten().collect();
    let interval = weighted_mean_interval(&batches, level).and_then(|mean| mean.interval()).map(|i| (i.low, i.high));
    Judged { figure: tested, tested, interval, batches: batches.len(), verdict: Verdict::Undecided, by_mean: false }
}

/// Whether neighbouring batches of runs still depend on each other: their residuals have an autocorrelation at lag 1 above
/// twice its standard error under independence, 1 / sqrt(n) (Bartlett 1946), and there are enough batches to join some. To
/// join batches until the correlation is gone is the rule of Law and Carson (1979, "A sequential procedure for determining
/// the length of a steady-state simulation").
fn depend<T>(runs: &[Vec<T>], residual: impl Fn(&T) -> f64) -> bool {
    if runs.iter().all(|run| run.len() < 2 * FEWEST_BATCHES) {
        return false;
    }
    // Runs are independent of each other: a zero between them keeps their ends apart.
    let mut series: Vec<f64> = Vec::new();
    for run in runs {
        series.extend(run.iter().map(&residual));
        series.push(0.0);
    }
    autocorrelation(&series, 1).is_some_and(|r| r > 2.0 / (series.len() as f64).sqrt())
}

/// Joins neighbours in pairs, those left over at the front of a run with the first pair.
fn join<T: Copy>(runs: &mut [Vec<T>], add: impl Fn(T, T) -> T) {
    for run in runs.iter_mut().filter(|run| run.len() >= 2 * FEWEST_BATCHES) {
        let odd = run.len() % 2;
        let mut joined: Vec<T> = run[odd..].chunks_exact(2).map(|pair| add(pair[0], pair[1])).collect();
        if odd == 1 {
            joined[0] = add(run[0], joined[0]);
        }
        *run = joined;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::plan::{Evidence, Facts, Key};

    fn record(batches: Vec<Batch>) -> Record {
        let key = Key { variant: 0, cell: 0, replication: 0 };
        let goals = vec![Evidence { figure: None, batches }];
        let (end, facts) = ("horizon".to_owned(), Facts::default());
        Record { key, end, error: None, warnings: Vec::new(), values: Vec::new(), goals, facts }
    }

    fn judged(batches: &[[u64; 2]], target: &str) -> Judgement {
        let record = record(batches.iter().copied().map(Batch::Share).collect());
        judge(&[&record], &[Goal::parse(target).unwrap()], 0.99)
    }

    #[test]
    fn a_clear_share_is_decided_and_a_close_one_is_not() {
        let batches: Vec<[u64; 2]> = (0..20).map(|i| [8 + (i * 7) % 5, 1000]).collect();
        assert_eq!(judged(&batches, "rate_529<=2%").verdict, Verdict::Met);
        assert_eq!(judged(&batches, "rate_529<=0.5%").verdict, Verdict::Missed);
        let close = judged(&batches, "rate_529<=1%");
        assert_eq!((close.verdict, close.by_mean), (Verdict::Undecided, true));
        assert_eq!(judged(&batches, "rate_529>=0.5%").verdict, Verdict::Met);
    }

    #[test]
    fn bursts_that_outlast_a_batch_are_joined_and_widen_the_interval() {
        // Four of twenty batches in a row hold all refusals: as independent batches they would look better known.
        let burst: Vec<[u64; 2]> = (0..20).map(|i| [if (8..12).contains(&i) { 50 } else { 0 }, 1000]).collect();
        let spread: Vec<[u64; 2]> = (0..20).map(|i| [if i % 5 == 0 { 50 } else { 0 }, 1000]).collect();
        let (burst, spread) = (judged(&burst, "rate_529<=1%"), judged(&spread, "rate_529<=1%"));
        assert!(burst.goals[0].batches < 20 && spread.goals[0].batches == 20);
        let width = |j: &Judgement| j.goals[0].interval.map(|(low, high)| high - low).unwrap();
        assert!(width(&burst) > width(&spread));
    }

    #[test]
    fn no_completed_request_misses_a_bound_on_latency() {
        assert_eq!(judged(&[[0, 0]; 20], "ttft_p99<=1s").verdict, Verdict::Missed);
    }

    #[test]
    fn values_count_with_their_lengths() {
        let record = record(vec![Batch::Value([1.0, 3.0]), Batch::Value([5.0, 1.0])]);
        let found = judge(&[&record], &[Goal::parse("goodput>=1").unwrap()], 0.95);
        assert_eq!(found.goals[0].tested, Some(2.0));
    }
}
