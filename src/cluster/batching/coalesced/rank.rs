//! A rank of the fast engine, and its sequences.

use std::collections::VecDeque;

use super::finishing::Finishing;
use crate::cluster::batching::buckets::Buckets;
use crate::cluster::batching::group::{RankSnapshot, RankSpec, StepEvent, Watch, prompt_computed};
use crate::cluster::batching::timing::{StepLine, StepWork};

/// No sequence, where one is named.
pub(super) const NONE: u32 = u32::MAX;

/// A rank: who waits, who runs, and what each further tick brings.
#[derive(Clone, Debug)]
pub(super) struct Rank {
    /// Its place in the group.
    index: u32,
    /// Sequences without a seat, the next one first.
    pub waiting: VecDeque<u32>,
    /// Newest of the running sequences, in a list by admission.
    pub newest: u32,
    /// How many run.
    pub running: u32,
    /// Computed tokens of the decoding sequences.
    context: u64,
    /// Decode steps so far.
    pub tick: u64,
    /// Decoding sequences, which take part in every step, by when they take their next block.
    pub decoding: Buckets,
    /// Entries of preempted or departed sequences are stale.
    finishing: Finishing,
    /// The first tick of these, or `u64::MAX`.
    next_finish: u64,
    /// The one sequence whose prompt is partly computed.
    partial: Option<u32>,
    /// Sequences with a chunk of prompt in the step in progress, in admission order, and its tokens.
    pub chunks: Vec<(u32, u64)>,
    /// Free blocks.
    pub free: u64,
    /// Used blocks as last told.
    pub reported: u64,
    /// Durations of its steps in the run in progress, where others must end with it.
    pub line: StepLine,
    admissions: u64,
    pub preemptions: u64,
}

/// A sequence, in one cache line: a busy fleet has more of them than its caches hold.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Sequence {
    /// Number of its last admission; names its place among the running.
    pub admission: u64,
    /// While waiting or prefilling: tokens computed.
    pub computed: u64,
    /// While decoding: the tick at which its computed tokens would have been 0 (modulo 2^64).
    pub origin: u64,
    pub key: u32,
    pub rank: u32,
    pub input: u32,
    pub output: u32,
    pub older: u32,
    pub newer: u32,
    /// While waiting or prefilling: tokens put out.
    pub generated: u32,
    /// While decoding: the tick at which its generated tokens would have been 0, modulo 2^32 as these are.
    pub first: u32,
    /// While decoding: its bucket.
    pub bucket: u32,
    pub place: Place,
    pub leaving: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
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
    pub fn generated_by(&self, tick: u64) -> u32 {
        (tick as u32).wrapping_sub(self.first)
    }

    fn remaining(&self) -> u64 {
        u64::from(self.input) + u64::from(self.generated) - self.computed
    }

    /// What to tell of it when it has gone before its end.
    pub fn left(&self) -> StepEvent {
        let prompt = prompt_computed(self.input.into(), self.computed, self.generated.into());
        StepEvent::Left { key: self.key, prompt, generated: self.generated }
    }
}

impl Rank {
    pub fn new(spec: &RankSpec, index: u32) -> Self {
        Self {
            index,
            waiting: VecDeque::new(),
            newest: NONE,
            running: 0,
            context: 0,
            tick: 0,
            decoding: Buckets::new(spec.block_size),
            finishing: Finishing::default(),
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

    /// Drops all it has (a crash); the number of preemptions goes on.
    pub fn clear(&mut self, spec: &RankSpec) {
        *self = Self { preemptions: self.preemptions, ..Self::new(spec, self.index) };
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
    pub fn plan(&mut self, spec: &RankSpec, sequences: &mut [Sequence]) -> StepWork {
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
    pub fn reach(&self, spec: &RankSpec, watch: Watch) -> u64 {
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
    pub fn advance(&mut self, n: u64) {
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
        self.finishing.push((finish, handle, sequence.key));
        self.next_finish = self.next_finish.min(finish);
    }
}

impl Rank {
    /// Applies what the steps that just passed completed: appends (admission, event) to `events`.
    pub fn finish(&mut self, sequences: &mut [Sequence], unused: &mut Vec<u32>, events: &mut Vec<(u64, StepEvent)>) {
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
        while let Some((tick, handle, _)) = self.finishing.peek() {
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
    pub fn tell_tokens(&self, sequences: &[Sequence], out: &mut Vec<StepEvent>) {
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
    pub fn remove(&mut self, sequences: &mut [Sequence], handle: u32) {
        if sequences[handle as usize].place == Place::Waiting {
            self.waiting.retain(|&waiting| waiting != handle);
        } else {
            self.withdraw(sequences, handle);
        }
        sequences[handle as usize].place = Place::Unused;
    }

    /// Handle and key of the sequence that will probably complete first.
    #[inline]
    pub fn next_to_finish(&self) -> Option<(u32, u32)> {
        self.finishing.peek().map(|(_, handle, key)| (handle, key))
    }

    pub fn snapshot(&self, spec: &RankSpec, later_steps: u64) -> RankSnapshot {
        RankSnapshot {
            used_blocks: spec.total_blocks - self.free + self.decoding.taken_by_next(later_steps),
            running: self.running,
            waiting: self.waiting.len() as u32,
            preemptions: self.preemptions,
        }
    }
}
