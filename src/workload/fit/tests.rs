use std::path::{Path, PathBuf};

use super::*;
use crate::workload::config::{LengthDistribution, LengthShape};
use crate::workload::trace::CsvExport;

fn generate(workload: &WorkloadConfig, span: SimTime, seed: u64) -> Vec<(u64, u32, u32)> {
    let bounds = Bounds { horizon: Some(span), requests: None };
    let mut source = RequestSource::open(workload, Streams::new(seed), bounds).unwrap();
    let next = || source.next().unwrap().map(|r| (r.arrival.as_nanos(), r.input_tokens, r.output_tokens));
    std::iter::from_fn(next).collect()
}

#[test]
fn the_imitation_of_a_real_trace_has_its_rate_variation_and_lengths() {
    let root = std::env::var_os("SHEDCAST_SHARED_DIR").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let path = root.join("data/traces/azure2023/AzureLLMInferenceTrace_conv.csv");
    if !path.exists() {
        println!("skipped: {} is absent (set SHEDCAST_SHARED_DIR)", path.display());
        return;
    }
    let config = TraceConfig { path, class: "conversation".into(), ..Default::default() };
    let fit = fit(&config, FitOptions::default()).unwrap();
    // Mean rate within 1 %, everything else within 5 %.
    for ((name, found), (_, original)) in fit.imitation.named().into_iter().zip(fit.trace.named()) {
        let allowed = if name == "rate" { 0.01 } else { 0.05 };
        assert!((found / original - 1.0).abs() < allowed, "{name}: {found} is not {original} ({} {})", fit.process, fit.cv);
    }
    assert!((fit.trace.rate - 5.530).abs() < 0.001 && (fit.trace.gap_cv - 1.094).abs() < 0.001);
}

#[test]
fn a_fit_finds_the_process_that_made_a_trace() {
    let lengths = |mean| LengthDistribution { shape: LengthShape::Gamma { mean, cv: 0.5 }, min: 1, max: None };
    let rate = |pieces: &[(u64, f64)]| {
        let piece = |&(s, rate): &(u64, f64)| RatePiece { at: SimTime::from_nanos(s * NANOS_PER_SECOND), rate, ramp: false };
        RateSchedule(pieces.iter().map(piece).collect())
    };
    for (process, name, cv) in [
        (ArrivalProcess::Poisson { rate: rate(&[(0, 10.0), (1_000, 30.0)]) }, "poisson", 1.0),
        (ArrivalProcess::Gamma { rate: rate(&[(0, 10.0), (1_000, 30.0)]), cv: 2.5 }, "gamma", 2.5),
        (ArrivalProcess::Weibull { rate: rate(&[(0, 20.0)]), cv: 2.5 }, "weibull", 2.5),
        (ArrivalProcess::Gamma { rate: rate(&[(0, 20.0)]), cv: 0.5 }, "gamma", 0.5),
    ] {
        let stream = StreamConfig {
            class: "a".into(),
            arrivals: Some(process),
            weight: None,
            lengths: StreamLengths::Separate { input_tokens: lengths(900.0), output_tokens: lengths(90.0), correlation: 0.4 },
        };
        let workload = WorkloadConfig { streams: vec![stream], ..Default::default() };
        let made = generate(&workload, SimTime::from_nanos(2_000 * NANOS_PER_SECOND), 5);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("made.csv");
        let mut export = CsvExport::new(std::fs::File::create(&path).unwrap(), false).unwrap();
        for r in &made {
            export.write(SimTime::from_nanos(r.0), (r.1, r.2), "a", None, None).unwrap();
        }
        export.finish().unwrap();
        let config = TraceConfig { path, class: "a".into(), ..Default::default() };
        let fit = fit(&config, FitOptions { pieces: 2, ..Default::default() }).unwrap();
        assert_eq!(fit.process, name);
        // 40,000 gaps, or 20,000: the variation is known to 3 %, the correlation to 0.02.
        assert!((fit.cv / cv - 1.0).abs() < 0.05, "{name}: {}", fit.cv);
        assert!((fit.length_correlation - 0.4).abs() < 0.02, "{}", fit.length_correlation);
        for ((figure, found), (_, original)) in fit.imitation.named().into_iter().zip(fit.trace.named()) {
            assert!((found / original - 1.0).abs() < 0.06, "{name}, {figure}: {found} is not {original}");
        }
    }
}

#[test]
fn too_short_a_trace_is_not_fitted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/traces/mooncake.jsonl");
    let config = TraceConfig { path, class: "a".into(), ..Default::default() };
    let message = fit(&config, FitOptions::default()).unwrap_err().to_string();
    assert!(message.contains("3 requests: expected at least 100"), "{message}");
}
