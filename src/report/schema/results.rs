//! Schemas of JSON results, from the types that are written.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::experiment::sweep::journal::Header;
use crate::experiment::sweep::{Description, Record};
use crate::report::{RunCharts, Summary};
use crate::scenario::Preset;

/// The schema of a type that is written.
pub(super) fn of<T: JsonSchema>() -> Value {
    let schema: Schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<T>();
    let mut value = schema.to_value();
    plain_words(&mut value);
    value
}

/// Descriptions without the links of the source's documentation.
fn plain_words(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields.iter_mut() {
                match inner {
                    Value::String(text) if key == "description" => *text = without_links(text),
                    _ => plain_words(inner),
                }
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(plain_words),
        _ => {}
    }
}

/// [`A`](b) and [`A`] become `A`.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[`") {
        plain.push_str(before);
        let Some((name, tail)) = after.split_once("`]") else {
            plain.push_str("[`");
            rest = after;
            continue;
        };
        plain.push_str(&format!("`{name}`"));
        rest = tail.strip_prefix('(').and_then(|link| link.split_once(')')).map_or(tail, |(_, tail)| tail);
    }
    (plain + rest).replace('\n', " ")
}

/// `summary.json`.
pub(super) fn summary() -> Value {
    of::<Summary>()
}

/// `presets --format json`.
pub(super) fn presets() -> Value {
    let mut schema = of::<Vec<Preset>>();
    schema["title"] = json!("Presets");
    schema
}

/// `charts.json`.
pub(super) fn charts() -> Value {
    of::<RunCharts>()
}

/// `sweep-journal.jsonl` and `sweep-shard.jsonl`, line by line.
pub(super) fn journal() -> Value {
    journal_of::<Header, Record>("A line of the journal of a sweep")
}

/// A journal, line by line: a header, then records.
pub(super) fn journal_of<H: JsonSchema, R: JsonSchema>(title: &str) -> Value {
    let (mut header, mut record) = (of::<H>(), of::<R>());
    let mut definitions = Map::new();
    for schema in [&mut header, &mut record] {
        let fields = schema.as_object_mut().expect("a struct is an object");
        fields.remove("$schema");
        if let Some(Value::Object(more)) = fields.remove("definitions") {
            definitions.extend(more);
        }
    }
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": title,
        "description": "The first line is the header; each further one is a finished run.",
        "anyOf": [header, record],
        "definitions": definitions,
    })
}

/// `sweep.json`: the description of the sweep, and what its cells came to.
pub(super) fn sweep() -> Value {
    let mut schema = of::<Description>();
    let fields = schema.as_object_mut().expect("a struct is an object");
    fields.insert("title".to_owned(), json!("Sweep"));
    fields.insert("description".to_owned(), json!("A sweep and what its cells came to. What does not exist is null, never 0."));
    let more = [
        ("complete", json!({ "description": "Whether every cell has its replications.", "type": "boolean" })),
        ("confidence", json!({ "description": "Level of the intervals.", "type": "number" })),
        ("measures", json!({ "description": "Measures by name, with their units.", "type": "array", "items": measure() })),
        ("cells", json!({ "description": "Cells in the order of the grid.", "type": "array", "items": cell() })),
        (
            "ranking",
            json!({ "description": "Cells that meet all targets, the best first.", "type": "array", "items": { "type": "integer", "minimum": 0 } }),
        ),
    ];
    for (name, property) in more {
        fields["properties"][name] = property;
        fields["required"].as_array_mut().expect("some fields are required").push(json!(name));
    }
    schema
}

fn measure() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "description": "Name in files and options.", "type": "string" },
            "label": { "description": "What it is, for people.", "type": "string" },
            "unit": { "description": "Base unit.", "type": "string" },
            "better": { "description": "Which values are wanted.", "enum": ["lower", "higher", null] },
        },
        "required": ["name", "label", "unit", "better"],
        "additionalProperties": false,
    })
}

fn cell() -> Value {
    let number = json!({ "type": ["number", "null"] });
    json!({
        "type": "object",
        "properties": {
            "cell": { "description": "Number of the cell, from 0.", "type": "integer", "minimum": 0 },
            "settings": { "description": "Value of each swept field.", "type": "object", "additionalProperties": { "type": "string" } },
            "status": { "description": "How the cell ended.", "enum": ["ok", "bounded", "failed", "incomplete"] },
            "why": { "description": "Why it did not end well.", "type": ["string", "null"] },
            "replications": { "description": "Runs.", "type": "integer", "minimum": 0 },
            "warnings": {
                "description": "How many runs gave each warning, by its code.",
                "type": "object",
                "additionalProperties": { "type": "integer", "minimum": 1 },
            },
            "targets": { "description": "Whether the targets are met; null without targets.", "enum": ["met", "mean_only", "missed", null] },
            "measures": {
                "description": "Estimates by the name of the measure; one that no run has is absent.",
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "properties": {
                        "mean": { "description": "Mean over the runs.", "type": "number" },
                        "low": number,
                        "high": number,
                        "interval": { "description": "How the interval is taken.", "type": "string" },
                        "replications": { "description": "Runs that have the measure.", "type": "integer", "minimum": 0 },
                    },
                    "required": ["mean", "low", "high", "interval", "replications"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["cell", "settings", "status", "why", "replications", "warnings", "targets", "measures"],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_the_documentation_become_plain_names() {
        assert_eq!(
            without_links("see [`RunEnd::name`](crate::a::b), [`SCHEMA`].\nNext [x]"),
            "see `RunEnd::name`, `SCHEMA`. Next [x]"
        );
    }
}
