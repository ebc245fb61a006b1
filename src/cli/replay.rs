//! `shedcast replay`: recorded control events through the control code, decision by decision.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::args::{ReplayArgs, ReplayFormat};
use super::input::read_text;
use super::terminal::Terminal;
use super::{ExitStatus, Failure};
use crate::control::{FiringCheck, Refusal, RefusalLayer};
use crate::replay::{MonitorRecord, Record, RecordError, ReplayError, StepState, replay, verify};
use crate::stats::text::count;

/// Bytes of a file at most.
const MAX_BYTES: u64 = 1 << 30;

/// A record and where it stands.
struct Placed {
    record: Record,
    file: String,
    /// The line of each step, where steps stand on lines of their own; else the one line of the record.
    lines: Vec<usize>,
}

impl Placed {
    /// Where step `number` (from 1) stands.
    fn place(&self, number: usize) -> String {
        let line = self.lines.get(number.saturating_sub(1)).or(self.lines.last()).copied().unwrap_or(1);
        format!("{}:{line}", self.file)
    }
}

/// Replays every file: prints decisions, or verifies what the records expect.
pub(super) fn run(args: &ReplayArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let records: Vec<Placed> = Failure::all(args.files.iter().map(|file| read(file)))?.into_iter().flatten().collect();
    if args.verify { verify_all(args, terminal, &records) } else { show_all(args, terminal, &records) }
}

/// The records of a file: one to a line, or the steps of a single one, a step to a line. All faults of the file at once.
fn read(path: &Path) -> Result<Vec<Placed>, Failure> {
    let file = if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
    let text = read_text(path, MAX_BYTES).map_err(|fault| {
        Failure::Replay(format!(
            "{file}: {fault}\n  hint: control events are JSON Lines in UTF-8, at most {MAX_BYTES} bytes a file"
        ))
    })?;
    let lines = text.lines().zip(1usize..).filter(|(line, _)| !line.trim().is_empty());
    let (mut steps, mut step_lines) = (Vec::new(), Vec::new());
    let mut found = Vec::new();
    for (line, number) in lines {
        match read_line(&file, line, number) {
            Ok(Line::Step(step)) => {
                steps.push(step);
                step_lines.push(number);
            }
            Ok(Line::Record(record)) => found.push(Ok(record)),
            Err(failure) => found.push(Err(failure)),
        }
    }
    if !steps.is_empty() {
        let case = path.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
        found.push(single(&file, case, steps, step_lines, &text));
    }
    let records = Failure::all(found)?;
    if records.is_empty() {
        return Err(Failure::Replay(format!(
            "{file}: no record\n  hint: expected JSON Lines: a record with `steps` on each line, or one step with `op` on each line",
        )));
    }
    Ok(records)
}

/// What stands on a line.
enum Line {
    /// A step of the one record of the file.
    Step(Value),
    /// A whole record.
    Record(Placed),
}

fn read_line(file: &str, text: &str, number: usize) -> Result<Line, Failure> {
    let fault = |error: RecordError| Failure::Replay(format!("{file}:{number}: {error}"));
    let object = match serde_json::from_str(text) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Err(fault(RecordError::NotAnObject("another kind of JSON value".to_owned()))),
        Err(error) => return Err(fault(RecordError::NotAnObject(error.to_string()))),
    };
    if object.contains_key("op") && !object.contains_key("steps") {
        return Ok(Line::Step(Value::Object(object)));
    }
    let record = Record::from_object(object).map_err(fault)?;
    Ok(Line::Record(Placed { record, file: file.to_owned(), lines: vec![number] }))
}

/// The record that steps on lines of their own make together; each faulty step of `text` is told.
fn single(file: &str, case: String, steps: Vec<Value>, lines: Vec<usize>, text: &str) -> Result<Placed, Failure> {
    let record = MonitorRecord::from_steps(case, steps).map_err(|first| {
        let one = |(line, number)| {
            let step = serde_json::from_str(line).unwrap_or_default();
            match MonitorRecord::from_steps(String::new(), vec![step]) {
                Err(RecordError::Step { message, .. }) => Err(Failure::Replay(format!("{file}:{number}: {message}"))),
                _ => Ok(()),
            }
        };
        let mine = text.lines().zip(1usize..).filter(|(_, number)| lines.binary_search(number).is_ok());
        // What only the steps together make wrong is told as it is.
        Failure::all(mine.map(one)).err().unwrap_or_else(|| Failure::Replay(format!("{file}: {first}")))
    })?;
    Ok(Placed { record: Record::Monitor(record), file: file.to_owned(), lines })
}

