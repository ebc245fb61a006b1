//! The plain algorithm: one event per step, work per sequence. The oracle of the fast engine.

use std::collections::VecDeque;
use std::sync::Arc;

use super::group::{NewSequence, Next, RankSnapshot, RankSpec, StepEvent, StepGroup, Watch, prompt_computed};
use super::timing::StepWork;
use crate::cluster::config::StepTiming;
use crate::units::{Attos, ExactTime, SimTime};

/// A group that is simulated step by step.
#[derive(Clone, Debug)]
pub struct Stepwise {
    spec: Arc<RankSpec>,
    watch: Watch,
    ranks: Vec<Rank>,
    /// Exact end of the last step, or of the one in progress.
    clock: ExactTime,
    stepping: bool,
}

#[derive(Clone, Debug)]
struct Rank {
    waiting: VecDeque<Sequence>,
    /// In admission order.
    running: Vec<Sequence>,
    free: u64,
    total: u64,
    /// Used blocks at the end of the last step.
    reported: u64,
    preemptions: u64,
    /// What the last step to start computes.
    work: StepWork,
}

#[derive(Clone, Debug)]
struct Sequence {
    key: u32,
    input: u64,
    output: u64,
    /// Tokens whose keys and values are in the cache.
    computed: u64,
    generated: u64,
    /// Blocks it holds: enough for what is computed and for the step in progress.
    blocks: u64,
    /// Tokens it computes in the step in progress.
    chunk: u64,
    leaving: bool,
}

impl Sequence {
    /// Tokens to compute before the next one can be put out.
    fn remaining(&self) -> u64 {
        self.input + self.generated - self.computed
    }

    /// What to tell of it when it goes before its end.
    fn left(&self) -> StepEvent {
        let prompt = prompt_computed(self.input, self.computed, self.generated);
        StepEvent::Left { key: self.key, prompt, generated: self.generated as u32 }
    }

    /// Blocks to take before `tokens` more can be computed.
    fn need(&self, tokens: u64, block_size: u64) -> u64 {
        (self.computed + tokens).div_ceil(block_size) - self.blocks
    }
}

impl Rank {
    fn new(spec: &RankSpec) -> Self {
        Self {
            waiting: VecDeque::new(),
            running: Vec::new(),
            free: spec.total_blocks,
            total: spec.total_blocks,
            reported: 0,
            preemptions: 0,
            work: StepWork::default(),
        }
    }

    /// Chooses what the next step computes.
    fn plan(&mut self, spec: &RankSpec) -> StepWork {
        let bs = u64::from(spec.block_size);
        let mut left = spec.max_num_batched_tokens;
        let mut work = StepWork::default();
        for sequence in &mut self.running {
            sequence.chunk = 0;
        }
        let mut i = 0;
        while i < self.running.len() && left > 0 {
            let chunk = self.running[i].remaining().min(left);
            if !self.make_room(i, chunk, bs) {
                break; // the needer was the last admitted: it preempted itself
            }
            let sequence = &mut self.running[i];
            take(sequence, chunk, bs, &mut self.free);
            if sequence.generated > 0 && sequence.remaining() == 1 {
                work.decode += 1;
                work.context += sequence.computed;
            } else {
                work.prefill += chunk;
            }
            left -= chunk;
            i += 1;
        }
        while left > 0 && self.running.len() < spec.max_num_seqs as usize {
            let Some(head) = self.waiting.front() else { break };
            if head.need(head.remaining(), bs) > self.free {
                break; // the head blocks the rest
            }
            let mut sequence = self.waiting.pop_front().expect("the head is there");
            let chunk = sequence.remaining().min(left);
            take(&mut sequence, chunk, bs, &mut self.free);
            if sequence.generated > 0 && sequence.remaining() == 1 {
                work.decode += 1;
                work.context += sequence.computed;
            } else {
                work.prefill += chunk;
            }
            left -= chunk;
            self.running.push(sequence);
        }
        work
    }

    /// Preempts the latest admitted until sequence `i` can take the blocks for `chunk` tokens; `false` if it went itself.
    fn make_room(&mut self, i: usize, chunk: u64, block_size: u64) -> bool {
        while self.running[i].need(chunk, block_size) > self.free {
            let mut victim = self.running.pop().expect("the needer is running");
            self.free += victim.blocks;
            victim.blocks = 0;
            victim.computed = 0;
            victim.chunk = 0;
            self.preemptions += 1;
            self.waiting.push_front(victim);
            if self.running.len() == i {
                return false;
            }
        }
        true
    }

    /// Says which sequences put out a token in the step in progress.
    fn tell_tokens(&self, out: &mut Vec<StepEvent>) {
        let putting_out = self.running.iter().filter(|s| s.chunk > 0 && s.chunk == s.remaining() && !s.leaving);
        out.extend(putting_out.map(|s| StepEvent::Token { key: s.key, generated: s.generated as u32 + 1 }));
    }

    /// Applies the step in progress.
    fn finish(&mut self, out: &mut Vec<StepEvent>) {
        let free = &mut self.free;
        self.running.retain_mut(|s| {
            s.computed += s.chunk;
            let token = s.chunk > 0 && s.remaining() == 0;
            s.chunk = 0;
            if s.leaving {
                *free += s.blocks;
                s.generated += u64::from(token);
                out.push(s.left());
                return false;
            }
            if !token {
                return true;
            }
            s.generated += 1;
            if s.generated == 1 {
                out.push(StepEvent::FirstToken { key: s.key });
            }
            let done = s.generated == s.output;
            if done {
                *free += s.blocks;
                out.push(StepEvent::Completed { key: s.key });
            }
            !done
        });
        self.waiting.retain(|s| {
            if s.leaving {
                out.push(s.left());
            }
            !s.leaving
        });
    }

