//! What is fed with random input, and what must hold of whatever it makes of it.

use std::fs;
use std::path::PathBuf;

use shedcast::calibrate::profile::Profile;
use shedcast::calibrate::timings::{TimingOptions, Timings};
use shedcast::calibrate::{CalibrationError, ColumnNames, EngineFacts, RunLog, TickSeries, TimeUnit, fit_points};
use shedcast::engine::Streams;
use shedcast::experiment::plan::Goal;
use shedcast::experiment::plan::journal::Journal as PlanJournal;
use shedcast::experiment::sweep::{Grid, Journal, Precision, Target as SweepTarget, merge, parse_range};
use shedcast::replay::{Record, replay, verify};
use shedcast::scenario::{Document, Place, Scenario, SetOption, trace_config};
use shedcast::units::SimTime;
use shedcast::verify::counters::Counters;
use shedcast::workload::config::WorkloadConfig;
use shedcast::workload::empirical::token_counts;
use shedcast::workload::inspect::inspect;
use shedcast::workload::pairs::{PairColumns, read_pairs, write_pairs};
use shedcast::workload::trace::ServeGenClient;
use shedcast::workload::{Bounds, RequestSource};

/// A reader of files or flags.
pub trait Target {
    /// Its name, and that of its corpus.
    fn name(&self) -> &'static str;
    /// The test that runs a million.
    fn test(&self) -> &'static str;
    /// Reads an input: `taken`, or what kind of message it came to.
    ///
    /// # Errors
    /// Something that must hold does not.
    fn execute(&mut self, bytes: &[u8], number: u64) -> Result<&'static str, String>;
}

/// What kind of message: a few words that all of its kind have.
fn kind_of(message: &str) -> &'static str {
    const KINDS: [&str; 18] = [
        "no valid TOML",
        "is no key",
        "is missing",
        "cannot be given",
        "expected",
        "no end",
        "unknown operation",
        "unknown field",
        "not a JSON object",
        "no JSON object",
        "cannot tell what kind",
        "zero byte",
        "no UTF-8",
        "no such file",
        "unknown columns",
        "backwards",
        "no journal",
        "no column",
    ];
    KINDS.iter().find(|kind| message.contains(**kind)).copied().unwrap_or("another message")
}

/// A message for people: not empty, bounded, and without what only a debugger would show.
fn check_message(message: &str) -> Result<&'static str, String> {
    match () {
        () if message.trim().is_empty() => Err("an empty message".to_owned()),
        () if message.len() > 100_000 => Err(format!("a message of {} bytes", message.len())),
        () if message.contains("Some(") || message.contains("RefCell") => Err(format!("a message for debuggers: {message}")),
        () => Ok(kind_of(message)),
    }
}

/// A scenario file.
pub struct ScenarioFile;

impl Target for ScenarioFile {
    fn name(&self) -> &'static str {
        "scenario"
    }

    fn test(&self) -> &'static str {
        "a_million_scenario_files"
    }

    fn execute(&mut self, bytes: &[u8], _: u64) -> Result<&'static str, String> {
        let Ok(text) = std::str::from_utf8(bytes) else { return Ok("no UTF-8") };
        match Scenario::parse(text, "tests/cases/fuzz.toml", &[]) {
            Ok(loaded) => {
                // What a file means can be written down and read back.
                let resolved = loaded.scenario.to_toml();
                let again =
                    Scenario::parse(&resolved, "tests/cases/fuzz.toml", &[]).map_err(|faults| format!("resolved: {faults}"))?;
                // NaN, which a post may carry so that its refusal is shown, is not equal to itself.
                let same = again.scenario == loaded.scenario || format!("{again:?}") == format!("{loaded:?}");
                if same { Ok("taken") } else { Err("the resolved scenario means something else".to_owned()) }
            }
            Err(faults) if faults.is_empty() => Err("refused without a fault".to_owned()),
            Err(faults) => check_message(&faults.to_string()),
        }
    }
}

/// `--set path=value`.
pub struct Options;

