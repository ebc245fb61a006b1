//! What closed forms say before anything is run: where to start, and what cannot be.

use serde::{Deserialize, Serialize};

use crate::cluster::batching::StepWork;
use crate::cluster::config::{BatchingEngine, WorkerEngine, WorkerType};
use crate::scenario::Scenario;
use crate::stats::theory;
use crate::workload::config::{LengthDistribution, LengthShape, SpanDistribution};

use super::goal::Goal;
use super::load::steady_rate;

/// Servers that a closed form looks at, at most.
const MOST_SERVERS: u64 = 1_000_000;

/// What one closed form says of the workers that the traffic needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The form: `erlang`, `kv`, `steps`.
    pub form: String,
    /// How it comes to it, with its figures.
    pub because: String,
    /// Workers as the scenario has them, each of the first type, that carry the traffic.
    pub workers: f64,
}

/// All closed forms that apply to the scenario: one type of workers and a rate that is known.
pub(super) fn bounds(scenario: &Scenario, goals: &[Goal]) -> Vec<Bound> {
    let (Some(rate), [kind]) = (steady_rate(scenario), scenario.fleet.types.as_slice()) else { return Vec::new() };
    let refusals = goals.iter().filter(|g| g.class.is_none() && !g.at_least && REFUSALS.contains(&g.measure.as_str()));
    let allowed = refusals.map(|goal| goal.value).fold(None, |least: Option<f64>, v| Some(least.map_or(v, |l| l.min(v))));
    match &kind.engine {
        WorkerEngine::Opaque { service_time: Some(time), .. } => {
            erlang(kind, rate, mean_span(time), allowed).into_iter().collect()
        }
        WorkerEngine::Opaque { service_time: None, .. } => Vec::new(),
        WorkerEngine::Batching(engine) => tokens(scenario, kind, engine, rate, allowed.unwrap_or(0.0)),
    }
}

/// Measures that say how much is refused.
const REFUSALS: [&str; 2] = ["rate_529", "lost_to_overload_share"];

/// The whole fleet as one queue M/M/c/(c + Q): no fleet of workers with lines of their own refuses less (pooling).
fn erlang(kind: &WorkerType, rate: f64, mean: f64, allowed: Option<f64>) -> Option<Bound> {
    let slots = u64::from(kind.engine_request_limit?);
    let queue = u64::from(kind.request_queue_limit);
    let allowed = allowed?;
    let refused = |workers: u64| {
        let servers = workers * slots;
        theory::mmck(rate, mean, servers, servers + workers * queue).map(|figures| figures.refused_share)
    };
    let most = (MOST_SERVERS / slots).max(1);
    let (mut low, mut high) = (1, most);
    while low < high {
        let middle = low + (high - low) / 2;
        if refused(middle)? <= allowed { high = middle } else { low = middle + 1 }
    }
    let because = format!(
        "{:.4} Erlang ({rate} requests/s of {mean:.4} s) on {slots} slots and {queue} places a worker, pooled: M/M/c/(c+Q) refuses {:.4} % with {low}",
        rate * mean,
        100.0 * refused(low)?
    );
    Some(Bound { form: "erlang".to_owned(), because, workers: low as f64 })
}

/// Steps and KV blocks of batching engines, at full batches.
fn tokens(scenario: &Scenario, kind: &WorkerType, engine: &BatchingEngine, rate: f64, allowed: f64) -> Vec<Bound> {
    let streams = &scenario.workload.streams;
    let weighted = |of: fn(&crate::workload::config::StreamConfig) -> &LengthDistribution| {
        streams.iter().map(|s| mean_length(of(s))).sum::<f64>() / streams.len().max(1) as f64
    };
    let (input, output) = (weighted(|s| &s.input_tokens), weighted(|s| &s.output_tokens));
    let served = rate * (1.0 - allowed);
    let ranks = f64::from(kind.data_parallel_size);
    let block = f64::from(kind.kv_cache_block_size);
    let blocks = kind.kv_total_blocks.unwrap_or(0) as f64;
    // Over its life a sequence holds its prompt and half of its answer.
    let held = ((input + 0.5 * output) / block).max(1.0);
    let batch = (blocks / held).min(f64::from(engine.max_num_seqs)).max(1.0);
    let pool = (blocks * block) as u64;
    let context = batch * (input + 0.5 * output);
    let decode = StepWork { prefill: 0, decode: batch as u64, context: context as u64 };
    let step = engine.timing.duration(decode, pool).as_secs_f64();
    // Prompts share steps with decoding: only what they add counts.
    let with_prompt = StepWork { prefill: input.round() as u64, ..decode };
    let prompt = (engine.timing.duration(with_prompt, pool).as_secs_f64() - step).max(0.0);
    let busy = prompt + output * step / batch;
    let life = output * (step + prompt * served / (ranks * (served / ranks).max(1.0)));
    let steps = Bound {
        form: "steps".to_owned(),
        because: format!(
            "a request takes {:.1} ms of a rank: its prompt {:.1} ms, {output:.0} tokens of steps of {:.1} ms shared by {batch:.0}",
            busy * 1e3,
            prompt * 1e3,
            step * 1e3
        ),
        workers: served * busy / ranks,
    };
    let kv = Bound {
        form: "kv".to_owned(),
        because: format!(
            "a request holds about {held:.0} of {blocks:.0} blocks for {life:.2} s or more, and {served:.1} requests/s are in by turns"
        ),
        workers: if blocks > 0.0 { served * life * held / (blocks * ranks) } else { 0.0 },
    };
    vec![steps, kv]
}

/// Mean of a distribution of times, in seconds.
fn mean_span(spans: &SpanDistribution) -> f64 {
    match spans {
        SpanDistribution::Constant { value } => value.as_secs_f64(),
        SpanDistribution::Uniform { low, high } => 0.5 * (low.as_secs_f64() + high.as_secs_f64()),
        SpanDistribution::Exponential { mean }
        | SpanDistribution::Gamma { mean, .. }
        | SpanDistribution::Lognormal { mean, .. } => mean.as_secs_f64(),
        SpanDistribution::Empirical { values } => {
            let (sum, weights) =
                values.iter().fold((0.0, 0.0), |(s, w), (value, weight)| (s + weight * value.as_secs_f64(), w + weight));
            sum / weights
        }
    }
}

/// Mean of a distribution of lengths, its `min` and `max` left aside: a start, no figure.
fn mean_length(lengths: &LengthDistribution) -> f64 {
    let mean = match &lengths.shape {
        LengthShape::Constant { value } => f64::from(*value),
        LengthShape::Uniform { low, high } => 0.5 * (f64::from(*low) + f64::from(*high)),
        LengthShape::Lognormal { mean, .. } | LengthShape::Gamma { mean, .. } => *mean,
        LengthShape::Pareto { scale, alpha } if *alpha > 1.0 => scale * alpha / (alpha - 1.0),
        LengthShape::Pareto { scale, .. } => lengths.max.map_or(10.0 * scale, f64::from),
        LengthShape::Empirical { values } => {
            let (sum, weights) =
                values.iter().fold((0.0, 0.0), |(s, w), (value, weight)| (s + weight * f64::from(*value), w + weight));
            sum / weights
        }
        LengthShape::Mixture { components } => {
            let weights: f64 = components.iter().map(|c| c.weight).sum();
            components.iter().map(|c| c.weight * mean_length(&c.distribution)).sum::<f64>() / weights
        }
    };
    mean.clamp(f64::from(lengths.min), lengths.max.map_or(f64::INFINITY, f64::from))
}
