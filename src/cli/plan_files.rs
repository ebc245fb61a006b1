//! Files of a plan: the journal that grows, and results that appear whole.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::Failure;
use super::args::ChartFormat;
use super::drawing::PAGE;
use super::sweep_files::write_whole;
use crate::experiment::plan::journal::{Header, Journal};
use crate::experiment::plan::{Answer, Description, Record};
use crate::report::plan::{Proposal, plan_cells_csv, plan_figures, plan_json, plan_page, plan_runs_csv, plan_toml};

/// Journal of a plan that is not finished.
const JOURNAL: &str = "plan-journal.jsonl";
/// Written last: its presence says that the other results are complete.
const SUMMARY: &str = "plan.json";
/// Pixels per unit of a figure in PNG.
const PNG_SCALE: f64 = 2.0;

fn failed(path: &Path, what: &str, error: &io::Error) -> Failure {
    let hint = "choose another directory with `--out`";
    Failure::Plan(format!("{}: cannot {what}: {error}\n  hint: {hint}", path.display()))
}

/// The journal of a plan in its directory, open for further records and locked against other processes.
#[derive(Debug)]
pub(super) struct OpenJournal {
    path: PathBuf,
    file: File,
}

impl OpenJournal {
    /// Opens the journal of a plan in `out`: a new one, or with `resume` the one that is there, with its records.
    pub(super) fn open(out: &Path, plan: &Description, resume: bool, force: bool) -> Result<(Self, Vec<Record>), Failure> {
        let header = Header::new(plan);
        fs::create_dir_all(out).map_err(|e| failed(out, "make the directory", &e))?;
        check_content(out, force)?;
        let path = out.join(JOURNAL);
        let open = OpenOptions::new().read(true).append(true).create(true).open(&path);
        let mut file = open.map_err(|e| failed(&path, "open the journal", &e))?;
        lock(&file, out)?;
        let text = fs::read_to_string(&path).map_err(|e| failed(&path, "read the journal", &e))?;
        let old = Journal::parse(&text);
        if resume && !text.is_empty() {
            let journal = old.map_err(|why| refused(&path, &why))?;
            if journal.header != header {
                let (theirs, ours) = (&journal.header.plan.fingerprint, &plan.fingerprint);
                return Err(refused(&path, &format!("is of another plan (fingerprint `{theirs}`), not of this one (`{ours}`)")));
            }
            // What a killed process left half written is cut off.
            file.set_len(journal.whole_bytes as u64).map_err(|e| failed(&path, "cut the journal", &e))?;
            return Ok((Self { path, file }, journal.records));
        }
        if !force && old.is_ok_and(|journal| !journal.records.is_empty()) {
            let hint = "continue it with `--resume`, or replace it with `--force`";
            return Err(Failure::Plan(format!("{}: an unfinished plan is there\n  hint: {hint}", out.display())));
        }
        file.set_len(0).map_err(|e| failed(&path, "empty the journal", &e))?;
        file.write_all(header.to_line().as_bytes()).map_err(|e| failed(&path, "write the journal", &e))?;
        Ok((Self { path, file }, Vec::new()))
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

fn refused(path: &Path, why: &str) -> Failure {
    Failure::Plan(format!("{}: {why}\n  hint: start anew with `--force`, without `--resume`", path.display()))
}

/// Takes the journal for this process; some network file systems have no locks: then nobody can be kept out.
fn lock(file: &File, out: &Path) -> Result<(), Failure> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let hint = "wait for it, or choose another directory with `--out`";
            Err(Failure::Plan(format!("{}: another process plans there\n  hint: {hint}", out.display())))
        }
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Refuses a directory that holds something else.
fn check_content(out: &Path, force: bool) -> Result<(), Failure> {
    if force || [SUMMARY, JOURNAL].iter().any(|name| out.join(name).exists()) {
        return Ok(());
    }
    let entries = fs::read_dir(out).map_err(|e| failed(out, "read the directory", &e))?;
    let mut foreign: Vec<String> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.') && !name.ends_with(".partial"))
        .collect();
    foreign.sort();
    foreign.first().map_or(Ok(()), |first| {
        let hint = "choose another directory with `--out`, or add `--force`";
        Err(Failure::Plan(format!("{}: it is not empty (`{first}`) and holds no plan\n  hint: {hint}", out.display())))
    })
}

/// The results, the summary last; what an earlier plan left and this one does not have is removed.
pub(super) fn write_results(
    out: &Path,
    answer: &Answer,
    proposal: Option<&Proposal>,
    charts: &[ChartFormat],
) -> Result<(), Failure> {
    let mut files = vec![("runs.csv".to_owned(), plan_runs_csv(answer)), ("cells.csv".to_owned(), plan_cells_csv(answer))];
    if let Some(proposal) = proposal {
        let (fleet, proof) = plan_toml(answer, proposal);
        files.push(("answer.toml".to_owned(), fleet.into_bytes()));
        files.push(("proof.toml".to_owned(), proof.into_bytes()));
    }
    if !charts.is_empty() {
        for figure in plan_figures(answer) {
            if charts.contains(&ChartFormat::Svg) {
                files.push((format!("{}.svg", figure.name), figure.figure.to_svg().into_bytes()));
            }
            if charts.contains(&ChartFormat::Png) {
                let bad = |e: crate::report::charts::PngError| {
                    Failure::Plan(format!("{}.png: cannot draw the figure: {e}\n  hint: use `--charts svg`", figure.name))
                };
                files.push((format!("{}.png", figure.name), figure.figure.to_png(PNG_SCALE).map_err(bad)?));
            }
        }
    }
    if !charts.is_empty() {
        files.push((PAGE.to_owned(), plan_page(answer, proposal).into_bytes()));
    }
    files.push((SUMMARY.to_owned(), plan_json(answer, proposal)));
    remove_old(out);
    write_whole(out, &files)
}

/// Files that a plan of another answer left: they would be taken for those of this one.
fn remove_old(out: &Path) {
    let is_chart = |name: &str| ["search-path-", "front-", "margin."].iter().any(|start| name.starts_with(start));
    let charts = fs::read_dir(out.join("charts")).into_iter().flatten().filter_map(Result::ok);
    let charts = charts.filter(|entry| is_chart(&entry.file_name().to_string_lossy())).map(|entry| entry.path());
    for path in charts.chain(["answer.toml", "proof.toml", PAGE, SUMMARY].map(|name| out.join(name))) {
        // What cannot be removed is replaced, or stays: the summary says what belongs to it.
        let _ = fs::remove_file(path);
    }
}
