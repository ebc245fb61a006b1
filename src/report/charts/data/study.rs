//! Figures of sweeps and plans.

use super::common::{Heading, Quantity};

/// Which values of a measure meet a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// Values at or below it.
    AtMost,
    /// Values at or above it.
    AtLeast,
}

/// A target of a measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The value, in the measure's unit.
    pub value: f64,
    /// Which side is good.
    pub sense: Sense,
    /// A few words for the legend, e.g. "target: at most 1 %".
    pub label: String,
}

/// One cell of a sweep: a mean and its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepPoint {
    /// Axis value, or index of a category.
    pub x: f64,
    /// Mean of the measure over the replications; NaN where the cell failed.
    pub mean: f64,
    /// Lower end of the interval; NaN without one.
    pub low: f64,
    /// Upper end of the interval; NaN without one.
    pub high: f64,
}

/// A line of cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepSeries {
    /// Name in the legend.
    pub name: String,
    /// Cells in ascending x.
    pub points: Vec<SweepPoint>,
}

/// One measure along a sweep's axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepPanel {
    /// The measure.
    pub measure: Quantity,
    /// Lines of cells; the same place in the list has the same look in every panel.
    pub series: Vec<SweepSeries>,
    /// The measure's target.
    pub target: Option<Target>,
    /// What `low` and `high` are, for the legend; empty stands for "mean, 95 % confidence".
    pub interval: String,
}

/// A measure along one axis of a sweep, with confidence bands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepData {
    /// Title and description.
    pub heading: Heading,
    /// The swept field.
    pub x: Quantity,
    /// The measure.
    pub panel: SweepPanel,
}

/// Several measures against one axis, stacked: offered load against goodput, p99 and success.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadCurveData {
    /// Title and description.
    pub heading: Heading,
    /// Offered load.
    pub x: Quantity,
    /// The measures from top to bottom.
    pub panels: Vec<SweepPanel>,
    /// Draw the line "all that is offered" (y = x) into the first panel.
    pub ideal: bool,
}

/// The same measure for several values of a further field, side by side on equal axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MultiplesData {
    /// Title and description.
    pub heading: Heading,
    /// The axis they share.
    pub x: Quantity,
    /// A caption each (e.g. "Q = 16"), and what to draw. The measure and target of the first hold for all.
    pub panels: Vec<(String, SweepPanel)>,
}

/// A measure over two axes of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMapData {
    /// Title and description.
    pub heading: Heading,
    /// Name of the field along x.
    pub x_label: String,
    /// Its values, written out, from left to right.
    pub x_values: Vec<String>,
    /// Name of the field along y.
    pub y_label: String,
    /// Its values, written out, from bottom to top.
    pub y_values: Vec<String>,
    /// The measure; `log` colours by its logarithm.
    pub measure: Quantity,
    /// Values, row by row from the bottom row up, each from left to right; NaN where a cell failed.
    pub values: Vec<f64>,
    /// The measure's target, drawn as the border between cells that meet it and cells that do not.
    pub target: Option<Target>,
    /// The best cell: place along x, place along y.
    pub best: Option<(usize, usize)>,
}

/// One setting in a trade-off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParetoPoint {
    /// First measure.
    pub x: f64,
    /// Second measure.
    pub y: f64,
    /// The setting, e.g. "0.85".
    pub label: String,
    /// No other setting is at least as good in both and better in one.
    pub on_front: bool,
    /// It meets all targets and is recommended.
    pub chosen: bool,
}

/// A trade-off between two measures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParetoData {
    /// Title and description.
    pub heading: Heading,
    /// First measure.
    pub x: Quantity,
    /// Second measure.
    pub y: Quantity,
    /// What the labels of the points name, e.g. "active_decode_blocks_threshold".
    pub point_label: String,
    /// The settings.
    pub points: Vec<ParetoPoint>,
    /// Target of the first measure.
    pub x_target: Option<Target>,
    /// Target of the second measure.
    pub y_target: Option<Target>,
}
