//! Replaying a record, and comparing it with what it expects.

use std::fmt;

use serde_json::{Map, Value};

use super::record::{Record, WorkerNames};
use crate::control::{BookingError, FrontendControl, Refusal};
use crate::units::SimTime;

/// The state after one step of a record.
#[derive(Debug)]
pub struct StepState<'a> {
    /// The record's name.
    pub case: &'a str,
    /// Number of the step, from 1.
    pub number: usize,
    /// Name of its operation.
    pub op: &'a str,
    /// When.
    pub at: SimTime,
    /// What the record expects, as far as it says.
    pub expect: &'a Map<String, Value>,
    /// Every field that `expect` may have, as it is.
    pub actual: Map<String, Value>,
    /// The frontend, in monitor records.
    pub frontend: Option<&'a FrontendControl>,
    /// How the record names its workers.
    pub workers: &'a WorkerNames,
    /// Whether the step is a request, so that its outcome is a decision and not only what one would be.
    pub is_request: bool,
    /// Why the request (or one arriving now) is refused, in monitor records.
    pub refusal: Option<Refusal>,
}

impl<'a> StepState<'a> {
    /// A state without a frontend.
    pub(super) fn plain(
        case: &'a str,
        (number, op): (usize, &'a str),
        at: SimTime,
        expect: &'a Map<String, Value>,
        actual: Map<String, Value>,
        workers: &'a WorkerNames,
    ) -> Self {
        Self { case, number, op, at, expect, actual, frontend: None, workers, is_request: false, refusal: None }
    }

    /// The first field that is not as the record expects.
    pub fn difference(&self) -> Option<Difference> {
        let (field, expected) = self.expect.iter().find(|(field, expected)| match self.actual.get(*field) {
            Some(actual) => !same(expected, actual),
            None => true,
        })?;
        Some(Difference {
            case: self.case.to_owned(),
            number: self.number,
            op: self.op.to_owned(),
            field: field.clone(),
            expected: expected.clone(),
            got: self.actual.get(field).cloned(),
        })
    }
}

/// Where a record and its replay part.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The record's name.
    pub case: String,
    /// Number of the step, from 1.
    pub number: usize,
    /// Name of its operation.
    pub op: String,
    /// The field of `expect`.
    pub field: String,
    /// What the record says.
    pub expected: Value,
    /// What the control code says; `None` where the step has no such field.
    pub got: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, number, op, field, expected, got } = self;
        write!(f, "case `{case}`, step {number} (`{op}`), field `{field}`: expected `{expected}`, ")?;
        match got {
            Some(got) => write!(f, "got `{got}`"),
            None => write!(f, "but this step has no such field"),
        }
    }
}

impl std::error::Error for Difference {}

/// Why a record cannot be replayed to its end, or does not hold.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReplayError {
    /// A step is earlier than the one before it.
    #[error("step {number}: time runs backwards, from `{from}` to `{to}`")]
    TimeRunsBackwards {
        /// The step.
        number: usize,
        /// The time before it.
        from: SimTime,
        /// Its time.
        to: SimTime,
    },
    /// The clock cannot hold the time.
    #[error("step {number}: beyond the clock, which holds 584 years")]
    TimeTooLong {
        /// The step.
        number: usize,
    },
    /// A request arrives that is inside already.
    #[error("step {number}: request `{id}` is inside the gate already")]
    AlreadyInside {
        /// The step.
        number: usize,
        /// The request.
        id: u64,
    },
    /// A request completes that has no engine slot.
    #[error("step {number}: request `{id}` is not in the engine")]
    NotInEngine {
        /// The step.
        number: usize,
        /// The request.
        id: u64,
    },
    /// A booking that cannot be counted.
    #[error("step {number}: {error}")]
    Booking {
        /// The step.
        number: usize,
        /// Why.
        error: BookingError,
    },
    /// The record expects something else.
    #[error(transparent)]
    Differs(#[from] Box<Difference>),
}

/// Replays `record`, calling `visit` after each step for as long as it returns `true`.
///
/// # Errors
/// A step that contradicts the ones before it.
pub fn replay(record: &Record, mut visit: impl FnMut(&StepState<'_>) -> bool) -> Result<(), ReplayError> {
    match record {
        Record::Monitor(record) => record.replay(&mut visit),
        Record::Gate(record) => record.replay(&mut visit),
        Record::Tracking(record) => record.replay(&mut visit),
        Record::KvChoice(record) => record.replay(&mut visit),
        Record::Picker(record) => record.replay(&mut visit),
    }
}

/// Replays `record` and compares every field it expects. Returns how many fields were compared.
///
/// # Errors
/// The first difference, or a step that contradicts the ones before it.
pub fn verify(record: &Record) -> Result<usize, ReplayError> {
    let (mut compared, mut difference) = (0, None);
    replay(record, |state| {
        compared += state.expect.len();
        difference = state.difference();
        difference.is_none()
    })?;
    match difference {
        Some(difference) => Err(Box::new(difference).into()),
        None => Ok(compared),
    }
}

/// Whether two values are the same; numbers by value, whether written as whole numbers or as floats.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_u64(), b.as_u64()) {
            (Some(a), Some(b)) => a == b,
            _ => a.as_f64() == b.as_f64(),
        },
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}
