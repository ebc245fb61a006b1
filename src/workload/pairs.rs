//! Pairs of token counts in a CSV file: read, and written.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::config::{PairPiece, PairSchedule, WeightedPair};
use super::error::WorkloadError;
use super::trace::{CsvColumns, Wanted, seconds};
use crate::units::SimTime;

/// Columns of a file of pairs, unless a scenario names others: start of the piece in seconds, prompt tokens, generated
/// tokens, weight. The first and the last may be absent.
pub const COLUMNS: [&str; 4] = ["at_s", "input_tokens", "output_tokens", "weight"];

/// Which columns of a file hold what; absent ones go by [`COLUMNS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairColumns {
    /// Seconds from the start of the run at which the piece of a row begins.
    pub at: Option<String>,
    /// Prompt tokens.
    pub input_tokens: Option<String>,
    /// Generated tokens.
    pub output_tokens: Option<String>,
    /// Relative frequency.
    pub weight: Option<String>,
}

/// Reads pairs of lengths from a CSV file with a header, equal pairs of a piece together, in ascending order. Rows of weight
/// 0 are left out, as are rows without output tokens (failed requests). Gzip is recognised by content.
///
/// # Errors
/// If the file cannot be read, lacks a column, has no usable row or none at 0 s; the message names file, line and field.
pub fn read_pairs(path: &Path, columns: &PairColumns) -> Result<PairSchedule, WorkloadError> {
    let name = |given: &Option<String>, i: usize| given.clone().unwrap_or_else(|| COLUMNS[i].to_owned());
    let [at, input, output, weight] = [&columns.at, &columns.input_tokens, &columns.output_tokens, &columns.weight];
    let names = [name(at, 0), name(input, 1), name(output, 2), name(weight, 3)];
    let may = |given: &Option<String>, i: usize| match given {
        Some(_) => Wanted::Required(&names[i]),
        None => Wanted::IfPresent(&names[i]),
    };
    let wanted = [may(at, 0), Wanted::Required(&names[1]), Wanted::Required(&names[2]), may(weight, 3)];
    let mut reader = CsvColumns::open(path, &wanted)?;
    let mut pieces: BTreeMap<SimTime, BTreeMap<(u32, u32), f64>> = BTreeMap::new();
    let tokens = |text: &str| text.parse::<u32>().ok();
    let share = |text: &str| text.parse::<f64>().ok().filter(|w| w.is_finite() && *w >= 0.0);
    while let Some([at, input, output, weight]) = reader.next_row()? {
        let piece =
            if reader.has(0) { reader.parse(&names[0], at.as_deref(), "seconds, 0 or more", seconds)? } else { SimTime::ZERO };
        let input = reader.parse(&names[1], input.as_deref(), "a whole number of tokens", tokens)?;
        let output = reader.parse(&names[2], output.as_deref(), "a whole number of tokens", tokens)?;
        let weight = if reader.has(3) { reader.parse(&names[3], weight.as_deref(), "a weight, 0 or more", share)? } else { 1.0 };
        if weight > 0.0 && output > 0 {
            *pieces.entry(piece).or_default().entry((input, output)).or_default() += weight;
        }
    }
    let problem = match pieces.first_key_value() {
        None => "no row with a pair of lengths: expected at least one with output tokens and a weight above 0".to_owned(),
        Some((first, _)) if *first != SimTime::ZERO => format!("the first piece starts at {first}: expected one at 0 s"),
        Some(_) => return Ok(PairSchedule(pieces.into_iter().map(|(at, pairs)| piece(at, pairs)).collect())),
    };
    let hint = "each row is a pair of lengths; without a column of instants, all of them hold from the start".into();
    Err(WorkloadError::File { path: path.to_owned(), problem, hint })
}

fn piece(at: SimTime, pairs: BTreeMap<(u32, u32), f64>) -> PairPiece {
    let pair = |((input_tokens, output_tokens), weight)| WeightedPair { input_tokens, output_tokens, weight };
    PairPiece { at, pairs: pairs.into_iter().map(pair).collect() }
}

/// Writes pairs of lengths as CSV, so that [`read_pairs`] gives them back.
///
/// # Errors
/// If the file cannot be written.
pub fn write_pairs(schedule: &PairSchedule, out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "{}", COLUMNS.join(","))?;
    for piece in &schedule.0 {
        let at = piece.at.as_nanos();
        let seconds = format!("{}.{:09}", at / 1_000_000_000, at % 1_000_000_000);
        let seconds = seconds.trim_end_matches('0').trim_end_matches('.');
        for pair in &piece.pairs {
            writeln!(out, "{seconds},{},{},{}", pair.input_tokens, pair.output_tokens, pair.weight)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str, columns: &PairColumns) -> Result<PairSchedule, WorkloadError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pairs.csv");
        std::fs::write(&path, content).unwrap();
        read_pairs(&path, columns)
    }

    fn pairs(piece: &PairPiece) -> Vec<(u32, u32, f64)> {
        piece.pairs.iter().map(|p| (p.input_tokens, p.output_tokens, p.weight)).collect()
    }

    #[test]
    fn pairs_are_read_by_name_and_written_back() {
        let text =
            "\u{feff}output_tokens,weight,input_tokens,at_s\r\n5,1,100,0\r\n5,2.5,100,0\r\n0,1,7,0\r\n6,1,90,0.5\r\n6,0,1,9";
        let schedule = read(text, &PairColumns::default()).unwrap();
        assert_eq!((pairs(&schedule.0[0]), pairs(&schedule.0[1])), (vec![(100, 5, 3.5)], vec![(90, 6, 1.0)]));
        assert_eq!(schedule.0[1].at.as_nanos(), 500_000_000);
        let mut bytes = vec![];
        write_pairs(&schedule, &mut bytes).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), "at_s,input_tokens,output_tokens,weight\n0,100,5,3.5\n0.5,90,6,1\n");
        assert_eq!(read(&String::from_utf8(bytes).unwrap(), &PairColumns::default()).unwrap(), schedule);
    }

    #[test]
    fn other_columns_are_named_and_must_be_there() {
        let named = |input: &str, weight: Option<&str>| PairColumns {
            input_tokens: Some(input.into()),
            output_tokens: Some("num_decode_tokens".into()),
            weight: weight.map(str::to_owned),
            at: None,
        };
        let text = "num_prefill_tokens,num_decode_tokens\n10,1\n10,1\n";
        assert_eq!(pairs(&read(text, &named("num_prefill_tokens", None)).unwrap().0[0]), [(10, 1, 2.0)]);
        let error = |columns| read(text, &columns).unwrap_err().to_string();
        assert!(error(named("prompt", None)).contains("no column `prompt`"));
        assert!(error(named("num_prefill_tokens", Some("share"))).contains("no column `share`"));
    }

    #[test]
    fn bad_rows_name_their_line_and_field() {
        let error = |text| read(text, &PairColumns::default()).unwrap_err().to_string();
        assert!(error("input_tokens,output_tokens\n1,2\n1,x\n").contains("pairs.csv:3: field `output_tokens` is `x`"));
        assert!(error("at_s,input_tokens,output_tokens\n-1,1,2\n").contains("field `at_s` is `-1`"));
        assert!(error("at_s,input_tokens,output_tokens\n5,1,2\n").contains("starts at 5s: expected one at 0 s"));
        assert!(error("input_tokens,output_tokens\n1,0\n").contains("no row with a pair"));
        assert!(error("input_tokens,output_tokens,weight\n1,1,-2\n").contains("field `weight` is `-2`"));
    }
}
