//! `summary.json`.

use super::Summary;

/// The summary as JSON, indented, with a line feed at the end. A figure that does not exist is `null`.
pub fn to_json(summary: &Summary) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(summary).expect("a summary has text keys and no value that JSON lacks");
    bytes.push(b'\n');
    bytes
}