/// A record that contradicts itself cannot be replayed.
fn contradiction(placed: &Placed, error: &ReplayError) -> Failure {
    let number = match error {
        ReplayError::TimeRunsBackwards { number, .. }
        | ReplayError::TimeTooLong { number }
        | ReplayError::AlreadyInside { number, .. }
        | ReplayError::NotInEngine { number, .. }
        | ReplayError::Booking { number, .. } => *number,
        ReplayError::Differs(difference) => difference.number,
    };
    Failure::Replay(format!("{}: {error}", placed.place(number)))
}

fn verify_all(args: &ReplayArgs, terminal: &Terminal, records: &[Placed]) -> Result<ExitStatus, Failure> {
    let mut fields = 0;
    for placed in records {
        match verify(&placed.record) {
            Ok(compared) => fields += compared,
            Err(ReplayError::Differs(difference)) => {
                let place = placed.place(difference.number);
                let text = match args.format {
                    ReplayFormat::Table => format!("{place}: {difference}\n"),
                    ReplayFormat::Json => {
                        let difference = json!({
                            "place": place, "case": difference.case, "step": difference.number, "op": difference.op,
                            "field": difference.field, "expected": difference.expected, "got": difference.got,
                        });
                        format!("{}\n", json!({ "verified": false, "difference": difference }))
                    }
                };
                terminal.print(text.as_bytes())?;
                return Ok(ExitStatus::AnsweredNo);
            }
            Err(error) => return Err(contradiction(placed, &error)),
        }
    }
    if fields == 0 {
        terminal.warn("no step has an `expect`: nothing was compared");
    }
    let text = match args.format {
        ReplayFormat::Table => {
            format!("{} records hold: {} fields compared\n", count(records.len() as u64), count(fields as u64))
        }
        ReplayFormat::Json => format!("{}\n", json!({ "verified": true, "records": records.len(), "fields": fields })),
    };
    terminal.print(text.as_bytes())?;
    Ok(ExitStatus::Success)
}

fn show_all(args: &ReplayArgs, terminal: &Terminal, records: &[Placed]) -> Result<ExitStatus, Failure> {
    let (mut decisions, mut steps) = (0u64, 0u64);
    for placed in records {
        let mut text = String::new();
        let titled = args.format == ReplayFormat::Table;
        let replayed = replay(&placed.record, |state| {
            steps += 1;
            // Every step of another kind of record is a decision; of a monitor's, the requests are.
            let decides = state.is_request || state.frontend.is_none();
            decisions += u64::from(decides);
            if decides || args.state {
                if titled && text.is_empty() {
                    let _ = writeln!(text, "{}", title(placed));
                }
                match args.format {
                    ReplayFormat::Table => table_lines(&mut text, args, state, decides),
                    ReplayFormat::Json => {
                        let _ = writeln!(text, "{}", json_line(args, placed, state, decides));
                    }
                }
            }
            true
        });
        terminal.print(text.as_bytes())?;
        replayed.map_err(|error| contradiction(placed, &error))?;
    }
    if decisions == 0 && !args.state {
        terminal.warn(&format!(
            "{} steps and no request among them: nothing was decided\n  hint: `--state` shows what each step did; a `request` step asks",
            count(steps)
        ));
    }
    Ok(ExitStatus::Success)
}

fn title(placed: &Placed) -> String {
    let case = placed.record.case();
    let named = if case.is_empty() { String::new() } else { format!(" {case}") };
    format!("{} ({}){named}", placed.place(1), placed.record.kind())
}

fn table_lines(text: &mut String, args: &ReplayArgs, state: &StepState<'_>, decides: bool) {
    let _ = write!(text, "  {:>5} {:>14}  {:<20}", state.number, state.at.to_string(), state.op);
    if decides && state.frontend.is_some() {
        let outcome = state.actual.get("outcome").and_then(Value::as_str).unwrap_or_default();
        let _ = write!(text, " {outcome}{}", reason_text(state));
    }
    let _ = writeln!(text);
    if args.state || state.frontend.is_none() {
        for (field, value) in &state.actual {
            let _ = writeln!(text, "{:>24}  {field} = {value}", "");
        }
    }
    if args.state {
        for firing in firing(state) {
            let _ = writeln!(text, "{:>24}  {}", "", fires(state, &firing));
        }
    }
}

