//! Production's own counters beside a scenario: where the two part.

use schemars::JsonSchema;
use serde::Serialize;

use super::check::VerifyError;
use super::counters::Counters;
use crate::cluster::Remote;
use crate::cluster::observer::{AttemptOutcome, FleetSample};
use crate::cluster::request::{Attempt, Request};
use crate::control::metrics;
use crate::experiment::result::Point;
use crate::experiment::{EngineKind, RunEnd, RunOptions, Sink, run};
use crate::scenario::Scenario;
use crate::stats::sample_mean_and_variance;
use crate::units::{SimTime, Span};

/// Samples of the simulation in a window.
const SAMPLES: u32 = 10;
/// Windows at most, unless a width is given.
const MOST_WINDOWS: f64 = 60.0;
/// Widths of windows, in seconds.
const WIDTHS: [f64; 14] = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0, 7_200.0, 21_600.0];
/// How many standard deviations of a count are chance.
const CHANCE: f64 = 3.0;
/// A level is only known to a whole.
const WHOLE: f64 = 1.0;

/// How counters and scenario are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgainstOptions {
    /// Width of a window in seconds; `None` chooses one.
    pub window: Option<f64>,
    /// Where on the counters' clock the scenario begins, in seconds after the first sample.
    pub start: f64,
    /// Share of a value by which the two may differ.
    pub tolerance: f64,
}

/// A measure in one window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WindowPair {
    /// Start of the window, seconds after the scenario's start.
    pub from: f64,
    /// As exported.
    pub measured: f64,
    /// As simulated.
    pub simulated: f64,
    /// How far the two may be apart: the tolerance, or what chance alone makes of such a count.
    pub allowed: f64,
    /// Whether they are farther apart.
    pub apart: bool,
}

/// A measure over all windows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Parting {
    /// The measure.
    pub measure: &'static str,
    /// Its unit; empty for a number of something.
    pub unit: &'static str,
    /// Mean of the windows, as exported.
    pub measured: f64,
    /// As simulated.
    pub simulated: f64,
    /// The windows.
    pub windows: Vec<WindowPair>,
    /// The first of two windows in a row that are apart to the same side: where the two part for good reason. One window alone
    /// may be chance.
    pub parts_at: Option<usize>,
}

/// The whole comparison.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Against {
    /// Name of the scenario.
    pub scenario: String,
    /// Width of a window, seconds.
    pub window: f64,
    /// Share by which values may differ.
    pub tolerance: f64,
    /// The measures of which there are counters.
    pub partings: Vec<Parting>,
    /// Measures of which there are none, with the metric that is missing.
    pub missing: Vec<String>,
}

impl Against {
    /// Whether no measure parts.
    pub fn agrees(&self) -> bool {
        self.partings.iter().all(|p| p.parts_at.is_none())
    }

    /// The measure that parts first.
    pub fn first(&self) -> Option<&Parting> {
        self.partings.iter().filter(|p| p.parts_at.is_some()).min_by_key(|p| p.parts_at)
    }
}

/// What the simulation shows in a window.
#[derive(Clone, Debug, Default)]
struct Simulated {
    started: f64,
    refused: f64,
    /// At the window's start, then at each sample in it.
    levels: Vec<Levels>,
    /// Of the samples, those at which some router tracked loads.
    tracked_samples: f64,
    first_tokens: f64,
    ttft: f64,
}

/// Levels of the whole fleet.
#[derive(Clone, Copy, Debug, Default)]
struct Levels {
    slots: f64,
    queue: f64,
    /// What the routers of all frontends track, which is what the release exports under these names: not what a monitor observes,
    /// which is one frontend's, as old as the last load event, and the greater of two sources.
    blocks: f64,
    prefill_tokens: f64,
}

/// Collects [`Simulated`] window by window.
struct Windows {
    width: Span,
    windows: Vec<Simulated>,
    /// At the last sample; nothing before the first.
    last: Levels,
}

impl Windows {
    fn at(&mut self, time: SimTime) -> &mut Simulated {
        let place = (time.as_nanos() / self.width.as_nanos()) as usize;
        if self.windows.len() <= place {
            self.windows.resize(place + 1, Simulated::default());
        }
        &mut self.windows[place]
    }
}

