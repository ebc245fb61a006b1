//! The fast engine: runs of steps in closed form, work per step independent of the batch.
//!
//! Between two changes of a batch every step adds the same known amounts: each decoding sequence one token, so the context
//! grows by their number and the step time along a line. A rank therefore counts *ticks* (its decode steps) and keeps of a
//! decoding sequence only the tick at which its context would have been empty: everything else is a difference.
//!
//! - Blocks: a sequence takes a new one when its computed tokens are a multiple of the block size, which depends only on the tick
//!   modulo the block size; sequences are counted in buckets by that residue ([`Buckets`]).
//! - Completions: a heap by (tick, admission).
//! - Preemption pops the tail of the admission list until the needs of the others fit, which is what the plain algorithm
//!   arrives at one sequence at a time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use super::buckets::Buckets;
use super::group::{NewSequence, Next, RankSnapshot, RankSpec, StepEvent, StepGroup, Watch, prompt_computed};
use super::timing::{StepLine, StepWork};
use crate::cluster::config::StepTiming;
use crate::units::{Attos, ExactTime, SimTime};

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

/// Steps in progress: `steps` of them, starting at the group's clock, with durations along `line`.
#[derive(Clone, Copy, Debug)]
struct Run {
    steps: u64,
    line: StepLine,
    /// Exact end of the last one.
    end: ExactTime,
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Rank {
    /// Its place in the group.
    index: u32,
    waiting: VecDeque<u32>,
    /// Newest of the running sequences, in a list by admission.
    newest: u32,
    running: u32,
    /// Computed tokens of the decoding sequences.
    context: u64,
    /// Decode steps so far.
    tick: u64,
    /// Decoding sequences, which take part in every step, by when they take their next block.
    decoding: Buckets,
    /// (finish tick, handle); entries of preempted or departed sequences are stale.
    finishing: BinaryHeap<Reverse<(u64, u32)>>,
    /// The first tick of these, or `u64::MAX`.
    next_finish: u64,
    /// The one sequence whose prompt is partly computed.
    partial: Option<u32>,
    /// Sequences with a chunk of prompt in the step in progress, in admission order, and its tokens.
    chunks: Vec<(u32, u64)>,
    free: u64,
    reported: u64,
    /// Durations of its steps in the run in progress, where others must end with it.
    line: StepLine,
    admissions: u64,
    preemptions: u64,
}

/// A sequence, in one cache line: a busy fleet has more of them than its caches hold.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Sequence {
    /// Number of its last admission; names its place among the running.
    admission: u64,
    /// While waiting or prefilling: tokens computed.
    computed: u64,
    /// While decoding: the tick at which its computed tokens would have been 0 (modulo 2^64).
    origin: u64,
    key: u32,
    rank: u32,
    input: u32,
    output: u32,
    older: u32,
    newer: u32,
    /// While waiting or prefilling: tokens put out.
    generated: u32,
    /// While decoding: the tick at which its generated tokens would have been 0, modulo 2^32 as these are.
    first: u32,
    /// While decoding: its bucket.
    bucket: u32,
    place: Place,
    leaving: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Unused,
    Waiting,
    Prefilling,
    Decoding,
}

impl Sequence {
    /// Whether a decoding sequence completes at `tick`, which is not past. The lower half of the ticks is enough to tell: nothing
    /// puts out 2^32 tokens.
    fn finishes_at(&self, tick: u64) -> bool {
        self.first.wrapping_add(self.output) == tick as u32
    }

    /// Of a decoding sequence, the tokens put out by `tick`.
    fn generated_by(&self, tick: u64) -> u32 {
        (tick as u32).wrapping_sub(self.first)
    }

    fn remaining(&self) -> u64 {
        u64::from(self.input) + u64::from(self.generated) - self.computed
    }

    /// What to tell of it when it has gone before its end.
    fn left(&self) -> StepEvent {
        let prompt = prompt_computed(self.input.into(), self.computed, self.generated.into());
        StepEvent::Left { key: self.key, prompt, generated: self.generated }
    }
}

