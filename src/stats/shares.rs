//! Intervals for shares (refused of attempts, met of offered), near 0 and 1 too.
//!
//! The rule. Over replications, the share is all hits over all trials, and its variance is that of a ratio estimate
//! between replications (Cochran 1977, "Sampling techniques", section 2.11), so that requests of one run may depend on
//! each other: refusals come in bursts. The ratio of that variance to the binomial one is the design effect; trials
//! divided by it, and by (t / z)^2 for the few replications it was estimated from, are the effective trials (Korn and
//! Graubard 1998, "Confidence intervals for proportions with small expected number of positive counts"). With at least
//! [`FEW`] effective hits and as many effective misses the interval is Wilson's, which then all but coincides with the
//! t interval of the replications. With fewer it is that of Clopper and Pearson, and a design effect below 1 counts as
//! 1: conservative, and above 0 even if nothing was ever refused.

use super::intervals::t_for;
use super::special::{beta_quantile, normal_quantile};

/// Below so many effective hits or misses a share counts as near 0 or 1.
const FEW: f64 = 10.0;

/// A share with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareInterval {
    /// Hits over trials.
    pub share: f64,
    /// Lower end of the interval, at least 0.
    pub low: f64,
    /// Upper end, at most 1.
    pub high: f64,
    /// Which interval it is.
    pub method: ShareMethod,
    /// How many independent trials would tell as much; may be infinite if the replications do not differ at all.
    pub effective_trials: f64,
}

/// Which interval a share has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareMethod {
    /// Wilson's score interval (1927).
    Wilson,
    /// The exact interval of Clopper and Pearson (1934): never below its level.
    ClopperPearson,
}

/// Wilson's score interval (1927) at `level`, for `trials` > 0 and `hits` within them; neither need be whole.
pub fn wilson(hits: f64, trials: f64, level: f64) -> (f64, f64) {
    let share = hits / trials;
    if trials.is_infinite() {
        return (share, share);
    }
    let z = normal_quantile(0.5 + 0.5 * level);
    wilson_of_share(share, z * z / trials)
}

/// Wilson's interval of a share, with `ratio` = z^2 / n.
fn wilson_of_share(share: f64, ratio: f64) -> (f64, f64) {
    let middle = (share + 0.5 * ratio) / (1.0 + ratio);
    let half = (ratio * (share * (1.0 - share) + 0.25 * ratio)).sqrt() / (1.0 + ratio);
    ((middle - half).clamp(0.0, share), (middle + half).clamp(share, 1.0))
}

/// The exact interval of Clopper and Pearson (1934) at `level`, for `trials` > 0 and `hits` within them; neither need
/// be whole.
pub fn clopper_pearson(hits: f64, trials: f64, level: f64) -> (f64, f64) {
    let tail = 0.5 * (1.0 - level);
    let misses = trials - hits;
    let low = if hits > 0.0 { beta_quantile(tail, hits, misses + 1.0) } else { 0.0 };
    let high = if misses > 0.0 { beta_quantile(1.0 - tail, hits + 1.0, misses) } else { 1.0 };
    (low, high)
}

/// The interval at `level` of the share `hits` / `trials` of independent trials: Wilson's, or that of Clopper and
/// Pearson with fewer than 10 hits or misses. `None` without trials or with more hits than trials.
///
/// Requests of one run are not independent: use [`replicated_share`] where there are replications.
pub fn share_interval(hits: u64, trials: u64, level: f64) -> Option<ShareInterval> {
    if trials == 0 || hits > trials {
        return None;
    }
    Some(of_effective(hits as f64 / trials as f64, trials as f64, trials as f64, level))
}

