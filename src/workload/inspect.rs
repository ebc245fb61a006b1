//! The statistics of a trace: what `trace inspect` shows.
//!
//! Every row counts, also those that a replay would drop for having no tokens. Definitions: rate = (rows - 1) / span;
//! coefficients of variation and dispersions by population variance; percentiles by linear interpolation at rank
//! p (n - 1); windows start at the first arrival and a partial last one is left out; dispersion = variance / mean of the
//! counts per window; peak/mean = largest window count / mean window count.

use super::config::{SessionReplay, TraceConfig, TraceOptions};
use super::error::WorkloadError;
use super::trace::{ArrivalProfile, PrefixUse, RowOutcome, TraceFormat, TraceReader, TraceWarning};

mod servegen;
mod shape;

pub use servegen::{ServeGenSummary, inspect_servegen};
pub use shape::{ShapeInterval, TraceShape};

/// The windows of the dispersion figures, in seconds.
pub const WINDOWS: [u64; 3] = [1, 10, 60];
/// The window of the coarse profile, in seconds.
pub const COARSE: u64 = 300;

/// Statistics of a trace file.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSummary {
    /// Format of the file.
    pub format: TraceFormat,
    /// Rows that are requests.
    pub rows: u64,
    /// Rows of other kinds (events, whole sessions), not counted further.
    pub other_rows: u64,
    /// Rows with neither prompt nor output tokens, with no prompt tokens, with no output tokens; each row once.
    pub zero_rows: [u64; 3],
    /// Rows that belong to a session.
    pub session_rows: u64,
    /// Rows that arrive before the row above them.
    pub out_of_order: u64,
    /// When requests arrive; `None` for a file of lengths, or without rows.
    pub arrivals: Option<ArrivalSummary>,
    /// Prompt tokens; `None` without rows.
    pub input_tokens: Option<LengthSummary>,
    /// Generated tokens; `None` without rows.
    pub output_tokens: Option<LengthSummary>,
    /// Linear (Pearson) correlation of prompt and generated tokens; `None` if either does not vary.
    pub correlation: Option<f64>,
    /// Use of an infinite prefix cache; `None` without block identities.
    pub prefix: Option<PrefixSummary>,
    /// Rows by the class that they name, in order of appearance.
    pub classes: Vec<(String, u64)>,
    /// Its course over time and its lengths, as charts show them.
    pub shape: TraceShape,
    /// What its reader should know.
    pub warnings: Vec<TraceWarning>,
}

/// Statistics of the arrivals.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrivalSummary {
    /// From the first to the last arrival, seconds.
    pub span: f64,
    /// (rows - 1) / span, requests per second; 0 if all arrive at once.
    pub rate: f64,
    /// Gaps between successive arrivals, seconds; a single arrival has none.
    pub gaps: Option<GapSummary>,
    /// Per window of 1, 10 and 60 s; windows longer than the span have no figures.
    pub windows: [Option<WindowSummary>; 3],
    /// Requests per 300 s from the first arrival, the partial last window included.
    pub coarse: Vec<u64>,
    /// Prompt and generated tokens per second of the span.
    pub token_rates: (f64, f64),
    /// Arrivals by instant: how the recorder's ticks show.
    pub ticks: TickSummary,
    /// Rate of the first tenth of the span, requests per second.
    pub head_rate: f64,
}

/// Gaps between successive arrivals, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GapSummary {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Longest.
    pub max: f64,
    /// Coefficient of variation.
    pub cv: f64,
    /// Gaps of exactly 0.
    pub zero: u64,
    /// Gaps above 10 s: how many, and their sum in seconds.
    pub above_10s: (u64, f64),
    /// Gaps above 60 s: how many, and their sum in seconds.
    pub above_60s: (u64, f64),
}

/// Counts per window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSummary {
    /// Index of dispersion of the counts.
    pub dispersion: f64,
    /// Largest count over mean count.
    pub peak_to_mean: f64,
    /// Largest count.
    pub peak: u64,
    /// Share of windows without a request, 0 to 1.
    pub empty: f64,
    /// Largest over mean sum of prompt tokens.
    pub input_peak_to_mean: f64,
    /// Largest over mean sum of generated tokens.
    pub output_peak_to_mean: f64,
}

