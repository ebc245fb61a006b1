//! `shedcast trace`: what a trace is, what becomes of it in a replay, and what imitates it.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::output_files::may_write;
use super::terminal::Terminal;
use super::trace_args::{ConvertArgs, FitArgs, InspectArgs, ReadArgs, ReplayOptionArgs, TraceCommand};
use super::{ExitStatus, Failure, run::set_options, run::tell_files};
use crate::engine::Streams;
use crate::experiment::imitation::{RefusalComparison, compare_refusals};
use crate::report::charts::Figure;
use crate::report::trace::{
    fit_json, fit_text, fit_toml, inspection_json, inspection_text, servegen_json, servegen_text, trace_figure,
};
use crate::scenario::{Scenario, SetOption, trace_config};
use crate::stats::text::count;
use crate::units::{SimTime, Span};
use crate::workload::config::{SessionReplay, TraceConfig, WorkloadConfig};
use crate::workload::convert::{ConvertError, convert};
use crate::workload::fit::{Fit, FitOptions, fit};
use crate::workload::inspect::{inspect, inspect_servegen};
use crate::workload::pairs::write_pairs;
use crate::workload::trace::{STDIN, ServeGenClient, TraceFormat};
use crate::workload::{Bounds, RequestSource};

/// Pixels per unit of a figure in PNG.
const PNG_SCALE: f64 = 2.0;

/// Does what is asked with a trace.
pub(super) fn trace(command: &TraceCommand, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    match command {
        TraceCommand::Inspect(args) => inspect_trace(args, terminal),
        TraceCommand::Convert(args) => convert_trace(args, terminal),
        TraceCommand::Fit(args) => fit_trace(args, terminal),
    }
}

/// The trace `path` as the options describe it.
fn config(path: &Path, read: &ReadArgs, replay: &ReplayOptionArgs, repeat: bool) -> Result<TraceConfig, Failure> {
    let mut sets = Vec::new();
    let mut text = |option: &str, field: &str, value: Option<&String>| {
        sets.extend(value.map(|value| SetOption::new(option, format!("trace.{field}"), quoted(value))));
    };
    text("--format", "format", read.format.as_ref());
    text("--time-unit", "time_unit", read.time_unit.as_ref());
    text("--class-column", "class_column", read.class_column.as_ref());
    text("--window-start", "window_start", replay.window_start.as_ref());
    text("--window-end", "window_end", replay.window_end.as_ref());
    text("--max-gap", "max_gap", replay.max_gap.as_ref());
    text("--dequantise", "dequantise", replay.dequantise.as_ref());
    text("--prefix-reuse", "prefix_reuse", replay.prefix_reuse.as_ref());
    let mut plain = |option: &str, field: &str, value: Option<String>| {
        sets.extend(value.map(|value| SetOption::new(option, format!("trace.{field}"), value)));
    };
    plain("--max-rows", "max_rows", read.max_rows.map(|n| n.to_string()));
    plain("--hash-block-size", "hash_block_size", read.hash_block_size.map(|n| n.to_string()));
    plain("--rate-scale", "rate_scale", replay.rate_scale.clone());
    plain("--max-input-tokens", "max_input_tokens", replay.max_input_tokens.map(|n| n.to_string()));
    plain("--max-output-tokens", "max_output_tokens", replay.max_output_tokens.map(|n| n.to_string()));
    plain("--input-tokens", "input_tokens", replay.input_tokens.clone());
    plain("--output-tokens", "output_tokens", replay.output_tokens.clone());
    plain("--sort", "sort", replay.sort.then(|| "true".to_owned()));
    plain("--strict", "strict", replay.strict.then(|| "true".to_owned()));
    plain("--repeat", "repeat", repeat.then(|| "true".to_owned()));
    for pair in read.columns.iter().flat_map(|columns| columns.split(',')) {
        let (key, column) = pair.split_once('=').unwrap_or((pair, ""));
        // Whether there is a header is a yes or no, all else is a name.
        let value = if key.trim() == "header" { column.trim().to_owned() } else { quoted(column.trim()) };
        sets.push(SetOption::new("--columns", format!("trace.columns.{}", key.trim()), value));
    }
    Ok(trace_config(path, &sets).map_err(|faults| faults.with_messages(as_typed))?)
}

