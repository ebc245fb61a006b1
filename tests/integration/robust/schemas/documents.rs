//! Every kind of file and document that commands give, in as many shapes as they have, against its schema.

use std::fs;
use std::path::Path;
use std::process::Command;

use assert_cmd::cargo::cargo_bin;
use serde_json::{Map, Value, json};
use shedcast::report::verification::tables_json;
use shedcast::verify::{Check, CheckTable};

use super::super::bench::{Bench, GOOD};
use super::validator::faults;
use super::{check_table, root, schema};
use crate::harness::tests_dir;

/// A folder in which commands are run, whose outputs are held against schemas.
struct Held {
    bench: Bench,
}

impl Held {
    fn new() -> Self {
        Self { bench: Bench::new() }
    }

    /// Runs a command, which must come to a yes or a no; answers its standard output.
    #[track_caller]
    fn run(&self, words: &[&str]) -> String {
        let output = self.bench.run(words);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    #[track_caller]
    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.bench.path().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    #[track_caller]
    fn file(&self, file: &str, name: &str) -> Value {
        fits(&self.read(file), name)
    }

    #[track_caller]
    fn table(&self, file: &str, name: &str, swept: &[&str], targets: &[&str]) {
        check_table(&self.read(file), &schema(name), swept, targets);
    }
}

/// A schema under which no object has a field that is not told: a type that is written says nothing of others.
fn closed(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let mut fields: Map<String, Value> = fields
                .iter()
                .map(|(key, inner)| (key.clone(), if key == "enum" { inner.clone() } else { closed(inner) }))
                .collect();
            // `properties` may be the name of a field itself, which holds a schema and not a map of them.
            if fields.get("type") == Some(&json!("object")) && fields.contains_key("properties") {
                fields.entry("additionalProperties").or_insert(json!(false));
            }
            Value::Object(fields)
        }
        Value::Array(entries) => entries.iter().map(closed).collect(),
        other => other.clone(),
    }
}

#[track_caller]
fn fits(text: &str, name: &str) -> Value {
    let mut values = lines_fit(&[text], name);
    values.remove(0)
}

/// Texts of JSON against a schema, which is made only once.
#[track_caller]
fn lines_fit(texts: &[&str], name: &str) -> Vec<Value> {
    let schema = closed(&schema(name));
    let mut values = Vec::new();
    for text in texts {
        let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"));
        let found = faults(&schema, &value);
        assert!(found.is_empty(), "{name}: {found:#?}");
        values.push(value);
    }
    values
}

#[test]
fn presets() {
    let listed = Held::new().run(&["presets", "--format", "json"]);
    assert!(fits(&listed, "presets.json").as_array().expect("a list").len() > 5, "{listed}");
}

#[test]
fn charts_of_runs() {
    let held = Held::new();
    let post = "[[events]]\nat = \"2s\"\npost_busy_threshold = { active_decode_blocks_threshold = 0.5 }\n";
    held.bench.write("posts.toml", format!("{GOOD}{post}").replace("\"good\"", "\"posts\""));
    let [few, many, nothing, posts, opaque] = ["few", "many", "nothing", "posts", "opaque"];
    held.run(&["run", "good.toml", "--no-charts", "--quiet", "--out", few]);
    held.run(&["run", "good.toml", "--set", "fleet.workers=70", "--no-charts", "--quiet", "--out", many]);
    held.run(&["run", "good.toml", "--set", "workload.arrivals.rate=0", "--no-charts", "--quiet", "--out", nothing]);
    held.run(&["run", "posts.toml", "--no-charts", "--quiet", "--out", posts]);
    let soak = root().join("scenarios/soak.toml");
    held.run(&["run", soak.to_str().expect("UTF-8"), "--set", "requests=2000", "--no-charts", "--quiet", "--out", opaque]);
    let read = |run: &str| held.file(&format!("{run}/charts.json"), "charts.json");
    // The shapes that differ.
    assert!(read(few)["occupancy"]["occupancy"]["Workers"].is_array());
    assert!(read(many)["occupancy"]["occupancy"]["Fleet"].is_object());
    assert!(read(nothing)["refusals"].is_object());
    assert!(read(posts)["updates"]["posts"][0].is_object());
    assert_eq!(read(few)["updates"], Value::Null);
    read(opaque);
    let mut broken = read(few);
    broken["latency"]["tail"] = json!("Below");
    assert!(!faults(&schema("charts.json"), &broken).is_empty());
}

