//! ServeGen clients: a rate, a variation and a pattern per window of time, and token counts per longer window.
//!
//! `chunk-N-trace.csv` has no header: `start_s,rate,cv,pattern,arg1,arg2`; pattern is `Gamma`, `Weibull` or empty. Beside
//! it, `chunk-N-dataset.json` may hold token counts with weights, as Python dictionaries in strings. Requests are drawn:
//! each client is a renewal process by time rescaling, whose gaps have the variation of the window they start in.

use std::io;
use std::path::{Path, PathBuf};

use super::format::TraceFormat;
use super::lines::Lines;
use super::record::split_quoted;
use super::report::TraceReport;
use super::time;
use crate::engine::rng::{SimRng, Streams};
use crate::units::{NANOS_PER_SECOND, SimTime};
use crate::workload::config::{LengthDistribution, LengthShape, RatePiece, RateSchedule, TimeUnit, TraceConfig};
use crate::workload::error::WorkloadError;
use crate::workload::lengths::LengthPair;
use crate::workload::rates::RateWalk;
use crate::workload::sampling::{Gamma, Weibull};

/// One window of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServeGenWindow {
    /// Start.
    pub start: SimTime,
    /// Requests per second.
    pub rate: f64,
    /// Coefficient of variation of the gaps; 0 where the rate is.
    pub cv: f64,
    gap: Option<Gap>,
}

/// Gaps of mean 1.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Gap {
    Gamma(Gamma),
    Weibull(Weibull),
}

/// One client: its windows, and its token counts where it has a data set.
#[derive(Clone, Debug)]
pub struct ServeGenClient {
    /// Its file.
    pub path: PathBuf,
    /// Its windows, evenly spaced.
    pub windows: Vec<ServeGenWindow>,
    /// (start of a length window, token counts); empty without a data set.
    lengths: Vec<(SimTime, LengthPair)>,
}

fn broken(path: &Path, line: u64, problem: String) -> WorkloadError {
    let hint = "a ServeGen window is `start_s,rate,cv,pattern,arg1,arg2`, pattern `Gamma`, `Weibull` or empty".into();
    WorkloadError::Row { path: path.to_owned(), line, problem, hint }
}

impl ServeGenClient {
    /// Whether a path is a folder of clients or the windows of one.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn recognises(path: &Path) -> Result<bool, WorkloadError> {
        if path.is_dir() {
            return Ok(true);
        }
        if super::lines::is_stdin(path) {
            return Ok(false); // what was looked at could not be read again
        }
        let mut lines = Lines::open(path)?;
        if !lines.advance()? {
            return Ok(false);
        }
        let fields = split_quoted(lines.text()?).map(|r| r.iter().map(|f| f.trim().to_owned()).collect::<Vec<_>>());
        Ok(fields.is_ok_and(|fields| super::format::is_servegen(&fields)))
    }

    /// Reads one client, or all of a folder in the order of their numbers.
    ///
    /// # Errors
    /// If a file cannot be read or understood, or the folder holds none.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, WorkloadError> {
        if !path.is_dir() {
            return Ok(vec![Self::read(path)?]);
        }
        let failed =
            |source: io::Error| WorkloadError::Io { path: path.to_owned(), source, hint: "a folder of ServeGen clients".into() };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let number =
                name.strip_prefix("chunk-").and_then(|n| n.strip_suffix("-trace.csv")).and_then(|n| n.parse::<u64>().ok());
            files.extend(number.map(|number| (number, entry.path())));
        }
        files.sort();
        if files.is_empty() {
            let problem = "the folder holds no `chunk-N-trace.csv`: expected ServeGen clients";
            let hint = "name a trace file, or a folder of ServeGen clients";
            return Err(WorkloadError::File { path: path.to_owned(), problem: problem.into(), hint: hint.into() });
        }
        files.iter().map(|f| Self::read(&f.1)).collect()
    }

    fn read(path: &Path) -> Result<Self, WorkloadError> {
        let mut lines = Lines::open(path)?;
        let mut windows: Vec<ServeGenWindow> = Vec::new();
        while lines.advance()? {
            let line = lines.number();
            let window = window(lines.text()?).map_err(|problem| broken(path, line, problem))?;
            if windows.last().is_some_and(|last| window.start <= last.start) {
                return Err(broken(path, line, format!("the window at `{}` is not after the one before", window.start)));
            }
            windows.push(window);
        }
        let lengths = match dataset_of(path).filter(|p| p.is_file()) {
            Some(dataset) => read_lengths(&dataset)?,
            None => Vec::new(),
        };
        Ok(Self { path: path.to_owned(), windows, lengths })
    }

    /// Length of its windows, in nanoseconds (the distance of the last two).
    fn step(&self) -> u64 {
        match self.windows[..] {
            [.., before, last] => last.start.since(before.start).as_nanos(),
            _ => 600 * NANOS_PER_SECOND,
        }
    }

    /// Length of its windows, seconds.
    pub fn window_seconds(&self) -> f64 {
        self.step() as f64 / NANOS_PER_SECOND as f64
    }

    /// Its rate over time: 0 before the first window and after the last.
    fn schedule(&self) -> RateSchedule {
        let piece = |at, rate| RatePiece { at, rate, ramp: false };
        let mut pieces: Vec<RatePiece> = self.windows.iter().map(|w| piece(w.start, w.rate)).collect();
        if pieces.first().is_none_or(|first| first.at > SimTime::ZERO) {
            pieces.insert(0, piece(SimTime::ZERO, 0.0));
        }
        if let Some(last) = self.windows.last() {
            pieces.push(piece(SimTime::from_nanos(last.start.as_nanos() + self.step()), 0.0));
        }
        RateSchedule(pieces)
    }
}

