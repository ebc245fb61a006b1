//! `shedcast calibrate`: a preset from measurements of a real engine.

use std::io;
use std::path::{Path, PathBuf};

use super::args::SummaryFormat;
use super::calibrate_args::{CalibrateArgs, EngineArgs, GoOn, InputKind};
use super::output_files::may_write;
use super::terminal::Terminal;
use super::trace::write_whole;
use super::{ExitStatus, Failure};
use crate::calibrate::kernels::{TABLES, read_kernels};
use crate::calibrate::profile::{ARCHIVES, Profile};
use crate::calibrate::timings::{TimingOptions, Timings};
use crate::calibrate::{
    Calibration, ColumnNames, EngineFacts, FactSource, Filter, FitOptions, PointPreset, RunLog, TickSeries, TimeUnit, fit_run,
};
use crate::report::calibration::{calibration_figure, calibration_json, calibration_text};
use crate::scenario::PresetKind;

/// Name of a log in the folder of a run.
pub(super) const LOG: &str = "requests.jsonl";
/// Name of its configuration.
pub(super) const CONFIG: &str = "meta.json";
/// Name of its series.
pub(super) const SERIES: &str = "timeseries.csv";
/// vLLM's defaults on large GPUs, for points, which do not tell.
const SEATS: u32 = 1_024;
const TOKENS: u64 = 8_192;
const BLOCK: u32 = 16;

/// Reads measurements, fits, writes and prints.
pub(super) fn calibrate(args: &CalibrateArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let calibration = match kind(args)? {
        InputKind::Log => of_log(args)?,
        InputKind::Profile => of_profile(args)?,
        InputKind::Table => of_table(args)?,
    };
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.toml", calibration.preset.name)));
    let [report, chart] = ["json", "svg"].map(|ending| out.with_extension(ending));
    if [&report, &chart].contains(&&out) {
        return Err(fault(&out, "the preset cannot have this ending", "name it with `.toml`"));
    }
    for path in [&out, &report, &chart] {
        let inputs = args.inputs.iter().map(PathBuf::as_path);
        may_write(path, inputs, args.force).map_err(|(what, hint)| fault(path, what, hint))?;
    }
    let json = calibration_json(&calibration);
    write(&chart, calibration_figure(&calibration).to_svg().as_bytes())?;
    write(&report, &json)?;
    write(&out, calibration.preset.to_toml().as_bytes())?;
    let place = out.display();
    let written = format!("written to {place}, {}, {}; use it as `engine = \"{place}\"`", report.display(), chart.display());
    terminal.print(&match args.format {
        SummaryFormat::Json => json,
        SummaryFormat::Table => calibration_text(&calibration, &written).into_bytes(),
    })?;
    Ok(ExitStatus::Success)
}

fn fault(path: &Path, problem: &str, hint: &str) -> Failure {
    Failure::Calibrate(format!("{}: {problem}\n  hint: {hint}", path.display()))
}

fn option(name: &str, text: &str, problem: impl std::fmt::Display) -> Failure {
    Failure::Calibrate(format!("{name} `{text}`: {problem}"))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error: io::Error| fault(path, &format!("cannot write the file: {error}"), "choose another place with `--out`");
    write_whole(path, failed, |out| out.write_all(bytes).map_err(failed))
}

