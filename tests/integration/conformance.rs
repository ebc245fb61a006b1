//! Recorded behaviour of the release, replayed through the product's own control code.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shedcast::replay::{Record, verify};

/// Every line of every `*.jsonl` of a directory: where it stands, and its text.
fn lines(directory: &Path) -> Vec<(String, String)> {
    let listing = fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let mut files: Vec<PathBuf> = listing.map(|entry| entry.expect("a directory entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "jsonl"));
    files.sort();
    let mut lines = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let numbered = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        lines.extend(numbered.map(|(line, n)| (format!("{}:{n}", path.display()), line.to_owned())));
    }
    lines
}

fn own() -> Vec<(String, String)> {
    lines(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance"))
}

#[test]
fn conformance_every_record_replays_exactly() {
    let mut all = own();
    assert!(!all.is_empty(), "the records are part of the project");
    match std::env::var_os("SHEDCAST_CONFORMANCE_DIR") {
        Some(more) => all.extend(lines(Path::new(&more))),
        None => println!("SHEDCAST_CONFORMANCE_DIR is not set: replaying the project's own records only"),
    }
    let (mut faults, mut fields) = (Vec::new(), BTreeMap::new());
    for (place, line) in &all {
        match Record::parse(line)
            .map_err(|e| e.to_string())
            .and_then(|r| verify(&r).map(|n| (r.kind(), n)).map_err(|e| e.to_string()))
        {
            Ok((_, 0)) => faults.push(format!("{place}: expects nothing")),
            Ok((kind, compared)) => *fields.entry(kind).or_insert(0) += compared,
            Err(fault) => faults.push(format!("{place}: {fault}")),
        }
    }
    assert!(faults.is_empty(), "{} of {} records fail:\n{}", faults.len(), all.len(), faults[..faults.len().min(20)].join("\n"));
    assert_eq!(fields.keys().copied().collect::<Vec<_>>(), ["gate", "kv choice", "monitor", "picker", "tracking"], "{fields:?}");
}

/// Values that differ from `value`, one for each way in which it can be wrong.
fn falsified(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![json!(1)],
        Value::Bool(b) => vec![json!(!b), Value::Null],
        Value::Number(n) if n.is_f64() => {
            let x = n.as_f64().expect("checked");
            vec![json!(x.next_up()), json!(x.next_down()), json!(x.to_string())]
        }
        Value::Number(n) => vec![json!(n.as_u64().expect("records hold no negative number") + 1), Value::Null],
        Value::String(text) => {
            vec![json!(format!("{text}x")), json!("unavailable"), json!("route"), json!("overloaded"), json!("queued")]
                .into_iter()
                .filter(|other| other != value)
                .collect()
        }
        Value::Array(items) => {
            let mut wrong = vec![json!([&items[..], &[items.first().cloned().unwrap_or(json!(3))]].concat())];
            if let Some((_, shorter)) = items.split_last() {
                wrong.push(json!(shorter));
            }
            let reversed: Vec<Value> = items.iter().rev().cloned().collect();
            if reversed != *items {
                wrong.push(json!(reversed));
            }
            for (i, item) in items.iter().enumerate() {
                wrong.extend(falsified(item).into_iter().map(|other| {
                    let mut items = items.clone();
                    items[i] = other;
                    json!(items)
                }));
            }
            wrong
        }
        Value::Object(fields) => {
            let one_wrong = |(key, item): (&String, &Value)| {
                let key = key.clone();
                let with = move |other| {
                    let mut fields = fields.clone();
                    fields.insert(key.clone(), other);
                    Value::Object(fields)
                };
                falsified(item).into_iter().map(with).collect::<Vec<_>>()
            };
            let mut wrong: Vec<Value> = fields.iter().flat_map(one_wrong).collect();
            let mut more = fields.clone();
            more.insert("no_such_field".to_owned(), json!(0));
            wrong.push(Value::Object(more));
            wrong
        }
    }
}

/// The parts of a record that state what comes out, as JSON pointers.
fn expectations(record: &Value) -> Vec<String> {
    let mut pointers: Vec<String> = ["expect", "expect_in"].iter().map(|name| format!("/{name}")).collect();
    let steps = record["steps"].as_array().map_or(0, Vec::len);
    pointers.extend((0..steps).map(|i| format!("/steps/{i}/expect")));
    pointers.retain(|pointer| record.pointer(pointer).is_some());
    pointers
}

#[test]
fn conformance_a_falsified_record_fails() {
    let mut tried = BTreeMap::new();
    for (i, (place, line)) in own().iter().enumerate() {
        let record: Value = serde_json::from_str(line).expect("the own records are JSON");
        let kind = Record::parse(line).expect("the own records are records").kind();
        for (j, pointer) in expectations(&record).into_iter().enumerate() {
            let value = record.pointer(&pointer).expect("just found");
            // Every value of a thirteenth of the steps of the long kinds: each field many times over.
            if kind != "picker" && (i + j) % 13 != 0 {
                continue;
            }
            for wrong in falsified(value) {
                let mut false_record = record.clone();
                *false_record.pointer_mut(&pointer).expect("just found") = wrong.clone();
                let Value::Object(object) = false_record else { unreachable!("a record is an object") };
                let verdict = Record::from_object(object).map(|r| verify(&r));
                assert!(!matches!(verdict, Ok(Ok(_))), "{place}: {pointer} = {wrong} passes, the record says {value}");
                *tried.entry(kind).or_insert(0u32) += 1;
            }
        }
    }
    assert!(tried.len() == 5 && tried.values().all(|&n| n > 100), "{tried:?}");
}

#[test]
fn conformance_the_difference_is_named() {
    let record = r#"{"case":"lease","steps":[{"op":"discover","workers":[7,9]},{"op":"worker_rejected","worker":9,"at":"1s"},
        {"op":"request","at":1.5,"expect":{"outcome":"route","eligible":[7,9]}}]}"#;
    let error = verify(&Record::parse(record).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "case `lease`, step 3 (`request`), field `eligible`: expected `[7,9]`, got `[7]`");
}