impl Windows {
    /// A first token at `now`, of whatever becomes of its attempt: that is not known yet when the histogram of the release counts it.
    fn first_token_at(&mut self, now: SimTime, attempt: &Attempt) {
        let ttft = now.since(attempt.start).as_secs_f64();
        let window = self.at(now);
        window.first_tokens += 1.0;
        window.ttft += ttft;
    }
}

impl Sink for Windows {
    fn first_token(&mut self, now: SimTime, attempt: &Attempt) {
        self.first_token_at(now, attempt);
    }

    fn attempt(&mut self, now: SimTime, attempt: &Attempt, _request: &Request, outcome: &AttemptOutcome) {
        // An opaque worker's first token comes with its last.
        if *outcome == AttemptOutcome::Completed && attempt.first_token().is_none() {
            self.first_token_at(now, attempt);
        }
    }

    fn orphan_ended(&mut self, now: SimTime, attempt: &Attempt, outcome: &AttemptOutcome) {
        if *outcome == AttemptOutcome::Completed && attempt.first_token().is_none() {
            self.first_token_at(now, attempt);
        }
    }

    fn wants_tracking(&self) -> bool {
        true
    }

    fn interval(&mut self, start: SimTime, _now: SimTime, point: &Point, fleet: &FleetSample) {
        let tracked = fleet.ranks.iter().filter_map(|rank| rank.tracked).reduce(|[a, b], [c, d]| [a + c, b + d]);
        let [blocks, prefill_tokens] = tracked.unwrap_or_default().map(|load| load as f64);
        let levels = Levels { slots: point.slots[0] as f64, queue: point.gauge as f64, blocks, prefill_tokens };
        let before = std::mem::replace(&mut self.last, levels);
        let window = self.at(start);
        window.started += point.attempts as f64;
        window.refused += point.refused.iter().sum::<u64>() as f64;
        if window.levels.is_empty() {
            window.levels.push(before);
        }
        window.levels.push(levels);
        window.tracked_samples += f64::from(u8::from(tracked.is_some()));
    }
}

/// What was exported in a window.
struct Measured {
    value: f64,
    /// What chance may make of it.
    chance: f64,
    /// Variance of a gauge's mean, of that of a sample.
    weight: f64,
}

/// A measure of both sides.
struct Measure {
    name: &'static str,
    unit: &'static str,
    /// Metrics it needs.
    needs: &'static [&'static str],
    /// As exported in a window.
    measured: fn(&Counters, f64, f64) -> Option<Measured>,
    /// As simulated in a window of so many seconds: the value, and of a gauge the variance of its samples.
    simulated: fn(&Simulated, f64) -> Option<(f64, f64)>,
}

const STARTED: &str = metrics::REQUESTS_STARTED_TOTAL.name;
const REFUSED: &str = metrics::MODEL_REJECTION_TOTAL.name;
const TTFT_SUM: &str = "dynamo_frontend_time_to_first_token_seconds_sum";
const TTFT_COUNT: &str = "dynamo_frontend_time_to_first_token_seconds_count";

