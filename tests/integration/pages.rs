//! Reports that people look at: pages, and everything drawn again from a results directory.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;

use super::harness::files;

/// A short overload with refusals of several kinds, a threshold post and a name that must not become markup.
const SMALL: &str = r#"
name = "small"
description = "tags <script>alert(1)</script> & \"quotes\" stay text"
seed = 7
horizon = "20s"
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
arrivals = { process = "poisson", rate = [{ at = "0s", rate = 20 }, { at = "8s", rate = 70 }] }
input_tokens = { distribution = "lognormal", mean = 900, p99 = 3000 }
output_tokens = { distribution = "lognormal", mean = 120, p99 = 400 }
[clients]
retry = { statuses = [529], attempts = 2, initial = "500ms", jitter = "full" }
[slo]
ttft = "1s"
[[events]]
at = "14s"
post_busy_threshold = { active_decode_blocks_threshold = 0.5 }
[sweep]
replications = 2
target = ["rate_529<=20%"]
[sweep.grid]
frontend.active_decode_blocks_threshold = [0.5, 0.9]
fleet.request_queue_limit = [2, 4]
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("small.toml"), SMALL).expect("the scenario is written");
    folder
}

fn shedcast(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin!("shedcast"));
    command.current_dir(folder).env_remove("COLUMNS").args(words);
    command
}

/// What a command prints, which must end with `code`.
#[track_caller]
fn said(folder: &Path, words: &[&str], code: i32) -> String {
    let output = shedcast(folder, words).assert().code(code).get_output().clone();
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Takes away what is drawn, has it drawn again, and compares every byte.
#[track_caller]
fn assert_drawn_again(folder: &Path, directory: &str, printed: &str) {
    let before = files(&folder.join(directory));
    assert!(before.contains_key(Path::new("report.html")));
    fs::remove_dir_all(folder.join(directory).join("charts")).expect("there are charts");
    fs::remove_file(folder.join(directory).join("report.html")).expect("there is a page");
    let again = said(folder, &["report", directory, "--charts", "svg"], 0);
    let after = files(&folder.join(directory));
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    let differing: Vec<_> = before.iter().filter(|(name, bytes)| after[*name] != **bytes).map(|(name, _)| name).collect();
    assert!(differing.is_empty(), "these files differ: {differing:?}");
    let (text, files_line) = printed.rsplit_once("\nresults in ").expect("the last paragraph names the files");
    assert_eq!(again, text, "the text is the same, without {files_line}");
    let page = fs::read_to_string(folder.join(directory).join("report.html")).expect("the page");
    assert_eq!(said(folder, &["report", directory, "--print-only", "--format", "html"], 0), page);
}

#[test]
fn a_run_is_drawn_again_to_the_byte_from_its_files() {
    let folder = folder();
    let printed = said(folder.path(), &["run", "small.toml", "--out", "r", "--charts", "svg"], 0);
    assert_drawn_again(folder.path(), "r", &printed);
    let json = said(folder.path(), &["report", "r", "--print-only", "--format", "json"], 0);
    assert_eq!(json, fs::read_to_string(folder.path().join("r/summary.json")).expect("the summary"));
    // What a run leaves undrawn is drawn later.
    said(folder.path(), &["run", "small.toml", "--out", "s", "--no-charts", "--quiet"], 0);
    assert!(!folder.path().join("s/report.html").exists());
    said(folder.path(), &["report", "s", "--charts", "svg", "--quiet"], 0);
    assert_eq!(files(&folder.path().join("r")), files(&folder.path().join("s")));
}

#[test]
fn a_sweep_is_drawn_again_to_the_byte_from_its_files() {
    let folder = folder();
    let printed = said(folder.path(), &["sweep", "small.toml", "--out", "r", "--charts", "svg"], 1);
    let before = files(&folder.path().join("r"));
    fs::remove_dir_all(folder.path().join("r/charts")).expect("there are charts");
    fs::remove_file(folder.path().join("r/report.html")).expect("there is a page");
    let again = said(folder.path(), &["report", "r", "--charts", "svg"], 1);
    assert_eq!(before, files(&folder.path().join("r")));
    assert_eq!(Some(again.as_str()), printed.rsplit_once("\nresults in ").map(|(text, _)| text));
    let json = said(folder.path(), &["sweep", "small.toml", "--out", "s", "--no-charts", "--format", "json"], 1);
    assert_eq!(json.as_bytes(), before[Path::new("sweep.json")]);
    let baseline = fs::read_to_string(folder.path().join("r/baseline.toml")).expect("the scenario of the baseline cell");
    assert!(baseline.contains("active_decode_blocks_threshold = 0.5"), "{baseline}");
}

#[test]
fn what_cannot_be_drawn_says_why() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    said(folder.path(), &["run", "small.toml", "--out", "r", "--no-charts", "--quiet"], 0);
    let refused = |directory: &str| {
        let output = shedcast(folder.path(), &["report", directory]).assert().code(2).get_output().clone();
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let mut messages = vec![refused("nowhere"), refused(".")];
    let charts = fs::read_to_string(at("r/charts.json")).expect("the charts");
    let mut try_with = |text: &str| {
        fs::write(at("r/charts.json"), text).expect("it is written");
        messages.push(refused("r"));
    };
    try_with(&charts.replacen("shedcast.charts/1", "shedcast.charts/0", 1));
    try_with(&charts[..charts.len() / 2]);
    try_with("[]");
    try_with("{\"schema\": \"shedcast.charts/1\"}");
    fs::remove_file(at("r/charts.json")).expect("it is removed");
    messages.push(refused("r"));
    fs::create_dir(at("shard")).expect("a directory");
    fs::write(at("shard/sweep-shard.jsonl"), "").expect("it is written");
    messages.push(refused("shard"));
    fs::create_dir(at("sweep")).expect("a directory");
    fs::write(at("sweep/sweep.json"), "{}").expect("it is written");
    messages.push(refused("sweep"));
    fs::write(at("sweep/sweep-records.jsonl"), "{}\n").expect("it is written");
    messages.push(refused("sweep"));
    insta::assert_snapshot!(messages.join("\n"));
}

/// The parts of a page by the ids of their sections.
fn section<'p>(page: &'p str, id: &str) -> &'p str {
    let start = page.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("there is no section {id}"));
    &page[start..start + page[start..].find("</section>").expect("it ends")]
}

