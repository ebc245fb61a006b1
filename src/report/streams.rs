//! What is written while a run goes on: a row per attempt, per interval, and per interval and rank.

use std::io::{self, Write};

use crate::cluster::observer::{AttemptOutcome, FleetSample};
use crate::cluster::request::{Attempt, Request};
use crate::cluster::worker::Worker;
use crate::control::{Check, Checks, Refusal, RefusalLayer, RefusalReason, status::UNAVAILABLE_STATUS};
use crate::experiment::Sink;
use crate::experiment::result::Point;
use crate::scenario::Scenario;
use crate::stats::CsvRow;
use crate::units::{SimTime, Span};

/// Columns of `requests.csv`: one row per attempt, in the order in which attempts end, then those in the system at the end.
pub const REQUESTS_HEADER: &str = "request,attempt,class,arrival_s,start_s,end_s,frontend,worker,rank,input_tokens,output_tokens,\
outcome,status,reason,decisive,layer,ttft_s,tpot_s,e2e_s,queue_wait_s,migrations,request_e2e_s,rule,why_worker,why_rank,measured,\
limit,age_s\n";

/// Columns of `timeseries.csv`: one row per interval.
pub const TIMESERIES_HEADER: &str = "start_s,end_s,offered,attempts,completed,good,refused,all_workers_busy,worker_at_capacity,\
pinned_worker_busy,unavailable,other,rate_529,unfinished,workers,excluded_workers,active_decode_blocks_threshold,\
active_prefill_tokens_threshold,active_prefill_tokens_threshold_frac,engine_slots,engine_slots_max,queue,queue_max,queue_gauge,\
running,engine_waiting,orphaned,decisions,unlike_fresh,refused_with_room_fresh,refused_with_room_engine,routed_without_room_fresh,\
routed_without_room_engine\n";

/// Columns of `worker_timeseries.csv`: one row per rank at the end of each interval.
pub const WORKER_TIMESERIES_HEADER: &str = "end_s,worker,rank,present,down,excluded_by,engine_slots,queue,queue_gauge,kv_used_blocks,\
running,waiting,preemptions,observed_blocks,observed_prefill_tokens\n";

/// Fleets up to this size get `worker_timeseries.csv`.
pub const WORKERS_IN_TIMESERIES: u32 = 64;

/// Bytes gathered before they are written.
const CHUNK: usize = 1 << 16;
/// Status of an answer that broke off, as clients take it.
const BROKEN_STATUS: u16 = 500;
/// Status of an answer in full.
const OK_STATUS: u16 = 200;
/// Outcome of an attempt that is in the system at the end of the run.
const IN_SYSTEM: &str = "in_system";

/// One CSV file on its way. After an error nothing more is written; the error is told at the end.
#[derive(Debug)]
struct Stream<W> {
    name: &'static str,
    out: W,
    buffer: Vec<u8>,
    error: Option<io::Error>,
}

impl<W: Write> Stream<W> {
    fn new(name: &'static str, header: &str, out: W) -> Self {
        let mut buffer = Vec::with_capacity(CHUNK + 4096);
        buffer.extend_from_slice(header.as_bytes());
        Self { name, out, buffer, error: None }
    }

    #[inline]
    fn row(&mut self) -> CsvRow<'_> {
        if self.buffer.len() >= CHUNK {
            self.write_out();
        }
        CsvRow::new(&mut self.buffer)
    }

    #[cold]
    fn write_out(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(&self.buffer).err();
        }
        self.buffer.clear();
    }

    fn finish(&mut self) -> Result<(), StreamError> {
        self.write_out();
        let flushed = self.out.flush();
        match self.error.take().or(flushed.err()) {
            Some(source) => Err(StreamError { name: self.name, source }),
            None => Ok(()),
        }
    }
}

/// A streamed file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {source}")]
pub struct StreamError {
    /// Name of the file.
    pub name: &'static str,
    /// What the system said.
    pub source: io::Error,
}