const MEASURES: &[Measure] = &[
    Measure {
        name: "requests started",
        unit: "1/s",
        needs: &[STARTED],
        measured: |c, from, to| rate(c, STARTED, from, to),
        simulated: |s, width| Some((s.started / width, 0.0)),
    },
    Measure {
        name: "requests refused",
        unit: "1/s",
        needs: &[REFUSED],
        measured: |c, from, to| rate(c, REFUSED, from, to),
        simulated: |s, width| Some((s.refused / width, 0.0)),
    },
    Measure {
        name: "529 rate",
        unit: "share",
        needs: &[STARTED, REFUSED],
        measured: |c, from, to| {
            let (started, refused) = (c.growth(STARTED, from, to)?, c.growth(REFUSED, from, to)?);
            let share = (refused / started).min(1.0);
            let chance = CHANCE * (share * (1.0 - share)).max(1.0 / started).sqrt() / started.sqrt();
            (started > 0.0).then_some(Measured { value: share, chance, weight: 0.0 })
        },
        simulated: |s, _| (s.started > 0.0).then(|| (s.refused / s.started, 0.0)),
    },
    Measure {
        name: "engine slots in use",
        unit: "",
        needs: &[metrics::ENGINE_REQUEST.name],
        measured: |c, from, to| gauge(c, metrics::ENGINE_REQUEST.name, from, to),
        simulated: |s, _| level(s, |l| l.slots),
    },
    Measure {
        name: "requests in overflow queues",
        unit: "",
        needs: &[metrics::REQUEST_QUEUE.name],
        measured: |c, from, to| gauge(c, metrics::REQUEST_QUEUE.name, from, to),
        simulated: |s, _| level(s, |l| l.queue),
    },
    Measure {
        name: "KV blocks tracked",
        unit: "",
        needs: &[metrics::WORKER_ACTIVE_DECODE_BLOCKS.name],
        measured: |c, from, to| gauge(c, metrics::WORKER_ACTIVE_DECODE_BLOCKS.name, from, to),
        simulated: |s, _| tracked(s, |l| l.blocks),
    },
    Measure {
        name: "prefill tokens tracked",
        unit: "",
        needs: &[metrics::WORKER_ACTIVE_PREFILL_TOKENS.name],
        measured: |c, from, to| gauge(c, metrics::WORKER_ACTIVE_PREFILL_TOKENS.name, from, to),
        simulated: |s, _| tracked(s, |l| l.prefill_tokens),
    },
    Measure {
        name: "mean time to first token",
        unit: "s",
        needs: &[TTFT_SUM, TTFT_COUNT],
        measured: |c, from, to| {
            let (sum, count) = (c.growth(TTFT_SUM, from, to)?, c.growth(TTFT_COUNT, from, to)?);
            // A mean of n times with the spread of an exponential one.
            (count >= 1.0).then(|| Measured { value: sum / count, chance: CHANCE * sum / count / count.sqrt(), weight: 0.0 })
        },
        simulated: |s, _| (s.first_tokens > 0.0).then(|| (s.ttft / s.first_tokens, 0.0)),
    },
];

/// Growth of a counter per second; chance is that of a Poisson count.
fn rate(counters: &Counters, metric: &str, from: f64, to: f64) -> Option<Measured> {
    let growth = counters.growth(metric, from, to)?;
    Some(Measured { value: growth / (to - from), chance: CHANCE * growth.max(1.0).sqrt() / (to - from), weight: 0.0 })
}

/// Level of a gauge; chance is its own scatter, and that it is only known to a whole.
fn gauge(counters: &Counters, metric: &str, from: f64, to: f64) -> Option<Measured> {
    let level = counters.level(metric, from, to)?;
    Some(Measured { value: level.mean, chance: (CHANCE * level.error).max(WHOLE), weight: level.weight })
}

/// Mean of a gauge, straight between samples as those that were exported are, and the variance of its samples.
fn level(window: &Simulated, of: fn(&Levels) -> f64) -> Option<(f64, f64)> {
    let levels: Vec<f64> = window.levels.iter().map(of).collect();
    let means: Vec<f64> = levels.windows(2).map(|pair| pair[0].midpoint(pair[1])).collect();
    let (_, variance) = sample_mean_and_variance(&levels)?;
    Some((sample_mean_and_variance(&means)?.0, variance.unwrap_or(0.0)))
}

fn tracked(window: &Simulated, of: fn(&Levels) -> f64) -> Option<(f64, f64)> {
    level(window, of).filter(|_| window.tracked_samples > 0.0)
}

