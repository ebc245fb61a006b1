//! When a side is worse than one can accept.

use super::comparison::Comparison;
use crate::experiment::measure_table::{Better, MEASURES, Measure};
use crate::experiment::sweep::find_measure;
use crate::experiment::sweep::target::amount;

/// A measure that must not get worse: `rate_529`, or `rate_529=0.5%` where so much is accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct WorseRule {
    /// The measure's place in [`MEASURES`].
    pub measure: usize,
    /// How much worse is accepted, in the measure's unit; 0 or more.
    pub tolerance: f64,
}

impl WorseRule {
    /// Reads `measure` or `measure=tolerance`.
    ///
    /// # Errors
    /// What is wrong, and a hint.
    pub fn parse(text: &str) -> Result<Self, (String, String)> {
        let (name, tolerance) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let measure = find_measure(name.trim())?;
        if measure.better == Better::Neutral {
            let known = MEASURES.iter().filter(|m| m.better != Better::Neutral).take(4).map(|m| format!("`{}`", m.name));
            let hint = format!("name one that operators want low or high, such as {}", known.collect::<Vec<_>>().join(", "));
            return Err((format!("`{}` only describes: it gets neither better nor worse", measure.name), hint));
        }
        let tolerance = tolerance.map(|value| amount(measure.unit, measure.name, value.trim())).transpose()?.unwrap_or(0.0);
        if tolerance < 0.0 {
            return Err((format!("`{text}` accepts less than nothing"), "give a tolerance of 0 or more".to_owned()));
        }
        Ok(Self { measure: Measure::place(measure.name).unwrap_or(0), tolerance })
    }

    /// The units and sides that break it: those that are worse than the first by more than is accepted, with the whole interval
    /// of their difference where there is one.
    ///
    /// # Errors
    /// Unit and side of the first that has no value to compare.
    pub fn broken(&self, comparison: &Comparison) -> Result<Vec<(String, usize)>, (String, usize)> {
        let mut broken = Vec::new();
        for unit in &comparison.units {
            let found = &unit.measures[self.measure];
            for (place, against) in found.against.iter().enumerate() {
                let side = place + 1;
                let against = match (against, found.means[0]) {
                    (Some(against), _) => against,
                    // Nowhere is nothing to get worse.
                    (None, None) if found.means[side].is_none() => continue,
                    (None, _) => return Err((unit.label.clone(), side)),
                };
                if against.surely_worse_by(MEASURES[self.measure].better) > self.tolerance {
                    broken.push((unit.label.clone(), side));
                }
            }
        }
        Ok(broken)
    }
}
