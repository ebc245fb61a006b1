//! The requests of a whole workload, merged in order of arrival.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::arrivals::ArrivalSampler;
use super::config::{ListedRequest, SessionReplay, StreamConfig, TraceConfig, WorkloadConfig};
use super::error::WorkloadError;
use super::sampling::AliasTable;
use super::sessions::{RecordedSessions, SessionCounts};
use super::stream_lengths::StreamSampler;
use super::trace::{DropReason, ServeGenClient, ServeGenReplay, TraceFormat, TraceReplay, TraceReport};
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
    /// The recorded session it is a turn of, if the next turn waits for its end.
    pub session: Option<u32>,
    /// Index of the generated stream it comes from.
    pub stream: Option<u16>,
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

/// A generated stream: arrivals, each of which is a request of one of its members.
#[derive(Clone, Debug)]
struct Stream {
    arrivals: ArrivalSampler,
    members: Vec<Member>,
    /// Which member's request it is, where there are several.
    choice: Option<(AliasTable, SimRng)>,
    row: u64,
}

/// A class with its lengths.
#[derive(Clone, Debug)]
struct Member {
    class: ClassId,
    /// Index of its stream.
    stream: u16,
    lengths: StreamSampler,
    draws: SimRng,
}

/// Index of the arrivals that classes share, among the random streams of arrivals.
const SHARED: u64 = u64::MAX;

impl Stream {
    /// The arrivals that classes share, if the workload has such.
    fn shared(config: &WorkloadConfig, streams: Streams, classes: &mut Classes) -> Result<Option<Self>, WorkloadError> {
        let Some(process) = &config.shared_arrivals else { return Ok(None) };
        let sharing = config.streams.iter().enumerate().filter(|(_, s)| s.arrivals.is_none());
        let mut members = Vec::new();
        let mut weights = Vec::new();
        for (i, stream) in sharing {
            members.push(Member::new(stream, i, streams, classes)?);
            weights.push(stream.weight.unwrap_or(1.0));
        }
        let problem = "expected a class that takes part in the shared arrivals, with a weight > 0";
        let table = AliasTable::new(&weights).ok_or_else(|| {
            WorkloadError::parameter("classes", problem, "leave out the `arrivals` of a class to make it share")
        })?;
        let choice = Some((table, streams.stream("classes", 0)));
        Ok(Some(Self { arrivals: ArrivalSampler::new(process, streams, SHARED)?, members, choice, row: 0 }))
    }

    /// The request that arrives at `arrival`.
    fn draw(&mut self, arrival: SimTime) -> RequestSpec {
        let member = self.choice.as_mut().map_or(0, |(table, rng)| table.draw(rng));
        let Member { class, stream, lengths, draws } = &mut self.members[member];
        let (input_tokens, output_tokens) = lengths.draw(arrival, draws);
        let row = self.row;
        self.row += 1;
        RequestSpec {
            arrival,
            input_tokens,
            output_tokens,
            class: *class,
            service_time: None,
            worker: None,
            session: None,
            stream: Some(*stream),
            row,
        }
    }
}

impl Member {
    /// The lengths of the `i`-th stream.
    fn new(stream: &StreamConfig, i: usize, streams: Streams, classes: &mut Classes) -> Result<Self, WorkloadError> {
        let draws = streams.stream("lengths", i as u64);
        let class = classes.id(&stream.class)?;
        // Streams have classes of their own, of which there are few enough.
        Ok(Self { class, stream: i as u16, lengths: StreamSampler::new(&stream.lengths)?, draws })
    }
}

