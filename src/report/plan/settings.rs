//! What to type: the answer as flags, environment variables and the body of `POST /busy_threshold`.

use serde_json::json;

use crate::cluster::config::{RouterMode, WorkerEngine, WorkerType};
use crate::scenario::Scenario;

/// One thing to type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    /// Where: `frontend`, `worker`, `replicas`, `post`.
    pub place: &'static str,
    /// What.
    pub text: String,
}

/// All of it. Settings at their default are left out.
pub fn dynamo_settings(fleet: &Scenario) -> Vec<Typed> {
    let mut typed = vec![Typed { place: "frontend", text: frontend(fleet) }];
    typed.extend(status(fleet));
    for kind in &fleet.fleet.types {
        let name = if fleet.fleet.types.len() > 1 { format!("{}: ", kind.name) } else { String::new() };
        typed.push(Typed { place: "replicas", text: format!("{name}{}", kind.workers) });
        let worker = worker(kind);
        if !worker.is_empty() {
            typed.push(Typed { place: "worker", text: format!("{name}{worker}") });
        }
    }
    typed.extend(post(fleet));
    typed
}

fn frontend(fleet: &Scenario) -> String {
    let frontend = &fleet.frontend;
    let mode = match frontend.router_mode {
        RouterMode::RoundRobin => "round-robin",
        RouterMode::Random => "random",
        RouterMode::PowerOfTwo => "power-of-two",
        RouterMode::LeastLoaded => "least-loaded",
        RouterMode::Kv => "kv",
    };
    let mut text = format!("python -m dynamo.frontend --router-mode {mode}");
    let thresholds = frontend.thresholds;
    let mut flag = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            text.push_str(&format!(" --{name} {value}"));
        }
    };
    flag("active-decode-blocks-threshold", thresholds.active_decode_blocks_threshold.map(|x| x.to_string()));
    flag("active-prefill-tokens-threshold", thresholds.active_prefill_tokens_threshold.map(|x| x.to_string()));
    flag("active-prefill-tokens-threshold-frac", thresholds.active_prefill_tokens_threshold_frac.map(|x| x.to_string()));
    if frontend.router_track_output_blocks {
        text.push_str(" --router-track-output-blocks");
    }
    text
}

fn status(fleet: &Scenario) -> Option<Typed> {
    let code = fleet.frontend.overload_status_code;
    (code != 529).then(|| Typed { place: "frontend", text: format!("DYN_HTTP_OVERLOAD_STATUS_CODE={code}") })
}

fn worker(kind: &WorkerType) -> String {
    let mut parts = Vec::new();
    if let Some(slots) = kind.engine_request_limit {
        if kind.request_queue_limit != 16 {
            parts.push(format!("DYN_DYNAMO_REQUEST_QUEUE_LIMIT={}", kind.request_queue_limit));
        }
        parts.push(format!("--engine-request-limit {slots}"));
    }
    if let WorkerEngine::Batching(engine) = &kind.engine {
        parts.push(format!("--max-num-seqs {} --max-num-batched-tokens {}", engine.max_num_seqs, engine.max_num_batched_tokens));
        if kind.data_parallel_size > 1 {
            parts.push(format!("--data-parallel-size {}", kind.data_parallel_size));
        }
    }
    parts.join(" ")
}

/// The same thresholds for frontends that run already.
fn post(fleet: &Scenario) -> Option<Typed> {
    let thresholds = fleet.frontend.thresholds;
    if !thresholds.any() {
        return None;
    }
    let mut body = json!({ "model": fleet.frontend.model });
    let values = serde_json::to_value(thresholds).expect("plain data can be written");
    if let (Some(body), Some(values)) = (body.as_object_mut(), values.as_object()) {
        body.extend(values.clone());
    }
    Some(Typed { place: "post", text: format!("POST /busy_threshold {body}") })
}

/// How N stands to the engine's seats, type by type.
pub fn guidance(fleet: &Scenario) -> Vec<String> {
    fleet.fleet.types.iter().filter_map(of_type).collect()
}

fn of_type(kind: &WorkerType) -> Option<String> {
    let WorkerEngine::Batching(engine) = &kind.engine else { return None };
    let slots = u64::from(kind.engine_request_limit?);
    let seats = u64::from(engine.max_num_seqs) * u64::from(kind.data_parallel_size);
    let of = format!(
        "N = {slots} against {seats} seats of a worker (`max_num_seqs` {} on {} ranks)",
        engine.max_num_seqs, kind.data_parallel_size
    );
    Some(match slots.cmp(&seats) {
        std::cmp::Ordering::Greater => format!(
            "{of}: up to {} requests wait inside the engine, where the gauge of the queue does not see them; Q comes on top",
            slots - seats
        ),
        std::cmp::Ordering::Less => {
            format!(
                "{of}: {} seats stay empty however much is offered; N protects KV blocks and step times, not seats",
                seats - slots
            )
        }
        std::cmp::Ordering::Equal => format!("{of}: what waits, waits in the queue of Q, and the gauge sees it"),
    })
}
