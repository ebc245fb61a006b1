use std::path::{Path, PathBuf};

use super::*;
use crate::workload::config::{TimeUnit, TraceColumns, TraceOptions};
use crate::workload::trace::TraceFormat;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/traces").join(name)
}

fn config(path: PathBuf, options: TraceOptions) -> TraceConfig {
    TraceConfig { path, format: None, class: "trace".into(), options }
}

/// A file of its own, in a folder that lives as long as the guard.
fn file(name: &str, content: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, content).unwrap();
    (dir, path)
}

fn replay(config: &TraceConfig) -> Result<(Vec<ReplayedRequest>, TraceReport), WorkloadError> {
    let mut replay = TraceReplay::open(config, Streams::new(1))?;
    let mut requests = vec![];
    while let Some(request) = replay.next()? {
        requests.push(request);
    }
    let report = replay.report();
    assert!(report.is_balanced(), "{report:?}");
    Ok((requests, report))
}

/// (arrival in ns, input, output) of every request.
fn tuples(config: &TraceConfig) -> Vec<(u64, u32, u32)> {
    let (requests, _) = replay(config).unwrap_or_else(|e| panic!("{e}"));
    requests.iter().map(|r| (r.arrival.as_nanos(), r.input_tokens, r.output_tokens)).collect()
}

fn of(name: &str) -> Vec<(u64, u32, u32)> {
    tuples(&config(fixture(name), TraceOptions::default()))
}

fn of_text(name: &str, content: &str, options: TraceOptions) -> Result<(Vec<u64>, TraceReport), WorkloadError> {
    let (_dir, path) = file(name, content);
    replay(&config(path, options)).map(|(r, report)| (r.iter().map(|r| r.arrival.as_nanos()).collect(), report))
}

fn error_of(name: &str, content: &str, options: TraceOptions) -> String {
    let message = of_text(name, content, options).unwrap_err().to_string();
    assert!(message.contains("\n  hint: ") && message.contains("expected"), "{message}");
    message
}

#[test]
fn every_format_is_recognised_and_read_with_its_unit() {
    for (name, format, expected) in [
        ("azure_2023.csv", TraceFormat::Azure, vec![(0, 10, 1), (MS, 20, 2), (8 * MS, 30, 3), (10 * MS, 40, 4)]),
        ("azure_2024.csv", TraceFormat::Azure, vec![(0, 2100, 7), (4_930_000, 1900, 11), (1_000 * MS, 80, 13)]),
        ("azure_lmm_2025.csv", TraceFormat::Azure, vec![(0, 700, 400), (250 * MS, 1500, 90)]),
        ("mooncake.jsonl", TraceFormat::Mooncake, vec![(0, 1500, 52), (10_535 * MS, 1100, 26), (27_482 * MS, 600, 9)]),
        ("mooncake_superset.jsonl", TraceFormat::Mooncake, vec![(0, 32, 4), (19_750_000, 24, 3)]),
        ("dynamo_request_trace.jsonl", TraceFormat::DynamoRequestTrace, vec![(0, 4, 7), (1_500 * MS, 9, 2)]),
        ("burstgpt_1.csv", TraceFormat::BurstGpt, vec![(0, 400, 20), (60_000 * MS, 100, 7)]),
        ("burstgpt_3.csv", TraceFormat::BurstGpt, vec![(0, 900, 450), (51_500 * MS, 40, 30)]),
        ("bailian.jsonl", TraceFormat::Bailian, vec![(0, 500, 130), (86 * MS, 40, 13)]),
        ("llmservingsim.jsonl", TraceFormat::LlmServingSim, vec![(0, 3, 2), (300_000_144, 25, 100)]),
        ("vllm_log.jsonl", TraceFormat::VllmLog, vec![(0, 10, 7), (589_298_933, 20, 5)]),
        ("vidur.csv", TraceFormat::Vidur, vec![(0, 370, 40), (4_000_579_000, 400, 110)]),
        ("splitwise_sim.csv", TraceFormat::SplitwiseSim, vec![(0, 4000, 30), (2_000 * MS, 2000, 10)]),
        ("blis.csv", TraceFormat::Blis, vec![(0, 100, 10), (MS, 200, 20)]),
        ("shedcast.csv", TraceFormat::Shedcast, vec![(1_500, 10, 3), (2_500, 0, 4)]),
    ] {
        assert_eq!(of(name), expected, "{name}");
        let (_, report) = replay(&config(fixture(name), TraceOptions::default())).unwrap();
        assert_eq!(report.format, format, "{name}");
        let named = TraceConfig { format: Some(format.name().into()), ..config(fixture(name), TraceOptions::default()) };
        assert_eq!(tuples(&named), expected, "{name} by name");
    }
}

