//! What is known of the engine beside its times: seats, token budget, KV blocks, ranks.

use std::path::Path;

use serde_json::Value;

use super::error::CalibrationError;
use super::rows::read_text;

/// Where a fact comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactSource {
    /// Given by an option.
    Given,
    /// The run's own record of its configuration.
    Configuration,
    /// Found from the measurements.
    Measured,
    /// The engine's default, for want of anything better.
    Assumed,
}

impl FactSource {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Configuration => "configuration",
            Self::Measured => "measured",
            Self::Assumed => "assumed",
        }
    }
}

/// What is known of the engine; `None` where nothing is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineFacts {
    /// KV blocks per rank.
    pub kv_total_blocks: Option<(u64, FactSource)>,
    /// Tokens in a KV block.
    pub kv_cache_block_size: Option<(u32, FactSource)>,
    /// Running sequences at most, per rank.
    pub max_num_seqs: Option<(u32, FactSource)>,
    /// Token budget of a step.
    pub max_num_batched_tokens: Option<(u64, FactSource)>,
    /// Data-parallel ranks.
    pub data_parallel_size: Option<(u32, FactSource)>,
    /// Ranks step together (attention data parallelism of a mixture of experts).
    pub dp_lockstep: bool,
    /// The model, as the configuration names it.
    pub model: Option<String>,
    /// The GPU, as the configuration names it.
    pub gpu: Option<String>,
    /// The engine and its version, as the configuration names it.
    pub engine: Option<String>,
    /// Requests the run had, as the configuration says.
    pub num_requests: Option<u64>,
}

impl EngineFacts {
    /// Reads the configuration that a benchmark of vLLM leaves beside its log (`meta.json`).
    ///
    /// # Errors
    /// It cannot be read, or is no JSON object.
    pub fn read(path: &Path) -> Result<Self, CalibrationError> {
        let value: Value = match serde_json::from_str(&read_text(path)?) {
            Ok(value @ Value::Object(_)) => value,
            Ok(_) => return Err(CalibrationError::file(path, "another kind of JSON value: expected an object", HINT)),
            Err(error) => return Err(CalibrationError::file(path, &format!("no JSON: {error}"), HINT)),
        };
        let number = |paths: &[&str]| {
            paths.iter().find_map(|path| value.pointer(path)?.as_u64()).filter(|n| (1..=1_000_000_000).contains(n))
        };
        let text = |paths: &[&str]| paths.iter().find_map(|path| value.pointer(path)?.as_str()).map(str::to_owned);
        let flag = |paths: &[&str]| paths.iter().find_map(|path| value.pointer(path)?.as_bool()).unwrap_or(false);
        let small = |paths: &[&str]| number(paths).and_then(|n| u32::try_from(n).ok());
        let known = |n: Option<u32>| n.map(|n| (n, FactSource::Configuration));
        let known64 = |n: Option<u64>| n.map(|n| (n, FactSource::Configuration));
        let ranks = small(&["/engine_kwargs/data_parallel_size", "/resolved_config/parallel_config/data_parallel_size"]);
        Ok(Self {
            kv_total_blocks: known64(number(&[
                "/kv_cache/num_gpu_blocks",
                "/resolved_config/cache_config/num_gpu_blocks",
                "/num_gpu_blocks",
            ])),
            kv_cache_block_size: known(small(&[
                "/kv_cache/block_size",
                "/resolved_config/cache_config/block_size",
                "/engine_kwargs/block_size",
            ])),
            max_num_seqs: known(small(&["/engine_kwargs/max_num_seqs", "/resolved_config/scheduler_config/max_num_seqs"])),
            max_num_batched_tokens: known64(number(&[
                "/engine_kwargs/max_num_batched_tokens",
                "/resolved_config/scheduler_config/max_num_batched_tokens",
            ])),
            data_parallel_size: known(ranks),
            dp_lockstep: ranks.is_some_and(|n| n > 1)
                && (flag(&["/engine_kwargs/enable_expert_parallel"])
                    || flag(&["/resolved_config/parallel_config/enable_expert_parallel"])
                    || flag(&["/resolved_config/parallel_config/is_moe_model"])),
            model: text(&["/model", "/engine_kwargs/model"]),
            gpu: text(&["/hardware/device_name"]),
            engine: text(&["/vllm_version"]).map(|version| format!("vLLM {version}")),
            num_requests: number(&["/num_requests"]),
        })
    }
}

const HINT: &str = "expected the configuration of the run as JSON; the options give the same facts";
