//! Files of a sweep: the journal that grows, and results that appear whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::Failure;
use super::drawing::{DrawArgs, PAGE, draw_sweep};
use super::input::{InputFault, read_own};
use crate::experiment::sweep::journal::Header;
use crate::experiment::sweep::{Journal, Record, Shard, SweepResult};
use crate::report::DirectoryLock;
use crate::report::sweep::{cells_csv, differences_csv, replications_csv, sweep_json};

/// Journal of a sweep that is not finished.
const JOURNAL: &str = "sweep-journal.jsonl";
/// Result of a shard.
pub(super) const SHARD: &str = "sweep-shard.jsonl";
/// Written last: its presence says that the other results are complete.
pub(super) const SWEEP_SUMMARY: &str = "sweep.json";
/// Every run of a finished sweep, from which its report is drawn again.
pub(super) const RECORDS: &str = "sweep-records.jsonl";
/// The scenario of the baseline cell.
const BASELINE: &str = "baseline.toml";

pub(super) fn failed(path: &Path, what: &str, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room, or choose another directory with `--out`",
        _ => "choose another directory with `--out`",
    };
    Failure::Sweep(format!("{}: cannot {what}: {error}\n  hint: {hint}", path.display()))
}

/// The journal of a sweep in its directory, open for further records.
#[derive(Debug)]
pub(super) struct OpenJournal {
    path: PathBuf,
    file: File,
    /// Nobody else sweeps into the directory meanwhile.
    _lock: DirectoryLock,
}

impl OpenJournal {
    /// Opens the journal of `header` in `out`: a new one, or with `resume` the one that is there, with its records.
    pub(super) fn open(out: &Path, header: &Header, resume: bool, force: bool) -> Result<(Self, Vec<Record>), Failure> {
        let lock = claim(out)?;
        let path = out.join(JOURNAL);
        // A finished shard is resumed as what it is: finished.
        let done = out.join(SHARD);
        let old = if path.exists() || !done.exists() { path.clone() } else { done };
        let text = if old.exists() { Some(read_journal(&old, resume)?) } else { None };
        match text {
            Some(text) if resume => Self::take_over(path, &old, &text, header, lock),
            Some(text) if !force && old == path && Journal::parse(&text).is_ok_and(|journal| !journal.records.is_empty()) => {
                let hint = "continue it with `--resume`, or replace it with `--force`";
                Err(Failure::Sweep(format!("{}: an unfinished sweep is there\n  hint: {hint}", out.display())))
            }
            _ => {
                check_content(out, &header.sweep.name, force)?;
                let file = begin(out, &path, header.to_line().as_bytes())?;
                Ok((Self { path, file, _lock: lock }, Vec::new()))
            }
        }
    }

    fn take_over(
        path: PathBuf,
        old: &Path,
        text: &str,
        header: &Header,
        lock: DirectoryLock,
    ) -> Result<(Self, Vec<Record>), Failure> {
        let bad = |why: String| {
            Failure::Sweep(format!("{}: {why}\n  hint: start anew with `--force`, without `--resume`", old.display()))
        };
        let journal = Journal::parse(text).map_err(bad)?;
        if journal.header != *header {
            return Err(bad(format!(
                "is of another sweep (fingerprint `{}`, shard {} of {}), not of this one (`{}`)",
                journal.header.sweep.fingerprint,
                journal.header.shard[0] + 1,
                journal.header.shard[1],
                header.sweep.fingerprint
            )));
        }
        if old != path {
            begin(old.parent().unwrap_or(Path::new("")), &path, text.as_bytes())?;
        }
        let file = OpenOptions::new().append(true).open(&path).map_err(|e| failed(&path, "open the journal", &e))?;
        // What a killed process left half written is cut off.
        file.set_len(journal.whole_bytes as u64).map_err(|e| failed(&path, "cut the journal", &e))?;
        Ok((Self { path, file, _lock: lock }, journal.records))
    }

    /// Adds a record: one write, so that a process that dies leaves at most one torn line.
    pub(super) fn add(&mut self, record: &Record) -> Result<(), Failure> {
        self.file.write_all(record.to_line().as_bytes()).map_err(|e| failed(&self.path, "write the journal", &e))
    }

    /// Removes the journal: the results hold all of it.
    pub(super) fn remove(self) -> Result<(), Failure> {
        drop(self.file);
        fs::remove_file(&self.path).map_err(|e| failed(&self.path, "remove the journal", &e))
    }
}

/// Begins a journal, which is never there without its header.
fn begin(out: &Path, path: &Path, text: &[u8]) -> Result<File, Failure> {
    let aside = partial(out, JOURNAL);
    let mut file = File::create(&aside).map_err(|e| failed(path, "make the journal", &e))?;
    if let Err(error) = file.write_all(text).and_then(|()| fs::rename(&aside, path)) {
        // What is left aside says nothing; that it could not be written is told already.
        let _ = fs::remove_file(&aside);
        return Err(failed(path, "write the journal", &error));
    }
    Ok(file)
}

/// Makes the directory and takes it for this process.
pub(super) fn claim(out: &Path) -> Result<DirectoryLock, Failure> {
    fs::create_dir_all(out).map_err(|e| failed(out, "make the directory", &e))?;
    Ok(DirectoryLock::take(out)?)
}

