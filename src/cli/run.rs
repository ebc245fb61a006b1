//! `shedcast run`: one run of a scenario, its files and its summary.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::{ChartFormat, EngineChoice, RunArgs, TextFormat};
use super::drawing::{PAGE, draw_run};
use super::interrupt::stop_on_interrupt;
use super::progress::Progress;
use super::terminal::Terminal;
use super::{ExitStatus, Failure};
use crate::cluster::Remote;
use crate::experiment::{self, EngineKind, RunEnd, RunOptions, RunResult};
use crate::report::openmetrics::{Scrape, ScrapeError};
use crate::report::screen::Block;
use crate::report::streams::WORKERS_IN_TIMESERIES;
use crate::report::{
    Directory, Extent, LimitedFile, RunCharts, Streams, Summary, ranks_csv, story_text, summary_screen, threshold_updates_csv,
    to_json, workers_csv,
};
use crate::scenario::{Document, Faults, Loaded, Scenario, SetOption, codes};
use crate::units::{SimTime, Span};

/// Name of the file of metrics.
const METRICS: &str = "metrics.om";

/// `--set` options, all faults at once.
pub(super) fn set_options(texts: &[String]) -> Result<Vec<SetOption>, Failure> {
    let mut faults = Faults::default();
    let mut sets = Vec::new();
    for text in texts {
        match SetOption::parse("--set", text) {
            Ok(set) => sets.push(set),
            Err(more) => more.iter().for_each(|fault| faults.push(fault.clone())),
        }
    }
    if faults.is_empty() { Ok(sets) } else { Err(faults.into()) }
}

/// The scenario with every option that changes it.
fn load(args: &RunArgs) -> Result<Loaded, Failure> {
    let mut sets = set_options(&args.sets)?;
    if let Some(seed) = args.seed {
        sets.push(SetOption::new("--seed", "seed", seed.to_string()));
    }
    if args.requests_csv {
        sets.push(SetOption::new("--requests-csv", "output.requests", "true"));
    }
    if args.metrics || args.metrics_epoch.is_some() {
        sets.push(SetOption::new("--metrics", "output.metrics", "true"));
    }
    if let Some(date) = &args.metrics_epoch {
        sets.push(SetOption::new("--metrics-epoch", "output.metrics_epoch", toml::Value::from(date.as_str()).to_string()));
    }
    Ok(Document::load(&args.file)?.with(&sets)?.decode()?)
}

/// The scenario; what only its reader can tell of its files goes to standard error, the rest stands among the results.
pub(super) fn tell_files(loaded: Loaded, terminal: &Terminal) -> Scenario {
    let of_files = loaded.warnings.iter().filter(|warning| warning.code == codes::AMBIGUOUS_FILE);
    of_files.for_each(|warning| terminal.warn(&warning.to_string()));
    loaded.scenario
}

/// Runs the scenario, writes its files and prints its summary.
pub(super) fn run(args: &RunArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let scenario = tell_files(load(args)?, terminal);
    let out = args.out.clone().unwrap_or_else(|| Path::new("outputs").join(&scenario.name));
    let mut directory = Directory::open(&out, &scenario.name, args.force, scenario.limits.max_output_bytes)?;
    let streams = open_streams(&scenario, &mut directory)?;
    let scrape = open_scrape(&scenario, &directory)?;
    let remote = Arc::new(Remote::default());
    stop_on_interrupt(&remote);
    let progress = (terminal.interactive && !args.quiet).then(|| Progress::start(&scenario, &remote));
    let ran = experiment::run(&scenario, options(args), (streams, scrape), &remote);
    drop(progress);
    let (result, (streams, scrape)) = ran?;
    if result.end == RunEnd::Interrupted {
        return Err(Failure::Interrupted(interrupted(&scenario, &result, directory.path())));
    }
    streams.finish().map_err(|error| directory.stream_error(error.name, error.source))?;
    if let Some(scrape) = scrape {
        write_metrics(scrape, &mut directory)?;
    }
    let summary = Summary::of(&scenario, &result);
    write(args, &scenario, &result, &summary, &mut directory)?;
    directory.commit()?;
    if !args.quiet {
        let printed = match args.format {
            TextFormat::Json => to_json(&summary),
            TextFormat::Table => {
                let mut screen = summary_screen(&summary, Extent::SCREEN);
                screen.blocks.push(Block::Text(results_line(args, &scenario, &out)));
                screen.to_text(terminal.columns).into_bytes()
            }
            TextFormat::Markdown => summary_screen(&summary, Extent::SCREEN).to_markdown().into_bytes(),
        };
        terminal.print(&printed)?;
    }
    let mut told = true;
    if let Some(id) = args.explain {
        let story = result.story.as_deref().unwrap_or_default();
        told = !story.is_empty();
        let story = story_text(id, story, result.whole.requests.offered);
        match args.format {
            TextFormat::Table => terminal.print(format!("\n{story}").as_bytes())?,
            // Standard output is one document.
            TextFormat::Json | TextFormat::Markdown => terminal.note(&story),
        }
    }
    Ok(if summary.complete && told { ExitStatus::Success } else { ExitStatus::AnsweredNo })
}

