//! Running and waiting sequences of a real run, sampled by its engine over time.

use std::path::Path;

use super::error::CalibrationError;
use super::rows::{ColumnNames, RowFaults, Rows};
use super::run_log::LoggedRequest;

/// The offset of the two clocks is looked for this far to either side, in seconds.
const FARTHEST: f64 = 2.0;
/// And in steps of this many seconds.
const STEP: f64 = 0.01;

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tick {
    /// Seconds on the series' own clock.
    pub t: f64,
    /// Sequences with a seat.
    pub running: u32,
    /// Sequences waiting for one.
    pub waiting: u32,
    /// KV cache in use, percent; `None` where the series does not tell.
    pub kv_percent: Option<f64>,
}

/// A series of samples.
#[derive(Clone, Debug, PartialEq)]
pub struct TickSeries {
    /// In the order of time.
    pub ticks: Vec<Tick>,
    /// The instant of the log, in seconds, at which the series reads 0.
    pub offset: f64,
}

impl TickSeries {
    /// Reads `t, running, waiting` and, if there, `kv_cache_pct`, and places it beside the log.
    ///
    /// The two have clocks of different origin. The offset is found from the recording alone, without any simulation: where
    /// the number of requests inside, counted from the log, agrees best with running + waiting of the series.
    ///
    /// # Errors
    /// It cannot be read, or lacks a column.
    pub fn read(path: &Path, log: &[LoggedRequest]) -> Result<Self, CalibrationError> {
        let rows = Rows::read(path)?;
        let none = ColumnNames::default();
        let column = |key: &str, known: &[&str]| -> Result<String, CalibrationError> {
            rows.column(key, known, &none)?.ok_or_else(|| {
                let problem = format!("there is no column `{key}`");
                CalibrationError::file(path, &problem, format!("its columns are {}", rows.header.join(", ")))
            })
        };
        let (t, running) = (column("t", &["t", "time", "seconds"])?, column("running", &["running", "num_running"])?);
        let waiting = column("waiting", &["waiting", "num_waiting"])?;
        let kv = rows.column("kv", &["kv_cache_pct"], &none)?;
        let (mut ticks, mut faults) = (Vec::new(), RowFaults::default());
        for row in &rows.rows {
            let number = |name: &str| row.get(name).and_then(|text| text.parse::<f64>().ok()).filter(|v| v.is_finite());
            match (number(&t), number(&running), number(&waiting)) {
                (Some(t), Some(running), Some(waiting)) if running >= 0.0 && waiting >= 0.0 => {
                    let kv_percent = kv.as_deref().and_then(number);
                    ticks.push(Tick { t, running: running as u32, waiting: waiting as u32, kv_percent });
                }
                _ => faults.push(path, row.line, "expected a time, and the numbers of running and waiting sequences"),
            }
        }
        faults.finish("correct the rows, or leave the series out")?;
        ticks.sort_by(|a, b| a.t.total_cmp(&b.t));
        let offset = offset(log, &ticks);
        Ok(Self { ticks, offset })
    }

    /// Instants of the samples on the log's clock, in seconds.
    pub fn instants(&self) -> Vec<f64> {
        self.ticks.iter().map(|tick| tick.t + self.offset).collect()
    }

    /// Most running and most waiting sequences.
    pub fn peaks(&self) -> (u32, u32) {
        let most = |of: fn(&Tick) -> u32| self.ticks.iter().map(of).max().unwrap_or(0);
        (most(|tick| tick.running), most(|tick| tick.waiting))
    }
}

fn offset(log: &[LoggedRequest], ticks: &[Tick]) -> f64 {
    let sorted = |of: fn(&LoggedRequest) -> f64| {
        let mut times: Vec<f64> = log.iter().map(of).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let (queued, last) = (sorted(|r| r.queued), sorted(|r| r.last));
    let inside = |at: f64| (queued.partition_point(|t| *t <= at) - last.partition_point(|t| *t <= at)) as f64;
    let distance = |offset: f64| -> f64 {
        ticks.iter().map(|tick| (inside(tick.t + offset) - f64::from(tick.running) - f64::from(tick.waiting)).abs()).sum()
    };
    let steps = (FARTHEST / STEP) as i32;
    let candidates = (-steps..=steps).map(|step| f64::from(step) * STEP);
    candidates.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_sequences_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("series.csv");
        std::fs::write(&path, "t,running,waiting\n0,1e300,4294967295\n1,1,2\n").unwrap();
        let series = TickSeries::read(&path, &[]).unwrap();
        assert_eq!(series.peaks(), (u32::MAX, u32::MAX));
    }
}
