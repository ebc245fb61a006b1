//! What a scenario says of its traffic: pure data, resolved and valid.

use std::path::PathBuf;

use crate::units::{SimTime, Span};

/// A whole workload: any mix of generated streams, a replayed trace and single requests written out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadConfig {
    /// Generated streams, each a client class of its own (a scenario without classes has one, named `default`).
    pub streams: Vec<StreamConfig>,
    /// Arrivals that the streams with a [`weight`](StreamConfig::weight) share: each belongs to one of them, by weight.
    pub shared_arrivals: Option<ArrivalProcess>,
    /// A replayed trace.
    pub trace: Option<TraceConfig>,
    /// Requests written out in the scenario, in the order of the file.
    pub requests: Vec<ListedRequest>,
}

impl WorkloadConfig {
    /// Every arrival process with the class it belongs to; `None` is the one that classes share.
    pub fn processes(&self) -> impl Iterator<Item = (Option<&str>, &ArrivalProcess)> {
        let shared = self.shared_arrivals.iter().map(|process| (None, process));
        let own = self.streams.iter().filter_map(|s| s.arrivals.as_ref().map(|process| (Some(s.class.as_str()), process)));
        shared.chain(own)
    }
}

/// One generated stream of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamConfig {
    /// Name of the class in reports.
    pub class: String,
    /// When requests arrive; `None` where the stream takes its share of the shared arrivals, and in a closed loop, where
    /// clients decide.
    pub arrivals: Option<ArrivalProcess>,
    /// Share of the shared arrivals, or of what the users of a closed loop ask for, relative to the other classes; > 0. With
    /// `None` everywhere, users go through the classes in turn.
    pub weight: Option<f64>,
    /// Prompt and generated tokens.
    pub lengths: StreamLengths,
}

/// The lengths of the requests of a stream.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamLengths {
    /// A distribution for each side.
    Separate {
        /// Prompt tokens.
        input_tokens: LengthDistribution,
        /// Generated tokens, at least 1.
        output_tokens: LengthDistribution,
        /// Rank correlation of the two, -1 to 1 (Gaussian copula); 0 draws them independently.
        correlation: f64,
    },
    /// Prompt and answer drawn together.
    Paired(PairSchedule),
}

/// Pairs of lengths over time: pieces that each hold from an instant on; the first starts at 0.
#[derive(Clone, Debug, PartialEq)]
pub struct PairSchedule(pub Vec<PairPiece>);

/// One piece of a [`PairSchedule`].
#[derive(Clone, Debug, PartialEq)]
pub struct PairPiece {
    /// Start of the piece.
    pub at: SimTime,
    /// What is drawn from, at least one.
    pub pairs: Vec<WeightedPair>,
}

/// A prompt and its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedPair {
    /// Prompt tokens.
    pub input_tokens: u32,
    /// Generated tokens, at least 1.
    pub output_tokens: u32,
    /// Relative frequency, > 0.
    pub weight: f64,
}

/// When the requests of a stream arrive.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrivalProcess {
    /// Exponential gaps; the rate may change over time (thinned exactly, so that a step is met at its instant).
    Poisson {
        /// Requests per second over time.
        rate: RateSchedule,
    },
    /// The k-th request at the instant where the integral of the rate reaches k: exactly k/rate for one rate.
    Constant {
        /// Requests per second over time.
        rate: RateSchedule,
    },
    /// Gamma-distributed gaps with the given coefficient of variation.
    Gamma {
        /// Requests per second over time.
        rate: RateSchedule,
        /// Standard deviation of a gap over its mean, > 0.
        cv: f64,
    },
    /// Weibull-distributed gaps with the given coefficient of variation.
    Weibull {
        /// Requests per second over time.
        rate: RateSchedule,
        /// Standard deviation of a gap over its mean, > 0.
        cv: f64,
    },
    /// Markov-modulated Poisson (on/off): exponential sojourns in two states, each with a rate of its own.
    OnOff {
        /// Requests per second while on.
        on_rate: f64,
        /// Requests per second while off.
        off_rate: f64,
        /// Mean sojourn in the on state.
        mean_on: Span,
        /// Mean sojourn in the off state.
        mean_off: Span,
    },
}

impl ArrivalProcess {
    /// The rate over time; `None` for a process that switches by itself.
    pub const fn schedule(&self) -> Option<&RateSchedule> {
        match self {
            Self::Poisson { rate } | Self::Constant { rate } | Self::Gamma { rate, .. } | Self::Weibull { rate, .. } => {
                Some(rate)
            }
            Self::OnOff { .. } => None,
        }
    }
}

