//! Whether the load of a log tells what batching costs.

use super::error::CalibrationError;
use super::goodness::percentile;
use super::run_log::{LoggedRequest, RunLog};

/// Refuses a log whose load says nothing of batching.
pub(super) fn check_load(log: &RunLog, used: &[LoggedRequest]) -> Result<(), CalibrationError> {
    let mut reasons = Vec::new();
    let place = log.path.display();
    // Requests decoding beside each one, over its decoding time: what its time per token is told by.
    let mut beside: Vec<f64> = decoding_beside(used);
    beside.sort_by(f64::total_cmp);
    let at = |p: f64| percentile(&beside, p).unwrap_or(0.0);
    let (low, high) = (at(0.02), at(0.98));
    if high < 2.0 {
        reasons.push(format!(
            "{place}: hardly two requests decode at a time (98 % see at most {high:.1}): what a sequence costs beside others \
             is not in these data"
        ));
    } else if high < 1.1 * low {
        reasons.push(format!(
            "{place}: no variation of load: 96 % of the requests decode among {low:.1} to {high:.1} sequences, so that a step's fixed \
             cost and a sequence's cost cannot be told apart"
        ));
    }
    if reasons.is_empty() {
        return Ok(());
    }
    Err(CalibrationError::Untellable {
        reasons,
        hint: "log a run that begins idle and ends drained, with a rate at which many requests run together".to_owned(),
    })
}

/// For each request of two tokens or more, the mean number of requests that decode while it does.
fn decoding_beside(log: &[LoggedRequest]) -> Vec<f64> {
    let sorted = |of: fn(&LoggedRequest) -> f64| {
        let mut times: Vec<f64> = log.iter().map(of).collect();
        times.sort_by(f64::total_cmp);
        // Sums of the times up to each, for integrals of counts.
        let mut sum = 0.0;
        let sums: Vec<f64> = std::iter::once(0.0)
            .chain(times.iter().map(|t| {
                sum += t;
                sum
            }))
            .collect();
        (times, sums)
    };
    let (first, last) = (sorted(|r| r.first), sorted(|r| r.last));
    // Time integral of the number of `times` at or before each instant, from 0 to `at`.
    let integral = |(times, sums): &(Vec<f64>, Vec<f64>), at: f64| {
        let n = times.partition_point(|t| *t <= at);
        n as f64 * at - sums[n]
    };
    let inside = |at: f64| integral(&first, at) - integral(&last, at);
    let several = log.iter().filter(|r| r.output_tokens > 1 && r.last > r.first);
    several.map(|r| (inside(r.last) - inside(r.first)) / (r.last - r.first)).collect()
}