#[test]
fn plans_and_their_journals() {
    let held = Held::new();
    let classes = "[[workload.classes]]\nclass = \"chat\"\narrivals = { process = \"poisson\", rate = 20 }\ninput_tokens = 500\noutput_tokens = 40\n";
    let plain = GOOD.split("[workload]").next().expect("a start");
    held.bench.write("classes.toml", format!("{plain}[slo]\ne2e = \"2s\"\n{classes}").replace("\"good\"", "\"classes\""));
    let plan = |words: &[&str], out: &str| {
        // A target of a class has no batches of a run.
        let length = if out == "class" { "scenario" } else { "21s" };
        let always = ["--no-charts", "--quiet", "--run-length", length, "--max-runs", "12", "--out", out];
        held.run(&[&["plan"][..], words, &always].concat());
        let found = held.file(&format!("{out}/plan.json"), "plan.json");
        assert!(["met", "infeasible", "undecided"].contains(&found["verdict"].as_str().expect("a verdict")), "{found}");
        found
    };
    let workers = ["fleet.workers"];
    let met = plan(&["good.toml", "--target", "rate_529<=5%", "--target", "tpot_p93<=1s", "--range", "1..4"], "met");
    assert!(met["verdict"] == "met" && met["sensitivity"][0].is_object() && met["binds"][0].is_object(), "{met}");
    held.table("met/runs.csv", "plan-runs.csv", &workers, &["tpot_p93"]);
    held.table("met/cells.csv", "plan-cells.csv", &workers, &[]);
    let none = plan(&["good.toml", "--target", "ttft_p99<=1ms", "--range", "1..2"], "none");
    assert!(none["verdict"] == "infeasible" && none["answer"].is_null(), "{none}");
    let none = plan(&["good.toml", "--target", "rate_529<=1%", "--target", "rate_529>=2%", "--range", "1..2"], "contrary");
    assert_eq!(none["notes"][0]["code"], "contradiction");
    let limits = ["--maximise", "goodput", "--grid", "fleet.engine_request_limit=8,24", "--no-sensitivity"];
    let best = plan(&[&["good.toml", "--target", "rate_529<=50%"][..], &limits].concat(), "best");
    assert_eq!(best["quest"]["kind"], "best");
    held.table("best/runs.csv", "plan-runs.csv", &["fleet.engine_request_limit"], &[]);
    plan(&["good.toml", "--target", "rate_529<=5%", "--maximise", "load", "--range", "0.5..2.5 step 0.5"], "load");
    let class = ["classes.toml", "--target", "chat:slo_share>=10%", "--range", "1..3", "--no-sensitivity"];
    let class = plan(&class, "class");
    assert_eq!(class["goals"][0]["class"], "chat", "{class}");
    held.table("class/runs.csv", "plan-runs.csv", &workers, &["chat:slo_share"]);
    let mix = root().join("scenarios/plan-mix.toml");
    let grid = ["--grid", "fleet.worker_types.0.workers=2,4", "--grid", "fleet.worker_types.1.workers=0,1"];
    let mix = plan(&[&[mix.to_str().expect("UTF-8"), "--no-sensitivity"][..], &grid].concat(), "mix");
    assert!(mix["cells"][0]["cost"].is_number(), "{mix}");
    let types = ["fleet.worker_types.0.workers", "fleet.worker_types.1.workers"];
    held.table("mix/cells.csv", "plan-cells.csv", &types, &[]);
    // What keeps the journal of a plan that is over: its results have no room.
    let script = "trap '' XFSZ; ulimit -f 40; exec \"$0\" plan good.toml --target rate_529\\<=5% --run-length 21s --range 1..4 \
                  --no-sensitivity --jobs 1 --quiet --out kept";
    let mut command = Command::new("sh");
    let output =
        command.current_dir(held.bench.path()).args(["-c", script]).arg(cargo_bin!("shedcast")).output().expect("sh runs");
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    let journal = held.read("kept/plan-journal.jsonl");
    assert!(journal.lines().count() > 2, "{journal}");
    lines_fit(&journal.lines().collect::<Vec<_>>(), "plan-journal.jsonl");
}