/// What the input is: as told, or by what is there.
fn kind(args: &CalibrateArgs) -> Result<InputKind, Failure> {
    if let Some(kind) = args.from {
        return Ok(kind);
    }
    let input = &args.inputs[0];
    let ends = |ending: &str| input.extension().is_some_and(|e| e.eq_ignore_ascii_case(ending));
    if args.inputs.len() == 2 || ends("npz") {
        return Ok(InputKind::Profile);
    }
    if input.is_dir() {
        if input.join(LOG).exists() {
            return Ok(InputKind::Log);
        }
        if input.join(ARCHIVES[0]).exists() {
            return Ok(InputKind::Profile);
        }
        if input.join(TABLES[0]).exists() {
            return Ok(InputKind::Table);
        }
        let problem = format!("the folder has neither `{LOG}` nor `{}`", ARCHIVES[0]);
        return Err(fault(input, &problem, "name the file itself, and say with `--from` what it is"));
    }
    if ends("json") {
        let text = std::fs::read_to_string(input).unwrap_or_default();
        return Ok(if text.contains("\"prefill_isl\"") { InputKind::Profile } else { InputKind::Table });
    }
    if ends("jsonl") {
        return Ok(InputKind::Log);
    }
    // CSV: a log has the time of a token.
    let text = std::fs::read_to_string(input).unwrap_or_default();
    let header = text.lines().next().unwrap_or_default();
    let named = args.log.columns.as_deref().unwrap_or_default();
    let log = header.contains("first_token") || named.contains("first=") || named.contains("last=");
    Ok(if log { InputKind::Log } else { InputKind::Table })
}

fn columns(args: &CalibrateArgs) -> Result<ColumnNames, Failure> {
    let text = args.log.columns.as_deref().unwrap_or_default();
    ColumnNames::parse(text).map_err(|problem| option("--columns", text, problem))
}

fn unit(args: &CalibrateArgs) -> Result<Option<TimeUnit>, Failure> {
    let Some(text) = args.log.time_unit.as_deref() else { return Ok(None) };
    match text {
        "s" => Ok(Some(TimeUnit::Seconds)),
        "ms" => Ok(Some(TimeUnit::Millis)),
        "us" => Ok(Some(TimeUnit::Micros)),
        "ns" => Ok(Some(TimeUnit::Nanos)),
        _ => Err(option("--time-unit", text, "expected s, ms, us or ns")),
    }
}

fn of_log(args: &CalibrateArgs) -> Result<Calibration, Failure> {
    let input = &args.inputs[0];
    let path = if input.is_dir() { input.join(LOG) } else { input.clone() };
    let beside = |name: &str| path.parent().map(|folder| folder.join(name)).filter(|file| file.exists());
    let log = RunLog::read(&path, unit(args)?.unwrap_or_default(), &columns(args)?)?;
    let config = args.log.config.clone().or_else(|| beside(CONFIG));
    let facts = config.as_deref().map(EngineFacts::read).transpose()?.unwrap_or_default();
    let facts = with_options(facts, &args.engine);
    let series = args.log.series.clone().or_else(|| beside(SERIES));
    let series = series.map(|series| TickSeries::read(&series, &log.requests)).transpose()?;
    let arrivals_go_on = match args.log.arrivals_go_on {
        GoOn::Auto => None,
        GoOn::Yes => Some(true),
        GoOn::No => Some(false),
    };
    let options = FitOptions { fit_first: args.log.fit_first.map(|n| n as usize), arrivals_go_on };
    let fit = fit_run(&log, series.as_ref(), &facts, &options)?;
    Ok(Calibration::of_run(&fit, &name(args, input), &source(&log, &facts), series.as_ref()))
}

/// What options say goes before what the configuration says.
pub(super) fn with_options(mut facts: EngineFacts, given: &EngineArgs) -> EngineFacts {
    let source = FactSource::Given;
    facts.kv_total_blocks = given.kv_blocks.map(|n| (n, source)).or(facts.kv_total_blocks);
    facts.kv_cache_block_size = given.block_size.map(|n| (n, source)).or(facts.kv_cache_block_size);
    facts.max_num_seqs = given.max_num_seqs.map(|n| (n, source)).or(facts.max_num_seqs);
    facts.max_num_batched_tokens = given.max_num_batched_tokens.map(|n| (n, source)).or(facts.max_num_batched_tokens);
    facts.data_parallel_size = given.data_parallel_size.map(|n| (n, source)).or(facts.data_parallel_size);
    facts
}

