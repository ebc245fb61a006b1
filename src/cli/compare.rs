//! `shedcast compare`: results beside one another.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::compare_args::{CompareArgs, CompareFormat};
use super::input::read_own;
use super::interrupt::stop_on_interrupt;
use super::output_files::may_write;
use super::terminal::Terminal;
use super::whole_files::write_whole;
use super::{ExitStatus, Failure};
use crate::cluster::Remote;
use crate::experiment::compare::{Comparison, Side, WorseRule, replicate};
use crate::experiment::measure_table::MEASURES;
use crate::report::compare::{comparison_csv, comparison_json, comparison_page, comparison_screen, run_side, sweep_side};
use crate::scenario::Document;

/// Files of results that a comparison reads.
const SUMMARY: &str = "summary.json";
const RESOLVED: &str = "resolved.toml";
const SWEEP: &str = "sweep.json";
const REPLICATIONS: &str = "replications.csv";

/// Reads the sides, holds them against the first, and writes what differs.
pub(super) fn compare(args: &CompareArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let rules = rules(&args.fail_if_worse)?;
    if let Some(out) = &args.out {
        let of = |directory: &'_ PathBuf| [SUMMARY, RESOLVED, SWEEP, REPLICATIONS].map(|name| directory.join(name));
        let inputs: Vec<PathBuf> = args.directories.iter().flat_map(of).collect();
        let refused = |(what, hint)| Failure::Compare(format!("{}: {what}\n  hint: {hint}", out.display()));
        may_write(out, inputs.iter().map(PathBuf::as_path), args.force).map_err(refused)?;
    }
    let read = |path| side(path, args.replications.is_some());
    let mut sides = args.directories.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    if let Some(count) = args.replications {
        run_again(&mut sides, count, args)?;
    }
    let comparison = Comparison::of(sides);
    let broken = broken(&rules, &comparison)?;
    let bytes = match args.format {
        CompareFormat::Table => comparison_screen(&comparison, args.all, &broken).to_text(terminal.columns).into_bytes(),
        CompareFormat::Markdown => comparison_screen(&comparison, args.all, &broken).to_markdown().into_bytes(),
        CompareFormat::Csv => comparison_csv(&comparison),
        CompareFormat::Json => comparison_json(&comparison, &broken),
        CompareFormat::Html => comparison_page(&comparison, &broken).into_bytes(),
    };
    match &args.out {
        Some(path) => write_aside(path, bytes)?,
        None => terminal.print(&bytes)?,
    }
    if comparison.units.is_empty() {
        let hint = "compare sweeps over the same grid";
        return Err(Failure::Compare(format!("no cell was run on all sides\n  hint: {hint}")));
    }
    Ok(if broken.is_empty() { ExitStatus::Success } else { ExitStatus::AnsweredNo })
}

fn rules(texts: &[String]) -> Result<Vec<WorseRule>, Failure> {
    let read = |text: &String| {
        let told = |(message, hint)| Failure::Compare(format!("--fail-if-worse {text}: {message}\n  hint: {hint}"));
        WorseRule::parse(text).map_err(told)
    };
    texts.iter().map(read).collect()
}

/// What a directory holds.
fn side(path: &Path, again: bool) -> Result<Side, Failure> {
    let name = path.display().to_string();
    let told = |file: &str, why: String| Failure::Compare(format!("{}: {why}", path.join(file).display()));
    let read = |file: &str| read_own(&path.join(file)).map_err(|fault| told(file, fault.to_string()));
    let found = if path.join(SUMMARY).is_file() {
        run_side(&name, &read(SUMMARY)?, &read(RESOLVED)?)
    } else if path.join(SWEEP).is_file() {
        if again {
            let hint = "leave out `--replications`: a sweep has its own";
            return Err(Failure::Compare(format!("{name}: it holds a sweep, which is not run again\n  hint: {hint}")));
        }
        let resolved = if path.join(RESOLVED).is_file() { Some(read(RESOLVED)?) } else { None };
        sweep_side(&name, &read(SWEEP)?, &read(REPLICATIONS)?, resolved.as_deref())
    } else {
        let hint = "name directories that `run` or `sweep` wrote; a sweep that was stopped is finished with `--resume`";
        return Err(Failure::Compare(format!("{name}: it holds no finished results\n  hint: {hint}")));
    };
    found.map_err(|why| Failure::Compare(format!("{name}: {why}")))
}

/// Replaces the one run of each side by the first replications of its scenario.
fn run_again(sides: &mut [Side], count: u32, args: &CompareArgs) -> Result<(), Failure> {
    let remote = Arc::new(Remote::default());
    stop_on_interrupt(&remote);
    let jobs = args.jobs.map_or(0, |jobs| jobs as usize);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build().expect("the system has threads to give");
    for (side, path) in sides.iter_mut().zip(&args.directories) {
        let scenario = Document::load(&path.join(RESOLVED))?.decode()?.scenario;
        let Some(runs) = pool.install(|| replicate(&scenario, count, &remote))? else {
            return Err(Failure::Interrupted("interrupted: nothing was compared\n  hint: fewer `--replications`".to_owned()));
        };
        // The first replication is the run that is there: another version, or a changed trace, would give other figures.
        let there = &side.units[0].runs[0];
        if let Some(place) = (0..MEASURES.len()).find(|place| runs[0].values[*place] != there.values[*place]) {
            let hint = "run it again: it was written by another version, or its trace has changed";
            return Err(Failure::Compare(format!(
                "{}: its scenario does not give its results (`{}`)\n  hint: {hint}",
                side.name, MEASURES[place].name
            )));
        }
        side.units[0].runs = runs;
    }
    Ok(())
}

/// What got worse beyond what is accepted, in sentences.
fn broken(rules: &[WorseRule], comparison: &Comparison) -> Result<Vec<String>, Failure> {
    let of = |label: &str, side: usize| {
        let side = &comparison.sides[side].name;
        if label.is_empty() { format!("in {side}") } else { format!("in {side} ({label})") }
    };
    let mut said = Vec::new();
    for rule in rules {
        let measure = MEASURES[rule.measure].name;
        let found = rule.broken(comparison).map_err(|(label, side)| {
            let hint = "look at the table without `--fail-if-worse`";
            Failure::Compare(format!("`{measure}` has a value on one side only {}\n  hint: {hint}", of(&label, side)))
        })?;
        said.extend(found.iter().map(|(label, side)| format!("`{measure}` {}", of(label, *side))));
    }
    Ok(said)
}

/// Writes a file under another name first.
fn write_aside(path: &Path, bytes: Vec<u8>) -> Result<(), Failure> {
    let Some(name) = path.file_name() else {
        let hint = "give the name of a file with `--out`";
        return Err(Failure::Compare(format!("{}: it names no file\n  hint: {hint}", path.display())));
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    write_whole(parent, &[(name.to_string_lossy().into_owned(), bytes)])
}
