//! What Dynamo does not export and a dashboard of a simulated incident wants beside it, under a prefix of its own.

use crate::control::metrics::{Metric, MetricKind};

const fn gauge(name: &'static str, unit: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric { name, kind: MetricKind::Gauge, unit, help, labels }
}

/// Whether the first frontend excludes a worker, whatever the check.
pub(super) const WORKER_EXCLUDED: Metric =
    gauge("shedcast_worker_excluded", "", &["worker_id"], "Whether the first frontend excludes the worker: 1, else 0");
/// Thresholds stored at the first frontend.
pub(super) const BUSY_THRESHOLD: Metric =
    gauge("shedcast_busy_threshold", "", &["threshold"], "Busy threshold that the first frontend has stored");
/// Lag of the latest threshold post.
pub(super) const THRESHOLD_UPDATE_LAG_SECONDS: Metric = gauge(
    "shedcast_threshold_update_lag_seconds",
    "seconds",
    &["frontend", "stage"],
    "From a threshold post to its stage, of the latest post that reached it",
);

/// All of them.
pub(super) const ALL: &[Metric] = &[WORKER_EXCLUDED, BUSY_THRESHOLD, THRESHOLD_UPDATE_LAG_SECONDS];
