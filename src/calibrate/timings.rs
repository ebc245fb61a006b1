//! Tables of prefill and decode times, measured or computed.
//!
//! CSV (or JSON Lines) with a row for each measurement, or a JSON grid as made with AIConfigurator:
//! `prefill { isl_tokens, latency_ms }` and `decode { batch, context_tokens, itl_ms }`, alone or as one of a list of `presets`.

use std::path::Path;

use serde_json::Value;

use super::error::CalibrationError;
use super::points::{DecodePoint, PrefillPoint};
use super::rows::{ColumnNames, Filter, Row, RowFaults, Rows, read_text};

const TOKENS: &[&str] = &["prefill_tokens", "prompt_size", "isl", "input_tokens", "prompt_tokens", "tokens"];
const BATCH: &[&str] = &["batch_size", "batch", "concurrency", "sequences"];
const CONTEXT: &[&str] = &["context_length", "context_tokens", "context"];
const GENERATED: &[&str] = &["token_size", "osl", "output_tokens"];
const PREFILL: &[&str] = &["prefill_ms", "prefill_us", "prefill_s", "prompt_time", "ttft_ms", "prefill_latency_ms", "prefill"];
const DECODE: &[&str] = &["decode_ms", "decode_us", "decode_s", "token_time", "itl_ms", "tpot_ms", "decode_latency_ms", "decode"];

/// Keys of `--columns` for a table.
pub const KEYS: [&str; 6] = ["tokens", "batch", "context", "generated", "prefill", "decode"];

/// A table of times.
#[derive(Clone, Debug, PartialEq)]
pub struct Timings {
    /// Prefill alone.
    pub prefill: Vec<PrefillPoint>,
    /// Decode alone.
    pub decode: Vec<DecodePoint>,
    /// Tokens that the KV cache holds, if the table tells.
    pub kv_tokens: Option<u64>,
    /// Its name, if the table tells.
    pub name: Option<String>,
}

/// How a table is read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimingOptions {
    /// Which column is what.
    pub columns: ColumnNames,
    /// Rows to keep.
    pub filter: Filter,
    /// Which of a list of grids.
    pub select: Option<String>,
    /// Seconds of the unit of times whose column names none; `None` stands for milliseconds.
    pub unit: Option<f64>,
}

impl Timings {
    /// Reads a table.
    ///
    /// # Errors
    /// It cannot be read, lacks columns, or holds rows that make no sense.
    pub fn read(path: &Path, options: &TimingOptions) -> Result<Self, CalibrationError> {
        if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json")) {
            return grid(path, options.select.as_deref());
        }
        table(path, options)
    }
}

fn table(path: &Path, options: &TimingOptions) -> Result<Timings, CalibrationError> {
    if let Some(key) = options.columns.unknown(&KEYS) {
        let problem = format!("`{key}` is no key of a table's columns");
        return Err(CalibrationError::file(path, &problem, format!("the keys are {}", KEYS.join(", "))));
    }
    let rows = Rows::read(path)?.filtered(&options.filter)?;
    if rows.header.iter().any(|h| h.starts_with("silicon_")) && options.columns == ColumnNames::default() {
        return Err(CalibrationError::file(
            path,
            "its times are those of served requests at a concurrency (queueing and mixed steps included), not of prefill and decode alone",
            "a log of single requests can be calibrated from; `--columns` overrides this",
        ));
    }
    let columns = Columns::find(&rows, options)?;
    let (mut prefill, mut decode, mut faults) = (Vec::new(), Vec::new(), RowFaults::default());
    for row in &rows.rows {
        match columns.read(row) {
            Ok((p, d)) => {
                prefill.extend(p);
                decode.extend(d);
            }
            Err(problem) => faults.push(path, row.line, &problem),
        }
    }
    faults.finish("correct the rows or leave them out with `--where`")?;
    Ok(Timings { prefill, decode, kv_tokens: None, name: None })
}

struct Columns {
    tokens: Option<String>,
    batch: Option<String>,
    context: Option<String>,
    generated: Option<String>,
    prefill: Option<(String, f64)>,
    decode: Option<(String, f64)>,
}

impl Columns {
    fn find(rows: &Rows, options: &TimingOptions) -> Result<Self, CalibrationError> {
        let find = |key, known| rows.column(key, known, &options.columns);
        let timed = |key, known| -> Result<Option<(String, f64)>, CalibrationError> {
            Ok(find(key, known)?.map(|name| {
                let seconds = unit_of(&name).or(options.unit).unwrap_or(1e-3);
                (name, seconds)
            }))
        };
        let found = Self {
            tokens: find("tokens", TOKENS)?,
            batch: find("batch", BATCH)?,
            context: find("context", CONTEXT)?,
            generated: find("generated", GENERATED)?,
            prefill: timed("prefill", PREFILL)?,
            decode: timed("decode", DECODE)?,
        };
        let mut missing = Vec::new();
        let mut need = |there: bool, what: &str, known: &[&str]| {
            if !there {
                missing.push(format!("{}: there is no column for {what} (such as {})", rows.path.display(), known.join(", ")));
            }
        };
        need(found.prefill.is_some(), "the time of a prefill, `prefill`", PREFILL);
        need(found.decode.is_some(), "the time of a decode step, `decode`", DECODE);
        need(found.tokens.is_some(), "the tokens of a prefill, `tokens`", TOKENS);
        need(found.batch.is_some(), "the sequences of a decode step, `batch`", BATCH);
        need(found.context.is_some() || found.tokens.is_some(), "the context of a sequence, `context`", CONTEXT);
        if missing.is_empty() {
            return Ok(found);
        }
        let hint = format!("name it with `--columns key=COLUMN,...`; the file has {}", rows.header.join(", "));
        Err(CalibrationError::Faulty { faults: missing, hint })
    }