#[test]
fn line_ends_gzip_blank_lines_and_a_missing_end_change_nothing() {
    use std::io::Write;
    for name in ["azure_2023.csv", "mooncake.jsonl", "burstgpt_3.csv"] {
        let text = std::fs::read_to_string(fixture(name)).unwrap().replace("\r\n", "\n");
        let expected = of(name);
        let trimmed = text.trim_end();
        let crlf = trimmed.replace('\n', "\r\n");
        for variant in [text.clone(), crlf.clone(), crlf.replace("\r\n", "\r\n \r\n\r\n"), format!("\u{feff}{text}\n\n")] {
            let (_dir, path) = file("variant", &variant);
            assert_eq!(tuples(&config(path, TraceOptions::default())), expected, "{variant:?}");
        }
        let (dir, path) = file("trace.gz", "");
        let mut zip = flate2::write::GzEncoder::new(std::fs::File::create(&path).unwrap(), flate2::Compression::default());
        zip.write_all(crlf.as_bytes()).unwrap();
        zip.finish().unwrap();
        assert_eq!(tuples(&config(path, TraceOptions::default())), expected);
        drop(dir);
    }
}

#[test]
fn zero_token_rows_are_dropped_by_reason_and_counted() {
    let (requests, report) = replay(&config(fixture("burstgpt_1.csv"), TraceOptions::default())).unwrap();
    assert_eq!((requests.len(), report.rows_read, report.emitted), (2, 5, 2));
    for reason in [DropReason::NoTokens, DropReason::NoInput, DropReason::NoOutput] {
        assert_eq!(report.dropped_for(reason), 1, "{reason:?}");
    }
    let line = report.to_string();
    assert!(
        line.ends_with("(burstgpt): 5 rows = 2 replayed + 3 dropped (1 no_tokens, 1 no_input_tokens, 1 no_output_tokens)"),
        "{line}"
    );
    let strict = TraceOptions { strict: true, ..Default::default() };
    let message = replay(&config(fixture("burstgpt_1.csv"), strict)).unwrap_err().to_string();
    assert!(message.contains("burstgpt_1.csv:3: the row would be dropped (no_output_tokens)"), "{message}");
    let negative = "Timestamp,Request tokens,Response tokens\n1,5,5\n2,-5,5\n";
    let message = error_of("t.csv", negative, TraceOptions::default());
    assert!(message.contains("t.csv:3: field `Request tokens` is `-5`: expected 0 or more"), "{message}");
}

#[test]
fn other_events_and_agentic_sessions_are_skipped_and_counted() {
    let (_, report) =
        replay(&config(fixture("dynamo_request_trace.jsonl"), TraceOptions { strict: true, ..Default::default() })).unwrap();
    assert_eq!((report.rows_read, report.emitted, report.dropped_for(DropReason::OtherEvent)), (4, 2, 2));
    let (_, report) = replay(&config(fixture("llmservingsim.jsonl"), TraceOptions::default())).unwrap();
    assert_eq!(report.dropped_for(DropReason::AgenticSession), 1);
}