impl Run {
    /// Time from the start of the run to the end of its `n`-th step.
    fn elapsed(&self, n: u64) -> Attos {
        let (first, growth) = (self.line.first.0, self.line.growth.0);
        if let (Ok(first), Ok(growth), 0..=0xffff_ffff) = (u64::try_from(first), u64::try_from(growth), n) {
            // Almost always; it takes two multiplications instead of six.
            let pairs = n * n.saturating_sub(1) / 2;
            return Attos(u128::from(first) * u128::from(n) + u128::from(growth) * u128::from(pairs));
        }
        let n = u128::from(n);
        Attos(first * n + growth * (n * n.saturating_sub(1) / 2))
    }

    /// How many steps of the run that starts at `clock` have ended by `now` (or before it, unless `inclusive`).
    fn ended(&self, clock: ExactTime, now: SimTime, inclusive: bool) -> u64 {
        let done = |n: u64| {
            let end = (clock + self.elapsed(n)).floor();
            end < now || (inclusive && end == now)
        };
        if self.steps == 1 {
            return u64::from(done(1));
        }
        // A float guess (the quadratic's root), put right by exact comparison: the guess decides nothing.
        let reach = now.as_nanos().saturating_sub(clock.floor().as_nanos()) as f64 * 1e9;
        let float = |amount: Attos| u64::try_from(amount.0).map_or(amount.0 as f64, |small| small as f64);
        let (first, growth) = (float(self.line.first), float(self.line.growth));
        let b = first - growth / 2.0;
        let guess = 2.0 * reach / (b + (b * b + 2.0 * growth * reach).sqrt());
        let beyond = guess.is_nan() || guess >= self.steps as f64;
        if beyond && done(self.steps) {
            return self.steps;
        }
        let mut n = (guess as u64).min(self.steps - 1);
        while n > 0 && !done(n) {
            n -= 1;
        }
        while n < self.steps && done(n + 1) {
            n += 1;
        }
        n
    }
}

impl Rank {
    fn new(spec: &RankSpec, index: u32) -> Self {
        Self {
            index,
            waiting: VecDeque::new(),
            newest: NONE,
            running: 0,
            context: 0,
            tick: 0,
            decoding: Buckets::new(spec.block_size),
            finishing: BinaryHeap::new(),
            next_finish: u64::MAX,
            partial: None,
            chunks: Vec::new(),
            free: spec.total_blocks,
            reported: 0,
            line: StepLine::default(),
            // Admissions are told apart across the ranks of a group, since these share the handles.
            admissions: u64::from(index) << 40,
            preemptions: 0,
        }
    }

    fn push_running(&mut self, sequences: &mut [Sequence], handle: u32) {
        let sequence = &mut sequences[handle as usize];
        sequence.admission = self.admissions;
        sequence.place = Place::Prefilling;
        sequence.older = self.newest;
        sequence.newer = NONE;
        self.admissions += 1;
        self.running += 1;
        if self.newest != NONE {
            sequences[self.newest as usize].newer = handle;
        }
        self.newest = handle;
    }

    fn unlink(&mut self, sequences: &mut [Sequence], handle: u32) {
        let Sequence { older, newer, .. } = sequences[handle as usize];
        if older != NONE {
            sequences[older as usize].newer = newer;
        }
        if newer != NONE {
            sequences[newer as usize].older = older;
        } else {
            self.newest = older;
        }
        self.running -= 1;
    }

    /// Takes a sequence out of the running ones with its blocks; its computed and generated tokens are written down.
    fn withdraw(&mut self, sequences: &mut [Sequence], handle: u32) {
        self.unlink(sequences, handle);
        let sequence = &mut sequences[handle as usize];
        if sequence.place == Place::Decoding {
            sequence.computed = self.tick.wrapping_sub(sequence.origin);
            sequence.generated = sequence.generated_by(self.tick);
            self.context -= sequence.computed;
            self.decoding.leave(sequence.bucket);
        } else if self.partial == Some(handle) {
            self.partial = None;
        }
        self.free += self.decoding.size().blocks(sequence.computed);
    }

    /// Sends the newest running sequence back to the front of the waiting line, to be computed again.
    fn preempt_newest(&mut self, sequences: &mut [Sequence]) {
        let victim = self.newest;
        self.withdraw(sequences, victim);
        let sequence = &mut sequences[victim as usize];
        sequence.place = Place::Waiting;
        sequence.computed = 0;
        self.preemptions += 1;
        self.waiting.push_front(victim);
    }

