//! The simulation: real control code between synthetic clients and workers, event by event.
//!
//! | file | what it does |
//! |---|---|
//! | `mod.rs` | state, set-up, the run loop |
//! | `attempts.rs` | an attempt from its frontend through a gate to its end, and what its client does then |
//! | `engines.rs` | steps and services: starts, ends, first tokens |
//! | `loads.rs` | load reports and threshold posts on their way to the frontends |
//! | `fleet.rs` | workers joining, leaving, changing; scripted events |
//! | `sampling.rs` | what a sample of the time series sees |
//! | `source.rs` | where requests come from: arrivals, users in a closed loop, turns of recorded sessions |
//! | `updates.rs` | threshold updates on their way from stored to in force |
//! | `faults.rs` | crashes, drains, slow workers, slow networks, scaling |
//! | `network.rs` | dispatches and answers over a slow network |
//! | `quality.rs` | each decision held against what a frontend without delay would have known |
//! | `story.rs` | what is told of the one request whose story is wanted |
//! | `instant.rs` | that simulated time goes on |

mod attempts;
mod engines;
mod faults;
mod fleet;
mod instant;
mod loads;
mod network;
mod quality;
mod sampling;
mod source;
mod story;
mod updates;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::batching::{StepEvent, StepGroup, Watch};
use super::clients::Clients;
use super::config::{ClientConfig, EventAction, FleetConfig, FrontendConfig, RouterMode, ScenarioEvent, TelemetryConfig};
use super::event::{Event, kind, lane};
use super::frontend::{Frontend, Spread, settings};
use super::observer::{FleetSample, Observer};
use super::request::{Attempt, Request, Sender};
use super::slab::Slab;
use super::telemetry::Telemetry;
use super::worker::{Engine, Worker};
use crate::engine::{Deadlines, EventQueue, Streams};
use crate::units::{SimTime, Span};
use crate::workload::config::WorkloadConfig;
use crate::workload::error::WorkloadError;
use crate::workload::source::RequestSpec;
use fleet::View;
use instant::Instant;
use network::Answer;
use quality::Quality;
use source::Source;
use updates::Updates;

/// What to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Workers.
    pub fleet: &'a FleetConfig,
    /// Frontends.
    pub frontend: &'a FrontendConfig,
    /// Load reports.
    pub telemetry: &'a TelemetryConfig,
    /// Clients.
    pub clients: &'a ClientConfig,
    /// Traffic.
    pub workload: &'a WorkloadConfig,
    /// Scheduled events.
    pub events: &'a [ScenarioEvent],
    /// Where randomness comes from.
    pub streams: Streams,
    /// Last instant that is simulated.
    pub horizon: Option<SimTime>,
    /// Arrivals at most.
    pub requests: Option<u64>,
    /// Width of an interval of the time series.
    pub sample_interval: Span,
    /// Events at most.
    pub max_events: u64,
    /// Requests in the system or waiting to retry at most.
    pub max_requests_in_system: u64,
    /// Hold every decision against the references of [`Judgement`](super::observer::Judgement).
    pub judge_decisions: bool,
}

/// Why a simulation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The horizon was reached.
    Horizon,
    /// Everything that arrived is done.
    Drained,
    /// The bound on events was reached.
    MaxEvents,
    /// The bound on requests in the system was reached.
    MaxRequestsInSystem,
    /// Clients send again and again within one instant, without end.
    TimeStandsStill,
    /// Somebody stopped it.
    Interrupted,
}

/// How the outside follows a simulation and stops it.
#[derive(Debug, Default)]
pub struct Remote {
    /// Set to stop.
    pub stop: AtomicBool,
    /// Simulated nanoseconds so far.
    pub reached: AtomicU64,
    /// Arrivals so far.
    pub arrived: AtomicU64,
}

/// A group of ranks.
#[derive(Clone, Debug)]
struct Group<G> {
    steps: G,
    /// Its first rank, counted over the fleet.
    first_rank: u32,
    dirty: bool,
}

