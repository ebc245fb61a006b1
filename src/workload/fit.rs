//! A generated workload that imitates a trace: what `trace fit` writes.
//!
//! The rate becomes level pieces with the trace's own counts; what variation of the gaps is left after the rate has been
//! divided out (the gaps in operational time) becomes the variation of a renewal process; lengths stay the pairs of prompt
//! and answer that came in the same piece of time, because what comes long comes together: drawn side by side, or over the
//! whole time, the lengths of a real trace made a fleet refuse a fifth to twice as much as the trace itself.

mod pairs;

use self::pairs::pair_pieces;
use super::config::{
    ArrivalProcess, PairSchedule, RatePiece, RateSchedule, StreamConfig, StreamLengths, TraceConfig, WorkloadConfig,
};
use super::error::WorkloadError;
use super::sampling::exp;
use super::source::{Bounds, RequestSource};
use super::trace::{TraceReplay, TraceReport};
use crate::engine::rng::Streams;
use crate::units::{NANOS_PER_SECOND, SimTime};

/// How to fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitOptions {
    /// Most pieces of the rate; 1 fits a constant rate.
    pub pieces: usize,
    /// Most pairs of lengths of a piece, about; `None` keeps every pair.
    pub pairs: Option<usize>,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self { pieces: 48, pairs: None }
    }
}

/// A fitted workload and what it was fitted to.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The workload: one stream.
    pub workload: WorkloadConfig,
    /// The process by name: `poisson`, `gamma` or `weibull`.
    pub process: &'static str,
    /// Variation of the gaps in operational time; that of the fitted process.
    pub cv: f64,
    /// Rank correlation (Spearman) of prompt and generated tokens.
    pub length_correlation: f64,
    /// Largest distance between the distribution of the trace's gaps in operational time and that of the process.
    pub gap_distance: f64,
    /// From the first to the last arrival.
    pub span: SimTime,
    /// Figures of the trace.
    pub trace: Figures,
    /// The same of the imitation, mean over five replications.
    pub imitation: Figures,
    /// The account of the trace.
    pub report: TraceReport,
}

impl Fit {
    /// The pairs of lengths of the one stream.
    pub fn pairs(&self) -> Option<&PairSchedule> {
        match &self.workload.streams.first()?.lengths {
            StreamLengths::Paired(schedule) => Some(schedule),
            StreamLengths::Separate { .. } => None,
        }
    }

    /// Distinct pairs of lengths, over all pieces.
    pub fn distinct_pairs(&self) -> usize {
        self.pairs().map_or(0, |schedule| schedule.0.iter().map(|piece| piece.pairs.len()).sum())
    }
}

/// What an imitation should share with its trace.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Requests per second from the first to the last.
    pub rate: f64,
    /// Coefficient of variation of the gaps.
    pub gap_cv: f64,
    /// Mean prompt, tokens.
    pub input_mean: f64,
    /// 99th percentile of the prompts, tokens.
    pub input_p99: f64,
    /// Mean output, tokens.
    pub output_mean: f64,
    /// 99th percentile of the outputs, tokens.
    pub output_p99: f64,
    /// Index of dispersion of the counts per 1, 10 and 60 s: not fitted, but where the two differ a fleet meets other bursts.
    pub dispersion: [f64; 3],
}

impl Figures {
    /// Names and values, in the order of reports.
    pub const fn named(&self) -> [(&'static str, f64); 6] {
        [
            ("rate", self.rate),
            ("gap_cv", self.gap_cv),
            ("input_mean", self.input_mean),
            ("input_p99", self.input_p99),
            ("output_mean", self.output_mean),
            ("output_p99", self.output_p99),
        ]
    }

    /// Of requests: arrivals in nanoseconds, prompts, outputs; zero of fewer than two.
    fn of(times: &[u64], input: &[u32], output: &[u32]) -> Self {
        if times.len() < 2 {
            return Self::default();
        }
        let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64 / NANOS_PER_SECOND as f64).collect();
        let span: f64 = gaps.iter().sum();
        let lengths = |tokens: &[u32]| {
            let mut sorted = tokens.to_vec();
            sorted.sort_unstable();
            let mean = sorted.iter().map(|t| f64::from(*t)).sum::<f64>() / sorted.len() as f64;
            (mean, f64::from(sorted[(sorted.len() - 1) * 99 / 100]))
        };
        let ((input_mean, input_p99), (output_mean, output_p99)) = (lengths(input), lengths(output));
        let rate = if span > 0.0 { gaps.len() as f64 / span } else { 0.0 };
        let dispersion = super::inspect::WINDOWS.map(|window| dispersion(times, window));
        Self { rate, gap_cv: variation(&gaps), input_mean, input_p99, output_mean, output_p99, dispersion }
    }