/// A replayed trace with its next request.
struct Trace {
    reader: Replay,
    class: ClassId,
    /// Classes of this workload for the class names of the trace.
    classes: Vec<ClassId>,
    /// Where turns wait for one another: all requests that are not sent yet.
    sessions: Option<RecordedSessions>,
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
/// file), then the trace (in its own order), then the shared arrivals, then the streams by index.
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
    /// Opens a workload. Without shared arrivals, streams that have none of their own (closed loops) take no part.
    ///
    /// Random streams: `arrivals`, `arrival states` and `lengths` by the index of the stream in the configuration, `classes`
    /// for whose request a shared arrival is; those of traces are named there.
    ///
    /// # Errors
    /// If a parameter has no meaning or the trace cannot be read.
    pub fn open(config: &WorkloadConfig, streams: Streams, bounds: Bounds) -> Result<Self, WorkloadError> {
        let mut classes = Classes::default();
        for stream in &config.streams {
            classes.id(&stream.class)?;
        }
        let mut generated: Vec<Stream> = Stream::shared(config, streams, &mut classes)?.into_iter().collect();
        for (i, stream) in config.streams.iter().enumerate() {
            let Some(process) = &stream.arrivals else { continue };
            let arrivals = ArrivalSampler::new(process, streams, i as u64)?;
            let members = vec![Member::new(stream, i, streams, &mut classes)?];
            generated.push(Stream { arrivals, members, choice: None, row: 0 });
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
                if let (Some(request), Some(sessions)) = (&request, &mut trace.sessions) {
                    sessions.sent_first(request);
                }
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
        stream.draw(arrival)
    }

    /// The account of the trace, if there is one; a request that was read but not handed out counts as not replayed.
    pub fn trace_report(&self) -> Option<TraceReport> {
        let trace = self.trace.as_ref()?;
        let mut report = match &trace.reader {
            Replay::Rows(replay) => replay.report(),
            Replay::ServeGen(replay) => replay.report(),
        };
        let (unsent, broken) = trace.sessions.as_ref().map_or((0, 0), RecordedSessions::unsent);
        report.take_back(DropReason::AfterTheEnd, unsent + u64::from(trace.next.is_some()));
        report.take_back(DropReason::BrokenSession, broken);
        Some(report)
    }

    fn sessions(&mut self) -> Option<&mut RecordedSessions> {
        self.trace.as_mut()?.sessions.as_mut()
    }

    /// A turn of a recorded session is over at `now`, `answered` or not: when the next is sent, if there is one. A session
    /// whose turn got no answer is over.
    pub fn turn_ended(&mut self, session: u32, now: SimTime, answered: bool) -> Option<SimTime> {
        self.sessions()?.ended(session, now, answered)
    }

    /// The turn of a recorded session that [`turn_ended`](Self::turn_ended) announced for this instant; `None` if the bounds
    /// let nothing more arrive.
    pub fn next_turn(&mut self, session: u32) -> Option<RequestSpec> {
        let Bounds { horizon, requests } = self.bounds;
        let emitted = self.emitted;
        let due = |at: SimTime| requests.is_none_or(|most| emitted < most) && horizon.is_none_or(|horizon| at < horizon);
        let turn = self.sessions()?.next_turn(session, due)?;
        self.emitted += 1;
        Some(turn)
    }

    /// Whether turns of recorded sessions will be sent at instants already known.
    pub fn turns_pending(&self) -> bool {
        self.trace.as_ref().and_then(|trace| trace.sessions.as_ref()).is_some_and(RecordedSessions::has_pending)
    }

    /// What became of recorded sessions, where their turns wait for one another.
    pub fn session_counts(&self) -> Option<SessionCounts> {
        self.trace.as_ref()?.sessions.as_ref().map(RecordedSessions::counts)
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
        let follow = config.options.sessions == SessionReplay::Follow;
        let class = classes.id(&config.class)?;
        let mut trace = Self { reader, class, classes: Vec::new(), sessions: None, next: None };
        if follow {
            let mut sessions = RecordedSessions::default();
            while let Some((request, delay)) = trace.read(classes)? {
                sessions.add(request, delay);
            }
            trace.sessions = Some(sessions);
        }
        trace.fetch(classes)?;
        Ok(trace)
    }

    /// Holds one request ahead.
    fn fetch(&mut self, classes: &mut Classes) -> Result<(), WorkloadError> {
        self.next = match &mut self.sessions {
            Some(sessions) => sessions.next_first(),
            None => self.read(classes)?.map(|(request, _)| request),
        };
        Ok(())
    }

    /// Reads or draws one request; a turn of a session may be sent a span after the answer before.
    fn read(&mut self, classes: &mut Classes) -> Result<Option<(RequestSpec, Option<Span>)>, WorkloadError> {
        match &mut self.reader {
            Replay::ServeGen(replay) => {
                let row = replay.report().emitted;
                let class = self.class;
                let drawn = replay.next().map(|(arrival, input_tokens, output_tokens)| RequestSpec {
                    arrival,
                    input_tokens,
                    output_tokens,
                    class,
                    service_time: None,
                    worker: None,
                    session: None,
                    stream: None,
                    row,
                });
                Ok(drawn.map(|request| (request, None)))
            }
            Replay::Rows(replay) => {
                let request = replay.next()?;
                for name in &replay.class_names()[self.classes.len()..] {
                    self.classes.push(classes.id(name)?);
                }
                Ok(request.map(|r| {
                    let spec = RequestSpec {
                        arrival: r.arrival,
                        input_tokens: r.input_tokens,
                        output_tokens: r.output_tokens,
                        class: r.class.map_or(self.class, |c| self.classes[usize::from(c)]),
                        service_time: r.service_time,
                        worker: r.worker,
                        session: r.session,
                        stream: None,
                        row: r.line,
                    };
                    (spec, r.delay)
                }))
            }
        }
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
            session: None,
            stream: None,
            row,
        })
    }
}

