//! What traces and imitations of them look like to a reader: pure functions from statistics to bytes.

mod figure;
mod fit;
mod inspect_json;
mod inspect_text;
mod servegen;

pub use figure::trace_figure;
pub use fit::{fit_json, fit_text, fit_toml};
pub use inspect_json::inspection_json;
pub use inspect_text::inspection_text;
pub use servegen::{servegen_json, servegen_text};

use crate::stats::text::{count, significant};

/// Name and version of the JSON of an inspection.
pub const INSPECTION_SCHEMA: &str = "shedcast.trace-inspection/1";
/// Name and version of the JSON of a fit.
pub const FIT_SCHEMA: &str = "shedcast.trace-fit/1";

/// Width of the names at the left.
const LABEL: usize = 13;

/// A number for people with four digits, whole ones never dropped and thousands apart.
fn figure_of(value: f64) -> String {
    if value.abs() < 999.95 { significant(value, 4) } else { count(value.round() as u64) }
}

/// So many requests, or one.
fn requests(rows: u64) -> String {
    format!("{} {}", count(rows), if rows == 1 { "request" } else { "requests" })
}

/// Seconds for people, four digits.
fn seconds(value: f64) -> String {
    format!("{} s", figure_of(value))
}

/// A row of a table: a label and cells to the right.
fn row(label: &str, cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!("{cell:>10}")).collect();
    format!("{}\n", format!("{label:<30}{cells}").trim_end())
}

/// A block whose first line has a name at the left.
fn block(label: &str, text: &str) -> String {
    super::wrap(&format!("{label:<LABEL$}"), text, LABEL, super::wrap::COLUMNS)
}

/// A JSON document, indented, with a line feed at the end.
fn to_bytes(value: &serde_json::Value) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("a value has text keys and no number that JSON lacks");
    bytes.push(b'\n');
    bytes
}
