//! Pieces of schemas for what is written value by value, without a type of its own.

use serde_json::{Map, Value, json};

/// An object that has all of these fields and no others.
pub(super) fn object(about: &str, fields: Vec<(&str, Value)>) -> Value {
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let mut schema = partial_object(about, Vec::new(), fields.clone());
    schema["required"] = json!(required);
    schema
}

/// An object that has the fields of `always`, maybe those of `sometimes`, and no others.
pub(super) fn partial_object(about: &str, always: Vec<(&str, Value)>, sometimes: Vec<(&str, Value)>) -> Value {
    let required: Vec<&str> = always.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        always.iter().chain(&sometimes).map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    told(about, json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false }))
}

/// An object whose fields have names that no schema knows.
pub(super) fn by_name(about: &str, each: Value) -> Value {
    told(about, json!({ "type": "object", "additionalProperties": each }))
}

/// A list of any length.
pub(super) fn list(about: &str, each: Value) -> Value {
    told(about, json!({ "type": "array", "items": each }))
}

pub(super) fn text(about: &str) -> Value {
    of_type(about, "string")
}

pub(super) fn number(about: &str) -> Value {
    of_type(about, "number")
}

/// A whole number, not below 0.
pub(super) fn count(about: &str) -> Value {
    told(about, json!({ "type": "integer", "minimum": 0 }))
}

pub(super) fn flag(about: &str) -> Value {
    of_type(about, "boolean")
}

pub(super) fn one_of(about: &str, names: &[&str]) -> Value {
    told(about, json!({ "enum": names }))
}

/// What a schema says, or null.
pub(super) fn or_null(schema: Value) -> Value {
    either(&[schema, json!({ "type": "null" })])
}

/// What one of some schemas says.
pub(super) fn either(schemas: &[Value]) -> Value {
    json!({ "anyOf": schemas })
}

/// A schema that stands by itself.
pub(super) fn document(title: &str, mut schema: Value) -> Value {
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!(title);
    schema
}

fn of_type(about: &str, kind: &str) -> Value {
    told(about, json!({ "type": kind }))
}

fn told(about: &str, mut schema: Value) -> Value {
    if !about.is_empty() {
        schema["description"] = json!(about);
    }
    schema
}
