//! The gates of workers over time: each one, and all together.

use crate::cluster::config::{FleetConfig, WorkerType};
use crate::cluster::observer::{FleetSample, GateState};
use crate::cluster::worker::Worker;
use crate::experiment::measures::FleetOccupancy;
use crate::experiment::result::WorkerResult;
use crate::stats::TimeWeighted;
use crate::units::SimTime;

/// What is measured at gates.
#[derive(Debug)]
pub(super) struct Gates {
    fleet: Fleet,
    workers: Vec<Gate>,
}

/// All gates together.
#[derive(Debug)]
struct Fleet {
    slots: TimeWeighted,
    waiting: TimeWeighted,
    gauge: TimeWeighted,
    full: TimeWeighted,
    inside: TimeWeighted,
}

/// One gate.
#[derive(Debug)]
struct Gate {
    state: GateState,
    limit: Option<u32>,
    room: u32,
    slots: TimeWeighted,
    waiting: TimeWeighted,
    gauge: TimeWeighted,
    full: TimeWeighted,
    completed: u64,
    rejected: u64,
    excluded_samples: (u64, u64),
}

impl Gate {
    fn new(limit: Option<u32>, room: u32) -> Self {
        let start = SimTime::ZERO;
        let slots = TimeWeighted::new(start, 0);
        Self {
            state: GateState::default(),
            limit,
            room,
            slots: limit.map_or(slots.clone(), |n| slots.with_limit(u64::from(n))),
            waiting: TimeWeighted::new(start, 0).with_limit(u64::from(room)),
            gauge: TimeWeighted::new(start, 0),
            full: TimeWeighted::new(start, 0),
            completed: 0,
            rejected: 0,
            excluded_samples: (0, 0),
        }
    }

    fn is_full(&self, state: &GateState) -> bool {
        self.limit.is_some_and(|n| state.in_engine >= n && state.waiting >= self.room)
    }

    fn cut(&mut self, now: SimTime) {
        for window in [&mut self.slots, &mut self.waiting, &mut self.gauge, &mut self.full] {
            window.cut(now);
        }
        (self.completed, self.rejected, self.excluded_samples) = (0, 0, (0, 0));
    }
}

impl Fleet {
    fn new() -> Self {
        let zero = || TimeWeighted::new(SimTime::ZERO, 0);
        Self { slots: zero(), waiting: zero(), gauge: zero(), full: zero(), inside: zero() }
    }

    /// A worker's gate went from `old` to `new`; `full` says which of the two was full.
    fn moved(&mut self, now: SimTime, old: &GateState, new: &GateState, full: [bool; 2]) {
        let shift = |series: &mut TimeWeighted, old: u64, new: u64| series.set(now, series.value() + new - old);
        shift(&mut self.slots, old.in_engine.into(), new.in_engine.into());
        shift(&mut self.waiting, old.waiting.into(), new.waiting.into());
        shift(&mut self.gauge, old.gauge.into(), new.gauge.into());
        shift(&mut self.full, full[0].into(), full[1].into());
        let inside = |state: &GateState| u64::from(state.in_engine) + u64::from(state.waiting);
        shift(&mut self.inside, inside(old), inside(new));
    }
}

/// The type of each worker, in the order of their ids.
fn types(fleet: &FleetConfig) -> impl Iterator<Item = &WorkerType> {
    fleet.types.iter().flat_map(|t| std::iter::repeat_n(t, t.count() as usize))
}

impl Gates {
    /// The gates of a fleet, empty.
    pub fn new(fleet: &FleetConfig) -> Self {
        let workers = types(fleet).map(|t| Gate::new(t.engine_request_limit, t.request_queue_limit)).collect();
        Self { fleet: Fleet::new(), workers }
    }

    /// Engine slots in use over all workers.
    pub fn slots(&self) -> u64 {
        self.fleet.slots.value()
    }

    /// Requests waiting for a slot over all workers.
    pub fn waiting(&self) -> u64 {
        self.fleet.waiting.value()
    }

    /// A gate is in `state` from `now` on.
    #[inline]
    pub fn changed(&mut self, now: SimTime, worker: u32, state: GateState) {
        let gate = &mut self.workers[Worker::index(worker)];
        let old = std::mem::replace(&mut gate.state, state);
        let full = [gate.is_full(&old), gate.is_full(&state)];
        gate.slots.set(now, state.in_engine.into());
        // Mostly a gate has nobody waiting: what did not change is not even looked at, since it is kept elsewhere.
        if state.waiting != old.waiting {
            gate.waiting.set(now, state.waiting.into());
        }
        if state.gauge != old.gauge {
            gate.gauge.set(now, state.gauge.into());
        }
        if full[1] != full[0] {
            gate.full.set(now, full[1].into());
        }
        self.fleet.moved(now, &old, &state, full);
    }

    /// A worker completed an attempt.
    #[inline]
    pub fn completed(&mut self, worker: u32) {
        self.workers[Worker::index(worker)].completed += 1;
    }

    /// A worker refused a dispatch.
    pub fn rejected(&mut self, worker: u32) {
        self.workers[Worker::index(worker)].rejected += 1;
    }

    /// What a sample says of single workers.
    pub fn sample(&mut self, fleet: &FleetSample) {
        for (gate, worker) in self.workers.iter_mut().zip(&fleet.workers) {
            gate.excluded_samples.0 += u64::from(!worker.excluded.is_empty());
            gate.excluded_samples.1 += 1;
        }
    }

    /// The figures of single workers begin anew (a warm-up ends).
    pub fn cut_workers(&mut self, at: SimTime) {
        self.workers.iter_mut().for_each(|gate| gate.cut(at));
    }

    /// The occupancy of the fleet since the last cut.
    pub fn cut_fleet(&mut self, at: SimTime) -> FleetOccupancy {
        let fleet = &mut self.fleet;
        FleetOccupancy {
            slots: fleet.slots.cut(at),
            waiting: fleet.waiting.cut(at),
            gauge: fleet.gauge.cut(at),
            full_workers: fleet.full.cut(at),
            in_workers: fleet.inside.cut(at),
        }
    }

    /// The figures of each worker of a run that ended at `now`.
    pub fn finish(self, now: SimTime, fleet: &FleetConfig) -> Vec<WorkerResult> {
        let each = self.workers.into_iter().zip(types(fleet)).zip(Worker::FIRST_ID..);
        let result = each.map(|((mut gate, t), worker)| WorkerResult {
            worker,
            kind: t.name.clone(),
            data_parallel_size: t.data_parallel_size,
            engine_request_limit: t.engine_request_limit,
            request_queue_limit: t.request_queue_limit,
            completed: gate.completed,
            rejected: gate.rejected,
            slots: gate.slots.cut(now),
            waiting: gate.waiting.cut(now),
            gauge: gate.gauge.cut(now),
            full: gate.full.cut(now),
            excluded_samples: gate.excluded_samples,
        });
        result.collect()
    }
}