/// The sink of a run whose rows go to files, or to any other writers.
#[derive(Debug)]
pub struct Streams<W> {
    requests: Option<Stream<W>>,
    timeseries: Option<Stream<W>>,
    workers: Option<Stream<W>>,
    /// Names of the classes, by index.
    classes: Vec<String>,
    /// Names of sets of checks, by their bits.
    check_sets: [String; 16],
    /// Ranks of each worker.
    ranks: Vec<u32>,
    /// Requests each worker's gate lets in, N + Q, where it has one.
    gates: Vec<Option<u64>>,
    /// Whether decisions are judged.
    judged: bool,
}

/// What a refusal rests on.
#[derive(Clone, Copy, Debug, Default)]
struct Why {
    /// The setting at work.
    rule: &'static str,
    worker: Option<u32>,
    rank: Option<u32>,
    /// Blocks, tokens, or requests.
    measured: Option<u64>,
    limit: Option<f64>,
    /// Since the value was observed, or the lease began.
    age: Option<Span>,
}

impl Why {
    fn of(now: SimTime, outcome: &AttemptOutcome, gates: &[Option<u64>]) -> Self {
        let AttemptOutcome::Refused { refusal, why, .. } = outcome else { return Self::default() };
        if let RefusalLayer::WorkerGate(worker) = refusal.layer {
            let inside = gates.get(Worker::index(worker.0)).copied().flatten();
            let limit = inside.map(|n| n as f64);
            let rule = "engine_request_limit+request_queue_limit";
            // A gate refuses when all its places are taken, and says so at once.
            return Self { rule, worker: Some(worker.0), measured: inside, limit, age: Some(Span::ZERO), ..Self::default() };
        }
        if let Some(why) = why {
            return Self {
                rule: rule(why.check),
                worker: Some(why.worker.0),
                rank: Some(why.rank),
                measured: Some(why.measured),
                limit: Some(why.limit),
                age: Some(now.since(why.observed_at)),
            };
        }
        match refusal.leased_since {
            Some(since) => Self { rule: rule(Check::Lease), age: Some(now.since(since)), ..Self::default() },
            None => Self::default(),
        }
    }
}

/// The setting behind a check.
const fn rule(check: Check) -> &'static str {
    match check {
        Check::Decode => "active_decode_blocks_threshold",
        Check::Prefill => "active_prefill_tokens_threshold",
        Check::PrefillFraction => "active_prefill_tokens_threshold_frac",
        Check::Lease => "overload_lease",
    }
}

impl<W: Write> Streams<W> {
    /// No file at all, for `scenario`.
    pub fn new(scenario: &Scenario) -> Self {
        let types = scenario.fleet.types.iter();
        Self {
            requests: None,
            timeseries: None,
            workers: None,
            classes: Vec::new(),
            check_sets: std::array::from_fn(|bits| name_of(Check::ALL.into_iter().filter(|&c| bits >> c as usize & 1 == 1))),
            judged: scenario.judges_decisions(),
            gates: types
                .clone()
                .flat_map(|t| {
                    let places = t.engine_request_limit.map(|n| u64::from(n) + u64::from(t.request_queue_limit));
                    std::iter::repeat_n(places, t.count() as usize)
                })
                .collect(),
            ranks: types.flat_map(|t| std::iter::repeat_n(t.data_parallel_size, t.count() as usize)).collect(),
        }
    }

    /// Writes `requests.csv` to `out`.
    #[must_use]
    pub fn with_requests(mut self, out: W) -> Self {
        self.requests = Some(Stream::new("requests.csv", REQUESTS_HEADER, out));
        self
    }

    /// Writes `timeseries.csv` to `out`.
    #[must_use]
    pub fn with_timeseries(mut self, out: W) -> Self {
        self.timeseries = Some(Stream::new("timeseries.csv", TIMESERIES_HEADER, out));
        self
    }

    /// Writes `worker_timeseries.csv` to `out`.
    #[must_use]
    pub fn with_worker_timeseries(mut self, out: W) -> Self {
        self.workers = Some(Stream::new("worker_timeseries.csv", WORKER_TIMESERIES_HEADER, out));
        self
    }

