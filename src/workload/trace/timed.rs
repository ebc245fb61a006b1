//! Parts of a replay: rows in order of time, and the scale of a rate.

use super::reader::TraceRow;
use crate::workload::error::WorkloadError;

/// A row with its instant on the clock of the source, ordered by instant and then by place in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    pub(super) at: i128,
    pub(super) row: TraceRow,
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Timed {}
impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.row.line).cmp(&(other.at, other.row.line))
    }
}

/// `rate_scale` as a fraction of whole numbers, from its shortest decimal text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    numerator: i128,
    denominator: i128,
}

impl Scale {
    pub(super) fn new(rate_scale: Option<f64>) -> Result<Self, WorkloadError> {
        let scale = rate_scale.unwrap_or(1.0);
        if !(1e-6..=1e6).contains(&scale) {
            let problem = format!("`{scale}` is no scale of a rate: expected 1e-6 to 1e6");
            return Err(WorkloadError::parameter("trace.rate_scale", problem, "2 replays twice as fast"));
        }
        // Twelve decimals of a scale are as good as all.
        let denominator = (scale * 1e12).round() as i128;
        Ok(Self { numerator: 1_000_000_000_000, denominator })
    }

    pub(super) fn apply(self, nanos: i128) -> i128 {
        if self.numerator == self.denominator {
            nanos
        } else {
            (nanos * self.numerator * 2 + self.denominator) / (self.denominator * 2)
        }
    }
}
