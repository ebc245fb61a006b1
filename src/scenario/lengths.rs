//! Distributions of token counts.

use crate::workload::config::{LengthDistribution, LengthShape, MixtureComponent};
use crate::workload::empirical::token_counts;
use crate::workload::error::WorkloadError;
use crate::workload::lengths::LengthSampler;
use crate::workload::sampling::{Lognormal, NORMAL_P99};

use super::item::{Item, NumberRange};
use super::section::Section;
use super::spans::{CV, weighted};

/// Tokens of one request at most, each way.
pub(super) const MAX_TOKENS: u32 = 16_777_216;
const MAX_COMPONENTS: usize = 1_000;
const TOKENS: NumberRange = NumberRange::above(0.0, MAX_TOKENS as f64);

/// p99 / mean of a lognormal is exp(2.3263 s - s^2 / 2), at most exp(2.3263^2 / 2) = 14.97: none has more.
const MAX_P99_OVER_MEAN: f64 = 14.96;

/// Up to here a lognormal is told by its mean and p99: beyond sigma = 2.3263 the p99 falls again.
const LOGNORMAL_CV: NumberRange = NumberRange::between(0.002, 14.0);

#[derive(Clone, Copy)]
enum Shape {
    Constant,
    Uniform,
    Lognormal,
    Gamma,
    Pareto,
    Empirical,
    Mixture,
}

const SHAPES: [(&str, Shape); 7] = [
    ("constant", Shape::Constant),
    ("uniform", Shape::Uniform),
    ("lognormal", Shape::Lognormal),
    ("gamma", Shape::Gamma),
    ("pareto", Shape::Pareto),
    ("empirical", Shape::Empirical),
    ("mixture", Shape::Mixture),
];

/// Always `value` tokens.
pub(super) fn constant(value: u32) -> LengthDistribution {
    LengthDistribution { shape: LengthShape::Constant { value }, min: value.min(1), max: None }
}

/// Decodes a number of tokens, or a table `{ distribution = ..., ... }`; `least` is the smallest count allowed.
pub(super) fn decode(item: &Item<'_>, least: u32) -> Option<LengthDistribution> {
    if !item.is_table() {
        return item.u32(least, MAX_TOKENS).map(constant);
    }
    let mut section = item.table()?;
    section.require("distribution", "`constant`, `uniform`, `lognormal`, `gamma`, `pareto`, `empirical` or `mixture`");
    let shape = section.one_of("distribution", &SHAPES)?;
    let shape = decode_shape(&mut section, shape, least);
    let zero = matches!(&shape, Some(LengthShape::Constant { value: 0 } | LengthShape::Uniform { low: 0, .. }))
        || matches!(&shape, Some(LengthShape::Empirical { values }) if values.iter().any(|v| v.0 == 0));
    let min = section.u32("min", least, MAX_TOKENS);
    let max = section.optional("max").map(|item| item.u32(min.unwrap_or(least), MAX_TOKENS));
    section.finish();
    if max == Some(None) {
        return None;
    }
    let distribution = LengthDistribution { shape: shape?, min: min.unwrap_or(u32::from(!zero)), max: max.flatten() };
    if let Err(WorkloadError::Parameter { problem, hint, .. }) = LengthSampler::new(&distribution) {
        item.fault(format!("`{}`: {problem}", item.path()), Some(hint));
        return None;
    }
    Some(distribution)
}