    /// The row of an attempt: with when and how it ended, unless it is in the system at the end.
    fn request_row(&mut self, attempt: &Attempt, request: &Request, ended: Option<(SimTime, &AttemptOutcome)>) {
        let Some(stream) = &mut self.requests else { return };
        let refusal = match ended {
            Some((_, AttemptOutcome::Refused { refusal, .. } | AttemptOutcome::Unavailable { refusal })) => Some(refusal),
            _ => None,
        };
        let decisive = match refusal {
            Some(refusal) if refusal.reason == RefusalReason::WorkerAtCapacity => "worker_gate",
            Some(refusal) if refusal.is_joint() => "joint",
            Some(refusal) => self.check_sets[bits(refusal.freed_by)].as_str(),
            None => "",
        };
        let completed = ended.filter(|(_, outcome)| **outcome == AttemptOutcome::Completed).map(|(now, _)| now);
        let row = stream.row().int(attempt.id).int(attempt.number.into());
        let row = match self.classes.get(usize::from(attempt.class)) {
            Some(name) => row.text(name),
            None => row.int(attempt.class.into()),
        };
        let row = row
            .time(request.arrival)
            .time(attempt.start)
            .opt_time(ended.map(|(now, _)| now))
            .int(attempt.frontend.into())
            .opt_int(attempt.worker().map(u64::from))
            .opt_int(attempt.rank().map(u64::from))
            .int(request.input_tokens.into())
            .int(request.output_tokens.into())
            .text(ended.map_or(IN_SYSTEM, |(_, outcome)| outcome_name(outcome)))
            .opt_int(ended.and_then(|(_, outcome)| status(outcome)))
            .text(refusal.map_or("", |r| r.reason.name()))
            .text(decisive)
            .text(refusal.map_or("", layer))
            .opt_span(attempt.first_token().map(|at| at.since(attempt.start)))
            .opt_span(completed.and_then(|now| time_per_output_token(now, attempt)))
            .opt_span(completed.map(|now| now.since(attempt.start)))
            .opt_span(attempt.slot().map(|at| at.since(attempt.start)))
            .int(attempt.tried().len() as u64)
            .opt_span(completed.map(|now| now.since(request.arrival)));
        let why = ended.map_or_else(Why::default, |(now, outcome)| Why::of(now, outcome, &self.gates));
        row.text(why.rule)
            .opt_int(why.worker.map(u64::from))
            .opt_int(why.rank.map(u64::from))
            .opt_int(why.measured)
            .float(why.limit)
            .opt_span(why.age)
            .end();
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The first file that could not be written, now or before.
    pub fn finish(mut self) -> Result<(), StreamError> {
        let streams = [&mut self.requests, &mut self.timeseries, &mut self.workers];
        streams.into_iter().flatten().try_for_each(Stream::finish)
    }
}

fn name_of(checks: impl Iterator<Item = Check>) -> String {
    checks.map(Check::name).collect::<Vec<_>>().join("+")
}

fn bits(checks: Checks) -> usize {
    Check::ALL.into_iter().filter(|&c| checks.contains(c)).fold(0, |bits, c| bits | 1 << c as usize)
}

const fn layer(refusal: &Refusal) -> &'static str {
    match refusal.layer {
        RefusalLayer::Pool => "pool",
        RefusalLayer::Pinned(_) => "pinned",
        RefusalLayer::Untried => "untried",
        RefusalLayer::WorkerGate(_) => "worker_gate",
    }
}

const fn outcome_name(outcome: &AttemptOutcome) -> &'static str {
    match outcome {
        AttemptOutcome::Completed => "completed",
        AttemptOutcome::Refused { .. } => "refused",
        AttemptOutcome::Unavailable { .. } => "unavailable",
        AttemptOutcome::Failed => "failed",
        AttemptOutcome::Cancelled => "cancelled",
        AttemptOutcome::Unservable => "unservable",
    }
}

