//! Runs a scenario through the public `run` and keeps everything it streams, so that a test can ask for any of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use shedcast::cluster::Remote;
use shedcast::cluster::observer::{AttemptOutcome, FleetSample};
use shedcast::cluster::request::{Attempt, Request};
use shedcast::control::{Refusal, RefusalLayer};
use shedcast::experiment::result::Point;
use shedcast::experiment::{EngineKind, RunOptions, RunResult, Sink, run};
use shedcast::scenario::{Loaded, Scenario, SetOption, Warning};
use shedcast::units::SimTime;
use shedcast::workload::WorkloadError;

/// An attempt as it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub at: SimTime,
    pub attempt: Attempt,
    pub arrival: SimTime,
    pub outcome: AttemptOutcome,
}

impl Ended {
    /// `OK`, `SHED` (refused by a worker's gate), `529` or whatever status a refusal has, `503`, `CANCEL`, `FAILED`, `UNSERVABLE`.
    pub fn answer(&self) -> String {
        match &self.outcome {
            AttemptOutcome::Completed => "OK".to_owned(),
            AttemptOutcome::Refused { refusal, .. } if matches!(refusal.layer, RefusalLayer::WorkerGate(_)) => "SHED".to_owned(),
            AttemptOutcome::Refused { status, .. } => status.to_string(),
            AttemptOutcome::Unavailable { .. } => "503".to_owned(),
            AttemptOutcome::Failed => "FAILED".to_owned(),
            AttemptOutcome::Cancelled => "CANCEL".to_owned(),
            AttemptOutcome::Unservable => "UNSERVABLE".to_owned(),
        }
    }

    /// What refused it.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.outcome {
            AttemptOutcome::Refused { refusal, .. } | AttemptOutcome::Unavailable { refusal } => Some(refusal),
            _ => None,
        }
    }
}

/// An interval of the time series as it was streamed.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    pub start: SimTime,
    pub end: SimTime,
    pub point: Point,
    pub fleet: FleetSample,
}

/// Keeps all that a run streams.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    pub attempts: Vec<Ended>,
    pub intervals: Vec<Interval>,
}

impl Sink for Log {
    fn attempt(&mut self, now: SimTime, attempt: &Attempt, request: &Request, outcome: &AttemptOutcome) {
        // Where the engine keeps the attempt says nothing of the attempt.
        let mut attempt = attempt.clone();
        attempt.handle = 0;
        attempt.forsake();
        self.attempts.push(Ended { at: now, attempt, arrival: request.arrival, outcome: outcome.clone() });
    }

    fn interval(&mut self, start: SimTime, end: SimTime, point: &Point, fleet: &FleetSample) {
        self.intervals.push(Interval { start, end, point: point.clone(), fleet: fleet.clone() });
    }
}

/// A finished run with everything it streamed.
pub struct Case {
    pub scenario: Scenario,
    /// What the reader of the scenario warned of.
    pub warnings: Vec<Warning>,
    pub result: RunResult,
    pub log: Log,
}

impl Case {
    /// The answers of all attempts that ended, by request, then attempt.
    pub fn answers(&self) -> Vec<String> {
        self.by_request().into_iter().map(Ended::answer).collect()
    }

    /// All attempts that ended, by request, then attempt.
    pub fn by_request(&self) -> Vec<&Ended> {
        let mut attempts: Vec<&Ended> = self.log.attempts.iter().collect();
        attempts.sort_by_key(|ended| (ended.attempt.id, ended.attempt.number));
        attempts
    }

    /// How many attempts ended with `answer`.
    pub fn count(&self, answer: &str) -> usize {
        self.log.attempts.iter().filter(|ended| ended.answer() == answer).count()
    }

    /// Ends of completed attempts in seconds, in the order of time.
    pub fn completions(&self) -> Vec<f64> {
        self.log.attempts.iter().filter(|e| e.outcome == AttemptOutcome::Completed).map(|e| e.at.as_secs_f64()).collect()
    }

    /// Requests completed in each whole second of simulated time, from its start up to, but not including, its end.
    pub fn completed_by_second(&self) -> Vec<u64> {
        const SECOND: u64 = 1_000_000_000;
        let mut counts = vec![0; (self.result.ended_at.as_nanos() / SECOND) as usize];
        for ended in self.log.attempts.iter().filter(|e| e.outcome == AttemptOutcome::Completed) {
            if let Some(count) = counts.get_mut((ended.at.as_nanos() / SECOND) as usize) {
                *count += 1;
            }
        }
        counts
    }

