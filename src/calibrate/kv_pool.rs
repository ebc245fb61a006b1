//! The size of the KV pool, where nobody wrote it down.

use super::engine_facts::FactSource;
use super::run_log::LoggedRequest;
use super::series::TickSeries;

/// Who waits longer than this for a first step, in median times per output token, waits for a seat or for blocks.
const LONG_WAIT_STEPS: f64 = 20.0;

/// What the log tells of the pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PoolEstimate {
    /// Blocks, all ranks together.
    pub(super) blocks: u64,
    /// Whether the pool limited what ran.
    pub(super) limiting: bool,
    /// Whether the engine's own percentages tell it; if not, `blocks` is only what was seen in use.
    pub(super) told: bool,
    /// Where it comes from.
    pub(super) source: FactSource,
}

/// Estimates the pool from what its requests held at most, or from the engine's own percentages.
pub(super) fn estimate(log: &[LoggedRequest], series: Option<&TickSeries>, block_size: u32, seats: u64) -> PoolEstimate {
    let running = series.map_or_else(|| most_running(log), |series| u64::from(series.peaks().0));
    let limiting = someone_waits(log) && running * 100 < seats * 97;
    let told = series.and_then(|series| by_percentage(log, series, block_size));
    let blocks = told.unwrap_or_else(|| most_held(log, block_size));
    PoolEstimate { blocks, limiting, told: told.is_some(), source: FactSource::Measured }
}

/// Blocks a request holds at `at`: its prompt once scheduled, its output as it comes.
fn held_at(r: &LoggedRequest, at: f64, block_size: u32) -> u64 {
    let from = r.scheduled.unwrap_or(r.first);
    if at < from || at >= r.last {
        return 0;
    }
    let share = if at <= r.first { 0.0 } else { (at - r.first) / (r.last - r.first) };
    let tokens = f64::from(r.input_tokens) + share * f64::from(r.output_tokens);
    (tokens as u64).div_ceil(u64::from(block_size))
}

/// Most blocks held at once. A request is counted as holding blocks from its first step on, preempted or not, so a run with
/// preemptions gives somewhat too many.
fn most_held(log: &[LoggedRequest], block_size: u32) -> u64 {
    const INSTANTS: usize = 1000;
    let end = log.iter().map(|r| r.last).fold(0.0, f64::max);
    let at = |i: usize| end * i as f64 / INSTANTS as f64;
    (0..INSTANTS).map(|i| log.iter().map(|r| held_at(r, at(i), block_size)).sum()).max().unwrap_or(0)
}

/// The pool by the share of it that the engine says is in use: the median over samples well inside the scale.
fn by_percentage(log: &[LoggedRequest], series: &TickSeries, block_size: u32) -> Option<u64> {
    let told = series.ticks.iter().filter_map(|tick| tick.kv_percent.map(|percent| (tick.t + series.offset, percent)));
    let mut pools: Vec<f64> = told
        .filter(|(_, percent)| (20.0..=90.0).contains(percent))
        .map(|(at, percent)| log.iter().map(|r| held_at(r, at, block_size)).sum::<u64>() as f64 * 100.0 / percent)
        .collect();
    pools.sort_by(f64::total_cmp);
    // A median of fewer says little.
    (pools.len() >= 5).then(|| pools[pools.len() / 2].round() as u64)
}

fn most_running(log: &[LoggedRequest]) -> u64 {
    let mut changes: Vec<(f64, i64)> = log.iter().flat_map(|r| [(r.scheduled.unwrap_or(r.first), 1), (r.last, -1)]).collect();
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut now = 0;
    changes
        .into_iter()
        .map(|(_, change)| {
            now += change;
            now
        })
        .max()
        .unwrap_or(0)
        .max(0) as u64
}

/// Whether at least one request in fifty waited long before its first step.
fn someone_waits(log: &[LoggedRequest]) -> bool {
    let mut tpot: Vec<f64> = log.iter().filter_map(LoggedRequest::time_per_output_token).collect();
    tpot.sort_by(f64::total_cmp);
    let step = tpot.get(tpot.len() / 2).copied().unwrap_or(0.0);
    let waits = log.iter().filter(|r| r.scheduled.unwrap_or(r.first) - r.queued > LONG_WAIT_STEPS * step).count();
    waits * 50 >= log.len()
}
