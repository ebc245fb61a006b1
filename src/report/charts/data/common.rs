//! What every figure needs.

use super::super::sheet::Sheet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One sample: x (usually seconds since the start of the run), then the value.
pub type Sample = [f64; 2];

/// What stands above every figure, and what a reader who cannot see it is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Heading {
    /// The finding in a sentence, e.g. "9.4 % of attempts refused, nearly all in the burst". Wraps over several lines.
    pub title: String,
    /// What is drawn, of which run; may be empty.
    pub subtitle: String,
    /// The figure in words, for `<desc>`; where it is empty the title and the subtitle serve.
    pub description: String,
    /// What the figure is drawn on.
    #[serde(skip)]
    pub sheet: Sheet,
}

/// What a number counts, which decides how it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// A plain number; large ones get SI suffixes (12k).
    #[default]
    Number,
    /// A share from 0 to 1, written in percent.
    Share,
    /// Seconds, written in the fitting one of us, ms, s, min, h.
    Seconds,
    /// A plain number whose unit is named in the axis title, e.g. `requests/s`.
    Named(String),
}

/// A quantity along an axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantity {
    /// Name, e.g. "p99 time to first token".
    pub label: String,
    /// What its numbers count.
    pub unit: Unit,
    /// Draw on a logarithmic axis; ignored where a value is zero or negative.
    pub log: bool,
    /// Names of the values where they are no numbers (e.g. router modes): x is then an index into these. Else empty.
    pub categories: Vec<String>,
}
