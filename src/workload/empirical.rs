//! Token counts with weights from a CSV file.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::WorkloadError;
use super::trace::{CsvColumns, Wanted};

/// Reads one column of a CSV file with a header as token counts, equal ones together, in ascending order. `weight` names a
/// column of weights (each row counts once without); rows of weight 0 are left out. Gzip is recognised by content.
///
/// # Errors
/// If the file cannot be read, lacks a column, or has no usable row; the message names file, line and field.
pub fn token_counts(path: &Path, column: &str, weight: Option<&str>) -> Result<Vec<(u32, f64)>, WorkloadError> {
    let mut reader = CsvColumns::open(path, &[Wanted::Required(column), weight.map_or(Wanted::Nothing, Wanted::Required)])?;
    let mut counts: BTreeMap<u32, f64> = BTreeMap::new();
    while let Some([tokens, weight]) = reader.next_row()? {
        let tokens = reader.parse(column, tokens.as_deref(), "a whole number of tokens", |t| t.parse::<u32>().ok())?;
        let finite = |t: &str| t.parse::<f64>().ok().filter(|w| w.is_finite() && *w >= 0.0);
        let weight = match &weight {
            None if reader.has(1) => reader.parse("weight", None, "a weight, 0 or more", finite)?,
            None => 1.0,
            Some(text) => reader.parse("weight", Some(text), "a weight, 0 or more", finite)?,
        };
        if weight > 0.0 {
            *counts.entry(tokens).or_default() += weight;
        }
    }
    if counts.is_empty() {
        return Err(WorkloadError::File {
            path: path.to_owned(),
            problem: format!("no row with a value in column `{column}`: expected token counts"),
            hint: "the file needs a header and at least one row".into(),
        });
    }
    Ok(counts.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str, column: &str, weight: Option<&str>) -> Result<Vec<(u32, f64)>, WorkloadError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lengths.csv");
        std::fs::write(&path, content).unwrap();
        token_counts(&path, column, weight)
    }

    #[test]
    fn equal_counts_add_up_with_and_without_weights() {
        let text = "id,tokens,share\r\na,20,0.5\r\nb,10,0.25\r\n\r\n\"c, d\",20,1.0\r\ne,30,0";
        assert_eq!(read(text, "tokens", None).unwrap(), [(10, 1.0), (20, 2.0), (30, 1.0)]);
        assert_eq!(read(text, "tokens", Some("share")).unwrap(), [(10, 0.25), (20, 1.5)]);
    }

    #[test]
    fn a_bad_value_names_its_line_and_column() {
        let error = |text, weight| read(text, "tokens", weight).unwrap_err().to_string();
        assert!(
            error("tokens\n5\n-1\n", None).contains("lengths.csv:3: field `tokens` is `-1`: expected a whole number of tokens")
        );
        assert!(error("tokens,w\n5,x\n", Some("w")).contains("field `weight` is `x`"));
        assert!(error("tokens,w\n5,\n", Some("w")).contains("field `weight` is missing"));
        assert!(error("a,b\n1,2\n", None).contains("no column `tokens`"));
        assert!(error("tokens\n", None).contains("no row"));
        assert!(error("", None).contains("empty"));
    }
}
