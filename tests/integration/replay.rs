//! `shedcast replay`: scripts of control events, as an operator would feed them.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

use crate::harness::tests_dir;

fn scripts() -> Vec<PathBuf> {
    let listing = fs::read_dir(tests_dir().join("replay")).expect("the scripts are part of the project");
    let mut files: Vec<PathBuf> = listing.map(|entry| entry.expect("a directory entry").path()).collect();
    files.sort();
    files
}

fn replay(args: &[&str], input: &str) -> Output {
    let mut command = Command::cargo_bin("shedcast").expect("the program is built");
    command.arg("replay").args(args).write_stdin(input.to_owned()).output().expect("it runs")
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

#[test]
fn the_scripts_of_the_cases_hold() {
    let files: Vec<String> = scripts().iter().map(|path| path.display().to_string()).collect();
    assert!(files.len() >= 4);
    let args: Vec<&str> = std::iter::once("--verify").chain(files.iter().map(String::as_str)).collect();
    let output = replay(&args, "");
    assert!(output.status.success(), "{}{}", out(&output), err(&output));
    assert!(out(&output).contains("records hold"), "{}", out(&output));
}

#[test]
fn a_falsified_script_fails_with_the_place_and_the_field() {
    for path in scripts() {
        let text = fs::read_to_string(&path).expect("a script");
        let lies =
            [("\"outcome\": \"route\"", "\"outcome\": \"overloaded\""), ("\"outcome\": \"queued\"", "\"outcome\": \"direct\"")];
        let (truth, lie) = lies.into_iter().find(|(truth, _)| text.contains(truth)).expect("something to falsify");
        let output = replay(&["--verify", "-"], &text.replacen(truth, lie, 1));
        assert_eq!(output.status.code(), Some(1), "{}: {}", path.display(), err(&output));
        let said = out(&output);
        assert!(said.starts_with("standard input:") && said.contains("field `outcome`"), "{}: {said}", path.display());
    }
}

#[test]
fn each_decision_is_printed_with_its_reason() {
    let log = tests_dir().join("replay/production_log.jsonl");
    let log = log.display().to_string();
    let table = out(&replay(&[&log], ""));
    assert_eq!(table.lines().filter(|line| line.contains(" request ")).count(), 3, "{table}");
    let reason = "overloaded: all_workers_busy, by decode; worker 7001 rank 0: kv_used_blocks 950 > 900 (decode, 3s old)";
    assert!(table.contains(reason), "{table}");
    let json = out(&replay(&["--format", "json", &log], ""));
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).expect("JSON Lines")).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[1]["outcome"], "overloaded");
    assert_eq!(lines[1]["reason"]["why"]["measured"], 950);
    assert_eq!(lines[1]["reason"]["why"]["age_ns"], 3_000_000_000u64);
    assert_eq!(lines[0]["reason"], Value::Null);
    let state = out(&replay(&["--state", "--format", "json", &log], ""));
    assert_eq!(state.lines().count(), 10, "a line for each step");
    let last: Value = serde_json::from_str(state.lines().last().expect("steps")).expect("JSON Lines");
    assert_eq!(last["state"]["monitor_busy"], serde_json::json!([7002]));
    assert_eq!(last["firing"][0]["worker"], 7002);
}

#[test]
fn bad_files_are_refused_with_their_line_and_field() {
    let step = r#"{"op":"discover","workers":[1]}"#;
    let bad = [
        (format!("{step}\n\n{{\"op\":\"worker_load\",\"worker\":1}}\n"), "standard input:3: ", "`rank`"),
        (format!("{step}\n{{\"op\":\"dance\"}}\n"), "standard input:2: ", "unknown operation"),
        (format!("{step}\nnot json\n"), "standard input:2: ", "not a JSON object"),
        (format!("{step}\n{{\"op\":\"request\",\"at\":-1}}\n"), "standard input:2: ", "`at`"),
        (
            format!("{step}\n{{\"op\":\"request\",\"at\":2}}\n{{\"op\":\"request\",\"at\":1}}\n"),
            "standard input:3: ",
            "backwards",
        ),
        (r#"{"steps":[{"op":"advance","ms":"x"}]}"#.to_owned(), "standard input:1: step 1", "ms"),
        ("{}".to_owned(), "standard input:1: ", "`steps`"),
        (String::new(), "standard input: no record", "JSON Lines"),
    ];
    for (text, place, what) in bad {
        for flags in [&["-"][..], &["--verify", "-"]] {
            let output = replay(flags, &text);
            let said = err(&output);
            assert_eq!(output.status.code(), Some(2), "{text}: {said}");
            assert!(said.contains(place) && said.contains(what), "{text}: {said}");
        }
    }
    let missing = replay(&["no/such/file.jsonl"], "");
    assert_eq!(missing.status.code(), Some(2));
    assert!(err(&missing).contains("no/such/file.jsonl"));
}
