//! What a calibration found: text, JSON and a chart.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::charts::data::{AgreementData, AgreementPanel, AgreementSeries, Heading, Quantity, Sample, Unit};
use super::charts::{Figure, agreement};
use super::wrap::{COLUMNS, wrap};
use crate::calibrate::{Calibration, Comparison, Evidence, Goodness, Latency, PointErrors};
use crate::cluster::config::StepTiming;
use crate::stats::text::{count, duration, percent, significant};

/// Version of the JSON form.
const SCHEMA: u32 = 1;

/// One screen for people; `written` says where the preset stands.
pub fn calibration_text(calibration: &Calibration, written: &str) -> String {
    let mut text = format!("{}\n\n", headline(calibration));
    for fact in &calibration.facts {
        text.push_str(&wrap("  ", fact, 2, COLUMNS));
    }
    text.push_str("\nstep time\n");
    for (name, value) in coefficients(&calibration.preset.timing) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {name:<28} {value}");
    }
    text.push('\n');
    match &calibration.goodness {
        Goodness::Run { requests, fitted, whole } => {
            table(&mut text, &format!("the {} requests fitted", count(*requests as u64)), fitted);
            if let Some(whole) = whole {
                table(&mut text, "the whole log, predicted", whole);
            }
        }
        Goodness::Points { prefill, decode } => {
            text.push_str("error                  points       p50       p90       p99\n");
            for (name, PointErrors { points, p50, p90, p99 }) in [("prefill", prefill), ("decode", decode)] {
                let _ = writeln!(text, "  {name:<20} {points:>6} {:>9} {:>9} {:>9}", percent(*p50), percent(*p90), percent(*p99));
            }
            text.push('\n');
        }
    }
    if let Some(validity) = &calibration.preset.validity {
        text.push_str(&wrap("holds: ", validity, 7, COLUMNS));
    }
    for doubt in &calibration.doubts {
        text.push_str(&wrap("beware: ", &doubt.message, 8, COLUMNS));
    }
    text.push('\n');
    text.push_str(&wrap("", written, 0, COLUMNS));
    text
}

/// The finding in a sentence.
fn headline(calibration: &Calibration) -> String {
    let name = &calibration.preset.name;
    match &calibration.goodness {
        Goodness::Run { whole: Some(whole), requests, .. } => format!(
            "{name}: fitted to the first {} requests, predicts the whole log within {}",
            count(*requests as u64),
            percent(worst(whole))
        ),
        Goodness::Run { fitted, .. } => {
            format!("{name}: p50, p90 and p99 of its latencies are within {} of the run", percent(worst(fitted)))
        }
        Goodness::Points { prefill, decode } => format!(
            "{name}: median error {} over {} prefill points, {} over {} decode points",
            percent(prefill.p50),
            prefill.points,
            percent(decode.p50),
            decode.points
        ),
    }
}

/// The largest error of a latency.
fn worst(figures: &[Comparison]) -> f64 {
    figures.iter().filter(|c| !c.measure.starts_with("peak")).map(|c| c.error.abs()).fold(0.0, f64::max)
}

/// Name and amount of each coefficient.
fn coefficients(timing: &StepTiming) -> Vec<(&'static str, String)> {
    let amount = |a: &crate::units::Attos| duration(a.as_secs_f64() * 1e9);
    match timing {
        StepTiming::SingleBase { base, prefill, prefill_squared, decode, context } => vec![
            ("base", amount(base)),
            ("per prefill token", amount(prefill)),
            ("per prefill token squared", amount(prefill_squared)),
            ("per decoding sequence", amount(decode)),
            ("per context token", amount(context)),
        ],
        StepTiming::TwoPart { prefill, decode } => {
            let names = ["prefill", "  per token", "  per token squared", "decode", "  per sequence", "  per context token"];
            names.into_iter().zip(prefill.iter().chain(decode).map(amount)).collect()
        }
        StepTiming::Mocker | StepTiming::Slowed { .. } => Vec::new(),
    }
}

fn table(text: &mut String, title: &str, figures: &[Comparison]) {
    let _ = writeln!(text, "{title:<32} {:>12} {:>12} {:>9}", "measured", "simulated", "error");
    for c in figures {
        let (measured, simulated) = (figure(c, c.measured), figure(c, c.simulated));
        let _ = writeln!(text, "  {:<30} {measured:>12} {simulated:>12} {:>+7.2} %", label(&c.measure), c.error * 100.0);
    }
    text.push('\n');
}

/// A measure in words.
fn label(measure: &str) -> String {
    let (name, rest) = measure.split_once('_').unwrap_or((measure, ""));
    match name {
        "ttft" => format!("time to first token {rest}"),
        "tpot" => format!("time per output token {rest}"),
        "e2e" => format!("end to end {rest}"),
        _ => measure.replace('_', " "),
    }
}

