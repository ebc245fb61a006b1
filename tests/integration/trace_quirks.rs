//! Files as they come: each format with the quirks of its family, and what is no trace at all.

use std::io::Write;
use std::path::Path;

use shedcast::engine::Streams;
use shedcast::workload::config::{TraceConfig, WorkloadConfig};
use shedcast::workload::trace::TraceReport;
use shedcast::workload::{Bounds, RequestSource};

/// (arrival in microseconds, prompt, answer, class) of every request, and the account; or why it cannot be read.
type Replayed = Result<(Vec<(u64, u32, u32, String)>, TraceReport), String>;

fn replay(path: &Path) -> Replayed {
    let trace = TraceConfig { path: path.to_owned(), class: "default".to_owned(), ..TraceConfig::default() };
    let config = WorkloadConfig { trace: Some(trace), ..WorkloadConfig::default() };
    let mut source = RequestSource::open(&config, Streams::new(1), Bounds::default()).map_err(|e| e.to_string())?;
    let mut requests = Vec::new();
    while let Some(r) = source.next().map_err(|e| e.to_string())? {
        let class = source.class_names()[usize::from(r.class.0)].clone();
        requests.push((r.arrival.as_nanos() / 1_000, r.input_tokens, r.output_tokens, class));
    }
    Ok((requests, source.trace_report().expect("a trace")))
}

fn of(name: &str, bytes: &[u8]) -> Replayed {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("a file");
    replay(&path)
}

fn zipped(text: &str) -> Vec<u8> {
    let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    zip.write_all(text.as_bytes()).expect("to memory");
    zip.finish().expect("to memory")
}

/// (arrival, prompt, answer) of a file that must be good.
fn good(name: &str, bytes: &[u8]) -> Vec<(u64, u32, u32)> {
    let (requests, report) = of(name, bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(report.is_balanced(), "{report}");
    requests.into_iter().map(|r| (r.0, r.1, r.2)).collect()
}

const AZURE: &str =
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:04.0319600,110,27";

#[test]
fn one_azure_trace_reads_alike_in_every_dress() {
    let expected = [(0, 4_808, 10), (52_000, 110, 27)];
    let lines = AZURE.replace("\r\n", "\n");
    let dressed: [(&str, Vec<u8>); 8] = [
        ("as published", AZURE.into()),
        ("with a byte order mark", format!("\u{feff}{AZURE}").into()),
        ("with line feeds and a last one", format!("{lines}\n").into()),
        ("with blank lines", lines.replace('\n', "\n\n").into()),
        ("quoted", lines.lines().map(|l| format!("\"{}\"\n", l.replace(',', "\",\""))).collect::<String>().into()),
        ("gzipped, whatever it is called", zipped(AZURE)),
        ("gzipped in two parts", [zipped(&format!("{AZURE}\r\n")), zipped("")].concat()),
        ("with a zone", lines.replace("600,", "600+00:00,").into()),
    ];
    for (what, bytes) in dressed {
        assert_eq!(good("trace.csv", &bytes), expected, "{what}");
    }
    let later = "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-15T12:00:00.269Z,0,770,491\n2024-10-15T14:00:01+02:00,3,9,1\n";
    assert_eq!(good("lmm.csv", later.as_bytes()), [(0, 770, 491), (731_000, 9, 1)]);
    let mixed = "GeneratedTokens,TIMESTAMP,ContextTokens\n5,2024-05-10 00:00:00+00:00,7\n6,2024-05-10 00:00:00.001163+00:00,8\n";
    assert_eq!(good("2024.csv", mixed.as_bytes()), [(0, 7, 5), (1_163, 8, 6)]);
}

#[test]
fn mooncake_rows_have_aliases_token_lists_and_classes() {
    let rows = "{\"created_time\": 0.5, \"input_tokens\": 100, \"output_tokens\": 5, \"policy_class\": \"gold\", \"priority\": 3}\n\
                {\"timestamp\": 10.25, \"input_length\": 90, \"output_token_ids\": [7, 8, 9], \"hash_ids\": [18446744073709551615]}\n\
                {\"timestamp\": 11, \"input_length\": 80, \"output_length\": null, \"output_token_ids\": []}\n";
    let (requests, report) = of("m.jsonl", rows.as_bytes()).expect("a trace");
    assert_eq!(requests, [(0, 100, 5, "gold".to_owned()), (9_750, 90, 3, "default".to_owned())]);
    assert_eq!((report.rows_read, report.emitted), (3, 2), "an empty list is a failed request: {report}");
}

#[test]
fn classes_that_a_trace_names_are_told_apart_in_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let row = |i: u32, class: &str| {
        format!("{{\"timestamp\": {i}, \"input_length\": 9, \"output_length\": 5, \"policy_class\": \"{class}\"}}\n")
    };
    let rows: String = (0..40).map(|i| row(i * 100, if i % 4 == 0 { "gold" } else { "silver" })).collect();
    std::fs::write(folder.path().join("trace.jsonl"), rows).expect("a file");
    let scenario = "name = \"a\"\n[fleet]\nworkers = 1\nservice_time = \"1s\"\n[workload]\ntrace = \"trace.jsonl\"\n";
    std::fs::write(folder.path().join("a.toml"), scenario).expect("a file");
    let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("shedcast"));
    command.current_dir(folder.path()).args([
        "run",
        "a.toml",
        "--out",
        "out",
        "--no-charts",
        "--requests-csv",
        "--format",
        "json",
    ]);
    let summary: serde_json::Value = serde_json::from_slice(&command.assert().success().get_output().stdout).expect("JSON");
    let classes: Vec<(&str, u64)> = summary["classes"]
        .as_array()
        .expect("classes")
        .iter()
        .map(|c| (c["name"].as_str().expect("a name"), c["measures"]["requests"]["offered"].as_u64().expect("a count")))
        .collect();
    assert_eq!(classes, [("gold", 10), ("silver", 30)]);
    let requests = std::fs::read_to_string(folder.path().join("out/requests.csv")).expect("the requests");
    assert_eq!((requests.matches(",gold,").count(), requests.matches(",silver,").count()), (10, 30));
}