    /// Says so if the used blocks are not what was last said.
    fn report(&mut self, rank: u32, out: &mut Vec<StepEvent>) {
        let used = self.total - self.free;
        if used != self.reported {
            self.reported = used;
            out.push(StepEvent::BlocksChanged { rank, used });
        }
    }

    /// Removes a sequence between two steps.
    fn remove(&mut self, key: u32, out: &mut Vec<StepEvent>) {
        let gone = match self.running.iter().position(|s| s.key == key) {
            Some(i) => self.running.remove(i),
            None => {
                let i = self.waiting.iter().position(|s| s.key == key).expect("the sequence is here");
                self.waiting.remove(i).expect("just found")
            }
        };
        self.free += gone.blocks;
        out.push(gone.left());
    }

    fn find(&mut self, key: u32) -> Option<&mut Sequence> {
        self.running.iter_mut().chain(&mut self.waiting).find(|s| s.key == key)
    }
}

impl Stepwise {
    /// What the last step to start computes on `rank`.
    pub fn work(&self, rank: u32) -> StepWork {
        self.ranks[rank as usize].work
    }
}

impl StepGroup for Stepwise {
    fn new(spec: &Arc<RankSpec>, ranks: u32, watch: Watch) -> Self {
        let ranks = (0..ranks).map(|_| Rank::new(spec)).collect();
        Self { spec: spec.clone(), watch, ranks, clock: ExactTime::default(), stepping: false }
    }

    fn enqueue(&mut self, _now: SimTime, rank: u32, sequence: NewSequence) -> (u32, Next) {
        self.ranks[rank as usize].waiting.push_back(Sequence {
            key: sequence.key,
            input: u64::from(sequence.input_tokens.max(1)),
            output: u64::from(sequence.output_tokens),
            computed: 0,
            generated: 0,
            blocks: 0,
            chunk: 0,
            leaving: false,
        });
        (sequence.key, if self.stepping { Next::Unchanged } else { Next::StartNow })
    }

    fn leave(&mut self, _now: SimTime, handle: u32, out: &mut Vec<StepEvent>) -> Next {
        let rank = self.ranks.iter_mut().position(|r| r.find(handle).is_some()).expect("the sequence is in the group");
        if self.stepping {
            self.ranks[rank].find(handle).expect("just found").leaving = true;
            return Next::Unchanged;
        }
        self.ranks[rank].remove(handle, out);
        if self.watch.blocks {
            self.ranks[rank].report(rank as u32, out);
        }
        Next::StartNow
    }

    fn start(&mut self, now: SimTime) -> Option<SimTime> {
        if self.stepping {
            return None;
        }
        if self.clock.floor() != now {
            self.clock = now.into(); // the group was idle: its steps start at the event that woke it
        }
        let (spec, pool) = (&self.spec, self.spec.pool_tokens());
        let mut longest = Attos::ZERO;
        for rank in &mut self.ranks {
            let work = rank.plan(spec);
            rank.work = work;
            self.stepping |= !work.is_empty();
            longest = longest.max(spec.timing.duration(work, pool));
        }
        if !self.stepping {
            return None;
        }
        self.clock = self.clock + longest;
        Some(self.clock.floor())
    }

    fn end(&mut self, _now: SimTime, out: &mut Vec<StepEvent>) {
        self.stepping = false;
        for (i, rank) in self.ranks.iter_mut().enumerate() {
            if self.watch.tokens {
                rank.tell_tokens(out);
            }
            rank.finish(out);
            if self.watch.blocks {
                rank.report(i as u32, out);
            }
        }
    }

    fn occupancy(&self, rank: u32) -> (u32, u32) {
        let rank = &self.ranks[rank as usize];
        (rank.running.len() as u32, rank.waiting.len() as u32)
    }

    fn waiting_blocks(&self, rank: u32) -> u64 {
        let bs = u64::from(self.spec.block_size);
        self.ranks[rank as usize].waiting.iter().map(|s| s.need(s.remaining(), bs)).sum()
    }

    fn snapshot(&self, _now: SimTime, rank: u32) -> RankSnapshot {
        let rank = &self.ranks[rank as usize];
        RankSnapshot {
            used_blocks: rank.total - rank.free,
            running: rank.running.len() as u32,
            waiting: rank.waiting.len() as u32,
            preemptions: rank.preemptions,
        }
    }

    fn generated(&self, _now: SimTime, _inclusive: bool, handle: u32) -> u32 {
        let mut all = self.ranks.iter().flat_map(|r| r.running.iter().chain(&r.waiting));
        all.find(|s| s.key == handle).map_or(0, |s| s.generated as u32)
    }

    fn set_timing(&mut self, _now: SimTime, timing: StepTiming) -> Next {
        Arc::make_mut(&mut self.spec).timing = timing;
        if self.stepping { Next::Unchanged } else { Next::StartNow }
    }

    fn clear(&mut self, now: SimTime, lost: &mut Vec<(u32, u32)>) {
        self.stepping = false;
        self.clock = now.into();
        for rank in &mut self.ranks {
            lost.extend(rank.running.iter().chain(&rank.waiting).map(|s| (s.key, s.generated as u32)));
            *rank = Rank { preemptions: rank.preemptions, ..Rank::new(&self.spec) };
        }
    }
}

fn take(sequence: &mut Sequence, chunk: u64, block_size: u64, free: &mut u64) {
    let need = sequence.need(chunk, block_size);
    *free -= need;
    sequence.blocks += need;
    sequence.chunk = chunk;
}