#[test]
fn comparisons() {
    let held = Held::new();
    held.run(&["run", "good.toml", "--no-charts", "--quiet", "--out", "a"]);
    held.run(&["run", "good.toml", "--set", "fleet.workers=1", "--no-charts", "--quiet", "--out", "b"]);
    let sweep = ["sweep", "good.toml", "--replications", "2", "--quiet", "--no-charts"];
    held.run(&[&sweep[..], &["--grid", "fleet.workers=1,2", "--out", "s"]].concat());
    held.run(&[&sweep[..], &["--grid", "fleet.workers=2,3", "--seed", "9", "--out", "t"]].concat());
    for (name, words) in [
        ("runs", &["compare", "a", "b", "--fail-if-worse", "rate_529=1%"][..]),
        ("again", &["compare", "a", "b", "--replications", "2"]),
        ("sweeps", &["compare", "s", "t"]),
    ] {
        let (json, csv) = (format!("{name}.json"), format!("{name}.csv"));
        held.run(&[words, &["--format", "json", "--out", &json]].concat());
        held.run(&[words, &["--format", "csv", "--out", &csv]].concat());
        held.file(&json, "comparison.json");
        held.table(&csv, "comparison.csv", &[], &[]);
    }
    assert!(held.file("runs.json", "comparison.json")["worse"][0].is_string());
    assert!(held.file("sweeps.json", "comparison.json")["not_compared"][0].is_object());
}

#[test]
fn calibrations_and_verifications() {
    let held = Held::new();
    held.run(&[
        "run",
        "good.toml",
        "--set",
        "fleet.workers=1",
        "--set",
        "horizon=20s",
        "--requests-csv",
        "--metrics",
        "--no-charts",
        "--quiet",
        "--out",
        "r",
    ]);
    let requests = held.read("r/requests.csv");
    let mut reader = csv::Reader::from_reader(requests.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let mut log = String::new();
    for row in reader.records() {
        let row = row.expect("a row");
        let value = |name: &str| &row[header.iter().position(|column| column == name).expect("a column")];
        let number = |name: &str| value(name).parse::<f64>().expect("a number");
        if value("outcome") == "completed" {
            let (start, end) = (number("start_s"), number("end_s"));
            log += &json!({
                "input_toks": number("input_tokens"), "output_toks": number("output_tokens"), "queued_ts": start,
                "first_token_ts": start + number("ttft_s"), "last_token_ts": end,
            })
            .to_string();
            log.push('\n');
        }
    }
    held.bench.write("log.jsonl", log);
    held.run(&["calibrate", "log.jsonl", "--name", "log", "--kv-blocks", "1500", "-o", "log.toml"]);
    let run = held.file("log.json", "calibration.json");
    assert!(run["goodness"]["run"]["fitted"][0].is_object(), "{run}");
    let mut table = "tokens,prefill_ms,batch,context,decode_us\n".to_owned();
    for tokens in [100, 200, 400, 800, 1_600] {
        table += &format!("{tokens},{},1,,\n", 10.0 + 0.02 * f64::from(tokens));
    }
    for (batch, context) in [(1, 100), (2, 400), (4, 900), (8, 1_600), (16, 6_400), (32, 3_200), (64, 12_800)] {
        table += &format!(",,{batch},{context},{}\n", 5_000 + 30 * batch + batch * context / 25);
    }
    held.bench.write("table.csv", table);
    held.run(&["calibrate", "table.csv", "--name", "points", "--kv-blocks", "9000", "-o", "points.toml"]);
    let points = held.file("points.json", "calibration.json");
    assert!(points["goodness"]["points"]["decode"].is_object() && points["step_time_s"]["decode"].is_array(), "{points}");
    let found = held.run(&["verify", "--against", "r/metrics.om", "good.toml", "--set", "horizon=20s", "--format", "json"]);
    assert!(fits(&found, "verification.json")["comparison"]["partings"][0]["windows"][0].is_object(), "{found}");
    // `verify` alone takes a minute: its writer is given checks as they are.
    let checks = vec![Check::new("good", 1.0, 1.01, 0.1), Check::new("bad", 1.0, 0.0, 0.1)];
    let tables = [CheckTable { title: "a".to_owned(), rule: "b".to_owned(), checks }];
    let text = String::from_utf8(tables_json(&tables)).expect("UTF-8");
    assert_eq!(fits(&text, "verification.json")["tables"][0]["checks"][1]["error"], Value::Null);
}

#[test]
fn replays() {
    let held = Held::new();
    let mut steps = 0;
    for folder in ["replay", "conformance"] {
        for entry in fs::read_dir(tests_dir().join(folder)).expect("the records") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|ending| ending != "jsonl") {
                continue;
            }
            // The larger ones repeat themselves.
            let text = fs::read_to_string(&path).expect("a text");
            let whole = folder == "replay";
            let part: String = text.lines().take(if whole { usize::MAX } else { 20 }).map(|line| format!("{line}\n")).collect();
            held.bench.write("events.jsonl", part);
            for more in [&["--state"][..], &[]] {
                let shown = held.run(&[&["replay", "events.jsonl", "--format", "json"][..], more].concat());
                steps += lines_fit(&shown.lines().collect::<Vec<_>>(), "replay.jsonl").len();
            }
            let verified = held.run(&["replay", "events.jsonl", "--verify", "--format", "json"]);
            assert_eq!(fits(&verified, "replay.jsonl")["verified"], true, "{}", path.display());
        }
    }
    assert!(steps > 100, "{steps} steps");
    let text = fs::read_to_string(tests_dir().join("replay/thresholds.jsonl")).expect("a text");
    let wrong = text.replacen("\"outcome\":\"", "\"outcome\":\"not ", 1).replacen("\"outcome\": \"", "\"outcome\": \"not ", 1);
    assert_ne!(text, wrong);
    held.bench.write("events.jsonl", wrong);
    let differs = held.run(&["replay", "events.jsonl", "--verify", "--format", "json"]);
    assert_eq!(fits(&differs, "replay.jsonl")["verified"], false);
}

