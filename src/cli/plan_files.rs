//! Files of a plan: the journal that grows, and results that appear whole.

use std::fs;
use std::path::Path;

use super::Failure;
use super::args::ChartFormat;
use super::drawing::PAGE;
use super::input::read_own;
use super::whole_files::{
    JournalFile, check_content, claim, not_continued, read_journal, remove_charts, replace_results, unfinished,
};
use crate::experiment::plan::journal::{Header, Journal};
use crate::experiment::plan::{Answer, Description, Record};
use crate::report::plan::{Proposal, plan_cells_csv, plan_figures, plan_json, plan_page, plan_runs_csv, plan_toml};

/// Journal of a plan that is not finished.
const JOURNAL: &str = "plan-journal.jsonl";
/// Written last: its presence says that the other results are complete.
const SUMMARY: &str = "plan.json";
/// The scenario of the answer, and that as it was tested.
const SCENARIOS: [&str; 2] = ["answer.toml", "proof.toml"];
/// Pixels per unit of a figure in PNG.
const PNG_SCALE: f64 = 2.0;

/// Opens the journal of a plan in `out`: a new one, or with `resume` the one that is there, with its records.
pub(super) fn open_journal(
    out: &Path,
    plan: &Description,
    resume: bool,
    force: bool,
) -> Result<(JournalFile, Vec<Record>), Failure> {
    let lock = claim(out)?;
    let (header, path) = (Header::new(plan), out.join(JOURNAL));
    match read_journal(&path, resume)? {
        Some(text) if resume => {
            let journal = Journal::parse(&text).map_err(|why| not_continued(&path, &why))?;
            if journal.header != header {
                let (theirs, ours) = (&journal.header.plan.fingerprint, &plan.fingerprint);
                return Err(not_continued(
                    &path,
                    &format!("is of another plan (fingerprint `{theirs}`), not of this one (`{ours}`)"),
                ));
            }
            Ok((JournalFile::go_on(out, JOURNAL, journal.whole_bytes, lock)?, journal.records))
        }
        Some(text) if !force && Journal::parse(&text).is_ok_and(|journal| !journal.records.is_empty()) => {
            Err(unfinished(out, "plan"))
        }
        _ => {
            if !force {
                check_content(out, ("plan", &plan.name), plan_there(out).as_deref(), |_| false)?;
            }
            Ok((JournalFile::begin(out, JOURNAL, header.to_line().as_bytes(), lock)?, Vec::new()))
        }
    }
}

/// The name of the scenario whose plan left its results or its journal in `out`.
fn plan_there(out: &Path) -> Option<String> {
    let of_summary = || {
        let summary: serde_json::Value = serde_json::from_str(&read_own(&out.join(SUMMARY)).ok()?).ok()?;
        Some(summary.get("name")?.as_str()?.to_owned())
    };
    of_summary().or_else(|| Some(Journal::parse(&read_own(&out.join(JOURNAL)).ok()?).ok()?.header.plan.name))
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
        files.extend(SCENARIOS.into_iter().zip([fleet, proof]).map(|(name, text)| (name.to_owned(), text.into_bytes())));
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
    replace_results(out, &files, || {
        // Files that a plan of another answer left: they would be taken for those of this one.
        SCENARIOS.into_iter().chain([PAGE]).for_each(|name| _ = fs::remove_file(out.join(name)));
        remove_charts(out, &["search-path-", "front-", "margin."]);
    })
}
