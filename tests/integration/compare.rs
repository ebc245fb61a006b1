//! `shedcast compare` as its users meet it.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;

const SMALL: &str = r#"
name = "small"
seed = 5
horizon = "20s"
[fleet]
workers = 2
service_time = { distribution = "exponential", mean = "100ms" }
engine_request_limit = 4
request_queue_limit = 2
[workload]
arrivals = { process = "poisson", rate = 70 }
input_tokens = 100
output_tokens = 10
[sweep]
replications = 3
[sweep.grid]
workload.arrivals.rate = [40, 80]
"#;

fn shedcast(folder: &Path, words: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = Command::new(cargo_bin!("shedcast"));
    for name in ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"] {
        command.env_remove(name);
    }
    command.current_dir(folder).args(words).assert()
}

/// Standard output and standard error.
fn said(found: &assert_cmd::assert::Assert) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&found.get_output().stdout), text(&found.get_output().stderr))
}

/// A folder with runs on two, three and again two workers.
fn runs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("small.toml"), SMALL).expect("the scenario is written");
    for (workers, out) in [("2", "two"), ("3", "three"), ("2", "again")] {
        let set = format!("fleet.workers={workers}");
        shedcast(folder.path(), &["run", "small.toml", "--quiet", "--no-charts", "--set", &set, "--out", out]).success();
    }
    folder
}

#[test]
fn runs_are_compared_with_and_without_intervals() {
    let folder = runs();
    let path = folder.path();
    let (text, _) = said(&shedcast(path, &["compare", "two", "three"]).code(0));
    assert!(
        text.contains("fleet.workers                  2  3\n") && text.contains("worse?") && text.contains("--replications 10"),
        "{text}"
    );
    let (text, _) = said(&shedcast(path, &["compare", "two", "again"]).code(0));
    assert!(text.starts_with("no measure differs") && text.contains("the scenarios are the same"), "{text}");
    let (text, _) = said(&shedcast(path, &["compare", "two", "three", "--replications", "4", "--format", "json"]).code(0));
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let found = &json["units"][0]["measures"]["rate_529"]["against_first"][0];
    let number = |name: &str| found[name].as_f64().expect("a number");
    assert!(number("low") <= number("difference") && number("difference") <= number("high") && number("high") < 0.0, "{found}");
    assert_eq!((&found["paired"], &found["replications"], &found["verdict"]), (&true.into(), &4.into(), &"better".into()));
    // The same bytes for any number of jobs.
    let again = ["compare", "two", "three", "--replications", "4", "--format", "json", "--jobs", "1"];
    assert_eq!(said(&shedcast(path, &again).code(0)).0, text);
    for (format, out) in [("html", "page.html"), ("csv", "rows.csv"), ("markdown", "note.md")] {
        shedcast(path, &["compare", "two", "three", "--format", format, "--out", out]).code(0).stdout("");
        assert!(fs::metadata(path.join(out)).is_ok_and(|file| file.len() > 500), "{out}");
    }
}

#[test]
fn what_got_worse_beyond_its_interval_is_a_no() {
    let folder = runs();
    let path = folder.path();
    let worse = ["compare", "three", "two", "--replications", "5", "--fail-if-worse", "rate_529"];
    let (text, _) = said(&shedcast(path, &worse).code(1));
    assert!(text.contains("! `rate_529` in two"), "{text}");
    shedcast(path, &["compare", "two", "three", "--replications", "5", "--fail-if-worse", "rate_529"]).code(0);
    shedcast(path, &["compare", "three", "two", "--fail-if-worse", "rate_529=90%"]).code(0);
    shedcast(path, &["compare", "two", "again", "--fail-if-worse", "rate_529", "--fail-if-worse", "goodput"]).code(0);
}

#[test]
fn sweeps_are_compared_cell_by_cell() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path();
    fs::write(path.join("small.toml"), SMALL).expect("the scenario is written");
    for (queue, out) in [("2", "short"), ("8", "long")] {
        let set = format!("fleet.request_queue_limit={queue}");
        shedcast(path, &["sweep", "small.toml", "--quiet", "--no-charts", "--set", &set, "--out", out]).success();
    }
    let (text, _) = said(&shedcast(path, &["compare", "short", "long", "--fail-if-worse", "rate_529"]).code(0));
    assert!(text.contains("workload.arrivals.rate = 80") && text.contains("better"), "{text}");
    shedcast(path, &["compare", "long", "short", "--fail-if-worse", "rate_529"]).code(1);
}

#[test]
fn what_cannot_be_compared_says_why() {
    let folder = runs();
    let path = folder.path();
    fs::create_dir(path.join("empty")).expect("a folder");
    let refused = |words: &[&str]| said(&shedcast(path, words).code(2)).1;
    let mut all = vec![
        refused(&["compare", "two", "nowhere"]),
        refused(&["compare", "two", "empty"]),
        refused(&["compare", "two", "three", "--fail-if-worse", "rate_592"]),
        refused(&["compare", "two", "three", "--fail-if-worse", "offered_rate"]),
        refused(&["compare", "two", "three", "--out", "empty", "--format", "csv"]),
    ];
    // Results that another version wrote are not mixed with runs of this one.
    let summary = fs::read_to_string(path.join("three/summary.json")).expect("a file");
    let measures = summary.find("\"measures\"").expect("its measures");
    let at = measures + summary[measures..].find("\"goodput\": ").expect("a measure") + "\"goodput\": ".len();
    fs::write(path.join("three/summary.json"), format!("{}1{}", &summary[..at], &summary[at..])).expect("it is written");
    all.push(refused(&["compare", "two", "three", "--replications", "2"]));
    fs::write(path.join("three/summary.json"), "{}").expect("it is written");
    all.push(refused(&["compare", "two", "three"]));
    // What the system says is its own.
    let all: Vec<String> = all.iter().map(|text| text.split(" (os error").next().unwrap_or_default().to_owned()).collect();
    insta::assert_snapshot!(all.join("\n"));
}
