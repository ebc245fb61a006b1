//! Distributions of spans: service times, delays, think times.

use crate::workload::config::SpanDistribution;

use super::item::{Item, NumberRange};
use super::section::Section;

/// Entries of an empirical distribution at most.
pub(super) const MAX_VALUES: usize = 1_000_000;

/// Coefficients of variation: every distribution here has a member for each of them.
pub(super) const CV: NumberRange = NumberRange::between(0.002, 1_000.0);

#[derive(Clone, Copy)]
enum Shape {
    Constant,
    Uniform,
    Exponential,
    Gamma,
    Lognormal,
    Empirical,
}

const SHAPES: [(&str, Shape); 6] = [
    ("constant", Shape::Constant),
    ("uniform", Shape::Uniform),
    ("exponential", Shape::Exponential),
    ("gamma", Shape::Gamma),
    ("lognormal", Shape::Lognormal),
    ("empirical", Shape::Empirical),
];

/// Decodes a duration, or a table `{ distribution = ..., ... }`.
pub(super) fn decode(item: &Item<'_>) -> Option<SpanDistribution> {
    if !item.is_table() {
        return item.span().map(|value| SpanDistribution::Constant { value });
    }
    let mut section = item.table()?;
    section.require("distribution", "`constant`, `uniform`, `exponential`, `gamma`, `lognormal` or `empirical`");
    let shape = section.one_of("distribution", &SHAPES)?;
    let distribution = decode_shape(&mut section, shape);
    section.finish();
    distribution
}

fn decode_shape(section: &mut Section<'_>, shape: Shape) -> Option<SpanDistribution> {
    let needed: &[&'static str] = match shape {
        Shape::Constant => &["value"],
        Shape::Uniform => &["low", "high"],
        Shape::Exponential | Shape::Gamma | Shape::Lognormal => &["mean"],
        Shape::Empirical => &[],
    };
    needed.iter().for_each(|key| section.require(key, "a duration"));
    match shape {
        Shape::Constant => section.span("value").map(|value| SpanDistribution::Constant { value }),
        Shape::Uniform => {
            let (low, high) = (section.span("low"), section.span("high"));
            let (low, high) = (low?, high?);
            if low > high {
                let message = format!("`{}` is {high}, below `low` = {low}: expected at least that", section.path_of("high"));
                section.fault(Some("high"), message, None);
                return None;
            }
            Some(SpanDistribution::Uniform { low, high })
        }
        Shape::Exponential => section.positive_span("mean").map(|mean| SpanDistribution::Exponential { mean }),
        Shape::Gamma | Shape::Lognormal => {
            section.require("cv", "a coefficient of variation above 0");
            let (mean, cv) = (section.positive_span("mean"), section.number("cv", CV));
            let (mean, cv) = (mean?, cv?);
            Some(match shape {
                Shape::Gamma => SpanDistribution::Gamma { mean, cv },
                _ => SpanDistribution::Lognormal { mean, cv },
            })
        }
        Shape::Empirical => weighted(section, "durations", Item::span).map(|values| SpanDistribution::Empirical { values }),
    }
}

/// `values` with optional `weights`, a list as long with numbers above 0.
pub(super) fn weighted<'c, T>(
    section: &mut Section<'c>,
    what: &str,
    read: impl Fn(&Item<'c>) -> Option<T>,
) -> Option<Vec<(T, f64)>> {
    section.require("values", &format!("a list of {what}"));
    let values = section.item("values").and_then(|item| item.filled_list(MAX_VALUES));
    let weights = section.item("weights").map(|item| item.filled_list(MAX_VALUES));
    let values: Vec<Option<T>> = values?.iter().map(read).collect();
    let weights: Vec<Option<f64>> = match weights {
        None => vec![Some(1.0); values.len()],
        Some(weights) => weights?.iter().map(|item| item.number(NumberRange::POSITIVE)).collect(),
    };
    if weights.len() != values.len() {
        let (path, n, expected) = (section.path_of("weights"), weights.len(), values.len());
        section.fault(Some("weights"), format!("`{path}` has {n} entries: expected {expected}, one for each of `values`"), None);
        return None;
    }
    values.into_iter().zip(weights).map(|(value, weight)| Some((value?, weight?))).collect()
}
