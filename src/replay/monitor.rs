//! Records of one frontend's monitor and router.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Number, Value, json};

use super::choices::EveryChoice;
use super::record::{NamedLoad, RecordError, Step, WorkerNames, decimal, fields, steps, unknown_op};
use super::run::{ReplayError, StepState};
use crate::control::{
    BusyThresholds, FrontendControl, FrontendSettings, Observation, PickerMode, Refusal, RefusalReason, RouteRequest,
    RouterTimes, RuntimeConfig, ThresholdUpdate, TrackingOptions, WorkerLoad,
};
use crate::units::{SimTime, Span};

/// A monitor record.
#[derive(Clone, Debug)]
pub struct MonitorRecord {
    /// Its name.
    pub case: String,
    /// Its steps.
    pub steps: Vec<Step<MonitorOp>>,
}

/// One operation of a monitor record.
#[derive(Clone, Debug, PartialEq)]
pub enum MonitorOp {
    /// Workers registered now.
    Discover(Vec<u64>),
    /// The router inhibits this worker.
    ReportDown(u64),
    /// The complete map of configurations.
    RuntimeConfig(Vec<(u64, ConfigEntry)>),
    /// A worker load event.
    WorkerLoad(LoadEntry),
    /// A batch of the router's own tracking.
    SchedulerLoad(Vec<NamedLoad>),
    /// `POST /busy_threshold`.
    PostBusyThreshold(ThresholdUpdate),
    /// This worker answered at capacity.
    WorkerRejected(u64),
    /// Time passes.
    Advance(Span),
    /// A request arrives, perhaps for an exact worker; it changes nothing by itself.
    Request(Option<u64>),
}

/// A runtime configuration in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigEntry {
    /// First rank.
    pub dp_start: u32,
    /// Number of ranks.
    pub dp_size: u32,
    /// Blocks per rank.
    #[serde(default)]
    pub kv_total_blocks: Option<u64>,
    /// Tokens per step.
    #[serde(default)]
    pub max_num_batched_tokens: Option<u64>,
}

