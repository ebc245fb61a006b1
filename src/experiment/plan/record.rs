//! What is kept of one run of a plan: a line of the journal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::RunResult;
use crate::experiment::measure_table::MEASURES;
use crate::experiment::measures::Measures;
use crate::experiment::sweep;
use crate::experiment::sweep::Entry;
use crate::scenario::{QuantileMethod, Scenario};
use crate::stats::RankRule;

use super::binds::Facts;
use super::goal::Goal;
use super::lab::Key;

/// What a stretch of a run says of a target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Batch {
    /// Hits and trials.
    Share([u64; 2]),
    /// A value, and the length of the stretch in seconds.
    Value([f64; 2]),
}

/// What a run says of a target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The measure over the run.
    pub figure: Option<f64>,
    /// Its parts in their order: the batches of a steady run, else the run as one.
    pub batches: Vec<Batch>,
}

/// One finished run: its measures, or why there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// Which run it is.
    #[serde(flatten)]
    pub key: Key,
    /// Why the run ended (see [`RunEnd::name`](crate::experiment::RunEnd::name)); empty if it failed.
    pub end: String,
    /// What went wrong, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Codes of the run's warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Measures in the order of the table.
    pub values: Vec<Entry>,
    /// Per target, in their order.
    pub goals: Vec<Evidence>,
    /// How full everything was.
    pub facts: Facts,
}

impl Record {
    /// The record of a finished run; with `parts` the phases of the run are its batches.
    pub fn of(key: Key, goals: &[Goal], scenario: &Scenario, mut result: RunResult, parts: bool) -> Self {
        let swept = sweep::Record::of(0, 0, scenario, &result);
        let facts = Facts::of(scenario, &result);
        let rule = match scenario.output.quantile_method {
            QuantileMethod::NearestRank => RankRule::NearestRank,
            QuantileMethod::RoundedRank => RankRule::RoundedRank,
        };
        let goals = goals.iter().map(|goal| evidence(goal, &mut result, rule, parts)).collect();
        Self { key, end: swept.end, error: None, warnings: swept.warnings, values: swept.values, goals, facts }
    }

    /// The record of a run that failed.
    pub fn failed(key: Key, error: impl Into<String>) -> Self {
        let (end, warnings, values, goals) = (String::new(), Vec::new(), Vec::new(), Vec::new());
        Self { key, end, error: Some(error.into()), warnings, values, goals, facts: Facts::default() }
    }

    /// Whether more was offered than is served, as far as the run could see.
    pub fn is_saturated(&self) -> bool {
        self.warnings.iter().any(|code| code == crate::experiment::verdicts::codes::SATURATED)
    }

    /// The value of a measure by name; `None` where the run has none.
    pub fn value(&self, measure: &str) -> Option<f64> {
        let place = crate::experiment::measure_table::Measure::place(measure)?;
        self.values.get(place).and_then(|entry| entry.value())
    }

    /// The record as one line of the journal, with its line feed.
    pub fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("plain data can be written");
        line.push('\n');
        line
    }

    /// Reads a line of the journal of a plan with so many targets; `None` if it is none, or torn.
    pub fn from_line(line: &str, goals: usize) -> Option<Self> {
        let record: Self = serde_json::from_str(line).ok()?;
        let whole = record.values.len() == MEASURES.len() && record.goals.len() == goals;
        (whole || record.error.is_some()).then_some(record)
    }
}

/// What the run says of one target: part by part where it has parts.
fn evidence(goal: &Goal, result: &mut RunResult, rule: RankRule, parts: bool) -> Evidence {
    if let Some(class) = &goal.class {
        let Some(at) = result.classes.iter().position(|found| found.name == *class) else { return Evidence::default() };
        return swapped(result, |r| &mut r.classes[at].measures, |r| whole(goal, r, rule));
    }
    let figure = goal.figure(result, rule);
    if !parts || !goal.has_parts() {
        return whole(goal, result, rule);
    }
    let batches = (0..result.phases.len())
        .filter_map(|at| swapped(result, |r| &mut r.phases[at].measures, |r| goal.batch(r, rule)))
        .collect();
    Evidence { figure, batches }
}

fn whole(goal: &Goal, result: &RunResult, rule: RankRule) -> Evidence {
    Evidence { figure: goal.figure(result, rule), batches: goal.batch(result, rule).into_iter().collect() }
}

/// What `read` finds while other measures stand in the place of the run's, so that parts of a run are read as runs are.
fn swapped<T>(result: &mut RunResult, part: impl Fn(&mut RunResult) -> &mut Measures, read: impl FnOnce(&RunResult) -> T) -> T {
    let exchange = |result: &mut RunResult| {
        let mut total = std::mem::take(&mut result.total);
        std::mem::swap(&mut total, part(result));
        result.total = total;
    };
    exchange(result);
    let found = read(result);
    exchange(result);
    found
}
