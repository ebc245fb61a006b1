//! Calibration as its users meet it, and how near it comes to real engines. Recordings are looked for beside the checkout; their
//! tests say so where they skip.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use shedcast::calibrate::profile::Profile;
use shedcast::calibrate::{Calibration, Goodness, PointPreset};
use shedcast::cluster::config::StepTiming;
use shedcast::scenario::{Preset, PresetKind};
use shedcast::verify::CheckTable;
use shedcast::verify::fidelity::{Recording, fidelity};

use crate::harness::{run_text, shared};

fn shedcast(directory: &Path) -> Command {
    let mut command = Command::new(cargo_bin!("shedcast"));
    command.current_dir(directory).env("NO_COLOR", "1").env_remove("COLUMNS");
    command
}

/// A scenario with a worker of its own, whose requests make the log that is calibrated from.
const ENGINE: &str = r#"
name = "engine"
requests = 90
[fleet]
workers = 1
engine = { base = "14ms", prefill = "70us", decode = "60us", context = "50ns" }
max_num_seqs = 32
max_num_batched_tokens = 1024
kv_total_blocks = 3000
[workload]
arrivals = { process = "poisson", rate = 8 }
input_tokens = { distribution = "uniform", low = 50, high = 900 }
output_tokens = { distribution = "uniform", low = 20, high = 140 }
"#;

/// The log of a run, as vLLM's benchmarks write theirs, on a clock that began long ago.
fn log() -> String {
    let case = run_text(ENGINE, &[]);
    let line = |ended: &&crate::harness::Ended| {
        let (queued, first) = (ended.arrival.as_secs_f64(), ended.attempt.first_token().expect("a first token").as_secs_f64());
        format!(
            "{{\"input_toks\": {}, \"output_toks\": {}, \"queued_ts\": {}, \"first_token_ts\": {}, \"last_token_ts\": {}}}\n",
            ended.attempt.input_tokens,
            ended.attempt.output_tokens,
            queued + 5_000.0,
            first + 5_000.0,
            ended.at.as_secs_f64() + 5_000.0
        )
    };
    case.by_request().iter().map(line).collect()
}

