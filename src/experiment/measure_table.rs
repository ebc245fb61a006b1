//! The measures of a run by name: one table that runs, sweeps and plans take their numbers from, so that they agree.

use super::measures::Latencies;
use super::result::{RunResult, UpdateResult};
use crate::control::RefusalReason;
use crate::stats::{Quantiles, RankRule, Window};
use crate::units::SimTime;

const NANOS_PER_SECOND: f64 = 1e9;

/// Which values of a measure an operator wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The lower the better.
    Lower,
    /// The higher the better.
    Higher,
    /// Neither: it describes.
    Neutral,
}

/// What a measure counts, in base units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasureUnit {
    /// A share, 0 to 1.
    Share,
    /// Seconds.
    Seconds,
    /// Requests per second.
    PerSecond,
    /// A plain number of something.
    Count,
}

impl MeasureUnit {
    /// Name in machine formats.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Seconds => "s",
            Self::PerSecond => "requests/s",
            Self::Count => "1",
        }
    }
}

/// How a measure is taken of a run.
#[derive(Clone, Copy, Debug)]
pub enum Extract {
    /// Hits of trials: over replications it is all hits over all trials.
    Share(fn(&RunResult) -> (u64, u64)),
    /// A value of its own per run: over replications it is the mean.
    Value(fn(&RunResult, RankRule) -> Option<f64>),
}

/// One measure.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Name in files and options.
    pub name: &'static str,
    /// What it is, for people.
    pub label: &'static str,
    /// Unit.
    pub unit: MeasureUnit,
    /// Which values are wanted.
    pub better: Better,
    /// How it is taken.
    pub extract: Extract,
}

/// What one run gives for a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Taken {
    /// Hits and trials.
    Share(u64, u64),
    /// A value, or none where the run has none (no completed request has no latency).
    Value(Option<f64>),
}

impl Taken {
    /// The value; `None` where there is none.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Share(hits, trials) => super::measures::share(hits, trials),
            Self::Value(value) => value,
        }
    }
}

impl Measure {
    /// Takes the measure of a run; `rule` says how its quantiles are read.
    pub fn take(&self, result: &RunResult, rule: RankRule) -> Taken {
        match self.extract {
            Extract::Share(take) => {
                let (hits, trials) = take(result);
                Taken::Share(hits, trials)
            }
            Extract::Value(take) => Taken::Value(take(result, rule).filter(|value| value.is_finite())),
        }
    }

    /// The measure called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        MEASURES.iter().find(|measure| measure.name == name)
    }

    /// Its place in [`MEASURES`].
    pub fn place(name: &str) -> Option<usize> {
        MEASURES.iter().position(|measure| measure.name == name)
    }
}

const fn share(name: &'static str, label: &'static str, better: Better, take: fn(&RunResult) -> (u64, u64)) -> Measure {
    Measure { name, label, unit: MeasureUnit::Share, better, extract: Extract::Share(take) }
}

type Take = fn(&RunResult, RankRule) -> Option<f64>;

const fn value(name: &'static str, label: &'static str, unit: MeasureUnit, better: Better, take: Take) -> Measure {
    Measure { name, label, unit, better, extract: Extract::Value(take) }
}

const fn seconds(name: &'static str, label: &'static str, take: Take) -> Measure {
    value(name, label, MeasureUnit::Seconds, Better::Lower, take)
}

const fn level(name: &'static str, label: &'static str, take: Take) -> Measure {
    value(name, label, MeasureUnit::Count, Better::Neutral, take)
}