impl Target for Options {
    fn name(&self) -> &'static str {
        "options"
    }

    fn test(&self) -> &'static str {
        "a_million_options"
    }

    fn execute(&mut self, bytes: &[u8], _: u64) -> Result<&'static str, String> {
        let Ok(text) = std::str::from_utf8(bytes) else { return Ok("no UTF-8") };
        let base = Document::parse(super::super::bench::GOOD, "good.toml").map_err(|faults| faults.to_string())?;
        let ended = SetOption::parse("--set", text).and_then(|set| base.with(&[set])).and_then(|document| document.decode());
        match ended {
            Ok(_) => Ok("taken"),
            Err(faults) => check_message(&faults.to_string()),
        }
    }
}

/// A trace file, of any format that its syntax has.
pub struct Trace {
    name: &'static str,
    test: &'static str,
    /// A folder in memory where there is one.
    folder: tempfile::TempDir,
    file: PathBuf,
}

/// How random traces are read, beside the plain way.
const WAYS: [&[&str]; 5] = [
    &[],
    &[
        "trace.columns.arrival=t",
        "trace.columns.arrival_unit=ms",
        "trace.columns.input_tokens=i",
        "trace.columns.output_tokens=o",
    ],
    &["trace.sort=true", "trace.max_gap=10s", "trace.rate_scale=2.5"],
    &["trace.strict=true", "trace.prefix_reuse=discount"],
    &["trace.window_start=1s", "trace.window_end=1h", "trace.dequantise=1s", "trace.max_input_tokens=100"],
];

/// A folder in memory where there is one.
fn folder() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    folder.expect("a temporary folder")
}

impl Trace {
    pub fn csv() -> Self {
        Self::new("trace-csv", "a_million_csv_traces", "trace.csv")
    }

    pub fn json() -> Self {
        Self::new("trace-jsonl", "a_million_json_traces", "trace.jsonl")
    }

    pub fn servegen() -> Self {
        Self::new("trace-servegen", "a_million_servegen_windows", "chunk-0-trace.csv")
    }

    fn new(name: &'static str, test: &'static str, file: &str) -> Self {
        let folder = folder();
        let file = folder.path().join(file);
        Self { name, test, folder, file }
    }
}

impl Target for Trace {
    fn name(&self) -> &'static str {
        self.name
    }

    fn test(&self) -> &'static str {
        self.test
    }

    fn execute(&mut self, bytes: &[u8], number: u64) -> Result<&'static str, String> {
        fs::write(&self.file, bytes).map_err(|error| error.to_string())?;
        let servegen = self.name == "trace-servegen";
        let path = if servegen { self.folder.path() } else { &self.file };
        let way = WAYS[(number % 5) as usize];
        let sets: Vec<SetOption> = way.iter().map(|text| SetOption::parse("--set", text).expect("sound")).collect();
        let config = trace_config(path, &sets).map_err(|faults| faults.to_string())?;
        if servegen {
            ServeGenClient::recognises(path).map_err(|error| error.to_string())?;
        } else if let Err(error) = inspect(&config, None) {
            check_message(&error.to_string())?;
        }
        let workload = WorkloadConfig { trace: Some(config), ..WorkloadConfig::default() };
        let bounds = Bounds { horizon: Some(SimTime::from_nanos(3_600_000_000_000)), requests: Some(200) };
        let mut source = match RequestSource::open(&workload, Streams::new(number), bounds) {
            Ok(source) => source,
            Err(error) => return check_message(&error.to_string()),
        };
        let mut last = SimTime::ZERO;
        loop {
            match source.next() {
                Ok(Some(request)) if request.arrival < last => return Err("arrivals run backwards".to_owned()),
                Ok(Some(request)) => last = request.arrival,
                Ok(None) => return Ok("taken"),
                Err(error) => return check_message(&error.to_string()),
            }
        }
    }
}

/// A line of control events.
pub struct Replay;

