//! How long a sweep will take, told before it begins: from a few of its runs, begun and measured.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::cluster::Remote;
use crate::experiment::sweep::{Plan, Record, probe};

/// Cells that are tried, at most.
const PROBES: usize = 3;
/// How long each of them may take.
const PATIENCE: Duration = Duration::from_millis(100);

/// What the probes gave.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    /// Processor time of a run, on average; `None` if nothing was learnt.
    pub run: Option<Duration>,
    /// Runs that were finished on the way: the sweep need not repeat them.
    pub records: Vec<Record>,
}

impl Estimate {
    /// Tries the first, the last and the middle one of `cells`.
    pub fn by_probes(plan: &Plan, cells: &[usize], remote: &Remote) -> Self {
        let mut places = vec![0, cells.len().saturating_sub(1), cells.len() / 2];
        places.sort_unstable();
        places.dedup();
        let mut estimate = Self::default();
        let mut runs: Vec<f64> = Vec::new();
        for place in places.into_iter().take(PROBES) {
            let Some(&cell) = cells.get(place).filter(|_| !remote.stop.load(Relaxed)) else { break };
            let (found, seconds) = timed(|remote| probe(plan, cell, remote));
            if let Some(found) = found {
                runs.push(seconds / found.share);
                estimate.records.extend(found.record);
            }
        }
        if !runs.is_empty() {
            let mean = runs.iter().sum::<f64>() / runs.len() as f64;
            estimate.run = Duration::try_from_secs_f64(mean).ok();
        }
        estimate
    }

    /// How long `runs` runs take with `jobs` at a time on `processors`.
    pub fn of_runs(&self, runs: usize, jobs: usize, processors: usize) -> Option<Duration> {
        let at_once = jobs.min(processors).min(runs).max(1);
        self.run?.checked_mul(u32::try_from(runs.div_ceil(at_once)).ok()?)
    }
}

/// Does the work, which is asked to stop when the time is up, and says how many seconds it took.
#[expect(clippy::disallowed_methods, reason = "an estimate of time needs the time; no result depends on it")]
fn timed<T>(work: impl FnOnce(&Remote) -> T) -> (T, f64) {
    let remote = Arc::new(Remote::default());
    let (done, over) = channel::<()>();
    let watched = Arc::clone(&remote);
    let watch = std::thread::spawn(move || {
        if over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            watched.stop.store(true, Relaxed);
        }
    });
    let begun = Instant::now();
    let found = work(&remote);
    let seconds = begun.elapsed().as_secs_f64();
    drop(done);
    // It only sleeps and sets a flag: it cannot have failed.
    let _ = watch.join();
    (found, seconds)
}

/// A time for people, to one or two figures: an estimate is not better than that.
pub(super) fn in_words(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        _ if seconds < 1.0 => "less than a second".to_owned(),
        _ if seconds < 90.0 => format!("about {seconds:.0} s"),
        _ if seconds < 5400.0 => format!("about {:.0} min", seconds / 60.0),
        _ if seconds < 172_800.0 => format!("about {:.0} h", seconds / 3600.0),
        _ => format!("about {:.0} days", seconds / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_idle_does_not_help_and_rounds_are_whole() {
        let estimate = Estimate { run: Some(Duration::from_secs(2)), records: Vec::new() };
        assert_eq!(estimate.of_runs(5, 2, 8), Some(Duration::from_secs(6)));
        assert_eq!(estimate.of_runs(5, 8, 2), Some(Duration::from_secs(6)));
        assert_eq!(estimate.of_runs(1, 8, 8), Some(Duration::from_secs(2)));
        assert_eq!(Estimate::default().of_runs(5, 2, 2), None);
    }

    #[test]
    fn an_estimate_is_told_in_round_figures() {
        let said = [0.2, 41.6, 125.0, 7_300.0, 400_000.0].map(|s| in_words(Duration::from_secs_f64(s)));
        assert_eq!(said, ["less than a second", "about 42 s", "about 2 min", "about 2 h", "about 5 days"]);
    }

    #[test]
    fn work_is_asked_to_stop_when_its_time_is_up() {
        let (stopped, seconds) = timed(|remote| {
            while !remote.stop.load(Relaxed) {
                std::thread::yield_now();
            }
            true
        });
        assert!(stopped && seconds >= PATIENCE.as_secs_f64());
    }
}
