//! The command line as its users meet it.

use std::fs;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;

use super::harness::files;

/// Half a minute of overload on two workers, with every kind of refusal and a threshold post.
const SMALL: &str = r#"
name = "small"
seed = 7
horizon = "30s"
warmup = "2s"
[fleet]
workers = 2
data_parallel_size = 2
engine = "h100-llama-3.1-8b-bf16-vllm"
kv_total_blocks = 1500
engine_request_limit = 24
request_queue_limit = 4
[frontend]
router_mode = "kv"
active_decode_blocks_threshold = 0.9
[workload]
arrivals = { process = "poisson", rate = [{ at = "0s", rate = 20 }, { at = "10s", rate = 70 }] }
input_tokens = { distribution = "lognormal", mean = 900, p99 = 3000 }
output_tokens = { distribution = "lognormal", mean = 120, p99 = 400 }
[clients]
retry = { statuses = [529], attempts = 2, initial = "500ms", jitter = "full" }
[slo]
ttft = "1s"
[[events]]
at = "20s"
post_busy_threshold = { active_decode_blocks_threshold = 0.5 }
"#;

fn shedcast(directory: &Path) -> Command {
    let mut command = Command::new(cargo_bin!("shedcast"));
    command.current_dir(directory).env_remove("NO_COLOR").env_remove("COLUMNS");
    command
}

/// A folder with the small scenario in it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("small.toml"), SMALL).expect("the scenario is written");
    folder
}

