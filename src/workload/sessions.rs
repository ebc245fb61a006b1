//! Recorded sessions whose turns wait for one another, and what becomes of sessions.

use std::collections::VecDeque;

use super::source::RequestSpec;
use crate::units::{SimTime, Span};

/// What became of sessions. Started = completed + at the longest context + broken + unfinished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounts {
    /// Sessions whose first turn was sent.
    pub started: u64,
    /// All their turns were answered.
    pub completed: u64,
    /// Ended before a turn that would have exceeded the longest context.
    pub at_max_context: u64,
    /// A turn got no answer: refused or failed for good, given up, or unservable.
    pub broken: u64,
    /// Turns sent.
    pub turns: u64,
    /// Turns whose prompt was cut to the longest context.
    pub cut: u64,
}

impl SessionCounts {
    /// Sessions that were under way at the end.
    pub const fn unfinished(&self) -> u64 {
        self.started - self.completed - self.at_max_context - self.broken
    }
}

/// The turns of a trace whose sessions are followed. All of them are held: an answer may come before its next turn would have
/// been read.
#[derive(Debug, Default)]
pub(super) struct RecordedSessions {
    /// Requests that wait for nothing, in order of arrival: first turns, and requests of no session.
    firsts: VecDeque<RequestSpec>,
    /// Further turns, by session.
    rest: Vec<Rest>,
    counts: SessionCounts,
    /// Turns that will be sent at an instant already known.
    pending: u64,
    /// Turns that will never be sent, since one before them got no answer.
    dropped: u64,
}

/// What is left of one session.
#[derive(Debug, Default)]
struct Rest {
    opened: bool,
    turns: VecDeque<(RequestSpec, Option<Span>)>,
    due: Option<RequestSpec>,
}

impl RecordedSessions {
    /// Adds a request; turns of a session come in their order. With a `delay`, a turn is sent so long after the answer before
    /// it, else at its own instant or when that answer is there, whichever is later.
    pub(super) fn add(&mut self, request: RequestSpec, delay: Option<Span>) {
        let Some(session) = request.session else { return self.firsts.push_back(request) };
        let index = session as usize;
        if index >= self.rest.len() {
            self.rest.resize_with(index + 1, Rest::default);
        }
        let rest = &mut self.rest[index];
        if rest.opened {
            rest.turns.push_back((request, delay));
        } else {
            rest.opened = true;
            self.firsts.push_back(request);
        }
    }

    /// The next request that waits for nothing.
    pub(super) fn next_first(&mut self) -> Option<RequestSpec> {
        self.firsts.pop_front()
    }

    /// A request that waited for nothing is sent.
    pub(super) fn sent_first(&mut self, request: &RequestSpec) {
        let opens = u64::from(request.session.is_some());
        self.counts.started += opens;
        self.counts.turns += opens;
    }

    /// A turn is over, `answered` or not: when the next is sent.
    pub(super) fn ended(&mut self, session: u32, now: SimTime, answered: bool) -> Option<SimTime> {
        let rest = self.rest.get_mut(session as usize)?;
        if !answered {
            self.counts.broken += 1;
            self.dropped += rest.turns.len() as u64;
            rest.turns.clear();
            return None;
        }
        let Some((mut request, delay)) = rest.turns.pop_front() else {
            self.counts.completed += 1;
            return None;
        };
        request.arrival = delay.map_or(request.arrival.max(now), |delay| now.saturating_add(delay));
        rest.due = Some(request);
        self.pending += 1;
        Some(request.arrival)
    }

    /// The turn that is due now, if `may` at its instant something be sent still.
    pub(super) fn next_turn(&mut self, session: u32, may: impl FnOnce(SimTime) -> bool) -> Option<RequestSpec> {
        let due = &mut self.rest.get_mut(session as usize)?.due;
        self.pending -= 1;
        let turn = due.take_if(|turn| may(turn.arrival))?;
        self.counts.turns += 1;
        Some(turn)
    }

    /// Whether some turn will be sent at an instant already known.
    pub(super) const fn has_pending(&self) -> bool {
        self.pending > 0
    }

    pub(super) const fn counts(&self) -> SessionCounts {
        self.counts
    }

    /// Requests that were not sent: not yet, and never because their session broke.
    pub(super) fn unsent(&self) -> (u64, u64) {
        let waiting: usize = self.rest.iter().map(|rest| rest.turns.len() + usize::from(rest.due.is_some())).sum();
        ((self.firsts.len() + waiting) as u64, self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::source::ClassId;

    fn request(at: u64, session: Option<u32>) -> RequestSpec {
        RequestSpec {
            arrival: SimTime::from_nanos(at),
            input_tokens: 1,
            output_tokens: 1,
            class: ClassId(0),
            service_time: None,
            worker: None,
            session,
            stream: None,
            row: at,
        }
    }

    #[test]
    fn a_turn_waits_for_the_answer_before_it() {
        let mut sessions = RecordedSessions::default();
        for (request, delay) in [
            (request(0, Some(0)), None),
            (request(5, None), None),
            (request(10, Some(0)), None),
            (request(10, Some(0)), Some(Span::from_nanos(7))),
        ] {
            sessions.add(request, delay);
        }
        let firsts: Vec<u64> = std::iter::from_fn(|| sessions.next_first()).map(|r| r.arrival.as_nanos()).collect();
        assert_eq!((firsts, sessions.unsent()), (vec![0, 5], (2, 0)));
        sessions.sent_first(&request(0, Some(0)));
        let at = |nanos| SimTime::from_nanos(nanos);
        assert_eq!(sessions.ended(0, at(3), true), Some(at(10)), "its own instant is later than the answer");
        assert!(sessions.has_pending());
        assert_eq!(sessions.next_turn(0, |_| true).map(|r| r.arrival), Some(at(10)));
        assert_eq!(sessions.ended(0, at(20), true), Some(at(27)), "a delay counts from the answer");
        sessions.next_turn(0, |_| true);
        assert_eq!(sessions.ended(0, at(30), true), None);
        let counts = sessions.counts();
        assert_eq!((counts.started, counts.completed, counts.turns, sessions.has_pending()), (1, 1, 3, false));
    }

    #[test]
    fn a_session_without_answer_is_broken_and_its_turns_are_dropped() {
        let mut sessions = RecordedSessions::default();
        (0..3).for_each(|i| sessions.add(request(i, Some(4)), None));
        let first = sessions.next_first().unwrap();
        sessions.sent_first(&first);
        assert_eq!(sessions.ended(4, SimTime::ZERO, false), None);
        assert_eq!((sessions.unsent(), sessions.counts().broken, sessions.counts().unfinished()), ((0, 2), 1, 0));
    }
}