/// Every measure, in the order of files. All are taken over what the statistics cover (after the warm-up), except for
/// preemptions, which count over the whole run.
pub const MEASURES: &[Measure] = &[
    share("rate_529", "529 rate (overload responses of attempts)", Better::Lower, |r| {
        (r.total.attempts.refused_total(), r.total.attempts.started)
    }),
    share("all_workers_busy", "529 rate, all workers busy", Better::Lower, |r| refused(r, RefusalReason::AllWorkersBusy)),
    share("worker_at_capacity", "529 rate, worker at capacity", Better::Lower, |r| refused(r, RefusalReason::WorkerAtCapacity)),
    share("pinned_worker_busy", "529 rate, pinned worker busy", Better::Lower, |r| refused(r, RefusalReason::PinnedWorkerBusy)),
    share("lost_to_overload_share", "requests lost to overload, of offered", Better::Lower, |r| {
        (r.total.requests.lost_to_overload, r.total.requests.offered)
    }),
    share("unavailable_share", "attempts answered 503, nobody usable", Better::Lower, |r| {
        (r.total.attempts.unavailable, r.total.attempts.started)
    }),
    share("completed_share", "requests completed, of offered", Better::Higher, |r| {
        (r.total.requests.completed, r.total.requests.offered)
    }),
    share("slo_share", "requests within all latency targets, of offered", Better::Higher, |r| {
        (r.total.slo.met, r.total.requests.offered)
    }),
    value("offered_rate", "offered load", MeasureUnit::PerSecond, Better::Neutral, |r, _| r.total.offered_rate()),
    value("throughput", "completed requests per second", MeasureUnit::PerSecond, Better::Higher, |r, _| r.total.throughput()),
    value("goodput", "goodput (completed within all latency targets)", MeasureUnit::PerSecond, Better::Higher, |r, _| {
        r.total.goodput()
    }),
    seconds("ttft_mean", "mean time to first token", |r, _| mean(r, |l| &l.ttft)),
    seconds("ttft_p50", "p50 time to first token", |r, q| at(r, |l| &l.ttft, q, 0.5)),
    seconds("ttft_p90", "p90 time to first token", |r, q| at(r, |l| &l.ttft, q, 0.9)),
    seconds("ttft_p99", "p99 time to first token", |r, q| at(r, |l| &l.ttft, q, 0.99)),
    seconds("tpot_mean", "mean time per output token", |r, _| mean(r, |l| &l.tpot)),
    seconds("tpot_p50", "p50 time per output token", |r, q| at(r, |l| &l.tpot, q, 0.5)),
    seconds("tpot_p90", "p90 time per output token", |r, q| at(r, |l| &l.tpot, q, 0.9)),
    seconds("tpot_p99", "p99 time per output token", |r, q| at(r, |l| &l.tpot, q, 0.99)),
    seconds("e2e_mean", "mean end-to-end time", |r, _| mean(r, |l| &l.e2e)),
    seconds("e2e_p50", "p50 end-to-end time", |r, q| at(r, |l| &l.e2e, q, 0.5)),
    seconds("e2e_p90", "p90 end-to-end time", |r, q| at(r, |l| &l.e2e, q, 0.9)),
    seconds("e2e_p99", "p99 end-to-end time", |r, q| at(r, |l| &l.e2e, q, 0.99)),
    seconds("queue_wait_mean", "mean wait for an engine slot", |r, _| mean(r, |l| &l.queue_wait)),
    seconds("queue_wait_p50", "p50 wait for an engine slot", |r, q| at(r, |l| &l.queue_wait, q, 0.5)),
    seconds("queue_wait_p90", "p90 wait for an engine slot", |r, q| at(r, |l| &l.queue_wait, q, 0.9)),
    seconds("queue_wait_p99", "p99 wait for an engine slot", |r, q| at(r, |l| &l.queue_wait, q, 0.99)),
    level("slots_mean", "engine slots in use, mean over time", |r, _| r.total.occupancy.slots.mean()),
    level("slots_p99", "engine slots in use, p99 over time", |r, _| level_p99(&r.total.occupancy.slots)),
    level("queue_mean", "requests waiting for a slot, mean over time", |r, _| r.total.occupancy.waiting.mean()),
    level("queue_p99", "requests waiting for a slot, p99 over time", |r, _| level_p99(&r.total.occupancy.waiting)),
    value("queue_full_share", "share of time a worker is full", MeasureUnit::Share, Better::Lower, |r, _| full_share(r)),
    value("amplification", "attempts per request", MeasureUnit::Count, Better::Lower, |r, _| r.total.amplification()),
    value("preemptions", "preemptions", MeasureUnit::Count, Better::Lower, |r, _| {
        Some(r.ranks.iter().map(|rank| rank.preemptions).sum::<u64>() as f64)
    }),
    seconds("update_lag_noticed", "threshold update: longest lag until noticed", |r, _| lag(r, |u| u.noticed)),
    seconds("update_lag_all", "threshold update: longest lag until all workers follow", |r, _| lag(r, |u| u.all)),
];

/// A quantile of a latency, at any share: those of the table and others, such as `tpot_p95` and `e2e_p99.9`.
#[derive(Clone, Copy, Debug)]
pub struct LatencyQuantile {
    which: fn(&Latencies) -> &Quantiles,
    /// The share of completed requests that are at most as slow, between 0 and 1.
    pub share: f64,
}

