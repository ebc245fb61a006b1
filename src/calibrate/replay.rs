//! A log's requests through the rank's own batching, without routers or networks around it.

use std::sync::Arc;

use super::run_log::LoggedRequest;
use crate::cluster::batching::{Coalesced, NewSequence, Next, RankSpec, StepEvent, StepGroup, StepWork, Stepwise, Watch};
use crate::cluster::config::StepTiming;
use crate::units::{SimTime, Span};

/// The engine that serves a log.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayLimits {
    /// Each of its ranks, times included.
    pub spec: RankSpec,
    /// Data-parallel ranks, 1 or more. A request goes to the one with the lowest 4 * waiting + running, as vLLM spreads them.
    pub ranks: u32,
    /// All ranks step together.
    pub lockstep: bool,
}

/// When a request was served; seconds since the first one was queued.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Served {
    /// First output token out.
    pub first: f64,
    /// Last output token out.
    pub last: f64,
}

/// How a log was served.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// The requests in the order of the log.
    pub served: Vec<Served>,
    /// Running and waiting sequences at each instant asked for, over all ranks.
    pub samples: Vec<(u32, u32)>,
    /// Preemptions.
    pub preemptions: u64,
}

/// Amounts of work that a step's time is made of, in the order of the coefficients: steps, prefill tokens P, the sum of P^2,
/// decoding sequences, their context tokens.
pub(super) type Work = [f64; 5];

/// The work done from a request's queueing to its first token, and from there to its last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct WorkOf {
    /// Until the first token.
    pub(super) first: Work,
    /// From the first token to the last.
    pub(super) decode: Work,
}

/// Largest steps that a replay made: what its coefficients rest on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Extent {
    /// Prefill tokens.
    pub(super) prefill: u64,
    /// Decoding sequences.
    pub(super) decode: u64,
    /// Their context tokens.
    pub(super) context: u64,
}

/// Replays `log`, of which the last `background` requests are not waited for; `samples` are instants in ascending order.
/// `None` if a request can never be served.
pub fn replay(log: &[LoggedRequest], background: usize, limits: &ReplayLimits, samples: &[f64]) -> Option<Replayed> {
    let mut drive = Drive::<Coalesced, _>::new(log, background, limits, samples, Blind)?;
    drive.run();
    Some(drive.finish().0)
}

/// As [`replay`], step by step, with the work that each request saw.
pub(super) fn replay_with_work(
    log: &[LoggedRequest],
    background: usize,
    limits: &ReplayLimits,
) -> Option<(Replayed, Vec<WorkOf>, Extent)> {
    let mut drive = Drive::<Stepwise, _>::new(log, background, limits, &[], WorkProbe::new(log.len(), limits))?;
    drive.run();
    let (replayed, probe) = drive.finish();
    Some((replayed, probe.of, probe.extent))
}

/// Looks on while a log is replayed.
trait Probe<G> {
    fn queued(&mut self, _now: SimTime, _group: usize, _request: usize) {}
    fn started(&mut self, _now: SimTime, _end: SimTime, _group: usize, _engine: &G) {}
    fn ended(&mut self, _group: usize) {}
    fn first(&mut self, _group: usize, _request: usize) {}
    fn last(&mut self, _group: usize, _request: usize) {}
}

struct Blind;

impl Probe<Coalesced> for Blind {}

/// Adds up the work of every group.
struct WorkProbe {
    timing: StepTiming,
    pool_tokens: u64,
    ranks: u32,
    done: Vec<Work>,
    step: Vec<(SimTime, SimTime, Work)>,
    of: Vec<WorkOf>,
    extent: Extent,
}

impl WorkProbe {
    fn new(requests: usize, limits: &ReplayLimits) -> Self {
        let groups = limits.groups();
        Self {
            timing: limits.spec.timing.clone(),
            pool_tokens: limits.spec.pool_tokens(),
            ranks: limits.ranks_in_group(),
            done: vec![Work::default(); groups],
            step: vec![(SimTime::ZERO, SimTime::ZERO, Work::default()); groups],
            of: vec![WorkOf::default(); requests],
            extent: Extent::default(),
        }
    }
}

impl Probe<Stepwise> for WorkProbe {
    fn queued(&mut self, now: SimTime, group: usize, request: usize) {
        let (start, end, work) = self.step[group];
        let mut seen = self.done[group];
        if end > now {
            // Of the step in progress, what is over by now.
            let share = now.since(start).as_secs_f64() / end.since(start).as_secs_f64();
            seen.iter_mut().zip(work).for_each(|(sum, part)| *sum += share * part);
        }
        self.of[request].first = seen;
    }

    fn started(&mut self, now: SimTime, end: SimTime, group: usize, engine: &Stepwise) {
        let slowest = (0..self.ranks).map(|rank| engine.work(rank)).max_by_key(|w| self.timing.duration(*w, self.pool_tokens));
        let StepWork { prefill, decode, context } = slowest.unwrap_or_default();
        self.extent.prefill = self.extent.prefill.max(prefill);
        self.extent.decode = self.extent.decode.max(decode);
        self.extent.context = self.extent.context.max(context);
        let p = prefill as f64;
        self.step[group] = (now, end, [1.0, p, p * p, decode as f64, context as f64]);
    }

    fn ended(&mut self, group: usize) {
        let (_, end, work) = self.step[group];
        self.done[group].iter_mut().zip(work).for_each(|(sum, part)| *sum += part);
        self.step[group] = (end, end, Work::default());
    }

    fn first(&mut self, group: usize, request: usize) {
        let (done, of) = (self.done[group], &mut self.of[request]);
        of.first.iter_mut().zip(done).for_each(|(from, to)| *from = to - *from);
        of.decode = done;
    }

