//! The statistics of a pool of ServeGen clients.

use serde_json::json;

use super::super::wrap::{COLUMNS, wrap};
use super::{INSPECTION_SCHEMA, block, figure_of};
use crate::stats::text::count;
use crate::workload::inspect::ServeGenSummary;

/// The statistics of the pool called `name`, for people.
pub fn servegen_text(name: &str, pool: &ServeGenSummary) -> String {
    let (mean, least, most) = pool.rate;
    let days = pool.span / 86_400.0;
    let line =
        format!("{name}: servegen pool, {} clients, {} windows each, {days:.2} days", count(pool.clients), count(pool.windows));
    let mut text = wrap("", &line, 0, COLUMNS);
    text.push('\n');
    let rate = format!(
        "{}/s on average over the pool, {} to {} by window, peak / mean {}",
        figure_of(mean),
        figure_of(least),
        figure_of(most),
        figure_of(pool.peak_to_mean)
    );
    text.push_str(&block("rate", &rate));
    let (p50, p90, p99) = pool.cv;
    let gaps = format!(
        "coefficient of variation by client and window: p50 {}, p90 {}, p99 {}; mean by rate {}",
        figure_of(p50),
        figure_of(p90),
        figure_of(p99),
        figure_of(pool.weighted_cv)
    );
    text.push_str(&block("gaps", &gaps));
    text.push_str(&block("", "requests are drawn from these windows in a run: `workload.trace = \"<folder>\"`"));
    text
}

/// The statistics of the pool called `name` as JSON, indented, with a line feed at the end.
pub fn servegen_json(name: &str, pool: &ServeGenSummary) -> Vec<u8> {
    let ((mean, min, max), (p50, p90, p99)) = (pool.rate, pool.cv);
    super::to_bytes(&json!({
        "schema": INSPECTION_SCHEMA,
        "trace": name,
        "format": "servegen",
        "clients": pool.clients,
        "windows": pool.windows,
        "span_s": pool.span,
        "rate": { "mean": mean, "min": min, "max": max, "peak_to_mean": pool.peak_to_mean },
        "gap_cv": { "p50": p50, "p90": p90, "p99": p99, "mean_by_rate": pool.weighted_cv },
    }))
}
