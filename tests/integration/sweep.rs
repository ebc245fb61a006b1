//! Sweeps as their users run them: the same bytes whatever the jobs, the shards and the interruptions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;

use super::harness::files;

/// A small fleet with every kind of refusal, over thresholds and rates.
const SMALL: &str = r#"
name = "small"
seed = 7
horizon = "20s"
warmup = "2s"
[fleet]
workers = 2
engine = "h100-llama-3.1-8b-bf16-vllm"
kv_total_blocks = 1500
engine_request_limit = 24
request_queue_limit = 4
[frontend]
router_mode = "kv"
[workload]
arrivals = { process = "poisson", rate = 20 }
input_tokens = { distribution = "lognormal", mean = 900, p99 = 3000 }
output_tokens = { distribution = "lognormal", mean = 120, p99 = 400 }
[slo]
ttft = "1s"
[sweep]
replications = 4
target = ["rate_529<=5%", "ttft_p99<=2s"]
[sweep.grid]
frontend.active_decode_blocks_threshold = "0.5..0.9 step 0.2"
workload.arrivals.rate = [10, 30, 50]
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("small.toml"), SMALL).expect("the scenario is written");
    folder
}

const NOT_INHERITED: [&str; 5] =
    ["SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "JOB_COMPLETION_INDEX", "SHEDCAST_SHARD_COUNT"];

fn shedcast(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin!("shedcast"));
    command.current_dir(folder).args(words);
    for name in NOT_INHERITED {
        command.env_remove(name);
    }
    command
}

/// The files of a sweep in one go.
fn whole(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    shedcast(folder, &["sweep", "small.toml", "--jobs", "1", "--out", "whole"]).assert().success();
    let found = files(&folder.join("whole"));
    for name in ["cells.csv", "replications.csv", "differences.csv", "sweep.json", "charts/pareto.svg", "charts/load-curve.svg"] {
        assert!(found.contains_key(Path::new(name)), "{name} is missing");
    }
    assert!(!found.contains_key(Path::new("sweep-journal.jsonl")));
    found
}

#[test]
fn the_bytes_of_a_sweep_do_not_depend_on_the_number_of_jobs() {
    let folder = folder();
    let one = whole(folder.path());
    for jobs in ["2", "8"] {
        shedcast(folder.path(), &["sweep", "small.toml", "--jobs", jobs, "--out", jobs]).assert().success();
        assert_eq!(files(&folder.path().join(jobs)), one, "{jobs} jobs");
    }
}

#[test]
fn merged_shards_are_the_bytes_of_the_whole() {
    let folder = folder();
    let one = whole(folder.path());
    for count in [1, 5] {
        let mut words = vec!["merge".to_owned(), "--out".to_owned(), format!("merged-{count}")];
        for shard in 1..=count {
            let (part, out) = (format!("{shard}/{count}"), format!("of-{count}/shard-{shard}"));
            shedcast(folder.path(), &["sweep", "small.toml", "--shard", &part, "--out", &out]).assert().success();
            words.push(out);
        }
        if count == 1 {
            // The only shard is the whole sweep.
            assert_eq!(files(&folder.path().join("of-1/shard-1")), one);
            continue;
        }
        let missing: Vec<&str> = words.iter().take(words.len() - 1).map(String::as_str).collect();
        let refused = shedcast(folder.path(), &missing).assert().code(2).get_output().clone();
        assert!(String::from_utf8_lossy(&refused.stderr).contains("shard 5 of 5 missing"), "{refused:?}");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        shedcast(folder.path(), &words).assert().success();
        assert_eq!(files(&folder.path().join(format!("merged-{count}"))), one, "{count} shards");
    }
}

#[test]
fn shards_are_read_from_the_environment_of_slurm_and_kubernetes() {
    let folder = folder();
    let words = ["sweep", "small.toml", "--replications", "1"];
    shedcast(folder.path(), &words).envs([("SLURM_ARRAY_TASK_ID", "1"), ("SLURM_ARRAY_TASK_COUNT", "3")]).assert().success();
    shedcast(folder.path(), &words).envs([("JOB_COMPLETION_INDEX", "2"), ("SHEDCAST_SHARD_COUNT", "3")]).assert().success();
    for shard in ["shard-2", "shard-3"] {
        assert!(folder.path().join("outputs/small-sweep").join(shard).join("sweep-shard.jsonl").exists(), "{shard}");
    }
}

