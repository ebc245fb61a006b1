//! The numbers behind a figure as a table.
//!
//! Long series are thinned: a row then covers several intervals and shows the lowest and the highest value in them, so that
//! no peak is lost.

mod over_time;
mod run;
mod study;

pub(super) use run::{busy, latency, loads, occupancy, overview, refusals, traffic, updates};
pub(super) use study::{heat_map, line, load_curve, multiples, pareto};

use super::data::Unit;
use crate::stats::text::{count, duration, percent, significant};

/// Rows and columns of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataTable {
    /// Names of the columns; the first column names the rows.
    pub columns: Vec<String>,
    /// Rows, as long as `columns`.
    pub rows: Vec<Vec<String>>,
    /// What a reader must know of it; may be empty.
    pub note: String,
}

/// What stands where there is no value.
const NONE: &str = "-";
const NANOS_PER_SECOND: f64 = 1e9;

/// A value with its unit, written as everywhere else in reports.
fn written(value: f64, unit: &Unit) -> String {
    match unit {
        _ if !value.is_finite() => NONE.to_owned(),
        Unit::Share => percent(value),
        Unit::Seconds => duration(value * NANOS_PER_SECOND),
        // 2^53: beyond it not every whole number is a float.
        Unit::Number | Unit::Named(_) if value.fract() == 0.0 && (0.0..9e15).contains(&value) => count(value as u64),
        Unit::Number | Unit::Named(_) => significant(value, 3),
    }
}

/// Lowest and highest value; one of them where both are written alike.
fn between(low: f64, high: f64, unit: &Unit) -> String {
    let (low, high) = (written(low, unit), written(high, unit));
    if low == high { low } else { format!("{low} – {high}") }
}

/// An instant in seconds.
fn instant(seconds: f64) -> String {
    crate::report::marks::instant(seconds)
}