/// A run in progress.
pub struct Simulation<'a, G, O> {
    setup: Setup<'a>,
    /// Who watches.
    pub observer: O,
    now: SimTime,
    queue: EventQueue<Event>,
    /// When each group ends its step, or its run of steps.
    step_ends: Deadlines,
    events: u64,
    source: Source,
    head: Option<RequestSpec>,
    /// Classes whose names the observer knows.
    classes_named: usize,
    requests: Slab<Request>,
    attempts: Slab<Attempt>,
    arrived: u64,
    instant: Instant,
    /// By worker type.
    engines: Vec<Engine>,
    workers: Vec<Worker>,
    /// (worker id, rank) of each rank, counted over the fleet.
    rank_names: Vec<(u32, u32)>,
    groups: Vec<Group<G>>,
    /// Groups to start in this instant.
    dirty: Vec<u32>,
    frontends: Vec<Frontend>,
    /// Changes of the fleet on their way to the frontends.
    views: VecDeque<View>,
    spread: Spread,
    telemetry: Option<Telemetry>,
    clients: Clients,
    updates: Updates,
    /// Where decisions are judged: what they are held against.
    quality: Option<Quality>,
    /// Services begun at opaque workers so far (modulo 2^32).
    services: u32,
    /// Answers on their way over a slow network.
    answers: Slab<Answer>,
    /// The request whose story is wanted.
    followed: Option<u64>,
    /// Scratch.
    step_events: Vec<StepEvent>,
    gone: Vec<u32>,
    sample: FleetSample,
    next_sample: u64,
}

impl<'a, G: StepGroup, O: Observer> Simulation<'a, G, O> {
    /// Everything in place at time 0, before the first event.
    ///
    /// # Errors
    /// A distribution that does not exist, a trace that cannot be read.
    pub fn new(setup: Setup<'a>, observer: O) -> Result<Self, WorkloadError> {
        let streams = setup.streams;
        let types = &setup.fleet.types;
        let engines = types.iter().map(Engine::new).collect::<Result<Vec<_>, _>>()?;
        let (workers, rank_names) = place_workers(setup.fleet);
        let watch = watch(&setup);
        let groups = place_groups(&workers, &engines, watch);
        let block_size = types.first().map_or(1, |t| t.kv_cache_block_size);
        let settings = settings(setup.frontend, block_size);
        let frontends = (0..setup.frontend.frontends).map(|i| Frontend::new(settings, i, streams)).collect();
        let telemetry = setup.telemetry.worker_kv_metrics && engines.iter().any(|e| matches!(e, Engine::Batching { .. }));
        let telemetry = telemetry
            .then(|| Telemetry::new(setup.telemetry, rank_names.len(), setup.frontend.frontends, streams))
            .transpose()?;
        let source = Source::open(&setup)?;
        let quality = setup.judge_decisions.then(|| Quality::new(settings, setup.frontend.frontends, workers.len()));
        let followed = observer.follows();
        let mut simulation = Self {
            observer,
            now: SimTime::ZERO,
            queue: EventQueue::with_lanes(lane::COUNT),
            step_ends: Deadlines::new(groups.len()),
            events: 0,
            source,
            head: None,
            classes_named: 0,
            requests: Slab::new(),
            attempts: Slab::new(),
            arrived: 0,
            instant: Instant::new(setup.clients.closed_loop.as_ref().map_or(0, |closed| closed.users)),
            engines,
            workers,
            rank_names,
            groups,
            dirty: Vec::new(),
            frontends,
            views: VecDeque::new(),
            spread: Spread::new(setup.frontend, streams),
            telemetry,
            clients: Clients::new(setup.clients, setup.frontend.retry_after, streams),
            updates: Updates::new(setup.frontend.frontends),
            quality,
            services: 0,
            answers: Slab::new(),
            followed,
            step_events: Vec::new(),
            gone: Vec::new(),
            sample: FleetSample::default(),
            next_sample: 1,
            setup,
        };
        simulation.begin()?;
        Ok(simulation)
    }

    /// What happens at time 0 before anything else: the fleet is discovered, reports 0, and users send.
    fn begin(&mut self) -> Result<(), WorkloadError> {
        self.fleet_changed();
        for rank in 0..self.rank_names.len() as u32 {
            let (worker, _) = self.rank_names[rank as usize];
            let worker = &self.workers[Worker::index(worker)];
            if worker.present && !self.engines[worker.kind].is_opaque() {
                self.blocks_changed(rank, 0);
            }
        }
        self.schedule_events();
        self.schedule_sample();
        if let Some(closed) = &self.setup.clients.closed_loop {
            for user in 0..closed.users {
                self.queue.push(SimTime::ZERO, kind::RETRY, Event::Next { sender: Sender::User(user) });
            }
        }
        self.read_ahead()
    }

