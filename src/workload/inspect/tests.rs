//! Figures of the public traces, against those published with the shared data; skipped where it is absent.

use std::path::{Path, PathBuf};

use super::*;
use crate::engine::rng::Streams;
use crate::units::Span;
use crate::workload::config::TraceOptions;
use crate::workload::trace::TraceReplay;

/// A file of the shared data, or nothing (said aloud) where that is absent.
fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("SHEDCAST_SHARED_DIR").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let path = root.join("data/traces").join(name);
    if !path.exists() {
        println!("skipped: {} is absent (set SHEDCAST_SHARED_DIR)", path.display());
    }
    path.exists().then_some(path)
}

fn config(path: PathBuf) -> TraceConfig {
    TraceConfig { path, class: "trace".into(), ..Default::default() }
}

/// Asserts that `found` is `printed` to one unit of the last printed digit.
fn near(what: &str, found: f64, printed: &str) {
    let plain = printed.replace(',', "");
    let digits = plain.split_once('.').map_or(0, |p| p.1.len());
    let unit = (0..digits).fold(1.0, |unit, _| unit / 10.0);
    let value: f64 = plain.parse().unwrap();
    assert!((found - value).abs() <= unit * 1.000_001, "{what}: {found} is not {printed}");
}

fn all(what: &str, found: &[f64], printed: &str) {
    let printed: Vec<&str> = printed.split('/').collect();
    assert_eq!(found.len(), printed.len(), "{what}");
    found.iter().zip(printed).for_each(|(f, p)| near(what, *f, p));
}

