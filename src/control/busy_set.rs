//! The monitor's set of busy workers, with the sums that explain it.

use super::checks::{Check, Checks};
use super::ids::WorkerId;

/// The verdict on one worker.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Verdict {
    /// Busy at the last evaluation.
    pub busy: bool,
    /// Checks of which each one alone, unset, would leave the worker not busy.
    pub freed_by: Checks,
    published: bool,
}

impl Verdict {
    /// Counts the busy flag as published; whether that changes what was.
    pub fn publish(&mut self) -> bool {
        std::mem::replace(&mut self.published, self.busy) != self.busy
    }
}

/// Sums over all verdicts, and which of them are not published yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct BusySet {
    busy: usize,
    freed_by: [u32; Check::OF_MONITOR.len()],
    /// Workers whose busy flag may differ from the published one.
    touched: Vec<WorkerId>,
    /// How many do differ.
    unpublished: usize,
}

impl BusySet {
    /// Replaces the verdict on a worker.
    #[inline]
    pub fn settle(&mut self, worker: WorkerId, verdict: &mut Verdict, (busy, freed_by): (bool, Checks)) {
        if verdict.freed_by != freed_by {
            self.count(verdict.freed_by, false);
            self.count(freed_by, true);
            verdict.freed_by = freed_by;
        }
        if verdict.busy != busy {
            verdict.busy = busy;
            self.busy = if busy { self.busy + 1 } else { self.busy - 1 };
            self.unpublished = if busy == verdict.published { self.unpublished - 1 } else { self.unpublished + 1 };
            self.touched.push(worker);
        }
    }

    /// Takes a worker that is gone out of the sums; between events, when every verdict is published.
    pub fn remove(&mut self, verdict: &Verdict) {
        if verdict.busy {
            self.busy -= 1;
            self.count(verdict.freed_by, false);
        }
    }

    /// Whether the set differs from the published one.
    #[inline]
    pub fn changed(&mut self) -> bool {
        if self.unpublished == 0 {
            // Whatever changed within this event changed back.
            self.touched.clear();
        }
        self.unpublished > 0
    }

    /// Hands over each worker whose verdict may have changed; all are published then.
    pub fn take_changes(&mut self, mut publish: impl FnMut(WorkerId)) {
        self.touched.drain(..).for_each(&mut publish);
        self.unpublished = 0;
    }

    /// How many workers are busy.
    pub fn len(&self) -> usize {
        self.busy
    }

    /// How many busy workers would not be busy, were `check` alone unset.
    pub fn freed_count(&self, check: Check) -> u32 {
        self.freed_by.get(check as usize).copied().unwrap_or(0)
    }

    /// Adds or takes one from the count of each check in `checks`.
    #[inline]
    fn count(&mut self, checks: Checks, up: bool) {
        if checks.is_empty() {
            return;
        }
        for check in Check::OF_MONITOR {
            let one = u32::from(checks.contains(check));
            let count = &mut self.freed_by[check as usize];
            *count = if up { *count + one } else { *count - one };
        }
    }
}
