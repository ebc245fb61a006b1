//! What a record is, and how it is read.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::choices::{KvChoiceRecord, PickerRecord};
use super::gate::GateRecord;
use super::monitor::MonitorRecord;
use super::tracking::TrackingRecord;
use crate::control::WorkerId;
use crate::units::{ParseSpanError, SimTime, Span};

/// A record of any kind.
#[derive(Clone, Debug)]
pub enum Record {
    /// Discovery, configurations, loads, thresholds, leases: one frontend's monitor and router.
    Monitor(MonitorRecord),
    /// A worker's admission gate.
    Gate(GateRecord),
    /// The router's own tracking.
    Tracking(TrackingRecord),
    /// One choice by kv cost.
    KvChoice(KvChoiceRecord),
    /// Choices of another picker.
    Picker(PickerRecord),
}

/// Why a text is no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// No JSON object.
    #[error("not a JSON object: {0}")]
    NotAnObject(String),
    /// An object that is none of the kinds.
    #[error(
        "cannot tell what kind of record this is: expected `steps`, with `engine_request_limit` (gate), `track_output_blocks` \
         (tracking) or `policy` (picker) beside it, or one choice with `loads` and `isl` (kv) or `policy` (picker)"
    )]
    UnknownKind,
    /// A field outside the steps.
    #[error("{0}")]
    Field(String),
    /// A step, by its number from 1.
    #[error("step {number}: {message}")]
    Step {
        /// The step.
        number: usize,
        /// What is wrong with it.
        message: String,
    },
}

/// One step of a record.
#[derive(Clone, Debug)]
pub struct Step<O> {
    /// Its number, from 1.
    pub number: usize,
    /// Name of the operation.
    pub name: String,
    /// The operation.
    pub op: O,
    /// When, if the step says so.
    pub at: Option<SimTime>,
    /// What the record expects after it, as far as it says.
    pub expect: Map<String, Value>,
}

impl Record {
    /// Reads one record.
    ///
    /// # Errors
    /// A text that is none, an unknown operation or field, a value of the wrong type.
    pub fn parse(text: &str) -> Result<Self, RecordError> {
        match serde_json::from_str(text) {
            Ok(Value::Object(object)) => Self::from_object(object),
            Ok(other) => Err(RecordError::NotAnObject(format!("`{}`", shortened(&other)))),
            Err(error) => Err(RecordError::NotAnObject(error.to_string())),
        }
    }

    /// Reads a record that is parsed JSON already.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn from_object(object: Map<String, Value>) -> Result<Self, RecordError> {
        let has = |name: &str| object.contains_key(name);
        if has("policy") {
            PickerRecord::read(object).map(Self::Picker)
        } else if has("engine_request_limit") {
            GateRecord::read(object).map(Self::Gate)
        } else if has("track_output_blocks") {
            TrackingRecord::read(object).map(Self::Tracking)
        } else if has("loads") && has("isl") {
            KvChoiceRecord::read(object).map(Self::KvChoice)
        } else if has("steps") {
            MonitorRecord::read(object).map(Self::Monitor)
        } else {
            Err(RecordError::UnknownKind)
        }
    }

    /// The case it calls itself; empty if it has no name.
    pub fn case(&self) -> &str {
        match self {
            Self::Monitor(record) => &record.case,
            Self::Gate(record) => &record.case,
            Self::Tracking(record) => &record.case,
            Self::KvChoice(record) => &record.case,
            Self::Picker(record) => &record.case,
        }
    }

    /// Name of its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Monitor(_) => "monitor",
            Self::Gate(_) => "gate",
            Self::Tracking(_) => "tracking",
            Self::KvChoice(_) => "kv choice",
            Self::Picker(_) => "picker",
        }
    }
}

/// The fields of an object into `T`.
pub(super) fn fields<T: DeserializeOwned>(object: Map<String, Value>) -> Result<T, String> {
    T::deserialize(Value::Object(object.clone())).map_err(|error| {
        let message = error.to_string();
        // A missing or unknown field is named already; one of the wrong type is the one without which the complaint changes.
        let at_fault = object.keys().find(|key| {
            let mut others = object.clone();
            others.remove(key.as_str());
            T::deserialize(Value::Object(others)).map_err(|other| other.to_string()).err().is_none_or(|other| other != message)
        });
        match at_fault.filter(|key| !message.contains(&format!("`{key}`"))) {
            Some(key) => format!("`{key}`: {message}"),
            None => message,
        }
    })
}

/// The steps of a record, each with an operation that `read` makes of its name and other fields.
pub(super) fn steps<O>(
    values: Vec<Value>,
    read: impl Fn(&str, Map<String, Value>) -> Result<O, String>,
) -> Result<Vec<Step<O>>, RecordError> {
    let numbered = values.into_iter().zip(1..);
    numbered.map(|(value, number)| step(value, number, &read).map_err(|message| RecordError::Step { number, message })).collect()
}

