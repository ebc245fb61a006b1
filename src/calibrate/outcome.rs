//! What a calibration found, for files and people.

use schemars::JsonSchema;
use serde::Serialize;

use super::error::CalibrationError;
use super::goodness::{Comparison, Latency};
use super::points::{PointFit, fit_points};
use super::profile::Profile;
use super::replay::Served;
use super::run_fit::RunFit;
use super::series::TickSeries;
use super::timings::Timings;
use crate::scenario::{PresetFile, PresetKind};
use crate::stats::text::{count, percent};

/// Something that a reader of the preset should know: what the data do not tell, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Doubt {
    /// A word for machines.
    pub code: &'static str,
    /// In words.
    pub message: String,
}

impl Doubt {
    /// A doubt.
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// What the data reach up to; beyond, the preset extrapolates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Range {
    /// Most prefill tokens in a step.
    pub prefill_tokens: u64,
    /// Most decoding sequences in a step.
    pub decoding: u64,
    /// Most context tokens of the decoding sequences in a step.
    pub context_tokens: u64,
}

impl Range {
    fn words(&self) -> String {
        format!(
            "steps of up to {} prefill tokens, {} decoding sequences and {} context tokens; beyond it extrapolates",
            count(self.prefill_tokens),
            count(self.decoding),
            count(self.context_tokens)
        )
    }
}

/// Errors of points, as shares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PointErrors {
    /// Points.
    pub points: usize,
    /// Median of the absolute relative errors.
    pub p50: f64,
    /// Their 90th percentile.
    pub p90: f64,
    /// Their 99th.
    pub p99: f64,
}

impl PointErrors {
    fn of(pairs: &[(f64, f64)]) -> Self {
        let [p50, p90, p99] = Latency::QUANTILES.map(|p| PointFit::error(pairs, p));
        Self { points: pairs.len(), p50, p90, p99 }
    }
}

/// How good a fit is.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Goodness {
    /// Figures of a run, measured against simulated.
    Run {
        /// Requests that were fitted.
        requests: usize,
        /// Figures over what was fitted.
        fitted: Vec<Comparison>,
        /// Figures over the whole log, where only a part was fitted.
        whole: Option<Vec<Comparison>>,
    },
    /// Points of a profile or table.
    Points {
        /// Prefill times.
        prefill: PointErrors,
        /// Decode times.
        decode: PointErrors,
    },
}

/// What a chart shows: measured beside simulated.
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// Latencies in ascending order in seconds, measured and simulated; and running and waiting sequences over time, as time,
    /// measured and simulated.
    Run {
        /// By latency, in the order of [`Latency::ALL`].
        latencies: [(Vec<f64>, Vec<f64>); 3],
        /// Running sequences: seconds, measured, simulated.
        running: Vec<[f64; 3]>,
        /// Waiting sequences: the same.
        waiting: Vec<[f64; 3]>,
    },
    /// Measured and fitted seconds, point by point.
    Points {
        /// Prefill.
        prefill: Vec<(f64, f64)>,
        /// Decode.
        decode: Vec<(f64, f64)>,
    },
}

/// The outcome of a calibration.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The worker.
    pub preset: PresetFile,
    /// What the data reach up to.
    pub range: Range,
    /// How good it is.
    pub goodness: Goodness,
    /// What a chart shows.
    pub evidence: Evidence,
    /// What is known of the engine and where from, in words.
    pub facts: Vec<String>,
    /// What the data leave open.
    pub doubts: Vec<Doubt>,
}

/// What a preset of points has besides its times; the points do not tell.
#[derive(Clone, Debug, PartialEq)]
pub struct PointPreset {
    /// Its name.
    pub name: String,
    /// Where its points come from.
    pub source: String,
    /// How they came about.
    pub kind: PresetKind,
    /// KV blocks per rank.
    pub kv_total_blocks: Option<u64>,
    /// Tokens in a KV block.
    pub kv_cache_block_size: u32,
    /// Running sequences at most.
    pub max_num_seqs: u32,
    /// Token budget of a step.
    pub max_num_batched_tokens: u64,
    /// Served over tabulated time: multiplies every coefficient.
    pub served_factor: f64,
    /// Decode points of shorter contexts are left out, tokens.
    pub min_context: f64,
}

impl Calibration {
    /// Of a fitted run.
    pub fn of_run(fit: &RunFit, name: &str, source: &str, series: Option<&TickSeries>) -> Self {
        let spec = &fit.limits.spec;
        let latencies_only: Vec<Comparison> = fit.fitted.iter().filter(|c| !c.measure.starts_with("peak")).cloned().collect();
        let validity = format!(
            "{}; p50, p90 and p99 of TTFT, time per output token and end to end within {} on the {} requests fitted",
            fit.range.words(),
            percent(Comparison::worst(&latencies_only)),
            count(fit.fitted_requests as u64)
        );
        let preset = PresetFile {
            name: name.to_owned(),
            kind: PresetKind::Fitted,
            source: Some(source.to_owned()),
            validity: Some(validity),
            timing: spec.timing.clone(),
            kv_total_blocks: spec.total_blocks,
            kv_cache_block_size: spec.block_size,
            max_num_seqs: spec.max_num_seqs,
            max_num_batched_tokens: spec.max_num_batched_tokens,
        };
        let own = &fit.log;
        let latencies = Latency::ALL.map(|l| (l.measured(own), l.simulated(own, &fit.replayed.served)));
        Self {
            preset,
            range: fit.range,
            goodness: Goodness::Run { requests: fit.fitted_requests, fitted: fit.fitted.clone(), whole: fit.whole.clone() },
            evidence: Evidence::Run {
                latencies,
                running: over_time(fit, series, |r| r.0, |tick| tick.0),
                waiting: over_time(fit, series, |r| r.1, |tick| tick.1),
            },
            facts: fit.facts.clone(),
            doubts: fit.doubts.clone(),
        }
    }

