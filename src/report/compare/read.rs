//! From the files of a directory of results to a side of a comparison.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::experiment::compare::{Replication, Side, Unit};
use crate::experiment::measure_table::MEASURES;
use crate::report::summary;

/// The side of a run, from its `summary.json` and `resolved.toml`.
///
/// # Errors
/// What is wrong with which file, and a hint.
pub fn run_side(name: &str, summary: &str, resolved: &str) -> Result<Side, String> {
    let bad = |what: &str| format!("summary.json: {what}\n  hint: run it again with this version");
    let summary: Value = serde_json::from_str(summary).map_err(|error| bad(&format!("no JSON ({error})")))?;
    if summary["schema"] != summary::SCHEMA {
        return Err(bad(&format!("its `schema` is not `{}`", summary::SCHEMA)));
    }
    let measures = summary["measures"].as_object().ok_or_else(|| bad("it has no `measures`"))?;
    let known = MEASURES.iter().all(|measure| measures.contains_key(measure.name));
    if !known {
        return Err(bad("it lacks measures of this version"));
    }
    let values = MEASURES.iter().map(|measure| measures[measure.name].as_f64()).collect();
    let text = |key: &str| summary[key].as_str().unwrap_or_default().to_owned();
    Ok(Side {
        name: name.to_owned(),
        scenario: text("name"),
        seed: summary["seed"].as_u64().ok_or_else(|| bad("it has no `seed`"))?,
        fields: resolved_fields(resolved)?,
        units: vec![Unit { label: String::new(), runs: vec![Replication { number: 0, values }] }],
    })
}

/// The side of a sweep, from its `sweep.json` and `replications.csv`, and the `resolved.toml` of its baseline cell where there is
/// one. What the cells share and what the sweep adds (grid, replications, targets) are its fields.
///
/// # Errors
/// What is wrong with which file, and a hint.
pub fn sweep_side(name: &str, sweep: &str, replications: &str, resolved: Option<&str>) -> Result<Side, String> {
    let bad = |what: String| format!("sweep.json: {what}\n  hint: sweep again with this version");
    let sweep: Value = serde_json::from_str(sweep).map_err(|error| bad(format!("no JSON ({error})")))?;
    let schema = crate::experiment::sweep::SCHEMA;
    if sweep["schema"] != schema {
        return Err(bad(format!("its `schema` is not `{schema}`")));
    }
    // Half a grid would be held against a whole one, or against another half.
    if sweep["complete"] != true {
        let hint = "finish it with the command that began it and `--resume`";
        return Err(format!("sweep.json: the sweep is not finished: not all of its cells are done\n  hint: {hint}"));
    }
    let mut fields = resolved.map(resolved_fields).transpose()?.unwrap_or_default();
    for key in ["grid", "replications", "until_halfwidth", "targets", "best"] {
        if !sweep[key].is_null() {
            fields.push((format!("sweep.{key}"), sweep[key].to_string()));
        }
    }
    Ok(Side {
        name: name.to_owned(),
        scenario: sweep["name"].as_str().unwrap_or_default().to_owned(),
        seed: sweep["seed"].as_u64().ok_or_else(|| bad("it has no `seed`".to_owned()))?,
        fields,
        units: units(replications)?,
    })
}

/// The rows of `replications.csv` by cell; a run that failed has no figures.
fn units(text: &str) -> Result<Vec<Unit>, String> {
    let bad = |what: String| format!("replications.csv: {what}\n  hint: sweep again with this version");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().map_err(|error| bad(error.to_string()))?.clone();
    let column =
        |name: &str| head.iter().position(|found| found == name).ok_or_else(|| bad(format!("it has no column `{name}`")));
    let (cell, replication) = (column("cell")?, column("replication")?);
    let places = MEASURES.iter().map(|measure| column(measure.name)).collect::<Result<Vec<_>, _>>()?;
    let mut units: BTreeMap<usize, Unit> = BTreeMap::new();
    for (row, line) in reader.records().zip(2..) {
        let row = row.map_err(|error| bad(error.to_string()))?;
        let number =
            |place: usize| row[place].parse::<u32>().map_err(|_| bad(format!("line {line}: `{}` is no number", &row[place])));
        let value = |place: &usize| match &row[*place] {
            "" => Ok(None),
            text => text.parse::<f64>().map(Some).map_err(|_| bad(format!("line {line}: `{text}` is no number"))),
        };
        let values = places.iter().map(value).collect::<Result<Vec<_>, _>>()?;
        let settings = (cell + 1..replication).map(|place| format!("{} = {}", &head[place], &row[place]));
        let unit = units
            .entry(number(cell)? as usize)
            .or_insert_with(|| Unit { label: settings.collect::<Vec<_>>().join(", "), runs: Vec::new() });
        unit.runs.push(Replication { number: number(replication)?, values });
    }
    Ok(units.into_values().collect())
}

/// The fields of a resolved scenario with their values, in the order of the file: `events.0.at`.
///
/// # Errors
/// It is no TOML.
pub fn resolved_fields(text: &str) -> Result<Vec<(String, String)>, String> {
    let table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| format!("resolved.toml: {}\n  hint: run it again", error.message()))?;
    let mut fields = Vec::new();
    for (key, value) in table {
        flatten(key, value, &mut fields);
    }
    Ok(fields)
}

fn flatten(path: String, value: toml::Value, fields: &mut Vec<(String, String)>) {
    match value {
        toml::Value::Table(table) => table.into_iter().for_each(|(key, value)| flatten(format!("{path}.{key}"), value, fields)),
        toml::Value::Array(items) if items.iter().any(|item| item.is_table()) => {
            items.into_iter().enumerate().for_each(|(at, item)| flatten(format!("{path}.{at}"), item, fields));
        }
        value => fields.push((path, value.to_string())),
    }
}