    /// Of what a workload generates until `end`, mean over replications.
    fn generated(workload: &WorkloadConfig, end: SimTime) -> Result<Self, WorkloadError> {
        let mut mean = Self::default();
        let share = 1.0 / REPLICATIONS as f64;
        for replication in 0..REPLICATIONS {
            let bounds = Bounds { horizon: Some(end), requests: None };
            let mut source = RequestSource::open(workload, Streams::new(1).replication(replication), bounds)?;
            let (mut times, mut input, mut output) = (Vec::new(), Vec::new(), Vec::new());
            while let Some(request) = source.next()? {
                times.push(request.arrival.as_nanos());
                input.push(request.input_tokens);
                output.push(request.output_tokens);
            }
            let one = Self::of(&times, &input, &output);
            mean.rate += one.rate * share;
            mean.gap_cv += one.gap_cv * share;
            mean.input_mean += one.input_mean * share;
            mean.input_p99 += one.input_p99 * share;
            mean.output_mean += one.output_mean * share;
            mean.output_p99 += one.output_p99 * share;
            mean.dispersion.iter_mut().zip(one.dispersion).for_each(|(mean, one)| *mean += one * share);
        }
        Ok(mean)
    }
}

/// Variance over mean of the counts in whole windows of `window` seconds from the first arrival on; 0 without such.
fn dispersion(times: &[u64], window: u64) -> f64 {
    let width = window * NANOS_PER_SECOND;
    let (first, last) = (times[0], times[times.len() - 1]);
    let windows = (last - first) / width;
    if windows == 0 {
        return 0.0;
    }
    let index = |t: &u64| (t - first) / width;
    let whole = &times[..times.partition_point(|t| index(t) < windows)];
    let (mut sum, mut squares) = (0.0, 0.0);
    for group in whole.chunk_by(|a, b| index(a) == index(b)) {
        let count = group.len() as f64;
        sum += count;
        squares += count * count;
    }
    let mean = sum / windows as f64;
    if mean > 0.0 { (squares / windows as f64 - mean * mean) / mean } else { 0.0 }
}

/// Replications that an imitation is judged by.
const REPLICATIONS: u64 = 5;

/// Fewest requests to fit to.
const FEWEST: usize = 100;
/// Fewest requests of a piece of the rate, so that its height is known to about 7 %.
const PER_PIECE: usize = 200;
/// A renewal process this close to Poisson is called one.
const POISSON_BAND: f64 = 0.03;

/// Fits a workload to a trace, as it would be replayed under the options of its configuration. Memory grows with the
/// trace.
///
/// # Errors
/// As [`TraceReplay::open`] and [`TraceReplay::next`]; also if the trace has fewer than 100 requests or no span.
pub fn fit(config: &TraceConfig, options: FitOptions) -> Result<Fit, WorkloadError> {
    // A fit must not depend on a seed: this one only spreads ticks, if the options ask for that.
    let mut replay = TraceReplay::open(config, Streams::new(0))?;
    let (mut times, mut input, mut output) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(request) = replay.next()? {
        times.push(request.arrival.as_nanos());
        input.push(request.input_tokens);
        output.push(request.output_tokens);
    }
    let bad = |problem: String, hint: &str| WorkloadError::File { path: config.path.clone(), problem, hint: hint.into() };
    if times.len() < FEWEST {
        let problem = format!("{} requests: expected at least {FEWEST} to fit to", times.len());
        return Err(bad(problem, "replay so short a trace as it is"));
    }
    if times[0] == times[times.len() - 1] {
        return Err(bad(
            "all requests arrive at one instant: expected a span of time".into(),
            "spread its ticks with `dequantise`",
        ));
    }
    let rate = rate_pieces(&times, options.pieces.max(1));
    let lengths = pair_pieces(&rate, &times, &input, &output, options.pairs);
    let gaps = operational_gaps(&times, &rate);
    let cv = variation(&gaps);
    let (process, name, gap_distance) = choose(&gaps, cv, rate);
    let length_correlation = spearman(&input, &output);
    let trace = Figures::of(&times, &input, &output);
    let end = SimTime::from_nanos(times[times.len() - 1] - times[0]);
    let stream = StreamConfig {
        class: config.class.clone(),
        arrivals: Some(process),
        weight: None,
        lengths: StreamLengths::Paired(lengths),
    };
    let workload = WorkloadConfig { streams: vec![stream], ..Default::default() };
    Ok(Fit {
        imitation: Figures::generated(&workload, end)?,
        trace,
        workload,
        process: name,
        cv: if name == "poisson" { 1.0 } else { cv },
        length_correlation,
        gap_distance,
        span: end,
        report: replay.report(),
    })
}

