//! Figures that hold two things against each other.

use super::common::{Heading, Quantity, Sample};

/// One of two things that ought to agree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgreementSeries {
    /// Name in the legend.
    pub name: String,
    /// Its samples, in ascending x where they are joined.
    pub points: Vec<Sample>,
}

/// A panel: curves over one axis, or single points beside the line on which both agree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgreementPanel {
    /// The axis they share.
    pub x: Quantity,
    /// What is drawn over it.
    pub y: Quantity,
    /// Draw points and the line y = x, not curves.
    pub scatter: bool,
    /// What is held against each other.
    pub series: Vec<AgreementSeries>,
}

/// Panels one below the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgreementData {
    /// Title and description.
    pub heading: Heading,
    /// The panels from top to bottom.
    pub panels: Vec<AgreementPanel>,
}