/// A message with the names of options instead of the paths they stand for, which nobody typed.
fn as_typed(message: &str) -> String {
    let mut text = message.replace("`trace.columns.", "`");
    while let Some(at) = text.find("`trace.") {
        let from = at + "`trace.".len();
        let to = text[from..].find('`').map_or(text.len(), |length| from + length);
        let option = format!("`--{}", text[from..to].replace('_', "-"));
        text.replace_range(at..to, &option);
    }
    text
}

/// Lengths given for a source whose rows have their own are not used: only ServeGen clients may lack them.
fn warn_of_idle_lengths(replay: &ReplayOptionArgs, trace: &TraceConfig, terminal: &Terminal) -> Result<(), Failure> {
    let given = [("--input-tokens", &replay.input_tokens), ("--output-tokens", &replay.output_tokens)];
    if given.iter().all(|(_, value)| value.is_none()) || is_servegen(trace)? {
        return Ok(());
    }
    for (option, _) in given.iter().filter(|(_, value)| value.is_some()) {
        terminal.warn(&format!("`{option}` has no effect: the rows of this trace have tokens of their own"));
    }
    Ok(())
}

/// A text as TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// What a trace is called.
fn name_of(path: &Path) -> String {
    if path.as_os_str() == STDIN { "<stdin>".to_owned() } else { path.display().to_string() }
}

fn inspect_trace(args: &InspectArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    if let Some(chart) = &args.chart {
        check_output(chart, &[&args.file], args.force)?;
    }
    let config = config(&args.file, &args.read, &ReplayOptionArgs::default(), false)?;
    let name = name_of(&args.file);
    if is_servegen(&config)? {
        if args.chart.is_some() {
            let hint = "convert it to requests first: `shedcast trace convert FOLDER OUT.csv`";
            return Err(Failure::Trace(format!(
                "{name}: ServeGen windows hold rates, not requests: there is no chart of them\n  hint: {hint}"
            )));
        }
        let pool = inspect_servegen(&args.file)?;
        terminal.print(&if args.json { servegen_json(&name, &pool) } else { servegen_text(&name, &pool).into_bytes() })?;
        return Ok(ExitStatus::Success);
    }
    let summary = inspect(&config, args.context_limit)?;
    if let Some(chart) = &args.chart {
        draw(chart, &trace_figure(&name, &summary))?;
    }
    terminal.print(&if args.json { inspection_json(&name, &summary) } else { inspection_text(&name, &summary).into_bytes() })?;
    Ok(ExitStatus::Success)
}

fn is_servegen(config: &TraceConfig) -> Result<bool, Failure> {
    match config.format.as_deref().and_then(TraceFormat::from_name) {
        Some(format) => Ok(format == TraceFormat::ServeGen),
        None => Ok(config.options.columns.is_none() && ServeGenClient::recognises(&config.path)?),
    }
}

fn draw(path: &Path, figure: &Figure) -> Result<(), Failure> {
    let bytes = match path.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => figure.to_svg().into_bytes(),
        Some("png") => {
            let failed =
                |e: crate::report::charts::PngError| Failure::Figure { name: "trace".to_owned(), message: e.to_string() };
            figure.to_png(PNG_SCALE).map_err(failed)?
        }
        _ => {
            let message = "expected a file that ends in `.svg` or `.png`";
            return Err(Failure::Trace(format!("--chart {}: {message}", path.display())));
        }
    };
    write_whole(path, |error| cannot_write(path, &error), |out| out.write_all(&bytes).map_err(|error| cannot_write(path, &error)))
}

/// Writes a file that appears whole or not at all: until it is complete it has a name of its own.
pub(super) fn write_whole<E>(
    path: &Path,
    failed: impl Fn(io::Error) -> E,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    // A device or a pipe is written to as it is.
    let direct = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    let partial = if direct { path.to_owned() } else { partial_name(path) };
    let written = fs::File::create(&partial).map_err(&failed).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush().map_err(&failed)?;
        if direct { Ok(()) } else { fs::rename(&partial, path).map_err(&failed) }
    });
    if written.is_err() && !direct {
        // Nothing is lost if it was not there.
        let _ = fs::remove_file(&partial);
    }
    written
}

fn partial_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