    fn read(&self, row: &Row) -> Result<(Option<PrefillPoint>, Option<DecodePoint>), String> {
        let number = |name: &Option<String>| -> Result<Option<f64>, String> {
            let Some(name) = name else { return Ok(None) };
            let Some(text) = row.get(name) else { return Ok(None) };
            match text.parse::<f64>() {
                Ok(value) if value.is_finite() && value >= 0.0 => Ok(Some(value)),
                _ => Err(format!("`{name}` is `{text}`: expected a number, 0 or more")),
            }
        };
        let seconds = |of: &Option<(String, f64)>| -> Result<Option<f64>, String> {
            let Some((name, unit)) = of else { return Ok(None) };
            Ok(number(&Some(name.clone()))?.filter(|t| *t > 0.0).map(|t| t * unit))
        };
        let (tokens, batch) = (number(&self.tokens)?, number(&self.batch)?.filter(|b| *b > 0.0));
        let prefill = match (seconds(&self.prefill)?, tokens.filter(|t| *t > 0.0)) {
            // Prompts of a batch are computed together.
            (Some(seconds), Some(tokens)) => Some(PrefillPoint { tokens: tokens * batch.unwrap_or(1.0), seconds }),
            _ => None,
        };
        // Over an answer the context grows from the prompt to prompt and answer: half way is its mean.
        let mean = tokens.map(|t| Ok::<f64, String>(t + number(&self.generated)?.unwrap_or(0.0) / 2.0)).transpose()?;
        let context = number(&self.context)?.or(mean);
        let decode = match (seconds(&self.decode)?, batch, context) {
            (Some(seconds), Some(batch), Some(context)) => Some(DecodePoint { batch, context: batch * context, seconds }),
            _ => None,
        };
        Ok((prefill, decode))
    }
}

/// Seconds of the unit in which a column's name ends.
fn unit_of(name: &str) -> Option<f64> {
    [("_ms", 1e-3), ("_us", 1e-6), ("_ns", 1e-9), ("_s", 1.0)].iter().find(|(end, _)| name.ends_with(end)).map(|(_, s)| *s)
}

fn grid(path: &Path, select: Option<&str>) -> Result<Timings, CalibrationError> {
    let hint = "expected `prefill { isl_tokens, latency_ms }` and `decode { batch, context_tokens, itl_ms }`";
    let fault = |problem: &str| CalibrationError::file(path, problem, hint);
    let value: Value = serde_json::from_str(&read_text(path)?).map_err(|error| fault(&format!("no JSON: {error}")))?;
    let name_of = |value: &Value| value.get("name").and_then(Value::as_str).map(str::to_owned);
    let one = match value.get("presets").and_then(Value::as_array) {
        None => &value,
        Some(list) => {
            let names: Vec<String> = list.iter().filter_map(name_of).collect();
            let found = match (select, list.as_slice()) {
                (Some(select), _) => list.iter().find(|entry| name_of(entry).as_deref() == Some(select)),
                (None, [one]) => Some(one),
                (None, _) => None,
            };
            found.ok_or_else(|| {
                let problem = format!(
                    "it holds {} tables{}",
                    names.len(),
                    select.map(|s| format!(", none named `{s}`")).unwrap_or_default()
                );
                CalibrationError::file(path, &problem, format!("choose one with `--select`: {}", names.join(", ")))
            })?
        }
    };
    let list = |at: &str| -> Result<Vec<f64>, CalibrationError> {
        let values = one.pointer(at).and_then(Value::as_array).ok_or_else(|| fault(&format!("`{at}` is missing")))?;
        values
            .iter()
            .map(|v| v.as_f64().filter(|v| *v > 0.0))
            .collect::<Option<_>>()
            .ok_or_else(|| fault(&format!("`{at}` holds something that is no number above 0")))
    };
    let (tokens, times) = (list("/prefill/isl_tokens")?, list("/prefill/latency_ms")?);
    let (batches, contexts) = (list("/decode/batch")?, list("/decode/context_tokens")?);
    let rows = one.pointer("/decode/itl_ms").and_then(Value::as_array).ok_or_else(|| fault("`/decode/itl_ms` is missing"))?;
    if tokens.len() != times.len() || rows.len() != batches.len() {
        return Err(fault("its lists differ in length"));
    }
    let mut decode = Vec::new();
    for (row, batch) in rows.iter().zip(&batches) {
        let row = row.as_array().filter(|row| row.len() == contexts.len()).ok_or_else(|| fault("its lists differ in length"))?;
        for (ms, context) in row.iter().zip(&contexts) {
            // A place of the grid without a value (it did not fit) is left out.
            if let Some(ms) = ms.as_f64().filter(|ms| *ms > 0.0) {
                decode.push(DecodePoint { batch: *batch, context: batch * context, seconds: ms / 1e3 });
            }
        }
    }
    let prefill = tokens.iter().zip(times).map(|(t, ms)| PrefillPoint { tokens: *t, seconds: ms / 1e3 }).collect();
    Ok(Timings { prefill, decode, kv_tokens: one.pointer("/kv/total_tokens").and_then(Value::as_u64), name: name_of(one) })
}
