//! The figure of a trace.

use super::super::charts::data::{Heading, Sample, TraceData};
use super::super::charts::{Figure, trace};
use super::{figure_of, requests};
use crate::workload::inspect::{ShapeInterval, TraceSummary, WINDOWS};

/// Arrivals over time and lengths of the trace called `name`.
pub fn trace_figure(name: &str, summary: &TraceSummary) -> Figure {
    trace(&data(name, summary))
}

fn data(name: &str, summary: &TraceSummary) -> TraceData {
    let shape = &summary.shape;
    let span = summary.arrivals.as_ref().map_or(0.0, |arrivals| arrivals.span);
    let rate = |of: fn(&ShapeInterval) -> u64| -> Vec<Sample> {
        let last = shape.intervals.len().saturating_sub(1);
        let rate = |(i, interval): (usize, &ShapeInterval)| {
            let start = shape.interval * i as f64;
            // The last interval ends with the trace; one too short for a rate is drawn as if it were whole.
            let cut = span - start;
            let width = if i == last && cut > shape.interval * 0.5 { cut } else { shape.interval };
            [start, of(interval) as f64 / width]
        };
        let mut curve: Vec<Sample> = shape.intervals.iter().enumerate().map(rate).collect();
        curve.extend(curve.last().map(|last| [span, last[1]]));
        curve
    };
    let shares = |of: &[(u32, f64)]| of.iter().map(|(tokens, share)| [f64::from(*tokens), *share]).collect();
    TraceData {
        heading: Heading { title: title(summary), subtitle: subtitle(name, summary), ..Heading::default() },
        span,
        requests: rate(|interval| interval.requests),
        mean_rate: summary.arrivals.as_ref().map_or(0.0, |arrivals| arrivals.rate),
        input_tokens: rate(|interval| interval.input_tokens),
        output_tokens: rate(|interval| interval.output_tokens),
        input_shares: shares(&shape.input_shares),
        output_shares: shares(&shape.output_shares),
    }
}

/// How bursty the arrivals are, at the coarsest window there are figures for.
fn title(summary: &TraceSummary) -> String {
    let requests = requests(summary.rows);
    let Some(arrivals) = &summary.arrivals else { return format!("{requests}: lengths without arrivals") };
    let mut windows = WINDOWS.iter().zip(&arrivals.windows).filter_map(|(width, window)| Some((width, window.as_ref()?)));
    let peak = match windows.next_back() {
        Some((width, window)) => {
            format!("; the busiest {width} s bring {} times the mean", crate::stats::text::significant(window.peak_to_mean, 3))
        }
        None => String::new(),
    };
    let Some(gaps) = &arrivals.gaps else { return requests };
    format!("{requests} at {}/s, gaps of variation {}{peak}", figure_of(arrivals.rate), figure_of(gaps.cv))
}

fn subtitle(name: &str, summary: &TraceSummary) -> String {
    let interval = summary.shape.interval;
    let per = if interval > 0.0 { format!(", per {}", crate::stats::text::duration(interval * 1e9)) } else { String::new() };
    format!("{name}, {} trace{per}", summary.format.name())
}