fn window(text: &str) -> Result<ServeGenWindow, String> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let [start, rate, cv, pattern, _, _] = fields[..] else { return Err(format!("{} columns: expected 6", fields.len())) };
    let nanos = time::nanos(start, TimeUnit::Seconds).ok().and_then(|n| u64::try_from(n).ok());
    let nanos = nanos.ok_or_else(|| format!("field `start_s` is `{start}`: expected seconds, 0 or more"))?;
    let number = |name: &str, text: &str| {
        let value = text.parse::<f64>().ok().filter(|v| v.is_finite() && *v >= 0.0);
        value.ok_or_else(|| format!("field `{name}` is `{text}`: expected a number, 0 or more"))
    };
    let (rate, cv) = (number("rate", rate)?, number("cv", cv)?);
    let gap = match pattern {
        "" => None,
        "Gamma" => Gamma::from_mean_cv(1.0, cv).map(Gap::Gamma),
        "Weibull" => Weibull::from_mean_cv(1.0, cv).map(Gap::Weibull),
        other => return Err(format!("field `pattern` is `{other}`: expected Gamma, Weibull or nothing")),
    };
    if rate > 0.0 && gap.is_none() {
        return Err(format!("rate `{rate}` with pattern `{pattern}` and cv `{cv}`: expected a pattern with a cv > 0"));
    }
    Ok(ServeGenWindow { start: SimTime::from_nanos(nanos), rate, cv, gap })
}

/// The data set beside a client's windows.
fn dataset_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    Some(path.with_file_name(format!("{}-dataset.json", name.strip_suffix("-trace.csv")?)))
}

/// Token counts per window; windows without data are left out.
fn read_lengths(path: &Path) -> Result<Vec<(SimTime, LengthPair)>, WorkloadError> {
    let bad = |problem: String| WorkloadError::File {
        path: path.to_owned(),
        problem,
        hint: "a ServeGen data set maps window starts to strings that hold Python dictionaries of weights".into(),
    };
    let text = std::fs::read_to_string(path).map_err(|e| bad(format!("cannot read: {e}")))?;
    let json: serde_json::Value = serde_json::from_str(&text).map_err(|e| bad(format!("no JSON: {e}")))?;
    let windows = json.as_object().ok_or_else(|| bad("expected a JSON object".into()))?;
    let mut lengths = Vec::new();
    for (start, fields) in windows {
        let nanos = time::nanos(start, TimeUnit::Seconds).ok().and_then(|n| u64::try_from(n).ok());
        let nanos = nanos.ok_or_else(|| bad(format!("window `{start}`: expected seconds")))?;
        let counts = |field: &str| {
            let text = fields.get(field).and_then(|v| v.as_str()).unwrap_or("{}");
            dictionary(text).ok_or_else(|| bad(format!("window `{start}`, field `{field}`: expected `{{tokens: weight, ...}}`")))
        };
        let (input, output) = (counts("input_tokens")?, counts("output_tokens")?);
        if input.is_empty() || output.is_empty() {
            continue;
        }
        let empirical = |values| LengthDistribution { shape: LengthShape::Empirical { values }, min: 1, max: None };
        let pair = LengthPair::from_parts(&empirical(input), &empirical(output), 0.0);
        lengths.push((SimTime::from_nanos(nanos), pair.map_err(|e| bad(e.to_string()))?));
    }
    lengths.sort_by_key(|l| l.0);
    Ok(lengths)
}

