//! The fit of a run: coefficients with which the rank's own batching serves the log as the real engine did.

use super::engine_facts::EngineFacts;
use super::error::CalibrationError;
use super::goodness::Comparison;
use super::outcome::{Doubt, Range};
use super::replay::{ReplayLimits, Replayed, Work, replay, replay_with_work};
use super::run_engine::Engine;
use super::run_load::check_load;
use super::run_log::{LEAST_REQUESTS, LoggedRequest, RunLog};
use super::run_loss::Target;
use super::run_search::{Curve, Found, Search, timing_of};
use super::run_start::from_log;
use super::series::TickSeries;
use crate::stats::text::duration;

/// Requests of a log that are used at most: more tell nothing new, and a calibration should take seconds.
const MOST_REQUESTS: usize = 4_000;
/// Load that goes on must bring the loss below this share of the loss without, and that must have been bad.
const GOES_ON: (f64, f64) = (0.7, 0.05);
/// Digits of a coefficient.
const DIGITS: usize = 4;
/// Sizes of the pool that are tried, percent of the estimate: where nothing tells it, and above a size that is told.
const POOL_UNKNOWN: [u64; 12] = [80, 86, 92, 95, 97, 98, 99, 101, 102, 104, 108, 114];
const POOL_ABOVE: [u64; 4] = [101, 102, 103, 105];
/// A loss above this, of a run that the pool limits, makes one doubt that the pool acts no larger than it is.
const POOR: f64 = 0.03;
/// A larger pool than the one told must bring the loss below this share.
const EFFECTIVE: f64 = 0.7;

/// What to fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FitOptions {
    /// Fit this many requests, the first ones; all others are load, and are predicted.
    pub fit_first: Option<usize>,
    /// Whether requests went on arriving after the last one of the log; `None` finds out.
    pub arrivals_go_on: Option<bool>,
}

/// A fitted run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFit {
    /// Seconds: base, per prefill token, per prefill token squared, per decoding sequence, per context token.
    pub coefficients: [f64; 5],
    /// The engine, with these times.
    pub limits: ReplayLimits,
    /// Requests behind the log's own that stand for arrivals that went on.
    pub background: Vec<LoggedRequest>,
    /// The requests used.
    pub log: Vec<LoggedRequest>,
    /// How many of them were fitted.
    pub fitted_requests: usize,
    /// Figures over the fitted requests.
    pub fitted: Vec<Comparison>,
    /// Figures over all of them, if not all were fitted.
    pub whole: Option<Vec<Comparison>>,
    /// The replay with the coefficients found.
    pub replayed: Replayed,
    /// What the data reach up to.
    pub range: Range,
    /// Where each limit comes from, in words.
    pub facts: Vec<String>,
    /// What the data leave open.
    pub doubts: Vec<Doubt>,
}

/// Fits the step times of a run.
///
/// # Errors
/// The log does not tell them: too little load, or none that varies; requests that the engine as described cannot hold.
pub fn fit_run(
    log: &RunLog,
    series: Option<&TickSeries>,
    facts: &EngineFacts,
    options: &FitOptions,
) -> Result<RunFit, CalibrationError> {
    let mut doubts = Vec::new();
    let used = &log.requests[..log.requests.len().min(MOST_REQUESTS)];
    if used.len() < log.requests.len() {
        let message = format!("the first {} of {} requests are fitted and compared", used.len(), log.requests.len());
        doubts.push(Doubt::new("part_of_the_log", message));
    }
    check_load(log, used)?;
    let fitted = options.fit_first.unwrap_or(used.len()).min(used.len());
    if fitted < LEAST_REQUESTS {
        let reason = format!("{fitted} requests to fit: expected at least {LEAST_REQUESTS}");
        return Err(CalibrationError::untellable(reason, "fit more of them"));
    }
    let engine = Engine::of(used, series, facts, &mut doubts)?;
    let target = Target::new(&used[..fitted]);
    let options = FitOptions { arrivals_go_on: options.arrivals_go_on.or(lacks_requests(log, facts)), ..options.clone() };
    let (background, mut search, mut found) = choose_tail(used, &engine.limits, &target, fitted, &options, &mut doubts)?;
    // The number running over time tells the pool best; it is of the whole run, so only a fit to the whole may use it.
    let curve = series.filter(|_| fitted == used.len() && background.is_empty());
    if engine.search_pool {
        search.curve = curve.map(Curve::of);
        found = search.with_pool(found, &POOL_UNKNOWN);
        search.curve = None;
    } else if engine.pool_limits && background.is_empty() && found.1 > POOR {
        let (told, loss) = (search.limits.spec.total_blocks, found.1);
        let other = search.with_pool(found, &POOL_ABOVE);
        if other.1 < EFFECTIVE * loss {
            found = other;
            doubts.push(effective_pool(told, search.limits.spec.total_blocks));
        } else {
            search.limits.spec.total_blocks = told;
        }
    }
    found = search.with_square(found);
    let coefficients = found.0.map(rounded);
    tell_zeros(&coefficients, &mut doubts);
    let mut limits = search.limits;
    limits.spec.timing = timing_of(&coefficients);
    let instants = series.map(TickSeries::instants).unwrap_or_default();
    let all: Vec<LoggedRequest> = used.iter().chain(&background).copied().collect();
    let replayed = replay(&all, background.len(), &limits, &instants).ok_or_else(CalibrationError::unservable)?;
    let (_, _, extent) = replay_with_work(&all, background.len(), &limits).ok_or_else(CalibrationError::unservable)?;
    let compare = |n: usize| {
        let mut figures = Comparison::latencies(&used[..n], &replayed.served);
        // A series of the whole run says nothing of a part of it, nor of requests that stand for others.
        let whole = series.filter(|_| n == used.len() && background.is_empty());
        figures.extend(whole.map(|series| peaks(series, &replayed)).into_iter().flatten());
        figures
    };
    let range = Range { prefill_tokens: extent.prefill, decoding: extent.decode, context_tokens: extent.context };
    Ok(RunFit {
        coefficients,
        fitted: compare(fitted),
        whole: (fitted < used.len()).then(|| compare(used.len())),
        facts: engine.words(&limits).into_iter().chain(log.front_end.map(front_end)).collect(),
        limits,
        background,
        log: used.to_vec(),
        fitted_requests: fitted,
        replayed,
        range,
        doubts,
    })
}