    /// Holds the next arrival; classes that a trace names with it are told before it arrives.
    fn read_ahead(&mut self) -> Result<(), WorkloadError> {
        self.head = self.source.next_arrival()?;
        let names = self.source.class_names();
        if names.len() > self.classes_named {
            self.classes_named = names.len();
            self.observer.classes_named(names);
        }
        Ok(())
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// A row of the trace that cannot be read.
    pub fn run(&mut self, remote: &Remote) -> Result<Ended, WorkloadError> {
        let horizon = self.setup.horizon.unwrap_or(SimTime::NEVER);
        let ended = loop {
            let queued = self.queue.peek().unwrap_or((SimTime::NEVER, u8::MAX));
            let arrival = self.head.as_ref().map_or((SimTime::NEVER, u8::MAX), |spec| (spec.arrival, kind::ARRIVAL));
            let (step_end, group) = self.step_ends.earliest();
            let step_end = (step_end, kind::STEP_END);
            let next = queued.min(arrival).min(step_end);
            if !self.dirty.is_empty() && (self.now, kind::START) <= next {
                self.start_steps();
                continue;
            }
            if self.setup.horizon.is_none() && self.is_drained() {
                break Ended::Drained;
            }
            if next.0 > horizon {
                self.now = horizon;
                break Ended::Horizon;
            }
            if next.0 == SimTime::NEVER {
                // Nothing will ever happen again; a run with a horizon lasts until there.
                match self.setup.horizon {
                    Some(horizon) => self.now = horizon,
                    None => break Ended::Drained,
                }
                break Ended::Horizon;
            }
            self.events += 1;
            if self.events.is_multiple_of(4096)
                && let Some(ended) = self.look_around(remote)
            {
                break ended;
            }
            debug_assert!(self.now <= next.0, "time never runs backwards");
            self.now = next.0;
            if next == step_end {
                self.step_end(group);
            } else if next == arrival {
                let mut spec = self.head.take().expect("an arrival is due");
                self.instant.arrival(self.now);
                let sender = self.source.arrived(&mut spec);
                self.arrive(&spec, sender);
                self.read_ahead()?;
            } else {
                let event = self.queue.pop().expect("an event is due").event;
                self.handle(event);
            }
            // At once, not now and then: how many events there are depends on how engines are simulated, and the end must not.
            if self.requests.len().max(self.attempts.len()) as u64 > self.setup.max_requests_in_system {
                break Ended::MaxRequestsInSystem;
            }
            if self.instant.is_endless() {
                break Ended::TimeStandsStill;
            }
        };
        self.finish();
        Ok(ended)
    }

    fn is_drained(&self) -> bool {
        self.head.is_none() && self.requests.is_empty() && self.attempts.is_empty() && !self.source.goes_on()
    }

    /// What is looked at now and then only: bounds, progress, a wish to stop.
    fn look_around(&self, remote: &Remote) -> Option<Ended> {
        remote.reached.store(self.now.as_nanos(), Ordering::Relaxed);
        remote.arrived.store(self.arrived, Ordering::Relaxed);
        if remote.stop.load(Ordering::Relaxed) {
            return Some(Ended::Interrupted);
        }
        (self.events >= self.setup.max_events).then_some(Ended::MaxEvents)
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::ServiceEnd { attempt, service } => self.service_end(attempt, service),
            Event::Debounce { rank } => self.debounced(rank),
            Event::Deliver { report } => self.receive(report),
            Event::Retry { request } => self.try_request(request),
            Event::Redispatch { attempt, stamp } => {
                if self.attempts.current(attempt, stamp).is_some() {
                    self.dispatch(attempt);
                }
            }
            Event::GiveUp { attempt, stamp, first_token } => self.give_up(attempt, stamp, first_token),
            Event::Next { sender } => {
                if let Some(spec) = self.source.next_of(sender, self.now) {
                    self.arrive(&spec, sender);
                }
            }
            Event::Scripted { index } => self.scripted(index),
            Event::ScriptedEnd { index } => self.scripted_end(index),
            Event::Join { worker, stamp } => self.loaded(worker, stamp),
            Event::Expire { frontend } => self.expire(frontend),
            Event::Seat { attempt, stamp } => self.look_for_seat(attempt, stamp),
            Event::Reach { attempt, stamp } => self.reached(attempt, stamp),
            Event::Answer { answer } => self.answered(answer),
            Event::Discover => self.discovered(),
            Event::Sample => {
                self.take_sample();
                self.schedule_sample();
            }
        }
    }

