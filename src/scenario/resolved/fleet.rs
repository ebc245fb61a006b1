//! `[fleet]`.

use crate::cluster::config::{BatchingEngine, FleetConfig, Override, RankDispatch, StepTiming, WorkerEngine, WorkerType};
use crate::units::Attos;

use super::super::fleet::DEFAULT_TYPE;
use super::distributions::span_distribution;
use super::writer::{Writer, attos, float, inline, list, quoted};

/// Where the worker type `n` stands in the resolved file: a fleet of one plain type is written without `worker_types`.
pub(in crate::scenario) fn type_path(fleet: &FleetConfig, n: usize) -> String {
    if is_plain(fleet) { "fleet".to_owned() } else { format!("fleet.worker_types.{n}") }
}

fn is_plain(fleet: &FleetConfig) -> bool {
    matches!(&fleet.types[..], [only] if only.name == DEFAULT_TYPE)
}

pub(super) fn write_fleet(w: &mut Writer, fleet: &FleetConfig) {
    w.header("[fleet]");
    if is_plain(fleet) {
        write_type(w, &fleet.types[0]);
        return;
    }
    for kind in &fleet.types {
        w.header("[[fleet.worker_types]]");
        w.line("name", quoted(&kind.name));
        write_type(w, kind);
    }
}

fn write_type(w: &mut Writer, kind: &WorkerType) {
    w.line("workers", kind.workers);
    w.line("standby", kind.standby);
    w.line("cost", float(kind.cost));
    w.line("data_parallel_size", kind.data_parallel_size);
    match &kind.engine {
        WorkerEngine::Batching(engine) => write_batching(w, engine, kind.dp_lockstep),
        WorkerEngine::Opaque { service_time, max_num_batched_tokens } => {
            w.line("service_time", service_time.as_ref().map_or_else(|| quoted("per_request"), span_distribution));
            w.optional("max_num_batched_tokens", max_num_batched_tokens.map(|n| n.to_string()));
        }
    }
    w.optional("kv_total_blocks", kind.kv_total_blocks.map(|n| n.to_string()));
    w.line("kv_cache_block_size", kind.kv_cache_block_size);
    w.optional("engine_request_limit", kind.engine_request_limit.map(|n| n.to_string()));
    // Without a gate Q does nothing: naming it is a setting without effect, which the resolved file repeats only if made.
    if kind.engine_request_limit.is_some() || kind.request_queue_limit_idle {
        w.line("request_queue_limit", kind.request_queue_limit);
    }
    w.line(
        "rank_dispatch",
        quoted(match kind.rank_dispatch {
            RankDispatch::RoundRobin => "round_robin",
            RankDispatch::LeastLoaded => "least_loaded",
        }),
    );
    let advertised = [
        ("kv_total_blocks", figure(kind.advertised.kv_total_blocks)),
        ("max_num_batched_tokens", figure(kind.advertised.max_num_batched_tokens)),
        ("data_parallel_size", figure(kind.advertised.data_parallel_size)),
    ];
    w.line("advertised", inline(&advertised));
}

fn write_batching(w: &mut Writer, engine: &BatchingEngine, lockstep: bool) {
    let preset = engine.preset.as_ref().map(|preset| ("preset", quoted(preset)));
    let fields: Vec<_> = preset.into_iter().chain(timing_fields(&engine.timing)).collect();
    w.line("engine", inline(&fields));
    w.line("max_num_batched_tokens", engine.max_num_batched_tokens);
    w.line("max_num_seqs", engine.max_num_seqs);
    w.optional("max_model_len", engine.max_model_len.map(|n| n.to_string()));
    w.line("dp_lockstep", lockstep);
}

pub(super) fn figure(figure: Override) -> String {
    match figure {
        Override::Truth => quoted("truth"),
        Override::Absent => quoted("absent"),
        Override::Value(value) => value.to_string(),
    }
}

/// Step times as the table that `engine` takes.
pub(in crate::scenario) fn step_timing(timing: &StepTiming) -> String {
    inline(&timing_fields(timing))
}

fn timing_fields(timing: &StepTiming) -> Vec<(&'static str, String)> {
    let three = |coefficients: &[Attos; 3]| list(coefficients.iter().copied().map(attos));
    match timing {
        StepTiming::SingleBase { base, prefill, prefill_squared, decode, context } => vec![
            ("base", attos(*base)),
            ("prefill", attos(*prefill)),
            ("prefill_squared", attos(*prefill_squared)),
            ("decode", attos(*decode)),
            ("context", attos(*context)),
        ],
        StepTiming::TwoPart { prefill, decode } => vec![("prefill", three(prefill)), ("decode", three(decode))],
        StepTiming::Mocker => vec![("timing", quoted("mocker"))],
        // Made while a run has a slow worker, never read from a file.
        StepTiming::Slowed { timing, .. } => timing_fields(timing),
    }
}
