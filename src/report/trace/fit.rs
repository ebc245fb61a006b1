//! A fitted workload with how well it imitates its trace.

use serde_json::{Value, json};

use super::super::wrap::{COLUMNS, wrap};
use super::{FIT_SCHEMA, figure_of};
use crate::experiment::imitation::{RefusalComparison, TOLERANCE};
use crate::scenario::workload_toml;
use crate::stats::text::{count, percent, significant};
use crate::workload::fit::Fit;
use crate::workload::inspect::WINDOWS;

/// By how much an imitation may miss a figure of its trace, relative to it: the rate, and all others.
const ALLOWED: (f64, f64) = (0.01, 0.05);

/// One figure of trace and imitation.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    /// Name in machine formats.
    name: &'static str,
    /// Name for people.
    label: String,
    trace: Option<f64>,
    imitation: Option<f64>,
    /// Half the width of the 95 % interval of `imitation`, where it has one.
    half_width: Option<f64>,
    /// How far off it may be, relative to the trace; `None` where nothing is promised.
    allowed: Option<f64>,
    /// It is a share.
    share: bool,
}

impl Line {
    fn error(&self) -> Option<f64> {
        let trace = self.trace.filter(|trace| *trace != 0.0)?;
        Some(self.imitation? / trace - 1.0)
    }

    fn misses(&self) -> bool {
        self.error().zip(self.allowed).is_some_and(|(error, allowed)| error.abs() > allowed)
    }
}

fn lines(fit: &Fit, refusals: Option<&RefusalComparison>) -> Vec<Line> {
    let labels = [
        "requests/s",
        "variation of the gaps",
        "prompt tokens, mean",
        "prompt tokens, p99",
        "generated tokens, mean",
        "generated tokens, p99",
    ];
    let figures = fit.trace.named().into_iter().zip(fit.imitation.named()).zip(labels);
    let mut lines: Vec<Line> = figures
        .map(|(((name, trace), (_, imitation)), label)| Line {
            name,
            label: label.to_owned(),
            trace: Some(trace),
            imitation: Some(imitation),
            half_width: None,
            allowed: Some(if name == "rate" { ALLOWED.0 } else { ALLOWED.1 }),
            share: false,
        })
        .collect();
    let names = ["dispersion_1s", "dispersion_10s", "dispersion_60s"];
    for (i, name) in names.into_iter().enumerate().filter(|(i, _)| fit.trace.dispersion[*i] > 0.0) {
        lines.push(Line {
            name,
            label: format!("dispersion per {} s", WINDOWS[i]),
            trace: Some(fit.trace.dispersion[i]),
            imitation: Some(fit.imitation.dispersion[i]),
            half_width: None,
            allowed: None,
            share: false,
        });
    }
    lines.extend(refusals.map(|refusals| Line {
        name: "rate_529",
        label: "refused".to_owned(),
        trace: refusals.trace,
        imitation: refusals.imitation.map(|share| share.mean),
        half_width: refusals.imitation.and_then(|share| share.half_width),
        allowed: Some(TOLERANCE),
        share: true,
    }));
    lines
}

/// How well the fit imitates the trace called `name`, for people; with refusals where a fleet was given.
pub fn fit_text(name: &str, fit: &Fit, refusals: Option<&RefusalComparison>) -> String {
    let lines = lines(fit, refusals);
    let mut text = wrap("", &headline(name, fit), 0, COLUMNS);
    text.push('\n');
    let heading = ["trace", "imitation", "off by", "allowed"].map(|name| format!("{name:>12}")).concat();
    text.push_str(&format!("{:<26}{heading}\n", ""));
    for line in &lines {
        text.push_str(&table_row(line));
    }
    if let Some(refusals) = refusals {
        text.push_str(&format!("  refused on the fleet of {}\n", refusals.scenario));
    }
    let misses: Vec<String> = lines.iter().filter(|line| line.misses()).map(|line| miss(line, fit)).collect();
    text.push('\n');
    if misses.is_empty() {
        text.push_str(&verdict(refusals));
    }
    misses.iter().for_each(|miss| text.push_str(&wrap("! ", miss, 2, COLUMNS)));
    text
}

fn verdict(refusals: Option<&RefusalComparison>) -> String {
    match refusals {
        None => "every figure is within what is allowed; `--scenario FILE` compares refusals as well\n".to_owned(),
        Some(refusals) if refusals.trace == Some(0.0) => {
            "every figure is within what is allowed, but the fleet refuses nothing of the trace\n".to_owned()
        }
        Some(_) => "every figure is within what is allowed\n".to_owned(),
    }
}

fn headline(name: &str, fit: &Fit) -> String {
    let stream = &fit.workload.streams[0];
    let rate = stream.arrivals.as_ref().and_then(|process| process.schedule()).expect("a fit is a renewal process");
    let pieces = match rate.0.len() {
        1 => "a level rate".to_owned(),
        n => format!("{n} level rates"),
    };
    format!(
        "{name}: {} requests imitated by {} arrivals of {pieces} (variation {}) and {} pairs of prompt and answer (rank correlation {})",
        count(fit.report.emitted),
        fit.process,
        figure_of(fit.cv),
        count(fit.distinct_pairs() as u64),
        fit.length_correlation
    )
}