    fn schedule_sample(&mut self) {
        let at = SimTime::ZERO.saturating_add(self.setup.sample_interval.saturating_mul(self.next_sample));
        self.next_sample += 1;
        self.queue.push(at, kind::SAMPLE, Event::Sample);
    }

    /// A frontend decides: that matters to an update which is under way there.
    fn decided(&mut self, frontend: u32) {
        if self.updates.is_pending(frontend) {
            self.observer.decision(self.now, frontend);
        }
    }

    fn finish(&mut self) {
        self.take_sample();
        for frontend in 0..self.frontends.len() as u32 {
            let monitor = self.frontends[frontend as usize].control.monitor();
            let observer = &mut self.observer;
            self.updates.at_end(frontend, monitor, |post, worker, silent| {
                observer.update_never(post, frontend, worker, silent);
            });
            observer.monitor_end(self.now, frontend, monitor);
        }
        let (requests, observer) = (&self.requests, &mut self.observer);
        // Where an attempt lies depends on whose place it took over: what is told of the open ones shall not.
        let mut open: Vec<_> = self.attempts.iter().filter_map(|(_, a)| Some((a, &requests[a.request()?]))).collect();
        open.sort_unstable_by_key(|(a, _)| (a.id, a.number));
        open.into_iter().for_each(|(attempt, request)| observer.attempt_in_system(attempt, request));
        requests.iter().for_each(|(_, r)| observer.request_unfinished(r));
    }

    /// Who watched.
    pub fn into_observer(self) -> O {
        self.observer
    }

    /// The instant the simulation has reached.
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// Events processed so far: says something of the engine, nothing of the cluster.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// What became of the rows of the trace, if one is replayed.
    pub fn source(&self) -> &Source {
        &self.source
    }
}

/// Workers with their ranks and groups numbered through the fleet, and the (worker, rank) of each rank.
fn place_workers(fleet: &FleetConfig) -> (Vec<Worker>, Vec<(u32, u32)>) {
    let (mut workers, mut names) = (Vec::new(), Vec::new());
    let mut groups = 0;
    for (kind, of) in fleet.types.iter().enumerate() {
        for i in 0..of.count() {
            let id = Worker::FIRST_ID + workers.len() as u32;
            let mut worker = Worker::new(id, kind, of);
            worker.present = i < of.workers;
            worker.first_rank = names.len() as u32;
            worker.first_group = groups;
            if !of.is_opaque() {
                groups += if worker.lockstep { 1 } else { worker.ranks };
            }
            names.extend((0..worker.ranks).map(|rank| (id, rank)));
            workers.push(worker);
        }
    }
    (workers, names)
}

fn place_groups<G: StepGroup>(workers: &[Worker], engines: &[Engine], watch: Watch) -> Vec<Group<G>> {
    let mut groups = Vec::new();
    for worker in workers {
        let Engine::Batching { spec, .. } = &engines[worker.kind] else { continue };
        let (count, ranks) = if worker.lockstep { (1, worker.ranks) } else { (worker.ranks, 1) };
        for i in 0..count {
            let steps = G::new(spec, ranks, watch);
            groups.push(Group { steps, first_rank: worker.first_rank + i, dirty: false });
        }
    }
    groups
}

/// What anyone reads of the ranks: their blocks, if a report can change a decision, or what decisions are held against; their
/// tokens, if a router counts them.
fn watch(setup: &Setup<'_>) -> Watch {
    let mut updates = setup.events.iter().filter_map(|e| match &e.action {
        EventAction::PostBusyThreshold(post) => Some(post.update),
        _ => None,
    });
    let posts = updates.clone().next().is_some();
    let decode = setup.frontend.thresholds.active_decode_blocks_threshold.is_some()
        || updates.any(|update| update.active_decode_blocks_threshold.is_some());
    let leases = setup.fleet.types.iter().any(|t| t.engine_request_limit.is_some()) && !setup.frontend.overload_lease.is_zero();
    let read = setup.frontend.thresholds.any() || posts || leases;
    let tokens = setup.frontend.router_mode == RouterMode::Kv && setup.frontend.router_track_output_blocks;
    let judged = setup.judge_decisions && (decode || posts);
    Watch { blocks: (setup.telemetry.worker_kv_metrics && read) || judged, tokens }
}
