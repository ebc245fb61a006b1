//! As much of JSON Schema (draft 7) as the schemas here use; a keyword that is not known is a fault of the schema.

use serde_json::{Map, Value};
use shedcast::units::Span;

/// What of `value` does not fit, each with its path.
pub fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let fields = match schema {
        Value::Bool(true) => return,
        Value::Object(fields) => fields,
        other => panic!("{path}: {other} is no schema"),
    };
    for (keyword, says) in fields {
        if let Some(why) = unfit(root, fields, keyword, says, value, path, found) {
            found.push(format!("`{path}` is {value}: {why}"));
        }
    }
}

/// Why a value does not fit one keyword; what lies inside it goes into `found`.
fn unfit(
    root: &Value,
    fields: &Map<String, Value>,
    keyword: &str,
    says: &Value,
    value: &Value,
    path: &str,
    found: &mut Vec<String>,
) -> Option<String> {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let length = || value.as_str().map(|text| text.chars().count() as u64);
    let fits = match keyword {
        "$schema" | "title" | "description" | "definitions" | "format" | "default" => true,
        "type" => match says {
            Value::Array(kinds) => kinds.iter().any(|kind| is_a(value, kind)),
            kind => is_a(value, kind),
        },
        "const" => value == says,
        "enum" => says.as_array().expect("a list").contains(value),
        "minimum" => !value.is_number() || number(value) >= number(says),
        "maximum" => !value.is_number() || number(value) <= number(says),
        "exclusiveMinimum" => !value.is_number() || number(value) > number(says),
        "minLength" => length().is_none_or(|n| n >= says.as_u64().expect("a number")),
        "maxLength" => length().is_none_or(|n| n <= says.as_u64().expect("a number")),
        // The one pattern there is: a duration.
        "pattern" => value.as_str().is_none_or(|text| text.parse::<Span>().is_ok()),
        "minItems" => value.as_array().is_none_or(|list| list.len() as u64 >= says.as_u64().expect("a number")),
        "maxItems" => value.as_array().is_none_or(|list| list.len() as u64 <= says.as_u64().expect("a number")),
        "anyOf" => says.as_array().expect("a list").iter().any(|schema| {
            let mut inner = Vec::new();
            check(root, schema, value, path, &mut inner);
            inner.is_empty()
        }),
        "oneOf" => {
            let fitting = |schema: &&Value| {
                let mut inner = Vec::new();
                check(root, schema, value, path, &mut inner);
                inner.is_empty()
            };
            says.as_array().expect("a list").iter().filter(fitting).count() == 1
        }
        "allOf" => {
            says.as_array().expect("a list").iter().for_each(|schema| check(root, schema, value, path, found));
            true
        }
        "$ref" => {
            let name = says.as_str().and_then(|text| text.strip_prefix("#/definitions/")).expect("a definition");
            check(root, &root["definitions"][name], value, path, found);
            true
        }
        "items" => {
            let entries = value.as_array().into_iter().flatten().enumerate();
            match says {
                Value::Array(each) => entries.for_each(|(n, entry)| check(root, &each[n], entry, &format!("{path}.{n}"), found)),
                one => entries.for_each(|(n, entry)| check(root, one, entry, &format!("{path}.{n}"), found)),
            }
            true
        }
        "properties" => {
            for (key, inner) in value.as_object().into_iter().flatten() {
                if let Some(schema) = says.get(key) {
                    check(root, schema, inner, &format!("{path}.{key}"), found);
                }
            }
            true
        }
        "additionalProperties" => {
            let known = fields.get("properties").and_then(Value::as_object);
            for (key, inner) in value.as_object().into_iter().flatten() {
                if known.is_some_and(|known| known.contains_key(key)) {
                    continue;
                }
                match says {
                    Value::Bool(false) => found.push(format!("`{path}.{key}` is no key")),
                    schema => check(root, schema, inner, &format!("{path}.{key}"), found),
                }
            }
            true
        }
        "required" => {
            let lacks = |key: &&Value| value.as_object().is_some_and(|map| !map.contains_key(key.as_str().expect("a name")));
            return says.as_array().expect("a list").iter().find(lacks).map(|key| format!("{key} is missing"));
        }
        other => panic!("{path}: `{other}` is a keyword that nobody checks"),
    };
    (!fits).then(|| format!("expected {keyword} {says}"))
}

fn is_a(value: &Value, kind: &Value) -> bool {
    match kind.as_str().expect("a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64() || value.as_f64().is_some_and(|x| x.fract() == 0.0),
        other => panic!("`{other}` is no type"),
    }
}
