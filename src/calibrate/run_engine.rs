//! The engine that a log is replayed through.

use super::engine_facts::{EngineFacts, FactSource};
use super::error::CalibrationError;
use super::kv_pool;
use super::outcome::Doubt;
use super::replay::ReplayLimits;
use super::run_log::LoggedRequest;
use super::run_search::timing_of;
use super::series::TickSeries;
use crate::cluster::batching::RankSpec;

/// The engine that is replayed, and where its limits come from.
pub(super) struct Engine {
    /// Its limits; times are to be found.
    pub(super) limits: ReplayLimits,
    sources: [FactSource; 4],
    /// The size of the pool is to be found by the fit.
    pub(super) search_pool: bool,
    /// The pool limits what runs.
    pub(super) pool_limits: bool,
}

/// Defaults of vLLM's server on a GPU of less than 70 GiB; more is known of few runs that do not say.
const DEFAULT_SEATS: u32 = 256;
const DEFAULT_TOKENS: u64 = 2_048;
const DEFAULT_BLOCK: u32 = 16;

impl Engine {
    /// From what is known, and for the rest from the log.
    pub(super) fn of(
        log: &[LoggedRequest],
        series: Option<&TickSeries>,
        facts: &EngineFacts,
        doubts: &mut Vec<Doubt>,
    ) -> Result<Self, CalibrationError> {
        let seats = facts.max_num_seqs.unwrap_or((DEFAULT_SEATS, FactSource::Assumed));
        let tokens = facts.max_num_batched_tokens.unwrap_or((DEFAULT_TOKENS.max(u64::from(seats.0)), FactSource::Assumed));
        let block = facts.kv_cache_block_size.unwrap_or((DEFAULT_BLOCK, FactSource::Assumed));
        let ranks = facts.data_parallel_size.map_or(1, |(n, _)| n);
        if tokens.0 < u64::from(seats.0) {
            let reason = format!("a token budget of {} is less than {} seats: no engine runs so", tokens.0, seats.0);
            return Err(CalibrationError::untellable(reason, "`--max-num-batched-tokens` and `--max-num-seqs` say what was"));
        }
        for (what, option, (value, source)) in [
            ("seats", "--max-num-seqs", (u64::from(seats.0), seats.1)),
            ("token budget of a step", "--max-num-batched-tokens", tokens),
        ] {
            if source == FactSource::Assumed {
                let message =
                    format!("nothing tells the {what}: {value} is vLLM's default on small GPUs; give it with `{option}`");
                doubts.push(Doubt::new("assumed", message));
            }
        }
        let mut search_pool = false;
        let all_seats = u64::from(seats.0) * u64::from(ranks);
        let estimate = kv_pool::estimate(log, series, block.0, all_seats);
        let pool = facts.kv_total_blocks.unwrap_or_else(|| {
            let per_rank = estimate.blocks.div_ceil(u64::from(ranks)).max(1);
            search_pool = estimate.limiting;
            let blocks = if estimate.limiting || estimate.told { per_rank } else { per_rank * 2 };
            let message = if estimate.limiting {
                "nothing tells the KV blocks, but requests waited with seats free: they are fitted; give them with `--kv-blocks`"
                    .to_owned()
            } else if estimate.told {
                "nothing tells the KV blocks but the engine's own percentages; give them with `--kv-blocks`".to_owned()
            } else {
                format!(
                    "nothing tells the KV blocks, and they did not limit this run: {per_rank} were in use at most, the preset has \
                     twice that; give them with `--kv-blocks` before you trust it under more load"
                )
            };
            doubts.push(Doubt::new("kv_blocks_unknown", message));
            (blocks, estimate.source)
        });
        let least = log.iter().map(|r| u64::from(r.input_tokens) + u64::from(r.output_tokens)).max().unwrap_or(1);
        let blocks = if pool.1 == FactSource::Measured { pool.0.max(least.div_ceil(u64::from(block.0))) } else { pool.0 };
        let spec = RankSpec {
            block_size: block.0,
            total_blocks: blocks,
            max_num_seqs: seats.0,
            max_num_batched_tokens: tokens.0,
            timing: timing_of(&[0.01, 1e-5, 0.0, 1e-5, 0.0]),
        };
        if log.iter().any(|r| !spec.fits(r.input_tokens, r.output_tokens)) {
            return Err(CalibrationError::unservable());
        }
        let limits = ReplayLimits { spec, ranks, lockstep: facts.dp_lockstep && ranks > 1 };
        let sources = [pool.1, block.1, seats.1, tokens.1];
        Ok(Self { limits, sources, search_pool, pool_limits: estimate.limiting })
    }

    /// Where each limit comes from.
    pub(super) fn words(&self, limits: &ReplayLimits) -> Vec<String> {
        let spec = &limits.spec;
        let [mut pool, block, seats, tokens] = self.sources.map(FactSource::name);
        if spec.total_blocks != self.limits.spec.total_blocks {
            pool = "fitted";
        }
        let ranks = match (limits.ranks, limits.lockstep) {
            (1, _) => String::new(),
            (n, true) => format!(" on each of {n} ranks in lockstep"),
            (n, false) => format!(" on each of {n} ranks"),
        };
        vec![
            format!("{} KV blocks ({pool}) of {} tokens ({block}){ranks}", spec.total_blocks, spec.block_size),
            format!("{} seats ({seats}), {} tokens a step ({tokens})", spec.max_num_seqs, spec.max_num_batched_tokens),
        ]
    }
}
