//! `metrics.om` as its users meet it: the figures of the other files, the same bytes on repetition, and faults told.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;

const SMALL: &str = r#"
name = "small"
seed = 5
horizon = "15s"
[fleet]
workers = 2
engine = "h100-llama-3.1-8b-bf16-vllm"
kv_total_blocks = 1500
engine_request_limit = 24
request_queue_limit = 4
[frontend]
router_mode = "kv"
active_decode_blocks_threshold = 0.9
[workload]
arrivals = { process = "poisson", rate = 70 }
input_tokens = { distribution = "lognormal", mean = 900, p99 = 3000 }
output_tokens = { distribution = "lognormal", mean = 120, p99 = 400 }
"#;

fn run(folder: &Path, words: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = Command::new(cargo_bin!("shedcast"));
    command.current_dir(folder).arg("run").args(words).args(["--no-charts", "--quiet"]).assert()
}

/// The last value of the series of `text` that starts like this.
fn last(text: &str, start: &str) -> f64 {
    let line = text.lines().rfind(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start}"));
    line.rsplit(' ').nth(1).expect("a value").parse().expect("a number")
}

/// The sum of a column of a CSV file.
fn sum(path: &Path, name: &str) -> u64 {
    let text = fs::read_to_string(path).expect("a file");
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let place = rows.next().expect("a header").iter().position(|head| *head == name).expect("a column");
    rows.map(|row| row[place].parse::<u64>().expect("a count")).sum()
}

#[test]
fn every_file_of_a_run_tells_the_same_refusals() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path();
    fs::write(path.join("small.toml"), SMALL).expect("the scenario is written");
    run(path, &["small.toml", "--metrics", "--out", "a"]).success();
    let text = fs::read_to_string(path.join("a/metrics.om")).expect("metrics.om");
    let summary: serde_json::Value =
        serde_json::from_slice(&fs::read(path.join("a/summary.json")).expect("a file")).expect("JSON");
    let refused = summary["conservation"]["attempts"]["refused"].as_u64().expect("a count");
    assert!(refused > 0);
    assert_eq!(last(&text, "dynamo_frontend_model_rejection_total{"), refused as f64);
    assert_eq!(sum(&path.join("a/timeseries.csv"), "refused"), refused);
    let of_worker = |id: u32| last(&text, &format!("dynamo_rejection_request_total{{worker_id=\"{id}\"}}"));
    assert_eq!(of_worker(1) + of_worker(2), sum(&path.join("a/workers.csv"), "rejected") as f64);

    // From its resolved scenario, and with the other way to simulate engines.
    run(path, &["a/resolved.toml", "--out", "b"]).success();
    run(path, &["small.toml", "--metrics", "--engine", "stepwise", "--out", "c"]).success();
    for other in ["b", "c"] {
        assert!(fs::read_to_string(path.join(other).join("metrics.om")).expect("metrics.om") == text, "{other}");
    }
    // Another epoch moves the dates and nothing else; a run without metrics takes the old file away.
    run(path, &["small.toml", "--metrics-epoch", "1970-01-01T00:00:00Z", "--out", "b"]).success();
    let moved = fs::read_to_string(path.join("b/metrics.om")).expect("metrics.om");
    assert!(moved.contains("dynamo_frontend_model_rejection_total{model=\"model\",endpoint=\"chat_completions\"} 0 0\n"));
    assert_eq!(moved.lines().count(), text.lines().count());
    run(path, &["small.toml", "--out", "b"]).success();
    assert!(!path.join("b/metrics.om").exists());
}

#[test]
fn a_date_that_is_none_is_told_before_the_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("small.toml"), SMALL).expect("the scenario is written");
    let output = run(folder.path(), &["small.toml", "--metrics-epoch", "yesterday"]).code(2).get_output().clone();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("`output.metrics_epoch` is `\"yesterday\"`: it is no date and time with a zone"), "{said}");
    assert!(said.contains("hint: write it as `\"2026-01-01T00:00:00Z\"`"), "{said}");
    assert!(!folder.path().join("outputs").exists());
}
