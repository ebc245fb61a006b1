//! What both engines offer the simulator.

use std::sync::Arc;

use crate::cluster::config::StepTiming;
use crate::units::SimTime;

/// What a rank is: limits and timing.
#[derive(Clone, Debug, PartialEq)]
pub struct RankSpec {
    /// Tokens in a KV block.
    pub block_size: u32,
    /// KV blocks of the pool.
    pub total_blocks: u64,
    /// Running sequences at most.
    pub max_num_seqs: u32,
    /// Token budget of a step, at least `max_num_seqs`.
    pub max_num_batched_tokens: u64,
    /// Step time.
    pub timing: StepTiming,
}

impl RankSpec {
    /// Tokens the pool holds.
    pub fn pool_tokens(&self) -> u64 {
        self.total_blocks * u64::from(self.block_size)
    }

    /// Tokens of the longest request that can ever run here, prompt and answer: the pool's, and the last one, which is never read back
    /// and takes no block.
    pub fn longest(&self) -> u64 {
        self.total_blocks.saturating_mul(u64::from(self.block_size)).saturating_add(1)
    }

    /// Whether a request can ever run here.
    pub fn fits(&self, input_tokens: u32, output_tokens: u32) -> bool {
        u64::from(input_tokens.max(1)) + u64::from(output_tokens) <= self.longest()
    }
}

/// A sequence as it joins a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewSequence {
    /// The caller's name for it, unique among the sequences of the group.
    pub key: u32,
    /// Prompt tokens (an empty prompt computes one token).
    pub input_tokens: u32,
    /// Tokens to generate, at least 1.
    pub output_tokens: u32,
}

/// What anyone reads of a group: an engine may pass over the steps that bring nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// [`StepEvent::BlocksChanged`].
    pub blocks: bool,
    /// [`StepEvent::Token`].
    pub tokens: bool,
}

/// What the end of a step brings, in the order ranks, then admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEvent {
    /// A token is out: tokens come before all else that the step brings to its rank.
    Token {
        /// The sequence.
        key: u32,
        /// Tokens out so far.
        generated: u32,
    },
    /// The first output token is out.
    FirstToken {
        /// The sequence.
        key: u32,
    },
    /// The last output token is out; seat and blocks are free. For an answer of one token this follows its `FirstToken`.
    Completed {
        /// The sequence.
        key: u32,
    },
    /// A sequence that was told to leave is gone; seat and blocks are free.
    Left {
        /// The sequence.
        key: u32,
        /// Tokens of its prompt that had been computed; what a preemption made it compute again counts once.
        prompt: u32,
        /// Tokens it had generated.
        generated: u32,
    },
    /// The rank's used KV blocks are not what they were at the end of the step before.
    BlocksChanged {
        /// Rank within the group.
        rank: u32,
        /// Blocks in use now.
        used: u64,
    },
}

/// Tokens of a prompt of `input` that have been computed, of a sequence with `computed` tokens in the cache that has put out
/// `generated`.
pub(super) fn prompt_computed(input: u64, computed: u64, generated: u64) -> u32 {
    // A token is out only once the whole prompt was computed, even if a preemption threw it away since.
    (if generated > 0 { input } else { computed.min(input) }) as u32
}

/// A rank as seen from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankSnapshot {
    /// KV blocks in use, those of the step in progress included.
    pub used_blocks: u64,
    /// Sequences with a seat.
    pub running: u32,
    /// Sequences waiting for one.
    pub waiting: u32,
    /// Sequences preempted so far.
    pub preemptions: u64,
}

/// What a call changed about when the group wants to be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing.
    Unchanged,
    /// The step in progress now has an event: [`StepGroup::end`] is due at this time, instead of any time said before.
    EndAt(SimTime),
    /// No step is in progress, and any time said before is void: [`StepGroup::start`] is due in the start phase of this instant.
    StartNow,
}

/// Ranks that end their steps together.
///
/// The caller keeps one event per group: [`StepGroup::start`] and the calls that answer [`Next`] say when the group wants to be
/// called. Within an instant the calls come in the order of the event kinds: crashes, step ends, departures, arrivals, starts.
pub trait StepGroup {
    /// A group of `ranks` alike; `watch` says which events anyone reads.
    fn new(spec: &Arc<RankSpec>, ranks: u32, watch: Watch) -> Self;

    /// A sequence joins the waiting line of `rank`; it takes part in the next step to start. Answers a handle for the calls below.
    fn enqueue(&mut self, now: SimTime, rank: u32, sequence: NewSequence) -> (u32, Next);

    /// The sequence is to leave: it does at the end of the step in progress, or at once if none is. What happens at once is
    /// appended to `out`.
    fn leave(&mut self, now: SimTime, handle: u32, out: &mut Vec<StepEvent>) -> Next;

    /// Starts the next step at `now` if there is work and none is in progress; answers when to call [`StepGroup::end`].
    fn start(&mut self, now: SimTime) -> Option<SimTime>;

    /// Ends the step that ends at `now`; appends what it brings to `out`.
    fn end(&mut self, now: SimTime, out: &mut Vec<StepEvent>);

    /// The key of the sequence that will probably complete first: a hint only, for those who fetch ahead what they keep of it, as the
    /// group does what it keeps.
    fn next_to_complete(&self) -> Option<u32> {
        None
    }

    /// Sequences of a rank with a seat, and waiting for one.
    fn occupancy(&self, rank: u32) -> (u32, u32);

    /// KV blocks that the waiting sequences of a rank need for all they have to compute before their next token.
    fn waiting_blocks(&self, rank: u32) -> u64;

    /// The rank as it stands at `now`, after everything that ended or started by then.
    fn snapshot(&self, now: SimTime, rank: u32) -> RankSnapshot;

    /// Tokens the sequence has put out by `now`; a step that ends at `now` counts if `inclusive`.
    fn generated(&self, now: SimTime, inclusive: bool, handle: u32) -> u32;

    /// The timing changes with the next step to start.
    fn set_timing(&mut self, now: SimTime, timing: StepTiming) -> Next;

    /// Drops everything at once (a crash). The (key, generated tokens) of what is lost are appended to `lost`, rank by rank,
    /// running then waiting; steps that end at `now` do not count.
    fn clear(&mut self, now: SimTime, lost: &mut Vec<(u32, u32)>);
}
