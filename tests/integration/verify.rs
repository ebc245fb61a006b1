//! `verify`: NVIDIA's table, and counters beside a scenario. The tables of theory run in `theory.rs`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use shedcast::cluster::Remote;
use shedcast::verify::aisimulate::aisimulate;

use crate::harness::run_text;

/// Overload from the tenth second on.
const SCENARIO: &str = r#"
name = "small"
seed = 7
horizon = "40s"
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
arrivals = { process = "poisson", rate = [{ at = "0s", rate = 10 }, { at = "10s", rate = 60 }] }
input_tokens = { distribution = "lognormal", mean = 900, p99 = 3000 }
output_tokens = { distribution = "lognormal", mean = 120, p99 = 400 }
[output]
timeseries_interval = "100ms"
"#;

/// What a fleet that behaves like the scenario would export, a scrape every second.
fn counters() -> String {
    let case = run_text(SCENARIO, &[]);
    let (mut text, mut started, mut refused) = (String::new(), 0, 0);
    writeln!(text, "# TYPE dynamo_frontend_requests_started_total counter").unwrap();
    writeln!(text, "dynamo_frontend_requests_started_total{{model=\"m\"}} 0 1780000000000").unwrap();
    writeln!(text, "dynamo_frontend_model_rejection_total{{model=\"m\",endpoint=\"chat\"}} 0 1780000000000").unwrap();
    for id in 1..=2 {
        writeln!(text, "dynamo_engine_request{{worker_id=\"{id}\"}} 0 1780000000000").unwrap();
        writeln!(text, "dynamo_request_queue{{worker_id=\"{id}\"}} 0 1780000000000").unwrap();
    }
    for (i, interval) in case.log.intervals.iter().enumerate() {
        started += interval.point.attempts;
        refused += interval.point.refused.iter().sum::<u64>();
        if i % 10 != 9 {
            continue;
        }
        let at = interval.end.as_nanos() / 1_000_000 + 1_780_000_000_000;
        writeln!(text, "dynamo_frontend_requests_started_total{{model=\"m\"}} {started} {at}").unwrap();
        writeln!(text, "dynamo_frontend_model_rejection_total{{model=\"m\",endpoint=\"chat\"}} {refused} {at}").unwrap();
        for (worker, id) in interval.fleet.workers.iter().zip(1..) {
            writeln!(text, "dynamo_engine_request{{worker_id=\"{id}\"}} {} {at}", worker.gate.in_engine).unwrap();
            writeln!(text, "dynamo_request_queue{{worker_id=\"{id}\"}} {} {at}", worker.gate.gauge).unwrap();
        }
    }
    text
}

fn against(directory: &Path, options: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(cargo_bin!("shedcast"));
    command.current_dir(directory).env("NO_COLOR", "1");
    let output = command.args(["verify", "--against", "counters.prom", "small.toml"]).args(options).output().unwrap();
    let text = if output.stderr.is_empty() { output.stdout } else { output.stderr };
    (output.status.code(), String::from_utf8(text).unwrap())
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), SCENARIO).unwrap();
    fs::write(folder.path().join("counters.prom"), counters()).unwrap();
    folder
}

#[test]
fn counters_of_the_same_fleet_do_not_part_from_the_scenario() {
    let folder = folder();
    let (code, text) = against(folder.path(), &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("small and the counters do not part\n20 windows of 2.00 s"), "{text}");
    assert!(text.contains("not compared: KV blocks tracked: there is no"), "{text}");
}

#[test]
fn a_smaller_fleet_parts_from_its_counters_where_the_overload_begins() {
    let folder = folder();
    let (code, text) = against(folder.path(), &["--set", "fleet.workers=1"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.starts_with("small and the counters part at "), "{text}");
    assert!(text.contains("requests refused where it parts"), "{text}");
    let (code, json) = against(folder.path(), &["--set", "fleet.workers=1", "--format", "json"]);
    assert_eq!(code, Some(1));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["schema"], &json["agrees"]), (&1.into(), &false.into()));
    let refused = json["comparison"]["partings"].as_array().unwrap().iter().find(|p| p["measure"] == "requests refused").unwrap();
    let from = refused["windows"][refused["parts_at"].as_u64().unwrap() as usize]["from"].as_f64().unwrap();
    assert!((8.0..=14.0).contains(&from), "the overload begins at 10 s: {from}");
}

#[test]
fn what_a_run_exports_agrees_with_its_own_scenario_and_not_with_another() {
    // One frontend that sheds; three whose trackings only add up to the load; ranks; workers whose reports come late beside the
    // router's tracking, so that what a frontend observes is not what its routers track.
    let settings: [&[&str]; 4] = [
        &[],
        &["frontend.frontends=3"],
        &["fleet.data_parallel_size=2", "fleet.kv_total_blocks=800"],
        &["telemetry.worker_kv_metrics=true", "telemetry.delay=\"2s\""],
    ];
    for sets in settings {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("small.toml"), SCENARIO).unwrap();
        let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
        let mut run = Command::new(cargo_bin!("shedcast"));
        run.current_dir(folder.path()).args(["run", "small.toml", "--metrics", "--no-charts", "-q", "--out", "out"]);
        assert!(run.args(&sets).output().unwrap().status.success(), "{sets:?}");
        fs::rename(folder.path().join("out/metrics.om"), folder.path().join("counters.prom")).unwrap();
        let (code, text) = against(folder.path(), &sets);
        assert_eq!(code, Some(0), "{sets:?}: {text}");
        // Every measure was held against something, or agreement would say nothing.
        assert!(!text.contains("not compared"), "{sets:?}: {text}");
        let (code, json) = against(folder.path(), &[&sets[..], &["--format", "json"]].concat());
        assert_eq!(code, Some(0));
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        for parting in json["comparison"]["partings"].as_array().unwrap() {
            let [measured, simulated] = ["measured", "simulated"].map(|side| parting[side].as_f64().unwrap());
            // Prompts come and go within the second between scrapes: forty of them tell the mean no better.
            let share = if parting["measure"] == "prefill tokens tracked" { 0.3 } else { 0.05 };
            assert!((measured - simulated).abs() <= share * measured + 1.0, "{sets:?}: {parting}");
        }
        let (code, text) = against(folder.path(), &[&sets[..], &["--set", "fleet.workers=3"]].concat());
        assert_eq!(code, Some(1), "{sets:?}: {text}");
        assert!(text.contains("KV blocks tracked"), "{text}");
    }
}

#[test]
fn counters_that_hold_nothing_comparable_are_told() {
    let folder = folder();
    fs::write(folder.path().join("counters.prom"), "up 1 1000\nup 1 9000\n").unwrap();
    let (code, text) = against(folder.path(), &[]);
    assert_eq!(code, Some(2));
    assert!(text.contains("hold none of the metrics") && text.contains("they hold up"), "{text}");
    fs::write(folder.path().join("counters.prom"), "up 1\n").unwrap();
    let (code, text) = against(folder.path(), &[]);
    assert_eq!(code, Some(2));
    assert!(text.contains("counters.prom:1: `up 1` has no time"), "{text}");
}

#[test]
fn the_table_of_nvidias_simulator_passes() {
    let table = aisimulate(&Remote::default()).unwrap();
    assert_eq!(table.checks.len(), 7 * 8);
    let missed: Vec<_> = table.checks.iter().filter(|check| !check.passed).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
