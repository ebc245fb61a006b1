//! The schema of scenario and preset files: what their readers ask for, noted while they read. So it has every key, kind and
//! range that the readers have, and no other.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::exemplars;
use super::words::about;
use crate::experiment::plan;
use crate::experiment::sweep::{Plan, Request};
use crate::scenario::{Document, Notebook, Notes, PresetFile, Shape};

/// What stands in several places of a scenario: the name of the definition, and the paths.
const SHARED: [(&str, &[&str]); 7] = [
    (
        "durations",
        &[
            "fleet.service_time",
            "fleet.worker_types.*.service_time",
            "telemetry.delay",
            "clients.closed_loop.think_time",
            "clients.closed_loop.turn_think_time",
            "clients.sessions.turn_think_time",
        ],
    ),
    (
        "lengths",
        &[
            "workload.input_tokens",
            "workload.output_tokens",
            "workload.classes.*.input_tokens",
            "workload.classes.*.output_tokens",
            "workload.trace.input_tokens",
            "workload.trace.output_tokens",
            "#lengths.components.*.tokens",
            "clients.closed_loop.turns",
            "clients.sessions.turns",
        ],
    ),
    ("length_pairs", &["workload.lengths", "workload.classes.*.lengths"]),
    ("arrivals", &["workload.arrivals", "workload.classes.*.arrivals"]),
    ("engine", &["fleet.engine", "fleet.worker_types.*.engine", "engine"]),
    ("advertised", &["fleet.advertised", "fleet.worker_types.*.advertised"]),
    ("telemetry_fault", &["events.*.telemetry_outage", "events.*.telemetry_freeze"]),
];

/// A duration as a text, as JSON Schema's regular expressions have it.
pub(super) const DURATION: &str =
    "^ *([0-9]+(\\.[0-9]*)?|\\.[0-9]+) *(ns|us|µs|ms|s|m|h|d)( *([0-9]+(\\.[0-9]*)?|\\.[0-9]+) *(ns|us|µs|ms|s|m|h|d))* *$";

/// The schema of scenario files.
pub fn scenario_schema() -> Value {
    let notes = scenario_notes();
    let mut schema = object(&notes, "");
    title(&mut schema, "shedcast scenario", "One experiment: a fleet, its frontends, traffic, and what happens when.");
    let definitions = SHARED.iter().map(|(name, _)| ((*name).to_owned(), value(&notes, &format!("#{name}"))));
    schema.insert("definitions".to_owned(), Value::Object(definitions.collect()));
    Value::Object(schema)
}

/// The schema of preset files.
pub fn preset_schema() -> Value {
    let notes = preset_notes();
    let mut schema = object(&notes, "");
    title(&mut schema, "shedcast preset", "A worker described in a file: `engine = \"my-gpu.toml\"` in a scenario.");
    schema.insert("definitions".to_owned(), json!({ "engine": value(&notes, "#engine") }));
    Value::Object(schema)
}

fn title(schema: &mut Map<String, Value>, title: &str, description: &str) {
    schema.shift_insert(0, "$schema".to_owned(), json!("http://json-schema.org/draft-07/schema#"));
    schema.shift_insert(1, "title".to_owned(), json!(title));
    schema.shift_insert(2, "description".to_owned(), json!(description));
}

/// What the readers of scenarios ask for, with what stands in several places under one path.
pub fn scenario_notes() -> Notes {
    let notebook = Arc::new(Notebook::default());
    exemplars::SCENARIOS.iter().for_each(|text| note_scenario(text, "exemplar.toml", &notebook));
    shared(&notebook.notes())
}

/// Notes what is asked of one scenario; whether it is valid is of no concern.
pub fn note_scenario(text: &str, origin: &str, notebook: &Arc<Notebook>) {
    let Ok(document) = Document::parse(text, origin) else { return };
    let document = document.noting(notebook);
    let _ = document.decode();
    let _ = Plan::new(document.clone(), &Request::default());
    let _ = plan::Plan::new(document, &plan::Request::default());
}

/// What the reader of preset files asks for.
pub(super) fn preset_notes() -> Notes {
    let notebook = Arc::new(Notebook::default());
    for text in exemplars::PRESETS {
        let document = Document::parse(text, "exemplar.toml").expect("the exemplars are TOML").noting(&notebook);
        let _ = PresetFile::read(&document);
    }
    shared(&notebook.notes())
}

