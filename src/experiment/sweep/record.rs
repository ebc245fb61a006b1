//! What is kept of one run of a sweep: a line of the journal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::RunResult;
use crate::experiment::measure_table::{MEASURES, Taken};
use crate::scenario::{QuantileMethod, Scenario};
use crate::stats::RankRule;

/// One finished run: its measures, or why there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// The cell, from 0.
    pub cell: usize,
    /// The replication, from 0.
    pub replication: u32,
    /// Why the run ended (see [`RunEnd::name`](crate::experiment::RunEnd::name)); empty if it failed.
    pub end: String,
    /// What went wrong, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Codes of the run's warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Per measure, in the order of the table: `[hits, trials]` of a share, `[value]` or `[]` of others.
    pub values: Vec<Entry>,
}

/// One measure of a [`Record`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Entry {
    /// Hits and trials.
    Share([u64; 2]),
    /// A value, if there is one.
    Value(Option<f64>),
}

impl Entry {
    /// The value; `None` where the run has none.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Share([hits, trials]) => Taken::Share(hits, trials).value(),
            Self::Value(value) => value,
        }
    }
}

impl Record {
    /// The record of a finished run.
    pub fn of(cell: usize, replication: u32, scenario: &Scenario, result: &RunResult) -> Self {
        let rule = match scenario.output.quantile_method {
            QuantileMethod::NearestRank => RankRule::NearestRank,
            QuantileMethod::RoundedRank => RankRule::RoundedRank,
        };
        let entry = |taken| match taken {
            Taken::Share(hits, trials) => Entry::Share([hits, trials]),
            Taken::Value(value) => Entry::Value(value),
        };
        let mut warnings: Vec<String> = result.warnings.iter().map(|warning| warning.code.to_owned()).collect();
        warnings.sort();
        warnings.dedup();
        Self {
            cell,
            replication,
            end: result.end.name().to_owned(),
            error: None,
            warnings,
            values: MEASURES.iter().map(|measure| entry(measure.take(result, rule))).collect(),
        }
    }

    /// The record of a run that failed.
    pub fn failed(cell: usize, replication: u32, error: impl Into<String>) -> Self {
        Self { cell, replication, end: String::new(), error: Some(error.into()), warnings: Vec::new(), values: Vec::new() }
    }

    /// The record as one line of the journal, with its line feed.
    pub fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("plain data can be written");
        line.push('\n');
        line
    }

    /// Reads a line of the journal; `None` if it is none, or torn.
    pub fn from_line(line: &str) -> Option<Self> {
        let record: Self = serde_json::from_str(line).ok()?;
        let whole = if record.error.is_some() { record.values.is_empty() } else { record.values.len() == MEASURES.len() };
        whole.then_some(record)
    }
}
