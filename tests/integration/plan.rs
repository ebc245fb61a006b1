//! Plans as their users run them: verdicts and exit codes, the same bytes however they are run, and numbers that agree with
//! those of `run` and `sweep`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use shedcast::cluster::Remote;
use shedcast::experiment::plan::{Key, Lab, Outcome, Plan, Progress, Record, Request, answer};
use shedcast::experiment::{RunOptions, run};
use shedcast::scenario::{Document, SetOption};
use shedcast::stats::mean_interval;

use crate::harness::shared;

use super::harness::files;

/// A queue whose workers are quick to simulate.
const SMALL: &str = r#"
name = "small"
seed = 7
horizon = "60s"
[fleet]
workers = 2
service_time = { distribution = "exponential", mean = "100ms" }
engine_request_limit = 2
request_queue_limit = 2
[frontend]
router_mode = "least-loaded"
overload_lease = "0s"
[workload]
arrivals = { process = "poisson", rate = 50 }
[slo]
e2e = "500ms"
[plan]
target = ["rate_529<=3.7%", "e2e_p95<=1s"]
range = "1..16"
run_length = "60s"
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("small.toml"), SMALL).expect("the scenario is written");
    folder
}

fn shedcast(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin!("shedcast"));
    command.current_dir(folder).args(words);
    command
}

/// The files of a plan in one go.
fn whole(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    shedcast(folder, &["plan", "small.toml", "--jobs", "1", "--out", "whole"]).assert().success();
    let found = files(&folder.join("whole"));
    let names = ["plan.json", "answer.toml", "proof.toml", "runs.csv", "cells.csv", "charts/margin.svg"];
    for name in names.into_iter().chain(["charts/search-path-rate_529.svg", "charts/search-path-e2e_p95.svg"]) {
        assert!(found.contains_key(Path::new(name)), "{name} is missing");
    }
    assert_eq!(found.len(), 9, "{:?}", found.keys());
    found
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

#[test]
fn the_bytes_of_a_plan_do_not_depend_on_the_number_of_jobs() {
    let folder = folder();
    let one = whole(folder.path());
    shedcast(folder.path(), &["plan", "small.toml", "--jobs", "8", "--out", "eight"]).assert().success();
    assert_eq!(files(&folder.path().join("eight")), one);
}

#[test]
fn a_plan_killed_half_way_and_resumed_is_the_bytes_of_the_whole() {
    let folder = folder();
    let one = whole(folder.path());
    let out = folder.path().join("killed");
    let journal = out.join("plan-journal.jsonl");
    for wanted in [1, 4, 9] {
        let mut command = Process::new(cargo_bin!("shedcast"));
        command.current_dir(folder.path()).args(["plan", "small.toml", "--jobs", "1", "--out", "killed", "--resume"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        // As soon as some runs are kept it is killed; what it was writing then may be torn.
        while child.try_wait().expect("its state").is_none() {
            let lines = fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
            if lines > wanted {
                child.kill().expect("it can be killed");
                child.wait().expect("it ends");
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if !journal.exists() {
            // It was quicker than we: that is a whole plan, and resuming it makes it again.
            continue;
        }
        let mut text = fs::read(&journal).expect("the journal");
        text.extend_from_slice(b"{\"variant\":0,\"cell\":3,\"repl");
        fs::write(&journal, text).expect("a torn line");
        if wanted == 1 {
            let refused =
                shedcast(folder.path(), &["plan", "small.toml", "--out", "killed"]).assert().code(2).get_output().clone();
            assert!(String::from_utf8_lossy(&refused.stderr).contains("an unfinished plan is there"), "{refused:?}");
            let other = ["plan", "small.toml", "--out", "killed", "--resume", "--seed", "8"];
            let refused = shedcast(folder.path(), &other).assert().code(2).get_output().clone();
            assert!(String::from_utf8_lossy(&refused.stderr).contains("is of another plan"), "{refused:?}");
        }
    }
    shedcast(folder.path(), &["plan", "small.toml", "--jobs", "2", "--out", "killed", "--resume"]).assert().success();
    assert_eq!(files(&out), one);
}

#[test]
fn a_plan_leaves_a_folder_of_something_else_alone() {
    let folder = folder();
    fs::create_dir(folder.path().join("mine")).expect("a folder");
    fs::write(folder.path().join("mine/letter.txt"), "dear").expect("a file");
    let refused = shedcast(folder.path(), &["plan", "small.toml", "--out", "mine"]).assert().code(2).get_output().clone();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("holds no plan"), "{refused:?}");
    assert_eq!(files(&folder.path().join("mine")).len(), 1);
}

#[test]
fn a_plan_leaves_the_plan_of_another_scenario_alone_unless_told() {
    let folder = folder();
    fs::write(folder.path().join("other.toml"), SMALL.replace("\"small\"", "\"other\"")).expect("the scenario is written");
    let before = whole(folder.path());
    let words = ["plan", "other.toml", "--no-sensitivity", "--no-charts", "--quiet", "--out", "whole"];
    for more in [&[][..], &["--resume"]] {
        let refused = shedcast(folder.path(), &[&words[..], more].concat()).assert().code(2).get_output().clone();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("it holds a plan of `small`, not of `other`") && said.contains("--force"), "{said}");
        assert_eq!(files(&folder.path().join("whole")), before);
    }
    shedcast(folder.path(), &[&words[..], &["--force"]].concat()).assert().success();
    assert_eq!(json(&folder.path().join("whole/plan.json"))["name"], "other");
}

#[test]
fn a_journal_that_is_none_is_not_continued_and_may_be_replaced() {
    let folder = folder();
    let one = whole(folder.path());
    let again = ["plan", "small.toml", "--jobs", "1", "--out", "whole"];
    for text in [&b""[..], b"{}\n", b"\0\xff"] {
        fs::write(folder.path().join("whole/plan-journal.jsonl"), text).expect("written");
        let refused = shedcast(folder.path(), &[&again[..], &["--resume"]].concat()).assert().code(2).get_output().clone();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("journal") && said.contains("start anew with `--force`"), "{said}");
        shedcast(folder.path(), &again).assert().success();
        assert_eq!(files(&folder.path().join("whole")), one, "replaced: the journal holds no run that could be lost");
    }
}

/// Rows of a CSV file by column name.
fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).expect("a CSV file");
    let names: Vec<String> = reader.headers().expect("a head").iter().map(str::to_owned).collect();
    let row = |record: csv::StringRecord| names.iter().cloned().zip(record.iter().map(str::to_owned)).collect();
    reader.records().map(|record| row(record.expect("a row"))).collect()
}

