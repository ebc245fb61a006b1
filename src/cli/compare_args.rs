//! Arguments of `compare` as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `shedcast compare`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Everything is held against the first directory. Results with the same seed met the same random numbers: differences are taken
replication by replication. A single run has a difference, but no interval; `--replications 10` runs the scenarios again.
In CI: shedcast compare baseline candidate --replications 10 --fail-if-worse rate_529=0.5% --fail-if-worse ttft_p99=50ms")]
pub struct CompareArgs {
    /// Directories of results of `run`, or of `sweep`; the first is the baseline
    #[arg(value_name = "DIR", required = true, num_args = 2..)]
    pub directories: Vec<PathBuf>,
    /// Run each scenario (its `resolved.toml`) so often, for intervals; only results of `run`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000), allow_negative_numbers = true)]
    pub replications: Option<u32>,
    /// Exit 1 if a measure got worse by more than this (by anything, without a value), with its whole interval; may be repeated
    #[arg(long, value_name = "MEASURE[=BY]")]
    pub fail_if_worse: Vec<String>,
    /// Runs at a time, with `--replications` [default: all processors]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), allow_negative_numbers = true)]
    pub jobs: Option<u32>,
    /// List measures that do not differ too
    #[arg(long)]
    pub all: bool,
    /// What to write
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: CompareFormat,
    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long, requires = "out")]
    pub force: bool,
}

/// Format of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// Tables for people
    #[default]
    Table,
    /// Markdown, for a merge request
    Markdown,
    /// A row per measure
    Csv,
    /// JSON
    Json,
    /// A self-contained page
    Html,
}