/// Arrivals that share an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TickSummary {
    /// Distinct instants.
    pub instants: u64,
    /// Shortest distance of two instants, seconds.
    pub shortest: f64,
    /// Longest distance of two instants, seconds.
    pub longest: f64,
    /// Requests per instant: mean, largest, and index of dispersion.
    pub per_instant: (f64, u64, f64),
}

/// Token counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthSummary {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Smallest.
    pub min: u32,
    /// Largest.
    pub max: u32,
    /// Rows at the largest value: many at once show a cap of the source.
    pub at_max: u64,
    /// Coefficient of variation.
    pub cv: f64,
}

/// Use of an infinite prefix cache by leading blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrefixSummary {
    /// Rows with block identities.
    pub rows: u64,
    /// Distinct blocks.
    pub distinct_blocks: u64,
    /// Share of their prompt tokens in leading blocks seen before, 0 to 1.
    pub reusable_share: f64,
}

/// One row, as the statistics need it.
struct Row {
    at: i128,
    input: u32,
    output: u32,
}

/// Reads a trace whole and computes its statistics. `context_limit` (tokens of prompt and output together) adds a warning
/// about longer requests. Of the options, only those that concern reading count: columns, unit, row limit, class column.
/// Memory grows with the trace.
///
/// # Errors
/// As [`TraceReader::open`] and [`TraceReader::next`].
pub fn inspect(config: &TraceConfig, context_limit: Option<u32>) -> Result<TraceSummary, WorkloadError> {
    // Turns without an instant of their own have to be put somewhere, where the user says what the format means by them.
    let named = config.format.is_some();
    let sessions = if named { SessionReplay::Follow } else { config.options.sessions };
    let config = &TraceConfig { options: TraceOptions { sessions, ..config.options.clone() }, ..config.clone() };
    let mut reader = TraceReader::open(config)?;
    let timed = reader.has_arrivals();
    let mut rows: Vec<Row> = Vec::new();
    let mut classes: Vec<u64> = Vec::new();
    let mut zero_rows = [0; 3];
    let (mut other_rows, mut session_rows, mut waiting_rows, mut out_of_order) = (0, 0, 0, 0);
    let mut prefix = PrefixUse::exact();
    while config.options.max_rows.is_none_or(|most| (rows.len() as u64) + other_rows < most) {
        let row = match reader.next()? {
            None => break,
            Some(RowOutcome::Skipped(_)) => {
                other_rows += 1;
                continue;
            }
            Some(RowOutcome::Request(row)) => row,
        };
        let at = row.arrival.unwrap_or(0);
        out_of_order += u64::from(rows.last().is_some_and(|last| at < last.at));
        session_rows += u64::from(row.in_session);
        waiting_rows += u64::from(row.delay.is_some());
        match (row.input_tokens, row.output_tokens) {
            (0, 0) => zero_rows[0] += 1,
            (0, _) => zero_rows[1] += 1,
            (_, 0) => zero_rows[2] += 1,
            _ => {}
        }
        if let Some(class) = row.class {
            classes.resize(reader.class_names().len(), 0);
            classes[usize::from(class)] += 1;
        }
        if !reader.hash_ids().is_empty() {
            prefix.add(reader.hash_ids(), row.input_tokens, row.block_size);
        }
        rows.push(Row { at, input: row.input_tokens, output: row.output_tokens });
    }
    rows.sort_by_key(|row| row.at);
    let column = |of: fn(&Row) -> u32| rows.iter().map(of).collect::<Vec<u32>>();
    let (input, output) = (column(|r| r.input), column(|r| r.output));
    let block_doubt = prefix.block_doubt();
    let prefix = (prefix.rows > 0).then(|| PrefixSummary {
        rows: prefix.rows,
        distinct_blocks: prefix.distinct_blocks(),
        reusable_share: prefix.share(),
    });
    let mut summary = TraceSummary {
        format: reader.format(),
        rows: rows.len() as u64,
        other_rows,
        zero_rows,
        session_rows,
        out_of_order,
        arrivals: (timed && !rows.is_empty()).then(|| arrivals(&rows)),
        correlation: correlation(&input, &output),
        input_tokens: length_summary(input),
        output_tokens: length_summary(output),
        prefix,
        shape: shape::shape(&rows, timed),
        classes: reader.class_names().iter().cloned().zip(classes).collect(),
        warnings: Vec::new(),
    };
    summary.warnings = warnings(&reader, &rows, &summary, context_limit);
    summary.warnings.extend(block_doubt);
    if waiting_rows > 0 {
        summary.warnings.retain(|warning| !matches!(warning, TraceWarning::SessionsFlattened { .. }));
        summary.warnings.push(TraceWarning::TurnsWait { rows: waiting_rows });
    }
    Ok(summary)
}

