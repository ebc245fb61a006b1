//! Records of the router's own tracking.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::record::{NamedLoad, RecordError, Step, WorkerNames, fields, steps, unknown_op};
use super::run::{ReplayError, StepState};
use crate::control::{BookingError, BookingId, RouterTracking, SchedulerLoad, TrackingOptions};
use crate::units::SimTime;

/// A tracking record.
#[derive(Clone, Debug)]
pub struct TrackingRecord {
    /// Its name.
    pub case: String,
    options: TrackingOptions,
    ranks: Vec<NamedRank>,
    steps: Vec<Step<TrackingOp>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedRank {
    worker: u64,
    rank: u32,
}

#[derive(Clone, Debug)]
enum TrackingOp {
    Book(Book),
    FirstToken(Request),
    Output(Output),
    End(Request),
    Workers(Ranks),
    WorkerMark(Mark),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Book {
    request: u64,
    worker: u64,
    rank: u32,
    isl: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    request: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Output {
    request: u64,
    generated: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ranks {
    ranks: Vec<NamedRank>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    request: u64,
    worker: u64,
    rank: u32,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    #[serde(default)]
    case: String,
    block_size: u32,
    ranks: Vec<NamedRank>,
    track_output_blocks: bool,
    #[serde(default = "yes")]
    track_prefill_tokens: bool,
    #[serde(default = "yes")]
    track_active_blocks: bool,
    steps: Vec<Value>,
}

fn read_op(name: &str, object: Map<String, Value>) -> Result<TrackingOp, String> {
    Ok(match name {
        "book" => TrackingOp::Book(fields(object)?),
        "first_token" => TrackingOp::FirstToken(fields(object)?),
        "output" => TrackingOp::Output(fields(object)?),
        "end" => TrackingOp::End(fields(object)?),
        "workers" => TrackingOp::Workers(fields(object)?),
        "worker_mark" => TrackingOp::WorkerMark(fields(object)?),
        _ => return Err(unknown_op(&["book", "first_token", "output", "end", "workers", "worker_mark"])),
    })
}

impl TrackingRecord {
    pub(super) fn read(object: Map<String, Value>) -> Result<Self, RecordError> {
        let header: Header = fields(object).map_err(RecordError::Field)?;
        let options = TrackingOptions::new(header.block_size)
            .and_then(|o| o.with(header.track_output_blocks, header.track_prefill_tokens, header.track_active_blocks))
            .map_err(|error| RecordError::Field(error.to_string()))?;
        Ok(Self { case: header.case, options, ranks: header.ranks, steps: steps(header.steps, read_op)? })
    }

    fn names(&self) -> WorkerNames {
        let of_ranks = |ranks: &[NamedRank]| ranks.iter().map(|r| r.worker).collect::<Vec<_>>();
        let of_steps = self.steps.iter().flat_map(|step| match &step.op {
            TrackingOp::Book(book) => vec![book.worker],
            TrackingOp::Workers(set) => of_ranks(&set.ranks),
            TrackingOp::WorkerMark(mark) => vec![mark.worker],
            TrackingOp::FirstToken(_) | TrackingOp::Output(_) | TrackingOp::End(_) => Vec::new(),
        });
        WorkerNames::new(of_ranks(&self.ranks).into_iter().chain(of_steps))
    }

    pub(super) fn replay(&self, visit: &mut dyn FnMut(&StepState<'_>) -> bool) -> Result<(), ReplayError> {
        let names = self.names();
        let mut tracking = RouterTracking::new(self.options);
        let resolve = |ranks: &[NamedRank]| ranks.iter().map(|r| (names.id(r.worker), r.rank)).collect::<Vec<_>>();
        tracking.set_ranks(resolve(&self.ranks));
        // The record's request numbers, and the dense ids they are booked under.
        let mut ids = BTreeMap::new();
        for step in &self.steps {
            let mut id = |request: u64| {
                let next = ids.len() as u32;
                BookingId(*ids.entry(request).or_insert(next))
            };
            let published = match &step.op {
                TrackingOp::Book(b) => match tracking.book(id(b.request), names.id(b.worker), b.rank, b.isl) {
                    Ok(load) => Some(load),
                    Err(BookingError::AlreadyBooked | BookingError::UnknownRank { .. }) => None,
                    Err(error @ BookingError::PromptTooLong(_)) => {
                        return Err(ReplayError::Booking { number: step.number, error });
                    }
                },
                TrackingOp::FirstToken(r) => tracking.first_token(id(r.request)),
                TrackingOp::End(r) => tracking.end(id(r.request)),
                TrackingOp::Output(o) => {
                    tracking.output(id(o.request), o.generated);
                    None
                }
                TrackingOp::Workers(set) => {
                    tracking.set_ranks(resolve(&set.ranks));
                    None
                }
                TrackingOp::WorkerMark(m) => {
                    tracking.worker_mark(id(m.request), names.id(m.worker), m.rank);
                    None
                }
            };
            let mut actual = Map::new();
            let published: Vec<Value> = published.iter().map(|load| NamedLoad::to_json(load, &names)).collect();
            actual.insert("published".into(), published.into());
            let row = |load: SchedulerLoad| {
                json!([names.name(load.worker), load.rank, load.active_decode_blocks, load.active_prefill_tokens])
            };
            actual.insert("tracked".into(), tracking.loads().map(row).collect());
            let at = step.at.unwrap_or(SimTime::ZERO);
            if !visit(&StepState::plain(&self.case, (step.number, &step.name), at, &step.expect, actual, &names)) {
                break;
            }
        }
        Ok(())
    }
}