#[test]
fn lengths_given_for_rows_that_have_their_own_are_said_to_be_idle() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("trace.csv"), "arrival_ns,input_tokens,output_tokens\n0,9,5\n").expect("a file");
    let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("shedcast"));
    let words = ["trace", "convert", "trace.csv", "-", "--input-tokens", "7"];
    let output = command.current_dir(folder.path()).args(words).assert().code(0).get_output().clone();
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("`--input-tokens` has no effect") && !said.contains("--output-tokens"), "{said}");
    assert!(String::from_utf8(output.stdout).expect("text").contains("0,9,5"), "the rows keep their lengths");
}

#[test]
fn a_class_name_that_would_tear_tables_apart_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = "arrival_ns,input_tokens,output_tokens,class\n0,9,5,gold\n5,9,5,\"sil\tver\"\n";
    std::fs::write(folder.path().join("trace.csv"), rows).expect("a file");
    let scenario = "name = \"a\"\n[fleet]\nworkers = 1\nservice_time = \"1s\"\n[workload]\ntrace = \"trace.csv\"\n";
    std::fs::write(folder.path().join("a.toml"), scenario).expect("a file");
    let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("shedcast"));
    let refused = command.current_dir(folder.path()).args(["run", "a.toml"]).assert().code(2).get_output().clone();
    let said = String::from_utf8(refused.stderr).expect("text");
    assert!(said.contains("trace.csv:3: class `sil\\tver` has control characters"), "{said}");
}

#[test]
fn blocks_of_another_size_and_sessions_are_told() {
    let row = |i: u32| {
        format!("{{\"timestamp\": {}, \"input_length\": 64, \"output_length\": 5, \"hash_ids\": [1, 2, 3, {i}]}}\n", i * 10)
    };
    let rows: String = (9..90).map(row).collect();
    let names = |replayed: Replayed| replayed.expect("a trace").1.warnings.iter().map(|w| w.name()).collect::<Vec<_>>();
    assert!(names(of("m.jsonl", rows.as_bytes())).contains(&"trace_block_size_doubt"));
    let bailian = "{\"chat_id\":1,\"parent_chat_id\":-1,\"timestamp\":61.114,\"input_length\":30,\"output_length\":132,\"turn\":1,\"hash_ids\":[1,2]}\n";
    assert!(!names(of("b.jsonl", bailian.as_bytes())).contains(&"trace_sessions_flattened"), "a first turn waits for nothing");
    let answer = bailian.replace("\"chat_id\":1,\"parent_chat_id\":-1", "\"chat_id\":2,\"parent_chat_id\":1");
    let turns = names(of("b.jsonl", format!("{bailian}{answer}").as_bytes()));
    assert!(turns.contains(&"trace_sessions_flattened") && !turns.contains(&"trace_block_size_doubt"), "{turns:?}");
}

#[test]
fn bursts_of_seconds_come_as_text_and_with_empty_sessions() {
    let rows = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
                19440110.0,1722ac82-aa,43,GPT-4,906,446,1352,Conversation log\n19440120.0,,43,GPT-4,9,4,13,API log\n\
                19440120.0,,43,GPT-4,0,0,0,API log\n19440121.0,,43,GPT-4,9,0,9,API log\n";
    let (requests, report) = of("BurstGPT_3.csv", rows.as_bytes()).expect("a trace");
    assert_eq!(requests.iter().map(|r| (r.0, r.1)).collect::<Vec<_>>(), [(0, 906), (10_000_000, 9)]);
    assert!(report.to_string().contains("4 rows = 2 replayed + 2 dropped (1 no_tokens, 1 no_output_tokens)"), "{report}");
}

