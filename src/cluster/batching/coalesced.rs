//! The fast engine: runs of steps in closed form, work per step independent of the batch.
//!
//! Between two changes of a batch every step adds the same known amounts: each decoding sequence one token, so the context
//! grows by their number and the step time along a line. A rank therefore counts *ticks* (its decode steps) and keeps of a
//! decoding sequence only the tick at which its context would have been empty: everything else is a difference.
//!
//! - Blocks: a sequence takes a new one when its computed tokens are a multiple of the block size, which depends only on the tick
//!   modulo the block size; sequences are counted in buckets by that residue (`buckets.rs`).
//! - Completions: by tick, in a line where they come in order, else in a heap (`coalesced/finishing.rs`).
//! - Preemption pops the tail of the admission list until the needs of the others fit, which is what the plain algorithm
//!   arrives at one sequence at a time.
//!
//! `coalesced/rank.rs` has a rank and its sequences, `coalesced/run.rs` the run of steps; here is the group they make.

mod finishing;
mod rank;
mod run;

use std::sync::Arc;

use prefetch_index::prefetch_index;

use super::group::{NewSequence, Next, RankSnapshot, RankSpec, StepEvent, StepGroup, Watch};
use super::timing::StepLine;
use crate::cluster::config::StepTiming;
use crate::units::{Attos, ExactTime, SimTime};
use rank::{NONE, Place, Rank, Sequence};
use run::Run;

/// A group that jumps over runs of steps.
#[derive(Clone, Debug)]
pub struct Coalesced {
    /// Shared by all groups alike.
    spec: Arc<RankSpec>,
    watch: Watch,
    ranks: Vec<Rank>,
    sequences: Vec<Sequence>,
    unused: Vec<u32>,
    /// Exact start of the run in progress, else exact end of the last one.
    clock: ExactTime,
    run: Option<Run>,
    /// Sequences told to leave at the end of the step in progress.
    leaving: Vec<u32>,
    /// Scratch of a step end: events by admission.
    sorting: Vec<(u64, StepEvent)>,
}

impl Coalesced {
    /// Steps of the run in progress that have ended by `now`; the one that its pending end event stands for never counts.
    fn ended(&self, now: SimTime, inclusive: bool) -> u64 {
        self.run.map_or(0, |run| run.ended(self.clock, now, inclusive).min(run.steps - 1))
    }

    /// Lets the first `n` steps of the run pass and ends it.
    fn pass(&mut self, run: &Run, n: u64) {
        for rank in &mut self.ranks {
            rank.advance(n);
        }
        self.clock = if n == run.steps { run.end } else { self.clock + run.elapsed(n) };
        self.run = None;
    }

    /// Something changes with the next step to start: the run ends with the step in progress.
    fn interrupt(&mut self, now: SimTime) -> Next {
        let Some(run) = &mut self.run else { return Next::StartNow };
        let done = run.ended(self.clock, now, true);
        if done == run.steps {
            return Next::Unchanged; // its end is due in this very instant
        }
        if done > 0 && (self.clock + run.elapsed(done)).floor() == now {
            let run = *run;
            self.pass(&run, done);
            return Next::StartNow;
        }
        if run.steps == done + 1 {
            return Next::Unchanged;
        }
        run.steps = done + 1;
        run.end = self.clock + run.elapsed(run.steps);
        Next::EndAt(run.end.floor())
    }