/// Lengths without arrivals, for clients who decide themselves when to ask.
pub struct LengthSource {
    classes: Classes,
    streams: Vec<Member>,
    /// Which stream is asked for, where streams have weights.
    choice: Option<AliasTable>,
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
        let opened = config.streams.iter().enumerate();
        let opened = opened.map(|(i, stream)| Member::new(stream, i, streams, &mut classes)).collect::<Result<_, _>>()?;
        let weighted = config.streams.iter().any(|stream| stream.weight.is_some());
        let weights: Vec<f64> = config.streams.iter().map(|stream| stream.weight.unwrap_or(1.0)).collect();
        let problem = || WorkloadError::parameter("classes", "expected weights > 0", "leave them out to take turns");
        let choice = weighted.then(|| AliasTable::new(&weights).ok_or_else(problem)).transpose()?;
        Ok(Self { classes, streams: opened, choice })
    }

    /// Whether there is no stream.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Names of the classes, by [`ClassId`].
    pub fn class_names(&self) -> &[String] {
        &self.classes.0
    }

    /// The index of the stream that the `n`-th choice falls on: by weight where there are weights, else in turn.
    pub fn choose(&self, n: u64, rng: &mut SimRng) -> usize {
        match &self.choice {
            Some(table) => table.draw(rng),
            None => (n % self.streams.len().max(1) as u64) as usize,
        }
    }

    /// One draw from stream `index` for a request of the instant `at`, by the stream's own randomness.
    ///
    /// # Panics
    /// If there is no such stream.
    pub fn draw(&mut self, index: usize, at: SimTime) -> DrawnLengths {
        let Member { class, lengths, draws, .. } = &mut self.streams[index];
        let (input_tokens, output_tokens) = lengths.draw(at, draws);
        DrawnLengths { class: *class, input_tokens, output_tokens }
    }

    /// One draw from stream `index` for a request of the instant `at`, by the randomness of who asks.
    ///
    /// # Panics
    /// If there is no such stream.
    pub fn draw_by(&self, index: usize, at: SimTime, rng: &mut SimRng) -> DrawnLengths {
        let Member { class, lengths, .. } = &self.streams[index];
        let (input_tokens, output_tokens) = lengths.draw(at, rng);
        DrawnLengths { class: *class, input_tokens, output_tokens }
    }
}

#[cfg(test)]
mod tests;
