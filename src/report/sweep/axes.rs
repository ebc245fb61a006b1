//! Names and numbers of a sweep as a reader sees them.

use crate::experiment::measure_table::{Measure, MeasureUnit};
use crate::experiment::sweep::{Axis, Estimate, Target};
use crate::report::charts::data;
use crate::stats::text;

/// The field without its table: `active_decode_blocks_threshold`; a rate is the arrival rate.
pub(in crate::report) fn short(axis: &Axis) -> String {
    let name = |path: &String| {
        let last = path.rsplit('.').find(|part| part.parse::<usize>().is_err()).unwrap_or(path);
        if last == "rate" { "arrival rate".to_owned() } else { last.to_owned() }
    };
    axis.paths.iter().map(name).collect::<Vec<_>>().join(":")
}

/// A value of an axis as it stands in a sentence: a rate with its unit, a factor of a rate with its name.
pub(super) fn value_of(axis: &Axis, place: usize) -> String {
    let label = axis.label(place);
    match axis {
        axis if !axis.is_rate() => label,
        axis if axis.paths[0].ends_with(".rate") => format!("{label} requests/s"),
        axis => format!("{} {label}", short(axis)),
    }
}

/// The axis for charts.
pub(in crate::report) fn quantity(axis: &Axis) -> data::Quantity {
    let count = axis.values.len();
    let numbers: Option<Vec<f64>> =
        if axis.paths.len() > 1 { None } else { (0..count).map(|place| axis.number(place)).collect() };
    let categories = if numbers.is_some() { Vec::new() } else { (0..count).map(|place| axis.label(place)).collect() };
    let numbers = numbers.unwrap_or_default();
    let (low, high) = (numbers.iter().copied().fold(f64::INFINITY, f64::min), numbers.iter().copied().fold(0.0, f64::max));
    let unit = match axis {
        axis if axis.is_span() => data::Unit::Seconds,
        axis if axis.is_rate() && axis.paths[0].ends_with(".rate") => data::Unit::Named("requests/s".to_owned()),
        _ => data::Unit::Number,
    };
    data::Quantity { label: short(axis), unit, log: low > 0.0 && high / low >= 50.0, categories }
}

/// The place of a value along the axis of a chart.
pub(in crate::report) fn x_of(axis: &Axis, place: usize) -> f64 {
    let numeric = axis.paths.len() == 1 && (0..axis.values.len()).all(|place| axis.number(place).is_some());
    axis.number(place).filter(|_| numeric).unwrap_or(place as f64)
}

/// The measure's name without what stands in brackets.
pub(super) fn name_of(measure: &Measure) -> &'static str {
    measure.label.split(" (").next().unwrap_or(measure.label)
}

/// The measure for charts.
pub(super) fn measure_quantity(measure: &Measure) -> data::Quantity {
    quantity_of(measure.unit, measure.label)
}

/// A quantity with a unit of measures for charts.
pub(in crate::report) fn quantity_of(unit: MeasureUnit, label: &str) -> data::Quantity {
    let unit = match unit {
        MeasureUnit::Share => data::Unit::Share,
        MeasureUnit::Seconds => data::Unit::Seconds,
        MeasureUnit::PerSecond => data::Unit::Named("requests/s".to_owned()),
        MeasureUnit::Count => data::Unit::Number,
    };
    data::Quantity { label: label.to_owned(), unit, log: false, categories: Vec::new() }
}

/// A value of a measure for people.
pub(in crate::report) fn show(measure: &Measure, value: f64) -> String {
    show_value(measure.unit, value)
}

/// A value with its unit for people.
pub(in crate::report) fn show_value(unit: MeasureUnit, value: f64) -> String {
    match unit {
        MeasureUnit::Share => text::percent(value),
        MeasureUnit::Seconds => text::duration(value * 1e9),
        MeasureUnit::PerSecond => format!("{}/s", text::significant(value, 3)),
        MeasureUnit::Count => text::significant(value, 3),
    }
}

/// A mean with its interval for people.
pub(super) fn show_estimate(measure: &Measure, estimate: &Estimate) -> String {
    match estimate.interval {
        Some((low, high)) => {
            // Next to nothing is not worth its digits.
            let low = if low > 0.0 && low < high / 1000.0 { "~0".to_owned() } else { show(measure, low) };
            format!("{} [{low}, {}]", show(measure, estimate.mean), show(measure, high))
        }
        None => show(measure, estimate.mean),
    }
}

/// A target in words: `529 rate at most 1 %`.
pub(super) fn words(target: &Target) -> String {
    let Some(measure) = Measure::find(&target.measure) else { return target.text.clone() };
    format!("{} {}", name_of(measure), bound(target, measure))
}

/// `at most 1 %`.
pub(super) fn bound(target: &Target, measure: &Measure) -> String {
    bound_of(target.at_least, target.value, measure.unit)
}

/// `at most 1 %`.
pub(in crate::report) fn bound_of(at_least: bool, value: f64, unit: MeasureUnit) -> String {
    // A target is a round number: it is told as it was written.
    let value = match unit {
        MeasureUnit::Share => format!("{} %", trim(value * 100.0)),
        MeasureUnit::Seconds if value < 1.0 => format!("{} ms", trim(value * 1000.0)),
        MeasureUnit::Seconds => format!("{} s", trim(value)),
        MeasureUnit::PerSecond => format!("{}/s", trim(value)),
        MeasureUnit::Count => trim(value),
    };
    format!("{} {value}", if at_least { "at least" } else { "at most" })
}

/// Up to six significant digits without trailing zeros.
fn trim(value: f64) -> String {
    let text = text::significant(value, 6);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The target for charts.
pub(super) fn chart_target(target: &Target, measure: &Measure) -> data::Target {
    let sense = if target.at_least { data::Sense::AtLeast } else { data::Sense::AtMost };
    data::Target { value: target.value, sense, label: format!("target: {}", bound(target, measure)) }
}

/// The field with its unit, for axes whose values are written out.
pub(super) fn labelled(axis: &Axis) -> String {
    if axis.is_rate() && axis.paths[0].ends_with(".rate") { format!("{} (requests/s)", short(axis)) } else { short(axis) }
}
