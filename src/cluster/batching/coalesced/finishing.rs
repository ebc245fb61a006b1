//! Which sequences complete when.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The tick at which a sequence completes, its handle, and its key.
pub(super) type Finish = (u64, u32, u32);

/// Completions ahead, the least (tick, handle) first.
///
/// Answers of one length complete in the order in which they began: each completion that is not before the last one waits in line, which
/// touches one place of memory where a heap touches many; the others wait in a heap.
#[derive(Clone, Debug, Default)]
pub(super) struct Finishing {
    line: VecDeque<Finish>,
    heap: BinaryHeap<Reverse<Finish>>,
}

impl Finishing {
    /// One more.
    #[inline]
    pub fn push(&mut self, finish: Finish) {
        match self.line.back() {
            Some(last) if *last > finish => self.heap.push(Reverse(finish)),
            _ => self.line.push_back(finish),
        }
    }

    /// The first.
    #[inline]
    pub fn peek(&self) -> Option<Finish> {
        match (self.line.front(), self.heap.peek()) {
            (Some(&line), Some(&Reverse(heap))) => Some(line.min(heap)),
            (line, heap) => line.copied().or(heap.map(|&Reverse(heap)| heap)),
        }
    }

    /// Takes the first.
    #[inline]
    pub fn pop(&mut self) -> Option<Finish> {
        let from_line = match (self.line.front(), self.heap.peek()) {
            (Some(line), Some(Reverse(heap))) => line <= heap,
            (line, _) => line.is_some(),
        };
        if from_line { self.line.pop_front() } else { self.heap.pop().map(|Reverse(heap)| heap) }
    }

    /// Whether none is ahead.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.line.is_empty() && self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_come_in_order(calls in prop::collection::vec(prop::option::of((0u64..9, 0u32..4, 0u32..2)), 0..60)) {
            let (mut finishing, mut sorted) = (Finishing::default(), Vec::new());
            for call in calls {
                match call {
                    Some(finish) => {
                        finishing.push(finish);
                        sorted.push(finish);
                        sorted.sort_unstable();
                    }
                    None => {
                        let first = (!sorted.is_empty()).then(|| sorted.remove(0));
                        prop_assert_eq!(finishing.pop(), first);
                    }
                }
                prop_assert_eq!(finishing.peek(), sorted.first().copied());
                prop_assert_eq!(finishing.is_empty(), sorted.is_empty());
            }
        }
    }
}