fn warnings(reader: &TraceReader, rows: &[Row], summary: &TraceSummary, context_limit: Option<u32>) -> Vec<TraceWarning> {
    let mut warnings = Vec::new();
    if rows.is_empty() {
        warnings.push(TraceWarning::NoRows);
    }
    if summary.arrivals.is_some() {
        let mut profile = ArrivalProfile::new();
        rows.iter().for_each(|row| profile.add(row.at));
        warnings.extend(profile.warnings(reader.unit()));
    }
    if let Some(prefix) = summary.prefix.as_ref().filter(|prefix| prefix.reusable_share > 0.0) {
        warnings.push(TraceWarning::PrefixReuse { share: prefix.reusable_share, rows: prefix.rows, discounted: false });
    }
    if summary.session_rows > 0 {
        warnings.push(TraceWarning::SessionsFlattened { rows: summary.session_rows });
    }
    if let Some(limit) = context_limit {
        let totals = || rows.iter().map(|r| r.input.saturating_add(r.output));
        let past = totals().filter(|total| *total > limit).count() as u64;
        if past > 0 {
            warnings.push(TraceWarning::PastContext { limit, rows: past, longest: totals().max().unwrap_or(0) });
        }
    }
    warnings
}

/// Mean and population standard deviation.
fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    let variance = values.map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

/// The percentile at rank p (n - 1), linearly interpolated; `sorted` is not empty.
fn percentile(sorted: &[f64], p: f64) -> f64 {
    let rank = p * (sorted.len() - 1) as f64;
    let low = sorted[rank.floor() as usize];
    let high = sorted[rank.ceil() as usize];
    low + (high - low) * rank.fract()
}

fn ratio(numerator: f64, denominator: f64) -> f64 {
    if denominator == 0.0 { 0.0 } else { numerator / denominator }
}

fn length_summary(mut tokens: Vec<u32>) -> Option<LengthSummary> {
    tokens.sort_unstable();
    let (min, max) = (*tokens.first()?, *tokens.last()?);
    let sorted: Vec<f64> = tokens.iter().copied().map(f64::from).collect();
    let (mean, deviation) = moments(sorted.iter().copied());
    Some(LengthSummary {
        mean,
        p50: percentile(&sorted, 0.5),
        p90: percentile(&sorted, 0.9),
        p99: percentile(&sorted, 0.99),
        min,
        max,
        at_max: tokens.iter().rev().take_while(|t| **t == max).count() as u64,
        cv: variation(deviation, mean),
    })
}

/// Deviation over mean; what rounding leaves of equal values is 0.
fn variation(deviation: f64, mean: f64) -> f64 {
    let cv = ratio(deviation, mean);
    if cv < 1e-9 { 0.0 } else { cv }
}

/// Linear correlation; `None` where either side does not vary.
fn correlation(a: &[u32], b: &[u32]) -> Option<f64> {
    let float = |values: &[u32]| values.iter().copied().map(f64::from).collect::<Vec<f64>>();
    let (a, b) = (float(a), float(b));
    if a.is_empty() {
        return None;
    }
    let ((mean_a, deviation_a), (mean_b, deviation_b)) = (moments(a.iter().copied()), moments(b.iter().copied()));
    let covariance = a.iter().zip(&b).map(|(x, y)| (x - mean_a) * (y - mean_b)).sum::<f64>() / a.len() as f64;
    let both = deviation_a * deviation_b;
    (both > 0.0).then(|| covariance / both)
}

fn seconds(nanos: i128) -> f64 {
    nanos as f64 / 1e9
}

