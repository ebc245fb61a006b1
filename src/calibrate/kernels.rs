//! Kernel times, layer by layer, added up to prefill and decode times.
//!
//! A folder of three tables as profilers of single layers write them: `dense.csv` (layer, tokens, time_us), `per_sequence.csv` (layer,
//! sequences, time_us) and `attention.csv` (prefill_chunk, kv_prefill, n_decode, kv_decode, time_us), all of one block of the model. A
//! step runs every block's layers and attention, and the layers at both ends once.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::CalibrationError;
use super::points::{DecodePoint, PrefillPoint};
use super::rows::{ColumnNames, Row, RowFaults, Rows};
use super::timings::Timings;

/// Tables of a folder.
pub const TABLES: [&str; 3] = ["dense.csv", "per_sequence.csv", "attention.csv"];
/// Layers that run once in a step and not once in a block.
const ONCE: [&str; 2] = ["embedding", "final_layernorm"];
/// A layer that a block runs twice, before attention and before the feed-forward part.
const TWICE: &str = "layernorm";

/// Times of a layer by size, in ascending order of size.
type Times = BTreeMap<String, Vec<(f64, f64)>>;

/// Reads the tables of a folder for a model of `blocks` blocks.
///
/// # Errors
/// A table is missing or faulty, or the layers at no common size.
pub fn read_kernels(folder: &Path, blocks: u32) -> Result<Timings, CalibrationError> {
    let [dense, per_sequence] =
        [(TABLES[0], "tokens"), (TABLES[1], "sequences")].map(|(name, size)| layers(&folder.join(name), size));
    let model = Model { dense: dense?, per_sequence: per_sequence?, blocks: f64::from(blocks) };
    let (mut prefill, mut decode) = (Vec::new(), Vec::new());
    for point in attention(&folder.join(TABLES[2]))? {
        match point {
            Attention { chunk, cached, decoding, seconds, .. } if chunk > 0.0 && cached == 0.0 && decoding == 0.0 => {
                let rest = model.rest(chunk, 1.0);
                prefill.extend(rest.map(|rest| PrefillPoint { tokens: chunk, seconds: rest + model.blocks * seconds }));
            }
            Attention { chunk, decoding, context, seconds, .. } if chunk == 0.0 && decoding > 0.0 && context > 0.0 => {
                let seconds = model.rest(decoding, decoding).map(|rest| rest + model.blocks * seconds);
                decode.extend(seconds.map(|seconds| DecodePoint { batch: decoding, context: decoding * context, seconds }));
            }
            // Steps that do both, and prefills behind cached tokens, have no place in two parts.
            _ => {}
        }
    }
    Ok(Timings { prefill, decode, kv_tokens: None, name: None })
}

/// The layers of a model.
struct Model {
    dense: Times,
    per_sequence: Times,
    blocks: f64,
}

impl Model {
    /// Seconds of everything but attention in a step of `tokens` tokens of `sequences` sequences; `None` beyond what was measured.
    fn rest(&self, tokens: f64, sequences: f64) -> Option<f64> {
        let mut seconds = 0.0;
        for (layer, times) in &self.dense {
            let often = match layer.as_str() {
                name if ONCE.contains(&name) => 1.0,
                TWICE => 2.0 * self.blocks,
                _ => self.blocks,
            };
            seconds += often * at(times, tokens)?;
        }
        for times in self.per_sequence.values() {
            seconds += at(times, sequences)?;
        }
        Some(seconds)
    }
}

/// The time at a size, straight between those measured.
fn at(times: &[(f64, f64)], size: f64) -> Option<f64> {
    let above = times.iter().position(|(known, _)| *known >= size)?;
    let (high, seconds) = times[above];
    if high == size {
        return Some(seconds);
    }
    let (low, before) = *times.get(above.checked_sub(1)?)?;
    Some(before + (seconds - before) * (size - low) / (high - low))
}

fn layers(path: &Path, size: &str) -> Result<Times, CalibrationError> {
    let rows = Rows::read(path)?;
    need(&rows, &["layer", size, "time_us"])?;
    let (mut times, mut faults) = (Times::new(), RowFaults::default());
    for row in &rows.rows {
        match (row.get("layer"), number(row, size), number(row, "time_us")) {
            (Some(layer), Some(size), Some(micros)) => times.entry(layer.to_owned()).or_default().push((size, micros / 1e6)),
            _ => faults.push(path, row.line, &format!("expected a layer, and `{size}` and `time_us` as numbers")),
        }
    }
    faults.finish("correct the rows or leave them out")?;
    times.values_mut().for_each(|list| list.sort_by(|a, b| a.0.total_cmp(&b.0)));
    Ok(times)
}

/// A row of the attention table.
struct Attention {
    chunk: f64,
    cached: f64,
    decoding: f64,
    /// Of each decoding sequence.
    context: f64,
    seconds: f64,
}

fn attention(path: &Path) -> Result<Vec<Attention>, CalibrationError> {
    let names = ["prefill_chunk", "kv_prefill", "n_decode", "kv_decode", "time_us"];
    let rows = Rows::read(path)?;
    need(&rows, &names)?;
    let (mut points, mut faults) = (Vec::new(), RowFaults::default());
    for row in &rows.rows {
        match names.map(|name| number(row, name)) {
            [Some(chunk), Some(cached), Some(decoding), Some(context), Some(micros)] => {
                points.push(Attention { chunk, cached, decoding, context, seconds: micros / 1e6 });
            }
            _ => faults.push(path, row.line, "expected five numbers"),
        }
    }
    faults.finish("correct the rows or leave them out")?;
    Ok(points)
}

fn need(rows: &Rows, names: &[&str]) -> Result<(), CalibrationError> {
    for name in names {
        if rows.column(name, &[name], &ColumnNames::default())?.is_none() {
            let hint = format!("its columns are {}", rows.header.join(", "));
            return Err(CalibrationError::file(&rows.path, &format!("there is no column `{name}`"), hint));
        }
    }
    Ok(())
}

fn number(row: &Row, name: &str) -> Option<f64> {
    row.get(name)?.parse().ok().filter(|v: &f64| v.is_finite() && *v >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn layers_are_counted_as_often_as_a_step_runs_them() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(
            "dense.csv",
            "layer,tokens,time_us\nembedding,1,1\nembedding,100,1\nlayernorm,1,2\nlayernorm,100,2\nqkv_proj,1,10\nqkv_proj,101,110\n",
        );
        write("per_sequence.csv", "layer,sequences,time_us\nlm_head,1,500\nlm_head,64,563\n");
        write(
            "attention.csv",
            "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n51,0,0,0,7\n51,64,0,0,9\n0,0,2,300,30\n51,0,2,300,40\n400,0,0,0,1\n",
        );
        let read = read_kernels(folder.path(), 10).unwrap();
        // Prefill of 51: embedding 1, two norms and a projection of 60 in each of ten blocks, attention 7 in each, the head 500.
        assert_eq!(read.prefill.len(), 1, "cached, mixed and unmeasured ones have no place");
        assert!((read.prefill[0].seconds * 1e6 - (1.0 + 10.0 * (4.0 + 60.0 + 7.0) + 500.0)).abs() < 1e-6);
        let decode = read.decode[0];
        assert_eq!((read.decode.len(), decode.batch, decode.context), (1, 2.0, 600.0));
        assert!((decode.seconds * 1e6 - (1.0 + 10.0 * (4.0 + 11.0 + 30.0) + 501.0)).abs() < 1e-6);
    }
}
