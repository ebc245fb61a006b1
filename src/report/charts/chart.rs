//! A chart of any kind: its data, from which the figure and the table behind it both come.

use super::data::*;
use super::table::{self, DataTable};
use super::{
    Figure, Sheet, busy, heat_map, latency, load_curve, loads, multiples, occupancy, overview, pareto, refusals, sweep_line,
    traffic, updates,
};

/// The data of one chart.
#[derive(Clone, Debug, PartialEq)]
pub enum Chart {
    /// A run at a glance.
    Overview(Box<OverviewData>),
    /// What flows through the cluster.
    Traffic(TrafficData),
    /// 529 rate by reason.
    Refusals(RefusalsData),
    /// Engine slots and overflow queue.
    Occupancy(OccupancyData),
    /// Rank loads against thresholds.
    Loads(LoadsData),
    /// Busy set as a timeline.
    Busy(BusyData),
    /// Stages of threshold updates.
    Updates(UpdatesData),
    /// Latency distributions.
    Latency(LatencyData),
    /// A measure along one axis of a sweep.
    Line(SweepData),
    /// A measure over two axes.
    HeatMap(HeatMapData),
    /// A measure over three axes.
    Multiples(MultiplesData),
    /// Offered load against what comes of it.
    LoadCurve(LoadCurveData),
    /// A trade-off between two measures.
    Pareto(ParetoData),
}

impl Chart {
    /// What stands above it.
    pub fn heading(&self) -> &Heading {
        match self {
            Self::Overview(data) => &data.heading,
            Self::Traffic(data) => &data.heading,
            Self::Refusals(data) => &data.heading,
            Self::Occupancy(data) => &data.heading,
            Self::Loads(data) => &data.heading,
            Self::Busy(data) => &data.heading,
            Self::Updates(data) => &data.heading,
            Self::Latency(data) => &data.heading,
            Self::Line(data) => &data.heading,
            Self::HeatMap(data) => &data.heading,
            Self::Multiples(data) => &data.heading,
            Self::LoadCurve(data) => &data.heading,
            Self::Pareto(data) => &data.heading,
        }
    }

    fn heading_mut(&mut self) -> &mut Heading {
        match self {
            Self::Overview(data) => &mut data.heading,
            Self::Traffic(data) => &mut data.heading,
            Self::Refusals(data) => &mut data.heading,
            Self::Occupancy(data) => &mut data.heading,
            Self::Loads(data) => &mut data.heading,
            Self::Busy(data) => &mut data.heading,
            Self::Updates(data) => &mut data.heading,
            Self::Latency(data) => &mut data.heading,
            Self::Line(data) => &mut data.heading,
            Self::HeatMap(data) => &mut data.heading,
            Self::Multiples(data) => &mut data.heading,
            Self::LoadCurve(data) => &mut data.heading,
            Self::Pareto(data) => &mut data.heading,
        }
    }

    /// The figure, on the sheet that its heading names (a wide one unless changed).
    pub fn figure(&self) -> Figure {
        match self {
            Self::Overview(data) => overview(data),
            Self::Traffic(data) => traffic(data),
            Self::Refusals(data) => refusals(data),
            Self::Occupancy(data) => occupancy(data),
            Self::Loads(data) => loads(data),
            Self::Busy(data) => busy(data),
            Self::Updates(data) => updates(data),
            Self::Latency(data) => latency(data),
            Self::Line(data) => sweep_line(data),
            Self::HeatMap(data) => heat_map(data),
            Self::Multiples(data) => multiples(data),
            Self::LoadCurve(data) => load_curve(data),
            Self::Pareto(data) => pareto(data),
        }
    }

    /// The figure on a sheet of another width.
    pub fn figure_on(&self, sheet: Sheet) -> Figure {
        let mut other = self.clone();
        other.heading_mut().sheet = sheet;
        other.figure()
    }

    /// The figure's numbers, for those who cannot see it and those who want to read them off.
    pub fn table(&self) -> DataTable {
        match self {
            Self::Overview(data) => table::overview(data),
            Self::Traffic(data) => table::traffic(data),
            Self::Refusals(data) => table::refusals(&data.time, &data.refusals),
            Self::Occupancy(data) => table::occupancy(&data.time, &data.occupancy),
            Self::Loads(data) => table::loads(&data.time, &data.loads),
            Self::Busy(data) => table::busy(data),
            Self::Updates(data) => table::updates(data),
            Self::Latency(data) => table::latency(data),
            Self::Line(data) => table::line(data),
            Self::HeatMap(data) => table::heat_map(data),
            Self::Multiples(data) => table::multiples(data),
            Self::LoadCurve(data) => table::load_curve(data),
            Self::Pareto(data) => table::pareto(data),
        }
    }
}
