//! The event queue: events by (time, kind, order), in integer time, first in first out on ties.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::units::SimTime;

/// An event taken from the queue.
#[derive(Clone, Copy, Debug)]
pub struct Scheduled<E> {
    /// Time, kind and order in one number: comparing it is most of what a queue does.
    key: u128,
    /// What happens.
    pub event: E,
}

impl<E> Scheduled<E> {
    /// When it happens.
    pub const fn at(&self) -> SimTime {
        SimTime::from_nanos((self.key >> 64) as u64)
    }

    /// Its place in the order of kinds within one instant: lower first.
    pub const fn kind(&self) -> u8 {
        (self.key as u64 >> ORDER_BITS) as u8
    }
}

/// Events in the order (time, kind, sequence).
///
/// Within one instant the kinds follow each other; within a kind events come in the order of their [`EventQueue::push`],
/// or of the explicit order given to [`EventQueue::push_ordered`].
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Scheduled<E>>,
    sequence: u64,
}

/// Bits left for the order within a kind.
const ORDER_BITS: u32 = 56;

impl<E> EventQueue<E> {
    /// An empty queue.
    pub fn new() -> Self {
        Self { heap: BinaryHeap::with_capacity(256), sequence: 0 }
    }

    /// Schedules an event behind all of its instant and kind so far.
    pub fn push(&mut self, at: SimTime, kind: u8, event: E) {
        let order = self.sequence;
        self.sequence += 1;
        self.push_ordered(at, kind, order, event);
    }

    /// Schedules an event at a place of its own among those of its instant and kind: lower `order` first.
    /// Kinds that use it must not use [`EventQueue::push`] as well.
    pub fn push_ordered(&mut self, at: SimTime, kind: u8, order: u64, event: E) {
        debug_assert!(order < 1 << ORDER_BITS, "the order within a kind has {ORDER_BITS} bits");
        let within = u64::from(kind) << ORDER_BITS | order;
        self.heap.push(Scheduled { key: u128::from(at.as_nanos()) << 64 | u128::from(within), event });
    }

    /// Time and kind of the next event.
    pub fn peek(&self) -> Option<(SimTime, u8)> {
        self.heap.peek().map(|next| (next.at(), next.kind()))
    }

    /// Takes the next event.
    pub fn pop(&mut self) -> Option<Scheduled<E>> {
        self.heap.pop()
    }

    /// Events waiting.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether nothing is scheduled.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Ord for Scheduled<E> {
    /// Reversed, since the standard heap gives the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl<E> PartialOrd for Scheduled<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Scheduled<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<E> Eq for Scheduled<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_come_by_kind_then_first_in_first_out() {
        let at = SimTime::from_nanos;
        let mut queue = EventQueue::new();
        for (time, kind, name) in [(5, 3, "f"), (5, 1, "d"), (2, 9, "b"), (5, 1, "e"), (2, 0, "a"), (3, 0, "c"), (5, 3, "g")] {
            queue.push(at(time), kind, name);
        }
        let order: String = std::iter::from_fn(|| queue.pop()).map(|next| next.event).collect();
        assert_eq!(order, "abcdefg");
    }

    #[test]
    fn an_explicit_order_beats_the_order_of_pushing() {
        let mut queue = EventQueue::new();
        for worker in [3u64, 1, 2] {
            queue.push_ordered(SimTime::ZERO, 1, worker, worker);
        }
        let order: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|next| next.event).collect();
        assert_eq!(order, [1, 2, 3]);
    }
}
