//! Figures of traces.

use super::common::{Heading, Sample};

/// How a trace runs, and how long its requests are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceData {
    /// What it shows.
    pub heading: Heading,
    /// Seconds from the first arrival to the last; 0 for lengths without arrivals.
    pub span: f64,
    /// Requests per second from each instant on.
    pub requests: Vec<Sample>,
    /// Mean requests per second.
    pub mean_rate: f64,
    /// Prompt tokens per second from each instant on.
    pub input_tokens: Vec<Sample>,
    /// Generated tokens per second from each instant on.
    pub output_tokens: Vec<Sample>,
    /// Share of the prompts at or below a number of tokens.
    pub input_shares: Vec<Sample>,
    /// Share of the outputs at or below a number of tokens.
    pub output_shares: Vec<Sample>,
}