    /// Chooses what the next step computes and takes its blocks.
    fn plan(&mut self, spec: &RankSpec, sequences: &mut [Sequence]) -> StepWork {
        let size = self.decoding.size();
        self.chunks.clear();
        while self.decoding.taken_now() > self.free {
            self.preempt_newest(sequences);
        }
        self.free -= self.decoding.taken_now();
        let decoding = self.decoding.members();
        let mut left = spec.max_num_batched_tokens - decoding;
        let mut work = StepWork { prefill: 0, decode: decoding, context: self.context };
        if let Some(handle) = self.partial.filter(|_| left > 0) {
            let sequence = &sequences[handle as usize];
            let chunk = sequence.remaining().min(left);
            let need = size.blocks(sequence.computed + chunk) - size.blocks(sequence.computed);
            if need > self.free {
                self.preempt_newest(sequences);
            } else {
                self.take_chunk(sequences, handle, chunk, need, &mut work);
                left -= chunk;
            }
        }
        while left > 0 && self.running < spec.max_num_seqs {
            let Some(&head) = self.waiting.front() else { break };
            let remaining = sequences[head as usize].remaining();
            if size.blocks(remaining) > self.free {
                break; // the head blocks the rest
            }
            self.waiting.pop_front();
            self.push_running(sequences, head);
            let chunk = remaining.min(left);
            self.take_chunk(sequences, head, chunk, size.blocks(chunk), &mut work);
            left -= chunk;
        }
        work
    }

    fn take_chunk(&mut self, sequences: &[Sequence], handle: u32, chunk: u64, need: u64, work: &mut StepWork) {
        self.free -= need;
        self.chunks.push((handle, chunk));
        let sequence = &sequences[handle as usize];
        if sequence.generated > 0 && sequence.remaining() == 1 {
            // The last token of a recomputed sequence costs what a decoding one does.
            work.decode += 1;
            work.context += sequence.computed;
        } else {
            work.prefill += chunk;
        }
    }

    /// Steps that the batch just planned can make, at most, before anything but its counts changes.
    fn reach(&self, spec: &RankSpec, watch: Watch) -> u64 {
        if watch.tokens || !self.chunks.is_empty() || self.partial.is_some() {
            return 1;
        }
        if watch.blocks && spec.total_blocks - self.free != self.reported {
            return 1; // this very step takes blocks, or a preemption gave some back
        }
        // A stale entry ends a run too early, which changes nothing but the number of runs.
        let steps = self.next_finish - self.tick;
        if watch.blocks {
            let later = (1..steps).zip(self.decoding.taken_later());
            let change = later.into_iter().find(|&(_, taken)| taken > 0);
            // A step that finds no block left is planned by itself.
            return change.map_or(steps, |(i, taken)| if taken <= self.free { i + 1 } else { i });
        }
        // The first step has its blocks.
        1 + self.decoding.steps_within(self.free, steps - 1)
    }

    /// Lets `n` steps pass, 1 or more.
    fn advance(&mut self, n: u64) {
        if self.decoding.members() > 0 {
            self.free -= self.decoding.taken_by_next(n - 1);
            self.context += self.decoding.members() * n;
        }
        self.decoding.pass(n);
        self.tick += n;
    }

    /// A sequence whose prompt is computed starts to decode.
    fn join(&mut self, sequences: &mut [Sequence], handle: u32) {
        let tick = self.tick;
        let sequence = &mut sequences[handle as usize];
        sequence.place = Place::Decoding;
        sequence.origin = tick.wrapping_sub(sequence.computed);
        sequence.first = (tick as u32).wrapping_sub(sequence.generated);
        let finish = tick + u64::from(sequence.output - sequence.generated);
        sequence.bucket = self.decoding.join(sequence.computed);
        self.context += sequence.computed;
        self.finishing.push(Reverse((finish, handle)));
        self.next_finish = self.next_finish.min(finish);
    }
}