#[test]
fn plan_sweep_and_run_agree_on_every_number_of_the_same_cell_and_seeds() {
    let folder = folder();
    whole(folder.path());
    let planned = rows(&folder.path().join("whole/runs.csv"));
    let runs: Vec<_> = planned.iter().filter(|row| row["variant"] == "asked").collect();
    assert!(runs.len() > 4);
    let measures: Vec<&String> = planned[0].keys().collect();
    let mut compared = 0;
    for row in &runs {
        let (workers, replication) = (&row["fleet.workers"], &row["replication"]);
        let length = format!("horizon={}s", row["horizon"]);
        let seconds: f64 = row["horizon"].parse().expect("a number");
        // The cut that proof.toml shows: one part of 21, in whole milliseconds.
        let cut = format!("warmup={}ms", (seconds * 1000.0 / 21.0).floor());
        let grid = format!("fleet.workers={workers}");
        let count = (replication.parse::<u32>().expect("a number") + 1).to_string();
        let words = ["sweep", "small.toml", "--grid", &grid, "--set", &length, "--set", &cut, "--replications", &count];
        shedcast(folder.path(), &words).args(["--out", "swept", "--force", "--quiet", "--no-charts"]).assert().success();
        let swept = rows(&folder.path().join("swept/replications.csv"));
        let swept = swept.iter().find(|other| other["replication"] == **replication).expect("the same replication");
        for name in measures.iter().filter(|name| swept.contains_key(**name) && !["cell", "warnings"].contains(&name.as_str())) {
            assert_eq!(swept[*name], row[*name], "{name} of {workers} workers, replication {replication}");
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
    // The proof is replication 0 of the answer.
    shedcast(folder.path(), &["run", "whole/proof.toml", "--out", "proof", "--no-charts"]).assert().success();
    let summary = json(&folder.path().join("proof/summary.json"));
    let answer =
        json(&folder.path().join("whole/plan.json"))["answer"]["settings"]["fleet.workers"].as_str().expect("workers").to_owned();
    let row = runs.iter().find(|row| row["fleet.workers"] == answer && row["replication"] == "0").expect("its first run");
    let attempts = &summary["total"]["attempts"];
    let rate = attempts["refused"].as_f64().expect("refused") / attempts["started"].as_f64().expect("started");
    assert_eq!(row["rate_529"].parse::<f64>().expect("a rate"), rate);
}

#[test]
fn verdicts_have_their_exit_codes_and_words() {
    let folder = folder();
    let ask = |words: &[&str], code: i32| -> (Value, String) {
        let mut command =
            shedcast(folder.path(), &["plan", "small.toml", "--out", "asked", "--force", "--no-charts", "--no-sensitivity"]);
        let output = command.args(words).assert().code(code).get_output().clone();
        (json(&folder.path().join("asked/plan.json")), String::from_utf8(output.stdout).expect("text"))
    };
    let (met, said) = ask(&[], 0);
    assert!(met["verdict"] == "met" && said.contains("meet the targets, and nothing less does"), "{said}");
    assert_eq!(met["schema"], "shedcast.plan/1");
    let (none, said) = ask(&["--target", "e2e_p95<=10ms"], 1);
    assert!(none["verdict"] == "infeasible" && none["answer"].is_null(), "{none}");
    assert!(said.contains("infeasible: not even") && said.contains("`e2e_p95<=10ms`"), "{said}");
    assert!(!folder.path().join("asked/answer.toml").exists(), "an infeasible plan leaves no answer of an earlier one");
    let (torn, said) = ask(&["--target", "rate_529<=1%", "--target", "rate_529>=2%"], 1);
    assert!(torn["verdict"] == "infeasible" && torn["runs"] == 0 && said.contains("no value meets both"), "{said}");
    let (open, said) = ask(&["--max-runs", "1"], 1);
    assert!(open["verdict"] == "undecided" && said.contains("undecided"), "{said}");
    let (first, said) = ask(&["--target", "rate_529<=95%"], 0);
    assert!(first["answer"]["settings"]["fleet.workers"] == "1" && said.contains("the first value of the range"), "{said}");
}

#[test]
fn bad_plans_are_refused_before_any_run_with_a_hint() {
    let folder = folder();
    let asked: &[&[&str]] = &[
        &["--target", "rate_592<=1%"],
        &["--target", "rate_529<=0%"],
        &["--target", "nobody:rate_529<=1%"],
        &["--range", "16..1"],
        &["--range", "4,2"],
        &["--range", "a,b"],
        &["--minimise", "fleet.wrkers", "--range", "1..4"],
        &["--minimise", "fleet.request_queue_limit"],
        &["--minimise", "cost"],
        &["--maximise", "goodput"],
        &["--maximise", "load", "--range", "0..2 step 0.5"],
        &["--grid", "fleet.workers=1,2"],
        &["--target", "rate_529<=1"],
        &["--growth", "-5%"],
        &["--growth", "20"],
        &["--survive", "-1"],
        &["--seed", "-1"],
        &["--confidence", "100%"],
        &["--max-runs", "0"],
        &["--run-length", "5s"],
        &["--run-length", "soon"],
    ];
    let said = asked.iter().map(|words| {
        let output = shedcast(folder.path(), &["plan", "small.toml"]).args(*words).assert().code(2).get_output().clone();
        assert!(!folder.path().join("outputs").exists(), "{words:?} has run something");
        format!("{words:?}\n{}", String::from_utf8(output.stderr).expect("text"))
    });
    insta::assert_snapshot!(said.collect::<Vec<_>>().join("\n"));
}

#[test]
fn fleets_too_small_for_the_events_are_told_once_with_the_range_that_is_possible() {
    let folder = folder();
    let events = "[[events]]\nat = \"5s\"\nreport_down = 3\n[[events]]\nat = \"6s\"\nworker_crash = 2\n";
    let scenario = fs::read_to_string(folder.path().join("small.toml")).expect("the scenario");
    fs::write(folder.path().join("events.toml"), format!("{scenario}{events}")).expect("a file");
    let words = ["plan", "events.toml", "--set", "fleet.workers=4", "--minimise", "fleet.workers", "--range", "1..5"];
    let refused = shedcast(folder.path(), &words).assert().code(2).get_output().clone();
    let said = String::from_utf8(refused.stderr).expect("text");
    assert_eq!(said.matches("expected a worker that exists").count(), 2, "{said}");
    assert!(said.contains("with fleet.workers = 1, `events.0.report_down` is `3`"), "{said}");
    assert_eq!(said.matches("hint: `fleet.workers` is possible from 3 to 5: `--range '3..5'`").count(), 1, "{said}");
}

#[test]
fn the_plan_that_the_docs_walk_through_is_what_it_says_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let into = tempfile::tempdir().expect("a temporary folder");
    let output =
        shedcast(root, &["plan", "scenarios/plan-workers.toml", "--no-charts", "--out"]).arg(into.path()).assert().success();
    let said = String::from_utf8(output.get_output().stdout.clone()).expect("text");
    let docs = fs::read_to_string(root.join("docs/planning.md")).expect("the docs are there");
    let shown = docs.split("```").nth(3).expect("the second block is the answer");
    for line in shown.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        assert!(
            said.lines().any(|other| other.trim_end() == line),
            "docs/planning.md shows a line that a plan does not: {line:?}"
        );
    }
}

