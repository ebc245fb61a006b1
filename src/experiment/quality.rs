//! How good the decisions of the frontends were, held against two references that are never mixed
//! ([`Judgement`]).

use super::measures::share;
use crate::cluster::observer::{Judgement, Standing};
use crate::cluster::worker::Worker;
use crate::stats::Merge;
use crate::units::{SimTime, Span};

/// Decisions by what the frontend did and what a reference says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confusion {
    /// Routed, rightly.
    pub routed_with_room: u64,
    /// Routed although there was no room.
    pub routed_without_room: u64,
    /// Refused although there was room.
    pub refused_with_room: u64,
    /// Refused, rightly.
    pub refused_without_room: u64,
}

impl Confusion {
    const fn count(&mut self, routed: bool, room: bool) {
        let cell = match (routed, room) {
            (true, true) => &mut self.routed_with_room,
            (true, false) => &mut self.routed_without_room,
            (false, true) => &mut self.refused_with_room,
            (false, false) => &mut self.refused_without_room,
        };
        *cell += 1;
    }

    /// Decisions in all.
    pub const fn total(&self) -> u64 {
        self.routed_with_room + self.routed_without_room + self.refused_with_room + self.refused_without_room
    }

    /// Decisions that the reference calls wrong.
    pub const fn wrong(&self) -> u64 {
        self.routed_without_room + self.refused_with_room
    }

    /// Share of wrong decisions; `None` without decisions.
    pub fn wrong_share(&self) -> Option<f64> {
        share(self.wrong(), self.total())
    }

    const fn add(&mut self, other: &Self) {
        self.routed_with_room += other.routed_with_room;
        self.routed_without_room += other.routed_without_room;
        self.refused_with_room += other.refused_with_room;
        self.refused_without_room += other.refused_without_room;
    }
}

/// What wrong decisions cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Decisions that refused although there was room: each is a request that could have been served.
    pub refused: u64,
    /// Their tokens, prompt and output.
    pub tokens: u64,
}

impl Cost {
    const fn add(&mut self, other: &Self) {
        self.refused += other.refused;
        self.tokens += other.tokens;
    }
}

/// Decisions of a stretch of the run. A migration inside a frontend is a decision of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QualityCounts {
    /// Against *fresh*: would the same rules, told everything at once, have found a worker?
    pub fresh: Confusion,
    /// Against *engine*: is there a worker that would take the request now?
    pub engine: Confusion,
    /// Decisions unlike fresh's: refused instead of routed, the reverse, or another destination.
    pub unlike_fresh: u64,
    /// Routed to a worker that fresh holds for busy.
    pub routed_to_busy: u64,
    /// Refused although fresh would have found a worker.
    pub cost_fresh: Cost,
    /// Refused although a worker would have taken the request.
    pub cost_engine: Cost,
    /// Accepted by a worker, and then without seat or blocks at once: had to wait in the engine.
    pub waited_in_engine: u64,
}

impl QualityCounts {
    /// Counts a decision about a request of `tokens` in all.
    pub const fn count(&mut self, judgement: &Judgement, tokens: u64) {
        self.fresh.count(judgement.routed, judgement.fresh_routes);
        self.engine.count(judgement.routed, judgement.engine_has_room);
        self.unlike_fresh += judgement.unlike_fresh as u64;
        self.routed_to_busy += judgement.picked_is_busy as u64;
        if !judgement.routed && judgement.fresh_routes {
            self.cost_fresh.add(&Cost { refused: 1, tokens });
        }
        if !judgement.routed && judgement.engine_has_room {
            self.cost_engine.add(&Cost { refused: 1, tokens });
        }
    }

    /// Decisions in all.
    pub const fn decisions(&self) -> u64 {
        self.fresh.total()
    }

    /// Share of decisions unlike fresh's; `None` without decisions.
    pub fn unlike_fresh_share(&self) -> Option<f64> {
        share(self.unlike_fresh, self.decisions())
    }

    pub(super) const fn add(&mut self, other: &Self) {
        self.fresh.add(&other.fresh);
        self.engine.add(&other.engine);
        self.unlike_fresh += other.unlike_fresh;
        self.routed_to_busy += other.routed_to_busy;
        self.cost_fresh.add(&other.cost_fresh);
        self.cost_engine.add(&other.cost_engine);
        self.waited_in_engine += other.waited_in_engine;
    }
}

/// Decisions of one interval of the series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QualityPoint {
    /// In all.
    pub decisions: u64,
    /// Refused although there was room, by fresh and by engine.
    pub refused_with_room: [u64; 2],
    /// Routed although there was none, by fresh and by engine.
    pub routed_without_room: [u64; 2],
    /// Unlike fresh's.
    pub unlike_fresh: u64,
}

impl QualityPoint {
    pub(super) const fn count(&mut self, judgement: &Judgement) {
        self.decisions += 1;
        self.unlike_fresh += judgement.unlike_fresh as u64;
        let cells = if judgement.routed { &mut self.routed_without_room } else { &mut self.refused_with_room };
        cells[0] += (judgement.routed != judgement.fresh_routes) as u64;
        cells[1] += (judgement.routed != judgement.engine_has_room) as u64;
    }
}