/// The interval at `level` of a share over independent replications, each with its `(hits, trials)`, by the rule of this
/// module. `None` with fewer than two replications, without any trial, or with more hits than trials anywhere.
pub fn replicated_share(replications: &[(u64, u64)], level: f64) -> Option<ShareInterval> {
    let hits: u64 = replications.iter().map(|&(hits, _)| hits).sum();
    let trials: u64 = replications.iter().map(|&(_, trials)| trials).sum();
    if replications.len() < 2 || trials == 0 || replications.iter().any(|(hits, trials)| hits > trials) {
        return None;
    }
    let (count, trials) = (replications.len() as f64, trials as f64);
    let share = hits as f64 / trials;
    let residual = |&(hits, trials): &(u64, u64)| hits as f64 - share * trials as f64;
    let squares: f64 = replications.iter().map(residual).map(|r| r * r).sum();
    // Variance of the share: count / (count - 1) * squares / trials^2; the binomial one: share (1 - share) / trials.
    let binomial = share * (1.0 - share) * trials;
    let effect = if binomial > 0.0 { count / (count - 1.0) * squares / binomial } else { 1.0 };
    let z = normal_quantile(0.5 + 0.5 * level);
    let t = t_for(level, count - 1.0);
    let few_known = (z / t) * (z / t);
    let cautious = trials / effect.max(1.0) * few_known;
    Some(of_effective(share, trials / effect * few_known, cautious, level))
}

