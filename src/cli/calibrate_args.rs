//! Arguments of `calibrate` as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::args::SummaryFormat;

/// `shedcast calibrate`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Writes OUT.toml, the preset (`engine = \"OUT.toml\"` in a scenario), OUT.json with the goodness of fit, and OUT.svg,
measured against simulated.

A log of requests is JSON Lines or CSV with times (queued or arrival, first token, last token; scheduled helps) and
tokens (prompt, output) under the names of vLLM's benchmarks, or under any with --columns. `meta.json` and
`timeseries.csv` beside it are read too. A profile is the folder of Dynamo's profiler, its two archives, or their
numbers as JSON. A table is CSV with a row for each time, a JSON grid, or a folder of kernel times (dense.csv,
per_sequence.csv, attention.csv) with --layers.")]
pub struct CalibrateArgs {
    /// A log of requests or its folder, a profile (a folder, two .npz, a .json), or a table of times (a file, a folder)
    #[arg(value_name = "INPUT", required = true, num_args = 1..=2)]
    pub inputs: Vec<PathBuf>,
    /// What the input is [default: recognised]
    #[arg(long, value_enum, value_name = "KIND")]
    pub from: Option<InputKind>,
    /// Preset file to write; the report and the chart stand beside it [default: <name>.toml]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Name of the preset [default: from the input]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Replace what is there
    #[arg(long)]
    pub force: bool,
    /// What to print on standard output
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: SummaryFormat,
    /// What is known of the engine.
    #[command(flatten)]
    pub engine: EngineArgs,
    /// How a log is read and fitted.
    #[command(flatten)]
    pub log: LogArgs,
    /// How points are read and fitted.
    #[command(flatten)]
    pub points: PointArgs,
}

/// What is known of the engine.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Engine")]
pub struct EngineArgs {
    /// KV blocks of a rank [default: from the configuration, the profile or the data]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000), allow_negative_numbers = true)]
    pub kv_blocks: Option<u64>,
    /// Tokens in a KV block [default: from the configuration, or 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536), allow_negative_numbers = true)]
    pub block_size: Option<u32>,
    /// Seats of a rank: running sequences at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), allow_negative_numbers = true)]
    pub max_num_seqs: Option<u32>,
    /// Token budget of a step
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000), allow_negative_numbers = true)]
    pub max_num_batched_tokens: Option<u64>,
    /// Data-parallel ranks behind the log
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_024), allow_negative_numbers = true)]
    pub data_parallel_size: Option<u32>,
}

/// How a log is read and fitted.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Log of requests")]
pub struct LogArgs {
    /// Configuration of the run (JSON) [default: meta.json beside the log]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Running and waiting sequences over time (CSV) [default: timeseries.csv beside the log]
    #[arg(long, value_name = "FILE")]
    pub series: Option<PathBuf>,
    /// Fit the first N requests only, and predict all
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub fit_first: Option<u32>,
    /// Whether requests went on arriving after the log's last
    #[arg(long, value_enum, value_name = "WHETHER", default_value_t)]
    pub arrivals_go_on: GoOn,
    /// Unit of times that do not name theirs: s, ms, us, ns [default: s in logs, ms in tables]
    #[arg(long, value_name = "UNIT")]
    pub time_unit: Option<String>,
    /// Columns under other names: queued, arrival, scheduled, first, last, input, output in logs; tokens, batch, context,
    /// generated, prefill, decode in tables
    #[arg(long, value_name = "KEY=COLUMN,...")]
    pub columns: Option<String>,
}

/// How points are read and fitted.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Profile or table")]
pub struct PointArgs {
    /// Leave out decode points whose sequences have no more context than this, tokens
    #[arg(long, value_name = "TOKENS", default_value_t = 0, allow_negative_numbers = true)]
    pub min_context: u32,
    /// Multiply all times: served over tabulated
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, allow_negative_numbers = true)]
    pub served_factor: f64,
    /// Keep rows of a table with these values
    #[arg(long = "where", value_name = "COLUMN=VALUE,...")]
    pub filter: Option<String>,
    /// Blocks (layers) of the model, for a folder of kernel times
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), allow_negative_numbers = true)]
    pub layers: Option<u32>,
    /// Which of several grids in a JSON file
    #[arg(long, value_name = "NAME")]
    pub select: Option<String>,
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InputKind {
    /// A log of requests
    Log,
    /// The output of Dynamo's profiler
    Profile,
    /// A table of prefill and decode times
    Table,
}

/// Whether arrivals went on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GoOn {
    /// Find out by which fits better
    #[default]
    Auto,
    /// Yes: the log is cut
    Yes,
    /// No: it is all there was
    No,
}
