//! The users of a closed loop: each has one request in the system at most, and thinks before the next.

use super::config::ClosedLoop;
use super::sessions::Sessions;
use crate::engine::{SimRng, Streams};
use crate::units::{SimTime, Span};
use crate::workload::config::WorkloadConfig;
use crate::workload::error::WorkloadError;
use crate::workload::sessions::SessionCounts;
use crate::workload::source::{Bounds, DrawnLengths, LengthSource, RequestSpec};
use crate::workload::spans::SpanSampler;

/// What the users of a closed loop may still send.
pub struct Users {
    lengths: LengthSource,
    /// Which class is asked for, where classes have weights.
    classes: SimRng,
    think: SpanSampler,
    thinking: SimRng,
    sessions: Option<Sessions>,
    /// Requests sent so far.
    sent: u64,
    most: u64,
    horizon: SimTime,
}

impl Users {
    /// Users who have sent nothing yet.
    ///
    /// # Errors
    /// A distribution without meaning.
    pub fn new(config: &ClosedLoop, workload: &WorkloadConfig, streams: Streams, bounds: Bounds) -> Result<Self, WorkloadError> {
        let sessions = config.sessions.as_ref().map(|sessions| Sessions::new(sessions, config.users, streams)).transpose()?;
        Ok(Self {
            lengths: LengthSource::open(workload, streams)?,
            classes: streams.stream("user classes", 0),
            think: SpanSampler::new(&config.think_time)?,
            thinking: streams.stream("think", 0),
            sessions,
            sent: 0,
            most: bounds.requests.unwrap_or(u64::MAX),
            horizon: bounds.horizon.unwrap_or(SimTime::NEVER),
        })
    }

    /// A user sends its next request, unless the users have sent all.
    pub fn send(&mut self, user: u32, now: SimTime) -> Option<RequestSpec> {
        if self.sent >= self.most || now >= self.horizon || self.lengths.is_empty() {
            return None;
        }
        let DrawnLengths { class, input_tokens, output_tokens } = match &mut self.sessions {
            Some(sessions) => sessions.send(user, now, &self.lengths),
            None => {
                let class = self.lengths.choose(self.sent, &mut self.classes);
                self.lengths.draw(class, now)
            }
        };
        let row = self.sent;
        self.sent += 1;
        Some(RequestSpec {
            arrival: now,
            input_tokens,
            output_tokens,
            class,
            service_time: None,
            worker: None,
            session: None,
            stream: None,
            row,
        })
    }

    /// A user's request is over, `answered` or not: how long it thinks before the next.
    pub fn think(&mut self, user: u32, now: SimTime, answered: bool) -> Span {
        let turn = self.sessions.as_mut().and_then(|sessions| sessions.ended(user, now, answered, &self.lengths));
        turn.unwrap_or_else(|| self.think.draw(&mut self.thinking))
    }

    /// Whether users have requests left to send.
    pub const fn go_on(&self) -> bool {
        self.sent < self.most
    }

    /// What became of sessions, if users have such.
    pub fn session_counts(&self) -> Option<SessionCounts> {
        self.sessions.as_ref().map(Sessions::counts)
    }
}
