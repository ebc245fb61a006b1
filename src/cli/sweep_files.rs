//! Files of a sweep: the journal that grows, and results that appear whole.

use std::fs;
use std::path::Path;

use super::Failure;
use super::drawing::{DrawArgs, PAGE, draw_sweep};
use super::input::read_own;
use super::whole_files::{self, JournalFile, claim, not_continued, read_journal, remove_charts, replace_results, unfinished};
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

/// Opens the journal of `header` in `out`: a new one, or with `resume` the one that is there, with its records.
pub(super) fn open_journal(
    out: &Path,
    header: &Header,
    resume: bool,
    force: bool,
) -> Result<(JournalFile, Vec<Record>), Failure> {
    let lock = claim(out)?;
    let path = out.join(JOURNAL);
    // A finished shard is resumed as what it is: finished.
    let done = out.join(SHARD);
    let old = if path.exists() || !done.exists() { path.clone() } else { done };
    match read_journal(&old, resume)? {
        Some(text) if resume => take_over(out, &old, &text, header, lock),
        Some(text) if !force && old == path && Journal::parse(&text).is_ok_and(|journal| !journal.records.is_empty()) => {
            Err(unfinished(out, "sweep"))
        }
        _ => {
            check_content(out, &header.sweep.name, force)?;
            Ok((JournalFile::begin(out, JOURNAL, header.to_line().as_bytes(), lock)?, Vec::new()))
        }
    }
}

fn take_over(
    out: &Path,
    old: &Path,
    text: &str,
    header: &Header,
    lock: DirectoryLock,
) -> Result<(JournalFile, Vec<Record>), Failure> {
    let journal = Journal::parse(text).map_err(|why| not_continued(old, &why))?;
    if journal.header != *header {
        let why = format!(
            "is of another sweep (fingerprint `{}`, shard {} of {}), not of this one (`{}`)",
            journal.header.sweep.fingerprint,
            journal.header.shard[0] + 1,
            journal.header.shard[1],
            header.sweep.fingerprint
        );
        return Err(not_continued(old, &why));
    }
    let file = if old == out.join(JOURNAL) {
        JournalFile::go_on(out, JOURNAL, journal.whole_bytes, lock)?
    } else {
        JournalFile::begin(out, JOURNAL, &text.as_bytes()[..journal.whole_bytes], lock)?
    };
    Ok((file, journal.records))
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
    whole_files::check_content(out, ("sweep", name), sweep_there(out).as_deref(), |file| file.starts_with("shard-"))
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
    replace_results(out, &files, || {
        let _ = fs::remove_file(out.join(PAGE));
        remove_charts(out, &["line-", "heat-map-", "multiples-", "load-curve.", "pareto."]);
    })
}
