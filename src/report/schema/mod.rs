//! What files mean, for machines: JSON Schema of scenarios and of JSON results, and the columns of tables.
//!
//! None of it is written by hand beside the code that reads or writes the files: the schema of scenarios is what their readers
//! ask for, that of JSON results comes from the types that are written, where there are types, and tests hold the others and the tables
//! against real ones.

mod documents;
mod exemplars;
mod plan;
mod results;
mod scenario;
mod shapes;
mod tables;
mod words;

use serde_json::Value;

pub use scenario::{note_scenario, preset_schema, scenario_notes, scenario_schema, shared};

/// A schema and what it is of.
#[derive(Debug)]
pub struct Schema {
    /// The file it describes, `summary.json`; `scenario` and `preset` for files that users write; another name where two commands
    /// write files of the same name, or the user chooses it.
    pub name: String,
    /// What that file is.
    pub about: &'static str,
    /// The schema: draft 7 of JSON Schema, or a Table Schema for CSV.
    pub schema: Value,
}

impl Schema {
    /// Name of the file that holds it.
    pub fn file(&self) -> String {
        format!("{}.json", self.name.strip_suffix(".json").unwrap_or(&self.name))
    }

    /// As text, indented.
    pub fn to_text(&self) -> String {
        serde_json::to_string_pretty(&self.schema).expect("plain data can be written") + "\n"
    }
}

/// All schemas: first of what users write, then of JSON results, then of tables.
pub fn schemas() -> Vec<Schema> {
    let new = |name: &str, about, schema| Schema { name: name.to_owned(), about, schema };
    let mut all = vec![
        new("scenario", "a scenario file (TOML)", scenario_schema()),
        new("preset", "a preset file (TOML)", preset_schema()),
        new("presets.json", "`presets --format json`", results::presets()),
        new("summary.json", "figures of a run", results::summary()),
        new("sweep.json", "figures of a sweep", results::sweep()),
        new(
            "sweep-journal.jsonl",
            "a line of the journal of a sweep, of a finished shard, or of sweep-records.jsonl",
            results::journal(),
        ),
        new("charts.json", "what the charts of a run are drawn from", results::charts()),
        new("plan.json", "a plan and its answer", plan::plan()),
        new("plan-journal.jsonl", "a line of the journal of a plan", plan::plan_journal()),
        new("comparison.json", "`compare --format json`", documents::comparison()),
        new("calibration.json", "what `calibrate` writes beside the preset", documents::calibration()),
        new("verification.json", "`verify --format json`", documents::verification()),
        new("replay.jsonl", "a line of `replay --format json`", documents::replay()),
        new("inspection.json", "`trace inspect --json`", documents::inspection()),
        new("fit.json", "`trace fit --json`", documents::fit()),
    ];
    all.extend(tables::TABLES.iter().map(|table| new(table.name, table.about, tables::schema(table))));
    all
}
