//! The statistics of a trace for machines: seconds, tokens, shares; what does not exist is `null`.

use serde_json::{Value, json};

use super::INSPECTION_SCHEMA;
use crate::workload::inspect::{ArrivalSummary, COARSE, GapSummary, LengthSummary, TraceSummary, WINDOWS};

/// The statistics of the trace called `name` as JSON, indented, with a line feed at the end.
pub fn inspection_json(name: &str, trace: &TraceSummary) -> Vec<u8> {
    let [no_tokens, no_input, no_output] = trace.zero_rows;
    let prefix = trace.prefix.as_ref().map(|prefix| {
        json!({ "rows": prefix.rows, "distinct_blocks": prefix.distinct_blocks, "reusable_share": prefix.reusable_share })
    });
    let classes: Vec<Value> = trace.classes.iter().map(|(class, rows)| json!({ "class": class, "rows": rows })).collect();
    let warnings: Vec<Value> = trace.warnings.iter().map(|w| json!({ "code": w.name(), "cause": w.to_string() })).collect();
    let value = json!({
        "schema": INSPECTION_SCHEMA,
        "trace": name,
        "format": trace.format.name(),
        "rows": trace.rows,
        "other_rows": trace.other_rows,
        "dropped_in_a_replay": { "no_tokens": no_tokens, "no_input_tokens": no_input, "no_output_tokens": no_output },
        "session_rows": trace.session_rows,
        "out_of_order": trace.out_of_order,
        "arrivals": trace.arrivals.as_ref().map(arrivals),
        "input_tokens": trace.input_tokens.as_ref().map(lengths),
        "output_tokens": trace.output_tokens.as_ref().map(lengths),
        "length_correlation": trace.correlation,
        "prefix": prefix,
        "classes": classes,
        "warnings": warnings,
    });
    super::to_bytes(&value)
}

fn arrivals(of: &ArrivalSummary) -> Value {
    let gaps = of.gaps.as_ref();
    let above = |long: fn(&GapSummary) -> (u64, f64)| {
        let (count, sum) = gaps.map_or((0, 0.0), long);
        json!({ "count": count, "sum_s": sum })
    };
    let windows: Vec<Value> = WINDOWS
        .iter()
        .zip(&of.windows)
        .filter_map(|(width, window)| {
            let window = window.as_ref()?;
            Some(json!({
                "window_s": width,
                "dispersion": window.dispersion,
                "peak_to_mean": window.peak_to_mean,
                "peak": window.peak,
                "empty_share": window.empty,
                "input_tokens_peak_to_mean": window.input_peak_to_mean,
                "output_tokens_peak_to_mean": window.output_peak_to_mean,
            }))
        })
        .collect();
    json!({
        "span_s": of.span,
        "rate": of.rate,
        "head_rate": of.head_rate,
        "gap_s": gaps.map(|g| json!({ "mean": g.mean, "p50": g.p50, "p90": g.p90, "p99": g.p99, "max": g.max })),
        "gap_cv": gaps.map(|g| g.cv),
        "zero_gaps": gaps.map_or(0, |g| g.zero),
        "gaps_above_10s": above(|g| g.above_10s),
        "gaps_above_60s": above(|g| g.above_60s),
        "windows": windows,
        "coarse": { "window_s": COARSE, "counts": of.coarse },
        "input_token_rate": of.token_rates.0,
        "output_token_rate": of.token_rates.1,
        "instants": of.ticks.instants,
        "requests_per_instant": { "mean": of.ticks.per_instant.0, "max": of.ticks.per_instant.1, "dispersion": of.ticks.per_instant.2 },
    })
}

fn lengths(of: &LengthSummary) -> Value {
    json!({
        "mean": of.mean,
        "p50": of.p50,
        "p90": of.p90,
        "p99": of.p99,
        "min": of.min,
        "max": of.max,
        "at_max": of.at_max,
        "cv": of.cv,
    })
}