    /// Whether some warning, of the scenario or of the run, has this code.
    pub fn warns(&self, code: &str) -> bool {
        self.warnings.iter().chain(&self.result.warnings).any(|warning| warning.code == code)
    }
}

/// The project's own directory of tests.
pub fn tests_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Data shared beside the checkout, or where `SHEDCAST_SHARED_DIR` says; `None`, told on the test's output, if it is absent.
pub fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("SHEDCAST_SHARED_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let found = root.join(path);
    if !found.exists() {
        println!("skipped: there is no {} (SHEDCAST_SHARED_DIR names the directory)", found.display());
        return None;
    }
    Some(found)
}

pub fn options(sets: &[&str]) -> Vec<SetOption> {
    sets.iter().map(|text| SetOption::parse("--set", text).unwrap_or_else(|faults| panic!("{faults}"))).collect()
}

/// Reads a scenario of `tests/cases/`.
pub fn load(name: &str, sets: &[&str]) -> Result<Loaded, String> {
    let path = tests_dir().join("cases").join(format!("{name}.toml"));
    Scenario::load(&path, &options(sets)).map_err(|faults| faults.to_string())
}

/// Runs what was loaded.
pub fn run_loaded(loaded: Loaded, engine: EngineKind) -> Result<Case, WorkloadError> {
    let options = RunOptions { engine, ..RunOptions::default() };
    let (result, log) = run(&loaded.scenario, options, Log::default(), &Remote::default())?;
    Ok(Case { scenario: loaded.scenario, warnings: loaded.warnings, result, log })
}

/// Runs a text.
pub fn run_text(text: &str, sets: &[&str]) -> Case {
    let loaded = Scenario::parse(text, "inline.toml", &options(sets)).unwrap_or_else(|faults| panic!("{faults}"));
    run_loaded(loaded, EngineKind::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a scenario of `tests/cases/` with what must hold of every run: nothing is lost from the books, and the answers are
/// the same with worker reports switched off, step by step, and through the resolved scenario.
///
/// # Panics
/// If one of these does not hold.
pub fn case(name: &str, sets: &[&str]) -> Case {
    let case = case_with_reports(name, sets);
    let mut silent = sets.to_vec();
    silent.push("telemetry.worker_kv_metrics=false");
    let without = run_once(name, &silent, EngineKind::default());
    assert_eq!(case.log.attempts, without.log.attempts, "case {name}: the answers do not rest on the workers' own reports");
    case
}

/// As [`case`], for scenarios whose outcome depends on the workers' own reports.
pub fn case_with_reports(name: &str, sets: &[&str]) -> Case {
    let case = run_once(name, sets, EngineKind::default());
    for measures in std::iter::once(&case.result.whole).chain(case.result.phases.iter().map(|p| &p.measures)) {
        assert_eq!(measures.attempts.started, measures.attempts.accounted(), "case {name}: attempts are conserved");
        assert_eq!(measures.requests.offered, measures.requests.accounted(), "case {name}: requests are conserved");
    }
    let stepwise = run_once(name, sets, EngineKind::Stepwise);
    assert!(case.log == stepwise.log, "case {name}: both engines give the same");
    let resolved = Scenario::parse(&case.scenario.to_toml(), "resolved.toml", &[]).unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(resolved.scenario, case.scenario, "case {name}: the resolved scenario means the same");
    case
}

fn run_once(name: &str, sets: &[&str], engine: EngineKind) -> Case {
    let loaded = load(name, sets).unwrap_or_else(|faults| panic!("case {name} {sets:?}: {faults}"));
    run_loaded(loaded, engine).unwrap_or_else(|error| panic!("case {name} {sets:?}: {error}"))
}

/// All files below `path` with their content.
pub fn files(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut ahead = vec![path.to_path_buf()];
    while let Some(directory) = ahead.pop() {
        for entry in fs::read_dir(&directory).expect("a directory") {
            let entry = entry.expect("an entry").path();
            if entry.is_dir() {
                ahead.push(entry);
            } else {
                found.insert(entry.strip_prefix(path).expect("below it").to_path_buf(), fs::read(&entry).expect("a file"));
            }
        }
    }
    found
}