impl Target for Replay {
    fn name(&self) -> &'static str {
        "replay"
    }

    fn test(&self) -> &'static str {
        "a_million_control_events"
    }

    fn execute(&mut self, bytes: &[u8], _: u64) -> Result<&'static str, String> {
        let Ok(text) = std::str::from_utf8(bytes) else { return Ok("no UTF-8") };
        let record = match Record::parse(text) {
            Ok(record) => record,
            Err(error) => return check_message(&error.to_string()),
        };
        let shown = replay(&record, |_| true);
        let verified = verify(&record);
        match (shown, verified) {
            (Ok(()), _) => Ok("taken"),
            (Err(error), _) => check_message(&error.to_string()),
        }
    }
}

/// `--grid`, `--target`, of sweeps and of plans, and `--until-halfwidth`.
pub struct GridText;

impl Target for GridText {
    fn name(&self) -> &'static str {
        "grid"
    }

    fn test(&self) -> &'static str {
        "a_million_grids"
    }

    fn execute(&mut self, bytes: &[u8], _: u64) -> Result<&'static str, String> {
        let Ok(text) = std::str::from_utf8(bytes) else { return Ok("no UTF-8") };
        let refusals =
            [parse_range(text).err(), SweepTarget::parse(text).err(), Goal::parse(text).err(), Precision::parse(text).err()];
        for (message, hint) in refusals.into_iter().flatten() {
            check_message(&message)?;
            check_message(&hint)?;
        }
        let mut grid = Grid::default();
        let place = Place::Option { text: "the sweep".to_owned() };
        match grid.add_option(text).and_then(|()| grid.check(&place)) {
            Err(faults) => check_message(&faults.to_string()),
            Ok(()) => {
                let cells = grid.cells() as usize;
                for cell in [0, cells / 2, cells - 1] {
                    if grid.cell_at(&grid.places(cell)) != cell {
                        return Err(format!("cell {cell} is not where it says"));
                    }
                    grid.describe(cell);
                    grid.options(cell);
                }
                Ok("taken")
            }
        }
    }
}

/// A journal of a sweep.
pub struct JournalText;

impl Target for JournalText {
    fn name(&self) -> &'static str {
        "journal"
    }

    fn test(&self) -> &'static str {
        "a_million_journals"
    }

    fn execute(&mut self, bytes: &[u8], _: u64) -> Result<&'static str, String> {
        let Ok(text) = std::str::from_utf8(bytes) else { return Ok("no UTF-8") };
        let journal = match Journal::parse(text) {
            Ok(journal) => journal,
            Err(message) => return check_message(&message),
        };
        match merge(vec![("a".to_owned(), journal)]) {
            Ok(result) => {
                shedcast::report::sweep::sweep_json(&result);
                Ok("taken")
            }
            Err(error) => check_message(&error.to_string()),
        }
    }
}

/// A journal of a plan.
pub struct PlanJournalText;

impl Target for PlanJournalText {
    fn name(&self) -> &'static str {
        "plan-journal"
    }

    fn test(&self) -> &'static str {
        "a_million_plan_journals"
    }

    fn execute(&mut self, bytes: &[u8], _: u64) -> Result<&'static str, String> {
        let Ok(text) = std::str::from_utf8(bytes) else { return Ok("no UTF-8") };
        let journal = match PlanJournal::parse(text) {
            Ok(journal) => journal,
            Err(message) => return check_message(&message),
        };
        if text.get(..journal.whole_bytes).is_none_or(|whole| !whole.ends_with('\n')) {
            return Err("its whole lines end within one".to_owned());
        }
        // What was understood can be written and is understood again.
        let again: String =
            std::iter::once(journal.header.to_line()).chain(journal.records.iter().map(|r| r.to_line())).collect();
        match PlanJournal::parse(&again) {
            Ok(same) if same.header == journal.header && same.records == journal.records => Ok("taken"),
            Ok(_) => Err("read again it means something else".to_owned()),
            Err(message) => Err(format!("read again: {message}")),
        }
    }
}

/// What `calibrate` reads: logs, series, configurations, tables, grids and profiles, each file as every kind.
pub struct Measurements {
    folder: tempfile::TempDir,
}