/// A rate over time, requests per second: pieces that each start at an instant; the first starts at 0.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSchedule(pub Vec<RatePiece>);

/// One piece of a [`RateSchedule`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatePiece {
    /// Start of the piece.
    pub at: SimTime,
    /// Requests per second from here on, >= 0.
    pub rate: f64,
    /// Ramp linearly to the rate of the next piece instead of stepping.
    pub ramp: bool,
}

/// A distribution of token counts. Draws are rounded to the nearest whole token and cut to `min..=max`.
#[derive(Clone, Debug, PartialEq)]
pub struct LengthDistribution {
    /// The shape.
    pub shape: LengthShape,
    /// Smallest token count (input: 0 or more, default 1; output: 1 or more, default 1).
    pub min: u32,
    /// Largest token count.
    pub max: Option<u32>,
}

/// The shape of a [`LengthDistribution`].
#[derive(Clone, Debug, PartialEq)]
pub enum LengthShape {
    /// Always the same.
    Constant {
        /// Tokens.
        value: u32,
    },
    /// Each whole number from `low` to `high`, both included, equally likely.
    Uniform {
        /// Smallest.
        low: u32,
        /// Largest.
        high: u32,
    },
    /// Lognormal by its mean and 99th percentile, in tokens.
    Lognormal {
        /// Mean, > 0.
        mean: f64,
        /// 99th percentile, > 0; mean and p99 must belong to some lognormal.
        p99: f64,
    },
    /// Gamma by its mean and coefficient of variation.
    Gamma {
        /// Mean, > 0.
        mean: f64,
        /// Standard deviation over mean, > 0.
        cv: f64,
    },
    /// Pareto (type I) by its smallest value and tail index.
    Pareto {
        /// Scale: the smallest value, > 0.
        scale: f64,
        /// Tail index, > 0.
        alpha: f64,
    },
    /// Values with weights.
    Empirical {
        /// (tokens, weight > 0), at least one.
        values: Vec<(u32, f64)>,
    },
    /// One of several distributions, by weight.
    Mixture {
        /// Components, at least one.
        components: Vec<MixtureComponent>,
    },
}

/// One component of a mixture.
#[derive(Clone, Debug, PartialEq)]
pub struct MixtureComponent {
    /// Share, > 0; shares need not sum to 1.
    pub weight: f64,
    /// Its distribution.
    pub distribution: LengthDistribution,
}

/// One or several requests written out in a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedRequest {
    /// Arrival.
    pub at: SimTime,
    /// How many alike, 1 or more; `every` apart (all at once if absent).
    pub count: u64,
    /// Gap between them.
    pub every: Option<Span>,
    /// Prompt tokens.
    pub input_tokens: u32,
    /// Generated tokens, at least 1.
    pub output_tokens: u32,
    /// Service time at an opaque worker, overriding its distribution.
    pub service_time: Option<Span>,
    /// Ask for exactly this worker.
    pub worker: Option<u32>,
    /// Name of the class in reports.
    pub class: String,
}

/// A trace to replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceConfig {
    /// The file; relative paths are taken from the scenario's folder, then from the working directory.
    pub path: PathBuf,
    /// Format by name; `None` recognises it from the first rows.
    pub format: Option<String>,
    /// Class of its requests in reports, where a row names none itself.
    pub class: String,
    /// How its rows are read and replayed.
    pub options: TraceOptions,
}