#[test]
fn a_dynamo_trace_is_found_behind_other_events_and_put_in_order() {
    let end = |id: u32, at: u64| {
        format!(
            "{{\"schema\":\"dynamo.request.trace.v1\",\"event_type\":\"request_end\",\"request\":{{\"request_id\":\"{id}\",\"output_tokens\":2,\
             \"request_received_ms\":{at},\"replay\":{{\"trace_block_size\":16,\"input_length\":{id},\"input_sequence_hashes\":[4,5]}}}}}}"
        )
    };
    let rows =
        format!("{{\"event_type\":\"request_payload\"}}\n{}\n{}\n", end(31, 1_787_000_001_500), end(32, 1_787_000_001_000));
    assert_eq!(good("d.jsonl", rows.as_bytes()), [(0, 32, 2), (500_000, 31, 2)]);
    let wrapped = format!("{{\"event\": {}}}\n{{\"event\": {{\"event_type\":\"tool_end\"}}}}\n", end(40, 7));
    assert_eq!(good("d.jsonl.gz", &zipped(&wrapped)), [(0, 40, 2)]);
}

#[test]
fn what_is_no_trace_says_what_it_is_and_what_to_do() {
    let bench = br#"{"date": "20250101", "num_prompts": 100, "request_rate": "inf", "request_throughput": 3.1}"#;
    let cases: [(&str, &[u8], &str); 17] = [
        ("nameless.csv", b"2024-05-10 00:00:00,100,7\n2024-05-10 00:00:01,100,7\n", "looks like a row"),
        ("bench.json", bench, "the result of a benchmark"),
        ("text.jsonl", br#"{"timestamp": 0, "text_input": "hello", "output_length": 5}"#, "texts, whose tokens nobody has counted"),
        ("pretty.json", b"{\n  \"timestamp\": 0}\n", "jq -c ."),
        ("array.json", b"[{\"timestamp\": 0}]", "a JSON array"),
        ("x.parquet", b"PAR1\x15\x04\x15", "a Parquet file"),
        ("profile.npz", b"PK\x03\x04\x14", "a ZIP archive"),
        ("utf16.csv", b"\xff\xfeT\0I\0", "UTF-16"),
        ("mac.csv", b"TIMESTAMP,ContextTokens,GeneratedTokens\r2024-05-10 00:00:05,1,2\r", "carriage returns alone"),
        ("semicolons.csv", b"TIMESTAMP;ContextTokens;GeneratedTokens\n", "separated by commas"),
        ("blis.yaml", b"trace_version: 2\ntime_unit: us\n", "looks like YAML"),
        ("short.csv", b"TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00,1\n", "short.csv:2: 2 columns: expected 3"),
        ("negative.csv", b"arrived_at,num_prefill_tokens,num_decode_tokens\n0,-5,2\n", "field `num_prefill_tokens` is `-5`"),
        ("unsorted.csv", b"arrived_at,num_prefill_tokens,num_decode_tokens\n5,5,2\n1,5,2\n", "unsorted.csv:3: the row arrives 4s before"),
        ("half.jsonl", br#"{"timestamp": 0, "input_length": 5, "output_length": 5.5}"#, "field `output_length` is `5.5`"),
        ("delay.jsonl", b"{\"timestamp\":0,\"session_id\":\"a\",\"input_length\":5,\"output_length\":5}\n{\"session_id\":\"a\",\"delay\":5,\"input_length\":5,\"output_length\":5}", "delay.jsonl:2: field `delay`"),
        ("empty.csv", b"\n\n", "the file is empty"),
    ];
    for (name, bytes, expected) in cases {
        let message = of(name, bytes).map(|_| ()).expect_err(name);
        assert!(message.contains(expected) && message.contains("\n  hint: "), "{name}: {message}");
    }
    let cut = zipped(AZURE).split_last().map(|(_, rest)| rest[..rest.len() - 20].to_vec()).expect("bytes");
    assert!(of("cut.csv.gz", &cut).is_err(), "a file that is cut off is no trace");
}

#[test]
fn what_is_converted_replays_to_the_same_bytes_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let convert = |from: &Path, to: &str| {
        let to = folder.path().join(to);
        let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("shedcast"));
        command.args(["trace", "convert", "--force"]).arg(from).arg(&to).assert().success();
        to
    };
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/traces");
    for name in [
        "azure_lmm_2025.csv",
        "bailian.jsonl",
        "blis.csv",
        "burstgpt_3.csv",
        "llmservingsim.jsonl",
        "splitwise_sim.csv",
        "vidur.csv",
    ] {
        let once = convert(&fixtures.join(name), "once.csv");
        let twice = convert(&once, "twice.csv");
        assert_eq!(std::fs::read(once).expect("a file"), std::fs::read(twice).expect("a file"), "{name}");
    }
}
