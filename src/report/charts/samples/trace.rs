//! Samples of figures of traces.

use super::super::data::{Sample, TraceData};
use super::super::{Figure, trace};
use super::{Noise, heading};

pub(super) fn figures() -> Vec<(&'static str, Figure)> {
    let mut noise = Noise(11);
    let mut bins = |mean: f64| -> Vec<Sample> {
        (0..300).map(|i| [f64::from(i) * 12.0, if i % 40 == 7 { mean * 9.0 } else { mean * noise.next() }]).collect()
    };
    let shares = |first: f64, ratio: f64| -> Vec<Sample> {
        let mut tokens = first;
        (1..=60)
            .map(|i| {
                tokens *= ratio;
                [tokens.round(), f64::from(i) / 60.0]
            })
            .collect()
    };
    let data = TraceData {
        heading: heading("19,366 requests in 58 min, 5.53/s; a minute's peak is 1.5 times the mean"),
        span: 3_600.0,
        requests: bins(5.5),
        mean_rate: 5.5,
        input_tokens: bins(6_386.0),
        output_tokens: bins(1_168.0),
        input_shares: shares(3.0, 1.15),
        output_shares: shares(1.0, 1.12),
    };
    let lengths_only = TraceData { span: 0.0, ..data.clone() };
    let empty = TraceData { heading: heading("no requests"), ..TraceData::default() };
    let instant = TraceData { heading: heading("one request"), input_shares: vec![[0.0, 1.0]], ..TraceData::default() };
    vec![
        ("trace", trace(&data)),
        ("trace_lengths", trace(&lengths_only)),
        ("trace_empty", trace(&empty)),
        ("trace_no_tokens", trace(&instant)),
    ]
}
