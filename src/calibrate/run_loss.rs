//! How badly a replay imitates a run: what the fit makes as small as it can.

use super::goodness::{Latency, percentile};
use super::replay::Served;
use super::run_log::LoggedRequest;

/// The quantiles that are compared, and what each weighs: those that are published, and others between, so that the whole
/// distribution is met and not nine points of it.
const GRID: [(f64, f64); 9] =
    [(0.05, 0.5), (0.1, 0.5), (0.25, 1.0), (0.5, 3.0), (0.75, 1.0), (0.9, 3.0), (0.95, 1.0), (0.98, 0.5), (0.99, 3.0)];
/// What the worst of the published quantiles weighs beside the weighted mean of all.
const WORST: f64 = 1.5;
/// What the mean error of single requests weighs.
const SINGLE: f64 = 0.1;

/// What a replay is held against.
#[derive(Clone, Debug)]
pub(super) struct Target<'a> {
    log: &'a [LoggedRequest],
    measured: [Vec<f64>; 3],
}

impl<'a> Target<'a> {
    /// The requests that count.
    pub(super) fn new(log: &'a [LoggedRequest]) -> Self {
        Self { log, measured: Latency::ALL.map(|latency| latency.measured(log)) }
    }

    /// Relative errors of the quantiles of every latency, their worst, and the mean over single requests, weighed and added;
    /// 0 is perfect. `served` may go on beyond the requests that count.
    pub(super) fn loss(&self, served: &[Served]) -> f64 {
        let (mut sum, mut weights, mut worst) = (0.0, 0.0, 0.0_f64);
        for (latency, measured) in Latency::ALL.into_iter().zip(&self.measured) {
            let simulated = latency.simulated(self.log, served);
            for (p, weight) in GRID {
                let (Some(measured), Some(simulated)) = (percentile(measured, p), percentile(&simulated, p)) else { continue };
                let error = relative(simulated, measured);
                sum += weight * error;
                weights += weight;
                if Latency::QUANTILES.contains(&p) {
                    worst = worst.max(error);
                }
            }
        }
        let single: f64 = self.log.iter().zip(served).map(|(r, times)| relative(times.last - r.queued, r.e2e())).sum::<f64>()
            / self.log.len() as f64;
        sum / weights + WORST * worst + SINGLE * single
    }
}

fn relative(simulated: f64, measured: f64) -> f64 {
    if measured > 0.0 { (simulated / measured - 1.0).abs() } else { simulated.abs() }
}
