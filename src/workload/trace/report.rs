//! What became of the rows of a trace.

use std::fmt;
use std::path::PathBuf;

use super::format::TraceFormat;
use crate::units::{SimTime, Span};

/// Why a row was not replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// Neither prompt nor output tokens.
    NoTokens,
    /// No prompt tokens.
    NoInput,
    /// No output tokens: a failed request of the source.
    NoOutput,
    /// Before or after the time window.
    OutsideWindow,
    /// A row of another kind than a finished request.
    OtherEvent,
    /// A whole session in one row, whose later turns wait for earlier answers.
    AgenticSession,
    /// A later turn of a session in which an answer never came.
    BrokenSession,
    /// Read ahead, but the run ended before it arrived.
    AfterTheEnd,
}

impl DropReason {
    /// Every reason, in the order of reports.
    pub const ALL: [Self; 8] = [
        Self::NoTokens,
        Self::NoInput,
        Self::NoOutput,
        Self::OutsideWindow,
        Self::OtherEvent,
        Self::AgenticSession,
        Self::BrokenSession,
        Self::AfterTheEnd,
    ];

    /// The reason's name in machine formats.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoTokens => "no_tokens",
            Self::NoInput => "no_input_tokens",
            Self::NoOutput => "no_output_tokens",
            Self::OutsideWindow => "outside_window",
            Self::OtherEvent => "other_event",
            Self::AgenticSession => "agentic_session",
            Self::BrokenSession => "broken_session",
            Self::AfterTheEnd => "after_the_end",
        }
    }
}

/// Something about a trace that its reader should know; the text ends with the next step.
#[derive(Clone, Debug, PartialEq)]
pub enum TraceWarning {
    /// The unit of time may be another one.
    UnitDoubt {
        /// The unit it was read in.
        unit: &'static str,
        /// Mean rate of the source in that unit, requests per second.
        rate: f64,
    },
    /// The first tenth of the time is far quieter or busier than the whole.
    UnevenHead {
        /// Rate of the first tenth, requests per second.
        head: f64,
        /// Rate of the whole, requests per second.
        overall: f64,
    },
    /// Arrivals were recorded in ticks: each is a false burst.
    Ticks {
        /// Mean distance of two ticks.
        width: Span,
        /// Requests that share their tick with an earlier one, 0 to 1.
        share: f64,
    },
    /// Prompts share leading blocks.
    PrefixReuse {
        /// Share of prompt tokens an infinite cache would hold, 0 to 1.
        share: f64,
        /// Rows it was measured on.
        rows: u64,
        /// The reusable tokens were taken off.
        discounted: bool,
    },
    /// Rows have more or fewer blocks than prompts of their lengths: blocks may be of another size.
    BlockSizeDoubt {
        /// Tokens of one block, as they were taken.
        block_size: u32,
        /// Prompt tokens per block, on average.
        implied: f64,
        /// Rows concerned.
        rows: u64,
    },
    /// Rows belong to sessions, but arrive at their recorded instants.
    SessionsFlattened {
        /// How many.
        rows: u64,
    },
    /// Sessions were to be followed, but no row names one.
    NoSessions,
    /// Turns that are sent so long after the answer before.
    TurnsWait {
        /// How many.
        rows: u64,
    },
    /// Lengths were cut to a cap.
    Capped {
        /// Requests with a cut prompt.
        inputs: u64,
        /// Requests with a cut output.
        outputs: u64,
    },
    /// The time window holds no row.
    NoRowsInWindow,
    /// The file holds no request.
    NoRows,
    /// Prompts are longer than a limit.
    PastContext {
        /// The limit, tokens.
        limit: u32,
        /// How many requests exceed it.
        rows: u64,
        /// The longest, tokens.
        longest: u32,
    },
}

impl TraceWarning {
    /// The warning's name in machine formats.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::UnitDoubt { .. } => "trace_unit_doubt",
            Self::UnevenHead { .. } => "trace_uneven_head",
            Self::Ticks { .. } => "trace_ticks",
            Self::PrefixReuse { .. } => "trace_prefix_reuse",
            Self::BlockSizeDoubt { .. } => "trace_block_size_doubt",
            Self::SessionsFlattened { .. } => "trace_sessions_flattened",
            Self::NoSessions => "trace_no_sessions",
            Self::TurnsWait { .. } => "trace_turns_wait",
            Self::Capped { .. } => "trace_lengths_capped",
            Self::NoRowsInWindow => "trace_no_rows_in_window",
            Self::NoRows => "trace_no_rows",
            Self::PastContext { .. } => "trace_past_context",
        }
    }
}

