//! Arguments of `sweep` and `merge` as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::args::TextFormat;

/// `shedcast sweep`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
A grid stands in the table [sweep.grid] of the scenario, or in options:
  --grid fleet.workers=2,4,8                        a list
  --grid 'workload.arrivals.rate=20..200 step 20'   steps, exact; also `linear 10` and `log 7`
  --grid 'fleet.workers:workload.arrivals.rate=2:80,4:160'   fields that change together
Files: cells.csv (mean and 95 % interval of every measure), replications.csv, differences.csv, sweep.json,
charts/*.svg; sweep-journal.jsonl while it runs, sweep-shard.jsonl of a shard.")]
pub struct SweepArgs {
    /// Scenario file (TOML); `-` reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Values of a field, instead of or beside those of [sweep.grid]; the first axis changes slowest; may be repeated
    #[arg(long, value_name = "PATH=VALUES")]
    pub grid: Vec<String>,
    /// Override a field of the scenario in every cell; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// Override the seed
    #[arg(long, value_name = "N", value_parser = super::args::whole_number, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Runs of each cell, with random numbers of their own [default: 5]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub replications: Option<u32>,
    /// Add replications to a cell until the 95 % interval of a measure is narrow enough, such as `rate_529=0.002`
    #[arg(long, value_name = "MEASURE=VALUE")]
    pub until_halfwidth: Option<String>,
    /// Replications of a cell at most, with `--until-halfwidth` [default: 100]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_replications: Option<u32>,
    /// What a good cell has, such as `rate_529<=1%` or `ttft_p99<=2s`; may be repeated
    #[arg(long, value_name = "TARGET")]
    pub target: Vec<String>,
    /// The measure that orders the cells that meet the targets [default: goodput]
    #[arg(long, value_name = "MEASURE")]
    pub best: Option<String>,
    /// The cell that differences are taken to [default: the first]; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub baseline: Vec<String>,
    /// Runs at a time [default: all processors]; the results are the same to the last byte
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), allow_negative_numbers = true)]
    pub jobs: Option<u32>,
    /// Run one part only, such as `2/5` [default: by SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX, else everything]
    #[arg(long, value_name = "I/N")]
    pub shard: Option<String>,
    /// Continue a sweep that was stopped
    #[arg(long)]
    pub resume: bool,
    /// Print a job file that runs the sweep in shards, and run nothing
    #[arg(long, value_enum, value_name = "KIND")]
    pub emit: Option<EmitKind>,
    /// Shards of the job file
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000), allow_negative_numbers = true)]
    pub shards: u32,
    /// Directory for the results [default: outputs/<name of the scenario>-sweep]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What to draw
    #[command(flatten)]
    pub draw: super::drawing::DrawArgs,
    /// What to print on standard output
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: TextFormat,
    /// Print no table and no progress
    #[arg(short, long)]
    pub quiet: bool,
    /// Write into a directory that holds something else, or an unfinished sweep
    #[arg(long)]
    pub force: bool,
}

/// `shedcast merge`.
#[derive(Clone, Debug, Args)]
pub struct MergeArgs {
    /// Directories of the shards
    #[arg(value_name = "DIR", required = true)]
    pub directories: Vec<PathBuf>,
    /// Directory for the results [default: outputs/<name of the scenario>-sweep]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What to draw
    #[command(flatten)]
    pub draw: super::drawing::DrawArgs,
    /// What to print on standard output
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: TextFormat,
    /// Print no table
    #[arg(short, long)]
    pub quiet: bool,
    /// Write into a directory that holds something else
    #[arg(long)]
    pub force: bool,
}

/// Who runs the shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EmitKind {
    /// A Slurm batch script: an array, then the merge
    Slurm,
    /// A Kubernetes Indexed Job, and a Job that merges
    Kubernetes,
    /// A shell script for GNU parallel
    Parallel,
}
