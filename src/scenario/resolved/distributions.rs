//! Distributions of spans and of token counts.

use crate::workload::config::{LengthDistribution, LengthShape, MixtureComponent, SpanDistribution};

use super::writer::{float, inline, list, quoted, span};

/// A constant is a plain duration, anything else a table.
pub(super) fn span_distribution(distribution: &SpanDistribution) -> String {
    let named = |name: &str, fields: &[(&str, String)]| {
        let all: Vec<_> = std::iter::once(("distribution", quoted(name))).chain(fields.iter().cloned()).collect();
        inline(&all)
    };
    match distribution {
        SpanDistribution::Constant { value } => span(*value),
        SpanDistribution::Uniform { low, high } => named("uniform", &[("low", span(*low)), ("high", span(*high))]),
        SpanDistribution::Exponential { mean } => named("exponential", &[("mean", span(*mean))]),
        SpanDistribution::Gamma { mean, cv } => named("gamma", &[("mean", span(*mean)), ("cv", float(*cv))]),
        SpanDistribution::Lognormal { mean, cv } => named("lognormal", &[("mean", span(*mean)), ("cv", float(*cv))]),
        SpanDistribution::Empirical { values } => {
            let (spans, weights) = (values.iter().map(|v| span(v.0)), values.iter().map(|v| float(v.1)));
            named("empirical", &[("values", list(spans)), ("weights", list(weights))])
        }
    }
}

pub(super) fn length_distribution(distribution: &LengthDistribution) -> String {
    let mut fields = match &distribution.shape {
        LengthShape::Constant { value } => vec![("distribution", quoted("constant")), ("value", value.to_string())],
        LengthShape::Uniform { low, high } => {
            vec![("distribution", quoted("uniform")), ("low", low.to_string()), ("high", high.to_string())]
        }
        LengthShape::Lognormal { mean, p99 } => {
            vec![("distribution", quoted("lognormal")), ("mean", float(*mean)), ("p99", float(*p99))]
        }
        LengthShape::Gamma { mean, cv } => vec![("distribution", quoted("gamma")), ("mean", float(*mean)), ("cv", float(*cv))],
        LengthShape::Pareto { scale, alpha } => {
            vec![("distribution", quoted("pareto")), ("scale", float(*scale)), ("alpha", float(*alpha))]
        }
        LengthShape::Empirical { values } => vec![
            ("distribution", quoted("empirical")),
            ("values", list(values.iter().map(|v| v.0.to_string()))),
            ("weights", list(values.iter().map(|v| float(v.1)))),
        ],
        LengthShape::Mixture { components } => {
            let component =
                |c: &MixtureComponent| inline(&[("weight", float(c.weight)), ("tokens", length_distribution(&c.distribution))]);
            vec![("distribution", quoted("mixture")), ("components", list(components.iter().map(component)))]
        }
    };
    fields.push(("min", distribution.min.to_string()));
    fields.push(("max", distribution.max.map_or_else(|| quoted("none"), |n| n.to_string())));
    inline(&fields)
}
