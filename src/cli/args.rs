//! Arguments as typed: pure data, the one source of help, man page and completions.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// How many requests a cluster of LLM workers under NVIDIA Dynamo refuses, why, and what would change it.
#[derive(Clone, Debug, Parser)]
#[command(name = "shedcast", version = VERSION, max_term_width = 100, propagate_version = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// When to colour messages; `auto` follows NO_COLOR and the terminal
    #[arg(long, value_enum, value_name = "WHEN", default_value_t, global = true)]
    pub color: ColorChoice,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// Version and commit.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("SHEDCAST_COMMIT"), ")");

const EXIT_CODES: &str = "\
Exit codes:
  0    answered, targets met
  1    answered \"no\": a target missed, a check failed, or the run ended at a bound under [limits]
  2    could not answer: usage, scenario, trace, input or output
  130  interrupted";

/// A command.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Simulate a scenario: what is refused, why, and how full the queues get
    Run(RunArgs),
    /// Validate scenarios and print them resolved: every default filled in, every preset expanded
    Check(CheckArgs),
    /// List the built-in workers: step times and KV blocks of known GPUs and models, with their sources
    Presets(PresetsArgs),
    /// Fit a worker to a real engine: from a log of requests, a profile of Dynamo, or a table of times
    Calibrate(super::calibrate_args::CalibrateArgs),
    /// Hold shedcast against theory, NVIDIA's simulator, real runs, or production's own counters
    Verify(super::verify_args::VerifyArgs),
    /// Simulate a scenario over a grid of settings, with intervals: which value should I set?
    Sweep(super::sweep_args::SweepArgs),
    /// Hold results beside one another: what differs in the scenarios and in the figures, and how sure that is
    Compare(super::compare_args::CompareArgs),
    /// Find the fewest workers, the most load, the best limits or the cheapest mix for given targets, and how sure that is
    Plan(super::plan_args::PlanArgs),
    /// Join the shards of a sweep
    Merge(super::sweep_args::MergeArgs),
    /// Draw charts and report of a results directory again, without simulating
    Report(super::report::ReportArgs),
    /// Look at recorded traffic, convert it, imitate it
    #[command(subcommand)]
    Trace(super::trace_args::TraceCommand),
    /// Feed recorded control events to the control code: what is decided, and why
    Replay(ReplayArgs),
    /// Describe scenario files and files of results for machines: JSON Schema, and columns of tables
    Schema(super::generate_args::SchemaArgs),
    /// Generate manual pages and completions
    #[command(subcommand)]
    Generate(super::generate_args::GenerateCommand),
}

/// Any number of 64 bits.
pub(super) fn whole_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// `shedcast run`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Files: summary.json, timeseries.csv, worker_timeseries.csv (up to 64 workers),
workers.csv, ranks.csv, threshold_updates.csv, requests.csv and metrics.om (when asked),
report.html, overview.svg, charts/*.svg, charts.json (what they are drawn from),
and resolved.toml, which repeats the run exactly: shedcast run DIR/resolved.toml")]
pub struct RunArgs {
    /// Scenario file (TOML); `-` reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Directory for the results [default: outputs/<name of the scenario>]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Override a field of the scenario, such as `fleet.workers=8`; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// Override the seed
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// How engines are simulated; the results are the same to the last byte
    #[arg(long, value_enum, value_name = "KIND", default_value_t)]
    pub engine: EngineChoice,
    /// Write requests.csv: one row per attempt
    #[arg(long)]
    pub requests_csv: bool,
    /// Write metrics.om: Prometheus metrics under Dynamo's names over simulated time, in OpenMetrics text
    #[arg(long)]
    pub metrics: bool,
    /// Date at which simulated time begins in metrics.om, such as 2026-01-01T00:00:00Z (the default); implies `--metrics`
    #[arg(long, value_name = "DATE")]
    pub metrics_epoch: Option<String>,
    /// What to draw
    #[command(flatten)]
    pub draw: super::drawing::DrawArgs,
    /// What to print on standard output
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: TextFormat,
    /// Print no summary and no progress
    #[arg(short, long)]
    pub quiet: bool,
    /// Also tell the story of one request (its id, as in requests.csv): what each frontend saw and decided
    #[arg(long, value_name = "ID", value_parser = whole_number, allow_negative_numbers = true)]
    pub explain: Option<u64>,
    /// Write into a directory that holds something else
    #[arg(long)]
    pub force: bool,
}

/// `shedcast presets`.
#[derive(Clone, Debug, Args)]
pub struct PresetsArgs {
    /// What to print on standard output
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: SummaryFormat,
}

/// `shedcast check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// Scenario files (TOML); `-` reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Override a field of the scenarios, such as `fleet.workers=8`; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// Print no resolved scenario
    #[arg(short, long)]
    pub quiet: bool,
}

/// `shedcast replay`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Files are JSON Lines: a record with `steps` on each line, or one step with `op` on each line, such as
{\"at\": 1.5, \"op\": \"worker_load\", \"worker\": 7, \"rank\": 0, \"kv_used_blocks\": 950}
{\"at\": \"2s\", \"op\": \"request\"}")]
pub struct ReplayArgs {
    /// Files of control events (JSON Lines); `-` reads standard input
    #[arg(value_name = "EVENTS", required = true)]
    pub files: Vec<PathBuf>,
    /// Compare what each step expects, and exit 1 on the first difference
    #[arg(long)]
    pub verify: bool,
    /// Show the state after each step
    #[arg(long, conflicts_with = "verify")]
    pub state: bool,
    /// What to print on standard output
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: ReplayFormat,
}

/// Format of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReplayFormat {
    /// Lines for people
    #[default]
    Table,
    /// JSON Lines
    Json,
}

/// How engines are simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EngineChoice {
    /// Runs of steps in closed form
    #[default]
    Coalesced,
    /// Step by step, the oracle of the other: far slower
    Stepwise,
}

/// Format of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum ChartFormat {
    /// Vector graphics
    Svg,
    /// Pixels, at twice the size
    Png,
}

/// Format of results on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// One screen for people, as wide as the terminal (or COLUMNS)
    #[default]
    Table,
    /// The content of summary.json or sweep.json
    Json,
    /// Markdown with tables
    Markdown,
}

/// Format of a list on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SummaryFormat {
    /// A table for people
    #[default]
    Table,
    /// JSON
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