/// Why a request was refused, for people.
fn reason_text(state: &StepState<'_>) -> String {
    let Some(refusal) = &state.refusal else { return String::new() };
    let mut text = format!(": {}", refusal.reason.name());
    let checks: Vec<&str> = refusal.freed_by.iter().map(crate::control::Check::name).collect();
    if refusal.is_joint() {
        text += ", no single check alone";
    } else if !checks.is_empty() {
        let _ = write!(text, ", by {}", checks.join(" or "));
    }
    if let Some(witness) = witness(state, refusal) {
        let _ = write!(text, "; {}", fires(state, &witness));
    }
    if let Some(since) = refusal.leased_since {
        let _ = write!(text, "; leased since {since}");
    }
    text
}

fn fires(state: &StepState<'_>, firing: &FiringCheck) -> String {
    format!(
        "worker {} rank {}: {} {} > {} ({}, {} old)",
        state.workers.name(firing.worker),
        firing.rank,
        firing.signal.name(),
        firing.measured,
        firing.limit,
        firing.check,
        state.at.since(firing.observed_at)
    )
}

fn witness(state: &StepState<'_>, refusal: &Refusal) -> Option<FiringCheck> {
    state.frontend.and_then(|frontend| frontend.shedding().witness(refusal))
}

/// Every check that fires on any worker.
fn firing(state: &StepState<'_>) -> Vec<FiringCheck> {
    let mut all = Vec::new();
    if let Some(frontend) = state.frontend {
        frontend.monitor().workers().for_each(|(id, _)| frontend.monitor().firing(id, &mut all));
    }
    all
}

fn json_line(args: &ReplayArgs, placed: &Placed, state: &StepState<'_>, decides: bool) -> Value {
    let mut line = Map::new();
    line.insert("place".into(), placed.place(state.number).into());
    line.insert("case".into(), state.case.into());
    line.insert("step".into(), state.number.into());
    line.insert("op".into(), state.op.into());
    line.insert("at_ns".into(), state.at.as_nanos().into());
    if decides && state.frontend.is_some() {
        line.insert("outcome".into(), state.actual.get("outcome").cloned().unwrap_or(Value::Null));
        line.insert("reason".into(), state.refusal.as_ref().map_or(Value::Null, |refusal| reason_json(state, refusal)));
    }
    if args.state || state.frontend.is_none() {
        line.insert("state".into(), Value::Object(state.actual.clone()));
    }
    if args.state && state.frontend.is_some() {
        let firing: Vec<Value> = firing(state).iter().map(|firing| firing_json(state, firing)).collect();
        line.insert("firing".into(), firing.into());
    }
    Value::Object(line)
}

fn reason_json(state: &StepState<'_>, refusal: &Refusal) -> Value {
    let (layer, worker) = match refusal.layer {
        RefusalLayer::Pool => ("pool", None),
        RefusalLayer::Pinned(worker) => ("pinned", Some(worker)),
        RefusalLayer::Untried => ("untried", None),
        RefusalLayer::WorkerGate(worker) => ("worker_gate", Some(worker)),
    };
    let decisive: Vec<&str> = refusal.freed_by.iter().map(crate::control::Check::name).collect();
    json!({
        "reason": refusal.reason.name(),
        "layer": layer,
        "worker": worker.map(|id| state.workers.name(id)),
        "decisive": decisive,
        "joint": refusal.is_joint(),
        "leased_since_ns": refusal.leased_since.map(|at| at.as_nanos()),
        "why": witness(state, refusal).map(|witness| firing_json(state, &witness)),
    })
}

fn firing_json(state: &StepState<'_>, firing: &FiringCheck) -> Value {
    json!({
        "worker": state.workers.name(firing.worker),
        "rank": firing.rank,
        "check": firing.check.name(),
        "signal": firing.signal.name(),
        "measured": firing.measured,
        "limit": firing.limit,
        "age_ns": state.at.since(firing.observed_at).as_nanos(),
    })
}