/// Refuses to write over an input, or over what is there without `--force`.
fn check_output(path: &Path, inputs: &[&Path], force: bool) -> Result<(), Failure> {
    if path.as_os_str() == STDIN {
        return Ok(());
    }
    let refused = |(what, hint)| Failure::Trace(format!("{}: {what}\n  hint: {hint}", path.display()));
    may_write(path, inputs.iter().copied(), force).map_err(refused)
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::Trace(format!(
        "{}: cannot write the file: {error}\n  hint: choose another file, in a folder that you may write to",
        path.display()
    ))
}

/// What is converted: a trace, or the workload of a scenario.
fn open_source(args: &ConvertArgs, terminal: &Terminal) -> Result<RequestSource, Failure> {
    let mut bounds = Bounds { horizon: horizon(args.horizon.as_deref())?, requests: args.requests };
    if args.input.extension().is_some_and(|ending| ending == "toml") {
        let scenario = tell_files(Scenario::load(&args.input, &[])?, terminal);
        if let Some(trace) = &scenario.workload.trace {
            check_output(&args.output, &[&args.input, &trace.path], args.force)?;
        }
        if scenario.clients.closed_loop.is_some() {
            let what = "a closed loop has no arrivals of its own: its clients decide when to ask";
            return Err(Failure::Trace(format!(
                "{}: {what}\n  hint: `shedcast run --requests-csv` writes when they did",
                args.input.display()
            )));
        }
        if scenario.workload.trace.as_ref().is_some_and(|trace| trace.options.sessions == SessionReplay::Follow) {
            let what = "turns of followed sessions have no arrivals of their own: they wait for answers";
            return Err(Failure::Trace(format!(
                "{}: {what}\n  hint: convert with `sessions = \"flatten\"`; `shedcast run --requests-csv` writes when they were sent",
                args.input.display()
            )));
        }
        if scenario.clients.sessions.is_some() {
            let what = "turns of sessions have no arrivals of their own: they wait for answers";
            return Err(Failure::Trace(format!(
                "{}: {what}\n  hint: remove `clients.sessions` to convert the arrivals alone",
                args.input.display()
            )));
        }
        bounds.horizon = bounds.horizon.or(scenario.horizon);
        bounds.requests = bounds.requests.or(scenario.requests);
        return Ok(RequestSource::open(&scenario.workload, Streams::new(scenario.seed).replication(0), bounds)?);
    }
    let trace = config(&args.input, &args.read, &args.replay, args.repeat)?;
    warn_of_idle_lengths(&args.replay, &trace, terminal)?;
    let workload = WorkloadConfig { trace: Some(trace), ..WorkloadConfig::default() };
    Ok(RequestSource::open(&workload, Streams::new(args.replay.seed).replication(0), bounds)?)
}

fn horizon(text: Option<&str>) -> Result<Option<SimTime>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let span: Span = text.parse().map_err(|error| Failure::Trace(format!("--horizon `{text}`: {error}")))?;
    Ok(Some(SimTime::ZERO.saturating_add(span)))
}

