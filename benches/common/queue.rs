//! Events with empty handlers, by where they wait.

use shedcast::engine::{Deadlines, EventQueue};
use shedcast::units::SimTime;

use super::checksum::Checksum;
use super::gaps::Gaps;

/// Kind of the events.
const CLIENT: u8 = 6;

/// Turns `events` events through the heap, `pending` of which wait at any time.
pub fn heap(events: u64, pending: usize) -> u64 {
    let (mut queue, mut gaps, mut sum) = (EventQueue::new(), Gaps::new(), Checksum::new());
    for owner in 0..pending {
        queue.push(SimTime::ZERO.saturating_add(gaps.next()), CLIENT, owner);
    }
    for _ in 0..events {
        let next = queue.pop().expect("events wait");
        sum.add(next.at().as_nanos());
        queue.push(next.at().saturating_add(gaps.next()), CLIENT, next.event);
    }
    sum.value()
}

/// Turns `events` time-outs of one length through a lane, `pending` of which wait at any time.
pub fn lane(events: u64, pending: usize) -> u64 {
    let (mut queue, mut gaps, mut sum) = (EventQueue::with_lanes(1), Gaps::new(), Checksum::new());
    let mut now = SimTime::ZERO;
    for owner in 0..pending {
        now = now.saturating_add(gaps.next());
        queue.push_in(0, now, CLIENT, owner);
    }
    let length = now.since(SimTime::ZERO);
    for _ in 0..events {
        let next = queue.pop().expect("events wait");
        sum.add(next.at().as_nanos());
        queue.push_in(0, next.at().saturating_add(length), CLIENT, next.event);
    }
    sum.value()
}

/// Turns `events` deadlines of `owners` owners.
pub fn deadlines(events: u64, owners: usize) -> u64 {
    let (mut ends, mut gaps, mut sum) = (Deadlines::new(owners), Gaps::new(), Checksum::new());
    for owner in 0..owners {
        ends.set(owner as u32, SimTime::ZERO.saturating_add(gaps.next()));
    }
    for _ in 0..events {
        let (at, owner) = ends.earliest();
        sum.add(at.as_nanos());
        ends.set(owner, at.saturating_add(gaps.next()));
    }
    sum.value()
}