/// Level pieces of equal length, each with the trace's own count, as many as `most` and [`PER_PIECE`] allow.
fn rate_pieces(times: &[u64], most: usize) -> RateSchedule {
    let (first, last) = (times[0], times[times.len() - 1]);
    let pieces = (times.len() / PER_PIECE).clamp(1, most) as u64;
    let width = (last - first).div_ceil(pieces).max(1);
    let mut schedule = Vec::new();
    for i in 0..pieces {
        let start = first + i * width;
        let end = (start + width).min(last);
        // The last arrival ends the last gap: n requests have n - 1 gaps, and the rate is gaps per time.
        let count = times.partition_point(|t| *t < end) - times.partition_point(|t| *t < start);
        let seconds = end.saturating_sub(start) as f64 / NANOS_PER_SECOND as f64;
        let rate = if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        // The run starts at 0, whatever idle time the trace has before its first request.
        schedule.push(RatePiece { at: SimTime::from_nanos(i * width), rate: six_digits(rate), ramp: false });
    }
    RateSchedule(schedule)
}

/// A rate with six significant digits, as a person would write it.
fn six_digits(rate: f64) -> f64 {
    format!("{rate:.5e}").parse().unwrap_or(rate)
}

/// Gaps in operational time: the integral of the rate between successive arrivals, of mean about 1.
fn operational_gaps(times: &[u64], rate: &RateSchedule) -> Vec<f64> {
    let first = times[0];
    let pieces = &rate.0;
    let integral = |at: u64| {
        let mut sum = 0.0;
        for (i, piece) in pieces.iter().enumerate() {
            let start = piece.at.as_nanos();
            let end = pieces.get(i + 1).map_or(u64::MAX, |p| p.at.as_nanos()).min(at);
            if end > start {
                sum += piece.rate * (end - start) as f64 / NANOS_PER_SECOND as f64;
            }
        }
        sum
    };
    let integrals: Vec<f64> = times.iter().map(|t| integral(t - first)).collect();
    integrals.windows(2).map(|w| w[1] - w[0]).collect()
}

fn variation(gaps: &[f64]) -> f64 {
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64;
    if mean > 0.0 { variance.sqrt() / mean } else { 0.0 }
}

/// The process whose gaps come closest (largest distance of the distributions): Poisson if the variation is about 1,
/// else gamma or Weibull with it.
fn choose(gaps: &[f64], cv: f64, rate: RateSchedule) -> (ArrivalProcess, &'static str, f64) {
    use super::sampling::{Gamma, Weibull};
    let mut sorted = gaps.to_vec();
    sorted.sort_by(f64::total_cmp);
    let distance = |cdf: &dyn Fn(f64) -> f64| {
        let n = sorted.len() as f64;
        sorted.iter().enumerate().fold(0.0_f64, |worst, (i, x)| {
            let p = cdf(*x);
            worst.max((p - i as f64 / n).abs()).max(((i + 1) as f64 / n - p).abs())
        })
    };
    let poisson = distance(&|x| 1.0 - exp(-x));
    if (cv - 1.0).abs() <= POISSON_BAND {
        return (ArrivalProcess::Poisson { rate }, "poisson", poisson);
    }
    let gamma = Gamma::from_mean_cv(1.0, cv).map(|gamma| distance(&|x| gamma.cdf(x)));
    let weibull = Weibull::from_mean_cv(1.0, cv).map(|weibull| distance(&|x| weibull.cdf(x)));
    match (gamma, weibull) {
        (gamma, Some(weibull)) if gamma.is_none_or(|gamma| weibull < gamma) => {
            (ArrivalProcess::Weibull { rate, cv }, "weibull", weibull)
        }
        (Some(gamma), _) => (ArrivalProcess::Gamma { rate, cv }, "gamma", gamma),
        _ => (ArrivalProcess::Constant { rate }, "constant", 1.0),
    }
}

/// Spearman's rank correlation, ties at their mean rank; 0 if either side does not vary.
fn spearman(a: &[u32], b: &[u32]) -> f64 {
    let ranks = |values: &[u32]| {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let rank = |v: &u32| (sorted.partition_point(|x| x < v) + sorted.partition_point(|x| x <= v)) as f64 / 2.0;
        values.iter().map(rank).collect::<Vec<f64>>()
    };
    let (a, b) = (ranks(a), ranks(b));
    let mean = a.len() as f64 / 2.0;
    let sum = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    let scale = (sum(&a, &a) * sum(&b, &b)).sqrt();
    let found = if scale > 0.0 { sum(&a, &b) / scale } else { 0.0 };
    // Four digits are more than a fit knows.
    (found * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests;