    /// Of a profile.
    ///
    /// # Errors
    /// Its points do not tell the step times.
    pub fn of_profile(profile: &Profile, preset: PointPreset) -> Result<Self, CalibrationError> {
        let blocks = preset.kv_total_blocks.unwrap_or(profile.max_kv_tokens / u64::from(preset.kv_cache_block_size));
        Self::of_points(&profile.prefill, &profile.decode, PointPreset { kv_total_blocks: Some(blocks), ..preset })
    }

    /// Of a table.
    ///
    /// # Errors
    /// Its points do not tell the step times.
    pub fn of_timings(timings: &Timings, preset: PointPreset) -> Result<Self, CalibrationError> {
        let told = timings.kv_tokens.map(|tokens| tokens / u64::from(preset.kv_cache_block_size));
        let blocks = preset.kv_total_blocks.or(told);
        Self::of_points(&timings.prefill, &timings.decode, PointPreset { kv_total_blocks: blocks, ..preset })
    }

    fn of_points(
        prefill: &[super::PrefillPoint],
        decode: &[super::DecodePoint],
        preset: PointPreset,
    ) -> Result<Self, CalibrationError> {
        let Some(kv_total_blocks) = preset.kv_total_blocks.filter(|n| *n > 0) else {
            return Err(CalibrationError::untellable(
                "the measurements do not tell how many KV blocks a rank has",
                "give them with `--kv-blocks`",
            ));
        };
        let kept: Vec<_> = decode.iter().filter(|d| d.mean_context() > preset.min_context).copied().collect();
        let fit = fit_points(prefill, &kept, preset.served_factor)?;
        let (prefill, decode) = (PointErrors::of(&fit.prefill_pairs), PointErrors::of(&fit.decode_pairs));
        let mut doubts = fit.doubts.clone();
        doubts.push(Doubt::new(
            "two_parts",
            "prefill and decode were measured apart: a step that does both is charged both fixed costs, which over-counts it",
        ));
        let mut validity = fit.range.words();
        if preset.min_context > 0.0 {
            validity.push_str(&format!("; contexts above {} tokens", preset.min_context));
        }
        validity.push_str(&format!("; median error {} (prefill), {} (decode)", percent(prefill.p50), percent(decode.p50)));
        Ok(Self {
            preset: PresetFile {
                name: preset.name,
                kind: preset.kind,
                source: Some(preset.source),
                validity: Some(validity),
                timing: fit.timing(),
                kv_total_blocks,
                kv_cache_block_size: preset.kv_cache_block_size,
                max_num_seqs: preset.max_num_seqs,
                max_num_batched_tokens: preset.max_num_batched_tokens,
            },
            range: fit.range,
            goodness: Goodness::Points { prefill, decode },
            evidence: Evidence::Points { prefill: fit.prefill_pairs, decode: fit.decode_pairs },
            facts: vec![format!("{} prefill and {} decode points", prefill.points, decode.points)],
            doubts,
        })
    }
}

/// A count over time: of the series if there is one, else of the log itself at 200 instants.
fn over_time(
    fit: &RunFit,
    series: Option<&TickSeries>,
    of_replay: fn((u32, u32)) -> u32,
    of_counts: fn((u32, u32)) -> u32,
) -> Vec<[f64; 3]> {
    let point = |at: f64, measured: (u32, u32), simulated: (u32, u32)| {
        [at, f64::from(of_counts(measured)), f64::from(of_replay(simulated))]
    };
    if let Some(series) = series {
        let ticks = series.ticks.iter().zip(&fit.replayed.samples);
        return ticks.map(|(tick, seen)| point(tick.t + series.offset, (tick.running, tick.waiting), *seen)).collect();
    }
    const INSTANTS: u32 = 200;
    let end = fit.log.iter().map(|r| r.last).fold(0.0, f64::max);
    let inside = |from: f64, to: f64, at: f64| u32::from(from <= at && at < to);
    let instants = (0..=INSTANTS).map(|i| end * f64::from(i) / f64::from(INSTANTS));
    // Without samples of the engine, "running" is from the first token on and "waiting" up to it, on both sides.
    let counts = |at: f64, of: &dyn Fn(usize) -> Served| {
        (0..fit.log.len()).fold((0, 0), |(running, waiting), i| {
            let served = of(i);
            (running + inside(served.first, served.last, at), waiting + inside(fit.log[i].queued, served.first, at))
        })
    };
    let measured = |i: usize| Served { first: fit.log[i].first, last: fit.log[i].last };
    let simulated = |i: usize| fit.replayed.served[i];
    instants.map(|at| point(at, counts(at, &measured), counts(at, &simulated))).collect()
}