#[test]
fn a_log_becomes_a_preset_that_runs_and_comes_out_the_same_again() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::write(here.join("log.jsonl"), log()).unwrap();
    let options = ["--kv-blocks", "3000", "--max-num-seqs", "32", "--max-num-batched-tokens", "1024"];
    let calibrate = |out: &str| {
        let output = shedcast(here).args(["calibrate", "log.jsonl", "--name", "gpu", "-o", out]).args(options).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = calibrate("gpu.toml");
    assert!(text.starts_with("gpu: p50, p90 and p99 of its latencies are within 0."), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    calibrate("again.toml");
    for ending in ["toml", "json", "svg"] {
        let read = |stem: &str| fs::read(here.join(format!("{stem}.{ending}"))).unwrap();
        assert_eq!(read("gpu"), read("again"), "the same bytes each time: {ending}");
    }
    let report: serde_json::Value = serde_json::from_slice(&fs::read(here.join("gpu.json")).unwrap()).unwrap();
    assert_eq!(report["schema"], 1);
    assert_eq!(report["goodness"]["run"]["requests"], 90);
    // The preset in a run over the same requests gives the latencies of the log.
    let scenario = "name = \"use\"\n[fleet]\nworkers = 1\nengine = \"gpu.toml\"\n[workload]\n\
                    trace = { path = \"log.jsonl\", format = \"vllm-log\" }\n";
    fs::write(here.join("use.toml"), scenario).unwrap();
    let output = shedcast(here).args(["run", "use.toml", "--format", "json", "--no-charts"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let summary = summary.to_string();
    assert!(summary.contains("\"completed\":90"), "{summary}");
}

#[test]
fn nothing_is_overwritten_unasked_and_no_half_of_it_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::write(here.join("log.jsonl"), log()).unwrap();
    fs::write(here.join("gpu.svg"), "mine").unwrap();
    let output = shedcast(here).args(["calibrate", "log.jsonl", "-o", "gpu.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("gpu.svg: the file is there already") && told.contains("--force"), "{told}");
    assert!(!here.join("gpu.toml").exists() && !here.join("gpu.json").exists());
    assert_eq!(fs::read(here.join("gpu.svg")).unwrap(), b"mine");
}

#[test]
fn data_that_do_not_tell_are_refused_with_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let few: String = log().lines().take(10).map(|line| format!("{line}\n")).collect();
    fs::write(here.join("log.jsonl"), few).unwrap();
    let output = shedcast(here).args(["calibrate", "log.jsonl"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("log.jsonl: 10 served requests: expected at least 30"), "{told}");
    let table = "batch,context,decode_ms,tokens,prefill_ms\n1,100,5,100,20\n";
    fs::write(here.join("table.csv"), table).unwrap();
    let output = shedcast(here).args(["calibrate", "table.csv", "--kv-blocks", "9"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("1 prefill points: expected at least 4") && told.contains("1 decode points"), "{told}");
}

#[test]
fn a_table_becomes_a_preset() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let mut table = "gpu,tokens,prefill_ms,batch,context,decode_us\n".to_owned();
    for (i, tokens) in [128, 512, 2_048, 8_192].into_iter().enumerate() {
        table.push_str(&format!("a,{tokens},{},1,,\n", 10.0 + 0.02 * f64::from(tokens)));
        for context in [512, 4_096] {
            let batch = 4u32.pow(i as u32);
            table.push_str(&format!("a,,,{batch},{context},{}\n", 5_000 + 30 * batch + batch * context / 25));
            table.push_str(&format!("b,,,{batch},{context},1\n"));
        }
    }
    fs::write(here.join("table.csv"), table).unwrap();
    let arguments = ["calibrate", "table.csv", "--where", "gpu=a", "--kv-blocks", "9000", "--name", "a"];
    let output = shedcast(here).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let preset = fs::read_to_string(here.join("a.toml")).unwrap();
    let preset = shedcast::scenario::PresetFile::parse(&preset, "a.toml").unwrap();
    let StepTiming::TwoPart { prefill, decode } = preset.timing else { panic!("two parts") };
    let millis = |a: shedcast::units::Attos| a.as_secs_f64() * 1e3;
    let near = |got: f64, wanted: f64| (got / wanted - 1.0).abs() < 2e-3;
    assert!(near(millis(prefill[0]), 10.0) && near(millis(prefill[1]), 0.02), "{prefill:?}");
    assert!(near(millis(decode[0]), 5.0) && near(millis(decode[1]), 0.03) && near(millis(decode[2]), 4e-5), "{decode:?}");
}

/// Prints the table and fails if a check does.
#[track_caller]
fn hold(table: &CheckTable) {
    println!("{}", table.title);
    for check in &table.checks {
        println!("  {:<14} {:>12.4} {:>12.4} {:>+7.2} %", check.name, check.value, check.reference, 100.0 * check.error);
    }
    assert!(table.passed(), "{}: an error is beyond its limit, see the table", table.title);
}

#[test]
fn real_runs_are_met_by_their_calibration_and_predicted_from_their_first_half() {
    let Some(folder) = shared("data/calibration/llmservingsim") else { return };
    let recordings = Recording::all(&folder).unwrap();
    assert!(recordings.len() >= 2);
    for recording in &recordings {
        let tables = fidelity(recording).unwrap();
        assert_eq!(tables.len(), 3, "shipped, itself, first half");
        tables.iter().for_each(hold);
    }
}

#[test]
fn the_profile_of_dynamo_gives_the_shipped_preset() {
    let Some(folder) = shared("data/calibration/dynamo-h200") else { return };
    let shipped = Preset::find("h200-llama-3.1-8b-fp8-vllm").unwrap();
    let preset = || PointPreset {
        name: "h200".to_owned(),
        source: String::new(),
        kind: PresetKind::Fitted,
        kv_total_blocks: None,
        kv_cache_block_size: 16,
        max_num_seqs: 1_024,
        max_num_batched_tokens: 8_192,
        served_factor: 1.0,
        min_context: 400.0,
    };
    let archives = Profile::read(std::slice::from_ref(&folder)).unwrap();
    let json = Profile::read(&[folder.join("H200_Llama-3.1-8B-FP8_profile.json")]).unwrap();
    let fit = Calibration::of_profile(&archives, preset()).unwrap();
    let same = Calibration::of_profile(&json, preset()).unwrap();
    assert_eq!(fit.preset.timing, same.preset.timing, "both forms of the profile tell the same");
    assert_eq!(fit.preset.kv_total_blocks, shipped.kv_total_blocks);
    let Goodness::Points { prefill, decode } = fit.goodness else { panic!("points") };
    println!("median errors: prefill {:.2} %, decode {:.2} %", prefill.p50 * 100.0, decode.p50 * 100.0);
    assert!(prefill.p50 <= 0.025 && decode.p50 <= 0.025, "{prefill:?} {decode:?}");
    let (StepTiming::TwoPart { prefill: a, decode: d }, StepTiming::TwoPart { prefill: wanted_a, decode: wanted_d }) =
        (fit.preset.timing, shipped.step_timing())
    else {
        panic!("two parts")
    };
    for (got, wanted) in a.iter().chain(&d).zip(wanted_a.iter().chain(&wanted_d)) {
        let error = got.as_secs_f64() / wanted.as_secs_f64() - 1.0;
        assert!(error.abs() < 2e-3, "{got:?} against {wanted:?}");
    }
}
