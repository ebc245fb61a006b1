//! The scenario with one thing a little different: what the answer is sensitive to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::config::{FULL_SPEED, WorkerEngine};
use crate::scenario::Scenario;
use crate::units::Span;
use crate::workload::config::{LengthDistribution, LengthShape, SpanDistribution, StreamLengths};

use super::load::scale;

/// By how much things differ.
const STEP: f64 = 0.1;

/// What differs from the scenario as asked, and by which factor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "of")]
pub enum Variant {
    /// Nothing.
    Asked,
    /// Arrivals.
    Rate {
        /// Times as much.
        factor: f64,
    },
    /// Prompts.
    InputTokens {
        /// Times as much.
        factor: f64,
    },
    /// Answers.
    OutputTokens {
        /// Times as much.
        factor: f64,
    },
    /// Steps of the engines, or service times of opaque workers.
    StepTime {
        /// Times as much.
        factor: f64,
    },
    /// The way of load reports.
    TelemetryDelay {
        /// Times as much.
        factor: f64,
    },
}

impl Variant {
    /// The scenario as asked, then every variant that differs from it.
    pub(super) fn all(scenario: &Scenario) -> Vec<Self> {
        let factors = [1.0 - STEP, 1.0 + STEP];
        let kinds: [fn(f64) -> Self; 5] = [
            |factor| Self::Rate { factor },
            |factor| Self::InputTokens { factor },
            |factor| Self::OutputTokens { factor },
            |factor| Self::StepTime { factor },
            |factor| Self::TelemetryDelay { factor },
        ];
        let differs = |variant: &Self| {
            let mut changed = scenario.clone();
            variant.apply(&mut changed);
            changed != *scenario
        };
        let variants = kinds.iter().flat_map(|kind| factors.map(kind)).filter(differs);
        std::iter::once(Self::Asked).chain(variants).collect()
    }

    /// Name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Rate { .. } => "rate",
            Self::InputTokens { .. } => "input_tokens",
            Self::OutputTokens { .. } => "output_tokens",
            Self::StepTime { .. } => "step_time",
            Self::TelemetryDelay { .. } => "telemetry_delay",
        }
    }

    /// The factor; 1 of the scenario as asked.
    pub const fn factor(self) -> f64 {
        match self {
            Self::Asked => 1.0,
            Self::Rate { factor }
            | Self::InputTokens { factor }
            | Self::OutputTokens { factor }
            | Self::StepTime { factor }
            | Self::TelemetryDelay { factor } => factor,
        }
    }

    /// Changes the scenario.
    pub(super) fn apply(self, scenario: &mut Scenario) {
        match self {
            Self::Asked => {}
            Self::Rate { factor } => scale(scenario, factor),
            Self::InputTokens { factor } => {
                scenario.workload.streams.iter_mut().for_each(|stream| scale_side(&mut stream.lengths, Side::Input, factor));
            }
            Self::OutputTokens { factor } => {
                scenario.workload.streams.iter_mut().for_each(|stream| scale_side(&mut stream.lengths, Side::Output, factor));
            }
            Self::StepTime { factor } => scenario.fleet.types.iter_mut().for_each(|t| scale_engine(&mut t.engine, factor)),
            Self::TelemetryDelay { factor } => scale_spans(&mut scenario.telemetry.delay, factor),
        }
    }
}

fn scale_engine(engine: &mut WorkerEngine, factor: f64) {
    match engine {
        WorkerEngine::Batching(engine) => {
            engine.timing = engine.timing.slowed((factor * FULL_SPEED as f64).round_ties_even() as u64);
        }
        WorkerEngine::Opaque { service_time, .. } => service_time.iter_mut().for_each(|time| scale_spans(time, factor)),
    }
}

fn scale_span(span: &mut Span, factor: f64) {
    *span = Span::from_nanos((span.as_nanos() as f64 * factor).round_ties_even() as u64);
}

fn scale_spans(spans: &mut SpanDistribution, factor: f64) {
    match spans {
        SpanDistribution::Constant { value } => scale_span(value, factor),
        SpanDistribution::Uniform { low, high } => {
            scale_span(low, factor);
            scale_span(high, factor);
        }
        SpanDistribution::Exponential { mean }
        | SpanDistribution::Gamma { mean, .. }
        | SpanDistribution::Lognormal { mean, .. } => scale_span(mean, factor),
        SpanDistribution::Empirical { values } => values.iter_mut().for_each(|(value, _)| scale_span(value, factor)),
    }
}

fn scale_count(count: &mut u32, factor: f64) {
    *count = ((f64::from(*count) * factor).round_ties_even() as u32).max(u32::from(*count > 0));
}

/// Which lengths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Input,
    Output,
}

fn scale_side(lengths: &mut StreamLengths, side: Side, factor: f64) {
    match (lengths, side) {
        (StreamLengths::Separate { input_tokens, .. }, Side::Input) => scale_lengths(input_tokens, factor),
        (StreamLengths::Separate { output_tokens, .. }, Side::Output) => scale_lengths(output_tokens, factor),
        (StreamLengths::Paired(schedule), side) => {
            for pair in schedule.0.iter_mut().flat_map(|piece| &mut piece.pairs) {
                scale_count(if side == Side::Input { &mut pair.input_tokens } else { &mut pair.output_tokens }, factor);
            }
        }
    }
}

fn scale_lengths(lengths: &mut LengthDistribution, factor: f64) {
    // A longer answer is not cut where the shorter one was.
    lengths.max.iter_mut().for_each(|most| scale_count(most, factor.max(1.0)));
    match &mut lengths.shape {
        LengthShape::Constant { value } => scale_count(value, factor),
        LengthShape::Uniform { low, high } => {
            scale_count(low, factor);
            scale_count(high, factor);
        }
        LengthShape::Lognormal { mean, p99 } => {
            *mean *= factor;
            *p99 *= factor;
        }
        LengthShape::Gamma { mean, .. } => *mean *= factor,
        LengthShape::Pareto { scale, .. } => *scale *= factor,
        LengthShape::Empirical { values } => values.iter_mut().for_each(|(value, _)| scale_count(value, factor)),
        LengthShape::Mixture { components } => {
            components.iter_mut().for_each(|component| scale_lengths(&mut component.distribution, factor));
        }
    }
}