/// A Python dictionary of token counts and weights: `{374: 0.00033, 375: 0.0001}`.
fn dictionary(text: &str) -> Option<Vec<(u32, f64)>> {
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    if inner.is_empty() {
        return Some(Vec::new());
    }
    let entry = |entry: &str| {
        let (tokens, weight) = entry.split_once(':')?;
        let tokens = time::decimal(tokens, 0).and_then(|t| u32::try_from(t).ok())?;
        Some((tokens, weight.trim().parse::<f64>().ok().filter(|w| w.is_finite() && *w >= 0.0)?))
    };
    let entries = inner.split(',').filter(|e| !e.trim().is_empty()).map(entry).collect::<Option<Vec<_>>>()?;
    Some(entries.into_iter().filter(|e| e.1 > 0.0).collect())
}

/// One client at work.
struct Client {
    walk: RateWalk,
    windows: Vec<ServeGenWindow>,
    lengths: Vec<(SimTime, LengthPair)>,
    arrivals: SimRng,
    draws: SimRng,
    /// Its next arrival.
    next: Option<SimTime>,
}

impl Client {
    /// The window that an instant is in, or the next with requests.
    fn gap_at(&self, at: SimTime) -> Option<Gap> {
        let i = self.windows.partition_point(|w| w.start <= at).saturating_sub(1);
        self.windows[i..].iter().find_map(|w| w.gap.filter(|_| w.rate > 0.0))
    }

    fn advance(&mut self, from: SimTime) {
        let Some(gap) = self.gap_at(from) else {
            self.next = None;
            return;
        };
        let gap = match gap {
            Gap::Gamma(gamma) => gamma.draw(&mut self.arrivals),
            Gap::Weibull(weibull) => weibull.draw(&mut self.arrivals),
        };
        self.next = self.walk.advance(gap);
    }

    fn lengths_at(&self, at: SimTime) -> Option<&LengthPair> {
        let after = self.lengths.partition_point(|l| l.0 <= at);
        self.lengths.get(after.saturating_sub(1)).map(|l| &l.1)
    }
}

/// Requests drawn from ServeGen clients, in order of arrival; the clock is that of the windows.
pub struct ServeGenReplay {
    config: TraceConfig,
    clients: Vec<Client>,
    fallback: Option<LengthPair>,
    emitted: u64,
    last_arrival: Option<SimTime>,
}

impl ServeGenReplay {
    /// Opens a client or a folder of them; random streams `servegen arrivals` and `servegen lengths`, by client.
    ///
    /// # Errors
    /// If a file cannot be understood, a client with requests has no token counts, or an option cannot be applied.
    pub fn open(config: &TraceConfig, streams: Streams) -> Result<Self, WorkloadError> {
        let options = &config.options;
        let plain = crate::workload::config::TraceOptions {
            input_tokens: options.input_tokens.clone(),
            output_tokens: options.output_tokens.clone(),
            ..Default::default()
        };
        if *options != plain {
            let problem = "ServeGen windows are rates, not rows: expected no option but input_tokens and output_tokens";
            let hint = "convert it to a trace of requests first (`shedcast trace convert`), then replay that with options";
            return Err(WorkloadError::File { path: config.path.clone(), problem: problem.into(), hint: hint.into() });
        }
        let fallback = match (&options.input_tokens, &options.output_tokens) {
            (Some(input), Some(output)) => Some(LengthPair::from_parts(input, output, 0.0)?),
            _ => None,
        };
        let mut clients = Vec::new();
        for (i, client) in ServeGenClient::read_all(&config.path)?.into_iter().enumerate() {
            if client.windows.iter().all(|w| w.rate == 0.0) {
                continue;
            }
            if client.lengths.is_empty() && fallback.is_none() {
                let problem = "the client has requests but no token counts: expected `chunk-N-dataset.json` beside it";
                let hint = "give the trace input_tokens and output_tokens, which serve the clients without a data set";
                return Err(WorkloadError::File { path: client.path, problem: problem.into(), hint: hint.into() });
            }
            let walk = RateWalk::new(&client.schedule())?;
            let (arrivals, draws) = (streams.stream("servegen arrivals", i as u64), streams.stream("servegen lengths", i as u64));
            let mut client = Client { walk, windows: client.windows, lengths: client.lengths, arrivals, draws, next: None };
            client.advance(SimTime::ZERO);
            clients.push(client);
        }
        Ok(Self { config: config.clone(), clients, fallback, emitted: 0, last_arrival: None })
    }

    /// The next request: arrival, input and output tokens; `None` after the last window.
    #[expect(clippy::should_implement_trait, reason = "alike the other sources, which are no iterators")]
    pub fn next(&mut self) -> Option<(SimTime, u32, u32)> {
        let earliest = self.clients.iter_mut().filter(|c| c.next.is_some()).min_by_key(|c| c.next)?;
        let at = earliest.next?;
        let mut draws = earliest.draws.clone();
        let pair = earliest.lengths_at(at).or(self.fallback.as_ref()).expect("clients without lengths are refused at opening");
        let (input, output) = pair.draw(&mut draws);
        earliest.draws = draws;
        earliest.advance(at);
        self.emitted += 1;
        self.last_arrival = Some(at);
        Some((at, input, output))
    }