/// Plans the fewest workers of a file of `scenarios/`, then runs the answer and one worker fewer with 20 new seeds: by the
/// mean of those runs both sides lie at least two half-widths from the target, and all but one run of each, at most, agree
/// with the plan.
fn holds_with_new_seeds(file: &str, sets: &[(&str, String)], target: &str, range: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(file);
    let sets: Vec<SetOption> = sets.iter().map(|(path, value)| SetOption::new("--set", *path, value.clone())).collect();
    let document = Document::load(&path).and_then(|document| document.with(&sets)).unwrap_or_else(|faults| panic!("{faults}"));
    let request = Request {
        targets: vec![target.to_owned()],
        minimise: Some("fleet.workers".to_owned()),
        range: Some(range.to_owned()),
        no_sensitivity: true,
        ..Request::default()
    };
    let plan = Plan::new(document.clone(), &request).unwrap_or_else(|faults| panic!("{faults}"));
    let (remote, mut silent) = (Remote::default(), |_: &Record, _: Progress| {});
    let found = answer(Lab::new(&plan, Vec::new(), 2, &remote, &mut silent)).unwrap_or_else(|halt| panic!("{halt:?}"));
    assert_eq!(found.outcome, Outcome::Met, "{file}: {:?}", found.notes);
    let goal = &plan.description.goals[0];
    let tell = |cell: Option<usize>, meets: bool| {
        let cell = cell.expect("the range holds it");
        let tested: Vec<f64> = (101..121).map(|seed| once(&document, &request, seed, cell)).collect();
        let mean = mean_interval(&tested, 0.95).expect("twenty runs");
        let distance = (mean.mean - goal.value).abs();
        let agree = tested.iter().filter(|value| goal.holds(**value) == meets).count();
        println!("{file}, {}: {:?}, {agree} of 20", plan.description.grid.describe(cell), mean);
        assert!(distance >= 2.0 * mean.half_width.expect("twenty runs"), "{file}: too close to say {mean:?}");
        assert!(agree >= 19, "{file}: {agree} of 20 runs of {}: {tested:?}", plan.description.grid.describe(cell));
    };
    tell(found.chosen, true);
    tell(found.next, false);
}

