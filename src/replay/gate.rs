//! Records of a worker's admission gate.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::record::{RecordError, Step, WorkerNames, fields, steps, unknown_op};
use super::run::{ReplayError, StepState};
use crate::control::{Admission, AdmissionGate, GateLimits};
use crate::units::SimTime;

/// A gate record.
#[derive(Clone, Debug)]
pub struct GateRecord {
    /// Its name.
    pub case: String,
    limits: GateLimits,
    steps: Vec<Step<GateOp>>,
}

#[derive(Clone, Copy, Debug)]
enum GateOp {
    Arrive(u64),
    Complete(u64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    #[serde(default)]
    case: String,
    engine_request_limit: u32,
    request_queue_limit: u32,
    steps: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Id {
    id: u64,
}

fn read_op(name: &str, object: Map<String, Value>) -> Result<GateOp, String> {
    match name {
        "arrive" => Ok(GateOp::Arrive(fields::<Id>(object)?.id)),
        "complete" => Ok(GateOp::Complete(fields::<Id>(object)?.id)),
        _ => Err(unknown_op(&["arrive", "complete"])),
    }
}

impl GateRecord {
    pub(super) fn read(object: Map<String, Value>) -> Result<Self, RecordError> {
        let header: Header = fields(object).map_err(RecordError::Field)?;
        // Limits below the minimum act as the minimum, as in the release.
        let limits = GateLimits::clamped(header.engine_request_limit, header.request_queue_limit);
        Ok(Self { case: header.case, limits, steps: steps(header.steps, read_op)? })
    }

    pub(super) fn replay(&self, visit: &mut dyn FnMut(&StepState<'_>) -> bool) -> Result<(), ReplayError> {
        let mut gate = AdmissionGate::new(self.limits);
        let mut in_engine = BTreeSet::new();
        for step in &self.steps {
            let (outcome, started) = match step.op {
                GateOp::Arrive(id) => {
                    if in_engine.contains(&id) || gate.waiting().any(|&waiting| waiting == id) {
                        return Err(ReplayError::AlreadyInside { number: step.number, id });
                    }
                    let admission = gate.arrive(id);
                    if admission == Admission::Direct {
                        in_engine.insert(id);
                    }
                    (Some(admission), None)
                }
                GateOp::Complete(id) => {
                    if !in_engine.remove(&id) {
                        return Err(ReplayError::NotInEngine { number: step.number, id });
                    }
                    let started = gate.complete(|_| false);
                    in_engine.extend(started);
                    (None, started)
                }
            };
            let mut actual = Map::new();
            if let Some(admission) = outcome {
                actual.insert("outcome".into(), admission.name().into());
            }
            actual.insert("started_from_queue".into(), json!(started.as_slice()));
            actual.insert("in_engine".into(), gate.in_engine().into());
            actual.insert("queued".into(), gate.queued().into());
            actual.insert("queue_gauge".into(), gate.queue_gauge().into());
            let workers = &WorkerNames::default();
            let at = step.at.unwrap_or(SimTime::ZERO);
            if !visit(&StepState::plain(&self.case, (step.number, &step.name), at, &step.expect, actual, workers)) {
                break;
            }
        }
        Ok(())
    }
}
