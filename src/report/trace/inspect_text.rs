//! The statistics of a trace for people: one screen of 80 columns.

use super::super::wrap::{COLUMNS, wrap};
use super::{block, figure_of, requests, row, seconds};
use crate::stats::text::{count, percent, significant};
use crate::workload::inspect::{ArrivalSummary, COARSE, GapSummary, LengthSummary, TraceSummary, WINDOWS, WindowSummary};
use crate::workload::trace::TraceWarning;

/// Fewer requests than this say nothing of parts of the trace.
const FEW: u64 = 100;
/// Classes listed at most.
const MOST_CLASSES: usize = 8;
/// Counts of coarse windows listed at most.
const MOST_COARSE: usize = 36;

/// The statistics of the trace called `name`.
pub fn inspection_text(name: &str, trace: &TraceSummary) -> String {
    let mut text = wrap("", &headline(name, trace), 0, COLUMNS);
    text.push('\n');
    text.push_str(&rows(trace));
    if let Some(arrivals) = &trace.arrivals {
        text.push_str(&arrivals_block(arrivals, trace.rows));
        text.push_str(&windows(arrivals));
    }
    text.push_str(&lengths(trace));
    if trace.prefix.is_some() || !trace.classes.is_empty() {
        text.push('\n');
    }
    if let Some(prefix) = &trace.prefix {
        let line = format!(
            "{} of the prompt tokens lie in leading blocks seen before ({} distinct blocks, infinite cache)",
            percent(prefix.reusable_share),
            count(prefix.distinct_blocks)
        );
        text.push_str(&block("prefix reuse", &line));
    }
    text.push_str(&classes(&trace.classes));
    text.push_str(&warnings(&trace.warnings));
    text
}

/// What was recognised, how much, for how long.
fn headline(name: &str, trace: &TraceSummary) -> String {
    let recognised = format!("{name}: {} trace, {}", trace.format.name(), requests(trace.rows));
    match &trace.arrivals {
        Some(arrivals) if arrivals.span > 0.0 => {
            format!("{recognised} in {} s, {}/s", thousands(arrivals.span), figure_of(arrivals.rate))
        }
        Some(_) if trace.rows == 1 => recognised,
        Some(_) => format!("{recognised}, all at one instant"),
        None if trace.rows > 0 => format!("{recognised}, lengths without arrivals"),
        None => recognised,
    }
}

/// Seconds with two decimals, thousands apart.
fn thousands(value: f64) -> String {
    let hundredths = (value * 100.0).round() as u64;
    format!("{}.{:02}", count(hundredths / 100), hundredths % 100)
}

/// What is read and what a replay would drop.
fn rows(trace: &TraceSummary) -> String {
    let zero: u64 = trace.zero_rows.iter().sum();
    let mut text = requests(trace.rows);
    if trace.other_rows > 0 {
        text.push_str(&format!(" + {} rows of other kinds (not requests)", count(trace.other_rows)));
    }
    let mut text = block("rows", &text);
    if zero > 0 {
        let names = ["no_tokens", "no_input_tokens", "no_output_tokens"];
        let reasons: Vec<String> =
            names.iter().zip(trace.zero_rows).filter(|(_, n)| *n > 0).map(|(name, n)| format!("{} {name}", count(n))).collect();
        let line = format!("{} would be dropped in a replay ({})", count(zero), reasons.join(", "));
        text.push_str(&block("", &line));
    }
    if trace.out_of_order > 0 {
        let line = format!("{} arrive before the row above them: a replay needs `sort`", count(trace.out_of_order));
        text.push_str(&block("", &line));
    }
    if trace.session_rows > 0 {
        text.push_str(&block("", &format!("{} belong to sessions", count(trace.session_rows))));
    }
    text
}

fn gaps_block(gaps: &GapSummary) -> String {
    let line = format!(
        "mean {}, p50 {}, p90 {}, p99 {}, max {}",
        seconds(gaps.mean),
        seconds(gaps.p50),
        seconds(gaps.p90),
        seconds(gaps.p99),
        seconds(gaps.max)
    );
    let mut text = block("gaps", &line);
    let mut line = format!("coefficient of variation {} (1 is Poisson)", figure_of(gaps.cv));
    if gaps.zero > 0 {
        line.push_str(&format!(", {} gaps of 0", count(gaps.zero)));
    }
    text.push_str(&block("", &line));
    let long = |what: &str, (n, sum): (u64, f64)| format!("{} above {what} ({} in all)", count(n), seconds(sum));
    let above = [("10 s", gaps.above_10s), ("60 s", gaps.above_60s)];
    let above: Vec<String> = above.into_iter().filter(|(_, a)| a.0 > 0).map(|(what, a)| long(what, a)).collect();
    if !above.is_empty() {
        text.push_str(&block("", &above.join(", ")));
    }
    text
}