fn arrivals(rows: &[Row]) -> ArrivalSummary {
    let (first, last) = (rows[0].at, rows[rows.len() - 1].at);
    let span = seconds(last - first);
    let sum = |of: fn(&Row) -> u32| rows.iter().map(|r| f64::from(of(r))).sum::<f64>();
    let mut coarse = vec![0; 1 + ((last - first) / i128::from(COARSE * 1_000_000_000)) as usize];
    rows.iter().for_each(|r| coarse[((r.at - first) / i128::from(COARSE * 1_000_000_000)) as usize] += 1);
    let head = rows.partition_point(|r| (r.at - first) * 10 < last - first);
    ArrivalSummary {
        span,
        rate: ratio((rows.len() - 1) as f64, span),
        gaps: gaps(rows),
        windows: WINDOWS.map(|window| window_summary(rows, window)),
        coarse,
        token_rates: (ratio(sum(|r| r.input), span), ratio(sum(|r| r.output), span)),
        ticks: ticks(rows),
        head_rate: ratio(head as f64 * 10.0, span),
    }
}

fn gaps(rows: &[Row]) -> Option<GapSummary> {
    let mut sorted: Vec<f64> = rows.windows(2).map(|w| seconds(w[1].at - w[0].at)).collect();
    if sorted.is_empty() {
        return None;
    }
    sorted.sort_by(f64::total_cmp);
    let (mean, deviation) = moments(sorted.iter().copied());
    let above = |limit: f64| {
        let long = &sorted[sorted.partition_point(|g| *g <= limit)..];
        (long.len() as u64, long.iter().sum())
    };
    Some(GapSummary {
        mean,
        p50: percentile(&sorted, 0.5),
        p90: percentile(&sorted, 0.9),
        p99: percentile(&sorted, 0.99),
        max: sorted[sorted.len() - 1],
        cv: variation(deviation, mean),
        zero: rows.windows(2).filter(|w| w[0].at == w[1].at).count() as u64,
        above_10s: above(10.0),
        above_60s: above(60.0),
    })
}

/// Sums over the windows of one width; those without a request add nothing and need not be visited.
fn window_summary(rows: &[Row], window: u64) -> Option<WindowSummary> {
    let width = i128::from(window) * 1_000_000_000;
    let first = rows[0].at;
    let windows = (rows[rows.len() - 1].at - first) / width;
    if windows == 0 {
        return None;
    }
    let index = |row: &Row| (row.at - first) / width;
    let whole = &rows[..rows.partition_point(|row| index(row) < windows)];
    // Requests, prompt tokens, generated tokens.
    let (mut sums, mut peaks, mut squares, mut occupied) = ([0u64; 3], [0u64; 3], 0u128, 0i128);
    for group in whole.chunk_by(|a, b| index(a) == index(b)) {
        let total = |of: fn(&Row) -> u32| group.iter().map(|row| u64::from(of(row))).sum();
        let counts = [group.len() as u64, total(|row| row.input), total(|row| row.output)];
        for (i, count) in counts.into_iter().enumerate() {
            sums[i] += count;
            peaks[i] = peaks[i].max(count);
        }
        squares += u128::from(counts[0]).pow(2);
        occupied += 1;
    }
    let n = windows as f64;
    let mean = sums[0] as f64 / n;
    let peak_to_mean = |i: usize| ratio(peaks[i] as f64, sums[i] as f64 / n);
    Some(WindowSummary {
        dispersion: ratio(squares as f64 / n - mean * mean, mean),
        peak_to_mean: peak_to_mean(0),
        peak: peaks[0],
        empty: (windows - occupied) as f64 / n,
        input_peak_to_mean: peak_to_mean(1),
        output_peak_to_mean: peak_to_mean(2),
    })
}

fn ticks(rows: &[Row]) -> TickSummary {
    let groups: Vec<&[Row]> = rows.chunk_by(|a, b| a.at == b.at).collect();
    let distances = || groups.windows(2).map(|w| seconds(w[1][0].at - w[0][0].at));
    let (mean, deviation) = moments(groups.iter().map(|g| g.len() as f64));
    TickSummary {
        instants: groups.len() as u64,
        shortest: distances().min_by(f64::total_cmp).unwrap_or(0.0),
        longest: distances().max_by(f64::total_cmp).unwrap_or(0.0),
        per_instant: (mean, groups.iter().map(|g| g.len() as u64).max().unwrap_or(0), ratio(deviation * deviation, mean)),
    }
}

#[cfg(test)]
mod tests;
