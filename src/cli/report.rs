//! `shedcast report`: charts, page and text of a results directory again, without simulating.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::drawing::{DrawArgs, Files, draw_run, draw_sweep};
use super::input::read_own;
use super::sweep_files::{RECORDS, SHARD, SWEEP_SUMMARY};
use super::terminal::Terminal;
use super::whole_files::write_whole;
use super::{ExitStatus, Failure};
use crate::experiment::sweep::{Journal, SweepResult};
use crate::report::html::{run_page, sweep_page};
use crate::report::screen::Screen;
use crate::report::sweep::{sweep_json, sweep_screen};
use crate::report::{CHARTS_SCHEMA, DirectoryLock, Extent, RunCharts, SCHEMA, Summary, summary_screen, to_json};

const SUMMARY: &str = "summary.json";
const CHARTS: &str = "charts.json";
const RESOLVED: &str = "resolved.toml";
const AGAIN: &str = "repeat the run: `shedcast run DIR/resolved.toml --out DIR`";

/// `shedcast report`.
#[derive(Clone, Debug, Args)]
pub struct ReportArgs {
    /// Directory with the results of a run or a sweep
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// What to draw into the directory
    #[command(flatten)]
    pub draw: DrawArgs,
    /// What to print on standard output
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: ReportFormat,
    /// Print only: write no file
    #[arg(long, conflicts_with_all = ["charts", "no_charts"])]
    pub print_only: bool,
    /// Print nothing
    #[arg(short, long)]
    pub quiet: bool,
}

/// Format of a report on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One screen for people
    #[default]
    Table,
    /// The content of summary.json or sweep.json
    Json,
    /// Markdown with tables
    Markdown,
    /// The content of report.html
    Html,
}

/// Reads the directory, draws what is asked for into it and prints.
pub(super) fn report(args: &ReportArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let directory = &args.directory;
    let there = |name: &str| directory.join(name).exists();
    if there(SUMMARY) {
        run(args, terminal)
    } else if there(SWEEP_SUMMARY) {
        sweep(args, terminal)
    } else if there("plan.json") {
        let hint = "open its report.html; the same command and options make the same plan again";
        Err(bad(directory, "it holds a plan, which is not drawn again", hint))
    } else if there(SHARD) {
        Err(bad(directory, "it holds one shard of a sweep", "join the shards first: `shedcast merge DIR...`"))
    } else {
        let what = format!("it holds no results: neither `{SUMMARY}` nor `{SWEEP_SUMMARY}` is there");
        Err(bad(directory, &what, "name the directory that `shedcast run` or `shedcast sweep` wrote to"))
    }
}

fn run(args: &ReportArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let directory = &args.directory;
    let summary: Summary = read_json(&directory.join(SUMMARY), SCHEMA)?;
    let charts: RunCharts = read_json(&directory.join(CHARTS), CHARTS_SCHEMA)?;
    let resolved = read(&directory.join(RESOLVED), AGAIN)?;
    write(args, || draw_run(&args.draw, &summary, &charts, &resolved))?;
    print(
        args,
        terminal,
        &Printed {
            screen: &|| summary_screen(&summary, Extent::SCREEN),
            json: &|| to_json(&summary),
            html: &|| run_page(&summary, &charts, &resolved),
        },
    )?;
    Ok(if summary.complete { ExitStatus::Success } else { ExitStatus::AnsweredNo })
}

fn sweep(args: &ReportArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let path = args.directory.join(RECORDS);
    let text = read(&path, "sweep again: the records of its runs are missing")?;
    let journal = Journal::parse(&text).map_err(|why| bad(&path, &why, "sweep again with this version"))?;
    let result = SweepResult::of(journal.header.sweep, journal.records);
    let scenario = &journal.header.scenario;
    write(args, || draw_sweep(&args.draw, &result, scenario))?;
    print(
        args,
        terminal,
        &Printed { screen: &|| sweep_screen(&result), json: &|| sweep_json(&result), html: &|| sweep_page(&result, scenario) },
    )?;
    Ok(super::sweep::status(&result))
}

/// What can be printed of results.
struct Printed<'a> {
    screen: &'a dyn Fn() -> Screen,
    json: &'a dyn Fn() -> Vec<u8>,
    html: &'a dyn Fn() -> String,
}

fn print(args: &ReportArgs, terminal: &Terminal, of: &Printed<'_>) -> Result<(), Failure> {
    if args.quiet {
        return Ok(());
    }
    let bytes = match args.format {
        ReportFormat::Table => (of.screen)().to_text(terminal.columns).into_bytes(),
        ReportFormat::Markdown => (of.screen)().to_markdown().into_bytes(),
        ReportFormat::Json => (of.json)(),
        ReportFormat::Html => (of.html)().into_bytes(),
    };
    terminal.print(&bytes)
}

fn write(args: &ReportArgs, draw: impl FnOnce() -> Result<Files, Failure>) -> Result<(), Failure> {
    if args.print_only {
        return Ok(());
    }
    let _lock = DirectoryLock::take(&args.directory)?;
    write_whole(&args.directory, &draw()?)
}

fn bad(path: &Path, what: &str, hint: &str) -> Failure {
    Failure::Report(format!("{}: {what}\n  hint: {hint}", path.display()))
}

fn read(path: &Path, hint: &str) -> Result<String, Failure> {
    read_own(path).map_err(|fault| bad(path, &format!("the file {fault}"), hint))
}

/// A file of the format `schema`.
fn read_json<T: DeserializeOwned>(path: &Path, schema: &str) -> Result<T, Failure> {
    /// What every machine format begins with.
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let text = read(path, AGAIN)?;
    let head: Head = serde_json::from_str(&text).map_err(|e| bad(path, &format!("is no result of shedcast: {e}"), AGAIN))?;
    if head.schema != schema {
        let what = format!("is of the format `{}`, not `{schema}`: another version wrote it", head.schema);
        return Err(bad(path, &what, AGAIN));
    }
    serde_json::from_str(&text).map_err(|e| bad(path, &format!("is no whole `{schema}`: {e}"), AGAIN))
}
