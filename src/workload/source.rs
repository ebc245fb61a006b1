//! The requests of a whole workload, merged in order of arrival.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::arrivals::ArrivalSampler;
use super::config::{ListedRequest, TraceConfig, WorkloadConfig};
use super::error::WorkloadError;
use super::lengths::LengthPair;
use super::trace::{ServeGenClient, ServeGenReplay, TraceFormat, TraceReplay, TraceReport};
use crate::engine::rng::{SimRng, Streams};
use crate::units::{SimTime, Span};

/// A client class: an index into [`RequestSource::class_names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassId(pub u16);

/// One request as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSpec {
    /// Arrival.
    pub arrival: SimTime,
    /// Prompt tokens.
    pub input_tokens: u32,
    /// Generated tokens, 1 or more.
    pub output_tokens: u32,
    /// Its class.
    pub class: ClassId,
    /// Service time at an opaque worker, if it has one of its own.
    pub service_time: Option<Span>,
    /// The worker asked for.
    pub worker: Option<u32>,
    /// Its number within its source, from 0; for a trace, the line of the file.
    pub row: u64,
}

/// Where the arrivals of a workload end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Arrivals lie in [0, horizon).
    pub horizon: Option<SimTime>,
    /// At most so many requests.
    pub requests: Option<u64>,
}

/// Names of classes, by index.
#[derive(Clone, Debug, Default)]
struct Classes(Vec<String>);

impl Classes {
    fn id(&mut self, name: &str) -> Result<ClassId, WorkloadError> {
        let index = self.0.iter().position(|c| c == name).unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        });
        let problem = || WorkloadError::parameter("class", "more than 65,536 classes", "use fewer names");
        u16::try_from(index).map(ClassId).map_err(|_| problem())
    }
}

/// A generated stream with its next arrival.
#[derive(Clone, Debug)]
struct Stream {
    class: ClassId,
    arrivals: ArrivalSampler,
    lengths: LengthPair,
    draws: SimRng,
    row: u64,
}

/// A replayed trace with its next request.
struct Trace {
    reader: Replay,
    class: ClassId,
    /// Classes of this workload for the class names of the trace.
    classes: Vec<ClassId>,
    next: Option<RequestSpec>,
}

enum Replay {
    Rows(Box<TraceReplay>),
    ServeGen(Box<ServeGenReplay>),
}

/// The order of sources at one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Listed,
    Trace,
    Stream(usize),
}

/// All requests of a workload in order of arrival. At one instant, written-out requests come first (in the order of the
/// file), then the trace (in its own order), then the streams by index.
pub struct RequestSource {
    classes: Classes,
    bounds: Bounds,
    emitted: u64,
    listed: Listed,
    trace: Option<Trace>,
    streams: Vec<Stream>,
    /// Next arrival of each stream; `SimTime::NEVER` if none is left.
    heads: Vec<SimTime>,
}

impl RequestSource {
    /// Opens a workload. Streams without arrivals (closed loops) take no part.
    ///
    /// Random streams: `arrivals`, `arrival states` and `lengths` by the index of the stream in the configuration; those
    /// of traces are named there.
    ///
    /// # Errors
    /// If a parameter has no meaning or the trace cannot be read.
    pub fn open(config: &WorkloadConfig, streams: Streams, bounds: Bounds) -> Result<Self, WorkloadError> {
        let mut classes = Classes::default();
        for stream in &config.streams {
            classes.id(&stream.class)?;
        }
        let mut generated = Vec::new();
        for (i, stream) in config.streams.iter().enumerate() {
            let Some(process) = &stream.arrivals else { continue };
            generated.push(Stream {
                class: classes.id(&stream.class)?,
                arrivals: ArrivalSampler::new(process, streams, i as u64)?,
                lengths: LengthPair::new(stream)?,
                draws: streams.stream("lengths", i as u64),
                row: 0,
            });
        }
        let trace = config.trace.as_ref().map(|trace| Trace::open(trace, streams, bounds, &mut classes)).transpose()?;
        let listed = Listed::new(&config.requests, &mut classes)?;
        let heads = generated.iter_mut().map(|s| s.arrivals.next().unwrap_or(SimTime::NEVER)).collect();
        Ok(Self { classes, bounds, emitted: 0, listed, trace, streams: generated, heads })
    }

    /// Names of the classes; a trace that names classes adds to them as it is read.
    pub fn class_names(&self) -> &[String] {
        &self.classes.0
    }

