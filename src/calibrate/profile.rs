//! The output of Dynamo's profiler: two NumPy archives, or the same numbers as JSON.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::CalibrationError;
use super::npz::Arrays;
use super::points::{DecodePoint, PrefillPoint};
use super::rows::read_text;

/// Names of the archives as the profiler writes them.
pub const ARCHIVES: [&str; 2] = ["prefill_raw_data.npz", "decode_raw_data.npz"];

/// A profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Prefill alone, one prompt at a time.
    pub prefill: Vec<PrefillPoint>,
    /// Decode alone.
    pub decode: Vec<DecodePoint>,
    /// Tokens that the KV cache holds.
    pub max_kv_tokens: u64,
    /// What it says of its origin.
    pub source: Option<String>,
}

impl Profile {
    /// Reads a profile: a folder with both archives, the archives in either order, or a JSON file.
    ///
    /// # Errors
    /// Something is missing or cannot be read.
    pub fn read(paths: &[PathBuf]) -> Result<Self, CalibrationError> {
        match paths {
            [folder] if folder.is_dir() => Self::from_archives(&ARCHIVES.map(|name| folder.join(name))),
            [file] if has_ending(file, "json") => Self::from_json(file),
            [one, other] => Self::from_archives(&[one.clone(), other.clone()]),
            _ => {
                let problem = format!("{} files", paths.len());
                let hint = "expected the profiler's folder, its two archives, or its numbers as JSON";
                Err(CalibrationError::file(paths.first().map_or(Path::new("-"), PathBuf::as_path), &problem, hint))
            }
        }
    }

    fn from_archives(paths: &[PathBuf; 2]) -> Result<Self, CalibrationError> {
        let read = [Arrays::read(&paths[0])?, Arrays::read(&paths[1])?];
        let find = |name: &str| -> Result<&[f64], CalibrationError> {
            read.iter().find_map(|arrays| arrays.get(name)).ok_or_else(|| {
                let problem = format!("neither this archive nor the other has `{name}`");
                let names: Vec<&str> = read.iter().flat_map(Arrays::names).collect();
                CalibrationError::file(&paths[0], &problem, format!("they hold {}", names.join(", ")))
            })
        };
        let (isl, ttft) = (find("prefill_isl")?, find("prefill_ttft")?);
        let (usage, context, itl) = (find("x_kv_usage")?, find("y_context_length")?, find("z_itl")?);
        let max = find("max_kv_tokens")?.first().copied().unwrap_or(0.0);
        let lengths = [isl.len() == ttft.len(), usage.len() == context.len(), context.len() == itl.len()];
        if lengths.contains(&false) {
            return Err(CalibrationError::file(&paths[0], "its arrays differ in length", "are both archives of one profile?"));
        }
        let prefill = isl.iter().zip(ttft).map(|(tokens, ms)| (*tokens, *ms));
        let decode = usage.iter().zip(context).zip(itl).map(|((usage, context), ms)| (usage * max, *context, *ms));
        Self::of(&paths[0], prefill.collect(), decode.collect(), max, None)
    }

    fn from_json(path: &Path) -> Result<Self, CalibrationError> {
        let hint = "expected `prefill_isl`, `prefill_ttft_ms`, `decode_points` and `max_kv_tokens`";
        let value: Value = serde_json::from_str(&read_text(path)?)
            .map_err(|error| CalibrationError::file(path, &format!("no JSON: {error}"), hint))?;
        let missing = |name: &str| CalibrationError::file(path, &format!("`{name}` is missing, or no number"), hint);
        let list = |name: &str| -> Result<Vec<f64>, CalibrationError> {
            let values = value.get(name).and_then(Value::as_array).ok_or_else(|| missing(name))?;
            values.iter().map(Value::as_f64).collect::<Option<_>>().ok_or_else(|| missing(name))
        };
        let (isl, ttft) = (list("prefill_isl")?, list("prefill_ttft_ms")?);
        if isl.len() != ttft.len() {
            return Err(CalibrationError::file(path, "`prefill_isl` and `prefill_ttft_ms` differ in length", hint));
        }
        let points = value.get("decode_points").and_then(Value::as_array).ok_or_else(|| missing("decode_points"))?;
        let number = |point: &Value, name: &str| point.get(name).and_then(Value::as_f64).ok_or_else(|| missing(name));
        let decode: Vec<(f64, f64, f64)> = points
            .iter()
            .map(|p| Ok((number(p, "active_kv_tokens")?, number(p, "context_length")?, number(p, "itl_ms")?)))
            .collect::<Result<_, CalibrationError>>()?;
        let max = value.get("max_kv_tokens").and_then(Value::as_f64).ok_or_else(|| missing("max_kv_tokens"))?;
        let source = value.get("source").and_then(Value::as_str).map(str::to_owned);
        Self::of(path, isl.into_iter().zip(ttft).collect(), decode, max, source)
    }

    /// `prefill`: tokens, milliseconds; `decode`: context tokens in all, of a sequence, milliseconds.
    fn of(
        path: &Path,
        prefill: Vec<(f64, f64)>,
        decode: Vec<(f64, f64, f64)>,
        max: f64,
        source: Option<String>,
    ) -> Result<Self, CalibrationError> {
        let positive = |v: &f64| v.is_finite() && *v > 0.0;
        let sound = prefill.iter().all(|(t, ms)| positive(t) && positive(ms))
            && decode.iter().all(|(k, c, ms)| positive(k) && positive(c) && positive(ms))
            && (1.0..1e12).contains(&max);
        if !sound {
            let hint = "lengths, times and the size of the cache are all above 0";
            return Err(CalibrationError::file(path, "a value is 0, negative or no number", hint));
        }
        Ok(Self {
            prefill: prefill.into_iter().map(|(tokens, ms)| PrefillPoint { tokens, seconds: ms / 1e3 }).collect(),
            decode: decode
                .into_iter()
                .map(|(context, of_one, ms)| DecodePoint { batch: context / of_one, context, seconds: ms / 1e3 })
                .collect(),
            max_kv_tokens: max as u64,
            source,
        })
    }
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case(ending))
}
