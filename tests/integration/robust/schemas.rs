//! The schemas under docs/schema/ are what the program prints, and hold real files: scenarios, results, documents and tables.

#[path = "schemas/documents.rs"]
mod documents;
#[path = "schemas/validator.rs"]
mod validator;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use shedcast::report::schema::{note_scenario, scenario_notes, schemas, shared};
use shedcast::scenario::{Document, Notebook, Notes, Scenario, Shape};

use super::bench::Bench;
use crate::harness::tests_dir;
use validator::faults;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn schema(name: &str) -> Value {
    schemas().into_iter().find(|schema| schema.name == name).unwrap_or_else(|| panic!("{name} has no schema")).schema
}

/// `SHEDCAST_UPDATE_SCHEMAS=1` writes them anew.
#[test]
fn the_committed_schemas_are_those_of_the_program() {
    let folder = root().join("docs/schema");
    if std::env::var_os("SHEDCAST_UPDATE_SCHEMAS").is_some() {
        let words = ["schema", "--out", folder.to_str().expect("UTF-8")];
        assert_eq!(Bench::new().run(&words).status.code(), Some(0));
    }
    let wanted: BTreeMap<String, String> = schemas().iter().map(|schema| (schema.file(), schema.to_text())).collect();
    let listing = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let there: BTreeMap<String, String> = listing
        .map(|entry| entry.expect("an entry").path())
        .map(|path| {
            (path.file_name().expect("a name").to_string_lossy().into_owned(), fs::read_to_string(&path).expect("a text"))
        })
        .collect();
    assert_eq!(there.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    let stale: Vec<&String> = wanted.keys().filter(|name| wanted[*name] != there[*name]).collect();
    assert!(stale.is_empty(), "{stale:?} are stale: run with SHEDCAST_UPDATE_SCHEMAS=1 and look at what changed");
}

/// TOML as JSON: what an editor checks against the schema.
fn as_json(text: &str) -> Option<Value> {
    fn value(of: &toml::Value) -> Value {
        match of {
            toml::Value::String(text) => json!(text),
            toml::Value::Integer(n) => json!(n),
            // JSON has no such numbers, editors that know TOML have.
            toml::Value::Float(x) if !x.is_finite() => json!(0.5),
            toml::Value::Float(x) => json!(x),
            toml::Value::Boolean(b) => json!(b),
            toml::Value::Datetime(date) => json!(date.to_string()),
            toml::Value::Array(list) => list.iter().map(value).collect(),
            toml::Value::Table(table) => table.iter().map(|(key, inner)| (key.clone(), value(inner))).collect(),
        }
    }
    Some(value(&toml::Value::Table(text.parse().ok()?)))
}

/// Every scenario file of the repository that is valid, and what it resolves to.
fn scenarios() -> Vec<(String, String)> {
    let folders = [root().join("scenarios"), tests_dir().join("cases"), tests_dir().join("fuzz/scenario")];
    let mut found = Vec::new();
    for folder in folders {
        let listing = fs::read_dir(&folder).expect("a folder");
        let mut files: Vec<PathBuf> =
            listing.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()).collect();
        files.sort();
        for file in files {
            let text = fs::read_to_string(&file).expect("a text");
            let name = file.display().to_string();
            if let Ok(loaded) = Scenario::parse(&text, &name, &[]) {
                found.push((format!("{name}, resolved"), loaded.scenario.to_toml()));
                found.push((name, text));
            }
        }
    }
    found
}