impl fmt::Display for TraceWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnitDoubt { unit, rate } => {
                write!(
                    f,
                    "read in {unit}, the trace has {rate:.3e} requests/s: if that is not so, set its time unit (s, ms, us, ns)"
                )
            }
            Self::UnevenHead { head, overall } => write!(
                f,
                "the first tenth of the trace has {head:.3} requests/s, the whole {overall:.3}: choose a time window that means something"
            ),
            Self::Ticks { width, share } => write!(
                f,
                "{:.0} % of the requests share an instant, in ticks {:.3} s apart: each tick is a false burst unless dequantise spreads them",
                share * 100.0,
                width.as_secs_f64()
            ),
            Self::PrefixReuse { share, rows, discounted: false } => write!(
                f,
                "{:.1} % of the prompt tokens ({rows} rows measured) repeat earlier leading blocks, but every prompt is computed whole: \
                 prefix_reuse = \"discount\" takes them off",
                share * 100.0
            ),
            Self::PrefixReuse { share, discounted: true, .. } => write!(
                f,
                "{:.1} % of the prompt tokens were taken off as reusable, as if every worker had an infinite cache: real ones hold less",
                share * 100.0
            ),
            Self::BlockSizeDoubt { block_size, implied, rows } => write!(
                f,
                "{rows} rows have another number of hash_ids than prompts of their lengths in blocks of {block_size} tokens (about {implied:.0} \
                 tokens per block on average): set hash_block_size if they are of another size"
            ),
            Self::SessionsFlattened { rows } => write!(
                f,
                "{rows} rows belong to sessions and are replayed at their recorded instants, not after the answer before: under overload real \
                 clients would wait; sessions = \"follow\" makes them"
            ),
            Self::NoSessions => write!(
                f,
                "sessions = \"follow\", but no row names a session: every request is sent at its recorded instant; leave the option out to \
                 read the trace in constant memory"
            ),
            Self::TurnsWait { rows } => write!(
                f,
                "{rows} rows wait for the answer before them (`delay`); here they count at their own instant, or at that of the turn before: \
                 sessions = \"follow\" replays them after the answer"
            ),
            Self::Capped { inputs, outputs } => write!(f, "{inputs} prompts and {outputs} outputs were cut to the length caps"),
            Self::NoRowsInWindow => write!(f, "no rows in window: nothing is replayed; compare it with the trace's span"),
            Self::NoRows => write!(f, "the trace holds no request: nothing is replayed"),
            Self::PastContext { limit, rows, longest } => write!(
                f,
                "{rows} requests need more than {limit} tokens (the longest {longest}): they are unservable on such an engine; cap their lengths or \
                 raise its limit"
            ),
        }
    }
}

/// The account of a trace: rows read = requests emitted + rows dropped, by reason.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceReport {
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub format: TraceFormat,
    /// Rows read, over all repetitions; header and blank lines are none. For drawn arrivals (ServeGen): requests drawn.
    pub rows_read: u64,
    /// Requests handed out.
    pub emitted: u64,
    /// Rows dropped, by [`DropReason::ALL`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Arrival of the last request handed out.
    pub last_arrival: Option<SimTime>,
    /// What its reader should know.
    pub warnings: Vec<TraceWarning>,
}

impl TraceReport {
    /// Rows dropped for one reason.
    pub fn dropped_for(&self, reason: DropReason) -> u64 {
        self.dropped[reason as usize]
    }

    /// Whether every row read was either emitted or dropped for a reason.
    pub fn is_balanced(&self) -> bool {
        self.rows_read == self.emitted + self.dropped.iter().sum::<u64>()
    }

    /// Takes back `n` emitted requests: they were never sent, for a reason.
    pub(in crate::workload) fn take_back(&mut self, reason: DropReason, n: u64) {
        self.emitted -= n;
        self.dropped[reason as usize] += n;
    }
}

impl fmt::Display for TraceReport {
    /// One line for people: `trace.csv (azure): 400 rows = 383 replayed + 17 dropped (17 no_tokens)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dropped: u64 = self.dropped.iter().sum();
        write!(
            f,
            "{} ({}): {} rows = {} replayed + {dropped} dropped",
            self.path.display(),
            self.format.name(),
            self.rows_read,
            self.emitted
        )?;
        let mut separator = " (";
        for reason in DropReason::ALL.into_iter().filter(|r| self.dropped_for(*r) > 0) {
            write!(f, "{separator}{} {}", self.dropped_for(reason), reason.name())?;
            separator = ", ";
        }
        if separator == ", " { f.write_str(")") } else { Ok(()) }
    }
}
