//! The log of requests of a real run.

use std::path::{Path, PathBuf};

use super::columns::{ARRIVAL, FIRST, INPUT, LAST, LOG_KEYS, OUTPUT, QUEUED, SCHEDULED};
use super::error::CalibrationError;
use super::rows::{ColumnNames, Row, RowFaults, Rows};

/// Requests below which no quantile means anything.
pub(super) const LEAST_REQUESTS: usize = 30;
/// Longest prompt or output believed, tokens.
const MOST_TOKENS: u32 = 100_000_000;
/// A median time per output token outside these seconds speaks for another unit of time.
const PLAUSIBLE_TPOT: (f64, f64) = (2e-4, 2.0);

/// Unit of the times of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds, as vLLM logs them.
    #[default]
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl TimeUnit {
    /// Seconds of one unit.
    pub const fn seconds(self) -> f64 {
        match self {
            Self::Seconds => 1.0,
            Self::Millis => 1e-3,
            Self::Micros => 1e-6,
            Self::Nanos => 1e-9,
        }
    }

    /// Its name as `--time-unit` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Millis => "ms",
            Self::Micros => "us",
            Self::Nanos => "ns",
        }
    }
}

/// A request as the real engine served it; seconds since the first one was queued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoggedRequest {
    /// Queued in the engine.
    pub queued: f64,
    /// First taken into a step; `None` where the log does not tell.
    pub scheduled: Option<f64>,
    /// First output token out.
    pub first: f64,
    /// Last output token out.
    pub last: f64,
    /// Prompt tokens, at least 1.
    pub input_tokens: u32,
    /// Generated tokens, at least 1.
    pub output_tokens: u32,
}

/// The log of requests of a real run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLog {
    /// The file.
    pub path: PathBuf,
    /// Requests that were served, in the order in which they were queued.
    pub requests: Vec<LoggedRequest>,
    /// Rows left out because they produced nothing (failed or cancelled).
    pub unserved: usize,
    /// Where a request was sent by the client on a clock of its own: median and largest time from there to the engine's queue in
    /// seconds, over the shortest one seen. The front end's cost per request, and the wait for the step in progress.
    pub front_end: Option<(f64, f64)>,
}

impl RunLog {
    /// Reads a log: JSON Lines or CSV, fields by their known names or by `names`.
    ///
    /// # Errors
    /// It cannot be read; a field is missing; rows make no sense (all are told, up to ten); the times seem to be in another unit;
    /// too few requests.
    pub fn read(path: &Path, unit: TimeUnit, names: &ColumnNames) -> Result<Self, CalibrationError> {
        if let Some(key) = names.unknown(&LOG_KEYS) {
            return Err(CalibrationError::file(
                path,
                &format!("`{key}` is no key of a log's columns"),
                format!("the keys are {}", LOG_KEYS.join(", ")),
            ));
        }
        let rows = Rows::read(path)?;
        let fields = Fields::find(&rows, names)?;
        let mut faults = RowFaults::default();
        let (mut read, mut unserved) = (Vec::new(), 0);
        for row in &rows.rows {
            match fields.read(row, unit) {
                Ok(Some(request)) => read.push(request),
                Ok(None) => unserved += 1,
                Err(problem) => faults.push(path, row.line, &problem),
            }
        }
        faults.finish("correct the rows or leave them out; `--time-unit` and `--columns` say what is what")?;
        if read.len() < LEAST_REQUESTS {
            return Err(CalibrationError::untellable(
                format!("{}: {} served requests: expected at least {LEAST_REQUESTS}", path.display(), read.len()),
                "log a run of some hundred requests, of which several run at a time",
            ));
        }
        let front_end = front_end(&read);
        let mut requests = sorted(read);
        let start = requests[0].queued;
        for r in &mut requests {
            r.queued -= start;
            r.first -= start;
            r.last -= start;
            r.scheduled = r.scheduled.map(|at| at - start);
        }
        let log = Self { path: path.to_owned(), requests, unserved, front_end };
        log.doubt_unit(unit)?;
        Ok(log)
    }

    /// Seconds from the first request queued to the last token.
    pub fn length(&self) -> f64 {
        self.requests.iter().map(|r| r.last).fold(0.0, f64::max)
    }

    /// Times that no engine has: most likely the unit is another.
    fn doubt_unit(&self, unit: TimeUnit) -> Result<(), CalibrationError> {
        let mut tpot: Vec<f64> = self.requests.iter().filter_map(LoggedRequest::time_per_output_token).collect();
        tpot.sort_by(f64::total_cmp);
        let Some(&median) = tpot.get(tpot.len() / 2) else {
            return Err(CalibrationError::untellable(
                format!("{}: no request has two tokens: there is no time per output token", self.path.display()),
                "log a run that generates",
            ));
        };
        if (PLAUSIBLE_TPOT.0..=PLAUSIBLE_TPOT.1).contains(&median) {
            return Ok(());
        }
        Err(CalibrationError::untellable(
            format!(
                "{}: the median time per output token would be {median:.3e} s with times in {}: expected {} to {} s",
                self.path.display(),
                unit.name(),
                PLAUSIBLE_TPOT.0,
                PLAUSIBLE_TPOT.1
            ),
            "are the times in another unit? `--time-unit` takes s, ms, us or ns",
        ))
    }
}

