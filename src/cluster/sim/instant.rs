//! That simulated time goes on: a bound on what follows on itself within one instant.
//!
//! A user who does not think sends again as soon as a request is over. Where that takes no time (a full gate refuses at once) the next
//! is over at once too, and simulated time stands still. What is counted is what the clients send because something of theirs was over
//! at the same instant: never events, whose number depends on how engines are simulated.

use crate::units::SimTime;

/// Sends of one instant that are always allowed.
const ALLOWED: u64 = 1_000_000;
/// Further ones for each user, and for each arrival of the instant.
///
/// So clients whom a refusal sends back at once reach the bound only if they try a hundred times, which ends, or for ever, which does not.
const ALLOWED_EACH: u64 = 100;

/// What has been sent within the present instant.
#[derive(Clone, Debug)]
pub(super) struct Instant {
    at: SimTime,
    /// Users of a closed loop, who may all send at once.
    users: u64,
    /// Requests that arrived from outside.
    arrivals: u64,
    /// Sends that follow on something that was over at the same instant.
    again: u64,
}

impl Instant {
    /// Time 0, of a run with `users` in a closed loop.
    pub(super) const fn new(users: u32) -> Self {
        Self { at: SimTime::ZERO, users: users as u64, arrivals: 0, again: 0 }
    }

    /// A request arrives from outside.
    pub(super) fn arrival(&mut self, now: SimTime) {
        self.reach(now);
        self.arrivals += 1;
    }

    /// At `now` something of a client is over; it sends again at `next`.
    pub(super) fn sends_again(&mut self, now: SimTime, next: SimTime) {
        if next == now {
            self.reach(now);
            self.again += 1;
        }
    }

    /// Whether more follows on itself within this instant than clients with an end to it would send.
    pub(super) const fn is_endless(&self) -> bool {
        // The first comparison is all that nearly every event takes.
        self.again > ALLOWED && self.again - ALLOWED > ALLOWED_EACH.saturating_mul(self.users.saturating_add(self.arrivals))
    }

    fn reach(&mut self, now: SimTime) {
        if now != self.at {
            (self.at, self.arrivals, self.again) = (now, 0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_sent_again_at_the_same_instant_counts() {
        let (now, later) = (SimTime::from_nanos(5), SimTime::from_nanos(6));
        let mut instant = Instant::new(3);
        (0..ALLOWED + 4 * ALLOWED_EACH).for_each(|_| instant.sends_again(now, now));
        assert!(instant.is_endless(), "three users are allowed three hundred more");
        instant.arrival(now);
        assert!(!instant.is_endless(), "and an arrival a hundred");
        instant.sends_again(now, later);
        assert!(!instant.is_endless(), "who waits does not count");
        instant.sends_again(now, now);
        assert!(instant.is_endless());
        instant.arrival(later);
        assert!(!instant.is_endless(), "time went on");
    }
}