impl Measurements {
    pub fn new() -> Self {
        Self { folder: folder() }
    }
}

impl Target for Measurements {
    fn name(&self) -> &'static str {
        "measurements"
    }

    fn test(&self) -> &'static str {
        "a_million_measurements"
    }

    fn execute(&mut self, bytes: &[u8], number: u64) -> Result<&'static str, String> {
        // An archive is one by its content, all else by what it is asked to be.
        let kind = if bytes.starts_with(b"PK") { 0 } else { 1 + number % 7 };
        let name = ["a.npz", "a.json", "a.csv", "a.jsonl", "a.json", "a.csv", "a.json", "a.csv"][kind as usize];
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).map_err(|error| error.to_string())?;
        let names = ColumnNames::default();
        let read_profile = |paths: &[PathBuf]| {
            let profile = Profile::read(paths)?;
            fit_points(&profile.prefill, &profile.decode, 1.0).map(drop)
        };
        let read: Result<(), CalibrationError> = match kind {
            0 => read_profile(&[path.clone(), path]),
            1 => read_profile(&[path]),
            2 | 3 => RunLog::read(&path, TimeUnit::Seconds, &names).map(drop),
            4 => EngineFacts::read(&path).map(drop),
            7 => TickSeries::read(&path, &[]).map(drop),
            _ => Timings::read(&path, &TimingOptions::default())
                .and_then(|timings| fit_points(&timings.prefill, &timings.decode, 1.0))
                .map(drop),
        };
        read.map_or_else(|error| check_message(&error.to_string()), |()| Ok("taken"))
    }
}

/// Exported counters that `verify --against` reads.
pub struct CounterText {
    folder: tempfile::TempDir,
}

impl CounterText {
    pub fn new() -> Self {
        Self { folder: folder() }
    }
}

impl Target for CounterText {
    fn name(&self) -> &'static str {
        "counters"
    }

    fn test(&self) -> &'static str {
        "a_million_counters"
    }

    fn execute(&mut self, bytes: &[u8], number: u64) -> Result<&'static str, String> {
        let path = self.folder.path().join("counters");
        fs::write(&path, bytes).map_err(|error| error.to_string())?;
        match Counters::read(&path, number.is_multiple_of(2).then_some(5.0)) {
            Ok(counters) if !counters.length().is_finite() => Err("an endless recording".to_owned()),
            Ok(counters) => {
                for metric in counters.metrics() {
                    counters.growth(metric, 0.0, counters.length());
                    counters.level(metric, 0.0, counters.length());
                }
                Ok("taken")
            }
            Err(error) => check_message(&error.to_string()),
        }
    }
}

/// Files of lengths that a scenario names.
pub struct LengthFile {
    folder: tempfile::TempDir,
}

impl LengthFile {
    pub fn new() -> Self {
        Self { folder: folder() }
    }
}

impl Target for LengthFile {
    fn name(&self) -> &'static str {
        "lengths"
    }

    fn test(&self) -> &'static str {
        "a_million_length_files"
    }

    fn execute(&mut self, bytes: &[u8], number: u64) -> Result<&'static str, String> {
        let path = self.folder.path().join("lengths.csv");
        fs::write(&path, bytes).map_err(|error| error.to_string())?;
        let weight = number.is_multiple_of(2).then_some("weight");
        if let Err(error) = token_counts(&path, "input_tokens", weight) {
            check_message(&error.to_string())?;
        }
        let pairs = match read_pairs(&path, &PairColumns::default()) {
            Ok(pairs) => pairs,
            Err(error) => return check_message(&error.to_string()),
        };
        let mut written = Vec::new();
        write_pairs(&pairs, &mut written).map_err(|error| error.to_string())?;
        fs::write(&path, written).map_err(|error| error.to_string())?;
        match read_pairs(&path, &PairColumns::default()) {
            Ok(again) if again == pairs => Ok("taken"),
            Ok(_) => Err("written and read again it means something else".to_owned()),
            Err(error) => Err(format!("written and read again: {error}")),
        }
    }
}
