//! `[fleet]` and `[[fleet.worker_types]]`.

use crate::cluster::config::{Advertised, BatchingEngine, FleetConfig, Override, RankDispatch, WorkerEngine, WorkerType};
use crate::workload::config::SpanDistribution;

use super::engine::{self, EngineSpec};
use super::item::{Item, NumberRange};
use super::section::Section;
use super::spans;

/// Workers of a fleet at most, those on standby included.
pub(super) const MAX_WORKERS: u32 = 65_535;
const MAX_RANKS: u32 = 1_024;
const MAX_TOTAL_RANKS: u64 = 1_048_576;
const MAX_TYPES: usize = 1_000;
pub(super) const MAX_BLOCKS: u64 = 1_000_000_000_000;
pub(super) const MAX_BLOCK_SIZE: u32 = 65_536;
pub(super) const MAX_TOKENS: u64 = 1_000_000_000;
pub(super) const MAX_SEATS: u32 = 1_000_000;
const MAX_QUEUE: u32 = 1_000_000_000;
/// Smallest overflow queue: one request in the channel, one held by the dispatcher.
const MIN_QUEUE: u32 = 2;
const DEFAULT_QUEUE: u32 = 16;

/// Name of the only type of a fleet without `worker_types`.
pub(super) const DEFAULT_TYPE: &str = "default";

const RANK_DISPATCH: [(&str, RankDispatch); 2] =
    [("round_robin", RankDispatch::RoundRobin), ("least_loaded", RankDispatch::LeastLoaded)];

/// The fields that `[fleet]` gives for all types and each type may override; `None` is not given.
#[derive(Clone, Default)]
struct Fields {
    data_parallel_size: Option<u32>,
    engine: Option<Compute>,
    /// The inner `None` says that the figure is unknown.
    kv_total_blocks: Option<Option<u64>>,
    kv_cache_block_size: Option<u32>,
    max_num_batched_tokens: Option<Option<u64>>,
    max_num_seqs: Option<u32>,
    max_model_len: Option<Option<u64>>,
    engine_request_limit: Option<Option<u32>>,
    request_queue_limit: Option<u32>,
    rank_dispatch: Option<RankDispatch>,
    dp_lockstep: Option<bool>,
    advertised_blocks: Option<Override>,
    advertised_tokens: Option<Override>,
    advertised_ranks: Option<Override>,
}

/// What a worker computes with.
#[derive(Clone)]
enum Compute {
    Batching(EngineSpec),
    /// `None`: every request brings its own service time.
    Opaque(Option<SpanDistribution>),
}

/// Decodes `[fleet]`; `None` if anything in it is wrong.
pub(super) fn decode(section: &mut Section<'_>) -> Option<FleetConfig> {
    let faults = section.context().fault_count();
    let common = fields(section);
    let types = if section.given("worker_types") {
        section.forbid("workers", "the worker types say how many there are", "give `workers` in each of `fleet.worker_types`");
        section.forbid("standby", "the worker types say how many there are", "give `standby` in each of `fleet.worker_types`");
        several_types(section, &common)
    } else {
        section.require("workers", "how many workers there are");
        worker_type(section, DEFAULT_TYPE.to_owned(), &common).into_iter().collect()
    };
    check_size(section, &types);
    (section.context().fault_count() == faults && !types.is_empty()).then_some(FleetConfig { types })
}

fn several_types(section: &mut Section<'_>, common: &Fields) -> Vec<WorkerType> {
    let items = section.item("worker_types").and_then(|item| item.filled_list(MAX_TYPES)).unwrap_or_default();
    let mut types: Vec<WorkerType> = Vec::new();
    for mut table in items.iter().filter_map(Item::table) {
        table.require("name", "a name for reports");
        table.require("workers", "how many workers of this type there are");
        let name = table.text("name", 100).unwrap_or_default().to_owned();
        if types.iter().any(|other| other.name == name) && !name.is_empty() {
            let path = table.path_of("name");
            table.fault(Some("name"), format!("`{path}` is `\"{name}\"`: another worker type has this name"), None);
        }
        let own = fields(&mut table);
        types.extend(worker_type(&mut table, name, &own.or(common)));
        table.finish();
    }
    types
}

