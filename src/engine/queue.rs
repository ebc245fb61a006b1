//! The event queue: events by (time, kind, order), in integer time, first in first out on ties.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

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
        time_of(self.key)
    }

    /// Its place in the order of kinds within one instant: lower first.
    pub const fn kind(&self) -> u8 {
        kind_of(self.key)
    }
}

/// Events in the order (time, kind, sequence).
///
/// Within one instant the kinds follow each other; within a kind events come in the order of their [`EventQueue::push`].
///
/// Events of which each is due no earlier than the one before (time-outs of one length, say) can be given a *lane* of their own
/// ([`EventQueue::push_in`]): there they wait in line, which costs the same however many there are. Lanes change the cost only:
/// the order is that of one queue.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Scheduled<E>>,
    lanes: Vec<VecDeque<Scheduled<E>>>,
    /// Key of the first event of each lane, or [`NO_KEY`].
    fronts: Vec<u128>,
    /// Key of the next event, or [`NO_KEY`], and the lane it is in; [`HEAP`] for none.
    next: (u128, usize),
    sequence: u64,
}

/// Bits left for the order within a kind.
const ORDER_BITS: u32 = 56;
/// The key of no event.
const NO_KEY: u128 = u128::MAX;
/// Stands for the heap where a lane is named.
const HEAP: usize = usize::MAX;

const fn time_of(key: u128) -> SimTime {
    SimTime::from_nanos((key >> 64) as u64)
}

const fn kind_of(key: u128) -> u8 {
    (key as u64 >> ORDER_BITS) as u8
}

impl<E> EventQueue<E> {
    /// An empty queue without lanes.
    pub fn new() -> Self {
        Self::with_lanes(0)
    }

    /// An empty queue with lanes 0 to `lanes` - 1.
    pub fn with_lanes(lanes: usize) -> Self {
        Self {
            heap: BinaryHeap::with_capacity(256),
            lanes: (0..lanes).map(|_| VecDeque::new()).collect(),
            fronts: vec![NO_KEY; lanes],
            next: (NO_KEY, HEAP),
            sequence: 0,
        }
    }

    fn key(&mut self, at: SimTime, kind: u8) -> u128 {
        let order = self.sequence;
        self.sequence += 1;
        debug_assert!(order < 1 << ORDER_BITS, "the order within a kind has {ORDER_BITS} bits");
        u128::from(at.as_nanos()) << 64 | u128::from(u64::from(kind) << ORDER_BITS | order)
    }

    /// Schedules an event behind all of its instant and kind so far.
    #[inline]
    pub fn push(&mut self, at: SimTime, kind: u8, event: E) {
        let key = self.key(at, kind);
        self.push_to_heap(Scheduled { key, event });
    }

    /// Schedules an event as [`EventQueue::push`] does, in a lane. One that is due before the last of its lane costs as much as
    /// without a lane.
    ///
    /// # Panics
    /// If there is no such lane.
    #[inline]
    pub fn push_in(&mut self, lane: usize, at: SimTime, kind: u8, event: E) {
        let key = self.key(at, kind);
        match self.lanes[lane].back() {
            Some(last) if last.key > key => self.push_to_heap(Scheduled { key, event }),
            Some(_) => self.lanes[lane].push_back(Scheduled { key, event }),
            None => {
                self.lanes[lane].push_back(Scheduled { key, event });
                self.fronts[lane] = key;
                if key < self.next.0 {
                    self.next = (key, lane);
                }
            }
        }
    }

    fn push_to_heap(&mut self, scheduled: Scheduled<E>) {
        if scheduled.key < self.next.0 {
            self.next = (scheduled.key, HEAP);
        }
        self.heap.push(scheduled);
    }

    /// Time and kind of the next event.
    #[inline]
    pub fn peek(&self) -> Option<(SimTime, u8)> {
        (self.next.0 != NO_KEY).then(|| (time_of(self.next.0), kind_of(self.next.0)))
    }

    /// Takes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<Scheduled<E>> {
        let taken = match self.next.1 {
            HEAP => self.heap.pop()?,
            lane => {
                let taken = self.lanes[lane].pop_front()?;
                self.fronts[lane] = self.lanes[lane].front().map_or(NO_KEY, |front| front.key);
                taken
            }
        };
        self.find_next();
        Some(taken)
    }

    fn find_next(&mut self) {
        self.next = (self.heap.peek().map_or(NO_KEY, |top| top.key), HEAP);
        for (lane, &front) in self.fronts.iter().enumerate() {
            if front < self.next.0 {
                self.next = (front, lane);
            }
        }
    }

    /// Events waiting.
    pub fn len(&self) -> usize {
        self.heap.len() + self.lanes.iter().map(VecDeque::len).sum::<usize>()
    }

    /// Whether nothing is scheduled.
    pub fn is_empty(&self) -> bool {
        self.next.0 == NO_KEY
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
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn lanes_change_nothing_but_the_cost(
            steps in prop::collection::vec((prop::option::of((0u64..9, 0u8..3)), 0usize..4), 1..80),
        ) {
            let (mut plain, mut laned) = (EventQueue::new(), EventQueue::with_lanes(3));
            let mut now = 0;
            for (number, (pushed, lane)) in steps.into_iter().enumerate() {
                match pushed {
                    Some((wait, kind)) => {
                        let at = SimTime::from_nanos(now + wait);
                        plain.push(at, kind, number);
                        match lane {
                            3 => laned.push(at, kind, number),
                            lane => laned.push_in(lane, at, kind, number),
                        }
                    }
                    None => {
                        let (one, other) = (plain.pop(), laned.pop());
                        prop_assert_eq!(one.map(|s| (s.key, s.event)), other.map(|s| (s.key, s.event)));
                        now = one.map_or(now, |s| s.at().as_nanos());
                    }
                }
                prop_assert_eq!((plain.peek(), plain.len(), plain.is_empty()), (laned.peek(), laned.len(), laned.is_empty()));
            }
        }
    }
}
