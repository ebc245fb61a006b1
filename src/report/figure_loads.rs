//! Rank loads against thresholds, from a run to the data of the figure.

use super::charts::data::{Curve, LoadPanel, Loads, LoadsData, Sample, Spread};
use super::figures::heading;
use super::marks::{thresholds_in_words, time_frame};
use crate::cluster::observer::PostAnswer;
use crate::control::BusyThresholds;
use crate::experiment::RunResult;
use crate::experiment::result::{RankPoint, UpdateResult};
use crate::scenario::Scenario;
use crate::stats::text::percent;

/// Rank loads against thresholds over time; `None` where no rank has blocks and none was observed.
pub fn loads_data(scenario: &Scenario, result: &RunResult) -> Option<LoadsData> {
    let loads = loads(scenario, result)?;
    let line = result.series.points().last().map(|p| p.value.thresholds).unwrap_or_default();
    let peak = result.ranks.iter().filter_map(|r| Some(r.kv_used_blocks.max()? as f64 / r.kv_total_blocks? as f64));
    let title = match peak.reduce(f64::max).filter(|p| p.is_finite()) {
        Some(peak) => format!(
            "ranks used at most {} of their KV blocks; thresholds at the end: {}",
            percent(peak),
            thresholds_in_words(&line)
        ),
        None => format!("loads of ranks; thresholds at the end: {}", thresholds_in_words(&line)),
    };
    Some(LoadsData { heading: heading(scenario, result, title), time: time_frame(scenario, result), loads })
}

/// What a rank of the fleet reports.
struct Reported {
    name: String,
    blocks: Option<u64>,
    batched_tokens: Option<u64>,
}

fn reported(scenario: &Scenario) -> Vec<Reported> {
    let mut ranks = Vec::new();
    let mut id = 0;
    for kind in &scenario.fleet.types {
        let blocks = kind.advertised.kv_total_blocks.reported(kind.kv_total_blocks).filter(|b| *b > 0);
        let batched_tokens = kind.advertised.max_num_batched_tokens.reported(kind.max_num_batched_tokens());
        for _ in 0..kind.count() {
            id += 1;
            for rank in 0..kind.data_parallel_size {
                let name = if kind.data_parallel_size == 1 { format!("worker {id}") } else { format!("worker {id} rank {rank}") };
                ranks.push(Reported { name, blocks, batched_tokens });
            }
        }
    }
    ranks
}

/// The loads that the first frontend saw; the true ones where it saw none.
pub(super) fn loads(scenario: &Scenario, result: &RunResult) -> Option<Loads> {
    let points: Vec<_> = result.series.points().filter(|p| !p.value.ranks.is_empty()).collect();
    let ranks = reported(scenario);
    let seen = points.iter().any(|p| p.value.ranks.iter().any(|r| r.observed_blocks.is_some()));
    let has_blocks = ranks.iter().any(|r| r.blocks.is_some());
    let curves = |value: &dyn Fn(&RankPoint, &Reported) -> f64| {
        let curve = |(index, rank): (usize, &Reported)| Curve {
            name: rank.name.clone(),
            points: points.iter().map(|p| [p.end.as_secs_f64(), value(&p.value.ranks[index], rank)]).collect(),
        };
        Spread::Each(ranks.iter().enumerate().map(curve).collect())
    };
    let decode = (has_blocks && !points.is_empty()).then(|| LoadPanel {
        load: curves(&|point, rank| {
            let used = if seen { point.observed_blocks } else { Some(point.kv_used_blocks) };
            used.zip(rank.blocks).map_or(f64::NAN, |(used, total)| used as f64 / total as f64)
        }),
        thresholds: lines(scenario, result, "active_decode_blocks_threshold", |t| t.active_decode_blocks_threshold),
    });
    let prefills = points.iter().any(|p| p.value.ranks.iter().any(|r| r.observed_prefill_tokens.is_some_and(|n| n > 0)));
    let prefill = prefills.then(|| {
        let mut thresholds =
            lines(scenario, result, "active_prefill_tokens_threshold", |t| t.active_prefill_tokens_threshold.map(|n| n as f64));
        let tokens = ranks.first().and_then(|r| r.batched_tokens);
        let same = ranks.iter().all(|r| r.batched_tokens == tokens);
        if let Some(tokens) = tokens.filter(|_| same) {
            let name = format!("active_prefill_tokens_threshold_frac, of {tokens}");
            thresholds.extend(lines(scenario, result, &name, |t| {
                t.active_prefill_tokens_threshold_frac.map(|f| (f * tokens as f64).trunc())
            }));
        }
        LoadPanel { load: curves(&|point, _| point.observed_prefill_tokens.map_or(f64::NAN, |n| n as f64)), thresholds }
    });
    (decode.is_some() || prefill.is_some()).then_some(Loads { decode, prefill })
}

/// A threshold of the first frontend over time; no line where it was never set.
fn lines(scenario: &Scenario, result: &RunResult, name: &str, of: impl Fn(&BusyThresholds) -> Option<f64>) -> Vec<Curve> {
    let mut last = of(&scenario.frontend.thresholds);
    let mut points: Vec<Sample> = vec![[0.0, last.unwrap_or(f64::NAN)]];
    let posts = result.updates.iter().filter(|u| u.frontend == 0 && u.answer == PostAnswer::Changed);
    for update in posts {
        let UpdateResult { update: posted, at, .. } = update;
        let carried = BusyThresholds {
            active_decode_blocks_threshold: posted.active_decode_blocks_threshold,
            active_prefill_tokens_threshold: posted.active_prefill_tokens_threshold,
            active_prefill_tokens_threshold_frac: posted.active_prefill_tokens_threshold_frac,
        };
        if let Some(value) = of(&carried).filter(|v| last != Some(*v)) {
            points.push([at.as_secs_f64(), value]);
            last = Some(value);
        }
    }
    last.map(|_| Curve { name: name.to_owned(), points }).into_iter().collect()
}