    fn last(&mut self, group: usize, request: usize) {
        let done = self.done[group];
        self.of[request].decode.iter_mut().zip(done).for_each(|(from, to)| *from = to - *from);
    }
}

impl ReplayLimits {
    const fn groups(&self) -> usize {
        if self.lockstep { 1 } else { self.ranks as usize }
    }

    const fn ranks_in_group(&self) -> u32 {
        if self.lockstep { self.ranks } else { 1 }
    }
}

/// A replay in progress.
struct Drive<'a, G, P> {
    log: &'a [LoggedRequest],
    arrivals: Vec<SimTime>,
    samples: &'a [f64],
    groups: Vec<G>,
    ranks_in_group: u32,
    /// When each group wants [`StepGroup::end`] to be called.
    due: Vec<Option<SimTime>>,
    served: Vec<Served>,
    sampled: Vec<(u32, u32)>,
    /// Requests that are waited for and not served yet; those of the background have higher indices.
    left: usize,
    waited_for: usize,
    probe: P,
    out: Vec<StepEvent>,
}

impl<'a, G: StepGroup, P: Probe<G>> Drive<'a, G, P> {
    fn new(log: &'a [LoggedRequest], background: usize, limits: &ReplayLimits, samples: &'a [f64], probe: P) -> Option<Self> {
        if log.iter().any(|r| !limits.spec.fits(r.input_tokens, r.output_tokens)) {
            return None;
        }
        let watch = Watch::default();
        let spec = Arc::new(limits.spec.clone());
        let group = || G::new(&spec, limits.ranks_in_group(), watch);
        let waited_for = log.len() - background;
        Some(Self {
            log,
            arrivals: log.iter().map(|r| instant(r.queued)).collect(),
            samples,
            groups: (0..limits.groups()).map(|_| group()).collect(),
            ranks_in_group: limits.ranks_in_group(),
            due: vec![None; limits.groups()],
            served: vec![Served::default(); log.len()],
            sampled: Vec::with_capacity(samples.len()),
            left: waited_for,
            waited_for,
            probe,
            out: Vec::new(),
        })
    }

    fn run(&mut self) {
        let mut arrived = 0;
        while self.left > 0 {
            let arrival = self.arrivals.get(arrived).copied();
            let Some(now) = self.due.iter().flatten().copied().chain(arrival).min() else { break };
            self.sample(now);
            for group in 0..self.groups.len() {
                if self.due[group] == Some(now) {
                    self.end(now, group);
                }
            }
            while self.arrivals.get(arrived) == Some(&now) {
                self.queue(now, arrived);
                arrived += 1;
            }
            for group in 0..self.groups.len() {
                if self.due[group].is_none()
                    && let Some(end) = self.groups[group].start(now)
                {
                    self.due[group] = Some(end);
                    self.probe.started(now, end, group, &self.groups[group]);
                }
            }
        }
        self.sample(SimTime::NEVER);
    }

    /// Takes the samples before `now`.
    fn sample(&mut self, now: SimTime) {
        while let Some(at) = self.samples.get(self.sampled.len()) {
            let at = instant(*at);
            if at >= now {
                return;
            }
            let ranks = self.groups.iter().flat_map(|g| (0..self.ranks_in_group).map(move |rank| g.snapshot(at, rank)));
            self.sampled.push(ranks.fold((0, 0), |(r, w), rank| (r + rank.running, w + rank.waiting)));
        }
    }

    fn end(&mut self, now: SimTime, group: usize) {
        self.due[group] = None;
        self.probe.ended(group);
        let mut out = std::mem::take(&mut self.out);
        self.groups[group].end(now, &mut out);
        for event in out.drain(..) {
            match event {
                StepEvent::FirstToken { key } => {
                    self.served[key as usize].first = now.as_secs_f64();
                    self.probe.first(group, key as usize);
                }
                StepEvent::Completed { key } => {
                    self.served[key as usize].last = now.as_secs_f64();
                    self.probe.last(group, key as usize);
                    self.left -= usize::from((key as usize) < self.waited_for);
                }
                StepEvent::Token { .. } | StepEvent::Left { .. } | StepEvent::BlocksChanged { .. } => {}
            }
        }
        self.out = out;
    }

    fn queue(&mut self, now: SimTime, request: usize) {
        let places = (0..self.groups.len()).flat_map(|g| (0..self.ranks_in_group).map(move |rank| (g, rank)));
        let load = |(group, rank): &(usize, u32)| {
            let (running, waiting) = self.groups[*group].occupancy(*rank);
            4 * u64::from(waiting) + u64::from(running)
        };
        let (group, rank) = places.min_by_key(load).expect("there is a rank");
        let LoggedRequest { input_tokens, output_tokens, .. } = self.log[request];
        let sequence = NewSequence { key: request as u32, input_tokens, output_tokens };
        self.probe.queued(now, group, request);
        match self.groups[group].enqueue(now, rank, sequence).1 {
            Next::EndAt(end) => self.due[group] = Some(end),
            Next::StartNow => self.due[group] = None,
            Next::Unchanged => {}
        }
    }

    fn finish(self) -> (Replayed, P) {
        let preemptions = self.groups.iter().flat_map(|g| {
            let at = self.arrivals.last().copied().unwrap_or(SimTime::ZERO);
            (0..self.ranks_in_group).map(move |rank| g.snapshot(at, rank).preemptions)
        });
        let preemptions = preemptions.sum();
        let mut served = self.served;
        served.truncate(self.waited_for);
        (Replayed { served, samples: self.sampled, preemptions }, self.probe)
    }
}

fn instant(seconds: f64) -> SimTime {
    SimTime::ZERO + Span::from_secs_f64(seconds.max(0.0)).unwrap_or(Span::ZERO)
}