    /// Lays out the next run: its steps and their durations; `None` without work.
    fn plan(&mut self) -> Option<Run> {
        let pool = self.spec.pool_tokens();
        let mut slowest = StepLine { first: Attos::ZERO, growth: Attos::ZERO };
        let mut steps = u64::MAX;
        let mut busy = false;
        let lockstep = self.ranks.len() > 1;
        for rank in &mut self.ranks {
            let work = rank.plan(&self.spec, &mut self.sequences);
            if work.is_empty() {
                continue;
            }
            busy = true;
            let line = if work.prefill == 0 && rank.chunks.is_empty() { self.spec.timing.decode_line(work) } else { None };
            let line = match line {
                Some(line) => {
                    steps = steps.min(rank.reach(&self.spec, self.watch));
                    line
                }
                None => {
                    steps = 1;
                    StepLine { first: self.spec.timing.duration(work, pool), growth: Attos::ZERO }
                }
            };
            if (line.first, line.growth) > (slowest.first, slowest.growth) {
                slowest = line;
            }
            if lockstep {
                rank.line = line;
            }
        }
        if !busy {
            return None;
        }
        if lockstep && steps > 1 {
            steps = self.ranks.iter().filter(|r| r.running > 0).fold(steps, |n, rank| n.min(overtaken(slowest, rank.line)));
        }
        let run = Run { steps, line: slowest, end: self.clock };
        Some(Run { end: self.clock + run.elapsed(steps), ..run })
    }
}

/// Steps for which `slowest`, the longest at the start, stays the longest beside `other`.
fn overtaken(slowest: StepLine, other: StepLine) -> u64 {
    if other.growth <= slowest.growth {
        return u64::MAX;
    }
    let steps = (slowest.first.0 - other.first.0) / (other.growth.0 - slowest.growth.0) + 1;
    u64::try_from(steps).unwrap_or(u64::MAX)
}

impl StepGroup for Coalesced {
    fn new(spec: &Arc<RankSpec>, ranks: u32, watch: Watch) -> Self {
        let ranks = (0..ranks).map(|i| Rank::new(spec, i)).collect();
        Self {
            spec: spec.clone(),
            watch,
            ranks,
            sequences: Vec::new(),
            unused: Vec::new(),
            clock: ExactTime::default(),
            run: None,
            leaving: Vec::new(),
            sorting: Vec::new(),
        }
    }

    fn enqueue(&mut self, now: SimTime, rank: u32, sequence: NewSequence) -> (u32, Next) {
        let next = self.interrupt(now);
        let fresh = Sequence {
            key: sequence.key,
            rank,
            input: sequence.input_tokens.max(1),
            output: sequence.output_tokens,
            place: Place::Waiting,
            admission: 0,
            older: NONE,
            newer: NONE,
            computed: 0,
            generated: 0,
            leaving: false,
            origin: 0,
            first: 0,
            bucket: 0,
        };
        let handle = match self.unused.pop() {
            Some(handle) => {
                self.sequences[handle as usize] = fresh;
                handle
            }
            None => {
                self.sequences.push(fresh);
                self.sequences.len() as u32 - 1
            }
        };
        self.ranks[rank as usize].waiting.push_back(handle);
        (handle, next)
    }

    fn leave(&mut self, now: SimTime, handle: u32, out: &mut Vec<StepEvent>) -> Next {
        let next = self.interrupt(now);
        if self.run.is_some() {
            self.sequences[handle as usize].leaving = true;
            self.leaving.push(handle);
            return next;
        }
        let rank = self.sequences[handle as usize].rank;
        self.ranks[rank as usize].remove(&mut self.sequences, handle);
        self.unused.push(handle);
        out.push(self.sequences[handle as usize].left());
        self.report(rank, out);
        next
    }

    fn start(&mut self, now: SimTime) -> Option<SimTime> {
        if self.run.is_some() {
            return None;
        }
        if self.clock.floor() != now {
            self.clock = now.into(); // the group was idle: its steps start at the event that woke it
        }
        self.run = self.plan();
        self.run.map(|run| run.end.floor())
    }

    fn end(&mut self, _now: SimTime, out: &mut Vec<StepEvent>) {
        let run = self.run.expect("a step is in progress");
        self.pass(&run, run.steps);
        for i in 0..self.ranks.len() {
            if self.watch.tokens {
                self.ranks[i].tell_tokens(&self.sequences, out);
            }
            self.ranks[i].finish(&mut self.sequences, &mut self.unused, &mut self.sorting);
            if !self.leaving.is_empty() {
                self.depart(i as u32);
            }
            out.extend(self.sorting.drain(..).map(|(_, event)| event));
            self.report(i as u32, out);
        }
        self.leaving.clear();
    }