/// Figures of a log served with an engine: latencies, and peaks where there is a series. `None` if a request can never be served.
pub fn judge(log: &[LoggedRequest], series: Option<&TickSeries>, limits: &ReplayLimits) -> Option<Vec<Comparison>> {
    let instants = series.map(TickSeries::instants).unwrap_or_default();
    let replayed = replay(log, 0, limits, &instants)?;
    let mut figures = Comparison::latencies(log, &replayed.served);
    figures.extend(series.map(|series| peaks(series, &replayed)).into_iter().flatten());
    Some(figures)
}

/// Peaks of running and waiting sequences at the series' own instants.
fn peaks(series: &TickSeries, replayed: &Replayed) -> [Comparison; 2] {
    let most = |of: fn(&(u32, u32)) -> u32| f64::from(replayed.samples.iter().map(of).max().unwrap_or(0));
    let (running, waiting) = series.peaks();
    [
        Comparison::new("peak_running", f64::from(running), most(|s| s.0)),
        Comparison::new("peak_waiting", f64::from(waiting), most(|s| s.1)),
    ]
}

/// The run is met far better with another pool than the one told: an engine that shares blocks of equal prompts holds more in them.
fn effective_pool(told: u64, acts_as: u64) -> Doubt {
    let message = format!(
        "the pool of {told} blocks acts like one of {acts_as}, which the preset has: sequences may share blocks (prefix caching), which is \
         not simulated"
    );
    Doubt::new("effective_pool", message)
}

/// What lies before the engine's queue, which the fit does not see.
fn front_end((median, most): (f64, f64)) -> String {
    format!(
        "before the queue: {} at the median and at most {} more than the quickest; not part of the preset",
        duration(median * 1e9),
        duration(most * 1e9)
    )
}

/// Whether the run had more requests than the log, by its own configuration; `None` if not, or if that does not tell.
fn lacks_requests(log: &RunLog, facts: &EngineFacts) -> Option<bool> {
    let logged = (log.requests.len() + log.unserved) as u64;
    facts.num_requests.filter(|all| *all > logged + logged / 50).map(|_| true)
}

/// Requests behind the log's end, the search with them, and what it found.
type Tailed<'a> = (Vec<LoggedRequest>, Search<'a>, Found);

/// Whether arrivals went on after the log's last: a log cut in the middle of a run shows decoding that is slowed by requests it does
/// not have. Where the log alone is met badly both are tried; its own requests over again stand for those that are missing.
fn choose_tail<'a>(
    used: &[LoggedRequest],
    limits: &ReplayLimits,
    target: &'a Target<'a>,
    fitted: usize,
    options: &FitOptions,
    doubts: &mut Vec<Doubt>,
) -> Result<Tailed<'a>, CalibrationError> {
    let crude = from_log(&used[..fitted]);
    let with = |background: Vec<LoggedRequest>| -> Result<Tailed<'a>, CalibrationError> {
        let search = Search::new(used, &background, target, fitted, limits.clone());
        let starts = search.starts(crude).ok_or_else(CalibrationError::unservable)?;
        let found = search.descend(starts);
        Ok((background, search, found))
    };
    let chosen = match options.arrivals_go_on {
        Some(true) => with(again(used))?,
        Some(false) => with(Vec::new())?,
        None => {
            let ends = with(Vec::new())?;
            if ends.2.1 <= GOES_ON.1 {
                return Ok(ends);
            }
            let goes_on = with(again(used))?;
            if goes_on.2.1 < GOES_ON.0 * ends.2.1 { goes_on } else { ends }
        }
    };
    if !chosen.0.is_empty() {
        let message = "requests seem to have gone on arriving after the last one of the log, whose own are taken over again in \
                       their stead; a log of a whole run tells more";
        doubts.push(Doubt::new("arrivals_go_on", message));
    }
    Ok(chosen)
}

/// The log over again, behind its own end, until its last request is served.
fn again(log: &[LoggedRequest]) -> Vec<LoggedRequest> {
    let last_queued = log.iter().map(|r| r.queued).fold(0.0, f64::max);
    let end = log.iter().map(|r| r.last).fold(0.0, f64::max);
    let period = last_queued * log.len() as f64 / (log.len() - 1) as f64;
    if period <= 0.0 {
        return Vec::new();
    }
    let shifted = |r: &LoggedRequest, by: f64| LoggedRequest { queued: r.queued + by, ..*r };
    let rounds = (1..4).map(|round| f64::from(round) * period);
    rounds.flat_map(|by| log.iter().map(move |r| shifted(r, by))).take_while(|r| r.queued <= end).collect()
}

/// To a few digits: more would pretend.
fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().expect("the e format is a float")
}

fn tell_zeros(coefficients: &Work, doubts: &mut Vec<Doubt>) {
    let names = ["a step's fixed cost", "prefill tokens", "", "decoding sequences", "context tokens"];
    for (value, name) in coefficients.iter().zip(names).filter(|(_, name)| !name.is_empty()) {
        if *value < 1e-12 {
            let message = format!("nothing is left for {name}: this run does not tell it from the others");
            doubts.push(Doubt::new("coefficient_zero", message));
        }
    }
}
