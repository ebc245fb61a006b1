//! Recordings of real runs: how near shedcast comes, with the presets it ships and with its own calibration.

use std::fs;
use std::path::{Path, PathBuf};

use super::check::{Check, CheckTable, VerifyError};
use crate::calibrate::{
    ColumnNames, Comparison, EngineFacts, FitOptions, ReplayLimits, RunFit, RunLog, TickSeries, TimeUnit, fit_run, judge,
};
use crate::cluster::batching::RankSpec;
use crate::scenario::PRESETS;

/// Allowed errors of latencies: fitted on the run itself, and predicted from its first half.
const FITTED: f64 = 0.035;
const PREDICTED: f64 = 0.08;
/// Allowed error of the peaks of running and waiting sequences, on the run itself.
const PEAKS: f64 = 0.05;

/// A recording of a run.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Name of its folder.
    pub name: String,
    /// Its log of requests.
    pub log: RunLog,
    /// What is known of its engine.
    pub facts: EngineFacts,
    /// Running and waiting over time, if recorded.
    pub series: Option<TickSeries>,
}

impl Recording {
    /// Reads the folder of a run: `requests.jsonl`, and `meta.json` and `timeseries.csv` if they are there.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn read(folder: &Path) -> Result<Self, VerifyError> {
        let log = RunLog::read(&folder.join("requests.jsonl"), TimeUnit::Seconds, &ColumnNames::default())?;
        let beside = |name: &str| Some(folder.join(name)).filter(|path| path.exists());
        let facts = beside("meta.json").map(|path| EngineFacts::read(&path)).transpose()?.unwrap_or_default();
        let series = beside("timeseries.csv").map(|path| TickSeries::read(&path, &log.requests)).transpose()?;
        let name = folder.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned());
        Ok(Self { name, log, facts, series })
    }

    /// All recordings in `directory`: itself, or the folders in it that hold a log, in the order of their names.
    ///
    /// # Errors
    /// It cannot be read, or there are none.
    pub fn all(directory: &Path) -> Result<Vec<Self>, VerifyError> {
        let is_run = |path: &Path| path.join("requests.jsonl").exists();
        if is_run(directory) {
            return Ok(vec![Self::read(directory)?]);
        }
        if directory.extension().is_some_and(|ending| ending == "toml") && directory.is_file() {
            return Err(VerifyError::Other(format!(
                "{}: a scenario, not a directory of recordings\n  hint: name the counters to hold it against: `--against COUNTERS`",
                directory.display()
            )));
        }
        let failed =
            |error: std::io::Error| VerifyError::Other(format!("{}: cannot read the directory: {error}", directory.display()));
        let mut folders: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(directory).map_err(failed)? {
            folders.push(entry.map_err(failed)?.path());
        }
        folders.retain(|path| is_run(path));
        folders.sort();
        if folders.is_empty() {
            return Err(VerifyError::Other(format!(
                "{}: there is no recording of a run\n  hint: a recording is a folder with `requests.jsonl`, and `meta.json` and \
                 `timeseries.csv` if there are any",
                directory.display()
            )));
        }
        folders.iter().map(|folder| Self::read(folder)).collect()
    }

    /// The limits of the shipped preset whose name begins with that of the folder (GPU, then model), letters and digits compared.
    fn shipped(&self) -> Option<(&'static str, ReplayLimits)> {
        let plain = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        let preset = PRESETS.iter().find(|preset| plain(preset.name).starts_with(&plain(&self.name)))?;
        let spec = RankSpec {
            block_size: preset.kv_cache_block_size,
            total_blocks: preset.kv_total_blocks,
            max_num_seqs: preset.max_num_seqs,
            max_num_batched_tokens: preset.max_num_batched_tokens,
            timing: preset.step_timing(),
        };
        Some((preset.name, ReplayLimits { spec, ranks: 1, lockstep: false }))
    }
}

/// Three tables of a recording: the shipped preset, if there is one; calibrated on the run itself; calibrated on the first half of its
/// requests, predicting the whole.
///
/// # Errors
/// The recording does not tell the step times.
pub fn fidelity(recording: &Recording) -> Result<Vec<CheckTable>, VerifyError> {
    let mut tables = Vec::new();
    let series = recording.series.as_ref();
    if let Some((preset, limits)) = recording.shipped() {
        let figures = judge(&recording.log.requests, series, &limits).unwrap_or_default();
        tables.push(table(&format!("{}, shipped preset {preset}", recording.name), &figures, FITTED));
    }
    let fit = |fit_first| -> Result<RunFit, VerifyError> {
        let options = FitOptions { fit_first, ..FitOptions::default() };
        Ok(fit_run(&recording.log, series, &recording.facts, &options)?)
    };
    tables.push(table(&format!("{}, calibrated on itself", recording.name), &fit(None)?.fitted, FITTED));
    let half = fit(Some(recording.log.requests.len() / 2))?;
    let figures = half.whole.unwrap_or(half.fitted);
    tables.push(table(&format!("{}, predicted from its first half", recording.name), &figures, PREDICTED));
    Ok(tables)
}

fn table(title: &str, figures: &[Comparison], allowed: f64) -> CheckTable {
    let check = |c: &Comparison| {
        let share = if c.measure.starts_with("peak") { allowed.max(PEAKS) } else { allowed };
        Check::new(&c.measure, c.simulated, c.measured, share * c.measured)
    };
    let rule = format!("latencies within {:.1} %, peaks within {:.1} %", allowed * 100.0, allowed.max(PEAKS) * 100.0);
    CheckTable { title: title.to_owned(), rule, checks: figures.iter().map(check).collect() }
}
