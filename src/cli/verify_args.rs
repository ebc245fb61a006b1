//! Arguments of `verify` as typed.

use std::path::PathBuf;

use clap::Args;

use super::args::SummaryFormat;

/// `shedcast verify`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Without arguments: queueing theory and NVIDIA's AISimulate. With a directory of recordings (folders with
requests.jsonl, and meta.json and timeseries.csv if there are any) also each of them: with the shipped preset if there
is one, calibrated on itself, and predicted from its first half.

With --against: counters over time, as Prometheus' text exposition with times (or scrape after scrape, with
--scrape-interval), or as CSV with a column for the time and one for each metric, beside a scenario.
Exit code 1 if a check fails, or if scenario and counters part.")]
pub struct VerifyArgs {
    /// Directory of recordings of real runs; with --against the scenario
    #[arg(value_name = "DIR|SCENARIO")]
    pub target: Option<PathBuf>,
    /// Counters exported from production, to be held against a scenario
    #[arg(long, value_name = "COUNTERS", requires = "target")]
    pub against: Option<PathBuf>,
    /// Width of a window [default: two scrapes or more, at most 60 windows]
    #[arg(long, value_name = "SPAN", requires = "against", allow_hyphen_values = true)]
    pub window: Option<String>,
    /// Where the scenario begins, after the first sample of the counters
    #[arg(long, value_name = "SPAN", default_value = "0s", requires = "against", allow_hyphen_values = true)]
    pub start: String,
    /// Time between scrapes, for samples without a time of their own
    #[arg(long, value_name = "SPAN", requires = "against", allow_hyphen_values = true)]
    pub scrape_interval: Option<String>,
    /// Share by which counters and scenario may differ
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, requires = "against", allow_negative_numbers = true)]
    pub tolerance: f64,
    /// Override a field of the scenario; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE", requires = "against")]
    pub sets: Vec<String>,
    /// What to print on standard output
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: SummaryFormat,
}
