//! What closed forms say before anything is run: where to start, and what cannot be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::batching::StepWork;
use crate::cluster::config::{BatchingEngine, WorkerEngine, WorkerType};
use crate::scenario::Scenario;
use crate::stats::theory;
use crate::workload::config::SpanDistribution;

use super::goal::Goal;
use super::load::{mean_lengths, steady_rate};

/// Places that a closed form goes through, at most: beyond, only what the slots do counts.
const MOST_ROOM: u64 = 200_000;
/// Workers that are tried from the least possible up.
const MOST_STEPS: u64 = 200;

/// What one closed form says of the workers that the traffic needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    // What is served is at most what the slots do: from there up, the closed form tells.
    let fluid = (rate * mean * (1.0 - allowed) / slots as f64).max(0.0);
    let refused = |workers: u64| {
        let servers = workers.checked_mul(slots)?;
        let room = servers.checked_add(workers.checked_mul(queue)?).filter(|room| *room <= MOST_ROOM)?;
        theory::mmck(rate, mean, servers, room).map(|figures| figures.refused_share)
    };
    let least = (fluid.ceil() as u64).max(1);
    let carries = |workers: &u64| refused(*workers).is_none_or(|share| share <= allowed);
    let low = (least..least.saturating_add(MOST_STEPS)).find(carries)?;
    let Some(share) = refused(low) else {
        let because = format!("{:.4} Erlang ({rate} requests/s of {mean:.4} s) fill {slots} slots a worker", rate * mean);
        return Some(Bound { form: "erlang".to_owned(), because, workers: fluid });
    };
    let because = format!(
        "{:.4} Erlang ({rate} requests/s of {mean:.4} s) on {slots} slots and {queue} places a worker, pooled: M/M/c/(c+Q) refuses {:.4} % with {low}",
        rate * mean,
        100.0 * share
    );
    Some(Bound { form: "erlang".to_owned(), because, workers: low as f64 })
}

/// Steps and KV blocks of batching engines, at full batches.
fn tokens(scenario: &Scenario, kind: &WorkerType, engine: &BatchingEngine, rate: f64, allowed: f64) -> Vec<Bound> {
    let (input, output) = mean_lengths(scenario);
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
    // Nothing is quicker than alone; Little (1961): in the system are rate times time.
    let alone = StepWork { prefill: 0, decode: 1, context: (input + 0.5 * output) as u64 };
    let life = prompt + output * engine.timing.duration(alone, pool).as_secs_f64();
    let kv = Bound {
        form: "kv".to_owned(),
        because: format!("a request holds about {held:.0} of {blocks:.0} blocks of a rank for {life:.2} s or more"),
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