fn step<O>(value: Value, number: usize, read: impl Fn(&str, Map<String, Value>) -> Result<O, String>) -> Result<Step<O>, String> {
    let Value::Object(mut object) = value else { return Err(format!("expected an object, got `{}`", shortened(&value))) };
    let name = match object.remove("op") {
        Some(Value::String(name)) => name,
        Some(other) => return Err(format!("`op` must be a text, got `{}`", shortened(&other))),
        None => return Err("no `op`".to_owned()),
    };
    let expect = match object.remove("expect") {
        None => Map::new(),
        Some(Value::Object(expect)) => expect,
        Some(other) => return Err(format!("`expect` must be an object, got `{}`", shortened(&other))),
    };
    let at = object.remove("at").map(|at| instant(&at)).transpose()?;
    Ok(Step { number, op: read(&name, object).map_err(|error| format!("`{name}`: {error}"))?, name, at, expect })
}

/// The error of an operation that does not exist.
pub(super) fn unknown_op(known: &[&str]) -> String {
    format!("unknown operation; expected one of {}", known.join(", "))
}

/// A time in a record: decimal seconds, or a duration such as `1.5s`.
fn instant(value: &Value) -> Result<SimTime, String> {
    let span = match value {
        Value::Number(number) => decimal(number, "s", 1.0),
        Value::String(text) => text.parse::<Span>().map_err(|error| format!("`at`: `{text}`: {error}")),
        other => Err(format!("expected decimal seconds or a duration, got `{}`", shortened(other))),
    };
    span.map(|span| SimTime::from_nanos(span.as_nanos())).map_err(|error| format!("`at`: {error}"))
}

/// A number of `unit`s (each `seconds` long): exactly where it has no digit finer than a nanosecond, else the nearest.
pub(super) fn decimal(number: &serde_json::Number, unit: &str, seconds: f64) -> Result<Span, String> {
    let value = number.as_f64().unwrap_or(f64::NAN);
    // A float prints its shortest decimal, a whole number itself; neither in the e format.
    let text = if number.is_f64() { value.to_string() } else { number.to_string() };
    match format!("{text}{unit}").parse() {
        Err(ParseSpanError::TooFine) => Span::from_secs_f64(value * seconds).ok_or_else(|| format!("`{number}` is too long")),
        other => other.map_err(|error| format!("`{number}`: {error}")),
    }
}

/// The start of a value's JSON, for messages.
pub(super) fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// The workers of a record: the numbers it calls them by, and the dense ids (in the same order) they are replayed under.
///
/// Production instance ids take all of 64 bits.
#[derive(Clone, Debug, Default)]
pub struct WorkerNames(Vec<u64>);

impl WorkerNames {
    pub(super) fn new(names: impl IntoIterator<Item = u64>) -> Self {
        let mut names: Vec<u64> = names.into_iter().collect();
        names.sort_unstable();
        names.dedup();
        Self(names)
    }

    /// The id of the worker called `name`, which must be one of the record.
    pub(super) fn id(&self, name: u64) -> WorkerId {
        WorkerId(self.0.binary_search(&name).expect("every worker of the record was collected") as u32)
    }

    /// What the record calls this worker.
    ///
    /// # Panics
    /// If the id was not made for this record.
    pub fn name(&self, id: WorkerId) -> u64 {
        self.0[id.0 as usize]
    }

    /// Several names as a JSON list.
    pub(super) fn list(&self, ids: impl IntoIterator<Item = WorkerId>) -> Value {
        ids.into_iter().map(|id| Value::from(self.name(id))).collect()
    }
}

/// A load with a worker as the record names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedLoad {
    /// The worker.
    pub worker: u64,
    /// Its rank.
    pub rank: u32,
    /// Blocks.
    pub active_decode_blocks: u64,
    /// Tokens.
    pub active_prefill_tokens: u64,
}

impl NamedLoad {
    pub(super) fn resolve(&self, names: &WorkerNames) -> crate::control::SchedulerLoad {
        crate::control::SchedulerLoad {
            worker: names.id(self.worker),
            rank: self.rank,
            active_decode_blocks: self.active_decode_blocks,
            active_prefill_tokens: self.active_prefill_tokens,
        }
    }

    pub(super) fn to_json(load: &crate::control::SchedulerLoad, names: &WorkerNames) -> Value {
        serde_json::json!({
            "active_decode_blocks": load.active_decode_blocks,
            "active_prefill_tokens": load.active_prefill_tokens,
            "rank": load.rank,
            "worker": names.name(load.worker),
        })
    }
}
