//! `workers.csv` and `ranks.csv`: one row per worker, one per rank, over what the statistics cover.

use super::summarise::rank_rule;
use crate::experiment::RunResult;
use crate::experiment::quality::WorkerQuality;
use crate::scenario::Scenario;
use crate::stats::{CsvRow, Quantiles, RankRule, Window};

const WORKERS_HEADER: &str = "worker,type,data_parallel_size,engine_request_limit,request_queue_limit,completed,rejected,\
engine_slots_mean,engine_slots_p50,engine_slots_p90,engine_slots_p99,engine_slots_max,queue_mean,queue_p50,queue_p90,queue_p99,\
queue_max,queue_gauge_mean,queue_gauge_max,full_share,excluded_share,\
wrongly_out_share,wrongly_in_share,exclusion_changes\n";

const RANKS_HEADER: &str = "worker,rank,kv_total_blocks,kv_used_blocks_mean,kv_used_blocks_p50,kv_used_blocks_p90,kv_used_blocks_p99,\
kv_used_blocks_max,running_mean,running_p99,running_max,waiting_mean,waiting_p99,waiting_max,preemptions,samples\n";

/// One row per worker: time-weighted slots and queue, share of time full, share of samples at which the first frontend
/// excluded it.
pub fn workers_csv(result: &RunResult) -> Vec<u8> {
    let mut bytes = WORKERS_HEADER.as_bytes().to_vec();
    // Where decisions are not judged there is none of these, and the fields stay empty.
    let mut judged = result.quality.iter();
    for worker in &result.workers {
        let quality = judged.next();
        let gate = worker.engine_request_limit;
        let (excluded, samples) = worker.excluded_samples;
        let row = CsvRow::new(&mut bytes)
            .int(worker.worker.into())
            .text(&worker.kind)
            .int(worker.data_parallel_size.into())
            .opt_int(gate.map(u64::from))
            .opt_int(gate.map(|_| worker.request_queue_limit.into()))
            .int(worker.completed)
            .int(worker.rejected);
        level(level(row, &worker.slots), &worker.waiting)
            .float(worker.gauge.mean())
            .opt_int(worker.gauge.max())
            .float(worker.full.mean().filter(|_| gate.is_some()))
            .float((samples > 0).then(|| excluded as f64 / samples as f64))
            .float(quality.and_then(WorkerQuality::wrongly_out_share))
            .float(quality.and_then(WorkerQuality::wrongly_in_share))
            .opt_int(quality.map(|q| q.transitions))
            .end();
    }
    bytes
}

fn level<'a>(row: CsvRow<'a>, window: &Window) -> CsvRow<'a> {
    let row = row.float(window.mean());
    [0.5, 0.9, 0.99].into_iter().fold(row, |row, p| row.opt_int(window.quantile(p))).opt_int(window.max())
}

/// One row per rank, from the samples of the time series.
pub fn ranks_csv(scenario: &Scenario, result: &RunResult) -> Vec<u8> {
    let rule = rank_rule(scenario.output.quantile_method);
    let mut bytes = RANKS_HEADER.as_bytes().to_vec();
    for rank in &result.ranks {
        let row = CsvRow::new(&mut bytes).int(rank.worker.into()).int(rank.rank.into()).opt_int(rank.kv_total_blocks);
        let row = sampled(row, &rank.kv_used_blocks, rule, &[0.5, 0.9, 0.99]);
        let row = sampled(sampled(row, &rank.running, rule, &[0.99]), &rank.waiting, rule, &[0.99]);
        row.int(rank.preemptions).int(rank.running.count()).end();
    }
    bytes
}

fn sampled<'a>(row: CsvRow<'a>, samples: &Quantiles, rule: RankRule, quantiles: &[f64]) -> CsvRow<'a> {
    let row = row.float(samples.mean());
    quantiles.iter().fold(row, |row, p| row.opt_int(samples.quantile_by(rule, *p))).opt_int(samples.max())
}