/// Reads the fields that may stand at the fleet or at a type.
fn fields(section: &mut Section<'_>) -> Fields {
    let mut advertised = section.table_or_empty("advertised");
    let mut reported =
        |key, absent| advertised.as_mut().and_then(|s| s.item(key)).and_then(|item| figure(&item, absent, MAX_BLOCKS));
    let (advertised_blocks, advertised_tokens) = (reported("kv_total_blocks", true), reported("max_num_batched_tokens", true));
    let advertised_ranks = advertised.as_mut().and_then(|s| s.item("data_parallel_size")).and_then(|i| figure(&i, false, 1_024));
    if let Some(advertised) = advertised {
        advertised.finish();
    }
    let unless_none = |item: Item<'_>, read: &dyn Fn(&Item<'_>) -> Option<u64>| {
        if item.is_text("none") { Some(None) } else { read(&item).map(Some) }
    };
    Fields {
        data_parallel_size: section.u32("data_parallel_size", 1, MAX_RANKS),
        engine: compute(section),
        kv_total_blocks: section.item("kv_total_blocks").and_then(|i| unless_none(i, &|i| i.u64(0, MAX_BLOCKS))),
        kv_cache_block_size: section.aliased("kv_cache_block_size", &["block_size"]).and_then(|i| i.u32(1, MAX_BLOCK_SIZE)),
        max_num_batched_tokens: section.item("max_num_batched_tokens").and_then(|i| unless_none(i, &|i| i.u64(0, MAX_TOKENS))),
        max_num_seqs: section.u32("max_num_seqs", 1, MAX_SEATS),
        max_model_len: section.item("max_model_len").and_then(|i| unless_none(i, &|i| i.u64(1, MAX_TOKENS))),
        engine_request_limit: section.item("engine_request_limit").and_then(|item| slots(&item)),
        request_queue_limit: section.item("request_queue_limit").and_then(|item| queue(&item)),
        rank_dispatch: section.one_of("rank_dispatch", &RANK_DISPATCH),
        dp_lockstep: section.boolean("dp_lockstep"),
        advertised_blocks,
        advertised_tokens,
        advertised_ranks,
    }
}

impl Fields {
    /// These fields, and those of `other` where they are not given.
    fn or(self, other: &Self) -> Self {
        Self {
            data_parallel_size: self.data_parallel_size.or(other.data_parallel_size),
            engine: self.engine.or_else(|| other.engine.clone()),
            kv_total_blocks: self.kv_total_blocks.or(other.kv_total_blocks),
            kv_cache_block_size: self.kv_cache_block_size.or(other.kv_cache_block_size),
            max_num_batched_tokens: self.max_num_batched_tokens.or(other.max_num_batched_tokens),
            max_num_seqs: self.max_num_seqs.or(other.max_num_seqs),
            max_model_len: self.max_model_len.or(other.max_model_len),
            engine_request_limit: self.engine_request_limit.or(other.engine_request_limit),
            request_queue_limit: self.request_queue_limit.or(other.request_queue_limit),
            rank_dispatch: self.rank_dispatch.or(other.rank_dispatch),
            dp_lockstep: self.dp_lockstep.or(other.dp_lockstep),
            advertised_blocks: self.advertised_blocks.or(other.advertised_blocks),
            advertised_tokens: self.advertised_tokens.or(other.advertised_tokens),
            advertised_ranks: self.advertised_ranks.or(other.advertised_ranks),
        }
    }
}

fn compute(section: &mut Section<'_>) -> Option<Compute> {
    if let Some(item) = section.item("service_time") {
        let why = "`service_time` makes the workers opaque";
        section.forbid("engine", why, "remove `engine`, or remove `service_time`");
        if item.is_text("per_request") {
            return Some(Compute::Opaque(None));
        }
        return spans::decode(&item).map(|time| Compute::Opaque(Some(time)));
    }
    section.item("engine").and_then(|item| engine::decode(&item)).map(Compute::Batching)
}

/// N.
#[expect(clippy::option_option, reason = "the outer level says whether the field is given, the inner whether there is a gate")]
fn slots(item: &Item<'_>) -> Option<Option<u32>> {
    if item.is_text("none") {
        return Some(None);
    }
    if item.is_number() && item.quiet_u64() == Some(0) {
        let hint = "leave `engine_request_limit` out, or set it to `\"none\"`, to run without a gate";
        item.mistake(format_args!("a whole number from 1 to {MAX_QUEUE}"), Some(hint.to_owned()));
        return None;
    }
    item.u32(1, MAX_QUEUE).map(Some)
}

/// Q.
fn queue(item: &Item<'_>) -> Option<u32> {
    if item.quiet_u64().is_some_and(|q| q < u64::from(MIN_QUEUE)) {
        let hint = "the minimum is 2: one request waits in the channel and one with the dispatcher";
        item.mistake(format_args!("a whole number from {MIN_QUEUE} to {MAX_QUEUE}"), Some(hint.to_owned()));
        return None;
    }
    item.u32(MIN_QUEUE, MAX_QUEUE)
}

/// A reported figure: a number, `"truth"`, or `"absent"` where that is possible.
pub(super) fn figure(item: &Item<'_>, absent: bool, most: u64) -> Option<Override> {
    if !item.is_any_text() {
        return item.u64(u64::from(!absent), most).map(Override::Value);
    }
    if item.is_text("truth") {
        return Some(Override::Truth);
    }
    if absent && item.is_text("absent") {
        return Some(Override::Absent);
    }
    let texts = if absent { "`\"truth\"` or `\"absent\"`" } else { "or `\"truth\"`" };
    item.mistake(format_args!("a whole number from {} to {most}, {texts}", u64::from(!absent)), None);
    None
}