/// A worker load event in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadEntry {
    /// The worker.
    pub worker: u64,
    /// Its rank.
    pub rank: u32,
    /// Blocks by the router's count.
    #[serde(default)]
    pub active_decode_blocks: Option<u64>,
    /// Prefill tokens.
    #[serde(default)]
    pub active_prefill_tokens: Option<u64>,
    /// Blocks by the worker's count.
    #[serde(default)]
    pub kv_used_blocks: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Workers {
    workers: Vec<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Worker {
    worker: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Configs {
    workers: BTreeMap<String, ConfigEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch {
    loads: Vec<NamedLoad>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Post {
    active_decode_blocks_threshold: Option<f64>,
    active_prefill_tokens_threshold: Option<u64>,
    active_prefill_tokens_threshold_frac: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    ms: Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    #[serde(default)]
    pinned: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    #[serde(default)]
    case: String,
    steps: Vec<Value>,
}

const OPS: &[&str] = &[
    "discover",
    "report_down",
    "runtime_config",
    "worker_load",
    "scheduler_load",
    "post_busy_threshold",
    "worker_rejected",
    "advance",
    "request",
];

fn read_op(name: &str, object: Map<String, Value>) -> Result<MonitorOp, String> {
    Ok(match name {
        "discover" => MonitorOp::Discover(fields::<Workers>(object)?.workers),
        "report_down" => MonitorOp::ReportDown(fields::<Worker>(object)?.worker),
        "runtime_config" => MonitorOp::RuntimeConfig(read_configs(fields(object)?)?),
        "worker_load" => MonitorOp::WorkerLoad(fields(object)?),
        "scheduler_load" => MonitorOp::SchedulerLoad(fields::<Batch>(object)?.loads),
        "post_busy_threshold" => {
            let post: Post = fields(object)?;
            MonitorOp::PostBusyThreshold(ThresholdUpdate {
                active_decode_blocks_threshold: post.active_decode_blocks_threshold,
                active_prefill_tokens_threshold: post.active_prefill_tokens_threshold,
                active_prefill_tokens_threshold_frac: post.active_prefill_tokens_threshold_frac,
            })
        }
        "worker_rejected" => MonitorOp::WorkerRejected(fields::<Worker>(object)?.worker),
        "advance" => MonitorOp::Advance(decimal(&fields::<Advance>(object)?.ms, "ms", 1e-3)?),
        "request" => MonitorOp::Request(fields::<Request>(object)?.pinned),
        _ => return Err(unknown_op(OPS)),
    })
}

fn read_configs(configs: Configs) -> Result<Vec<(u64, ConfigEntry)>, String> {
    let id = |name: &str| name.parse().map_err(|_| format!("`{name}` is no worker id: expected a whole number"));
    configs.workers.iter().map(|(name, config)| Ok((id(name)?, *config))).collect()
}

impl MonitorRecord {
    pub(super) fn read(object: Map<String, Value>) -> Result<Self, RecordError> {
        let header: Header = fields(object).map_err(RecordError::Field)?;
        Self::from_steps(header.case, header.steps)
    }

    /// A record of steps that stand by themselves, such as the lines of an event log.
    ///
    /// # Errors
    /// A step that is none.
    pub fn from_steps(case: String, values: Vec<Value>) -> Result<Self, RecordError> {
        Ok(Self { case, steps: steps(values, read_op)? })
    }

    fn names(&self) -> WorkerNames {
        WorkerNames::new(self.steps.iter().flat_map(|step| -> Vec<u64> {
            match &step.op {
                MonitorOp::Discover(workers) => workers.clone(),
                MonitorOp::RuntimeConfig(configs) => configs.iter().map(|(id, _)| *id).collect(),
                MonitorOp::WorkerLoad(load) => vec![load.worker],
                MonitorOp::SchedulerLoad(loads) => loads.iter().map(|load| load.worker).collect(),
                MonitorOp::ReportDown(worker) | MonitorOp::WorkerRejected(worker) => vec![*worker],
                MonitorOp::Request(pinned) => pinned.iter().copied().collect(),
                MonitorOp::PostBusyThreshold(_) | MonitorOp::Advance(_) => Vec::new(),
            }
        }))
    }

    pub(super) fn replay(&self, visit: &mut dyn FnMut(&StepState<'_>) -> bool) -> Result<(), ReplayError> {
        let names = self.names();
        let mut frontend = new_frontend();
        let mut now = SimTime::ZERO;
        for step in &self.steps {
            if let Some(at) = step.at {
                if at < now {
                    return Err(ReplayError::TimeRunsBackwards { number: step.number, from: now, to: at });
                }
                now = at;
            }
            if let MonitorOp::Advance(span) = step.op {
                let later = now.saturating_add(span);
                // The very end of the clock stands for never.
                now = if later < SimTime::NEVER { later } else { return Err(ReplayError::TimeTooLong { number: step.number }) };
            }
            apply(&mut frontend, now, &step.op, &names);
            let refusal = refusal(&mut frontend, now, &step.op, &names);
            let state = StepState {
                case: &self.case,
                number: step.number,
                op: &step.name,
                at: now,
                expect: &step.expect,
                actual: state(&frontend, refusal.as_ref(), &names),
                frontend: Some(&frontend),
                workers: &names,
                is_request: matches!(step.op, MonitorOp::Request(_)),
                refusal,
            };
            if !visit(&state) {
                break;
            }
        }
        Ok(())
    }
}

/// A frontend as every record starts with: no worker, no threshold, the release's lease and inhibition.
fn new_frontend() -> FrontendControl {
    let tracking = TrackingOptions::new(16).expect("a block has tokens");
    let thresholds = BusyThresholds::default();
    let settings = FrontendSettings { mode: PickerMode::RoundRobin, thresholds, times: RouterTimes::default(), tracking };
    FrontendControl::new(settings).expect("no threshold is out of its range")
}

fn apply(frontend: &mut FrontendControl, now: SimTime, op: &MonitorOp, names: &WorkerNames) {
    match op {
        MonitorOp::Discover(workers) => {
            let ids: Vec<_> = workers.iter().map(|&name| names.id(name)).collect();
            frontend.discover(now, &ids);
        }
        MonitorOp::ReportDown(worker) => frontend.report_down(now, names.id(*worker)),
        MonitorOp::RuntimeConfig(configs) => {
            let configs: Vec<_> = configs.iter().map(|(name, config)| (names.id(*name), config.resolve())).collect();
            frontend.runtime_config(now, &configs);
        }
        MonitorOp::WorkerLoad(load) => {
            let report = Observation {
                active_decode_blocks: load.active_decode_blocks,
                active_prefill_tokens: load.active_prefill_tokens,
                kv_used_blocks: load.kv_used_blocks,
            };
            frontend.worker_load(now, &WorkerLoad { worker: names.id(load.worker), rank: load.rank, report });
        }
        MonitorOp::SchedulerLoad(loads) => {
            let loads: Vec<_> = loads.iter().map(|load| load.resolve(names)).collect();
            frontend.scheduler_load(now, &loads);
        }
        // A refused update stores nothing, which is what the state then shows.
        MonitorOp::PostBusyThreshold(update) => _ = frontend.post_busy_threshold(*update),
        MonitorOp::WorkerRejected(worker) => _ = frontend.worker_rejected(now, names.id(*worker)),
        MonitorOp::Advance(_) | MonitorOp::Request(_) => frontend.advance(now),
    }
}

impl ConfigEntry {
    fn resolve(&self) -> RuntimeConfig {
        RuntimeConfig {
            dp_start: self.dp_start,
            dp_size: self.dp_size,
            kv_total_blocks: self.kv_total_blocks,
            max_num_batched_tokens: self.max_num_batched_tokens,
        }
    }
}

/// What the request of this step, or any request arriving now, is refused for.
fn refusal(frontend: &mut FrontendControl, now: SimTime, op: &MonitorOp, names: &WorkerNames) -> Option<Refusal> {
    let pinned = match op {
        MonitorOp::Request(pinned) => pinned.map(|name| names.id(name)),
        _ => None,
    };
    let request = RouteRequest { pinned, ..RouteRequest::default() };
    frontend.probe(now, &request, &mut EveryChoice::default()).err()
}

fn state(frontend: &FrontendControl, refusal: Option<&Refusal>, names: &WorkerNames) -> Map<String, Value> {
    let (monitor, router) = (frontend.monitor(), frontend.router());
    let state = json!({
        "monitor_busy": names.list(monitor.busy_workers()),
        "excluded": names.list(router.excluded()),
        "eligible": names.list(router.eligible().iter().copied()),
        "outcome": outcome(refusal.map(|r| r.reason)),
        "configured": monitor.thresholds().any(),
    });
    match state {
        Value::Object(state) => state,
        _ => unreachable!("the literal is an object"),
    }
}

/// How records name the outcome of a request.
pub(super) fn outcome(refused: Option<RefusalReason>) -> &'static str {
    match refused {
        None => "route",
        Some(reason) if reason.is_overload() => "overloaded",
        Some(_) => "unavailable",
    }
}