    /// The account so far: drawn requests are all emitted.
    pub fn report(&self) -> TraceReport {
        TraceReport {
            path: self.config.path.clone(),
            format: TraceFormat::ServeGen,
            rows_read: self.emitted,
            emitted: self.emitted,
            dropped: Default::default(),
            last_arrival: self.last_arrival,
            warnings: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::config::TraceOptions;

    fn folder(dataset: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let rows = "0,0,0,,0,0\r\n600,2.0,1.5,Gamma,0.4,1.1\r\n1200,0,0,,0,0\r\n1800,1.0,0.5,Weibull,2.1,1.1\r\n";
        std::fs::write(dir.path().join("chunk-0-trace.csv"), rows).unwrap();
        std::fs::write(dir.path().join("chunk-10-trace.csv"), "0,0,0,,0,0\r\n600,0,0,,0,0").unwrap();
        std::fs::write(dir.path().join("chunk-0-dataset.json"), dataset).unwrap();
        dir
    }

    const DATASET: &str = r#"{"0": {"input_tokens": "{10: 0.5, 20: 0.5}", "output_tokens": "{3: 1.0}"},
        "1500": {"input_tokens": "{30: 1.0}", "output_tokens": "{4: 0.25, 5: 0.75}"}, "9000": {"input_tokens": "{}", "output_tokens": "{}"}}"#;

    fn config(path: &Path) -> TraceConfig {
        TraceConfig { path: path.to_owned(), class: "replayed".into(), ..Default::default() }
    }

    #[test]
    fn requests_follow_the_rates_and_lengths_of_their_windows() {
        let dir = folder(DATASET);
        assert!(ServeGenClient::recognises(&dir.path().join("chunk-0-trace.csv")).unwrap());
        let mut counts = [0u32; 4];
        for seed in 0..50 {
            let mut replay = ServeGenReplay::open(&config(dir.path()), Streams::new(seed)).unwrap();
            let mut last = SimTime::ZERO;
            while let Some((at, input, output)) = replay.next() {
                assert!(at >= last);
                last = at;
                counts[(at.as_secs_f64() / 600.0) as usize] += 1;
                let early = at.as_secs_f64() < 1_500.0;
                assert!(if early { [10, 20].contains(&input) && output == 3 } else { input == 30 && [4, 5].contains(&output) });
            }
            assert!(replay.report().is_balanced());
        }
        // 50 x 1,200 and 50 x 600 requests: four standard errors are 2.5 % and 1 %.
        assert!(
            (f64::from(counts[1]) / 60_000.0 - 1.0).abs() < 0.03 && (f64::from(counts[3]) / 30_000.0 - 1.0).abs() < 0.02,
            "{counts:?}"
        );
        assert_eq!((counts[0], counts[2]), (0, 0));
    }

    #[test]
    fn clients_without_lengths_need_some_from_the_scenario() {
        let dir = folder(DATASET);
        std::fs::remove_file(dir.path().join("chunk-0-dataset.json")).unwrap();
        let message = ServeGenReplay::open(&config(dir.path()), Streams::new(1)).err().unwrap().to_string();
        assert!(message.contains("no token counts") && message.contains("input_tokens"), "{message}");
        let constant = |value| Some(LengthDistribution { shape: LengthShape::Constant { value }, min: 1, max: None });
        let options = TraceOptions { input_tokens: constant(7), output_tokens: constant(2), ..Default::default() };
        let mut replay = ServeGenReplay::open(&TraceConfig { options, ..config(dir.path()) }, Streams::new(1)).unwrap();
        assert_eq!(replay.next().map(|r| (r.1, r.2)), Some((7, 2)));
    }

    #[test]
    fn broken_windows_and_data_sets_are_refused() {
        for (row, what) in
            [("600,x,0,,0,0", "`rate`"), ("600,1,0,,0,0", "pattern"), ("600,1,1,Normal,0,0", "`Normal`"), ("600,1", "columns")]
        {
            assert!(window(row).unwrap_err().contains(what), "{row}");
        }
        let dir = folder(r#"{"0": {"input_tokens": "[1]", "output_tokens": "{}"}}"#);
        let message = ServeGenReplay::open(&config(dir.path()), Streams::new(1)).err().unwrap().to_string();
        assert!(message.contains("field `input_tokens`"), "{message}");
    }
}