fn table_row(line: &Line) -> String {
    let value = |value: Option<f64>| match value {
        None => "-".to_owned(),
        Some(value) if line.share => percent(value),
        Some(value) => figure_of(value),
    };
    let error = line.error().map_or_else(|| "-".to_owned(), |error| format!("{:+.1} %", error * 100.0));
    let allowed = line.allowed.map_or_else(|| "not fitted".to_owned(), |allowed| format!("{:.0} %", allowed * 100.0));
    let cells = [value(line.trace), value(line.imitation), error, allowed].map(|cell| format!("{cell:>12}")).concat();
    let spread = line
        .half_width
        .map(|half| format!("{:<38}{:>12}\n", "  95 % interval", format!("+- {}", percent(half))))
        .unwrap_or_default();
    format!("{:<26}{cells}\n{spread}", line.label)
}

/// What is missed, by how much, and why.
fn miss(line: &Line, fit: &Fit) -> String {
    let error = line.error().unwrap_or(0.0);
    let more = if error > 0.0 { "more" } else { "less" };
    let allowed = line.allowed.unwrap_or(0.0);
    format!("{}: {} {more} than the trace ({} allowed): {}", line.label, percent(error.abs()), percent(allowed), why(line, fit))
}

fn why_lengths(line: &Line, fit: &Fit) -> String {
    if fit.distinct_pairs() < fit.report.emitted as usize / 2 {
        return "pairs of lengths were thinned: raise `--pairs`, or leave it out".to_owned();
    }
    match line.name {
        "input_p99" | "output_p99" => "a few long requests make this figure, and chance draws them more or less often".to_owned(),
        _ => format!("{} draws vary by chance", count(fit.report.emitted)),
    }
}

/// The likely cause of a miss and what to try.
fn why(line: &Line, fit: &Fit) -> String {
    match line.name {
        "rate" => format!("a random number of {} arrivals varies by chance", count(fit.report.emitted)),
        "gap_cv" => {
            "no renewal process under level rates has such gaps: ticks want `--dequantise`, long silences more `--pieces`"
                .to_owned()
        }
        "rate_529" => why_refusals(line, fit),
        _ => why_lengths(line, fit),
    }
}

fn why_refusals(line: &Line, fit: &Fit) -> String {
    let (trace, imitation) = (line.trace.unwrap_or(0.0), line.imitation.unwrap_or(0.0));
    if line.half_width.is_some_and(|half| (trace - imitation).abs() <= half) {
        return "within what chance does to the imitation from run to run".to_owned();
    }
    let worst = (0..WINDOWS.len())
        .map(|i| (i, fit.imitation.dispersion[i] / fit.trace.dispersion[i] - 1.0))
        .filter(|(_, off)| off.is_finite())
        .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    match worst.filter(|(_, off)| off.abs() > 0.15) {
        Some((i, _)) => format!(
            "counts per {} s vary otherwise (dispersion {} in the trace, {} in the imitation): bursts that level rates do not \
             follow; more `--pieces` come closer",
            WINDOWS[i],
            significant(fit.trace.dispersion[i], 3),
            significant(fit.imitation.dispersion[i], 3)
        ),
        None => {
            "within a piece of time long requests come together in the trace, in the imitation each is drawn by itself: more \
                 `--pieces` come closer"
                .to_owned()
        }
    }
}

/// The `[workload]` table of the fit, with how well it imitates the trace as comments above it; with `pairs_file`, the pairs of
/// lengths are in that CSV file beside it.
pub fn fit_toml(name: &str, fit: &Fit, refusals: Option<&RefusalComparison>, pairs_file: Option<&str>) -> String {
    let mut text = String::new();
    for line in fit_text(name, fit, refusals).lines() {
        text.push_str(format!("# {line}").trim_end());
        text.push('\n');
    }
    let end = fit.span;
    text.push_str(&format!("#\n# The trace is over at horizon = \"{end}\".\n"));
    text.push_str(&workload_toml(&fit.workload, pairs_file));
    text
}

/// How well the fit imitates the trace called `name`, as JSON.
pub fn fit_json(name: &str, fit: &Fit, refusals: Option<&RefusalComparison>) -> Vec<u8> {
    let figures: Vec<Value> = lines(fit, refusals)
        .iter()
        .map(|line| {
            json!({
                "figure": line.name,
                "trace": line.trace,
                "imitation": line.imitation,
                "half_width": line.half_width,
                "relative_error": line.error(),
                "allowed": line.allowed,
                "misses": line.misses(),
                "why": line.misses().then(|| why(line, fit)),
            })
        })
        .collect();
    super::to_bytes(&json!({
        "schema": FIT_SCHEMA,
        "trace": name,
        "requests": fit.report.emitted,
        "span_s": fit.span.as_secs_f64(),
        "process": fit.process,
        "cv": fit.cv,
        "gap_distance": fit.gap_distance,
        "length_correlation": fit.length_correlation,
        "scenario": refusals.map(|refusals| refusals.scenario.clone()),
        "figures": figures,
        "pairs": fit.distinct_pairs(),
        "workload": workload_toml(&fit.workload, None),
    }))
}