/// How the rows of a trace are read and replayed; the default replays the file as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceOptions {
    /// Columns of a file that has no known format.
    pub columns: Option<TraceColumns>,
    /// Unit of numeric arrival times, instead of the format's own.
    pub time_unit: Option<TimeUnit>,
    /// First instant to replay, in the time of the source after its first row (included).
    pub window_start: Option<Span>,
    /// Last instant to replay, in the time of the source after its first row (included).
    pub window_end: Option<Span>,
    /// Replay this many times as fast, > 0 and finite (1 when absent).
    pub rate_scale: Option<f64>,
    /// Longest gap between two arrivals of the source; longer ones are cut to it.
    pub max_gap: Option<Span>,
    /// Start again when the file ends, one mean gap after its last arrival, until the run ends.
    pub repeat: bool,
    /// Width of the recorder's ticks: each arrival is moved by a random span below it.
    pub dequantise: Option<Span>,
    /// Read at most this many rows.
    pub max_rows: Option<u64>,
    /// Longest prompt; longer ones are cut to it.
    pub max_input_tokens: Option<u32>,
    /// Longest output; longer ones are cut to it.
    pub max_output_tokens: Option<u32>,
    /// A row that would be dropped is an error instead.
    pub strict: bool,
    /// Read the whole file into memory and order it by arrival first.
    pub sort: bool,
    /// When the turns of recorded sessions are sent.
    pub sessions: SessionReplay,
    /// What becomes of prompts that share leading blocks (`hash_ids`).
    pub prefix_reuse: PrefixReuse,
    /// Tokens of one block of `hash_ids`, instead of the format's own.
    pub hash_block_size: Option<u32>,
    /// Column (CSV) or field (JSON, dots for nesting) whose values are class names.
    pub class_column: Option<String>,
    /// Prompt tokens where the source has none (ServeGen clients without a data set).
    pub input_tokens: Option<LengthDistribution>,
    /// Generated tokens where the source has none (ServeGen clients without a data set).
    pub output_tokens: Option<LengthDistribution>,
}

/// Where a file of no known format keeps what a request needs: names of CSV columns (or their numbers from 1, if the file
/// has no header line) or of JSON fields (dots for nesting).
#[derive(Clone, Debug, PartialEq)]
pub struct TraceColumns {
    /// Arrival time.
    pub arrival: String,
    /// Its unit.
    pub arrival_unit: TimeUnit,
    /// Prompt tokens.
    pub input_tokens: String,
    /// Generated tokens.
    pub output_tokens: String,
    /// Service time at an opaque worker, and its unit.
    pub service_time: Option<(String, TimeUnit)>,
    /// A CSV file starts with a line of column names.
    pub header: bool,
}

/// The unit of a time in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds (decimal).
    Seconds,
    /// Milliseconds (decimal).
    Milliseconds,
    /// Microseconds (decimal).
    Microseconds,
    /// Nanoseconds (decimal).
    Nanoseconds,
    /// Date and time, `2024-05-10 00:00:00.009930+00:00` and its kin; without a zone it is UTC.
    Date,
}

/// When the turns of recorded sessions are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionReplay {
    /// At their recorded instants, whether the answer before is there or not.
    #[default]
    Flatten,
    /// Not before the answer before: with a recorded delay so long after it, else at the recorded instant or with the answer,
    /// whichever is later. The whole trace is held in memory.
    Follow,
}

/// What becomes of prompts that share leading blocks with earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrefixReuse {
    /// Every prompt is computed whole.
    #[default]
    Off,
    /// Leading blocks seen before cost nothing (an infinite cache); memory grows with the distinct blocks of the trace.
    Discount,
}

/// A distribution of spans: service times, delays, think times.
#[derive(Clone, Debug, PartialEq)]
pub enum SpanDistribution {
    /// Always the same.
    Constant {
        /// The span.
        value: Span,
    },
    /// Uniform from `low` to `high`.
    Uniform {
        /// Shortest.
        low: Span,
        /// Longest.
        high: Span,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: Span,
    },
    /// Gamma by mean and coefficient of variation.
    Gamma {
        /// Mean.
        mean: Span,
        /// Standard deviation over mean, > 0.
        cv: f64,
    },
    /// Lognormal by mean and coefficient of variation.
    Lognormal {
        /// Mean.
        mean: Span,
        /// Standard deviation over mean, > 0.
        cv: f64,
    },
    /// Values with weights.
    Empirical {
        /// (span, weight > 0), at least one.
        values: Vec<(Span, f64)>,
    },
}

impl SpanDistribution {
    /// No draw is shorter.
    pub fn least(&self) -> Span {
        match self {
            Self::Constant { value } => *value,
            Self::Uniform { low, .. } => *low,
            Self::Empirical { values } => values.iter().map(|(value, _)| *value).min().unwrap_or(Span::ZERO),
            Self::Exponential { .. } | Self::Gamma { .. } | Self::Lognormal { .. } => Span::ZERO,
        }
    }

    /// Whether every draw is 0.
    pub fn is_always_zero(&self) -> bool {
        match self {
            Self::Constant { value } => value.is_zero(),
            Self::Uniform { high, .. } => high.is_zero(),
            Self::Exponential { mean } | Self::Gamma { mean, .. } | Self::Lognormal { mean, .. } => mean.is_zero(),
            Self::Empirical { values } => values.iter().all(|(value, _)| value.is_zero()),
        }
    }
}