impl LoggedRequest {
    /// Seconds from queued to the first token.
    pub fn ttft(&self) -> f64 {
        self.first - self.queued
    }

    /// Seconds from queued to the last token.
    pub fn e2e(&self) -> f64 {
        self.last - self.queued
    }

    /// Seconds per token after the first; `None` for one token.
    pub fn time_per_output_token(&self) -> Option<f64> {
        (self.output_tokens > 1).then(|| (self.last - self.first) / f64::from(self.output_tokens - 1))
    }
}

/// A request beside the client's own time of sending it.
type Sent = (LoggedRequest, Option<f64>);

fn sorted(read: Vec<Sent>) -> Vec<LoggedRequest> {
    let mut requests: Vec<LoggedRequest> = read.into_iter().map(|(request, _)| request).collect();
    // Stable: requests queued at one instant keep the order of the log.
    requests.sort_by(|a, b| a.queued.total_cmp(&b.queued));
    requests
}

/// Median and largest of the times from sending to the queue, over the shortest.
fn front_end(read: &[Sent]) -> Option<(f64, f64)> {
    let mut gaps: Vec<f64> = read.iter().filter_map(|(r, sent)| sent.map(|sent| r.queued - sent)).collect();
    gaps.sort_by(f64::total_cmp);
    let (least, most) = (*gaps.first()?, *gaps.last()?);
    Some((gaps[gaps.len() / 2] - least, most - least))
}

/// Names of the fields in a file.
struct Fields {
    arrival: Option<String>,
    queued: Option<String>,
    scheduled: Option<String>,
    first: String,
    last: String,
    input: String,
    output: String,
}

impl Fields {
    fn find(rows: &Rows, names: &ColumnNames) -> Result<Self, CalibrationError> {
        let find = |key, known| rows.column(key, known, names);
        let (arrival, queued) = (find("arrival", ARRIVAL)?, find("queued", QUEUED)?);
        let scheduled = find("scheduled", SCHEDULED)?;
        let needed = [("first", FIRST), ("last", LAST), ("input", INPUT), ("output", OUTPUT)];
        let found = needed.map(|(key, known)| find(key, known));
        let [first, last, input, output] = found;
        let [first, last, input, output] = [first?, last?, input?, output?];
        let mut missing: Vec<String> = Vec::new();
        if arrival.is_none() && queued.is_none() {
            missing.push(format!("`queued` (one of {}) or `arrival` ({})", QUEUED.join(", "), ARRIVAL.join(", ")));
        }
        for ((key, known), column) in needed.iter().zip([&first, &last, &input, &output]) {
            if column.is_none() {
                missing.push(format!("`{key}` (one of {})", known.join(", ")));
            }
        }
        match (first, last, input, output) {
            (Some(first), Some(last), Some(input), Some(output)) if missing.is_empty() => {
                Ok(Self { arrival, queued, scheduled, first, last, input, output })
            }
            _ => Err(CalibrationError::Faulty {
                faults: missing.iter().map(|m| format!("{}: there is no column for {m}", rows.path.display())).collect(),
                hint: format!("name it with `--columns key=COLUMN,...`; the file has {}", rows.header.join(", ")),
            }),
        }
    }

    /// The request of a row; nothing where it produced nothing.
    fn read(&self, row: &Row, unit: TimeUnit) -> Result<Option<Sent>, String> {
        let time = |name: &str| -> Result<Option<f64>, String> {
            let Some(text) = row.get(name) else { return Ok(None) };
            match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(Some(value * unit.seconds())),
                _ => Err(format!("`{name}` is `{text}`: expected a time, a finite number")),
            }
        };
        let tokens = |name: &str| -> Result<u32, String> {
            let text = row.get(name).ok_or_else(|| format!("`{name}` is missing: expected a number of tokens"))?;
            let whole = text.parse::<f64>().ok().filter(|v| v.fract() == 0.0 && (0.0..=f64::from(MOST_TOKENS)).contains(v));
            whole.map(|v| v as u32).ok_or_else(|| format!("`{name}` is `{text}`: expected a whole number up to {MOST_TOKENS}"))
        };
        let (input, output) = (tokens(&self.input)?, tokens(&self.output)?);
        let (first, last) = (time(&self.first)?, time(&self.last)?);
        let optional = |name: &Option<String>| name.as_deref().map_or(Ok(None), time);
        let (sent, queued, scheduled) = (optional(&self.arrival)?, optional(&self.queued)?, optional(&self.scheduled)?);
        let (Some(first), Some(last)) = (first, last) else { return Ok(None) };
        if output == 0 {
            return Ok(None);
        }
        let queued_at = queued.or(sent).ok_or("neither queued nor arrival time")?;
        let order = [Some(queued_at), scheduled, Some(first), Some(last)];
        let order: Vec<f64> = order.into_iter().flatten().collect();
        if order.windows(2).any(|pair| pair[1] < pair[0]) {
            return Err(format!(
                "times out of order: queued {queued_at}, {}first token {first}, last token {last}{}",
                scheduled.map(|at| format!("scheduled {at}, ")).unwrap_or_default(),
                if queued.is_none() { " (`arrival` may be on another clock than the tokens)" } else { "" }
            ));
        }
        let request =
            LoggedRequest { queued: queued_at, scheduled, first, last, input_tokens: input.max(1), output_tokens: output };
        Ok(Some((request, queued.and(sent))))
    }
}
