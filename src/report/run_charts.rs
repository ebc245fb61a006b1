//! What the charts of a run are drawn from, kept with its results (`charts.json`): they are drawn again without simulating.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::charts::data::*;
use super::charts::{Chart, Figure};
use super::figure_loads::loads_data;
use super::figures::{busy_count, busy_data, heading, latency_data, occupancy_data, refusals_data, traffic_data, updates_data};
use super::summary::Summary;
use super::verdict::headline;
use crate::experiment::RunResult;
use crate::scenario::Scenario;

/// Name and version of the format of `charts.json`.
pub const CHARTS_SCHEMA: &str = "shedcast.charts/1";

/// A figure of a run with the name of its file, without ending.
#[derive(Clone, Debug)]
pub struct RunFigure {
    /// Name of the file below the results directory: `overview`, `charts/refusals`.
    pub name: &'static str,
    /// What it is drawn from.
    pub chart: Chart,
    /// The figure, on a wide sheet.
    pub figure: Figure,
}

impl RunFigure {
    fn of(name: &'static str, chart: Chart) -> Self {
        Self { name, figure: chart.figure(), chart }
    }
}

/// The data of all charts of a run. The overview shows parts of the others, which are kept once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunCharts {
    /// [`CHARTS_SCHEMA`].
    pub schema: String,
    /// Title of the overview.
    pub overview: Heading,
    /// What flows through the cluster.
    pub traffic: TrafficData,
    /// 529 rate by reason.
    pub refusals: RefusalsData,
    /// Engine slots and overflow queue.
    pub occupancy: OccupancyData,
    /// Busy workers.
    pub busy_count: BusyCount,
    /// Rank loads against thresholds; absent where no rank has blocks and none was observed.
    pub loads: Option<LoadsData>,
    /// The busy set; absent where the series does not tell workers apart.
    pub busy: Option<BusyData>,
    /// Threshold posts; absent where there were none.
    pub updates: Option<UpdatesData>,
    /// Latency distributions.
    pub latency: LatencyData,
}

impl RunCharts {
    /// The data of the charts of `result`, a run of `scenario`.
    pub fn of(scenario: &Scenario, result: &RunResult, summary: &Summary) -> Self {
        Self {
            schema: CHARTS_SCHEMA.to_owned(),
            overview: heading(scenario, result, headline(summary)),
            traffic: traffic_data(scenario, result, summary),
            refusals: refusals_data(scenario, result, summary),
            occupancy: occupancy_data(scenario, result, summary),
            busy_count: busy_count(result),
            loads: loads_data(scenario, result),
            busy: busy_data(scenario, result),
            updates: (!result.updates.is_empty()).then(|| updates_data(scenario, result, summary)),
            latency: latency_data(scenario, result, summary),
        }
    }

    /// All figures that have something to show: the overview first.
    pub fn figures(&self) -> Vec<RunFigure> {
        let always = [
            ("overview", Chart::Overview(Box::new(self.overview()))),
            ("charts/traffic", Chart::Traffic(self.traffic.clone())),
            ("charts/refusals", Chart::Refusals(self.refusals.clone())),
            ("charts/occupancy", Chart::Occupancy(self.occupancy.clone())),
        ];
        let sometimes = [
            ("charts/loads", self.loads.clone().map(Chart::Loads)),
            ("charts/busy", self.busy.clone().map(Chart::Busy)),
            ("charts/updates", self.updates.clone().map(Chart::Updates)),
            ("charts/latency", Some(Chart::Latency(self.latency.clone()))),
        ];
        let sometimes = sometimes.into_iter().filter_map(|(name, chart)| Some((name, chart?)));
        always.into_iter().chain(sometimes).map(|(name, chart)| RunFigure::of(name, chart)).collect()
    }

    fn overview(&self) -> OverviewData {
        OverviewData {
            heading: self.overview.clone(),
            time: self.refusals.time.clone(),
            refusals: Some(self.refusals.refusals.clone()),
            occupancy: Some(self.occupancy.occupancy.clone()),
            busy: Some(self.busy_count.clone()),
            loads: self.loads.as_ref().map(|data| data.loads.clone()).unwrap_or_default(),
        }
    }

    /// As `charts.json`: one line, since it is long.
    pub fn to_json(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("plain data can be written");
        bytes.push(b'\n');
        bytes
    }
}

/// All figures of a run that have something to show: the overview first.
pub fn run_figures(scenario: &Scenario, result: &RunResult, summary: &Summary) -> Vec<RunFigure> {
    RunCharts::of(scenario, result, summary).figures()
}