    /// Whether some request may ask for one worker.
    pub fn names_workers(&self) -> bool {
        let listed = self.listed.entries.iter().any(|(request, _)| request.worker.is_some());
        listed || matches!(&self.trace, Some(Trace { reader: Replay::Rows(replay), .. }) if replay.names_workers())
    }

    /// Requests handed out so far.
    pub fn emitted(&self) -> u64 {
        self.emitted
    }

    /// The next request; `None` once no other arrives within the bounds.
    ///
    /// # Errors
    /// If the trace cannot be read on.
    #[expect(clippy::should_implement_trait, reason = "a request may be an error after which no other follows")]
    pub fn next(&mut self) -> Result<Option<RequestSpec>, WorkloadError> {
        if self.bounds.requests.is_some_and(|most| self.emitted >= most) {
            return Ok(None);
        }
        let Some((at, turn)) = self.earliest() else { return Ok(None) };
        if self.bounds.horizon.is_some_and(|horizon| at >= horizon) {
            return Ok(None);
        }
        self.emitted += 1;
        match turn {
            Turn::Listed => Ok(self.listed.next()),
            Turn::Trace => {
                let Some(trace) = &mut self.trace else { return Ok(None) };
                let request = trace.next;
                trace.fetch(&mut self.classes)?;
                Ok(request)
            }
            Turn::Stream(i) => Ok(Some(self.draw(i))),
        }
    }

    /// Who is next, and when.
    fn earliest(&self) -> Option<(SimTime, Turn)> {
        // The common workload: one stream and nothing else.
        let mut best: Option<(SimTime, Turn)> = None;
        for (i, at) in self.heads.iter().enumerate() {
            if *at != SimTime::NEVER && best.is_none_or(|b| *at < b.0) {
                best = Some((*at, Turn::Stream(i)));
            }
        }
        if self.trace.is_none() && self.listed.entries.is_empty() {
            return best;
        }
        let trace = self.trace.as_ref().and_then(|t| t.next.as_ref()).map(|r| (r.arrival, Turn::Trace));
        let listed = self.listed.peek().map(|at| (at, Turn::Listed));
        [best, trace, listed].into_iter().flatten().min()
    }

    fn draw(&mut self, i: usize) -> RequestSpec {
        let stream = &mut self.streams[i];
        let arrival = std::mem::replace(&mut self.heads[i], stream.arrivals.next().unwrap_or(SimTime::NEVER));
        let (input_tokens, output_tokens) = stream.lengths.draw(&mut stream.draws);
        let row = stream.row;
        stream.row += 1;
        RequestSpec { arrival, input_tokens, output_tokens, class: stream.class, service_time: None, worker: None, row }
    }

    /// The account of the trace, if there is one; a request that was read but not handed out counts as not replayed.
    pub fn trace_report(&self) -> Option<TraceReport> {
        let trace = self.trace.as_ref()?;
        let mut report = match &trace.reader {
            Replay::Rows(replay) => replay.report(),
            Replay::ServeGen(replay) => replay.report(),
        };
        report.take_back(u64::from(trace.next.is_some()));
        Some(report)
    }
}

impl Trace {
    fn open(config: &TraceConfig, streams: Streams, bounds: Bounds, classes: &mut Classes) -> Result<Self, WorkloadError> {
        let named = config.format.as_deref().and_then(TraceFormat::from_name);
        let described = config.options.columns.is_some();
        let servegen = match named {
            Some(format) => format == TraceFormat::ServeGen,
            None => !described && ServeGenClient::recognises(&config.path)?,
        };
        let reader = if servegen {
            Replay::ServeGen(Box::new(ServeGenReplay::open(config, streams)?))
        } else {
            Replay::Rows(Box::new(TraceReplay::open(config, streams)?))
        };
        if config.options.repeat && bounds == Bounds::default() {
            let problem = "a trace that repeats has no end: expected a horizon or a number of requests";
            return Err(WorkloadError::parameter("trace.repeat", problem, "set `horizon` or `requests`"));
        }
        let mut trace = Self { reader, class: classes.id(&config.class)?, classes: Vec::new(), next: None };
        trace.fetch(classes)?;
        Ok(trace)
    }

