//! Arguments of `plan` as typed.

use std::path::PathBuf;

use clap::Args;

use super::args::{ChartFormat, SummaryFormat};
use crate::experiment::plan::Request;

/// `shedcast plan`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
The question stands in the table [plan] of the scenario, or in options:
  --minimise fleet.workers --range 1..64            fewest workers (the default), or the least of any field
  --maximise load --range '0.5..3.0 step 0.1'       most load: times the traffic of the scenario, traces too
  --maximise goodput --grid fleet.engine_request_limit=8,16,32 --grid ...   best limits under the targets
  --minimise cost --grid fleet.worker_types.0.workers=0,1,2,3 --grid ...    cheapest mix of worker types
Files: plan.json, answer.toml (the scenario of the answer), proof.toml (as it was tested), runs.csv, cells.csv,
charts/*.svg, report.html; plan-journal.jsonl while it runs.
Exit code 1 says `infeasible` (no setting meets the targets) or `undecided` (the runs allowed do not tell).")]
pub struct PlanArgs {
    /// Scenario file (TOML); `-` reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What must hold, such as `rate_529<=0.1%`, `tpot_p95<=50ms` or `chat:slo_share>=99%` for a class; may be repeated
    #[arg(long, value_name = "TARGET")]
    pub target: Vec<String>,
    /// The field of which the least is looked for, or `cost` [default: fleet.workers]
    #[arg(long, value_name = "PATH", conflicts_with = "maximise")]
    pub minimise: Option<String>,
    /// `load`, the field of which the most is looked for, or the measure that is best with the best limits
    #[arg(long, value_name = "WHAT")]
    pub maximise: Option<String>,
    /// Values of the field, such as `1..64` or `0.5..0.95 step 0.05` [default: 1..256 workers, 0.05..4 times the load]
    #[arg(long, value_name = "VALUES")]
    pub range: Option<String>,
    /// Values of a field to choose among, for best limits and mixes; may be repeated
    #[arg(long, value_name = "PATH=VALUES")]
    pub grid: Vec<String>,
    /// Workers that may be lost for good with the targets still met
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub survive: Option<u32>,
    /// How much more traffic than the scenario says must fit, such as `20%`
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub growth: Option<String>,
    /// How sure each verdict must be [default: 95%]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub confidence: Option<String>,
    /// Runs of the search at most [default: 25; 60 for limits, traces and changing traffic]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_runs: Option<u32>,
    /// `auto`, `scenario`, or the length of the first run of each cell [default: auto: by the targets, where traffic is steady]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub run_length: Option<String>,
    /// Do not start from closed forms
    #[arg(long)]
    pub no_analytic: bool,
    /// Do not look at what would change the answer
    #[arg(long)]
    pub no_sensitivity: bool,
    /// Override a field of the scenario; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// Override the seed
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::args::whole_number)]
    pub seed: Option<u64>,
    /// Runs at a time [default: all processors]; the results are the same to the last byte
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), allow_negative_numbers = true)]
    pub jobs: Option<u32>,
    /// Continue a plan that was stopped
    #[arg(long)]
    pub resume: bool,
    /// Directory for the results [default: outputs/<name of the scenario>-plan]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Formats of the charts
    #[arg(long, value_enum, value_name = "FORMATS", value_delimiter = ',', default_value = "svg", conflicts_with = "no_charts")]
    pub charts: Vec<ChartFormat>,
    /// Draw no charts and no report.html
    #[arg(long)]
    pub no_charts: bool,
    /// What to print on standard output
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: SummaryFormat,
    /// Print no answer and no progress
    #[arg(short, long)]
    pub quiet: bool,
    /// Write into a directory that holds something else, or an unfinished plan
    #[arg(long)]
    pub force: bool,
}

impl PlanArgs {
    /// What is asked beside the file.
    pub(super) fn request(&self) -> Request {
        Request {
            targets: self.target.clone(),
            minimise: self.minimise.clone(),
            maximise: self.maximise.clone(),
            range: self.range.clone(),
            grid: self.grid.clone(),
            survive: self.survive,
            growth: self.growth.clone(),
            confidence: self.confidence.clone(),
            max_runs: self.max_runs,
            run_length: self.run_length.clone(),
            no_analytic: self.no_analytic,
            no_sensitivity: self.no_sensitivity,
        }
    }
}
