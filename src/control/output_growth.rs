//! Output blocks of requests that generate in step, counted without looking at the single requests.

/// The requests of one rank that generate one token with each of its steps.
///
/// A request of `n` tokens in all needs a new block with the token that makes `n = 1 (mod block_size)`. All move on
/// together, so `n - steps (mod block_size)`, its phase, stays as it is, and the steps at which requests of one phase
/// take a block are known: a count per phase is all there is to keep.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutputGrowth {
    steps: u64,
    members: u64,
    /// Members by phase; empty until the first joins.
    by_phase: Vec<u32>,
}

impl OutputGrowth {
    /// Steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    fn phase(&self, tokens: u64, block_size: u64) -> usize {
        ((tokens % block_size + block_size - self.steps % block_size) % block_size) as usize
    }

    /// A request of `tokens` tokens in all joins.
    pub fn join(&mut self, tokens: u64, block_size: u64) {
        if self.by_phase.is_empty() {
            self.by_phase = vec![0; block_size as usize];
        }
        let phase = self.phase(tokens, block_size);
        self.by_phase[phase] += 1;
        self.members += 1;
    }

    /// A member, of `tokens` tokens in all by now, leaves.
    pub fn leave(&mut self, tokens: u64, block_size: u64) {
        let phase = self.phase(tokens, block_size);
        self.by_phase[phase] -= 1;
        self.members -= 1;
    }

    /// Every member generates `tokens` more; returns the blocks that takes.
    pub fn advance(&mut self, tokens: u64, block_size: u64) -> u64 {
        let mut blocks = tokens / block_size * self.members;
        if self.members > 0 {
            for ahead in 1..=tokens % block_size {
                let step = (self.steps + ahead) % block_size;
                // tokens = 1 (mod block_size) at this step.
                blocks += u64::from(self.by_phase[((1 + block_size - step) % block_size) as usize]);
            }
        }
        self.steps += tokens;
        blocks
    }
}