#[track_caller]
fn assert_same(one: &Path, other: &Path) {
    let (one, other) = (files(one), files(other));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    let differing: Vec<_> = one.iter().filter(|(name, bytes)| other[*name] != **bytes).map(|(name, _)| name).collect();
    assert!(differing.is_empty(), "these files differ: {differing:?}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

/// What a failing command says on standard error, with its exit code.
fn failure(command: &mut Command) -> (i32, String) {
    let output = command.output().expect("it runs");
    assert!(output.stdout.is_empty(), "nothing goes to standard output: {}", text(&output.stdout));
    (output.status.code().expect("an exit code"), text(&output.stderr))
}

#[test]
fn a_run_repeats_to_the_byte_also_through_its_resolved_scenario() {
    let folder = folder();
    let run = |scenario: &str, out: &str| {
        shedcast(folder.path()).args(["run", scenario, "--out", out, "--requests-csv", "--quiet"]).assert().code(0).stdout("");
    };
    run("small.toml", "a");
    run("small.toml", "b");
    run("a/resolved.toml", "c");
    let names: Vec<String> = files(&folder.path().join("a")).keys().map(|n| n.display().to_string()).collect();
    insta::assert_snapshot!(names.join("\n"));
    assert_same(&folder.path().join("a"), &folder.path().join("b"));
    assert_same(&folder.path().join("a"), &folder.path().join("c"));
}

#[test]
fn both_ways_to_simulate_an_engine_give_the_same_bytes() {
    let folder = folder();
    for engine in ["coalesced", "stepwise"] {
        let args = ["run", "small.toml", "--engine", engine, "--out", engine, "--requests-csv", "--quiet"];
        shedcast(folder.path()).args(args).assert().code(0);
    }
    assert_same(&folder.path().join("coalesced"), &folder.path().join("stepwise"));
}

#[test]
fn the_story_of_a_request_that_never_came_is_no_success() {
    let folder = folder();
    let args = ["run", "small.toml", "--explain", "99999999", "--no-charts", "--quiet"];
    let told = shedcast(folder.path()).args(args).assert().code(1).get_output().clone();
    assert!(text(&told.stdout).contains("request 99999999 did not arrive in this run: its requests are 0 to "), "{told:?}");
    shedcast(folder.path()).args(["run", "small.toml", "--explain", "0", "--no-charts", "--quiet"]).assert().code(0);
}

#[test]
fn verify_says_what_it_was_given_instead() {
    let folder = folder();
    fs::write(folder.path().join("empty.txt"), "\n").expect("a file");
    let said = |words: &[&str]| text(&shedcast(folder.path()).args(words).assert().code(2).get_output().stderr);
    assert!(said(&["verify", "small.toml"]).contains("hint: name the counters to hold it against: `--against COUNTERS`"));
    assert!(said(&["verify", "--against", "empty.txt", "small.toml"]).contains("empty.txt: the file is empty"));
}

#[test]
fn seed_and_set_change_the_scenario_that_is_written_down() {
    let folder = folder();
    let args = ["run", "small.toml", "--seed", "11", "--set", "fleet.workers=3", "--no-charts", "--quiet"];
    shedcast(folder.path()).args(args).assert().code(0);
    let resolved = fs::read_to_string(folder.path().join("outputs/small/resolved.toml")).expect("the default directory");
    assert!(resolved.contains("\nseed = 11\n") && resolved.contains("\nworkers = 3\n"), "{resolved}");
    assert!(!folder.path().join("outputs/small/overview.svg").exists());
}

#[test]
fn the_summary_on_standard_output_has_the_form_that_is_asked_for() {
    let folder = folder();
    let table = shedcast(folder.path()).args(["run", "small.toml", "--no-charts"]).assert().code(0);
    insta::assert_snapshot!(text(&table.get_output().stdout));
    assert_eq!(text(&table.get_output().stderr), "", "no progress where there is no terminal");
    let json = shedcast(folder.path()).args(["run", "small.toml", "--no-charts", "--format", "json"]).assert().code(0);
    assert_eq!(json.get_output().stdout, fs::read(folder.path().join("outputs/small/summary.json")).expect("the file"));
}

#[test]
fn charts_come_in_the_formats_that_are_asked_for() {
    let folder = folder();
    shedcast(folder.path()).args(["run", "small.toml", "--charts", "svg,png", "--quiet"]).assert().code(0);
    let both = files(&folder.path().join("outputs/small"));
    assert!(both[Path::new("overview.png")].starts_with(b"\x89PNG") && both[Path::new("overview.svg")].starts_with(b"<svg"));
    shedcast(folder.path()).args(["run", "small.toml", "--charts", "png", "--quiet"]).assert().code(0);
    let names: Vec<_> = files(&folder.path().join("outputs/small")).into_keys().collect();
    assert!(names.iter().all(|n| n.extension().is_none_or(|e| e != "svg")), "stale charts are gone: {names:?}");
}

#[test]
fn a_scenario_from_standard_input_runs() {
    let folder = folder();
    shedcast(folder.path()).args(["run", "-", "--quiet", "--no-charts"]).write_stdin(SMALL).assert().code(0);
    assert!(folder.path().join("outputs/small/summary.json").exists());
}

#[test]
fn a_faulty_scenario_is_told_whole_and_leaves_nothing_behind() {
    let folder = folder();
    fs::write(folder.path().join("bad.toml"), SMALL.replace("workers = 2", "worker = 2").replace("\"30s\"", "30"))
        .expect("written");
    let (code, said) = failure(shedcast(folder.path()).args(["run", "bad.toml"]));
    assert_eq!(code, 2, "{said}");
    insta::assert_snapshot!(said);
    assert!(!folder.path().join("outputs").exists());
}

#[test]
fn faulty_options_are_told_all_at_once() {
    let folder = folder();
    let (code, said) = failure(shedcast(folder.path()).args(["run", "small.toml", "--set", "fleet.workers", "--set", "=3"]));
    assert_eq!(code, 2, "{said}");
    insta::assert_snapshot!(said);
    let (code, said) = failure(shedcast(folder.path()).args(["run", "small.toml", "--set", "fleet.wrokers=3"]));
    assert!(code == 2 && said.contains("did you mean `workers`?"), "{said}");
}

#[test]
fn a_missing_scenario_is_told_with_its_name() {
    let folder = folder();
    let (code, said) = failure(shedcast(folder.path()).args(["run", "nowhere.toml"]));
    assert!(code == 2 && said.starts_with("error: nowhere.toml: cannot read the scenario"), "{said}");
}

#[test]
fn a_directory_that_cannot_be_used_fails_before_the_run() {
    let folder = folder();
    fs::write(folder.path().join("taken"), "x").expect("written");
    let long = ["run", "small.toml", "--set", "horizon=1000h", "--out"];
    let (code, said) = failure(shedcast(folder.path()).args(long).arg("taken/out"));
    assert!(code == 2 && said.contains("cannot make the directory") && said.contains("hint:"), "{said}");
    fs::create_dir(folder.path().join("work")).expect("made");
    fs::write(folder.path().join("work/thesis.tex"), "x").expect("written");
    let (code, said) = failure(shedcast(folder.path()).args(long).arg("work"));
    assert!(code == 2 && said.contains("--force"), "{said}");
    let args = ["run", "small.toml", "--out", "work", "--force", "--quiet", "--no-charts"];
    shedcast(folder.path()).args(args).assert().code(0);
    assert!(folder.path().join("work/thesis.tex").exists() && folder.path().join("work/summary.json").exists());
}

#[test]
fn results_of_another_scenario_are_not_overwritten() {
    let folder = folder();
    shedcast(folder.path()).args(["run", "small.toml", "--out", "r", "--quiet", "--no-charts"]).assert().code(0);
    let before = files(&folder.path().join("r"));
    let (code, said) = failure(shedcast(folder.path()).args(["run", "small.toml", "--out", "r", "--set", "name=other"]));
    assert!(code == 2 && said.contains("it holds the results of `small`, not of `other`"), "{said}");
    assert_eq!(files(&folder.path().join("r")), before);
}

#[test]
fn a_run_that_ends_at_a_bound_says_so_and_exits_with_1() {
    let folder = folder();
    let args = ["run", "small.toml", "--no-charts", "--set", "limits.max_requests_in_system=30"];
    let output = shedcast(folder.path()).args(args).assert().code(1).get_output().clone();
    assert!(text(&output.stdout).contains("max_requests_in_system"), "{}", text(&output.stdout));
    let summary = fs::read_to_string(folder.path().join("outputs/small/summary.json")).expect("the files are written");
    assert!(summary.contains("\"complete\": false"), "{summary}");
}

#[test]
fn a_file_beyond_its_bound_leaves_earlier_results_as_they_were() {
    let folder = folder();
    shedcast(folder.path()).args(["run", "small.toml", "--quiet", "--no-charts"]).assert().code(0);
    let before = files(&folder.path().join("outputs/small"));
    let args = ["run", "small.toml", "--requests-csv", "--set", "limits.max_output_bytes=20000"];
    let (code, said) = failure(shedcast(folder.path()).args(args));
    assert!(code == 2 && said.contains("larger than `limits.max_output_bytes` = 20000"), "{said}");
    assert_eq!(files(&folder.path().join("outputs/small")), before);
}

#[test]
fn check_prints_a_resolved_scenario_that_reads_back_the_same() {
    let folder = folder();
    let resolved = shedcast(folder.path()).args(["check", "small.toml"]).assert().code(0).get_output().stdout.clone();
    let again = shedcast(folder.path()).args(["check", "-"]).write_stdin(resolved.clone()).assert().code(0);
    assert_eq!(text(&again.get_output().stdout), text(&resolved));
}

#[test]
fn check_tells_warnings_and_the_faults_of_all_files() {
    let folder = folder();
    fs::write(folder.path().join("idle.toml"), SMALL.replace("engine_request_limit = 24\n", "")).expect("written");
    let output = shedcast(folder.path()).args(["check", "idle.toml", "--quiet"]).assert().code(0).get_output().clone();
    let said = text(&output.stderr);
    assert!(said.starts_with("warning: idle.toml: `fleet.request_queue_limit` has no effect"), "{said}");
    fs::write(folder.path().join("bad.toml"), "nonsense").expect("written");
    let output = shedcast(folder.path()).args(["check", "bad.toml", "small.toml", "gone.toml"]).output().expect("it runs");
    let (said, printed) = (text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("bad.toml:1:") && said.contains("gone.toml: cannot read"), "{said}");
    assert!(printed.contains("name = \"small\""), "the sound one is printed: {printed}");
}

#[test]
fn messages_are_coloured_only_where_that_is_wanted() {
    let folder = folder();
    let (_, plain) = failure(shedcast(folder.path()).args(["run", "gone.toml"]));
    let (_, coloured) = failure(shedcast(folder.path()).args(["run", "gone.toml", "--color", "always"]));
    assert!(!plain.contains('\x1b') && coloured.contains("\x1b[1;31merror:\x1b[0m"), "{plain}{coloured}");
    assert_eq!(coloured.replace("\x1b[1;31m", "").replace("\x1b[0m", ""), plain, "colour carries no meaning alone");
}

#[test]
fn help_says_what_there_is() {
    let folder = folder();
    for name in ["run", "check"] {
        let output = shedcast(folder.path()).args([name, "--help"]).assert().code(0).get_output().clone();
        insta::assert_snapshot!(format!("help_of_{name}"), text(&output.stdout));
    }
    let output = shedcast(folder.path()).arg("--help").assert().code(0).get_output().clone();
    insta::assert_snapshot!("help", text(&output.stdout));
    let (code, said) = failure(shedcast(folder.path()).args(["run", "small.toml", "--quick"]));
    assert!(code == 2 && said.contains("--quick"), "{said}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = folder();
    let mut child = Process::new(cargo_bin!("shedcast"))
        .args(["check", "small.toml"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_what_is_missing_and_leaves_no_file() {
    let folder = folder();
    let long = ["run", "small.toml", "--set", "horizon=100000h", "--requests-csv"];
    let child = Process::new(cargo_bin!("shedcast"))
        .args(long)
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let streamed = folder.path().join("outputs/small/requests.csv.partial");
    // The handler stands before the first rows are written.
    let begun = (0..3000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        fs::metadata(&streamed).is_ok_and(|file| file.len() > 0)
    });
    assert!(begun, "the run streams its rows");
    let sent = Process::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    let output = child.wait_with_output().expect("it ends");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.starts_with("error: interrupted after") && said.contains("of 100000h") && said.contains("hint:"), "{said}");
    assert!(!folder.path().join("outputs").exists(), "nothing is left");
}

#[test]
fn the_example_scenarios_run_and_conserve_their_requests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = tempfile::tempdir().expect("a temporary folder");
    for name in ["quickstart", "worker-cap", "ranks", "replay-trace"] {
        let file = format!("scenarios/{name}.toml");
        let checked = shedcast(root).args(["check", "--quiet", &file]).assert().code(0);
        assert_eq!(text(&checked.get_output().stderr), "", "{name} gives no warning");
        let json = shedcast(root).args(["run", &file, "--format", "json", "--out"]).arg(out.path().join(name)).assert().code(0);
        let summary: serde_json::Value = serde_json::from_slice(&json.get_output().stdout).expect("JSON");
        assert_eq!(summary["conservation"]["holds"], true, "{name}");
        assert!(summary["total"]["attempts"]["refused"].as_u64() > Some(0), "{name} shows refusals");
    }
}