#[test]
fn requests_that_wait_for_others_are_refused() {
    let delta = config(fixture("mooncake_delta.jsonl"), TraceOptions::default());
    let message = replay(&delta).unwrap_err().to_string();
    assert!(message.contains("mooncake_delta.jsonl:2: field `delay`"), "{message}");
    let at_its_word = TraceConfig { format: Some("mooncake".into()), ..delta };
    let (requests, report) = replay(&at_its_word).unwrap();
    assert_eq!(requests.len(), 2);
    assert_eq!(report.warnings, [TraceWarning::SessionsFlattened { rows: 2 }]);
    let header = "{\"schema\":\"dynamo.agentic_mooncake\",\"version\":2,\"block_size\":4}\n";
    assert!(error_of("a.jsonl", header, TraceOptions::default()).contains("wait for one another"));
    let turns = "{\"num_turns\":2,\"input_prompt_length\":16}\n";
    assert!(error_of("a.jsonl", turns, TraceOptions::default()).contains("turns wait"));
}

#[test]
fn a_row_without_a_usable_time_names_file_line_and_field() {
    for (second, what) in [
        (r#"{"input_length": 5, "output_length": 5}"#, "field `timestamp` is missing"),
        (r#"{"timestamp": "abc", "input_length": 5, "output_length": 5}"#, "field `timestamp` is `abc`"),
        (r#"{"timestamp": NaN, "input_length": 5, "output_length": 5}"#, "field `timestamp`"),
        (r#"{"timestamp": 2, "input_length": 5.5, "output_length": 5}"#, "field `input_length` is `5.5`"),
        (r#"{"timestamp": 2, "input_length": 5, "output_length": 99999999999}"#, "at most 4294967295"),
        (r#"{"timestamp": 2, "input_length": 5, "output_length": 5, "hash_ids": 7}"#, "field `hash_ids` is `7`"),
        (r#"{"timestamp": 2, "input_length": 5, "output_length": 5, "hash_ids": [1, "a"]}"#, "field `hash_ids`"),
    ] {
        let row = |t| format!("{{\"timestamp\": {t}, \"input_length\": 5, \"output_length\": 5}}\n");
        let message =
            of_text("t.jsonl", &format!("{}{second}\n{}", row(1), row(3)), TraceOptions::default()).unwrap_err().to_string();
        assert!(message.contains("t.jsonl:2: ") && message.contains(what), "{message}");
    }
    let short = error_of("t.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00,5\n", TraceOptions::default());
    assert!(short.contains("t.csv:2: 2 columns: expected 3"), "{short}");
}

#[test]
fn files_of_no_known_format_are_refused_with_what_they_hold() {
    let none = TraceOptions::default;
    assert!(error_of("t.csv", "", none()).contains("empty"));
    assert!(error_of("t.csv", "when,in,out\n1,2,3\n", none()).contains("unknown columns `when,in,out`"));
    assert!(error_of("t.jsonl", "{\"foo\": 1}\n", none()).contains("unknown fields `foo`"));
    assert!(error_of("t.json", "[{\"timestamp\": 1}]\n", none()).contains("JSON array"));
    assert!(error_of("t.csv", "num_prefill_tokens,num_decode_tokens\n1,2\n", none()).contains("no arrivals"));
    let (_dir, path) = file("t.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n");
    let named = |name: &str| replay(&TraceConfig { format: Some(name.into()), ..config(path.clone(), none()) });
    assert!(named("pcap").unwrap_err().to_string().contains("`pcap` is no trace format"));
    assert!(named("mooncake").unwrap_err().to_string().contains("CSV"));
    assert!(named("burstgpt").unwrap_err().to_string().contains("no column `Timestamp`") || named("burstgpt").is_err());
    assert_eq!(named("azure").unwrap().1.warnings, [TraceWarning::NoRows]);
}

#[test]
fn epoch_timestamps_replay_like_small_ones() {
    let rows = |base: u64| -> String {
        [0, 1_500, 3_000]
            .iter()
            .map(|t| format!("{{\"timestamp\": {}, \"input_length\": 5, \"output_length\": 5}}\n", base + t))
            .collect()
    };
    let (epoch, _) = of_text("t.jsonl", &rows(1_787_000_000_000), TraceOptions::default()).unwrap();
    assert_eq!(epoch, [0, 1_500 * MS, 3_000 * MS]);
    assert_eq!(epoch, of_text("t.jsonl", &rows(0), TraceOptions::default()).unwrap().0);
}

#[test]
fn milliseconds_stay_milliseconds_and_a_doubtful_unit_is_said() {
    let rows: String = ["0.0", "0.4", "1.2"]
        .iter()
        .map(|t| format!("{{\"timestamp\": {t}, \"input_length\": 5, \"output_length\": 5}}\n"))
        .collect();
    let (times, report) = of_text("t.jsonl", &rows, TraceOptions::default()).unwrap();
    assert_eq!(times, [0, 400_000, 1_200_000]);
    assert!(matches!(report.warnings[..], [TraceWarning::UnitDoubt { unit: "ms", rate }] if (rate - 1_666.7).abs() < 0.1));
    let seconds = TraceOptions { time_unit: Some(TimeUnit::Seconds), ..Default::default() };
    let (times, report) = of_text("t.jsonl", &rows, seconds).unwrap();
    assert_eq!((times, report.warnings), (vec![0, 400 * MS, 1_200 * MS], vec![]));
    let fine: String = (0..10)
        .map(|i| format!("{{\"timestamp\": {:.1}, \"input_length\": 5, \"output_length\": 5}}\n", f64::from(i) * 0.4))
        .collect();
    let (times, _) = of_text("t.jsonl", &fine, TraceOptions::default()).unwrap();
    assert_eq!(times, (0..10).map(|i| i * 400_000).collect::<Vec<_>>());
}

#[test]
fn a_window_includes_both_ends_and_an_empty_one_is_said() {
    let window = |start: u64, end: u64| TraceOptions {
        window_start: Some(Span::from_millis(start)),
        window_end: Some(Span::from_millis(end)),
        ..Default::default()
    };
    let run = |start, end| replay(&config(fixture("mooncake.jsonl"), window(start, end))).unwrap();
    let (requests, report) = run(10_535, 27_482);
    assert_eq!(requests.iter().map(|r| r.arrival.as_nanos()).collect::<Vec<_>>(), [0, 16_947 * MS]);
    assert_eq!(report.dropped_for(DropReason::OutsideWindow), 1);
    for (start, end) in [(10_536, 27_481), (30_000, 40_000)] {
        let (requests, report) = run(start, end);
        assert!(requests.is_empty() && report.warnings.contains(&TraceWarning::NoRowsInWindow), "{report:?}");
        assert!(report.to_string().contains("3 rows = 0 replayed + 3 dropped"), "{report}");
    }
    let message = replay(&config(fixture("mooncake.jsonl"), window(2, 1))).unwrap_err().to_string();
    assert!(message.contains("window_end"), "{message}");
}

#[test]
fn gaps_are_cut_and_rates_scaled_exactly() {
    let options = |rate_scale, max_gap| TraceOptions { rate_scale, max_gap, ..Default::default() };
    let times = |o| tuples(&config(fixture("mooncake.jsonl"), o)).iter().map(|t| t.0).collect::<Vec<_>>();
    assert_eq!(times(options(Some(2.0), None)), [0, 5_267_500_000, 13_741 * MS]);
    assert_eq!(times(options(Some(0.1), None)), [0, 105_350 * MS, 274_820 * MS]);
    assert_eq!(times(options(None, Some(Span::from_secs(12)))), [0, 10_535 * MS, 22_535 * MS]);
    assert_eq!(times(options(Some(3.0), Some(Span::from_secs(1)))), [0, 333_333_333, 666_666_667]);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(replay(&config(fixture("mooncake.jsonl"), options(Some(bad), None))).is_err());
    }
}

#[test]
fn a_repeated_trace_goes_on_one_mean_gap_after_its_end() {
    let options = TraceOptions { repeat: true, ..Default::default() };
    let mut replay = TraceReplay::open(&config(fixture("mooncake.jsonl"), options), Streams::new(1)).unwrap();
    let times: Vec<u64> = (0..7).map(|_| replay.next().unwrap().unwrap().arrival.as_nanos()).collect();
    let (span, gap) = (27_482 * MS, 13_741 * MS);
    let second = span + gap;
    assert_eq!(times, [0, 10_535 * MS, span, second, second + 10_535 * MS, second + span, 2 * second]);
    assert!(replay.report().is_balanced());
    let at_once = "{\"timestamp\": 1, \"input_length\": 5, \"output_length\": 5}\n";
    let (_dir, path) = file("t.jsonl", at_once);
    let mut replay =
        TraceReplay::open(&config(path, TraceOptions { repeat: true, ..Default::default() }), Streams::new(1)).unwrap();
    assert!(replay.next().unwrap().is_some());
    assert!(replay.next().unwrap_err().to_string().contains("one instant"));
}

#[test]
fn rows_out_of_order_are_an_error_unless_they_are_sorted() {
    let rows: String =
        [5, 9, 3].iter().map(|t| format!("{{\"timestamp\": {t}, \"input_length\": {t}, \"output_length\": 1}}\n")).collect();
    let message = error_of("t.jsonl", &rows, TraceOptions::default());
    assert!(message.contains("t.jsonl:3: the row arrives 6ms before one above it"), "{message}");
    let (_dir, path) = file("t.jsonl", &rows);
    let sorted = tuples(&config(path, TraceOptions { sort: true, ..Default::default() }));
    assert_eq!(sorted, [(0, 3, 1), (2 * MS, 5, 1), (6 * MS, 9, 1)]);
}

#[test]
fn spread_ticks_stay_within_their_width_and_in_order() {
    let rows: String = (0..200)
        .flat_map(|tick| {
            (0..20)
                .map(move |i| format!("{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": 1}}\n", tick * 3_000, i + 1))
        })
        .collect();
    let (_dir, path) = file("t.jsonl", &rows);
    let plain = replay(&config(path.clone(), TraceOptions::default())).unwrap().1;
    assert!(
        plain.warnings.iter().any(|w| matches!(w, TraceWarning::Ticks { width, .. } if *width == Span::from_secs(3))),
        "{plain:?}"
    );
    let options = TraceOptions { dequantise: Some(Span::from_secs(3)), ..Default::default() };
    let (requests, report) = replay(&config(path.clone(), options.clone())).unwrap();
    assert_eq!((requests.len(), report.warnings), (4_000, vec![]));
    assert!(requests.is_sorted_by_key(|r| r.arrival));
    for request in &requests {
        // The first arrival is rebased to 0, so that its own shift is taken off every one.
        let tick = (request.line - 1) / 20 * 3_000 * MS;
        let moved = i128::from(request.arrival.as_nanos()) - i128::from(tick);
        assert!(moved > -3_000 * i128::from(MS) && moved < 3_000 * i128::from(MS), "{request:?}");
    }
    let distinct = requests.windows(2).filter(|w| w[0].arrival < w[1].arrival).count();
    assert!(distinct > 3_990, "{distinct}");
    assert_eq!(requests, replay(&config(path, options)).unwrap().0);
}

#[test]
fn reusable_prefixes_are_reported_and_taken_off_if_asked() {
    let (requests, report) = replay(&config(fixture("mooncake.jsonl"), TraceOptions::default())).unwrap();
    assert_eq!(requests[1].input_tokens, 1100);
    assert_eq!(report.warnings, [TraceWarning::PrefixReuse { share: 1024.0 / 3200.0, rows: 3, discounted: false }]);
    let discount = TraceOptions { prefix_reuse: PrefixReuse::Discount, ..Default::default() };
    let (requests, _) = replay(&config(fixture("mooncake.jsonl"), discount.clone())).unwrap();
    assert_eq!(requests.iter().map(|r| r.input_tokens).collect::<Vec<_>>(), [1500, 76, 600]);
    let by_16 = TraceOptions { hash_block_size: Some(16), ..discount };
    let (requests, _) = replay(&config(fixture("mooncake.jsonl"), by_16)).unwrap();
    assert_eq!(requests.iter().map(|r| r.input_tokens).collect::<Vec<_>>(), [1500, 1068, 600]);
}

#[test]
fn caps_and_a_row_limit_hold() {
    let options =
        TraceOptions { max_rows: Some(2), max_input_tokens: Some(1200), max_output_tokens: Some(30), ..Default::default() };
    let (requests, report) = replay(&config(fixture("mooncake.jsonl"), options)).unwrap();
    assert_eq!(requests.iter().map(|r| (r.input_tokens, r.output_tokens)).collect::<Vec<_>>(), [(1200, 30), (1100, 26)]);
    assert!(report.warnings.contains(&TraceWarning::Capped { inputs: 1, outputs: 1 }));
}

#[test]
fn own_columns_are_read_by_name_by_number_and_from_json() {
    let columns = TraceColumns {
        arrival: "when_ms".into(),
        arrival_unit: TimeUnit::Milliseconds,
        input_tokens: "prompt".into(),
        output_tokens: "answer, tokens".into(),
        service_time: Some(("took_us".into(), TimeUnit::Microseconds)),
        header: true,
    };
    let options = |columns: &TraceColumns, class: &str| TraceOptions {
        columns: Some(columns.clone()),
        class_column: Some(class.into()),
        ..Default::default()
    };
    let mut replay = TraceReplay::open(&config(fixture("own_columns.csv"), options(&columns, "who")), Streams::new(1)).unwrap();
    let (first, second) = (replay.next().unwrap().unwrap(), replay.next().unwrap().unwrap());
    assert_eq!((first.service_time, first.class), (Some(Span::from_millis(2_500)), Some(0)));
    assert_eq!((second.arrival.as_nanos(), second.output_tokens, second.class), (1_499_500_000, 2, Some(1)));
    assert_eq!(replay.class_names(), ["anna", "bert, jr."]);

    let numbered = TraceColumns {
        arrival: "1".into(),
        input_tokens: "3".into(),
        output_tokens: "4".into(),
        service_time: None,
        header: false,
        ..columns.clone()
    };
    let (_dir, path) = file("t.csv", "5,x,10,1\n7,y,20,2\n");
    assert_eq!(tuples(&config(path.clone(), options(&numbered, "2"))), [(0, 10, 1), (2 * MS, 20, 2)]);
    let wrong = TraceColumns { arrival: "9".into(), ..numbered };
    assert!(
        TraceReplay::open(&config(path, options(&wrong, "2")), Streams::new(1)).err().unwrap().to_string().contains("1 to 4")
    );

    let nested = TraceColumns {
        arrival: "a.t".into(),
        input_tokens: "a.in".into(),
        output_tokens: "out".into(),
        service_time: None,
        ..columns
    };
    let (_dir, path) = file("t.jsonl", "{\"a\": {\"t\": 5, \"in\": 1}, \"out\": 2, \"c\": \"x\"}\n");
    assert_eq!(tuples(&config(path, options(&nested, "c"))), [(0, 1, 2)]);
}

#[test]
fn times_beyond_the_clock_are_refused() {
    let rows = "arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n90000000000,1,1\n";
    assert!(error_of("t.csv", rows, TraceOptions::default()).contains("584 years"));
}

#[test]
fn measured_times_of_a_vllm_log_are_kept() {
    let mut reader = TraceReader::open(&config(fixture("vllm_log.jsonl"), TraceOptions::default())).unwrap();
    let Some(RowOutcome::Request(row)) = reader.next().unwrap() else { panic!("a request") };
    let measured = row.measured.unwrap();
    assert_eq!(measured.scheduled, Some(Span::from_millis(250)));
    assert_eq!(measured.first_token, Some(Span::from_nanos(1_000_135_653)));
    assert_eq!(measured.last_token, Some(Span::from_millis(1_750)));
    let Some(RowOutcome::Request(row)) = reader.next().unwrap() else { panic!("a request") };
    assert_eq!(row.measured.unwrap().first_token, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn no_file_panics_and_every_account_balances(head in 0usize..6, body in "[-0-9,.:{}\"a-z \n]{0,200}") {
        let heads = [
            "TIMESTAMP,ContextTokens,GeneratedTokens\n",
            "Timestamp,Request tokens,Response tokens\n",
            "arrival_ns,input_tokens,output_tokens\n",
            "{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 5}\n",
            "arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n",
            "",
        ];
        let _ = of_text("t", &format!("{}{body}", heads[head]), TraceOptions::default());
    }
}
