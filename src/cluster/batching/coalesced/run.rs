//! A run of steps along a line.

use crate::cluster::batching::timing::StepLine;
use crate::units::{Attos, ExactTime, SimTime};

/// Steps in progress: `steps` of them, starting at the group's clock, with durations along `line`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub steps: u64,
    pub line: StepLine,
    /// Exact end of the last one.
    pub end: ExactTime,
}

impl Run {
    /// Time from the start of the run to the end of its `n`-th step.
    pub fn elapsed(&self, n: u64) -> Attos {
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
    pub fn ended(&self, clock: ExactTime, now: SimTime, inclusive: bool) -> u64 {
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