    fn next_to_complete(&self) -> Option<u32> {
        let [rank] = self.ranks.as_slice() else { return None };
        let (handle, key) = rank.next_to_finish()?;
        prefetch_index(&self.sequences, handle as usize);
        Some(key)
    }

    fn occupancy(&self, rank: u32) -> (u32, u32) {
        let rank = &self.ranks[rank as usize];
        (rank.running, rank.waiting.len() as u32)
    }

    fn waiting_blocks(&self, rank: u32) -> u64 {
        let rank = &self.ranks[rank as usize];
        let tokens = |handle: &u32| {
            let sequence = &self.sequences[*handle as usize];
            u64::from(sequence.input) + u64::from(sequence.generated)
        };
        rank.waiting.iter().map(|handle| rank.decoding.size().blocks(tokens(handle))).sum()
    }

    fn snapshot(&self, now: SimTime, rank: u32) -> RankSnapshot {
        self.ranks[rank as usize].snapshot(&self.spec, self.ended(now, true))
    }

    fn generated(&self, now: SimTime, inclusive: bool, handle: u32) -> u32 {
        let sequence = &self.sequences[handle as usize];
        match sequence.place {
            Place::Decoding => {
                let tick = self.ranks[sequence.rank as usize].tick + self.ended(now, inclusive);
                sequence.generated_by(tick)
            }
            _ => sequence.generated,
        }
    }

    fn set_timing(&mut self, now: SimTime, timing: StepTiming) -> Next {
        let next = self.interrupt(now);
        Arc::make_mut(&mut self.spec).timing = timing;
        next
    }

    fn clear(&mut self, now: SimTime, lost: &mut Vec<(u32, u32)>) {
        for i in 0..self.ranks.len() {
            let first = lost.len();
            let mut at = self.ranks[i].newest;
            while at != NONE {
                lost.push((self.sequences[at as usize].key, self.generated(now, false, at)));
                at = self.sequences[at as usize].older;
            }
            lost[first..].reverse();
            lost.extend(self.ranks[i].waiting.iter().map(|&w| &self.sequences[w as usize]).map(|s| (s.key, s.generated)));
            self.ranks[i].clear(&self.spec);
        }
        self.run = None;
        self.clock = now.into();
        self.leaving.clear();
        self.sequences.clear();
        self.unused.clear();
    }
}

impl Coalesced {
    /// Takes out the sequences of rank `i` that were told to leave, in the order of all events: by admission, then the line.
    fn depart(&mut self, i: u32) {
        let rank = &mut self.ranks[i as usize];
        for &handle in &self.leaving {
            let Sequence { rank: at, place, .. } = self.sequences[handle as usize];
            if at == i && place != Place::Waiting {
                rank.remove(&mut self.sequences, handle);
                let sequence = &self.sequences[handle as usize];
                self.sorting.push((sequence.admission, sequence.left()));
                self.unused.push(handle);
            }
        }
        self.sorting.sort_by_key(|&(admission, _)| admission);
        rank.waiting.retain(|&handle| {
            let sequence = &mut self.sequences[handle as usize];
            if sequence.leaving {
                sequence.place = Place::Unused;
                self.sorting.push((u64::MAX, sequence.left()));
                self.unused.push(handle);
            }
            !sequence.leaving
        });
    }

    /// Says so if the used blocks of a rank are not what was last said.
    fn report(&mut self, rank: u32, out: &mut Vec<StepEvent>) {
        let r = &mut self.ranks[rank as usize];
        let used = self.spec.total_blocks - r.free;
        if self.watch.blocks && used != r.reported {
            r.reported = used;
            out.push(StepEvent::BlocksChanged { rank, used });
        }
    }
}