struct Expected {
    file: &'static str,
    rows: u64,
    /// span, rate, gap mean, p50, p90, p99, max, cv.
    arrivals: &'static str,
    dispersion: &'static str,
    peaks: &'static str,
    /// mean, p50, p90, p99, max.
    input: &'static str,
    output: &'static str,
    /// Prompt and generated tokens per second, then token peaks of both.
    tokens: Option<[&'static str; 3]>,
    no_tokens: u64,
}

const EXPECTED: [Expected; 5] = [
    Expected {
        file: "azure2023/AzureLLMInferenceTrace_code.csv",
        rows: 8_819,
        arrivals: "3,435.95/2.566/0.3897/0.0638/0.2729/2.205/217.2/13.15",
        dispersion: "13.19/71.64/164.0",
        peaks: "26.1/12.8/4.18",
        input: "2,048/1,469/5,188/7,436/7,437",
        output: "27.9/13/55/251/1,899",
        tokens: Some(["5,256/72", "25.3/13.4/4.29", "30.2/12.4/3.97"]),
        no_tokens: 0,
    },
    Expected {
        file: "azure2023/AzureLLMInferenceTrace_conv.csv",
        rows: 19_366,
        arrivals: "3,501.72/5.530/0.1808/0.1184/0.4207/0.8897/4.315/1.094",
        dispersion: "1.385/3.857/16.13",
        peaks: "2.89/1.77/1.52",
        input: "1,155/1,020/2,734/4,142/14,050",
        output: "211/129/424/601/1,000",
        tokens: Some(["6,386/1,168", "5.24/2.58/1.90", "3.16/1.71/1.27"]),
        no_tokens: 0,
    },
    Expected {
        file: "mooncake/conversation_trace.jsonl",
        rows: 12_031,
        arrivals: "3,537.00/3.401/0.2940/0/0/3.001/3.003/3.034",
        dispersion: "7.90/2.10/2.89",
        peaks: "8.23/1.97/1.21",
        input: "12,035/6,909/27,367/85,400/126,195",
        output: "343/350/597/1,119/2,000",
        tokens: Some(["40,937/1,165", "12.9/2.19/1.28", "9.32/2.14/1.39"]),
        no_tokens: 0,
    },
    Expected {
        file: "burstgpt/BurstGPT_1_first400.csv",
        rows: 400,
        arrivals: "37,269/0.01071/93.4/22/141.2/1,020/6,651/4.561",
        dispersion: "1.00/1.23/2.78",
        peaks: "187/28.2/12.5",
        input: "520/314/1,418/1,958/2,126",
        output: "277/230/571/1,421/2,019",
        tokens: None,
        no_tokens: 17,
    },
    Expected {
        file: "burstgpt/BurstGPT_3_first400.csv",
        rows: 400,
        arrivals: "41,453/0.00963/103.9/28/184.8/1,640/2,892/2.867",
        dispersion: "1.01/1.19/2.25",
        peaks: "208/41.6/12.2",
        input: "617/309/1,134/5,929/25,085",
        output: "171/101/422/862/1,101",
        tokens: None,
        no_tokens: 1,
    },
];

fn lengths(l: &LengthSummary) -> [f64; 5] {
    [l.mean, l.p50, l.p90, l.p99, f64::from(l.max)]
}

#[test]
fn the_public_traces_have_their_published_figures() {
    for e in EXPECTED {
        let Some(path) = shared(e.file) else { return };
        let summary = inspect(&config(path), None).unwrap();
        assert_eq!((summary.rows, summary.out_of_order, summary.zero_rows), (e.rows, 0, [e.no_tokens, 0, 0]), "{}", e.file);
        let a = summary.arrivals.as_ref().unwrap();
        let g = &a.gaps.expect("several arrivals");
        all(e.file, &[a.span, a.rate, g.mean, g.p50, g.p90, g.p99, g.max, g.cv], e.arrivals);
        let windows = a.windows.map(|w| w.expect("every span is longer than a minute"));
        all(e.file, &windows.map(|w| w.dispersion), e.dispersion);
        all(e.file, &windows.map(|w| w.peak_to_mean), e.peaks);
        all(e.file, &lengths(summary.input_tokens.as_ref().unwrap()), e.input);
        all(e.file, &lengths(summary.output_tokens.as_ref().unwrap()), e.output);
        if let Some([rates, inputs, outputs]) = e.tokens {
            all(e.file, &[a.token_rates.0, a.token_rates.1], rates);
            all(e.file, &windows.map(|w| w.input_peak_to_mean), inputs);
            all(e.file, &windows.map(|w| w.output_peak_to_mean), outputs);
        }
    }
}

#[test]
fn the_azure_traces_replay_to_the_microsecond_and_show_their_shape() {
    for (file, requests, last) in [("code", 8_819, 3_435_948_056_000), ("conv", 19_366, 3_501_721_937_000)] {
        let Some(path) = shared(&format!("azure2023/AzureLLMInferenceTrace_{file}.csv")) else { return };
        let mut replay = TraceReplay::open(&config(path), Streams::new(1)).unwrap();
        while replay.next().unwrap().is_some() {}
        let report = replay.report();
        assert_eq!((report.emitted, report.last_arrival.map(|t| t.as_nanos())), (requests, Some(last)));
    }
    let Some(path) = shared("azure2023/AzureLLMInferenceTrace_code.csv") else { return };
    let a = inspect(&config(path), None).unwrap().arrivals.unwrap();
    assert_eq!(a.coarse, [781, 701, 1116, 1030, 1199, 913, 881, 870, 577, 32, 363, 356]);
    assert_eq!((a.gaps.unwrap().above_60s.0, a.gaps.unwrap().above_10s.0), (12, 45));
    near("gaps above 10 s", a.gaps.unwrap().above_10s.1, "2377");
    let Some(path) = shared("azure2023/AzureLLMInferenceTrace_conv.csv") else { return };
    let summary = inspect(&config(path), None).unwrap();
    assert_eq!(summary.output_tokens.unwrap().at_max, 11);
    assert_eq!(summary.arrivals.unwrap().coarse, [1445, 1422, 1557, 1561, 1884, 2239, 2229, 1839, 1701, 1424, 1297, 768]);
}

#[test]
fn the_mooncake_conversation_shows_its_ticks_and_its_reusable_prefixes() {
    let Some(path) = shared("mooncake/conversation_trace.jsonl") else { return };
    let summary = inspect(&config(path.clone()), Some(100_000)).unwrap();
    let ticks = summary.arrivals.as_ref().unwrap().ticks;
    assert_eq!((ticks.instants, ticks.per_instant.1), (1_180, 28));
    all("ticks", &[ticks.shortest, ticks.longest, ticks.per_instant.0, ticks.per_instant.2], "2.997/3.003/10.2/1.10");
    let prefix = summary.prefix.unwrap();
    assert_eq!((prefix.rows, prefix.distinct_blocks), (12_031, 182_790));
    near("reusable", prefix.reusable_share * 100.0, "37.4");
    let names: Vec<&str> = summary.warnings.iter().map(TraceWarning::name).collect();
    assert_eq!(names, ["trace_ticks", "trace_prefix_reuse", "trace_past_context"]);

    // Spread over their ticks, arrivals look like a Poisson process. The published figures are another draw: gaps to 3 %,
    // dispersions (353 windows of 10 s and fewer of 60 s) to 10 %.
    let options = TraceOptions { dequantise: Some(Span::from_secs(3)), ..Default::default() };
    let mut replay = TraceReplay::open(&TraceConfig { options, ..config(path) }, Streams::new(1)).unwrap();
    let mut rows = vec![];
    while let Some(r) = replay.next().unwrap() {
        rows.push(Row { at: i128::from(r.arrival.as_nanos()), input: r.input_tokens, output: r.output_tokens });
    }
    let a = arrivals(&rows);
    let w = a.windows.map(Option::unwrap);
    let found = [
        a.rate,
        a.gaps.unwrap().p50,
        a.gaps.unwrap().p90,
        a.gaps.unwrap().p99,
        a.gaps.unwrap().cv,
        w[0].dispersion,
        w[1].dispersion,
        w[2].dispersion,
    ];
    for (i, (found, published)) in found.iter().zip([3.40, 0.2025, 0.6754, 1.389, 1.009, 1.05, 1.50, 2.86]).enumerate() {
        let allowed = if i < 5 { 0.03 } else { 0.1 };
        assert!((found / published - 1.0).abs() < allowed, "{found} is not {published}");
    }
}

#[test]
fn the_vidur_files_are_read_with_and_without_arrivals() {
    let Some(path) = shared("vidur/splitwise_conv.first500.csv") else { return };
    let summary = inspect(&config(path), None).unwrap();
    assert_eq!(summary.rows, 500);
    near("span", summary.arrivals.unwrap().span, "129.012474");
    let Some(path) = shared("vidur/arxiv_summarization_stats_llama2_tokenizer_filtered_v2.first1000.csv") else { return };
    let summary = inspect(&config(path), None).unwrap();
    assert_eq!((summary.rows, summary.arrivals.is_none()), (1_000, true));
}

#[test]
fn the_servegen_pool_has_its_published_figures() {
    let Some(path) = shared("servegen/reason/deepseek-r1") else { return };
    let s = inspect_servegen(&path).unwrap();
    assert_eq!((s.clients, s.windows, s.span), (73, 144, 86_400.0));
    all("rate", &[s.rate.0, s.rate.1, s.rate.2, s.peak_to_mean], "16.0/4.3/42.5/2.66");
    all("cv", &[s.cv.0, s.cv.1, s.cv.2, s.weighted_cv], "1.03/3.95/9.69/2.28");
}

#[test]
fn other_shared_traces_are_recognised_and_read_to_the_end() {
    for (file, format, rows) in [
        ("inference-perf/trace.csv", TraceFormat::Azure, 20),
        ("splitwise-sim/test_trace.csv", TraceFormat::SplitwiseSim, 3),
        ("llmservingsim/example_trace.jsonl", TraceFormat::LlmServingSim, 10),
        ("aiperf/precise_schedule.jsonl", TraceFormat::Mooncake, 8),
        ("aiperf/production_trace.jsonl", TraceFormat::Mooncake, 10),
        ("dynamo/mooncake.jsonl", TraceFormat::Mooncake, 2),
        ("dynamo/mooncake_tiny.jsonl", TraceFormat::Mooncake, 16),
        ("dynamo/dynamo-standard.jsonl", TraceFormat::DynamoRequestTrace, 2),
        ("dynamo/dynamo-agentic.jsonl", TraceFormat::DynamoRequestTrace, 4),
        ("../calibration/llmservingsim/RTX4090_Llama-3.1-8B/requests.jsonl", TraceFormat::VllmLog, 300),
        ("../calibration/llmservingsim/RTXPRO6000_Llama-3.1-8B/requests.jsonl", TraceFormat::VllmLog, 300),
    ] {
        let Some(path) = shared(file) else { return };
        let summary = inspect(&config(path.clone()), None).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((summary.format, summary.rows), (format, rows), "{file}");
        let mut replay = TraceReplay::open(&config(path), Streams::new(1)).unwrap();
        while replay.next().unwrap_or_else(|e| panic!("{e}")).is_some() {}
        assert!(replay.report().is_balanced() && replay.report().emitted == rows, "{}", replay.report());
    }
    for file in ["dynamo/agentic-mooncake.jsonl", "dynamo/applied-compute-agentic.jsonl", "dynamo/mooncake-delta.jsonl"] {
        let Some(path) = shared(file) else { return };
        assert!(inspect(&config(path), None).is_err(), "{file}");
    }
}

#[test]
fn a_single_request_has_no_gaps_and_no_correlation() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, "arrived_at,num_prefill_tokens,num_decode_tokens\n3,9,4\n").unwrap();
    let summary = inspect(&config(path), None).unwrap();
    assert_eq!((summary.correlation, summary.arrivals.as_ref().unwrap().gaps), (None, None));
    let text = crate::report::trace::inspection_text("t.csv", &summary);
    assert!(text.contains("1 request\n") && !text.contains("gaps") && !text.contains("correlation"), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&crate::report::trace::inspection_json("t.csv", &summary)).unwrap();
    assert!(json["length_correlation"].is_null() && json["arrivals"]["gap_s"].is_null() && json["arrivals"]["gap_cv"].is_null());
}

#[test]
fn a_small_trace_has_the_figures_worked_out_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, "arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,4\n1,2,3\n1,3,2\n4,6,1\n").unwrap();
    let summary = inspect(&config(path), None).unwrap();
    let a = summary.arrivals.unwrap();
    assert_eq!(
        (a.span, a.rate, a.gaps.unwrap().mean, a.gaps.unwrap().p50, a.gaps.unwrap().max, a.gaps.unwrap().zero),
        (4.0, 0.75, 4.0 / 3.0, 1.0, 3.0, 1)
    );
    // Counts 1, 2, 0, 0 in the four whole seconds: mean 3/4, variance 11/16.
    let w = a.windows[0].unwrap();
    assert!((w.dispersion - 11.0 / 12.0).abs() < 1e-12 && (w.peak_to_mean - 8.0 / 3.0).abs() < 1e-12 && w.empty == 0.5);
    assert_eq!(a.windows[1], None);
    for (found, expected) in lengths(&summary.input_tokens.unwrap()).iter().zip([3.0, 2.5, 5.1, 5.91, 6.0]) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }
    assert!((summary.correlation.unwrap() + 0.956_182_887).abs() < 1e-8, "{:?}", summary.correlation);
}
