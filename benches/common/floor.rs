//! What the events of a run cost if nothing is done about them.

use shedcast::engine::{Deadlines, EventQueue};
use shedcast::units::SimTime;

use super::gaps::Gaps;

/// Kinds, as a run has them: ends of steps come before what clients do.
const END: u8 = 1;
const CLIENT: u8 = 6;

/// The floor of a run with `events` events and `groups` groups of ranks: as many events, half of them ends of steps and half of them
/// in the queue, and nothing done about any.
pub fn floor(events: u64, groups: usize) -> u64 {
    let (mut queue, mut ends) = (EventQueue::with_lanes(5), Deadlines::new(groups));
    let (mut gaps, mut sum) = (Gaps::new(), 0u64);
    for group in 0..groups {
        ends.set(group as u32, SimTime::ZERO.saturating_add(gaps.next()));
        queue.push(SimTime::ZERO.saturating_add(gaps.next()), CLIENT, group);
    }
    for _ in 0..events {
        let (at, group) = ends.earliest();
        if queue.peek().is_some_and(|next| next < (at, END)) {
            let next = queue.pop().expect("an event is due");
            sum = sum.wrapping_add(next.at().as_nanos());
            queue.push(next.at().saturating_add(gaps.next()), next.kind(), next.event);
        } else {
            sum = sum.wrapping_add(at.as_nanos());
            ends.set(group, at.saturating_add(gaps.next()));
        }
    }
    sum
}