#[test]
fn every_valid_scenario_fits_its_schema() {
    let schema = schema("scenario");
    let all = scenarios();
    assert!(all.len() > 120, "{} scenarios", all.len());
    for (name, text) in all {
        let Some(json) = as_json(&text) else { continue };
        let found = faults(&schema, &json);
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
}

#[test]
fn what_no_reader_takes_does_not_fit_the_schema() {
    let schema = schema("scenario");
    let bad = [
        "[fleet]\nwrokers = 1\n",
        "[fleet]\nworkers = -1\n",
        "[fleet]\nworkers = 65536\n",
        "[fleet]\nworkers = \"two\"\n",
        "horizon = 10\n[fleet]\nworkers = 1\n",
        "horizon = \"10 parsecs\"\n[fleet]\nworkers = 1\n",
        "[fleet]\nworkers = 1\n[frontend]\nrouter_mode = \"kvv\"\n",
        "[fleet]\nworkers = 1\n[frontend]\nactive_decode_blocks_threshold = 1.5\n",
        "[fleet]\nworkers = 1\n[[events]]\nworker_leave = 1\n",
        "[fleet]\nworkers = 1\nengine = { bass = 1 }\n",
        "[fleet]\nworkers = 1\n[workload]\narrivals = { process = \"poison\", rate = 1 }\n",
        "[workload]\n",
    ];
    for text in bad {
        let json = as_json(text).expect("TOML");
        assert!(Scenario::parse(text, "bad.toml", &[]).is_err() && !faults(&schema, &json).is_empty(), "{text}");
    }
}

/// What is asked of real scenarios is in the schema: so no reader takes a key, a kind or a name that the schema lacks.
#[test]
fn the_schema_knows_everything_that_readers_ask_of_real_scenarios() {
    let notebook = Arc::new(Notebook::default());
    for (name, text) in scenarios() {
        note_scenario(&text, name.trim_end_matches(", resolved"), &notebook);
    }
    let (asked, known) = (shared(&notebook.notes()), scenario_notes());
    let mut lacking = Vec::new();
    let chosen_tables = ["sweep.grid", "sweep.paired", "sweep.baseline", "plan.grid", "plan.paired"];
    let chosen = |path: &str| chosen_tables.iter().any(|table| path.starts_with(table));
    for (path, table) in &asked.tables {
        let keys = known.tables.get(path).map(|table| table.keys.clone()).unwrap_or_default();
        lacking.extend(table.keys.difference(&keys).filter(|_| !chosen(path)).map(|key| format!("key `{path}.{key}`")));
    }
    for (path, shapes) in asked.values.iter().filter(|(path, _)| !chosen(path)) {
        lacking.extend(shapes.iter().filter(|shape| !has(&known, path, shape)).map(|shape| format!("`{path}` as {shape:?}")));
    }
    assert!(lacking.is_empty(), "the exemplars of the schema lead no reader to: {lacking:#?}");
}

/// Whether a kind of value is known, in a range at least as wide.
fn has(known: &Notes, path: &str, shape: &Shape) -> bool {
    known.values.get(path).into_iter().flatten().any(|known| match (known, shape) {
        (Shape::Integer(low, high), Shape::Integer(l, h)) => low <= l && high >= h,
        (Shape::Number(low, high, _), Shape::Number(l, h, _)) => low <= l && high >= h,
        (Shape::Text(most), Shape::Text(m)) => most >= m,
        (Shape::List(_), Shape::List(_)) => true,
        (Shape::OneOf(names), Shape::OneOf(more)) => more.iter().all(|name| names.contains(name)),
        (known, shape) => known == shape,
    })
}

#[test]
fn the_readers_of_presets_take_what_their_schema_says() {
    let text = "name = \"a\"\nkv_total_blocks = 2588\nmax_num_seqs = 64\nengine = { base = 0.0175, prefill = \"104.1us\", decode = 8.56e-5 }\n";
    let preset = shedcast::scenario::PresetFile::parse(text, "gpu.toml").expect("it is sound");
    for text in [text.to_owned(), preset.to_toml()] {
        assert_eq!(faults(&schema("preset"), &as_json(&text).expect("TOML")), Vec::<String>::new());
    }
    assert!(!faults(&schema("preset"), &json!({ "name": "a" })).is_empty());
}

#[test]
fn real_results_fit_their_schemas() {
    let bench = Bench::new();
    let run = |words: &[&str]| assert!(matches!(bench.run(words).status.code(), Some(0 | 1)), "{words:?}");
    let quickstart = root().join("scenarios/quickstart.toml");
    let replay = root().join("scenarios/replay-trace.toml");
    run(&[
        "run",
        quickstart.to_str().expect("UTF-8"),
        "--set",
        "horizon=70s",
        "--no-charts",
        "--quiet",
        "--requests-csv",
        "--out",
        "run",
    ]);
    run(&["run", replay.to_str().expect("UTF-8"), "--no-charts", "--quiet", "--out", "replay"]);
    run(&["run", "good.toml", "--set", "workload.arrivals.rate=0", "--no-charts", "--quiet", "--out", "nothing"]);
    let sweep = ["sweep", "good.toml", "--grid", "fleet.workers=0,1,2", "--replications", "2", "--quiet", "--no-charts"];
    run(&[&sweep[..], &["--target", "rate_529<=5%", "--out", "sweep"]].concat());
    run(&[&sweep[..], &["--shard", "1/2", "--out", "shard"]].concat());
    let read = |file: &str| fs::read_to_string(bench.path().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let json = |file: &str| serde_json::from_str::<Value>(&read(file)).expect("JSON");
    for file in ["run/summary.json", "replay/summary.json", "nothing/summary.json", "sweep/sweep.json"] {
        let name = Path::new(file).file_name().expect("a name").to_str().expect("UTF-8");
        assert_eq!(faults(&schema(name), &json(file)), Vec::<String>::new(), "{file}");
    }
    for line in read("shard/sweep-shard.jsonl").lines() {
        let value: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(faults(&schema("sweep-journal.jsonl"), &value), Vec::<String>::new(), "{line}");
    }
    let tables = ["requests", "timeseries", "worker_timeseries", "workers", "ranks", "threshold_updates"];
    tables.iter().for_each(|table| check_table(&read(&format!("run/{table}.csv")), &schema(&format!("{table}.csv")), &[], &[]));
    for table in ["cells", "replications", "differences"] {
        check_table(&read(&format!("sweep/{table}.csv")), &schema(&format!("{table}.csv")), &["fleet.workers"], &[]);
    }
}

/// Columns by name and order, and every value by its type; `swept` are the fields, and `targets` those that have columns.
#[track_caller]
fn check_table(text: &str, schema: &Value, swept: &[&str], targets: &[&str]) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers().expect("a header").iter().map(str::to_owned).collect();
    let columns = schema["fields"].as_array().expect("fields").iter().flat_map(|field| {
        let name = field["name"].as_str().expect("a name");
        let names = match name {
            "*" => swept.to_vec(),
            "+" => targets.to_vec(),
            name => vec![name],
        };
        names.into_iter().map(move |name| (name.to_owned(), field))
    });
    let (mut names, mut fields): (Vec<String>, Vec<&Value>) = columns.unzip();
    // The one column that a table may lack.
    if schema["title"] == "trace.csv" && header.len() + 1 == names.len() {
        names.pop();
        fields.pop();
    }
    assert_eq!(header, names, "{}", schema["title"]);
    let mut rows = 0;
    for row in reader.records() {
        for (value, field) in row.expect("a row").iter().zip(&fields) {
            let fits = value.is_empty()
                || match field["type"].as_str().expect("a type") {
                    "integer" => value.parse::<i64>().is_ok(),
                    "number" => value.parse::<f64>().is_ok_and(f64::is_finite),
                    _ => true,
                };
            assert!(fits, "{}: `{value}` is no {} of column {}", schema["title"], field["type"], field["name"]);
        }
        rows += 1;
    }
    assert!(rows > 0, "{} has no row", schema["title"]);
}

#[test]
fn schemas_are_listed_printed_and_refused_by_name() {
    let bench = Bench::new();
    let listed = String::from_utf8(bench.run(&["schema"]).stdout).expect("UTF-8");
    for schema in schemas() {
        assert!(listed.contains(&schema.name), "{listed}");
        let printed = bench.run(&["schema", &schema.name]);
        assert_eq!(String::from_utf8(printed.stdout).expect("UTF-8"), schema.to_text());
    }
    assert_eq!(bench.run(&["schema", "summary"]).stdout, schemas()[3].to_text().as_bytes());
    let refused = bench.run(&["schema", "sumary"]);
    let said = String::from_utf8(refused.stderr).expect("UTF-8");
    assert!(
        refused.status.code() == Some(2) && said.contains("`sumary` has no schema") && said.contains("`summary.json`"),
        "{said}"
    );
}

#[test]
fn example_scenarios_name_their_schema_for_editors() {
    for entry in fs::read_dir(root().join("scenarios")).expect("the examples") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let text = fs::read_to_string(&path).expect("a text");
            assert_eq!(text.lines().next(), Some("#:schema ../docs/schema/scenario.json"), "{}", path.display());
            assert!(Document::parse(&text, "a.toml").is_ok());
        }
    }
}