const fn options(args: &RunArgs) -> RunOptions {
    let engine = match args.engine {
        EngineChoice::Coalesced => EngineKind::Coalesced,
        EngineChoice::Stepwise => EngineKind::Stepwise,
    };
    RunOptions { replication: 0, engine, explain: args.explain }
}

fn open_streams(scenario: &Scenario, directory: &mut Directory) -> Result<Streams<LimitedFile>, Failure> {
    let mut streams = Streams::new(scenario).with_timeseries(directory.file("timeseries.csv")?);
    if scenario.fleet.worker_count() <= WORKERS_IN_TIMESERIES {
        streams = streams.with_worker_timeseries(directory.file("worker_timeseries.csv")?);
    }
    if scenario.output.requests {
        streams = streams.with_requests(directory.file("requests.csv")?);
    }
    Ok(streams)
}

/// Where metrics are sampled, if they are asked for. Samples lie in a file without a name until the run is over.
fn open_scrape(scenario: &Scenario, directory: &Directory) -> Result<Option<Scrape<File>>, Failure> {
    if !scenario.output.metrics {
        return Ok(None);
    }
    let file = tempfile::tempfile_in(directory.path()).map_err(|error| directory.stream_error(METRICS, error))?;
    Ok(Some(Scrape::new(scenario, file)))
}

fn write_metrics(scrape: Scrape<File>, directory: &mut Directory) -> Result<(), Failure> {
    let mut out = directory.file(METRICS)?;
    let failed = |error| match error {
        ScrapeError::Spool(source) | ScrapeError::Text(source) => directory.stream_error(METRICS, source),
    };
    Ok(scrape.finish(&mut out).map_err(failed)?)
}

/// All files that are written when the run is over.
fn write(
    args: &RunArgs,
    scenario: &Scenario,
    result: &RunResult,
    summary: &Summary,
    directory: &mut Directory,
) -> Result<(), Failure> {
    directory.write("summary.json", &to_json(summary))?;
    let resolved = scenario.to_toml();
    directory.write("resolved.toml", resolved.as_bytes())?;
    directory.write("workers.csv", &workers_csv(result))?;
    directory.write("ranks.csv", &ranks_csv(scenario, result))?;
    directory.write("threshold_updates.csv", &threshold_updates_csv(&result.updates))?;
    let charts = RunCharts::of(scenario, result, summary);
    directory.write("charts.json", &charts.to_json())?;
    for (name, bytes) in draw_run(&args.draw, summary, &charts, &resolved)? {
        directory.write(&name, &bytes)?;
    }
    Ok(())
}

fn results_line(args: &RunArgs, scenario: &Scenario, out: &Path) -> String {
    let drawn = match args.draw.charts.first() {
        _ if args.draw.no_charts => String::new(),
        Some(ChartFormat::Png) => format!(", {PAGE}, overview.png"),
        _ => format!(", {PAGE}, overview.svg"),
    };
    let requests = if scenario.output.requests { ", requests.csv" } else { "" };
    let metrics = if scenario.output.metrics { ", metrics.om" } else { "" };
    let resolved: PathBuf = out.join("resolved.toml");
    format!(
        "results in {}: summary.json, timeseries.csv{requests}{metrics}{drawn}; repeat with: shedcast run {}",
        out.display(),
        resolved.display()
    )
}

/// What is missing after an interruption.
fn interrupted(scenario: &Scenario, result: &RunResult, out: &Path) -> String {
    let reached = crate::stats::text::duration(result.ended_at.as_nanos() as f64);
    let of = match (scenario.horizon, scenario.requests) {
        (Some(horizon), _) => format!(" of {}", horizon.since(SimTime::ZERO)),
        (None, Some(requests)) => {
            let (offered, all) = (result.whole.requests.offered, requests);
            format!(", {} of {} requests", crate::stats::text::count(offered), crate::stats::text::count(all))
        }
        (None, None) => String::new(),
    };
    let shorter = Span::from_nanos(result.ended_at.as_nanos() / 2);
    let hint = match scenario.horizon {
        Some(_) if !shorter.is_zero() => "a shorter run: `--set horizon=...`, or `--set requests=...`",
        _ => "a shorter run: `--set requests=...`",
    };
    format!(
        "interrupted after {reached} simulated{of}: no results were written, and what was in {} before is untouched\n  hint: {hint}",
        out.display()
    )
}