fn source(log: &RunLog, facts: &EngineFacts) -> String {
    let mut text = format!("fit to a run of {} requests", log.requests.len());
    for (of, what) in [(&facts.model, "model"), (&facts.gpu, "GPU"), (&facts.engine, "engine")] {
        if let Some(value) = of {
            text.push_str(&format!(", {what} {value}"));
        }
    }
    text
}

/// As told, or the name of the folder, or of the file without its ending.
fn name(args: &CalibrateArgs, input: &Path) -> String {
    let own = if input.is_dir() { input.file_name() } else { input.file_stem() };
    let own = own.map(|name| name.to_string_lossy().into_owned());
    args.name.clone().or(own).unwrap_or_else(|| "calibrated".to_owned())
}

fn point_preset(args: &CalibrateArgs, name: String, source: String, kind: PresetKind) -> Result<PointPreset, Failure> {
    let factor = args.points.served_factor;
    if !(0.01..=100.0).contains(&factor) {
        return Err(option("--served-factor", &factor.to_string(), "expected a factor from 0.01 to 100"));
    }
    let max_num_seqs = args.engine.max_num_seqs.unwrap_or(SEATS);
    let max_num_batched_tokens = args.engine.max_num_batched_tokens.unwrap_or(TOKENS.max(u64::from(max_num_seqs)));
    if max_num_batched_tokens < u64::from(max_num_seqs) {
        let text = max_num_batched_tokens.to_string();
        return Err(option("--max-num-batched-tokens", &text, format!("expected at least the {max_num_seqs} seats")));
    }
    Ok(PointPreset {
        name,
        source,
        kind,
        kv_total_blocks: args.engine.kv_blocks,
        kv_cache_block_size: args.engine.block_size.unwrap_or(BLOCK),
        max_num_seqs,
        max_num_batched_tokens,
        served_factor: factor,
        min_context: f64::from(args.points.min_context),
    })
}

fn of_profile(args: &CalibrateArgs) -> Result<Calibration, Failure> {
    let profile = Profile::read(&args.inputs)?;
    let input = &args.inputs[0];
    let two = args.inputs.len() == 2 && args.name.is_none();
    let name = if two { "profile".to_owned() } else { name(args, input) };
    let source = profile.source.clone().unwrap_or_else(|| "fit to a profile of Dynamo's profiler".to_owned());
    Ok(Calibration::of_profile(&profile, point_preset(args, name, source, PresetKind::Fitted)?)?)
}

fn of_table(args: &CalibrateArgs) -> Result<Calibration, Failure> {
    let input = &args.inputs[0];
    let text = args.points.filter.as_deref().unwrap_or_default();
    let options = TimingOptions {
        columns: columns(args)?,
        filter: Filter::parse(text).map_err(|problem| option("--where", text, problem))?,
        select: args.points.select.clone(),
        unit: unit(args)?.map(TimeUnit::seconds),
    };
    let timings = if input.is_dir() { kernels(args, input)? } else { Timings::read(input, &options)? };
    let name = args.name.clone().or_else(|| timings.name.clone()).unwrap_or_else(|| name(args, input));
    let mut source = format!("fit to the table {}", input.file_name().unwrap_or_default().to_string_lossy());
    if !text.is_empty() {
        source.push_str(&format!(" where {text}"));
    }
    let kind = if input.is_dir() { PresetKind::Computed } else { PresetKind::Fitted };
    Ok(Calibration::of_timings(&timings, point_preset(args, name, source, kind)?)?)
}

/// A folder of kernel times.
fn kernels(args: &CalibrateArgs, folder: &Path) -> Result<Timings, Failure> {
    let hint = "kernel times are of one block of the model: Llama-3.1-8B has 32, Llama-3.1-70B 80";
    let layers = args.points.layers.ok_or_else(|| fault(folder, "`--layers` is missing", hint))?;
    Ok(read_kernels(folder, layers)?)
}