#[test]
fn a_sweep_killed_half_way_and_resumed_is_the_bytes_of_the_whole() {
    let folder = folder();
    let one = whole(folder.path());
    let mut command = Process::new(cargo_bin!("shedcast"));
    command.current_dir(folder.path()).args(["sweep", "small.toml", "--jobs", "1", "--out", "killed"]).stderr(Stdio::null());
    NOT_INHERITED.iter().for_each(|name| {
        command.env_remove(name);
    });
    let mut child = command.stdout(Stdio::null()).spawn().expect("it starts");
    let journal = folder.path().join("killed/sweep-journal.jsonl");
    let lines = || fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
    for _ in 0..6000 {
        if lines() > 5 || child.try_wait().expect("its state is known").is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    // However fast the machine is: what is resumed is a journal of the first runs with a torn line.
    if lines() == 0 {
        panic!("the sweep left no journal: it was done before it could be killed, or had not begun");
    }
    let mut text = fs::read_to_string(&journal).expect("a journal");
    text.push_str("{\"cell\":8,\"repl");
    fs::write(&journal, text).expect("it is written");
    let again = shedcast(folder.path(), &["sweep", "small.toml", "--out", "killed"]).assert().code(2).get_output().clone();
    assert!(String::from_utf8_lossy(&again.stderr).contains("--resume"), "{again:?}");
    let other = ["sweep", "small.toml", "--out", "killed", "--resume", "--seed", "8"];
    let other = shedcast(folder.path(), &other).assert().code(2).get_output().clone();
    assert!(String::from_utf8_lossy(&other.stderr).contains("is of another sweep"), "{other:?}");
    shedcast(folder.path(), &["sweep", "small.toml", "--jobs", "2", "--out", "killed", "--resume"]).assert().success();
    assert_eq!(files(&folder.path().join("killed")), one);
}

#[test]
fn a_cell_run_alone_gives_its_row() {
    let folder = folder();
    let one = whole(folder.path());
    let text = String::from_utf8(one[Path::new("replications.csv")].clone()).expect("text");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|head| *head == name).unwrap_or_else(|| panic!("{name} is missing"));
    // Cell 5: threshold 0.7 at 50 requests/s, replication 0.
    let row = rows.iter().find(|row| row[0] == "5" && row[column("replication")] == "0").expect("a row");
    let sets = ["--set", "frontend.active_decode_blocks_threshold=0.7", "--set", "workload.arrivals.rate=50"];
    let words: Vec<&str> = ["run", "small.toml", "--quiet", "--no-charts", "--out", "alone"].into_iter().chain(sets).collect();
    shedcast(folder.path(), &words).assert().success();
    let summary: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("alone/summary.json")).expect("a file")).expect("JSON");
    let total = &summary["total"];
    let number = |name: &str| row[column(name)].parse::<f64>().expect("a number");
    let same = |name: &str, value: &serde_json::Value| assert_eq!(Some(number(name)), value.as_f64(), "{name}");
    same("rate_529", &total["rate_529"]);
    same("goodput", &total["goodput"]);
    same("ttft_p99", &total["latency"]["ttft_s"]["p99"]);
    same("queue_full_share", &total["occupancy"]["full_share"]);
}

#[test]
fn a_target_that_no_cell_meets_is_a_no_and_a_bad_grid_is_no_answer() {
    let folder = folder();
    let out = |words: &[&str], code: i32| {
        let output = shedcast(folder.path(), words).assert().code(code).get_output().clone();
        (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (text, _) = out(&["sweep", "small.toml", "--replications", "2", "--target", "goodput>=1000", "--no-charts"], 1);
    assert!(text.contains("no cell meets them"), "{text}");
    let (_, said) = out(&["sweep", "small.toml", "--grid", "fleet.wrkers=1,2"], 2);
    assert!(said.contains("did you mean `workers`?"), "{said}");
    assert!(!folder.path().join("outputs/small-sweep/sweep-journal.jsonl").exists());
}

#[test]
fn job_files_hold_the_command_that_was_asked_for() {
    let folder = folder();
    for kind in ["slurm", "kubernetes", "parallel"] {
        let output =
            shedcast(folder.path(), &["sweep", "small.toml", "--seed", "3", "--emit", kind, "--shards", "4"]).assert().success();
        let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert!(text.contains("shedcast sweep small.toml --seed 3"), "{text}");
        assert!(text.contains("shedcast merge ") && text.contains("outputs/small-sweep"), "{text}");
    }
    assert!(!folder.path().join("outputs").exists());
}

#[cfg(unix)]
#[test]
fn an_interrupted_sweep_keeps_what_is_done_and_resumes_to_the_bytes_of_the_whole() {
    let folder = folder();
    let words = ["sweep", "small.toml", "--replications", "2", "--set", "horizon=60s", "--no-charts", "--jobs", "1", "--out"];
    let with = |more: &[&'static str]| words.into_iter().chain(more.iter().copied()).collect::<Vec<&str>>();
    let told = shedcast(folder.path(), &with(&["whole"])).assert().code(0).get_output().clone();
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.starts_with("9 cells, 18 runs, 1 at a time, "), "an estimate before the first run: {told}");
    let mut command = Process::new(cargo_bin!("shedcast"));
    command.current_dir(folder.path()).args(with(&["stopped"])).stdout(Stdio::null()).stderr(Stdio::piped());
    NOT_INHERITED.iter().for_each(|name| {
        command.env_remove(name);
    });
    let child = command.spawn().expect("it starts");
    let journal = folder.path().join("stopped/sweep-journal.jsonl");
    // A header, what the estimate took, and the first runs of the sweep itself.
    let begun = (0..6000).any(|_| {
        std::thread::sleep(Duration::from_millis(2));
        fs::read_to_string(&journal).is_ok_and(|text| text.lines().count() > 5)
    });
    assert!(begun, "the sweep keeps its runs");
    let sent = Process::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted after ") && said.contains("`--resume`"), "{said}");
    let kept = files(&folder.path().join("stopped"));
    let incomplete = String::from_utf8_lossy(&kept[Path::new("cells.csv")]).matches(",incomplete,").count();
    assert!((1..9).contains(&incomplete), "{incomplete} cells are not done");
    let report = shedcast(folder.path(), &["report", "stopped", "--print-only"]).assert().code(1).get_output().stdout.clone();
    let first = format!("NOT FINISHED: {} of 9 cells are done; ", 9 - incomplete);
    assert!(String::from_utf8_lossy(&report).starts_with(&first), "{}", String::from_utf8_lossy(&report));
    let refused = shedcast(folder.path(), &["compare", "whole", "stopped"]).assert().code(2).get_output().stderr.clone();
    let refused = String::from_utf8_lossy(&refused).into_owned();
    assert!(refused.contains("stopped: sweep.json: the sweep is not finished") && refused.contains("`--resume`"), "{refused}");
    shedcast(folder.path(), &with(&["stopped", "--resume"])).assert().code(0);
    assert_eq!(files(&folder.path().join("stopped")), files(&folder.path().join("whole")));
}