#[test]
fn traces_and_their_fits() {
    let held = Held::new();
    let folder = tests_dir().join("fixtures/traces");
    let mut inspected = 0;
    for entry in fs::read_dir(&folder).expect("the traces") {
        let path = entry.expect("an entry").path();
        let output = held.bench.run(&[Path::new("trace"), Path::new("inspect"), Path::new("--json"), &path]);
        // A few name no columns of their own.
        if output.status.success() {
            fits(&String::from_utf8(output.stdout).expect("UTF-8"), "inspection.json");
            inspected += 1;
        }
    }
    assert!(inspected > 12, "{inspected} traces");
    fs::create_dir(held.bench.path().join("pool")).expect("made");
    let chunk = fs::read(folder.join("servegen_chunk.csv")).expect("the windows");
    held.bench.write("pool/chunk-0-trace.csv", chunk);
    assert_eq!(fits(&held.run(&["trace", "inspect", "--json", "pool"]), "inspection.json")["format"], "servegen");
    // More pairs of lengths than stand in a table.
    let [prompts, answers] = ["input_tokens", "output_tokens"]
        .map(|field| format!("workload.{field}={{ distribution = \"uniform\", low = 10, high = 900 }}"));
    let lengths = ["--set", &prompts, "--set", &answers];
    let run = ["run", "good.toml", "--set", "horizon=60s", "--quiet", "--no-charts", "--out", "run"];
    held.run(&[&run[..], &lengths].concat());
    held.run(&["trace", "convert", "run/resolved.toml", "plain.csv"]);
    held.table("plain.csv", "trace.csv", &[], &[]);
    for more in [&[][..], &["--force", "--scenario", "good.toml"]] {
        let fit = held.run(&[&["trace", "fit", "plain.csv", "--json", "--out", "fit.toml"][..], more].concat());
        assert!(fits(&fit, "fit.json")["figures"][0].is_object());
    }
    held.table("fit-lengths.csv", "lengths.csv", &[], &[]);
}
