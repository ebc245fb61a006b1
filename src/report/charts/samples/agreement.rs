//! Samples of figures that hold two things against each other.

use super::super::data::{AgreementData, AgreementPanel, AgreementSeries, Quantity, Sample, Unit};
use super::super::{Figure, agreement};
use super::{Noise, heading};

pub(super) fn figures() -> Vec<(&'static str, Figure)> {
    let mut noise = Noise(5);
    let seconds = |label: &str, log| Quantity { label: label.to_owned(), unit: Unit::Seconds, log, ..Quantity::default() };
    let mut series = |name: &str, slope: f64| AgreementSeries {
        name: name.to_owned(),
        points: (1..=300)
            .map(|i| -> Sample { [f64::from(i) * 0.1, f64::from(i) * slope * (0.8 + 0.4 * noise.next())] })
            .collect(),
    };
    let curves = AgreementPanel {
        x: seconds("time after the first request", false),
        y: Quantity { label: "running sequences".to_owned(), ..Quantity::default() },
        scatter: false,
        series: vec![series("measured", 0.4), series("simulated", 0.41)],
    };
    let points = AgreementPanel {
        x: seconds("measured", true),
        y: seconds("fitted", true),
        scatter: true,
        series: vec![series("prefill", 0.1), series("decode", 0.02)],
    };
    let hollow = AgreementPanel { series: Vec::new(), ..points.clone() };
    let several = AgreementData {
        heading: heading("p50, p90 and p99 are within 2.4 % of the run"),
        panels: vec![curves.clone(), points.clone(), curves, hollow],
    };
    let one = AgreementData { heading: heading("17 prefill and 34 decode points"), panels: vec![points] };
    let none = AgreementData { heading: heading("nothing was compared"), panels: Vec::new() };
    vec![("agreement", agreement(&several)), ("agreement_points", agreement(&one)), ("agreement_empty", agreement(&none))]
}
