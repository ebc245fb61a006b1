//! Where requests come from: arrivals of the workload, users in a closed loop, or the next turns of recorded sessions.

use super::Setup;
use crate::cluster::request::Sender;
use crate::cluster::users::Users;
use crate::cluster::visits::Visits;
use crate::units::SimTime;
use crate::workload::error::WorkloadError;
use crate::workload::sessions::SessionCounts;
use crate::workload::source::{Bounds, RequestSource, RequestSpec};
use crate::workload::trace::TraceReport;

/// The requests of a run.
pub struct Source {
    arrivals: RequestSource,
    users: Option<Users>,
    visits: Option<Visits>,
}

impl Source {
    /// Opens the workload of `setup`.
    ///
    /// # Errors
    /// A parameter without meaning, or a trace that cannot be read.
    pub(super) fn open(setup: &Setup<'_>) -> Result<Self, WorkloadError> {
        let bounds = Bounds { horizon: setup.horizon, requests: setup.requests };
        let arrivals = RequestSource::open(setup.workload, setup.streams, bounds)?;
        let closed = setup.clients.closed_loop.as_ref();
        let users = closed.map(|config| Users::new(config, setup.workload, setup.streams, bounds)).transpose()?;
        let horizon = setup.horizon.unwrap_or(SimTime::NEVER);
        let sessions = setup.clients.sessions.as_ref();
        let visits = sessions.map(|config| Visits::new(config, setup.workload, setup.streams, horizon)).transpose()?;
        Ok(Self { arrivals, users, visits })
    }

    /// The next arrival of the open part.
    pub(super) fn next_arrival(&mut self) -> Result<Option<RequestSpec>, WorkloadError> {
        self.arrivals.next()
    }

    /// Who waits for the end of a request that arrives. Where that begins a session, its lengths may be cut.
    pub(super) fn arrived(&mut self, request: &mut RequestSpec) -> Sender {
        let visit = self.visits.as_mut().and_then(|visits| visits.arrived(request));
        visit.map(Sender::Visit).or(request.session.map(Sender::Session)).unwrap_or(Sender::World)
    }

    /// Who waited sends what is next, if there is anything left to send.
    pub(super) fn next_of(&mut self, sender: Sender, now: SimTime) -> Option<RequestSpec> {
        match sender {
            Sender::World => None,
            Sender::User(user) => self.users.as_mut()?.send(user, now),
            Sender::Visit(visit) => self.visits.as_mut()?.send(visit, now),
            Sender::Session(session) => self.arrivals.next_turn(session),
        }
    }

    /// A request of `sender` is over, `answered` or not: when it sends the next, if ever.
    pub(super) fn ended(&mut self, sender: Sender, now: SimTime, answered: bool) -> Option<SimTime> {
        match sender {
            Sender::World => None,
            Sender::User(user) => Some(now.saturating_add(self.users.as_mut()?.think(user, now, answered))),
            Sender::Visit(visit) => self.visits.as_mut()?.ended(visit, now, answered),
            Sender::Session(session) => self.arrivals.turn_ended(session, now, answered),
        }
    }

    /// Whether somebody has requests left to send that are no arrivals.
    pub(super) fn goes_on(&self) -> bool {
        self.users.as_ref().is_some_and(Users::go_on)
            || self.visits.as_ref().is_some_and(Visits::go_on)
            || self.arrivals.turns_pending()
    }

    /// Names of the classes, by index.
    pub fn class_names(&self) -> &[String] {
        self.arrivals.class_names()
    }

    /// The account of the trace, if one is replayed.
    pub fn trace_report(&self) -> Option<TraceReport> {
        self.arrivals.trace_report()
    }

    /// What became of sessions, where users or a trace have such.
    pub fn session_counts(&self) -> Option<SessionCounts> {
        let users = self.users.as_ref().and_then(Users::session_counts);
        users.or_else(|| self.visits.as_ref().map(Visits::session_counts)).or_else(|| self.arrivals.session_counts())
    }
}
