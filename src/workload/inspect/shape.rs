//! The course of a trace and the distribution of its lengths, as charts show them.

use super::{Row, seconds};

/// Intervals at most.
const MOST_BINS: i128 = 300;
/// Points of a distribution at most, about.
const POINTS: usize = 400;

/// How a trace runs, and how long its requests are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceShape {
    /// Width of an interval, seconds: a 1-2-5 step that leaves at most 300 of them. 0 without arrivals.
    pub interval: f64,
    /// What arrives in each interval, from the first arrival on; the last one may be cut short by the end of the trace.
    pub intervals: Vec<ShapeInterval>,
    /// Share of the prompts at or below a number of tokens, ascending in both.
    pub input_shares: Vec<(u32, f64)>,
    /// As `input_shares`, of the generated tokens.
    pub output_shares: Vec<(u32, f64)>,
}

/// What arrives in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShapeInterval {
    /// Requests.
    pub requests: u64,
    /// Their prompt tokens.
    pub input_tokens: u64,
    /// Their generated tokens.
    pub output_tokens: u64,
}

/// Of rows in order of arrival; `timed` says whether their arrivals mean anything.
pub(super) fn shape(rows: &[Row], timed: bool) -> TraceShape {
    let mut shape = TraceShape {
        input_shares: shares(rows.iter().map(|row| row.input).collect()),
        output_shares: shares(rows.iter().map(|row| row.output).collect()),
        ..TraceShape::default()
    };
    let (Some(first), Some(last)) = (rows.first().filter(|_| timed), rows.last()) else { return shape };
    let width = natural_width(last.at - first.at);
    shape.interval = seconds(width);
    shape.intervals = vec![ShapeInterval::default(); 1 + ((last.at - first.at) / width) as usize];
    for row in rows {
        let interval = &mut shape.intervals[((row.at - first.at) / width) as usize];
        interval.requests += 1;
        interval.input_tokens += u64::from(row.input);
        interval.output_tokens += u64::from(row.output);
    }
    shape
}

/// The least of 1, 2, 5, 10, ... microseconds of which `span` (nanoseconds) has no more than [`MOST_BINS`].
fn natural_width(span: i128) -> i128 {
    let mut decade = 1_000;
    loop {
        for width in [decade, 2 * decade, 5 * decade] {
            if span / width < MOST_BINS {
                return width;
            }
        }
        decade *= 10;
    }
}

/// The distribution function at about [`POINTS`] of its steps, the last among them.
fn shares(mut tokens: Vec<u32>) -> Vec<(u32, f64)> {
    tokens.sort_unstable();
    let stride = (tokens.len() / POINTS).max(1);
    let mut shares: Vec<(u32, f64)> = Vec::new();
    let mut below = 0;
    let mut next = 0;
    for group in tokens.chunk_by(|a, b| a == b) {
        below += group.len();
        if below >= next || below == tokens.len() {
            shares.push((group[0], below as f64 / tokens.len() as f64));
            next = below + stride;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_every_row_and_shares_end_at_one() {
        let row = |at: i128, input| Row { at: at * 1_000_000, input, output: 2 };
        let rows: Vec<Row> = (0..5_000).map(|i| row(i * 7, (i % 1_000) as u32)).collect();
        let shape = shape(&rows, true);
        assert_eq!(shape.interval, 0.2, "35 s in intervals of 200 ms");
        assert!(shape.intervals.len() <= 300);
        assert_eq!(shape.intervals.iter().map(|i| i.requests).sum::<u64>(), 5_000);
        assert_eq!(shape.intervals.iter().map(|i| i.output_tokens).sum::<u64>(), 10_000);
        assert_eq!(shape.input_shares.last(), Some(&(999, 1.0)));
        assert!(shape.input_shares.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
        assert_eq!(shape.output_shares, [(2, 1.0)]);
    }

    #[test]
    fn one_instant_is_one_interval_and_lengths_alone_have_none() {
        let rows = [Row { at: 5, input: 1, output: 1 }];
        assert_eq!(shape(&rows, true).intervals.len(), 1);
        assert_eq!((shape(&rows, false).intervals.len(), shape(&[], true).intervals.len()), (0, 0));
    }
}