/// The text of a journal. One that is no text is no journal: it is refused if it is to be continued, else it may be replaced.
fn read_journal(path: &Path, resume: bool) -> Result<String, Failure> {
    match read_own(path) {
        Err(InputFault::Io(error)) => Err(failed(path, "read the journal", &error)),
        Err(fault) if resume => {
            let hint = "start anew with `--force`, without `--resume`";
            Err(Failure::Sweep(format!("{}: the journal {fault}\n  hint: {hint}", path.display())))
        }
        Err(_) => Ok(String::new()),
        Ok(text) => Ok(text),
    }
}

/// The name of the scenario whose sweep left its results, its journal or its shard in `out`.
fn sweep_there(out: &Path) -> Option<String> {
    let of_journal = |name: &str| Some(Journal::parse(&read_own(&out.join(name)).ok()?).ok()?.header.sweep.name);
    let of_summary = || {
        let summary: serde_json::Value = serde_json::from_str(&read_own(&out.join(SWEEP_SUMMARY)).ok()?).ok()?;
        Some(summary.get("name")?.as_str()?.to_owned())
    };
    of_summary().or_else(|| of_journal(JOURNAL)).or_else(|| of_journal(SHARD))
}

/// Refuses a directory that holds something else than a sweep of the scenario `name`.
pub(super) fn check_content(out: &Path, name: &str, force: bool) -> Result<(), Failure> {
    if force {
        return Ok(());
    }
    let hint = "choose another directory with `--out`, or add `--force`";
    match sweep_there(out) {
        Some(there) if there == name => return Ok(()),
        Some(there) => {
            let what = format!("it holds a sweep of `{there}`, not of `{name}`");
            return Err(Failure::Sweep(format!("{}: {what}\n  hint: {hint}", out.display())));
        }
        None => {}
    }
    let entries = fs::read_dir(out).map_err(|e| failed(out, "read the directory", &e))?;
    let mut foreign: Vec<String> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.') && !name.starts_with("shard-") && !name.ends_with(".partial"))
        .collect();
    foreign.sort();
    foreign.first().map_or(Ok(()), |first| {
        Err(Failure::Sweep(format!("{}: it is not empty (`{first}`) and holds no sweep\n  hint: {hint}", out.display())))
    })
}

/// Writes files: all under names of their own first, then renamed in their order.
pub(super) fn write_whole(out: &Path, files: &[(String, Vec<u8>)]) -> Result<(), Failure> {
    stage(out, files)?;
    commit(out, files)
}

/// Writes files under names of their own; what was there before stays as it is, also if one cannot be written.
fn stage(out: &Path, files: &[(String, Vec<u8>)]) -> Result<(), Failure> {
    let written = files.iter().try_for_each(|(name, bytes)| {
        let path = partial(out, name);
        let parent = path.parent().unwrap_or(out);
        fs::create_dir_all(parent).map_err(|e| failed(parent, "make the directory", &e))?;
        fs::write(&path, bytes).map_err(|e| failed(&path, "write the file", &e))
    });
    if written.is_err() {
        // Of no use to anybody; whether it can be removed changes nothing.
        files.iter().for_each(|(name, _)| _ = fs::remove_file(partial(out, name)));
    }
    written
}

/// Gives staged files their names, in their order.
fn commit(out: &Path, files: &[(String, Vec<u8>)]) -> Result<(), Failure> {
    files.iter().try_for_each(|(name, _)| {
        let path = out.join(name);
        fs::rename(partial(out, name), &path).map_err(|e| failed(&path, "rename the file", &e))
    })
}

fn partial(out: &Path, name: &str) -> PathBuf {
    out.join(format!("{name}.partial"))
}

/// The results of a whole sweep, the summary last; charts of an earlier one in the same directory are removed. `scenario` is
/// that of the baseline cell.
pub(super) fn write_results(out: &Path, result: &SweepResult, scenario: &str, draw: &DrawArgs) -> Result<(), Failure> {
    let header = Header::new(&result.description, Shard::WHOLE).with_scenario(scenario.to_owned());
    let mut files = vec![
        ("cells.csv".to_owned(), cells_csv(result)),
        ("replications.csv".to_owned(), replications_csv(result)),
        ("differences.csv".to_owned(), differences_csv(result)),
        (BASELINE.to_owned(), scenario.as_bytes().to_vec()),
        (RECORDS.to_owned(), Journal::to_text(&header, &result.records).into_bytes()),
    ];
    files.extend(draw_sweep(draw, result, scenario)?);
    files.push((SWEEP_SUMMARY.to_owned(), sweep_json(result)));
    stage(out, &files)?;
    // Without its summary nothing is taken for a result, whenever the process may be killed.
    remove_if_there(&out.join(SWEEP_SUMMARY))?;
    remove_old_charts(out);
    commit(out, &files)
}

fn remove_if_there(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed(path, "remove the file of earlier results", &e)),
        _ => Ok(()),
    }
}

/// Charts that a sweep of another shape left, and its page: they would be taken for those of this one.
fn remove_old_charts(out: &Path) {
    let _ = fs::remove_file(out.join(PAGE));
    let of_a_sweep = ["line-", "heat-map-", "multiples-", "load-curve.", "pareto."];
    // Those of this sweep wait under names of their own.
    let is_chart = |name: &str| !name.ends_with(".partial") && of_a_sweep.iter().any(|start| name.starts_with(start));
    for entry in fs::read_dir(out.join("charts")).into_iter().flatten().filter_map(Result::ok) {
        if is_chart(&entry.file_name().to_string_lossy()) {
            // What cannot be removed is replaced, or stays: the summary says what belongs to it.
            let _ = fs::remove_file(entry.path());
        }
    }
}
