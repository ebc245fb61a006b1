//! Public traces as published, read through the workload's public interface. Skipped where the files are absent.

use std::path::PathBuf;

use shedcast::engine::Streams;
use shedcast::experiment::imitation::{TOLERANCE, compare_refusals};
use shedcast::scenario::Scenario;
use shedcast::workload::config::{TraceConfig, WorkloadConfig};
use shedcast::workload::fit::{FitOptions, fit};
use shedcast::workload::{Bounds, RequestSource, RequestSpec};

use crate::harness::shared;

/// Every request of a trace; the format is recognised.
fn replay(path: PathBuf) -> Vec<RequestSpec> {
    let trace = TraceConfig { path, class: "default".to_owned(), ..TraceConfig::default() };
    let config = WorkloadConfig { trace: Some(trace), ..WorkloadConfig::default() };
    let bounds = Bounds { horizon: None, requests: None };
    let mut source = RequestSource::open(&config, Streams::new(1), bounds).unwrap_or_else(|error| panic!("{error}"));
    let mut requests = Vec::new();
    while let Some(request) = source.next().unwrap_or_else(|error| panic!("{error}")) {
        requests.push(request);
    }
    let report = source.trace_report().expect("a trace");
    assert!(report.is_balanced(), "{report}");
    assert_eq!((report.emitted, source.emitted()), (requests.len() as u64, requests.len() as u64));
    assert!(requests.windows(2).all(|pair| pair[0].arrival <= pair[1].arrival), "arrivals are in order");
    assert_eq!(requests.first().map(|r| r.arrival.as_nanos()), Some(0), "the trace begins with its first row");
    requests
}

#[test]
fn azure_2023_is_read_to_the_last_microsecond() {
    for (file, rows, last_micros) in [("code", 8_819, 3_435_948_056_u64), ("conv", 19_366, 3_501_721_937)] {
        let Some(path) = shared(&format!("data/traces/azure2023/AzureLLMInferenceTrace_{file}.csv")) else { return };
        let requests = replay(path);
        let last = requests.last().expect("requests").arrival.as_nanos();
        assert_eq!((requests.len(), last), (rows, last_micros * 1_000), "{file}");
    }
}

#[test]
fn an_imitation_of_the_azure_conversation_is_refused_as_often_as_the_trace() {
    let Some(path) = shared("data/traces/azure2023/AzureLLMInferenceTrace_conv.csv") else { return };
    let trace = TraceConfig { path, class: "default".to_owned(), ..TraceConfig::default() };
    let fit = fit(&trace, FitOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    // Slots refuse in one fleet, the decode threshold in the other: 14 % and 8 %.
    for (limits, share) in [
        ("engine_request_limit = 10\nrequest_queue_limit = 4\nkv_total_blocks = 2000", 0.138),
        ("kv_total_blocks = 1500\n[frontend]\nrouter_mode = \"kv\"\nactive_decode_blocks_threshold = 0.8", 0.079),
    ] {
        let text = format!("horizon = \"1h\"\n[fleet]\nworkers = 1\nengine = \"h100-llama-3.1-8b-bf16-vllm\"\n{limits}\n");
        let scenario = Scenario::parse(&text, "fleet.toml", &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario;
        let refusals = compare_refusals(&scenario, &trace, &fit).unwrap_or_else(|error| panic!("{error}"));
        let (refused, error) = (refusals.trace.expect("refusals"), refusals.relative_error().expect("refusals"));
        assert!((refused / share - 1.0).abs() < 0.05, "{refused} of the trace is refused");
        assert!(error.abs() < TOLERANCE, "{limits}: off by {error}: {refusals:?}");
    }
}

#[test]
fn mooncake_conversation_is_read_whole() {
    let Some(path) = shared("data/traces/mooncake/conversation_trace.jsonl") else { return };
    let requests = replay(path);
    let repeated = requests.windows(2).filter(|pair| pair[0].arrival == pair[1].arrival).count();
    assert_eq!((requests.len(), repeated), (12_031, 10_851), "most rows share their instant with the one before");
}
