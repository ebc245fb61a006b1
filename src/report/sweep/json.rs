//! `sweep.json`: all of it, for machines.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::experiment::measure_table::{Better, MEASURES};
use crate::experiment::sweep::grid::plain;
use crate::experiment::sweep::{Cell, Description, LEVEL, Status, SweepResult, Verdict};

/// The top of the file.
#[derive(Serialize)]
struct File<'a> {
    #[serde(flatten)]
    description: &'a Description,
    complete: bool,
    confidence: f64,
    measures: Vec<Value>,
    cells: Vec<Value>,
    /// Cells that meet all targets, the best first.
    ranking: Vec<usize>,
}

/// The result as JSON, indented.
pub fn sweep_json(result: &SweepResult) -> Vec<u8> {
    let file = File {
        description: &result.description,
        complete: result.is_complete(),
        confidence: LEVEL,
        measures: MEASURES
            .iter()
            .map(|m| {
                let better = match m.better {
                    Better::Lower => json!("lower"),
                    Better::Higher => json!("higher"),
                    Better::Neutral => Value::Null,
                };
                json!({ "name": m.name, "label": m.label, "unit": m.unit.name(), "better": better })
            })
            .collect(),
        cells: result.cells.iter().map(|cell| one(result, cell)).collect(),
        ranking: result.ranking().iter().map(|cell| cell.cell).collect(),
    };
    let mut bytes = serde_json::to_vec_pretty(&file).expect("plain data can be written");
    bytes.push(b'\n');
    bytes
}

fn one(result: &SweepResult, cell: &Cell) -> Value {
    let settings = result.description.grid.settings(cell.cell);
    let settings: Map<String, Value> = settings.into_iter().map(|(path, value)| (path.to_owned(), json!(plain(value)))).collect();
    let why = match &cell.status {
        Status::Bounded(why) | Status::Failed(why) => Some(why),
        Status::Ok | Status::Incomplete => None,
    };
    let warnings: Map<String, Value> = cell.warnings.iter().map(|(code, n)| (code.clone(), json!(n))).collect();
    let measures: Map<String, Value> = MEASURES
        .iter()
        .zip(&cell.estimates)
        .filter_map(|(measure, estimate)| {
            let e = estimate.as_ref()?;
            let (low, high) = (e.interval.map(|i| i.0), e.interval.map(|i| i.1));
            let value =
                json!({ "mean": e.mean, "low": low, "high": high, "interval": e.method.name(), "replications": e.replications });
            Some((measure.name.to_owned(), value))
        })
        .collect();
    let targets = cell.verdict().map(|verdict| match verdict {
        Verdict::Met => "met",
        Verdict::Likely => "mean_only",
        Verdict::Missed => "missed",
    });
    json!({
        "cell": cell.cell, "settings": settings, "status": cell.status.name(), "why": why, "replications": cell.replications,
        "warnings": warnings, "targets": targets, "measures": measures,
    })
}
