//! What is drawn of results: charts in the formats that are asked for, and the page.

use clap::Args;

use super::Failure;
use super::args::ChartFormat;
use crate::experiment::sweep::SweepResult;
use crate::report::charts::Figure;
use crate::report::html::{run_page, sweep_page};
use crate::report::sweep::sweep_figures;
use crate::report::{RunCharts, Summary};

/// The page, below a results directory.
pub(super) const PAGE: &str = "report.html";
/// Pixels per unit of a figure in PNG.
const PNG_SCALE: f64 = 2.0;

/// Options of all commands that draw.
#[derive(Clone, Debug, Args)]
pub struct DrawArgs {
    /// Formats of the charts
    #[arg(long, value_enum, value_name = "FORMATS", value_delimiter = ',', default_value = "svg", conflicts_with = "no_charts")]
    pub charts: Vec<ChartFormat>,
    /// Draw no charts and no report.html; `shedcast report DIR` draws them later
    #[arg(long)]
    pub no_charts: bool,
}

/// Files by name.
pub(super) type Files = Vec<(String, Vec<u8>)>;

/// Charts and page of a run.
pub(super) fn draw_run(args: &DrawArgs, summary: &Summary, charts: &RunCharts, resolved: &str) -> Result<Files, Failure> {
    if args.no_charts {
        return Ok(Files::new());
    }
    let mut files = Files::new();
    for figure in charts.figures() {
        add(args, figure.name, &figure.figure, &mut files)?;
    }
    files.push((PAGE.to_owned(), run_page(summary, charts, resolved).into_bytes()));
    Ok(files)
}

/// Charts and page of a sweep; `scenario` is that of its baseline cell.
pub(super) fn draw_sweep(args: &DrawArgs, result: &SweepResult, scenario: &str) -> Result<Files, Failure> {
    if args.no_charts {
        return Ok(Files::new());
    }
    let mut files = Files::new();
    for figure in sweep_figures(result) {
        add(args, &figure.name, &figure.figure, &mut files)?;
    }
    files.push((PAGE.to_owned(), sweep_page(result, scenario).into_bytes()));
    Ok(files)
}

fn add(args: &DrawArgs, name: &str, figure: &Figure, files: &mut Files) -> Result<(), Failure> {
    if args.charts.contains(&ChartFormat::Svg) {
        files.push((format!("{name}.svg"), figure.to_svg().into_bytes()));
    }
    if args.charts.contains(&ChartFormat::Png) {
        let failed = |e: crate::report::charts::PngError| Failure::Figure { name: name.to_owned(), message: e.to_string() };
        files.push((format!("{name}.png"), figure.to_png(PNG_SCALE).map_err(failed)?));
    }
    Ok(())
}
