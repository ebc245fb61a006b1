//! A comparison for machines.

use serde_json::{Map, Value, json};

use crate::experiment::compare::{Against, Comparison, UnitComparison};
use crate::experiment::measure_table::MEASURES;
use crate::experiment::sweep::LEVEL;

/// Name and version of the format.
pub const SCHEMA: &str = "shedcast.compare/1";

/// The comparison as JSON, indented; `broken` is what `--fail-if-worse` found, in sentences.
pub fn comparison_json(comparison: &Comparison, broken: &[String]) -> Vec<u8> {
    let sides = comparison.sides.iter().enumerate().map(|(at, side)| {
        json!({ "name": side.name, "scenario": side.scenario, "seed": side.seed, "paired": comparison.is_paired(at) })
    });
    let fields = comparison.fields.iter().map(|field| json!({ "path": field.path, "values": field.values }));
    let lone = comparison.lone.iter().map(|(side, label)| json!({ "side": comparison.sides[*side].name, "settings": label }));
    let file = json!({
        "schema": SCHEMA,
        "confidence": LEVEL,
        "sides": sides.collect::<Vec<_>>(),
        "fields": fields.collect::<Vec<_>>(),
        "units": comparison.units.iter().map(unit).collect::<Vec<_>>(),
        "not_compared": lone.collect::<Vec<_>>(),
        "worse": broken,
    });
    let mut bytes = serde_json::to_vec_pretty(&file).expect("plain data can be written");
    bytes.push(b'\n');
    bytes
}

fn unit(unit: &UnitComparison) -> Value {
    let measures: Map<String, Value> = unit
        .measures
        .iter()
        .map(|found| {
            let measure = &MEASURES[found.measure];
            let against: Vec<Value> = found.against.iter().map(|found| found.as_ref().map_or(Value::Null, difference)).collect();
            (measure.name.to_owned(), json!({ "unit": measure.unit.name(), "values": found.means, "against_first": against }))
        })
        .collect();
    json!({ "settings": unit.label, "replications": unit.replications, "measures": measures })
}

fn difference(found: &Against) -> Value {
    let (low, high) = (found.interval.map(|i| i.0), found.interval.map(|i| i.1));
    json!({
        "difference": found.difference, "low": low, "high": high, "paired": found.paired, "replications": found.replications,
        "verdict": found.standing.name(),
    })
}
