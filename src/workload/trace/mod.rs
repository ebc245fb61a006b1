//! Recorded traffic: streaming readers of the formats in use, and their replay.
//!
//! A file is read line by line with constant buffers. `lines` undoes gzip and line ends, `record` picks named fields out
//! of a CSV or JSON line, `format` knows which fields each format has, `time` turns their decimals into nanoseconds
//! without a float, `reader` yields rows, and `replay` makes arrivals of them. `servegen` draws arrivals from ServeGen's
//! per-client windows instead.

mod columns;
mod decode;
mod export;
mod format;
mod lines;
mod opening;
mod prefix;
mod profile;
mod reader;
mod record;
mod replay;
mod report;
mod servegen;
mod session_ids;
mod time;
mod timed;
mod turns;

pub(in crate::workload) use columns::{CsvColumns, Wanted};
pub use export::CsvExport;
pub use format::TraceFormat;
pub use lines::STDIN;
pub use prefix::PrefixUse;
pub(in crate::workload) use profile::ArrivalProfile;
pub use reader::{Measured, RowOutcome, TraceReader, TraceRow};
pub use replay::{ReplayedRequest, TraceReplay};
pub use report::{DropReason, TraceReport, TraceWarning};
pub use servegen::{ServeGenClient, ServeGenReplay, ServeGenWindow};
pub(in crate::workload) use time::seconds;
