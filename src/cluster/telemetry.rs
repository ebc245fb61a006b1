//! How workers' load reports reach the frontends: trailing debounce, delay, loss.
//!
//! A rank that changes its used blocks restarts a timer; when the timer runs out the latest value goes to every frontend, each
//! over a path of its own. A path delivers in the order of sending: a report that drew a shorter delay than the one before it
//! arrives with that one; with `reorder` it overtakes. Faults: during an outage what a path is given to carry is lost; a frozen
//! rank goes on reporting, but always the value it had when it froze.

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
    /// Which life of the worker it is from.
    life: u32,
}

/// What a rank has to report.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    used: u64,
    due: SimTime,
    armed: bool,
    /// What it reports while it is frozen, and until when that is.
    frozen: Option<(u64, SimTime)>,
    /// Lives of its worker so far: reports from an earlier one are void.
    life: u32,
}

/// The reporting side of all ranks and the paths to all frontends.
#[derive(Clone, Debug)]
pub struct Telemetry {
    debounce: Span,
    delay: SpanSampler,
    loss: f64,
    reorder: bool,
    rng: SimRng,
    frontends: u32,
    ranks: Vec<Pending>,
    /// Last delivery of each path, by frontend, then rank.
    last: Vec<SimTime>,
    /// End of the outage of each path, in the same order.
    out_until: Vec<SimTime>,
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
            reorder: config.reorder,
            rng: streams.stream("telemetry", 0),
            frontends,
            ranks: vec![Pending::default(); ranks],
            last: vec![SimTime::ZERO; ranks * frontends as usize],
            out_until: vec![SimTime::ZERO; ranks * frontends as usize],
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

    /// A rank is gone: what it had not yet sent is lost, and what is under way will find nobody who knows the worker, or a
    /// later life of it.
    pub fn forget(&mut self, rank: u32) {
        let rank = &mut self.ranks[rank as usize];
        // Its timer stays arranged and finds nothing to send.
        rank.due = SimTime::NEVER;
        rank.life += 1;
        rank.frozen = None;
    }

    /// The used blocks of a rank when they last changed.
    pub fn used(&self, rank: u32) -> u64 {
        self.ranks[rank as usize].used
    }

    /// What `rank` sends to `frontend` before `until` is lost.
    pub fn cut(&mut self, rank: u32, frontend: u32, until: SimTime) {
        let path = self.path(rank, frontend);
        self.out_until[path] = self.out_until[path].max(until);
    }

    /// Until `until` the rank reports the value it has now.
    pub fn freeze(&mut self, rank: u32, until: SimTime) {
        let rank = &mut self.ranks[rank as usize];
        let (value, end) = rank.frozen.unwrap_or((rank.used, until));
        rank.frozen = Some((value, end.max(until)));
    }

    /// A freeze of the rank may be over; answers as [`Telemetry::changed`] where the value it showed was not the true one.
    pub fn thaw(&mut self, now: SimTime, rank: u32) -> Option<SimTime> {
        let (value, until) = self.ranks[rank as usize].frozen?;
        if now < until {
            return None;
        }
        let of = &mut self.ranks[rank as usize];
        of.frozen = None;
        let used = of.used;
        if used == value { None } else { self.changed(now, rank, used) }
    }

    fn path(&self, rank: u32, frontend: u32) -> usize {
        rank as usize * self.frontends as usize + frontend as usize
    }

    /// The timer of `rank` ran out: the value to send, or when to come again since the rank changed meanwhile.
    pub fn debounced(&mut self, now: SimTime, rank: u32) -> Debounced {
        let pending = &mut self.ranks[rank as usize];
        if pending.due == now {
            pending.armed = false;
            let frozen = pending.frozen.filter(|(_, until)| now < *until);
            return Debounced::Send(frozen.map_or(pending.used, |(value, _)| value));
        }
        if pending.due == SimTime::NEVER {
            pending.armed = false;
            return Debounced::Gone;
        }
        Debounced::Again(pending.due)
    }

    /// When a report of `rank` sent now reaches `frontend`; `None` if it is lost.
    pub fn arrival(&mut self, now: SimTime, rank: u32, frontend: u32) -> Option<SimTime> {
        let path = self.path(rank, frontend);
        // The draws come first, so that an outage shifts none of those after it.
        let lost = self.loss > 0.0 && self.rng.unit() < self.loss;
        if lost {
            return None;
        }
        let at = now.saturating_add(self.delay.draw(&mut self.rng));
        if now < self.out_until[path] {
            return None;
        }
        if self.reorder {
            return Some(at);
        }
        let last = &mut self.last[path];
        *last = at.max(*last);
        Some(*last)
    }

    /// A report of what `rank` sends to `frontend`.
    pub fn report(&self, frontend: u32, rank: u32, used: u64) -> Report {
        Report { frontend, rank, used, life: self.ranks[rank as usize].life }
    }

    /// Keeps a report until it arrives.
    pub fn send(&mut self, report: Report) -> u32 {
        self.under_way.insert(report)
    }

    /// Takes a report that arrives; `None` where its worker has begun a new life since.
    pub fn receive(&mut self, report: u32) -> Option<Report> {
        let report = self.under_way.remove(report);
        (report.life == self.ranks[report.rank as usize].life).then_some(report)
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
