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

mod attempts;
mod engines;
mod fleet;
mod loads;
mod sampling;
mod updates;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::batching::{StepEvent, StepGroup};
use super::clients::Clients;
use super::config::{ClientConfig, FleetConfig, FrontendConfig, ScenarioEvent, TelemetryConfig};
use super::event::{Event, kind};
use super::frontend::{Frontend, Spread};
use super::observer::{FleetSample, Observer};
use super::request::{Attempt, Request};
use super::slab::Slab;
use super::telemetry::Telemetry;
use super::worker::{Engine, Worker};
use crate::engine::{EventQueue, SimRng, Streams};
use crate::units::{SimTime, Span};
use crate::workload::config::WorkloadConfig;
use crate::workload::error::WorkloadError;
use crate::workload::source::{RequestSource, RequestSpec};
use crate::workload::spans::SpanSampler;
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

/// A group of ranks and its event.
#[derive(Clone, Debug)]
struct Group<G> {
    steps: G,
    worker: u32,
    /// Its first rank, counted over the fleet.
    first_rank: u32,
    stamp: u32,
    dirty: bool,
}

/// A run in progress.
pub struct Simulation<'a, G, O> {
    setup: Setup<'a>,
    /// Who watches.
    pub observer: O,
    now: SimTime,
    queue: EventQueue<Event>,
    events: u64,
    source: RequestSource,
    head: Option<RequestSpec>,
    requests: Slab<Request>,
    attempts: Slab<Attempt>,
    arrived: u64,
    /// Requests a closed loop may still send.
    engines: Vec<Engine>,
    workers: Vec<Worker>,
    groups: Vec<Group<G>>,
    /// Groups to start in this instant.
    dirty: Vec<u32>,
    frontends: Vec<Frontend>,
    spread: Spread,
    telemetry: Option<Telemetry>,
    clients: Clients,
    think: Option<SpanSampler>,
    think_rng: SimRng,
    updates: Updates,
    /// Scratch.
    step_events: Vec<StepEvent>,
    sample: FleetSample,
}