impl LatencyQuantile {
    /// The quantile called `name`: a latency, `_p` and a percentage between 0 and 100.
    pub fn find(name: &str) -> Option<Self> {
        let (latency, percent) = name.split_once("_p")?;
        let which: fn(&Latencies) -> &Quantiles = match latency {
            "ttft" => |l| &l.ttft,
            "tpot" => |l| &l.tpot,
            "e2e" => |l| &l.e2e,
            "queue_wait" => |l| &l.queue_wait,
            _ => return None,
        };
        let digits = percent.bytes().all(|b| b.is_ascii_digit() || b == b'.') && percent.len() <= 7;
        // Read as a decimal, so that p99.9 is 0.999 and not its neighbour.
        let share: f64 = format!("{percent}e-2").parse().ok().filter(|_| digits)?;
        (share > 0.0 && share < 1.0).then_some(Self { which, share })
    }

    /// Its value in seconds; `None` where nothing was completed.
    pub fn take(&self, result: &RunResult, rule: RankRule) -> Option<f64> {
        at(result, self.which, rule, self.share)
    }

    /// Of the completed requests, those slower than `limit` seconds, and all. The quantile is at most `limit` exactly if no
    /// more than 1 - share of them are slower.
    pub fn slower(&self, result: &RunResult, limit: f64) -> (u64, u64) {
        let quantiles = (self.which)(&result.total.latencies);
        let nanos = (limit * NANOS_PER_SECOND).round().max(0.0) as u64;
        (quantiles.count() - quantiles.count_at_or_below(nanos), quantiles.count())
    }
}

fn refused(result: &RunResult, reason: RefusalReason) -> (u64, u64) {
    let attempts = &result.total.attempts;
    (attempts.refused[reason as usize], attempts.started)
}

fn mean(result: &RunResult, which: fn(&Latencies) -> &Quantiles) -> Option<f64> {
    which(&result.total.latencies).mean().map(|nanos| nanos / NANOS_PER_SECOND)
}

fn at(result: &RunResult, which: fn(&Latencies) -> &Quantiles, rule: RankRule, p: f64) -> Option<f64> {
    which(&result.total.latencies).quantile_by(rule, p).map(|nanos| nanos as f64 / NANOS_PER_SECOND)
}

fn level_p99(window: &Window) -> Option<f64> {
    window.quantile(0.99).map(|level| level as f64)
}

/// Share of time for which a worker with a gate was full, mean over those workers.
fn full_share(result: &RunResult) -> Option<f64> {
    let gated = result.workers.iter().filter(|worker| worker.engine_request_limit.is_some()).count();
    result.total.occupancy.full_workers.mean().filter(|_| gated > 0).map(|mean| mean / gated as f64)
}

/// The longest lag of a stage, over the posts that reached it; `None` if none did.
fn lag(result: &RunResult, stage: fn(&UpdateResult) -> Option<SimTime>) -> Option<f64> {
    let lags = result.updates.iter().filter_map(|update| Some(stage(update)?.since(update.at)));
    lags.max().map(|span| span.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_measure_has_a_name_of_its_own_and_a_label() {
        let names: BTreeSet<&str> = MEASURES.iter().map(|measure| measure.name).collect();
        assert_eq!(names.len(), MEASURES.len());
        assert!(MEASURES.iter().all(|measure| !measure.label.is_empty()));
        assert_eq!(Measure::find("ttft_p99").map(|m| m.unit), Some(MeasureUnit::Seconds));
        assert!(Measure::find("rate").is_none());
    }

    #[test]
    fn quantiles_are_found_by_name_at_any_share() {
        let share = |name: &str| LatencyQuantile::find(name).map(|quantile| quantile.share);
        assert_eq!((share("tpot_p95"), share("e2e_p99.9"), share("ttft_p50")), (Some(0.95), Some(0.999), Some(0.5)));
        let none =
            ["ttft_mean", "slots_p99", "ttft_p100", "ttft_p0", "ttft_p", "ttft_pp9", "ttft_p-5", "ttft_p1e1", "preemptions"];
        assert!(none.iter().all(|name| share(name).is_none()));
    }

    #[test]
    fn reasons_of_refusal_stand_in_their_own_places() {
        assert_eq!(RefusalReason::AllWorkersBusy as usize, 0);
        assert_eq!(
            RefusalReason::ALL.iter().position(|r| *r == RefusalReason::WorkerAtCapacity),
            Some(RefusalReason::WorkerAtCapacity as usize)
        );
        assert_eq!(
            RefusalReason::ALL.iter().position(|r| *r == RefusalReason::PinnedWorkerBusy),
            Some(RefusalReason::PinnedWorkerBusy as usize)
        );
    }
}
