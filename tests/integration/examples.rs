//! The example results that the README shows are what the product gives, to the last byte.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;

/// Runs `arguments` in the checkout with results in a folder of their own; answers what stood on standard output.
fn results_of(arguments: &[&str], into: &Path) -> String {
    let mut command = Command::new(cargo_bin!("shedcast"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).arg("--out").arg(into);
    let output = command.assert().success().get_output().stdout.clone();
    String::from_utf8(output).expect("the text is UTF-8")
}

/// The committed files of `example` equal those of a fresh run.
fn assert_committed(example: &str, fresh: &Path, files: &[&str]) {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results").join(example);
    for file in files {
        let old = fs::read(committed.join(file)).unwrap_or_else(|e| panic!("docs/results/{example}/{file}: {e}"));
        let new = fs::read(fresh.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(old == new, "docs/results/{example}/{file} is not what a run gives now: run the example again and look at it");
    }
}

/// Results come to `outputs/`, and nothing is written into a directory with other files: one that came with the checkout would make
/// the first command of the README fail.
#[test]
fn a_fresh_checkout_has_no_results_in_the_way() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ignored = fs::read_to_string(root.join(".gitignore")).expect("the repository ignores what is built");
    assert!(ignored.lines().any(|line| line == "/outputs/"), "results are no part of the repository");
    assert!(!ignored.lines().any(|line| line.starts_with("!/outputs")), "nor are some of them");
    let listed = std::process::Command::new("git").current_dir(root).args(["ls-files", "outputs"]).output();
    match listed {
        Ok(listed) if listed.status.success() => assert!(listed.stdout.is_empty(), "{}", String::from_utf8_lossy(&listed.stdout)),
        _ => println!("skipped in part: this is no git checkout"),
    }
}

#[test]
fn the_quickstart_of_the_readme_is_what_a_run_gives() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let said = results_of(&["run", "scenarios/quickstart.toml"], folder.path());
    assert_committed("quickstart", folder.path(), &["overview.svg", "threshold_updates.csv"]);
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("the README is there");
    let shown = readme.split("```").nth(1).expect("the README opens with an output");
    for line in shown.lines().map(str::trim_end).filter(|l| !l.is_empty() && !l.starts_with('$') && *l != "...") {
        assert!(said.lines().any(|l| l.trim_end() == line), "the README shows a line that a run does not: {line:?}");
    }
}

#[test]
fn the_threshold_sweep_of_the_readme_is_what_a_sweep_gives() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    results_of(&["sweep", "scenarios/sweep-threshold.toml"], folder.path());
    assert_committed("sweep-threshold-sweep", folder.path(), &["cells.csv", "charts/heat-map-rate_529.svg"]);
}

/// Commands of the code blocks of a guide.
fn commands(guide: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(guide)).expect("the guide");
    let blocks = text.split("```").skip(1).step_by(2);
    blocks.flat_map(str::lines).filter_map(|line| line.strip_prefix("shedcast ")).map(str::to_owned).collect()
}

#[test]
fn every_command_of_the_guide_to_traffic_works() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Results and files that commands write go to the folder; scenarios are read from the checkout.
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let all = commands("traffic.md");
    assert!(all.len() > 5, "the guide has commands: {all:?}");
    for line in all {
        let line = line.replace("scenarios/", &format!("{}/", scenarios.display()));
        let mut command = Command::new(cargo_bin!("shedcast"));
        command.current_dir(folder.path()).args(line.split_whitespace());
        command.assert().success();
    }
    let table = fs::read_to_string(folder.path().join("swell.toml")).expect("the fit");
    assert!(table.contains("csv = \"swell-lengths.csv\"") && folder.path().join("swell-lengths.csv").exists());
}

#[test]
fn two_bursty_classes_and_chats_show_what_their_files_say() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let said = results_of(&["run", "scenarios/two-classes.toml", "--no-charts"], &folder.path().join("classes"));
    for class in ["chat", "code", "batch"] {
        assert!(said.lines().any(|line| line.starts_with(&format!("  {class} "))), "{class}: {said}");
    }
    let summary = |sets: &[&str]| -> serde_json::Value {
        let mut arguments = vec!["run", "scenarios/two-classes.toml", "--no-charts", "--format", "json"];
        sets.iter().for_each(|set| arguments.extend(["--set", set]));
        serde_json::from_str(&results_of(&arguments, &folder.path().join("classes"))).expect("JSON")
    };
    let of = |summary: &serde_json::Value, name: &str| summary["total"][name].as_f64().expect("a figure");
    let (bounded, free) = (summary(&[]), summary(&["clients.retry.budget=none"]));
    assert!(of(&free, "amplification") > 1.5 && of(&bounded, "amplification") < 1.1);
    assert!(of(&free, "throughput") < of(&bounded, "throughput") * 1.01, "retries bring nothing");
    let chats = results_of(&["run", "scenarios/chat-sessions.toml", "--no-charts"], &folder.path().join("chats"));
    assert!(chats.contains("broken by a turn without answer"), "{chats}");
}
