//! Arguments of `trace` as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What to do with a trace.
#[derive(Clone, Debug, Subcommand)]
pub enum TraceCommand {
    /// Recognise a trace and show its statistics: rate, bursts, lengths, what to beware of
    Inspect(InspectArgs),
    /// Write the requests of a trace, or of a scenario, as shedcast's own CSV, which replays exactly
    Convert(ConvertArgs),
    /// Fit a generated workload that imitates a trace, and show how well it does
    Fit(FitArgs),
}

/// How a trace file is read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Reading")]
pub struct ReadArgs {
    /// Format by name [default: recognised from the first rows]
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Unit of numeric arrival times, instead of the format's own: s, ms, us or ns
    #[arg(long, value_name = "UNIT")]
    pub time_unit: Option<String>,
    /// Columns of a file of no known format, such as `arrival=t,arrival_unit=ms,input_tokens=in,output_tokens=out`
    #[arg(long, value_name = "KEY=COLUMN,...")]
    pub columns: Option<String>,
    /// Column or field whose values are class names
    #[arg(long, value_name = "COLUMN")]
    pub class_column: Option<String>,
    /// Read at most this many rows
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::args::whole_number)]
    pub max_rows: Option<u64>,
    /// Tokens of one block of `hash_ids`, instead of the format's own
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub hash_block_size: Option<u32>,
}

/// How the rows of a trace become requests.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Replay")]
pub struct ReplayOptionArgs {
    /// First instant of the trace to keep, after its first row
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true)]
    pub window_start: Option<String>,
    /// Last instant of the trace to keep, after its first row
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true)]
    pub window_end: Option<String>,
    /// Make it this many times as fast
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true)]
    pub rate_scale: Option<String>,
    /// Cut longer gaps between arrivals to this
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true)]
    pub max_gap: Option<String>,
    /// Spread arrivals at random over ticks of this width
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true)]
    pub dequantise: Option<String>,
    /// Cut longer prompts to this
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true)]
    pub max_input_tokens: Option<u32>,
    /// Cut longer outputs to this
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true)]
    pub max_output_tokens: Option<u32>,
    /// Take reusable leading blocks off the prompts: off or discount
    #[arg(long, value_name = "KIND")]
    pub prefix_reuse: Option<String>,
    /// Prompt tokens where the source has none, as in a scenario: a number, or a table
    #[arg(long, value_name = "LENGTHS")]
    pub input_tokens: Option<String>,
    /// Generated tokens where the source has none, as in a scenario: a number, or a table
    #[arg(long, value_name = "LENGTHS")]
    pub output_tokens: Option<String>,
    /// Order the rows by arrival first
    #[arg(long)]
    pub sort: bool,
    /// Fail at a row that would be dropped
    #[arg(long)]
    pub strict: bool,
    /// Seed of what is random
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = super::args::whole_number)]
    pub seed: u64,
}

/// `shedcast trace inspect`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Every row counts, also those that a replay would drop. To look at a part of a trace:
  shedcast trace convert FILE - --window-start 1h --window-end 2h | shedcast trace inspect -")]
pub struct InspectArgs {
    /// Trace file, plain or gzipped, or a folder of ServeGen clients; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How it is read.
    #[command(flatten)]
    pub read: ReadArgs,
    /// Warn of requests with more tokens than this, prompt and output together
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true)]
    pub context_limit: Option<u32>,
    /// Draw arrivals over time and lengths; .svg or .png
    #[arg(long, value_name = "FILE")]
    pub chart: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long, requires = "chart")]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `shedcast trace convert`.
#[derive(Clone, Debug, Args)]
pub struct ConvertArgs {
    /// Trace file, plain or gzipped, or a folder of ServeGen clients; `-` reads standard input. A scenario (.toml) gives the
    /// requests of its workload
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// CSV file to write; `-` is standard output
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
    /// How it is read.
    #[command(flatten)]
    pub read: ReadArgs,
    /// How its rows become requests.
    #[command(flatten)]
    pub replay: ReplayOptionArgs,
    /// Start the trace again when it ends; needs `--horizon` or `--requests`
    #[arg(long)]
    pub repeat: bool,
    /// Keep requests that arrive before this
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true)]
    pub horizon: Option<String>,
    /// Keep at most this many requests
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::args::whole_number)]
    pub requests: Option<u64>,
}

/// `shedcast trace fit`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
The table can stand in a scenario as it is. With --out, more than 1,000 pairs of lengths go to a CSV file beside it, which the
table names (NAME-lengths.csv for NAME.toml). What is allowed: the rate may be off by 1 %, everything else by 5 %, refusals on
a fleet by 10 %, relative to the trace. What is missed is told with its likely cause.")]
pub struct FitArgs {
    /// Trace file, plain or gzipped; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// File for the [workload] table [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Also compare what the fleet of this scenario refuses of the trace and of its imitation
    #[arg(long, value_name = "SCENARIO")]
    pub scenario: Option<PathBuf>,
    /// Override a field of that scenario; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE", requires = "scenario")]
    pub sets: Vec<String>,
    /// Most pieces of the rate over time; 1 fits a constant rate
    #[arg(long, value_name = "N", default_value_t = 48, value_parser = clap::value_parser!(u32).range(1..=10_000), allow_negative_numbers = true)]
    pub pieces: u32,
    /// Most pairs of lengths per piece, about, each standing for others like it [default: every pair of the trace]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), allow_negative_numbers = true)]
    pub pairs: Option<u32>,
    /// How it is read.
    #[command(flatten)]
    pub read: ReadArgs,
    /// How its rows become requests.
    #[command(flatten)]
    pub replay: ReplayOptionArgs,
    /// Print JSON, the table as a text in it
    #[arg(long)]
    pub json: bool,
}