/// Runs `scenario` and holds it against `counters`, window by window.
///
/// # Errors
/// The workload cannot be read; the two have no window in common; no measure has its counters; interrupted.
pub fn against(
    counters: &Counters,
    scenario: &Scenario,
    options: &AgainstOptions,
    remote: &Remote,
) -> Result<Against, VerifyError> {
    let there = counters.metrics();
    let lacks = |measure: &Measure| measure.needs.iter().find(|metric| !there.contains(metric)).copied();
    if MEASURES.iter().all(|measure| lacks(measure).is_some()) {
        return Err(VerifyError::Other(format!(
            "the counters hold none of the metrics that can be compared\n  hint: they hold {}; needed are such as {STARTED}, {REFUSED}, \
             {}",
            there.join(", "),
            metrics::REQUEST_QUEUE.name
        )));
    }
    let recorded = counters.length() - options.start;
    let width = options.window.unwrap_or_else(|| natural(recorded, counters.sample_interval()));
    let span = Span::from_secs_f64(width).filter(|span| span.as_nanos() >= u64::from(SAMPLES));
    let span = span.ok_or_else(|| VerifyError::Other(format!("a window of {width} s: expected a width above 0")))?;
    let mut scenario = scenario.clone();
    scenario.output.timeseries_interval = Some(Span::from_nanos(span.as_nanos() / u64::from(SAMPLES)));
    let options_of_run = RunOptions { replication: 0, engine: EngineKind::default(), explain: None };
    let sink = Windows { width: span, windows: Vec::new(), last: Levels::default() };
    let (result, sink) = run(&scenario, options_of_run, sink, remote)?;
    if result.end == RunEnd::Interrupted {
        return Err(VerifyError::Interrupted);
    }
    let length = result.ended_at.as_secs_f64().min(recorded);
    let windows = (length / width + 1e-9).floor() as usize;
    if windows == 0 {
        return Err(VerifyError::Other(format!(
            "counters and scenario have {length:.1} s in common, less than a window of {width} s\n  hint: `--window` narrows it; the \
             scenario's `horizon` and the counters' length should be alike"
        )));
    }
    let (mut partings, mut missing) = (Vec::new(), Vec::new());
    for measure in MEASURES {
        if let Some(metric) = lacks(measure) {
            missing.push(format!("{}: there is no `{metric}`", measure.name));
            continue;
        }
        let of_run = &sink.windows[..windows.min(sink.windows.len())];
        if of_run.iter().all(|window| (measure.simulated)(window, width).is_none()) {
            missing.push(format!("{}: the scenario has none", measure.name));
            continue;
        }
        partings.extend(compare(measure, counters, of_run, width, options));
    }
    if partings.is_empty() {
        let problem = "no window of the counters is sampled from end to end\n  hint: a wider `--window`, or a later `--start`";
        return Err(VerifyError::Other(problem.to_owned()));
    }
    Ok(Against { scenario: scenario.name, window: width, tolerance: options.tolerance, partings, missing })
}

/// The narrowest of the usual widths that holds two scrapes and makes few windows.
fn natural(length: f64, sample_interval: f64) -> f64 {
    let wide = |width: &&f64| **width >= 2.0 * sample_interval && length / **width <= MOST_WINDOWS;
    WIDTHS.iter().find(wide).copied().unwrap_or_else(|| (length / MOST_WINDOWS).max(2.0 * sample_interval))
}

fn compare(
    measure: &Measure,
    counters: &Counters,
    windows: &[Simulated],
    width: f64,
    options: &AgainstOptions,
) -> Option<Parting> {
    let mut pairs = Vec::new();
    for (i, window) in windows.iter().enumerate() {
        let from = i as f64 * width;
        let (start, end) = (options.start + from, options.start + from + width);
        let Some(exported) = (measure.measured)(counters, start, end) else { continue };
        let Some((simulated, variance)) = (measure.simulated)(window, width) else { continue };
        // Few scrapes that happen to be low also happen to scatter little: what the simulated gauge scatters counts as well, in so
        // few scrapes and in its own samples.
        let chance = exported.chance.max(CHANCE * (variance * (exported.weight + 1.0 / f64::from(SAMPLES))).sqrt());
        let measured = exported.value;
        let allowed = (options.tolerance * measured.abs()).max(chance);
        pairs.push(WindowPair { from, measured, simulated, allowed, apart: (simulated - measured).abs() > allowed });
    }
    if pairs.is_empty() {
        return None;
    }
    let mean = |of: fn(&WindowPair) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
    let (measured, simulated) = (mean(|p| p.measured), mean(|p| p.simulated));
    let same_side = |a: &WindowPair, b: &WindowPair| (a.simulated > a.measured) == (b.simulated > b.measured);
    let parts_at = pairs.windows(2).position(|pair| pair[0].apart && pair[1].apart && same_side(&pair[0], &pair[1]));
    Some(Parting { measure: measure.name, unit: measure.unit, measured, simulated, windows: pairs, parts_at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_hold_two_scrapes_and_are_few() {
        assert_eq!(natural(120.0, 1.0), 2.0);
        assert_eq!(natural(600.0, 15.0), 30.0);
        assert_eq!(natural(86_400.0, 15.0), 1_800.0);
    }

    #[test]
    fn every_metric_of_a_measure_is_one_of_the_release() {
        for metric in MEASURES.iter().flat_map(|m| m.needs) {
            let plain = metric.trim_end_matches("_sum").trim_end_matches("_count");
            assert!(metrics::ALL.iter().any(|known| known.name == plain), "{metric}");
        }
    }
}
