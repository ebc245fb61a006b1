//! `shedcast sweep`: a scenario over a grid of settings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::TextFormat;
use super::drawing::DrawArgs;
use super::estimate::{Estimate, in_words};
use super::interrupt::stop_on_interrupt;
use super::run::set_options;
use super::sweep_args::{EmitKind, SweepArgs};
use super::sweep_files::{SHARD, open_journal, write_results};
use super::terminal::Terminal;
use super::whole_files::{JournalFile, write_whole};
use super::{ExitStatus, Failure};
use crate::cluster::Remote;
use crate::experiment::sweep::grid::MAX_CELLS;
use crate::experiment::sweep::journal::Header;
use crate::experiment::sweep::{Description, Journal, Plan, Record, Request, Settings, Shard, Status, SweepResult, run_sweep};
use crate::report::screen::Block;
use crate::report::sweep::{Emit, JobFile, emit, sweep_json, sweep_screen};
use crate::scenario::{Document, SetOption};

/// Sweeps, writes the files and prints the table.
pub(super) fn sweep(args: &SweepArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let plan = plan(args)?;
    let description = &plan.description;
    let jobs = args.jobs.map_or_else(processors, |jobs| jobs as usize);
    if let Some(kind) = args.emit {
        terminal.print(job_file(args, description, kind, jobs).as_bytes())?;
        return Ok(ExitStatus::Success);
    }
    let shard = shard(args.shard.as_deref(), &|name| std::env::var(name).ok())?;
    let out = out_directory(args.out.as_deref(), description, shard);
    let scenario = plan.scenario(description.baseline)?.to_toml();
    let header = Header::new(description, shard).with_scenario(scenario.clone());
    let (mut journal, mut known) = open_journal(&out, &header, args.resume, args.force)?;
    let remote = Arc::new(Remote::default());
    stop_on_interrupt(&remote);
    let settings = Settings { jobs, shard, ..Settings::default() };
    if !args.quiet {
        announce(&plan, &settings, &mut known, &mut journal, &remote)?;
    }
    let records = run(&plan, known, &settings, &mut journal, &remote, terminal.interactive && !args.quiet)?;
    if shard.count > 1 {
        return finish_shard(&out, &header, records, journal, description);
    }
    let result = SweepResult::of(description.clone(), records);
    write_results(&out, &result, &scenario, &args.draw)?;
    if !result.is_complete() {
        return Err(Failure::Interrupted(interrupted(&result, &out)));
    }
    journal.remove()?;
    conclude(&result, &out, (args.format, args.quiet, &args.draw), terminal)
}

/// The table, and the exit status.
pub(super) fn conclude(
    result: &SweepResult,
    out: &Path,
    (format, quiet, draw): (TextFormat, bool, &DrawArgs),
    terminal: &Terminal,
) -> Result<ExitStatus, Failure> {
    if !quiet {
        let mut screen = sweep_screen(result);
        let bytes = match format {
            TextFormat::Json => sweep_json(result),
            TextFormat::Markdown => screen.to_markdown().into_bytes(),
            TextFormat::Table => {
                let drawn = if draw.no_charts { "" } else { ", report.html, charts/" };
                screen.blocks.push(Block::Text(format!(
                    "results in {}: cells.csv, replications.csv, differences.csv, sweep.json{drawn}",
                    out.display()
                )));
                screen.to_text(terminal.columns).into_bytes()
            }
        };
        terminal.print(&bytes)?;
    }
    Ok(status(result))
}

/// A target that no cell meets and a cell that failed are a "no".
pub(super) fn status(result: &SweepResult) -> ExitStatus {
    let failed = result.cells.iter().any(|cell| cell.status != Status::Ok);
    if failed || result.ranking().is_empty() { ExitStatus::AnsweredNo } else { ExitStatus::Success }
}

fn plan(args: &SweepArgs) -> Result<Plan, Failure> {
    let mut sets = set_options(&args.sets)?;
    if let Some(seed) = args.seed {
        sets.push(SetOption::new("--seed", "seed", seed.to_string()));
    }
    let request = Request {
        grid: args.grid.clone(),
        replications: args.replications,
        until_halfwidth: args.until_halfwidth.clone(),
        max_replications: args.max_replications,
        targets: args.target.clone(),
        best: args.best.clone(),
        baseline: args.baseline.clone(),
    };
    Ok(Plan::new(Document::load(&args.file)?.with(&sets)?, &request)?)
}

/// Where the results go: those of a shard into a directory below.
pub(super) fn out_directory(given: Option<&Path>, description: &Description, shard: Shard) -> PathBuf {
    let whole = || Path::new("outputs").join(format!("{}-sweep", description.name));
    match given {
        Some(path) => path.to_owned(),
        None if shard.count > 1 => whole().join(format!("shard-{}", shard.index + 1)),
        None => whole(),
    }
}