#[test]
fn conformance_times_pins_and_partial_expectations_are_understood() {
    let record = r#"{"steps":[
        {"op":"discover","workers":[18446744073709551615,2]},
        {"op":"worker_rejected","worker":18446744073709551615,"at":0.25},
        {"op":"request","pinned":18446744073709551615,"at":"1.249999999s","expect":{"outcome":"overloaded"}},
        {"op":"request","pinned":2,"expect":{"outcome":"route"}},
        {"op":"request","pinned":5,"expect":{"outcome":"unavailable"}},
        {"op":"request","pinned":18446744073709551615,"at":1.25,"expect":{"outcome":"route","excluded":[]}},
        {"op":"report_down","worker":2},
        {"op":"advance","ms":3749.999,"expect":{"eligible":[18446744073709551615]}},
        {"op":"advance","ms":0.001,"expect":{"eligible":[2,18446744073709551615]}},
        {"op":"post_busy_threshold","active_decode_blocks_threshold":1.5,"active_prefill_tokens_threshold":1,"expect":{"configured":false}}
    ]}"#;
    assert_eq!(verify(&Record::parse(record).unwrap()), Ok(8));
}

#[test]
fn conformance_what_is_no_record_is_an_error() {
    let bad = [
        ("[1]", "not a JSON object"),
        ("{", "not a JSON object"),
        (r#"{"case":"x"}"#, "cannot tell"),
        (r#"{"steps":[{"op":"fly"}]}"#, "step 1: `fly`: unknown operation"),
        (r#"{"steps":[{"op":"advance","ms":1,"now":2}]}"#, "unknown field `now`"),
        (r#"{"steps":[{"op":"advance","ms":-1}]}"#, "negative"),
        (r#"{"steps":[{"op":"advance"}]}"#, "missing field `ms`"),
        (r#"{"steps":[{"workers":[]}]}"#, "no `op`"),
        (r#"{"steps":[{"op":"discover","workers":[-1]}]}"#, "invalid value"),
        (r#"{"steps":[{"op":"request","at":"soon"}]}"#, "expected a duration"),
        (r#"{"steps":[{"op":"runtime_config","workers":{"a":{"dp_start":0,"dp_size":1}}}]}"#, "`a` is no worker id"),
        (r#"{"steps":[],"extra":1}"#, "unknown field `extra`"),
        (r#"{"policy":"best","steps":[]}"#, "unknown policy"),
        (r#"{"block_size":0,"isl":1,"loads":[],"excluded":[]}"#, "kv_cache_block_size"),
    ];
    for (text, part) in bad {
        let message = Record::parse(text).expect_err(text).to_string();
        assert!(message.contains(part), "{text}\n{message}");
    }
    let replayed = [
        (r#"{"steps":[{"op":"request","at":2},{"op":"request","at":1}]}"#, "time runs backwards"),
        (r#"{"engine_request_limit":1,"request_queue_limit":2,"steps":[{"op":"complete","id":1}]}"#, "not in the engine"),
        (r#"{"steps":[{"op":"request","expect":{"outcomes":"route"}}]}"#, "no such field"),
    ];
    for (text, part) in replayed {
        let message = verify(&Record::parse(text).unwrap()).expect_err(text).to_string();
        assert!(message.contains(part), "{text}\n{message}");
    }
}