#[test]
fn a_page_opens_with_the_verdict_and_takes_nothing_from_elsewhere() {
    let folder = folder();
    said(folder.path(), &["run", "small.toml", "--out", "r", "--quiet"], 0);
    said(folder.path(), &["sweep", "small.toml", "--out", "s", "--quiet"], 1);
    for (directory, kind) in [("r", "run"), ("s", "sweep")] {
        let page = fs::read_to_string(folder.path().join(directory).join("report.html")).expect("the page");
        let order = ["<h1>", "s-verdict\"", "s-charts\"", "s-warnings\"", "s-scenario\"", "s-method\""];
        let places: Vec<usize> = order.iter().map(|part| page.find(part).unwrap_or_else(|| panic!("{part}"))).collect();
        assert!(page.contains(&format!("shedcast {kind} · small")));
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]) || page.contains("<nav"), "{places:?}");
        for foreign in ["<script", "http://", "https://", "url(", "<link", "<img", "@import", "src="] {
            assert!(!page.contains(foreign), "{kind}: {foreign}");
        }
        assert!(page.contains("tags &lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quotes&quot; stay text"));
        let figures = page.matches("<figure").count();
        assert!(figures >= 4, "{figures} charts");
        assert_eq!(page.matches("role=\"img\"").count(), 2 * figures, "each is drawn for wide and for narrow screens");
        assert_eq!(section(&page, "s-charts").matches("<summary>The numbers behind this chart").count(), figures);
        assert_eq!(page.matches("<section").count(), page.matches("</section>").count());
        let ids: Vec<&str> = page.split(" id=\"").skip(1).map(|rest| &rest[..rest.find('"').expect("it ends")]).collect();
        let mut unique = ids.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), ids.len(), "ids are unique");
    }
    let page = fs::read_to_string(folder.path().join("r/report.html")).expect("the page");
    let verdict = section(&page, "s-verdict");
    for part in
        ["What happened", "Why", "When", "What to change", "<code>frontend.active_decode_blocks_threshold</code>", "worst"]
    {
        assert!(verdict.to_lowercase().contains(&part.to_lowercase()), "{part}: {verdict}");
    }
}

#[test]
fn a_day_gives_a_page_below_3_megabytes() {
    let folder = folder();
    let set = ["--set", "horizon=24h", "--set", "workload.arrivals.rate=0.3", "--set", "events=[]", "--set", "fleet.workers=8"];
    let words: Vec<&str> = ["run", "small.toml", "--out", "r", "--quiet"].into_iter().chain(set).collect();
    said(folder.path(), &words, 0);
    let page = fs::read(folder.path().join("r/report.html")).expect("the page");
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
}

#[test]
fn text_fits_narrow_and_wide_terminals() {
    let folder = folder();
    said(folder.path(), &["run", "small.toml", "--out", "r", "--no-charts", "--quiet"], 0);
    said(folder.path(), &["sweep", "small.toml", "--out", "s", "--no-charts", "--quiet"], 1);
    let mut shown = String::new();
    for (directory, code) in [("r", 0), ("s", 1)] {
        for columns in ["60", "80", "160"] {
            let mut command = shedcast(folder.path(), &["report", directory, "--print-only"]);
            let output = command.env("COLUMNS", columns).assert().code(code).get_output().clone();
            let text = String::from_utf8(output.stdout).expect("UTF-8");
            let width: usize = columns.parse().expect("a number");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{columns} columns:\n{text}");
            assert!(width < 80 || text.lines().count() <= 50, "{columns} columns:\n{text}");
            shown += &format!("== {directory} at {columns} columns\n{text}\n");
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn markdown_has_every_column_and_quiet_has_nothing() {
    let folder = folder();
    let markdown = said(folder.path(), &["run", "small.toml", "--no-charts", "--format", "markdown"], 0);
    insta::assert_snapshot!(markdown);
    let sweep = said(folder.path(), &["sweep", "small.toml", "--no-charts", "--format", "markdown"], 1);
    assert!(sweep.contains("| cell | active_decode_blocks_threshold |") && sweep.contains("| ---: |"), "{sweep}");
    assert_eq!(said(folder.path(), &["report", "outputs/small", "--print-only", "--quiet"], 0), "");
}