/// The part to run: as given, or as the array of Slurm or Kubernetes says.
fn shard(given: Option<&str>, environment: &dyn Fn(&str) -> Option<String>) -> Result<Shard, Failure> {
    if let Some(text) = given {
        let parts =
            text.split_once('/').and_then(|(i, n)| Some((i.trim().parse::<usize>().ok()?, n.trim().parse::<usize>().ok()?)));
        return match parts {
            Some((i, n)) if (1..=n).contains(&i) && n as u64 <= MAX_CELLS => Ok(Shard { index: i - 1, count: n }),
            _ => Err(Failure::Sweep(format!(
                "--shard {text}: `{text}` is no shard\n  hint: give `i/n` with i from 1 to n, such as `2/5`"
            ))),
        };
    }
    let number = |name: &str| -> Result<Option<usize>, Failure> {
        let Some(text) = environment(name) else { return Ok(None) };
        let bad = || {
            Failure::Sweep(format!(
                "{name}={text}: `{text}` is no whole number\n  hint: give `--shard i/n`, which comes before the environment"
            ))
        };
        text.trim().parse().map(Some).map_err(|_| bad())
    };
    let found = match (number("SLURM_ARRAY_TASK_ID")?, number("JOB_COMPLETION_INDEX")?) {
        (Some(id), _) => {
            Some(("SLURM_ARRAY_TASK_ID", id, "SLURM_ARRAY_TASK_COUNT", number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(0)))
        }
        (None, Some(id)) => Some(("JOB_COMPLETION_INDEX", id, "SHEDCAST_SHARD_COUNT", 0)),
        (None, None) => None,
    };
    let Some((name, id, count_name, first)) = found else { return Ok(Shard::WHOLE) };
    let count = number(count_name)?.ok_or_else(|| {
        Failure::Sweep(format!(
            "{name}={id} is set, but {count_name} is not: of how many shards?\n  hint: set {count_name}, or give `--shard i/n`"
        ))
    })?;
    match id.checked_sub(first) {
        Some(index) if index < count => Ok(Shard { index, count }),
        _ => Err(Failure::Sweep(format!(
            "{name}={id} is not among {count} shards from {first} on\n  hint: number the array without gaps, or give `--shard i/n`"
        ))),
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What is about to be run, how long that will take, and what the scenarios have to say. Runs that are finished in finding out
/// join those that are `known`.
fn announce(
    plan: &Plan,
    settings: &Settings,
    known: &mut Vec<Record>,
    journal: &mut JournalFile,
    remote: &Remote,
) -> Result<(), Failure> {
    let (d, shard, jobs) = (&plan.description, settings.shard, settings.jobs);
    let cells: Vec<usize> = (0..d.cells()).filter(|cell| shard.has(*cell)).collect();
    let (least, most) = (cells.len() * d.replications as usize, cells.len() * d.max_replications as usize);
    let runs = if least == most { format!("{least} runs") } else { format!("{least} to {most} runs") };
    let part = if shard.count > 1 { format!("shard {} of {}: ", shard.index + 1, shard.count) } else { String::new() };
    let done = known.len();
    let there = if done > 0 { format!(", {done} of them done before") } else { String::new() };
    let begun: BTreeSet<usize> = known.iter().filter(|record| record.replication == 0).map(|record| record.cell).collect();
    let fresh: Vec<usize> = cells.iter().copied().filter(|cell| !begun.contains(cell)).collect();
    let estimate = Estimate::by_probes(plan, &fresh, remote);
    let time = |runs: usize| estimate.of_runs(runs.saturating_sub(done), jobs, processors()).map(in_words);
    let time = match (time(least), time(most)) {
        (Some(a), Some(b)) if a != b => format!(", {a} to {b}"),
        (Some(a), _) => format!(", {a}"),
        (None, _) => String::new(),
    };
    eprintln!("{part}{} cells, {runs}{there}, {jobs} at a time{time}", cells.len());
    for (cell, warning) in &plan.warnings {
        eprintln!("warning: cell {cell}: {warning}");
    }
    for record in estimate.records {
        journal.add(&record.to_line())?;
        known.push(record);
    }
    Ok(())
}

/// Runs what is missing, each finished run into the journal.
fn run(
    plan: &Plan,
    known: Vec<Record>,
    settings: &Settings,
    journal: &mut JournalFile,
    remote: &Remote,
    draw: bool,
) -> Result<Vec<Record>, Failure> {
    let bar =
        ProgressBar::with_draw_target(Some(1), if draw { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() });
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} runs  {elapsed} gone, {eta} left");
    bar.set_style(style.expect("the template is fixed and valid"));
    bar.reset_eta();
    let mut broken = None;
    let records = run_sweep(plan, known, settings, remote, &mut |record, progress| {
        bar.set_length(progress.planned as u64);
        bar.set_position(progress.done as u64);
        if let Err(failure) = journal.add(&record.to_line()) {
            broken.get_or_insert(failure);
            remote.stop.store(true, Relaxed);
        }
    });
    bar.finish_and_clear();
    broken.map_or(Ok(records), Err)
}

/// A finished shard is its journal, in order; an unfinished one stays a journal.
fn finish_shard(
    out: &Path,
    header: &Header,
    records: Vec<Record>,
    journal: JournalFile,
    description: &Description,
) -> Result<ExitStatus, Failure> {
    let shard = Shard { index: header.shard[0], count: header.shard[1] };
    let text = Journal::to_text(header, &records);
    let result = SweepResult::of(description.clone(), records);
    let mine = || result.cells.iter().filter(|cell| shard.has(cell.cell));
    if mine().any(|cell| cell.status == Status::Incomplete) {
        return Err(Failure::Interrupted(interrupted(&result, out)));
    }
    write_whole(out, &[(SHARD.to_owned(), text.into_bytes())])?;
    journal.remove()?;
    Ok(ExitStatus::Success)
}

fn interrupted(result: &SweepResult, out: &Path) -> String {
    let done = result.records.len();
    format!(
        "interrupted after {done} runs; they are kept in {}\n  hint: continue with the same command and `--resume`",
        out.display()
    )
}

/// The job file of the sweep as it was asked for.
fn job_file(args: &SweepArgs, description: &Description, kind: EmitKind, jobs: usize) -> String {
    let mut command = vec!["shedcast".to_owned(), "sweep".to_owned(), args.file.display().to_string()];
    let mut option = |name: &str, value: &dyn std::fmt::Display| command.extend([name.to_owned(), value.to_string()]);
    args.grid.iter().for_each(|text| option("--grid", text));
    args.sets.iter().for_each(|text| option("--set", text));
    args.seed.iter().for_each(|n| option("--seed", n));
    args.replications.iter().for_each(|n| option("--replications", n));
    args.until_halfwidth.iter().for_each(|text| option("--until-halfwidth", text));
    args.max_replications.iter().for_each(|n| option("--max-replications", n));
    args.target.iter().for_each(|text| option("--target", text));
    args.best.iter().for_each(|text| option("--best", text));
    args.baseline.iter().for_each(|text| option("--baseline", text));
    let kind = match kind {
        EmitKind::Slurm => Emit::Slurm,
        EmitKind::Kubernetes => Emit::Kubernetes,
        EmitKind::Parallel => Emit::Parallel,
    };
    let out = out_directory(args.out.as_deref(), description, Shard::WHOLE).display().to_string();
    let shards = (args.shards as usize).min(description.cells());
    emit(kind, &JobFile { name: description.name.clone(), command, shards, jobs, out })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_given_or_read_from_the_array_of_the_scheduler() {
        let none = |_: &str| None;
        let of = |pairs: &'static [(&'static str, &'static str)]| {
            move |name: &str| pairs.iter().find(|p| p.0 == name).map(|p| p.1.to_owned())
        };
        assert_eq!(shard(None, &none).unwrap(), Shard::WHOLE);
        assert_eq!(shard(Some("2/5"), &none).unwrap(), Shard { index: 1, count: 5 });
        let slurm = of(&[("SLURM_ARRAY_TASK_ID", "3"), ("SLURM_ARRAY_TASK_COUNT", "4"), ("SLURM_ARRAY_TASK_MIN", "1")]);
        assert_eq!(shard(None, &slurm).unwrap(), Shard { index: 2, count: 4 });
        assert_eq!(shard(Some("1/1"), &slurm).unwrap(), Shard::WHOLE);
        let kubernetes = of(&[("JOB_COMPLETION_INDEX", "0"), ("SHEDCAST_SHARD_COUNT", "3")]);
        assert_eq!(shard(None, &kubernetes).unwrap(), Shard { index: 0, count: 3 });
        assert!(shard(None, &of(&[("JOB_COMPLETION_INDEX", "0")])).is_err());
        assert!(shard(None, &of(&[("SLURM_ARRAY_TASK_ID", "9"), ("SLURM_ARRAY_TASK_COUNT", "4")])).is_err());
        for bad in ["0/5", "6/5", "5", "a/b", "1/0"] {
            assert!(shard(Some(bad), &none).is_err(), "{bad}");
        }
    }
}