/// Puts one type together; `fields` already holds what the fleet gives.
fn worker_type(section: &mut Section<'_>, name: String, fields: &Fields) -> Option<WorkerType> {
    let workers = section.u32("workers", 0, MAX_WORKERS).unwrap_or_default();
    let standby = section.u32("standby", 0, MAX_WORKERS).unwrap_or_default();
    let cost = section.number("cost", NumberRange::NOT_NEGATIVE).unwrap_or(1.0);
    let Some(compute) = &fields.engine else {
        if !section.given("engine") && !section.given("service_time") {
            let message =
                format!("`{}` is missing: expected a preset, coefficients, or `service_time`", section.path_of("engine"));
            section.fault(None, message, Some("for example `engine = \"h100-llama-3.1-8b-bf16-vllm\"`".to_owned()));
        }
        return None;
    };
    let engine = match compute {
        Compute::Batching(spec) => WorkerEngine::Batching(batching(section, spec, fields)?),
        Compute::Opaque(time) => opaque(section, time.as_ref(), fields),
    };
    let (known_blocks, block_size) = match compute {
        Compute::Batching(spec) => (spec.kv_total_blocks, spec.kv_cache_block_size),
        Compute::Opaque(_) => (None, 16),
    };
    let kv_total_blocks = fields.kv_total_blocks.unwrap_or(known_blocks);
    if matches!(engine, WorkerEngine::Batching(_)) && kv_total_blocks.is_none_or(|blocks| blocks == 0) {
        let path = section.path_of("kv_total_blocks");
        // Given, here or for all types, but as 0 or `"none"`: what a worker that computes cannot have.
        let given = match fields.kv_total_blocks {
            None => "is missing".to_owned(),
            Some(None) => "is `\"none\"`".to_owned(),
            Some(Some(blocks)) => format!("is `{blocks}`"),
        };
        section.fault(Some("kv_total_blocks"), format!("`{path}` {given}: expected the KV blocks of a rank, 1 or more"), None);
    }
    let request_queue_limit = fields.request_queue_limit;
    let engine_request_limit = fields.engine_request_limit.flatten();
    Some(WorkerType {
        name,
        workers,
        standby,
        cost,
        data_parallel_size: fields.data_parallel_size.unwrap_or(1),
        engine,
        kv_total_blocks,
        kv_cache_block_size: fields.kv_cache_block_size.unwrap_or(block_size),
        engine_request_limit,
        request_queue_limit: request_queue_limit.unwrap_or(DEFAULT_QUEUE),
        request_queue_limit_idle: request_queue_limit.is_some() && engine_request_limit.is_none(),
        rank_dispatch: fields.rank_dispatch.unwrap_or_default(),
        dp_lockstep: fields.dp_lockstep.unwrap_or_default(),
        advertised: Advertised {
            kv_total_blocks: fields.advertised_blocks.unwrap_or_default(),
            max_num_batched_tokens: fields.advertised_tokens.unwrap_or_default(),
            data_parallel_size: fields.advertised_ranks.unwrap_or_default(),
        },
    })
}

fn batching(section: &Section<'_>, spec: &EngineSpec, fields: &Fields) -> Option<BatchingEngine> {
    let max_num_batched_tokens = fields.max_num_batched_tokens.unwrap_or(None).unwrap_or(spec.max_num_batched_tokens);
    let max_num_seqs = fields.max_num_seqs.unwrap_or(spec.max_num_seqs);
    if max_num_batched_tokens < u64::from(max_num_seqs) {
        let key = if section.given("max_num_batched_tokens") { "max_num_batched_tokens" } else { "max_num_seqs" };
        let message = format!(
            "`{}` is `{max_num_batched_tokens}`: expected at least `max_num_seqs` = `{max_num_seqs}`, as vLLM does",
            section.path_of("max_num_batched_tokens")
        );
        section.fault(Some(key), message, Some("each running sequence takes a token of a step".to_owned()));
        return None;
    }
    Some(BatchingEngine {
        preset: spec.preset.clone(),
        max_num_batched_tokens,
        max_num_seqs,
        max_model_len: fields.max_model_len.flatten(),
        timing: spec.timing.clone(),
    })
}

fn opaque(section: &mut Section<'_>, service_time: Option<&SpanDistribution>, fields: &Fields) -> WorkerEngine {
    let why = "an opaque worker knows nothing but its service time";
    for key in ["max_num_seqs", "max_model_len", "dp_lockstep"] {
        section.forbid(key, why, "give an `engine` instead of `service_time`, or remove the field");
    }
    WorkerEngine::Opaque { service_time: service_time.cloned(), max_num_batched_tokens: fields.max_num_batched_tokens.flatten() }
}

fn check_size(section: &Section<'_>, types: &[WorkerType]) {
    let count: u64 = types.iter().map(|t| u64::from(t.workers) + u64::from(t.standby)).sum();
    let ranks: u64 = types.iter().map(|t| (u64::from(t.workers) + u64::from(t.standby)) * u64::from(t.data_parallel_size)).sum();
    if count > u64::from(MAX_WORKERS) {
        let message = format!("`{}` has {count} workers: expected at most {MAX_WORKERS}", section.path());
        section.fault(Some("workers"), message, None);
    } else if ranks > MAX_TOTAL_RANKS {
        let message = format!("`{}` has {ranks} ranks in all: expected at most {MAX_TOTAL_RANKS}", section.path());
        section.fault(Some("data_parallel_size"), message, None);
    }
}
