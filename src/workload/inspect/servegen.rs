//! The statistics of a pool of ServeGen clients.

use std::path::Path;

use crate::workload::error::WorkloadError;
use crate::workload::trace::ServeGenClient;

/// Statistics of a pool of ServeGen clients: the sum over clients of the rates of one window.
#[derive(Clone, Debug, PartialEq)]
pub struct ServeGenSummary {
    /// Clients.
    pub clients: u64,
    /// Windows of a client.
    pub windows: u64,
    /// From the start of the first window to the end of the last, seconds.
    pub span: f64,
    /// Mean, smallest and largest rate of the pool, requests per second.
    pub rate: (f64, f64, f64),
    /// Largest over mean rate.
    pub peak_to_mean: f64,
    /// Variation of gaps over all windows of all clients that have a rate: median, 90th and 99th percentile.
    pub cv: (f64, f64, f64),
    /// Mean variation, each window weighted by its rate.
    pub weighted_cv: f64,
}

/// Reads one client or a folder of them.
///
/// # Errors
/// As [`ServeGenClient::read_all`].
pub fn inspect_servegen(path: &Path) -> Result<ServeGenSummary, WorkloadError> {
    let clients = ServeGenClient::read_all(path)?;
    let windows = clients.iter().map(|c| c.windows.len()).max().unwrap_or(0);
    let mut rates = vec![0.0; windows];
    let mut cvs = Vec::new();
    let (mut weighted, mut weight) = (0.0, 0.0);
    let mut span = 0.0_f64;
    for client in &clients {
        for (sum, window) in rates.iter_mut().zip(&client.windows) {
            *sum += window.rate;
            if window.rate > 0.0 {
                cvs.push(window.cv);
                weighted += window.cv * window.rate;
                weight += window.rate;
            }
        }
        if let (Some(first), Some(last)) = (client.windows.first(), client.windows.last()) {
            span = span.max(last.start.since(first.start).as_secs_f64() + client.window_seconds());
        }
    }
    cvs.sort_by(f64::total_cmp);
    let quantile = |p| if cvs.is_empty() { 0.0 } else { super::percentile(&cvs, p) };
    let mean = super::ratio(rates.iter().sum::<f64>(), windows as f64);
    let max = rates.iter().copied().fold(0.0, f64::max);
    Ok(ServeGenSummary {
        clients: clients.len() as u64,
        windows: windows as u64,
        span,
        rate: (mean, rates.iter().copied().fold(f64::INFINITY, f64::min).min(max), max),
        peak_to_mean: super::ratio(max, mean),
        cv: (quantile(0.5), quantile(0.9), quantile(0.99)),
        weighted_cv: super::ratio(weighted, weight),
    })
}
