//! Where requests come from: arrivals of the workload, or users in a closed loop.

use super::Setup;
use crate::units::SimTime;
use crate::workload::error::WorkloadError;
use crate::workload::source::{LengthSource, RequestSource, RequestSpec};

/// The requests of a run.
#[derive(Debug)]
pub struct Source {
    arrivals: Option<RequestSource>,
    users: Option<Users>,
}

/// What a closed loop may still send.
#[derive(Debug)]
struct Users {
    lengths: LengthSource,
    sent: u64,
    most: u64,
    horizon: SimTime,
}
