//! The code a real frontend and worker would link: thresholds, rank load, monitor, router, tracking, admission gate,
//! refusal to status, metric names. No I/O, clock, thread or randomness; of this crate it uses `units` alone.
//!
//! A frontend is a [`FrontendControl`], a worker's admission an [`AdmissionGate`]. What is due (leases, returning
//! workers) happens when a call brings a later `now`; random choices come from a [`Choose`].

mod busy_set;
pub mod checks;
pub mod firing;
pub mod frontend;
pub mod gate;
pub mod ids;
pub mod metrics;
pub mod migration;
mod min_index;
pub mod monitor;
pub mod monitored_router;
mod output_growth;
pub mod picker;
pub mod rank_load;
pub mod refusal;
pub mod router;
pub mod status;
pub mod thresholds;
pub mod tracking;

pub use checks::{Check, Checks};
pub use firing::FiringCheck;
pub use frontend::{Destination, FrontendControl, FrontendSettings, Publication, RouteRequest};
pub use gate::{Admission, AdmissionGate, GateLimits, GateLimitsError};
pub use ids::{WorkerId, WorkerMap};
pub use migration::{AfterFailure, DispatchFailure, MigrationBudget};
pub use monitor::{
    MAX_DATA_PARALLEL_SIZE, PostOutcome, RuntimeConfig, SchedulerLoad, SignalsSeen, WorkerLoad, WorkerMonitor, WorkerState,
};
pub use monitored_router::{LoadOutcome, MonitoredRouter};
pub use picker::{Choose, PickerMode, Pickers};
pub use rank_load::{Latch, Observation, RankLoad, Seen, Signal, SourceMemory};
pub use refusal::{Refusal, RefusalLayer};
pub use router::{Lease, PushRouter, RouterTimes};
pub use status::{OverloadScope, OverloadStatus, OverloadStatusError, RefusalClass, RefusalReason};
pub use thresholds::{BusyThresholds, PostError, ThresholdError, ThresholdUpdate};
pub use tracking::{BookingError, BookingId, RouterTracking, TrackingOptions, TrackingOptionsError};