fn arrivals_block(arrivals: &ArrivalSummary, rows: u64) -> String {
    let mut text = arrivals.gaps.as_ref().map(gaps_block).unwrap_or_default();
    let ticks = &arrivals.ticks;
    if ticks.per_instant.1 > 1 {
        let line = format!(
            "{} distinct, {} requests each on average, at most {}",
            count(ticks.instants),
            significant(ticks.per_instant.0, 3),
            count(ticks.per_instant.1)
        );
        text.push_str(&block("instants", &line));
    }
    if arrivals.span > 0.0 {
        let (input, output) = arrivals.token_rates;
        text.push_str(&block("tokens", &format!("{}/s of prompts, {}/s generated", figure_of(input), figure_of(output))));
    }
    if rows >= FEW {
        let tenth =
            format!("{}/s in the first tenth of the time, {}/s in all", figure_of(arrivals.head_rate), figure_of(arrivals.rate));
        text.push_str(&block("head", &tenth));
    }
    if (2..=MOST_COARSE).contains(&arrivals.coarse.len()) {
        let counts: Vec<String> = arrivals.coarse.iter().map(|n| count(*n)).collect();
        text.push_str(&block(&format!("per {} min", COARSE / 60), &counts.join(" ")));
    }
    text
}

fn windows(arrivals: &ArrivalSummary) -> String {
    let known: Vec<(u64, &WindowSummary)> =
        WINDOWS.iter().zip(&arrivals.windows).filter_map(|(width, window)| Some((*width, window.as_ref()?))).collect();
    if known.is_empty() {
        return String::new();
    }
    let cells = |of: &dyn Fn(&WindowSummary) -> String| known.iter().map(|(_, window)| of(window)).collect::<Vec<_>>();
    let widths: Vec<String> = known.iter().map(|(width, _)| format!("{width} s")).collect();
    let mut text = format!("\n{}", row("counts per window", &widths));
    text.push_str(&row("  dispersion (variance/mean)", &cells(&|w| figure_of(w.dispersion))));
    text.push_str(&row("  peak / mean", &cells(&|w| figure_of(w.peak_to_mean))));
    text.push_str(&row("  peak", &cells(&|w| count(w.peak))));
    text.push_str(&row("  windows without a request", &cells(&|w| percent(w.empty))));
    text.push_str(&row("  prompt tokens, peak / mean", &cells(&|w| figure_of(w.input_peak_to_mean))));
    text.push_str(&row("  generated, peak / mean", &cells(&|w| figure_of(w.output_peak_to_mean))));
    text
}

fn lengths(trace: &TraceSummary) -> String {
    let (Some(input), Some(output)) = (&trace.input_tokens, &trace.output_tokens) else { return String::new() };
    let names = ["mean", "p50", "p90", "p99", "max"].map(str::to_owned);
    let mut text = format!("\n{}", row("tokens per request", &names));
    text.push_str(&length_row("  prompt", input));
    text.push_str(&length_row("  generated", output));
    let cap = |what: &str, of: &LengthSummary| {
        (of.at_max > 1 && of.max > of.min).then(|| format!("{} {what} at the largest value", count(of.at_max)))
    };
    let sign = |x: f64| if x < 0.0 { "-" } else { "" };
    let correlation = trace.correlation.map(|x| format!("correlation of the two {}{}", sign(x), significant(x.abs(), 2)));
    let notes: Vec<String> = correlation.into_iter().chain(cap("prompts", input)).chain(cap("outputs", output)).collect();
    if !notes.is_empty() {
        text.push_str(&wrap("  ", &notes.join(", "), 2, COLUMNS));
    }
    text
}

fn length_row(label: &str, of: &LengthSummary) -> String {
    let whole = |value: f64| count(value.round() as u64);
    let mean = if of.mean < 99.95 { significant(of.mean, 3) } else { whole(of.mean) };
    row(label, &[mean, whole(of.p50), whole(of.p90), whole(of.p99), count(u64::from(of.max))])
}

fn classes(classes: &[(String, u64)]) -> String {
    if classes.is_empty() {
        return String::new();
    }
    let mut listed: Vec<String> = classes.iter().take(MOST_CLASSES).map(|(name, n)| format!("{name} {}", count(*n))).collect();
    if classes.len() > MOST_CLASSES {
        listed.push(format!("and {} more", classes.len() - MOST_CLASSES));
    }
    block("classes", &listed.join(", "))
}

fn warnings(warnings: &[TraceWarning]) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let listed: String = warnings.iter().map(|warning| wrap("  ! ", &warning.to_string(), 4, COLUMNS)).collect();
    format!("\nwarnings\n{listed}")
}
