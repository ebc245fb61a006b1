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
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("outputs").join(example);
    for file in files {
        let old = fs::read(committed.join(file)).unwrap_or_else(|e| panic!("outputs/{example}/{file}: {e}"));
        let new = fs::read(fresh.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(old == new, "outputs/{example}/{file} is not what a run gives now: run the example again and look at it");
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
