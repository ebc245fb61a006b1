//! What can be scheduled, and the order of kinds within one instant.

use super::request::Sender;

/// Order of the kinds of events that fall in one instant (lower first).
///
/// Completions come before arrivals, so a slot freed at t serves an arrival at t; arrivals come before step starts, so an
/// arrival at t takes part in the step that starts at t; samples see everything.
pub mod kind {
    /// Expiries and changes of the cluster.
    pub const CLUSTER: u8 = 0;
    /// Ends of steps, by worker and rank.
    pub const STEP_END: u8 = 1;
    /// Ends of service at opaque workers, and answers that come over a slow network.
    pub const SERVICE_END: u8 = 2;
    /// Debounce timers and deliveries of loads.
    pub const LOAD: u8 = 3;
    /// Threshold posts.
    pub const POST: u8 = 4;
    /// Clients giving up.
    pub const GIVE_UP: u8 = 5;
    /// Arrivals from the workload.
    pub const ARRIVAL: u8 = 6;
    /// Retries, migrations and the next requests of closed-loop users and sessions, behind the arrivals of their instant.
    pub const RETRY: u8 = 7;
    /// Starts of new steps, by worker and rank.
    pub const START: u8 = 8;
    /// Samples of the time series.
    pub const SAMPLE: u8 = 9;
}

/// Lanes of the event queue: what is scheduled in each is due no earlier than what was before it, or seldom.
pub mod lane {
    /// Ends of debounces, which all last as long.
    pub const DEBOUNCE: usize = 0;
    /// Deliveries of load reports.
    pub const DELIVERY: usize = 1;
    /// Clients that wait for a first token.
    pub const FIRST_TOKEN: usize = 2;
    /// Clients that wait for the whole answer.
    pub const ANSWER: usize = 3;
    /// Ends of the marks that routers set.
    pub const MARK: usize = 4;
    /// How many there are.
    pub const COUNT: usize = 5;
}

/// Something scheduled. Indices are into the simulation's own tables; a stamp that is no longer the current one makes the
/// event void.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An `[[events]]` entry of the scenario is due.
    Scripted {
        /// Its index.
        index: u32,
    },
    /// An `[[events]]` entry that lasts for a time is over.
    ScriptedEnd {
        /// Its index.
        index: u32,
    },
    /// A worker has loaded its model and registers.
    Join {
        /// Its id.
        worker: u32,
        /// The worker's stamp when it began to load.
        stamp: u32,
    },
    /// A mark of a frontend's router runs out (a lease, or a report-down): whoever measures how long it lasted has to see it.
    Expire {
        /// The frontend.
        frontend: u32,
    },
    /// Where decisions are judged: an attempt joined a rank while others of its instant still ended their steps; now its rank
    /// can be looked at.
    Seat {
        /// The attempt.
        attempt: u32,
        /// Its stamp.
        stamp: u32,
    },
    /// A dispatch reaches its worker over a slow network.
    Reach {
        /// The attempt.
        attempt: u32,
        /// Its stamp.
        stamp: u32,
    },
    /// An answer reaches its frontend over a slow network.
    Answer {
        /// The answer.
        answer: u32,
    },
    /// A change of the fleet reaches the frontends.
    Discover,
    /// An opaque worker is done with a request.
    ServiceEnd {
        /// The attempt.
        attempt: u32,
        /// Number of the service: the attempt may have been lost with its worker, and be served elsewhere by now.
        service: u32,
    },
    /// A rank's debounce may have run out.
    Debounce {
        /// Rank, counted over the fleet.
        rank: u32,
    },
    /// A worker's report reaches a frontend.
    Deliver {
        /// The report.
        report: u32,
    },
    /// A client runs out of patience.
    GiveUp {
        /// The attempt.
        attempt: u32,
        /// Its stamp.
        stamp: u32,
        /// Only if no token is out yet.
        first_token: bool,
    },
    /// A client tries again.
    Retry {
        /// The logical request.
        request: u32,
    },
    /// A closed-loop user, or a recorded session, sends the next request.
    Next {
        /// Who.
        sender: Sender,
    },
    /// The frontend tries another worker.
    Redispatch {
        /// The attempt.
        attempt: u32,
        /// Its stamp.
        stamp: u32,
    },
    /// Time for a sample.
    Sample,
}
