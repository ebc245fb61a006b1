//! How workers' load reports reach the frontends: trailing debounce, delay, loss.
//!
//! A rank that changes its used blocks restarts a timer; when the timer runs out the latest value goes to every frontend, each
//! over a path of its own. A path delivers in the order of sending: a report that drew a shorter delay than the one before it
//! arrives with that one.

use super::config::TelemetryConfig;
use super::slab::Slab;
use crate::engine::{SimRng, Streams};
use crate::units::{SimTime, Span};
use crate::workload::error::WorkloadError;
use crate::workload::spans::SpanSampler;

/// A worker's report under way to one frontend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Frontend it goes to.
    pub frontend: u32,
    /// Rank, counted over the fleet.
    pub rank: u32,
    /// Used KV blocks.
    pub used: u64,
}

/// What a rank has to report.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    used: u64,
    due: SimTime,
    armed: bool,
}

/// The reporting side of all ranks and the paths to all frontends.
#[derive(Clone, Debug)]
pub struct Telemetry {
    debounce: Span,
    delay: SpanSampler,
    loss: f64,
    rng: SimRng,
    frontends: u32,
    ranks: Vec<Pending>,
    /// Last delivery of each path, by frontend, then rank.
    last: Vec<SimTime>,
    under_way: Slab<Report>,
}

impl Telemetry {
    /// The paths from `ranks` ranks to `frontends` frontends.
    ///
    /// # Errors
    /// A delay distribution that does not exist.
    pub fn new(config: &TelemetryConfig, ranks: usize, frontends: u32, streams: Streams) -> Result<Self, WorkloadError> {
        Ok(Self {
            debounce: config.debounce,
            delay: SpanSampler::new(&config.delay)?,
            loss: config.loss,
            rng: streams.stream("telemetry", 0),
            frontends,
            ranks: vec![Pending::default(); ranks],
            last: vec![SimTime::ZERO; ranks * frontends as usize],
            under_way: Slab::new(),
        })
    }

    /// A rank's used blocks changed. Answers when to call [`Telemetry::debounced`], unless that is already arranged.
    pub fn changed(&mut self, now: SimTime, rank: u32, used: u64) -> Option<SimTime> {
        let pending = &mut self.ranks[rank as usize];
        pending.used = used;
        pending.due = now.saturating_add(self.debounce);
        let first = !pending.armed;
        pending.armed = true;
        first.then_some(pending.due)
    }

    /// A rank is gone: what it had not yet sent is lost.
    pub fn forget(&mut self, rank: u32) {
        // Its timer stays arranged and finds nothing to send.
        self.ranks[rank as usize].due = SimTime::NEVER;
    }

    /// The timer of `rank` ran out: the value to send, or when to come again since the rank changed meanwhile.
    pub fn debounced(&mut self, now: SimTime, rank: u32) -> Debounced {
        let pending = &mut self.ranks[rank as usize];
        if pending.due == now {
            pending.armed = false;
            return Debounced::Send(pending.used);
        }
        if pending.due == SimTime::NEVER {
            pending.armed = false;
            return Debounced::Gone;
        }
        Debounced::Again(pending.due)
    }

    /// When a report of `rank` sent now reaches `frontend`; `None` if it is lost.
    pub fn arrival(&mut self, now: SimTime, rank: u32, frontend: u32) -> Option<SimTime> {
        if self.loss > 0.0 && self.rng.unit() < self.loss {
            return None;
        }
        let at = now.saturating_add(self.delay.draw(&mut self.rng));
        let last = &mut self.last[rank as usize * self.frontends as usize + frontend as usize];
        *last = at.max(*last);
        Some(*last)
    }

    /// Keeps a report until it arrives.
    pub fn send(&mut self, report: Report) -> u32 {
        self.under_way.insert(report)
    }

    /// Takes a report that arrives.
    pub fn receive(&mut self, report: u32) -> Report {
        self.under_way.remove(report)
    }
}

/// What a debounce timer finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Debounced {
    /// The rank has paused: send this.
    Send(u64),
    /// The rank changed meanwhile: come again then.
    Again(SimTime),
    /// The rank is gone.
    Gone,
}