impl Merge for QualityPoint {
    fn merge(&mut self, later: &Self) {
        self.decisions += later.decisions;
        self.unlike_fresh += later.unlike_fresh;
        for i in 0..2 {
            self.refused_with_room[i] += later.refused_with_room[i];
            self.routed_without_room[i] += later.routed_without_room[i];
        }
    }
}

/// One worker as the frontends saw it, over what the statistics cover; times are summed over frontends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerQuality {
    /// Its id.
    pub worker: u32,
    /// While it was registered and a frontend held it for routable.
    pub known: Span,
    /// Of that, while the frontend excluded it and fresh did not hold it for busy.
    pub wrongly_out: Span,
    /// Of that, while fresh held it for busy and the frontend did not exclude it.
    pub wrongly_in: Span,
    /// How often a frontend began or ceased to exclude it.
    pub transitions: u64,
}

impl WorkerQuality {
    /// Share of the time in which it was wrongly out; `None` for a worker that nobody knew.
    pub fn wrongly_out_share(&self) -> Option<f64> {
        share(self.wrongly_out.as_nanos(), self.known.as_nanos())
    }

    /// Share of the time in which it was wrongly in; `None` for a worker that nobody knew.
    pub fn wrongly_in_share(&self) -> Option<f64> {
        share(self.wrongly_in.as_nanos(), self.known.as_nanos())
    }
}

/// What frontends and references think of each worker, over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Standings {
    workers: Vec<WorkerQuality>,
    /// Frontend by frontend: since when each worker stands as it does.
    now: Vec<(SimTime, Standing)>,
}

impl Standings {
    /// Of so many frontends and workers, nothing known of any.
    pub fn new(frontends: u32, workers: u32) -> Self {
        let worker = |n| WorkerQuality { worker: Worker::FIRST_ID + n, ..WorkerQuality::default() };
        Self {
            workers: (0..workers).map(worker).collect(),
            now: vec![(SimTime::ZERO, Standing::default()); frontends as usize * workers as usize],
        }
    }

    /// A frontend or its reference thinks otherwise of a worker from `now` on.
    pub fn set(&mut self, now: SimTime, frontend: u32, worker: u32, standing: Standing) {
        let (index, count) = (Worker::index(worker), self.workers.len());
        let of = &mut self.workers[index];
        let (since, old) = &mut self.now[frontend as usize * count + index];
        of.lasted(now.since(*since), *old);
        of.transitions += u64::from(old.known && standing.known && old.excluded != standing.excluded);
        (*since, *old) = (now, standing);
    }

    /// Counts what lasted until `now`; afterwards everything begins anew there.
    pub fn cut(&mut self, now: SimTime) -> Vec<WorkerQuality> {
        let count = self.workers.len().max(1);
        for (at, (since, standing)) in self.now.iter_mut().enumerate() {
            self.workers[at % count].lasted(now.since(*since), *standing);
            *since = now;
        }
        let fresh = self.workers.iter().map(|w| WorkerQuality { worker: w.worker, ..WorkerQuality::default() }).collect();
        std::mem::replace(&mut self.workers, fresh)
    }
}

impl WorkerQuality {
    fn lasted(&mut self, span: Span, standing: Standing) {
        if !standing.known {
            return;
        }
        self.known += span;
        match (standing.excluded, standing.busy) {
            (true, false) => self.wrongly_out += span,
            (false, true) => self.wrongly_in += span,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> SimTime {
        SimTime::from_nanos(secs * 1_000_000_000)
    }

    #[test]
    fn times_wrongly_in_and_out_are_summed_over_frontends_and_begin_anew_at_a_cut() {
        let mut standings = Standings::new(2, 2);
        let known = Standing { known: true, ..Standing::default() };
        for frontend in 0..2 {
            standings.set(at(0), frontend, 2, known);
        }
        standings.set(at(1), 0, 2, Standing { excluded: true, ..known });
        standings.set(at(3), 0, 2, Standing { excluded: true, busy: true, ..known });
        standings.set(at(4), 1, 2, Standing { busy: true, ..known });
        let workers = standings.cut(at(6));
        assert_eq!(workers[0], WorkerQuality { worker: 1, ..WorkerQuality::default() });
        let secs = Span::from_secs;
        let expected = WorkerQuality { worker: 2, known: secs(12), wrongly_out: secs(2), wrongly_in: secs(2), transitions: 1 };
        assert_eq!(workers[1], expected);
        assert_eq!(standings.cut(at(7))[1].wrongly_in, secs(1));
    }

    #[test]
    fn a_decision_counts_in_one_cell_of_each_table() {
        let mut counts = QualityCounts::default();
        counts.count(&Judgement { routed: true, fresh_routes: true, engine_has_room: false, ..Judgement::default() }, 10);
        counts.count(&Judgement { fresh_routes: true, engine_has_room: true, unlike_fresh: true, ..Judgement::default() }, 7);
        assert_eq!((counts.fresh.routed_with_room, counts.fresh.refused_with_room, counts.fresh.total()), (1, 1, 2));
        assert_eq!((counts.engine.routed_without_room, counts.engine.refused_with_room, counts.engine.wrong()), (1, 1, 2));
        assert_eq!((counts.cost_fresh, counts.cost_engine), (Cost { refused: 1, tokens: 7 }, Cost { refused: 1, tokens: 7 }));
        assert_eq!(counts.unlike_fresh_share(), Some(0.5));
    }
}