fn figure(c: &Comparison, value: f64) -> String {
    if c.measure.starts_with("peak") { significant(value, 4) } else { duration(value * 1e9) }
}

/// The calibration as JSON: base units, errors as shares.
pub fn calibration_json(calibration: &Calibration) -> Vec<u8> {
    let value = json!({
        "schema": SCHEMA,
        "preset": calibration.preset.name,
        "source": calibration.preset.source,
        "step_time_s": step_time(&calibration.preset.timing),
        "kv_total_blocks": calibration.preset.kv_total_blocks,
        "kv_cache_block_size": calibration.preset.kv_cache_block_size,
        "max_num_seqs": calibration.preset.max_num_seqs,
        "max_num_batched_tokens": calibration.preset.max_num_batched_tokens,
        "goodness": calibration.goodness,
        "range": calibration.range,
        "doubts": calibration.doubts,
    });
    let mut bytes = serde_json::to_vec_pretty(&value).expect("plain data");
    bytes.push(b'\n');
    bytes
}

fn step_time(timing: &StepTiming) -> Value {
    match timing {
        StepTiming::SingleBase { base, prefill, prefill_squared, decode, context } => json!({
            "base": base.as_secs_f64(),
            "prefill": prefill.as_secs_f64(),
            "prefill_squared": prefill_squared.as_secs_f64(),
            "decode": decode.as_secs_f64(),
            "context": context.as_secs_f64(),
        }),
        StepTiming::TwoPart { prefill, decode } => json!({
            "prefill": prefill.each_ref().map(|a| a.as_secs_f64()),
            "decode": decode.each_ref().map(|a| a.as_secs_f64()),
        }),
        StepTiming::Mocker | StepTiming::Slowed { .. } => Value::Null,
    }
}

/// Measured beside simulated.
pub fn calibration_figure(calibration: &Calibration) -> Figure {
    let panels = match &calibration.evidence {
        Evidence::Run { latencies, running, waiting } => {
            let mut panels: Vec<AgreementPanel> =
                Latency::ALL.into_iter().zip(latencies).map(|(latency, pair)| distribution(latency, pair)).collect();
            panels.push(over_time("running sequences", running));
            panels.push(over_time("waiting sequences", waiting));
            panels
        }
        Evidence::Points { prefill, decode } => {
            let series = |name: &str, pairs: &[(f64, f64)]| AgreementSeries {
                name: name.to_owned(),
                points: pairs.iter().map(|(measured, fitted)| [*measured, *fitted]).collect(),
            };
            let (x, y) = (seconds("measured", true), seconds("fitted", true));
            let panel =
                |name, pairs| AgreementPanel { x: x.clone(), y: y.clone(), scatter: true, series: vec![series(name, pairs)] };
            vec![panel("prefill", prefill), panel("decode", decode)]
        }
    };
    let heading = Heading {
        title: headline(calibration),
        subtitle: calibration.preset.source.clone().unwrap_or_default(),
        ..Heading::default()
    };
    agreement(&AgreementData { heading, panels })
}

fn seconds(label: &str, log: bool) -> Quantity {
    Quantity { label: label.to_owned(), unit: Unit::Seconds, log, ..Quantity::default() }
}

fn distribution(latency: Latency, (measured, simulated): &(Vec<f64>, Vec<f64>)) -> AgreementPanel {
    let label = match latency {
        Latency::Ttft => "time to first token",
        Latency::Tpot => "time per output token",
        Latency::E2e => "end to end",
    };
    let curve = |name: &str, sorted: &[f64]| AgreementSeries {
        name: name.to_owned(),
        points: sorted.iter().zip(1u32..).map(|(v, i)| -> Sample { [*v, f64::from(i) / sorted.len() as f64] }).collect(),
    };
    AgreementPanel {
        x: seconds(label, false),
        y: Quantity { label: format!("share at or below: {label}"), unit: Unit::Share, ..Quantity::default() },
        scatter: false,
        series: vec![curve("measured", measured), curve("simulated", simulated)],
    }
}

fn over_time(label: &str, points: &[[f64; 3]]) -> AgreementPanel {
    let series =
        |name: &str, i: usize| AgreementSeries { name: name.to_owned(), points: points.iter().map(|p| [p[0], p[i]]).collect() };
    AgreementPanel {
        x: seconds("time after the first request", false),
        y: Quantity { label: label.to_owned(), ..Quantity::default() },
        scatter: false,
        series: vec![series("measured", 1), series("simulated", 2)],
    }
}