    /// Reads one request ahead.
    fn fetch(&mut self, classes: &mut Classes) -> Result<(), WorkloadError> {
        self.next = match &mut self.reader {
            Replay::ServeGen(replay) => {
                let row = replay.report().emitted;
                let class = self.class;
                replay.next().map(|(arrival, input_tokens, output_tokens)| RequestSpec {
                    arrival,
                    input_tokens,
                    output_tokens,
                    class,
                    service_time: None,
                    worker: None,
                    row,
                })
            }
            Replay::Rows(replay) => {
                let request = replay.next()?;
                for name in &replay.class_names()[self.classes.len()..] {
                    self.classes.push(classes.id(name)?);
                }
                request.map(|r| RequestSpec {
                    arrival: r.arrival,
                    input_tokens: r.input_tokens,
                    output_tokens: r.output_tokens,
                    class: r.class.map_or(self.class, |c| self.classes[usize::from(c)]),
                    service_time: r.service_time,
                    worker: r.worker,
                    row: r.line,
                })
            }
        };
        Ok(())
    }
}

/// Requests written out, repeated ones unrolled as they come.
struct Listed {
    entries: Vec<(ListedRequest, ClassId)>,
    /// (arrival, entry, how many of it are left), earliest first.
    due: BinaryHeap<Reverse<(SimTime, usize, u64)>>,
    row: u64,
}

impl Listed {
    fn new(requests: &[ListedRequest], classes: &mut Classes) -> Result<Self, WorkloadError> {
        let mut entries = Vec::with_capacity(requests.len());
        for request in requests {
            if request.output_tokens == 0 {
                let problem = "`0` tokens are no output: expected 1 or more";
                return Err(WorkloadError::parameter("requests.output_tokens", problem, "every answer has at least one token"));
            }
            entries.push((request.clone(), classes.id(&request.class)?));
        }
        let due = requests.iter().enumerate().filter(|(_, r)| r.count > 0).map(|(i, r)| Reverse((r.at, i, r.count))).collect();
        Ok(Self { entries, due, row: 0 })
    }

    fn peek(&self) -> Option<SimTime> {
        self.due.peek().map(|Reverse(due)| due.0)
    }

    fn next(&mut self) -> Option<RequestSpec> {
        let Reverse((arrival, entry, left)) = self.due.pop()?;
        let (request, class) = &self.entries[entry];
        if left > 1 {
            let next = arrival.saturating_add(request.every.unwrap_or(Span::ZERO));
            self.due.push(Reverse((next, entry, left - 1)));
        }
        let row = self.row;
        self.row += 1;
        Some(RequestSpec {
            arrival,
            input_tokens: request.input_tokens,
            output_tokens: request.output_tokens,
            class: *class,
            service_time: request.service_time,
            worker: request.worker,
            row,
        })
    }
}

/// Lengths without arrivals, for clients who decide themselves when to ask.
pub struct LengthSource {
    classes: Classes,
    streams: Vec<(ClassId, LengthPair, SimRng)>,
}

/// One draw of a [`LengthSource`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawnLengths {
    /// Class of the stream.
    pub class: ClassId,
    /// Prompt tokens.
    pub input_tokens: u32,
    /// Generated tokens, 1 or more.
    pub output_tokens: u32,
}

impl LengthSource {
    /// Opens the lengths of every stream, whether it has arrivals or not; the random streams are those of
    /// [`RequestSource`].
    ///
    /// # Errors
    /// If a parameter has no meaning.
    pub fn open(config: &WorkloadConfig, streams: Streams) -> Result<Self, WorkloadError> {
        let mut classes = Classes::default();
        let mut opened = Vec::new();
        for (i, stream) in config.streams.iter().enumerate() {
            opened.push((classes.id(&stream.class)?, LengthPair::new(stream)?, streams.stream("lengths", i as u64)));
        }
        Ok(Self { classes, streams: opened })
    }

    /// Number of streams.
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// Whether there is no stream.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Names of the classes, by [`ClassId`].
    pub fn class_names(&self) -> &[String] {
        &self.classes.0
    }

    /// One draw from stream `index`.
    ///
    /// # Panics
    /// If there is no such stream.
    pub fn draw(&mut self, index: usize) -> DrawnLengths {
        let (class, lengths, rng) = &mut self.streams[index];
        let (input_tokens, output_tokens) = lengths.draw(rng);
        DrawnLengths { class: *class, input_tokens, output_tokens }
    }
}

#[cfg(test)]
mod tests;
