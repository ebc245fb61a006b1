//! `shedcast plan`: how many workers, how much load, which limits, and how sure.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::{ChartFormat, SummaryFormat};
use super::interrupt::stop_on_interrupt;
use super::plan_args::PlanArgs;
use super::plan_files::{open_journal, write_results};
use super::run::set_options;
use super::terminal::Terminal;
use super::whole_files::JournalFile;
use super::{ExitStatus, Failure};
use crate::cluster::Remote;
use crate::experiment::plan::{Answer, Halt, Key, Lab, Outcome, Plan, Record, answer};
use crate::report::plan::{Proposal, plan_json, plan_text};
use crate::scenario::{Document, SetOption};

/// Plans, writes the files and prints the answer.
pub(super) fn plan(args: &PlanArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let plan = read(args)?;
    let jobs = args.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), |jobs| jobs as usize);
    let out = args.out.clone().unwrap_or_else(|| Path::new("outputs").join(format!("{}-plan", plan.description.name)));
    let (mut journal, known) = open_journal(&out, &plan.description, args.resume, args.force)?;
    if !args.quiet {
        announce(&plan, known.len(), jobs);
    }
    let answer = search(&plan, known, jobs, &mut journal, &out, terminal.interactive && !args.quiet)?;
    let proposal = proposal(&plan, &answer)?;
    let charts: &[ChartFormat] = if args.no_charts { &[] } else { &args.charts };
    write_results(&out, &answer, proposal.as_ref(), charts)?;
    journal.remove()?;
    if !args.quiet {
        terminal.print(&printed(args, &answer, proposal.as_ref(), &out))?;
    }
    Ok(if answer.outcome == Outcome::Met { ExitStatus::Success } else { ExitStatus::AnsweredNo })
}

fn printed(args: &PlanArgs, answer: &Answer, proposal: Option<&Proposal>, out: &Path) -> Vec<u8> {
    match args.format {
        SummaryFormat::Json => plan_json(answer, proposal),
        SummaryFormat::Table => {
            let files = if proposal.is_some() { "answer.toml, proof.toml, " } else { "" };
            let drawn = if args.no_charts { "" } else { ", report.html, charts/" };
            let text = plan_text(answer, proposal);
            format!("{text}results in {}: plan.json, {files}runs.csv, cells.csv{drawn}\n", out.display()).into_bytes()
        }
    }
}

fn read(args: &PlanArgs) -> Result<Plan, Failure> {
    let mut sets = set_options(&args.sets)?;
    if let Some(seed) = args.seed {
        sets.push(SetOption::new("--seed", "seed", seed.to_string()));
    }
    Ok(Plan::new(Document::load(&args.file)?.with(&sets)?, &args.request())?)
}

/// What is about to be looked for, and what the scenario has to say.
fn announce(plan: &Plan, known: usize, jobs: usize) {
    let d = &plan.description;
    let there = if known > 0 { format!(", {known} of them done before") } else { String::new() };
    eprintln!("{} values, at most {} runs{there}, {jobs} at a time", d.cells(), d.max_runs);
    for warning in &plan.warnings {
        eprintln!("warning: {warning}");
    }
}

/// Makes the runs, each finished one into the journal.
fn search(
    plan: &Plan,
    known: Vec<Record>,
    jobs: usize,
    journal: &mut JournalFile,
    out: &Path,
    draw: bool,
) -> Result<Answer, Failure> {
    let remote = Arc::new(Remote::default());
    stop_on_interrupt(&remote);
    let bar =
        ProgressBar::with_draw_target(Some(1), if draw { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() });
    let style = ProgressStyle::with_template("{bar:30} {pos} runs, {len} at most  {elapsed} gone");
    bar.set_style(style.expect("the template is fixed and valid"));
    let mut broken = None;
    let mut on_record = |record: &Record, progress: crate::experiment::plan::Progress| {
        bar.set_length(progress.most as u64);
        bar.set_position(progress.done as u64);
        if let Err(failure) = journal.add(&record.to_line()) {
            broken.get_or_insert(failure);
            remote.stop.store(true, Relaxed);
        }
    };
    let found = answer(Lab::new(plan, known, jobs, &remote, &mut on_record));
    bar.finish_and_clear();
    match (broken, found) {
        (Some(failure), _) => Err(failure),
        (None, Ok(answer)) => Ok(answer),
        (None, Err(Halt::Stopped)) => Err(Failure::Interrupted(format!(
            "interrupted; the runs that were done are kept in {}\n  hint: continue with the same command and `--resume`",
            out.display()
        ))),
        (None, Err(Halt::Failed(error))) => Err(Failure::Plan(format!(
            "a run failed: {error}\n  hint: repeat it with `shedcast run` and the values that {} names",
            PathBuf::from(out).join("plan-journal.jsonl").display()
        ))),
    }
}

/// The scenarios of the cell that is the answer.
fn proposal(plan: &Plan, answer: &Answer) -> Result<Option<Proposal>, Failure> {
    let Some(cell) = answer.chosen else { return Ok(None) };
    let proof = plan.scenario(Key { variant: 0, cell, replication: 0 })?;
    Ok(Some(Proposal { fleet: plan.fleet(cell)?, proof }))
}