/// Wilson on `effective` trials, or Clopper and Pearson on the `cautious` ones if hits or misses are few.
fn of_effective(share: f64, effective: f64, cautious: f64, level: f64) -> ShareInterval {
    if cautious * share.min(1.0 - share) < FEW {
        let (low, high) = clopper_pearson(share * cautious, cautious, level);
        return ShareInterval { share, low, high, method: ShareMethod::ClopperPearson, effective_trials: cautious };
    }
    let (low, high) = wilson(share * effective.min(f64::MAX), effective.min(f64::MAX), level);
    ShareInterval { share, low, high, method: ShareMethod::Wilson, effective_trials: effective }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn intervals_agree_with_newcombes_table() {
        // Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I: hits, trials, Wilson, exact.
        let table = [
            (81.0, 263.0, (0.2553, 0.3662), (0.2527, 0.3676)),
            (15.0, 148.0, (0.0624, 0.1605), (0.0578, 0.1617)),
            (0.0, 20.0, (0.0, 0.1611), (0.0, 0.1684)),
            (1.0, 29.0, (0.0061, 0.1718), (0.0009, 0.1776)),
        ];
        let near = |got: (f64, f64), want: (f64, f64)| (got.0 - want.0).abs() < 6e-5 && (got.1 - want.1).abs() < 6e-5;
        for (hits, trials, score, exact) in table {
            assert!(near(wilson(hits, trials, 0.95), score), "{hits}/{trials}");
            assert!(near(clopper_pearson(hits, trials, 0.95), exact), "{hits}/{trials}");
        }
    }

    #[test]
    fn no_hit_still_has_an_upper_end() {
        // 1 - 0.025^(1/n), close to 3.69 / n.
        let none = share_interval(0, 10_000, 0.95).unwrap();
        assert_eq!((none.share, none.low, none.method), (0.0, 0.0, ShareMethod::ClopperPearson));
        assert!((none.high - 3.688_199e-4).abs() < 1e-9, "{none:?}");
        let all = share_interval(10_000, 10_000, 0.95).unwrap();
        assert!((1.0 - all.low - none.high).abs() < 1e-9 && all.high == 1.0);
        let replicated = replicated_share(&[(0, 1000); 10], 0.95).unwrap();
        assert!(replicated.low == 0.0 && replicated.high > none.high && replicated.high < 2.0 * none.high);
    }

    #[test]
    fn what_cannot_be_told_is_none() {
        assert_eq!(share_interval(0, 0, 0.95), None);
        assert_eq!(share_interval(3, 2, 0.95), None);
        assert_eq!(replicated_share(&[(1, 100)], 0.95), None);
        assert_eq!(replicated_share(&[(0, 0), (0, 0)], 0.95), None);
        assert_eq!(replicated_share(&[(5, 2), (0, 100)], 0.95), None);
    }

    #[test]
    fn with_many_hits_the_interval_is_the_t_interval_of_replications() {
        let hits = [2310u64, 2250, 2405, 2280, 2366, 2190, 2420, 2299];
        let replications: Vec<(u64, u64)> = hits.iter().map(|&hits| (hits, 10_000)).collect();
        let got = replicated_share(&replications, 0.95).unwrap();
        let shares: Vec<f64> = hits.iter().map(|&hits| hits as f64 / 10_000.0).collect();
        let t = super::super::mean_interval(&shares, 0.95).unwrap();
        assert_eq!(got.method, ShareMethod::Wilson);
        assert!((got.share - t.mean).abs() < 1e-12);
        let half = 0.5 * (got.high - got.low);
        assert!((half / t.half_width.unwrap() - 1.0).abs() < 0.01, "{half} {t:?}");
    }

    #[test]
    fn bursts_widen_the_interval() {
        let even = replicated_share(&[(100, 10_000); 10], 0.95).unwrap();
        let mut bursty = [(0u64, 10_000u64); 10];
        bursty[3].0 = 1000;
        let bursty = replicated_share(&bursty, 0.95).unwrap();
        assert_eq!((even.share, bursty.share), (0.01, 0.01));
        assert!(even.effective_trials.is_infinite() && (even.low, even.high) == (0.01, 0.01));
        assert!(bursty.effective_trials < 200.0 && bursty.high > 0.05);
    }

    proptest! {
        #[test]
        fn an_interval_encloses_its_share(hits in prop::collection::vec(0u64..60, 2..20), level in 0.5f64..0.999) {
            let replications: Vec<(u64, u64)> = hits.iter().map(|&hits| (hits, 60)).collect();
            let interval = replicated_share(&replications, level).unwrap();
            prop_assert!(0.0 <= interval.low && interval.low <= interval.share, "{:?}", interval);
            prop_assert!(interval.share <= interval.high && interval.high <= 1.0, "{:?}", interval);
        }
    }

    /// Refused and arrived of one run of M/M/c/K by its embedded chain, after a start-up.
    fn refusals(rng: &mut rand_pcg::Pcg64, load: f64, servers: u64, room: u64, arrivals: u64) -> (u64, u64) {
        let (mut inside, mut seen, mut refused) = (0u64, 0u64, 0u64);
        let start_up = 300;
        while seen < start_up + arrivals {
            let leaving = inside.min(servers) as f64;
            if rng.random::<f64>() * (load + leaving) < load {
                seen += 1;
                if inside < room {
                    inside += 1;
                } else if seen > start_up {
                    refused += 1;
                }
            } else {
                inside -= 1;
            }
        }
        (refused, arrivals)
    }

    fn coverage(seed: u64, load: f64, servers: u64, room: u64, arrivals: u64, sweeps: u32) -> (f64, f64) {
        let truth = super::super::theory::mmck(load, 1.0, servers, room).unwrap().refused_share;
        let mut rng = rand_pcg::Pcg64::seed_from_u64(seed);
        let covers = |_: &u32| {
            let runs: Vec<(u64, u64)> = (0..10).map(|_| refusals(&mut rng, load, servers, room, arrivals)).collect();
            let interval = replicated_share(&runs, 0.95).unwrap();
            interval.low <= truth && truth <= interval.high
        };
        let covered = (0..sweeps).filter(covers).count();
        (truth, covered as f64 / f64::from(sweeps))
    }

    #[test]
    fn intervals_over_replications_cover_the_true_refused_share_as_often_as_they_say() {
        // 1,000 sweeps of 10 runs: one standard error is 0.7 %.
        for (load, servers, room) in [(4.0, 4, 8), (2.5, 4, 8)] {
            let (truth, covered) = coverage(1, load, servers, room, 700, 1000);
            assert!((0.93..=0.97).contains(&covered), "{truth}: {covered}");
        }
        // A true share of 2 in 100,000, of which most sweeps see nothing: conservative, not below the level.
        let (truth, covered) = coverage(1, 1.5, 4, 12, 700, 300);
        assert!(covered >= 0.95, "{truth}: {covered}");
    }
}