/// The status the client saw; none if it left, or if the request was sorted out before routing.
fn status(outcome: &AttemptOutcome) -> Option<u64> {
    match outcome {
        AttemptOutcome::Completed => Some(OK_STATUS.into()),
        AttemptOutcome::Refused { status, .. } => Some((*status).into()),
        AttemptOutcome::Unavailable { .. } => Some(UNAVAILABLE_STATUS.into()),
        AttemptOutcome::Failed => Some(BROKEN_STATUS.into()),
        AttemptOutcome::Cancelled | AttemptOutcome::Unservable => None,
    }
}

/// Mean time per output token after the first; nothing for an answer of one token.
fn time_per_output_token(now: SimTime, attempt: &Attempt) -> Option<Span> {
    let tokens = u64::from(attempt.produced()) + u64::from(attempt.output_tokens);
    let first = attempt.first_token().filter(|_| tokens > 1)?;
    Some(Span::from_nanos(now.since(first).as_nanos() / (tokens - 1)))
}

impl<W: Write> Sink for Streams<W> {
    fn classes_named(&mut self, names: &[String]) {
        names.clone_into(&mut self.classes);
    }

    fn attempt(&mut self, now: SimTime, attempt: &Attempt, request: &Request, outcome: &AttemptOutcome) {
        self.request_row(attempt, request, Some((now, outcome)));
    }

    fn attempt_in_system(&mut self, attempt: &Attempt, request: &Request) {
        self.request_row(attempt, request, None);
    }

    fn wants_witness(&self) -> bool {
        self.requests.is_some()
    }

    fn interval(&mut self, start: SimTime, now: SimTime, point: &Point, fleet: &FleetSample) {
        if let Some(stream) = &mut self.timeseries {
            interval_row(stream.row(), start, now, point, self.judged);
        }
        let Some(stream) = &mut self.workers else { return };
        let mut ranks = fleet.ranks.iter();
        for ((worker, id), count) in fleet.workers.iter().zip(1u64..).zip(&self.ranks) {
            for rank in 0..*count {
                let Some(of_rank) = ranks.next() else { return };
                stream
                    .row()
                    .time(now)
                    .int(id)
                    .int(rank.into())
                    .flag(worker.present)
                    .flag(worker.down)
                    .text(&self.check_sets[bits(worker.excluded)])
                    .int(worker.gate.in_engine.into())
                    .int(worker.gate.waiting.into())
                    .int(worker.gate.gauge.into())
                    .int(of_rank.kv_used_blocks)
                    .int(of_rank.running.into())
                    .int(of_rank.waiting.into())
                    .int(of_rank.preemptions)
                    .opt_int(of_rank.observed_blocks)
                    .opt_int(of_rank.observed_prefill_tokens)
                    .end();
            }
        }
    }
}

fn interval_row(row: CsvRow<'_>, start: SimTime, now: SimTime, point: &Point, judged: bool) {
    let refused: u64 = point.refused.iter().sum();
    let row = row.time(start).time(now).int(point.offered).int(point.attempts).int(point.completed).int(point.good).int(refused);
    let row = point.refused.iter().fold(row, |row, n| row.int(*n));
    let row = row
        .int(point.unavailable)
        .int(point.other)
        .float((point.attempts > 0).then(|| refused as f64 / point.attempts as f64))
        .int(point.unfinished)
        .int(point.present.into())
        .int(point.excluded[0].into())
        .float(point.thresholds.active_decode_blocks_threshold)
        .opt_int(point.thresholds.active_prefill_tokens_threshold)
        .float(point.thresholds.active_prefill_tokens_threshold_frac)
        .int(point.slots[0])
        .int(point.slots[1])
        .int(point.waiting[0])
        .int(point.waiting[1])
        .int(point.gauge)
        .int(point.running)
        .int(point.engine_waiting)
        .int(point.orphans);
    let quality = &point.quality;
    let [refused_fresh, refused_engine] = quality.refused_with_room;
    let [routed_fresh, routed_engine] = quality.routed_without_room;
    [quality.decisions, quality.unlike_fresh, refused_fresh, refused_engine, routed_fresh, routed_engine]
        .into_iter()
        .fold(row, |row, n| row.opt_int(judged.then_some(n)))
        .end();
}
