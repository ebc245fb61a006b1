//! What differs between sides.

use super::side::{Side, Unit};
use crate::experiment::measure_table::{Better, MEASURES, Measure};
use crate::experiment::sweep::LEVEL;
use crate::stats::{MeanInterval, paired_difference, unpaired_difference};

/// Fields that name a scenario and decide nothing.
const NAMES: [&str; 2] = ["name", "description"];

/// Sides held against the first of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The sides: directories of results.
    pub sides: Vec<Side>,
    /// Fields of the scenarios that are not the same everywhere, in the order of the first file that has them.
    pub fields: Vec<FieldDifference>,
    /// What all sides ran.
    pub units: Vec<UnitComparison>,
    /// What only some sides ran: side and unit.
    pub lone: Vec<(usize, String)>,
}

/// A field with the value that each side has, if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDifference {
    /// Its path.
    pub path: String,
    /// Values as TOML, by side.
    pub values: Vec<Option<String>>,
}

/// One unit on all sides.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitComparison {
    /// What tells it from the others; empty for runs.
    pub label: String,
    /// Replications, by side.
    pub replications: Vec<usize>,
    /// Per measure, in the order of [`MEASURES`].
    pub measures: Vec<MeasureComparison>,
}

/// One measure of one unit on all sides.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureComparison {
    /// Its place in [`MEASURES`].
    pub measure: usize,
    /// Mean over the replications, by side; `None` where a side has no value.
    pub means: Vec<Option<f64>>,
    /// Every side after the first against the first; `None` where one of the two has no value.
    pub against: Vec<Option<Against>>,
}

/// The difference of a side to the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Against {
    /// The side's mean less the first one's, over the replications that count.
    pub difference: f64,
    /// Ends of its interval at [`LEVEL`]; `None` of a single replication.
    pub interval: Option<(f64, f64)>,
    /// Whether it was taken pair by pair.
    pub paired: bool,
    /// Replications on the side that has fewer.
    pub replications: usize,
    /// What that says.
    pub standing: Standing,
}

/// How a side stands to the first in a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No difference at all.
    Same,
    /// The interval of the difference holds 0.
    Unclear,
    /// Better.
    Better,
    /// Worse.
    Worse,
    /// Higher, in a measure that only describes.
    Higher,
    /// Lower, in a measure that only describes.
    Lower,
}

impl Standing {
    /// Name in machine formats.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Unclear => "unclear",
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Higher => "higher",
            Self::Lower => "lower",
        }
    }

    fn of(measure: &Measure, difference: f64, interval: Option<(f64, f64)>) -> Self {
        if difference == 0.0 && interval.is_none_or(|(low, high)| low == high) {
            return Self::Same;
        }
        if interval.is_some_and(|(low, high)| low <= 0.0 && high >= 0.0) {
            return Self::Unclear;
        }
        match (measure.better, difference > 0.0) {
            (Better::Neutral, true) => Self::Higher,
            (Better::Neutral, false) => Self::Lower,
            (Better::Higher, up) | (Better::Lower, up) if up == (measure.better == Better::Higher) => Self::Better,
            _ => Self::Worse,
        }
    }
}

impl Against {
    /// By how much the side is worse at least: the end of the interval that is nearest to being better, or the difference where there
    /// is no interval. Below 0 where it may be better.
    pub fn surely_worse_by(&self, better: Better) -> f64 {
        let (low, high) = self.interval.unwrap_or((self.difference, self.difference));
        if better == Better::Higher { -high } else { low }
    }
}

impl Comparison {
    /// Holds every side against the first; there must be at least two.
    pub fn of(sides: Vec<Side>) -> Self {
        let (first, others) = sides.split_first().expect("a comparison needs sides");
        let everywhere = |unit: &&Unit| others.iter().all(|side| find(side, &unit.label).is_some());
        let units = first.units.iter().filter(everywhere).map(|unit| unit_of(&sides, &unit.label)).collect::<Vec<_>>();
        let known = |label: &str| units.iter().any(|unit: &UnitComparison| unit.label == label);
        let lone = sides.iter().enumerate().flat_map(|(at, side)| side.units.iter().map(move |unit| (at, unit.label.clone())));
        let lone = lone.filter(|(_, label)| !known(label)).collect();
        Self { fields: fields(&sides), lone, units, sides }
    }

    /// Whether two sides share their random numbers, so that replications are pairs.
    pub fn is_paired(&self, side: usize) -> bool {
        self.sides[side].seed == self.sides[0].seed
    }
}

fn find<'a>(side: &'a Side, label: &str) -> Option<&'a Unit> {
    side.units.iter().find(|unit| unit.label == label)
}

fn unit_of(sides: &[Side], label: &str) -> UnitComparison {
    let units: Vec<&Unit> = sides.iter().filter_map(|side| find(side, label)).collect();
    let measures = (0..MEASURES.len()).map(|measure| {
        let values: Vec<Vec<(u32, f64)>> = units.iter().map(|unit| unit.values(measure)).collect();
        let against = (1..sides.len()).map(|side| {
            let paired = sides[side].seed == sides[0].seed;
            against(&MEASURES[measure], &values[side], &values[0], paired)
        });
        let mean = |values: &Vec<(u32, f64)>| {
            (!values.is_empty()).then(|| values.iter().map(|(_, value)| value).sum::<f64>() / values.len() as f64)
        };
        MeasureComparison { measure, means: values.iter().map(mean).collect(), against: against.collect() }
    });
    UnitComparison {
        label: label.to_owned(),
        replications: units.iter().map(|unit| unit.runs.len()).collect(),
        measures: measures.collect(),
    }
}

fn against(measure: &Measure, side: &[(u32, f64)], first: &[(u32, f64)], paired: bool) -> Option<Against> {
    let plain = |values: &[(u32, f64)]| values.iter().map(|(_, value)| *value).collect::<Vec<f64>>();
    let found: MeanInterval = if paired {
        let other = |number: &u32| first.iter().find(|(n, _)| n == number).map(|(_, value)| *value);
        let pairs = side.iter().filter_map(|(number, value)| Some((*value, other(number)?)));
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.unzip();
        paired_difference(&a, &b, LEVEL)?.difference
    } else {
        unpaired_difference(&plain(side), &plain(first), LEVEL)?
    };
    let interval = found.interval().map(|interval| (interval.low, interval.high));
    let standing = Standing::of(measure, found.mean, interval);
    Some(Against { difference: found.mean, interval, paired, replications: found.samples, standing })
}

/// Fields whose values are not the same on all sides. A field that a side does not have is a difference too.
fn fields(sides: &[Side]) -> Vec<FieldDifference> {
    let mut paths: Vec<&str> = Vec::new();
    for (path, _) in sides.iter().flat_map(|side| &side.fields) {
        if !NAMES.contains(&path.as_str()) && !paths.contains(&path.as_str()) {
            paths.push(path);
        }
    }
    let value = |side: &Side, path: &str| side.fields.iter().find(|(p, _)| p == path).map(|(_, value)| value.clone());
    let all = paths
        .into_iter()
        .map(|path| FieldDifference { path: path.to_owned(), values: sides.iter().map(|side| value(side, path)).collect() });
    all.filter(|field| field.values.iter().any(|value| *value != field.values[0])).collect()
}