impl Rank {
    /// Applies what the steps that just passed completed: appends (admission, event) to `events`.
    fn finish(&mut self, sequences: &mut [Sequence], unused: &mut Vec<u32>, events: &mut Vec<(u64, StepEvent)>) {
        if self.next_finish <= self.tick {
            self.finish_decoding(sequences, unused, events);
        }
        for i in 0..self.chunks.len() {
            let (handle, chunk) = self.chunks[i];
            self.finish_chunk(sequences, handle, chunk, events);
            if sequences[handle as usize].place == Place::Unused {
                unused.push(handle);
            }
        }
        self.chunks.clear();
    }

    /// Completes the decoding sequences whose tick has come, in admission order.
    fn finish_decoding(&mut self, sequences: &mut [Sequence], unused: &mut Vec<u32>, events: &mut Vec<(u64, StepEvent)>) {
        let before = events.len();
        while let Some(&Reverse((tick, handle))) = self.finishing.peek() {
            self.next_finish = tick;
            if tick > self.tick {
                break;
            }
            self.finishing.pop();
            let sequence = sequences[handle as usize];
            // The handle may have gone to another sequence since, even to one of another rank.
            let is_current = sequence.place == Place::Decoding && sequence.rank == self.index && sequence.finishes_at(tick);
            if !is_current || sequence.leaving {
                continue;
            }
            self.withdraw(sequences, handle);
            sequences[handle as usize].place = Place::Unused;
            unused.push(handle);
            events.push((sequence.admission, StepEvent::Completed { key: sequence.key }));
        }
        if self.finishing.is_empty() {
            self.next_finish = u64::MAX;
        }
        if events.len() > before + 1 {
            events[before..].sort_unstable_by_key(|&(admission, _)| admission);
        }
    }

    fn finish_chunk(&mut self, sequences: &mut [Sequence], handle: u32, chunk: u64, events: &mut Vec<(u64, StepEvent)>) {
        let sequence = &mut sequences[handle as usize];
        sequence.computed += chunk;
        let Sequence { key, admission, .. } = *sequence;
        if sequence.remaining() > 0 {
            self.partial = Some(handle);
            return;
        }
        if self.partial == Some(handle) {
            self.partial = None;
        }
        sequence.generated += 1;
        if sequence.leaving {
            return; // it goes with this step, its token written down
        }
        if sequence.generated == 1 {
            events.push((admission, StepEvent::FirstToken { key }));
        }
        if sequence.generated == sequence.output {
            self.withdraw(sequences, handle);
            sequences[handle as usize].place = Place::Unused;
            events.push((admission, StepEvent::Completed { key }));
        } else {
            self.join(sequences, handle);
        }
    }

    /// Says which sequences put out a token in the step that just passed, in admission order; before [`Self::finish`].
    fn tell_tokens(&self, sequences: &[Sequence], out: &mut Vec<StepEvent>) {
        let first = out.len();
        // Newest first, as the list goes.
        let mut chunks = self.chunks.iter().rev().peekable();
        let mut at = self.newest;
        while at != NONE {
            let sequence = &sequences[at as usize];
            let chunk = chunks.next_if(|(handle, _)| *handle == at);
            let generated = match sequence.place {
                Place::Decoding => Some(sequence.generated_by(self.tick)),
                _ => chunk.filter(|(_, chunk)| *chunk == sequence.remaining()).map(|_| sequence.generated + 1),
            };
            if let Some(generated) = generated.filter(|_| !sequence.leaving) {
                out.push(StepEvent::Token { key: sequence.key, generated });
            }
            at = sequence.older;
        }
        out[first..].reverse();
    }

    /// Removes one sequence, wherever it is; what it had computed and generated is written down.
    fn remove(&mut self, sequences: &mut [Sequence], handle: u32) {
        if sequences[handle as usize].place == Place::Waiting {
            self.waiting.retain(|&waiting| waiting != handle);
        } else {
            self.withdraw(sequences, handle);
        }
        sequences[handle as usize].place = Place::Unused;
    }

    fn snapshot(&self, spec: &RankSpec, later_steps: u64) -> RankSnapshot {
        RankSnapshot {
            used_blocks: spec.total_blocks - self.free + self.decoding.taken_by_next(later_steps),
            running: self.running,
            waiting: self.waiting.len() as u32,
            preemptions: self.preemptions,
        }
    }
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
            let preemptions = self.ranks[i].preemptions;
            self.ranks[i] = Rank { preemptions, ..Rank::new(&self.spec, i as u32) };
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