/// Notes with what stands in several places under the path of its definition.
pub fn shared(notes: &Notes) -> Notes {
    notes.renamed(|path| {
        let mut path = path.to_owned();
        while let Some(renamed) = definition_of(&path) {
            path = renamed;
        }
        path
    })
}

/// Whether a definition stands at `path`.
#[cfg(test)]
pub(super) fn is_shared(path: &str) -> bool {
    definition_of(path).is_some_and(|renamed| !renamed.contains('.'))
}

fn definition_of(path: &str) -> Option<String> {
    SHARED.iter().find_map(|(name, places)| {
        let rest =
            places.iter().find_map(|place| path.strip_prefix(place).filter(|rest| rest.is_empty() || rest.starts_with('.')))?;
        Some(format!("#{name}{rest}"))
    })
}

/// The schema of the value at `path`; of a shared one, a reference.
fn reference(notes: &Notes, path: &str) -> Value {
    match definition_of(path).filter(|renamed| !renamed.contains('.')) {
        Some(name) => json!({ "description": about(path), "allOf": [{ "$ref": format!("#/definitions/{}", &name[1..]) }] }),
        None => {
            let mut schema = value(notes, path);
            if let Some(fields) = schema.as_object_mut() {
                fields.shift_insert(0, "description".to_owned(), json!(about(path)));
            }
            schema
        }
    }
}

fn value(notes: &Notes, path: &str) -> Value {
    let shapes: Vec<Value> = notes.values.get(path).into_iter().flatten().map(|shape| of_shape(notes, path, shape)).collect();
    match <[Value; 1]>::try_from(shapes) {
        Ok([one]) => one,
        Err(none) if none.is_empty() => json!({}),
        Err(several) => json!({ "anyOf": several }),
    }
}

fn of_shape(notes: &Notes, path: &str, shape: &Shape) -> Value {
    match shape {
        Shape::Integer(low, u64::MAX) => json!({ "type": "integer", "minimum": low }),
        Shape::Integer(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Shape::Number(low, high, open) => {
            let mut number = Map::from_iter([("type".to_owned(), json!("number"))]);
            number.insert(if *open { "exclusiveMinimum" } else { "minimum" }.to_owned(), json!(low));
            if *high < f64::MAX {
                number.insert("maximum".to_owned(), json!(high));
            }
            Value::Object(number)
        }
        Shape::AnyNumber => json!({ "type": "number" }),
        Shape::Boolean => json!({ "type": "boolean" }),
        Shape::Text(most) => json!({ "type": "string", "minLength": 1, "maxLength": most }),
        Shape::Word(word) => json!({ "const": word }),
        Shape::OneOf(names) => json!({ "enum": spellings(names) }),
        Shape::Span => json!({ "type": "string", "pattern": DURATION }),
        Shape::StepTime => json!({ "type": ["number", "string"], "minimum": 0 }),
        Shape::Table => Value::Object(object(notes, path)),
        Shape::List(0) => json!({ "type": "array", "items": reference(notes, &format!("{path}.*")) }),
        Shape::List(most) => {
            json!({ "type": "array", "minItems": 1, "maxItems": most, "items": reference(notes, &format!("{path}.*")) })
        }
    }
}

/// Names with `-` and with `_`: both are read.
fn spellings(names: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for name in names.iter().flat_map(|name| [name.clone(), name.replace('-', "_"), name.replace('_', "-")]) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

fn object(notes: &Notes, path: &str) -> Map<String, Value> {
    // A table that no reader has gone through may hold anything.
    let Some(table) = notes.tables.get(path) else { return Map::from_iter([("type".to_owned(), json!("object"))]) };
    let child = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    let mut schema = Map::from_iter([("type".to_owned(), json!("object"))]);
    // Keys that the user chooses say nothing of their values.
    if !table.open {
        let properties = table.keys.iter().map(|key| ((*key).to_owned(), reference(notes, &child(key))));
        schema.insert("properties".to_owned(), Value::Object(properties.collect()));
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
    if !table.required.is_empty() {
        schema.insert("required".to_owned(), json!(table.required));
    }
    schema
}
