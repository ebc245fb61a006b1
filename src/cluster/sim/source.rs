//! Where requests come from: arrivals of the workload, or users in a closed loop.

use super::Setup;
use crate::units::SimTime;
use crate::workload::error::WorkloadError;
use crate::workload::source::{Bounds, LengthSource, RequestSource, RequestSpec};
use crate::workload::trace::TraceReport;

/// The requests of a run.
pub struct Source {
    arrivals: RequestSource,
    users: Option<Users>,
}

/// What a closed loop may still send.
struct Users {
    lengths: LengthSource,
    /// Requests sent so far: they go through the streams in turn.
    sent: u64,
    most: u64,
    horizon: SimTime,
}

impl Source {
    /// Opens the workload of `setup`.
    ///
    /// # Errors
    /// A parameter without meaning, or a trace that cannot be read.
    pub(super) fn open(setup: &Setup<'_>) -> Result<Self, WorkloadError> {
        let bounds = Bounds { horizon: setup.horizon, requests: setup.requests };
        let arrivals = RequestSource::open(setup.workload, setup.streams, bounds)?;
        let users = setup.clients.closed_loop.as_ref().map(|_| -> Result<Users, WorkloadError> {
            Ok(Users {
                lengths: LengthSource::open(setup.workload, setup.streams)?,
                sent: 0,
                most: setup.requests.unwrap_or(u64::MAX),
                horizon: setup.horizon.unwrap_or(SimTime::NEVER),
            })
        });
        Ok(Self { arrivals, users: users.transpose()? })
    }

    /// The next arrival of the open part.
    pub(super) fn next_arrival(&mut self) -> Result<Option<RequestSpec>, WorkloadError> {
        self.arrivals.next()
    }

    /// A user sends the next request of the closed loop, unless it has sent all.
    pub(super) fn next_of_user(&mut self, now: SimTime) -> Option<RequestSpec> {
        let users = self.users.as_mut().filter(|users| users.sent < users.most && now < users.horizon)?;
        if users.lengths.is_empty() {
            return None;
        }
        let drawn = users.lengths.draw((users.sent % users.lengths.len() as u64) as usize);
        let row = users.sent;
        users.sent += 1;
        Some(RequestSpec {
            arrival: now,
            input_tokens: drawn.input_tokens,
            output_tokens: drawn.output_tokens,
            class: drawn.class,
            service_time: None,
            worker: None,
            row,
        })
    }

    /// Whether users have requests left to send.
    pub(super) fn users_go_on(&self) -> bool {
        self.users.as_ref().is_some_and(|users| users.sent < users.most)
    }

    /// Names of the classes, by index.
    pub fn class_names(&self) -> &[String] {
        self.arrivals.class_names()
    }

    /// The account of the trace, if one is replayed.
    pub fn trace_report(&self) -> Option<TraceReport> {
        self.arrivals.trace_report()
    }
}
