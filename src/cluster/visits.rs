//! Sessions in an open loop: each generated arrival begins one, and its further turns wait for the answers before.

use super::config::SessionConfig;
use super::sessions::Sessions;
use crate::engine::Streams;
use crate::units::SimTime;
use crate::workload::config::WorkloadConfig;
use crate::workload::error::WorkloadError;
use crate::workload::sessions::SessionCounts;
use crate::workload::source::{DrawnLengths, LengthSource, RequestSpec};

/// The sessions of all who arrived.
pub struct Visits {
    lengths: LengthSource,
    sessions: Sessions,
    /// Sessions begun so far.
    begun: u64,
    /// Turns that will be sent at an instant already known.
    pending: u64,
    horizon: SimTime,
}

impl Visits {
    /// Nobody has arrived yet; nothing is sent from `horizon` on.
    ///
    /// # Errors
    /// A distribution without meaning.
    pub fn new(
        config: &SessionConfig,
        workload: &WorkloadConfig,
        streams: Streams,
        horizon: SimTime,
    ) -> Result<Self, WorkloadError> {
        let sessions = Sessions::new(config, 0, streams)?;
        Ok(Self { lengths: LengthSource::open(workload, streams)?, sessions, begun: 0, pending: 0, horizon })
    }

    /// A request arrives: the session that it begins, if it is of a generated stream; its lengths may be cut to the longest
    /// context.
    pub fn arrived(&mut self, request: &mut RequestSpec) -> Option<u32> {
        let stream = usize::from(request.stream?);
        let RequestSpec { class, input_tokens, output_tokens, .. } = *request;
        let (visit, turn) = self.sessions.visit(self.begun, stream, DrawnLengths { class, input_tokens, output_tokens });
        self.begun += 1;
        (request.input_tokens, request.output_tokens) = (turn.input_tokens, turn.output_tokens);
        Some(visit)
    }

    /// A turn is over, `answered` or not: when the next is sent, if there is one.
    pub fn ended(&mut self, visit: u32, now: SimTime, answered: bool) -> Option<SimTime> {
        let pause = self.sessions.visit_ended(visit, now, answered, &self.lengths)?;
        self.pending += 1;
        Some(now.saturating_add(pause))
    }

    /// The turn that is due now; `None` from the horizon on.
    pub fn send(&mut self, visit: u32, now: SimTime) -> Option<RequestSpec> {
        self.pending -= 1;
        if now >= self.horizon {
            return None;
        }
        let DrawnLengths { class, input_tokens, output_tokens } = self.sessions.turn_of_visit(visit);
        Some(RequestSpec {
            arrival: now,
            input_tokens,
            output_tokens,
            class,
            service_time: None,
            worker: None,
            session: None,
            stream: None,
            row: u64::from(visit),
        })
    }

    /// Whether turns will be sent at instants already known.
    pub const fn go_on(&self) -> bool {
        self.pending > 0
    }

    /// What became of the sessions.
    pub const fn session_counts(&self) -> SessionCounts {
        self.sessions.counts()
    }
}