/// The measure of the plan's target in the first run of a cell under another seed.
fn once(document: &Document, request: &Request, seed: u64, cell: usize) -> f64 {
    let document = document.with(&[SetOption::new("--seed", "seed", seed.to_string())]).expect("a seed");
    let plan = Plan::new(document, request).unwrap_or_else(|faults| panic!("{faults}"));
    let mut scenario = plan.scenario(Key { variant: 0, cell, replication: 0 }).unwrap_or_else(|faults| panic!("{faults}"));
    scenario.output.decision_quality = Some(false);
    let (result, ()) = run(&scenario, RunOptions::default(), (), &Remote::default()).expect("a run");
    result.total.rate_529().expect("attempts")
}

#[test]
fn a_planned_fleet_of_steady_traffic_keeps_its_target_with_new_seeds_and_one_worker_fewer_does_not() {
    holds_with_new_seeds("plan-workers.toml", &[("horizon", "\"3m\"".to_owned())], "rate_529<=1%", "2..12");
}

#[test]
fn a_planned_fleet_of_a_daily_swell_keeps_its_target_with_new_seeds_and_one_worker_fewer_does_not() {
    let faster = ("workload.trace.rate_scale", "8".to_owned());
    holds_with_new_seeds("plan-load.toml", &[faster], "rate_529<=1%", "1..8");
}

#[test]
fn a_planned_fleet_of_a_real_trace_keeps_its_target_with_new_seeds_and_one_worker_fewer_does_not() {
    let Some(trace) = shared("data/traces/azure2023/AzureLLMInferenceTrace_conv.csv") else { return };
    let path = ("workload.trace.path", format!("\"{}\"", trace.display()));
    let faster = ("workload.trace.rate_scale", "8".to_owned());
    // A quarter of an hour of the source, around its busiest minutes.
    let window = ("workload.trace.window_end", "\"15m\"".to_owned());
    holds_with_new_seeds("plan-load.toml", &[path, faster, window], "rate_529<=1%", "1..8");
}