fn decode_shape(section: &mut Section<'_>, shape: Shape, least: u32) -> Option<LengthShape> {
    match shape {
        Shape::Constant => {
            section.require("value", "a number of tokens");
            section.u32("value", least, MAX_TOKENS).map(|value| LengthShape::Constant { value })
        }
        Shape::Uniform => {
            section.require("low", "the smallest number of tokens");
            section.require("high", "the largest number of tokens");
            let low = section.u32("low", least, MAX_TOKENS);
            let high = section.u32("high", low.unwrap_or(least), MAX_TOKENS);
            Some(LengthShape::Uniform { low: low?, high: high? })
        }
        Shape::Lognormal => lognormal(section),
        Shape::Gamma => {
            section.require("mean", "the mean number of tokens");
            section.require("cv", "a coefficient of variation above 0");
            let (mean, cv) = (section.number("mean", TOKENS), section.number("cv", CV));
            Some(LengthShape::Gamma { mean: mean?, cv: cv? })
        }
        Shape::Pareto => {
            section.require("scale", "the smallest number of tokens");
            section.require("alpha", "a tail index above 0");
            let (scale, alpha) = (section.number("scale", TOKENS), section.number("alpha", NumberRange::above(0.0, 1_000.0)));
            Some(LengthShape::Pareto { scale: scale?, alpha: alpha? })
        }
        Shape::Empirical if section.given("csv") => from_file(section, least).map(|values| LengthShape::Empirical { values }),
        Shape::Empirical => {
            ["csv", "column", "weight_column"].into_iter().for_each(|key| section.ignore(key));
            weighted(section, "token counts", |item| item.u32(least, MAX_TOKENS)).map(|values| LengthShape::Empirical { values })
        }
        Shape::Mixture => mixture(section, least),
    }
}

/// Token counts in a column of a CSV file.
fn from_file(section: &mut Section<'_>, least: u32) -> Option<Vec<(u32, f64)>> {
    for key in ["values", "weights"] {
        section.forbid(key, "the values come from `csv`", "give one of them only");
    }
    section.require("column", "the column of the token counts");
    let file = section.item("csv")?;
    let column = section.text("column", 200);
    let weight = section.optional("weight_column").and_then(|item| item.text(200));
    let path = file.text(4_096).and_then(|text| file.existing(text))?;
    let values = token_counts(&path, column?, weight).map_err(|error| file.fault_of(&error)).ok()?;
    if let Some((wrong, _)) = values.iter().find(|(tokens, _)| !(least..=MAX_TOKENS).contains(tokens)) {
        let message = format!("`{}` holds a length of {wrong} tokens: expected {least} to {MAX_TOKENS}", path.display());
        file.fault(message, Some("give such rows a weight of 0, or leave them out".to_owned()));
        return None;
    }
    Some(values)
}

/// By mean and p99, or by mean and cv, of which the p99 follows.
fn lognormal(section: &mut Section<'_>) -> Option<LengthShape> {
    section.require("mean", "the mean number of tokens");
    let mean = section.number("mean", TOKENS);
    if section.given("cv") {
        section.forbid("p99", "`cv` already says how wide the distribution is", "give only one of them");
        let (mean, cv) = (mean?, section.number("cv", LOGNORMAL_CV)?);
        let p99 = Lognormal::from_mean_cv(mean, cv).expect("mean and cv are in range").at_normal(NORMAL_P99);
        return Some(LengthShape::Lognormal { mean, p99 });
    }
    section.ignore("cv");
    section.require("p99", "the 99th percentile in tokens, or `cv`");
    let (mean, p99) = (mean?, section.number("p99", NumberRange::POSITIVE)?);
    if !(mean..=mean * MAX_P99_OVER_MEAN).contains(&p99) {
        let message = format!(
            "`{}` is `{p99}` at `mean` = `{mean}`: expected a number from the mean to {MAX_P99_OVER_MEAN} times the mean",
            section.path_of("p99")
        );
        section.fault(
            Some("p99"),
            message,
            Some("no lognormal has a tail beyond that: use `pareto`, `empirical` or `mixture`".into()),
        );
        return None;
    }
    Some(LengthShape::Lognormal { mean, p99 })
}

fn mixture(section: &mut Section<'_>, least: u32) -> Option<LengthShape> {
    section.require("components", "a list of `{ weight, distribution, ... }`");
    let items = section.item("components")?.filled_list(MAX_COMPONENTS)?;
    let component = |item: &Item<'_>| {
        let mut section = item.table()?;
        section.require("weight", "a share above 0");
        section.require("tokens", "a number of tokens or a table with a `distribution`");
        let weight = section.number("weight", NumberRange::POSITIVE);
        let distribution = section.item("tokens").and_then(|item| decode(&item, least));
        section.finish();
        Some(MixtureComponent { weight: weight?, distribution: distribution? })
    };
    let components: Vec<Option<MixtureComponent>> = items.iter().map(component).collect();
    components.into_iter().collect::<Option<_>>().map(|components| LengthShape::Mixture { components })
}