fn convert_trace(args: &ConvertArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let path = &args.output;
    check_output(path, &[&args.input], args.force)?;
    let mut source = open_source(args, terminal)?;
    let failed = |error: ConvertError| match error {
        ConvertError::Workload(error) => Failure::Workload(error),
        ConvertError::Write(error) => cannot_write(path, &error),
    };
    let written = if path.as_os_str() == STDIN {
        match convert(&mut source, BufWriter::new(io::stdout().lock())) {
            Err(ConvertError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(ExitStatus::Success),
            Err(ConvertError::Write(error)) => return Err(Failure::Stdout(error)),
            done => done.map_err(failed)?,
        }
    } else {
        let mut written = 0;
        write_whole(
            path,
            |error| failed(error.into()),
            |out| {
                written = convert(&mut source, out).map_err(failed)?;
                Ok(())
            },
        )?;
        written
    };
    let to = name_of_output(path);
    match source.trace_report() {
        Some(report) => {
            terminal.note(&format!("{report}\n"));
            report.warnings.iter().for_each(|warning| terminal.warn(&warning.to_string()));
        }
        None => terminal.note(&format!("{}: {} requests\n", name_of(&args.input), count(written))),
    }
    if path.as_os_str() != STDIN {
        terminal.note(&format!("written to {to}: replay it with `workload.trace = \"{to}\"`\n"));
    }
    Ok(ExitStatus::Success)
}

fn name_of_output(path: &Path) -> String {
    if path.as_os_str() == STDIN { "<stdout>".to_owned() } else { path.display().to_string() }
}

fn fit_trace(args: &FitArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let inputs: Vec<&Path> = [Some(&args.file), args.scenario.as_ref()].into_iter().flatten().map(PathBuf::as_path).collect();
    if let Some(out) = &args.out {
        check_output(out, &inputs, args.force)?;
    }
    let trace = config(&args.file, &args.read, &args.replay, false)?;
    warn_of_idle_lengths(&args.replay, &trace, terminal)?;
    let name = name_of(&args.file);
    let scenario = match &args.scenario {
        None => None,
        Some(_) if args.file.as_os_str() == STDIN => {
            let what = "standard input can be read once only, but `--scenario` replays the trace as well";
            return Err(Failure::Trace(format!("{name}: {what}\n  hint: write the trace to a file first")));
        }
        Some(path) => Some(tell_files(Scenario::load(path, &set_options(&args.sets)?)?, terminal)),
    };
    if let (Some(scenario), Some(path)) = (&scenario, &args.scenario)
        && scenario.clients.closed_loop.is_some()
    {
        let what = "its clients are a closed loop: a trace has arrivals of its own";
        return Err(Failure::Trace(format!("{}: {what}\n  hint: remove `clients.closed_loop`", path.display())));
    }
    if let (Some(scenario), Some(path)) = (&scenario, &args.scenario)
        && scenario.clients.sessions.is_some()
    {
        let what = "its clients have sessions, which begin with generated arrivals alone: trace and imitation would not compare";
        return Err(Failure::Trace(format!("{}: {what}\n  hint: remove `clients.sessions`", path.display())));
    }
    let options = FitOptions { pieces: args.pieces as usize, pairs: args.pairs.map(|n| n as usize) };
    let fit = fit(&trace, options)?;
    let refusals = scenario.map(|scenario| compare_refusals(&scenario, &trace, &fit)).transpose()?;
    if let Some(out) = &args.out {
        if let Some(pairs) = pairs_file(out, &fit) {
            check_output(&pairs, &inputs, args.force)?;
        }
        write_fit(out, &name, &fit, refusals.as_ref())?;
    }
    let printed = match (args.json, &args.out) {
        (true, _) => fit_json(&name, &fit, refusals.as_ref()),
        (false, Some(_)) => fit_text(&name, &fit, refusals.as_ref()).into_bytes(),
        (false, None) => fit_toml(&name, &fit, refusals.as_ref(), None).into_bytes(),
    };
    terminal.print(&printed)?;
    fit.report.warnings.iter().for_each(|warning| terminal.warn(&warning.to_string()));
    Ok(ExitStatus::Success)
}

/// Pairs of lengths that a table still holds itself; more go to a file beside it.
const INLINE_PAIRS: usize = 1_000;

/// Writes the table, and beside it the pairs of lengths where there are many: first the pairs, so that no table names a file
/// that is not there.
fn write_fit(out: &Path, name: &str, fit: &Fit, refusals: Option<&RefusalComparison>) -> Result<(), Failure> {
    let beside = fit.pairs().zip(pairs_file(out, fit));
    if let Some((pairs, path)) = &beside {
        write_whole(
            path,
            |error| cannot_write(path, &error),
            |file| write_pairs(pairs, file).map_err(|error| cannot_write(path, &error)),
        )?;
    }
    let file = beside.as_ref().and_then(|(_, path)| path.file_name()).map(|name| name.to_string_lossy());
    let toml = fit_toml(name, fit, refusals, file.as_deref());
    write_whole(
        out,
        |error| cannot_write(out, &error),
        |file| file.write_all(toml.as_bytes()).map_err(|error| cannot_write(out, &error)),
    )
}

/// The file of pairs that belongs to a table, if they are many: `fit-lengths.csv` beside `fit.toml`.
fn pairs_file(out: &Path, fit: &Fit) -> Option<PathBuf> {
    fit.pairs().filter(|_| fit.distinct_pairs() > INLINE_PAIRS).map(|_| pairs_beside(out))
}

fn pairs_beside(out: &Path) -> PathBuf {
    let stem = out.file_stem().map_or_else(|| "fit".into(), |stem| stem.to_string_lossy().into_owned());
    out.with_file_name(format!("{stem}-lengths.csv"))
}
