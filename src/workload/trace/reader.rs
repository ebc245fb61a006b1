//! Rows of a trace file, one after the other, with constant memory.

use std::path::{Path, PathBuf};

use super::decode::{Decoder, Interned, Naming};
use super::format::{Spec, Syntax, TraceFormat};
use super::lines::Lines;
use super::opening::{file_error, lines_have_arrivals, open_csv, open_json};
use super::record::{CsvFields, JsonFields, Role};
use super::report::DropReason;
use super::session_ids::SessionIds;
use super::turns::Turns;
use crate::units::Span;
use crate::workload::config::{SessionReplay, TimeUnit, TraceColumns, TraceConfig};
use crate::workload::error::WorkloadError;

/// Times that a log measured, from the arrival on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Until the engine scheduled it.
    pub scheduled: Option<Span>,
    /// Until its first token.
    pub first_token: Option<Span>,
    /// Until its last token.
    pub last_token: Option<Span>,
}

/// One request as the file has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceRow {
    /// Line of the file, from 1.
    pub line: u64,
    /// Arrival in nanoseconds on the clock of the source; `None` in a file of lengths alone.
    pub arrival: Option<i128>,
    /// Prompt tokens.
    pub input_tokens: u32,
    /// Generated tokens.
    pub output_tokens: u32,
    /// Index of its class in [`TraceReader::class_names`], if it names one.
    pub class: Option<u16>,
    /// Service time at an opaque worker.
    pub service_time: Option<Span>,
    /// The worker asked for.
    pub worker: Option<u32>,
    /// Belongs to a session.
    pub in_session: bool,
    /// Its session by number, where sessions matter to the reader.
    pub session: Option<u32>,
    /// Sent so long after the end of the turn before it, where sessions matter to the reader.
    pub delay: Option<Span>,
    /// Tokens of one block of its hash ids.
    pub block_size: u32,
    /// Measured times, where the format has them.
    pub measured: Option<Measured>,
}

/// What one row of the file is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowOutcome {
    /// A request; its token counts may still be 0.
    Request(TraceRow),
    /// Something else, skipped for a reason.
    Skipped(DropReason),
}

/// How the fields of a line are found.
pub(super) enum Fields {
    Csv(CsvFields),
    Json(JsonFields),
}

/// A streaming reader of one trace file.
pub struct TraceReader {
    lines: Lines,
    fields: Fields,
    spec: Spec,
    /// Unit of the arrival and of the service time.
    units: (TimeUnit, TimeUnit),
    /// The unit was chosen by the user, not by the format.
    unit_given: bool,
    /// The format was named, so that doubtful fields are taken at the user's word.
    format_given: bool,
    columns: Option<TraceColumns>,
    class_column: Option<String>,
    block_size: Option<u32>,
    has_arrivals: bool,
    classes: Vec<String>,
    /// Where sessions matter: their numbers, and their last turns.
    sessions: Option<(SessionIds, Turns)>,
    hash_ids: Vec<u64>,
    wants_ids: bool,
}

impl TraceReader {
    /// Opens a trace and recognises its format, unless the configuration names it.
    ///
    /// # Errors
    /// If the file cannot be read, is of no known format, or is of one that cannot be replayed.
    pub fn open(config: &TraceConfig) -> Result<Self, WorkloadError> {
        let path = &config.path;
        let named = match &config.format {
            None => None,
            Some(name) if name == "columns" => None,
            Some(name) => Some(TraceFormat::from_name(name).ok_or_else(|| {
                let problem = format!("`{name}` is no trace format: expected one of {}", TraceFormat::names());
                WorkloadError::parameter(
                    "trace.format",
                    problem,
                    "leave the format out to have it recognised, or name the columns",
                )
            })?),
        };
        let mut lines = Lines::open(path)?;
        if !lines.advance()? {
            return Err(file_error(path, "the file is empty: expected a header or a first row", "is this the right file?"));
        }
        lines.unread();
        let syntax = if lines.text()?.trim_start().starts_with('{') { Syntax::JsonLines } else { Syntax::Csv };
        let options = &config.options;
        let columns = options.columns.clone();
        let (spec, fields) = match syntax {
            Syntax::Csv => open_csv(&mut lines, named, columns.as_ref(), options.class_column.as_deref())?,
            Syntax::JsonLines => open_json(&mut lines, named, columns.as_ref(), options.class_column.as_deref())?,
        };
        let delta = spec.format == TraceFormat::MooncakeDelta;
        let unit = options.time_unit.unwrap_or(spec.unit);
        let service_unit = columns.as_ref().and_then(|c| c.service_time.as_ref()).map_or(TimeUnit::Nanoseconds, |s| s.1);
        let has_arrivals = match &fields {
            Fields::Csv(_) => columns.is_some() || spec.format != TraceFormat::Vidur || lines_have_arrivals(&lines)?,
            Fields::Json(_) => true,
        };
        Ok(Self {
            lines,
            fields,
            spec,
            units: (unit, service_unit),
            unit_given: options.time_unit.is_some() || columns.is_some(),
            format_given: named.is_some(),
            columns,
            class_column: options.class_column.clone(),
            block_size: options.hash_block_size,
            has_arrivals,
            classes: Vec::new(),
            sessions: (options.sessions == SessionReplay::Follow || delta).then(|| (SessionIds::default(), Turns::new(delta))),
            hash_ids: Vec::new(),
            // Blocks of new input alone say nothing of whole prompts.
            wants_ids: !delta,
        })
    }

    /// The format of the file.
    pub fn format(&self) -> TraceFormat {
        self.spec.format
    }

    /// The unit in which arrivals are read, and whether the user chose it.
    pub fn unit(&self) -> (TimeUnit, bool) {
        (self.units.0, self.unit_given)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.lines.path()
    }

    /// Whether rows may ask for one worker.
    pub(super) fn names_workers(&self) -> bool {
        matches!(&self.fields, Fields::Csv(fields) if fields.has(Role::Worker))
    }

    /// Whether rows have arrivals (vidur's files of lengths have none).
    pub fn has_arrivals(&self) -> bool {
        self.has_arrivals
    }

    /// Class names found so far, in order of appearance.
    pub fn class_names(&self) -> &[String] {
        &self.classes
    }

    /// Goes on with the class names of an earlier reading of the same file.
    pub(super) fn keep_class_names(&mut self, names: Vec<String>) {
        self.classes = names;
    }

    /// Block identities of the last row; empty if it has none.
    pub fn hash_ids(&self) -> &[u64] {
        &self.hash_ids
    }

    /// Block identities are of no further use: rows have none from here on.
    pub(super) fn skip_hash_ids(&mut self) {
        self.wants_ids = false;
        self.hash_ids.clear();
    }

    /// Rows that may be out of order in this format: a reader that wants them in order has to hold so many.
    pub(super) fn window(&self) -> usize {
        self.spec.window
    }

    /// Arrivals are instants of a simulation already.
    pub(super) fn is_simulated(&self) -> bool {
        self.spec.simulated
    }

    /// The present line, for messages.
    pub(super) fn line(&self) -> u64 {
        self.lines.number()
    }

    /// An error at a line.
    pub(super) fn row_error(&self, line: u64, problem: impl Into<String>, hint: impl Into<String>) -> WorkloadError {
        let path: PathBuf = self.lines.path().to_owned();
        WorkloadError::Row { path, line, problem: problem.into(), hint: hint.into() }
    }

    /// The next row; `None` at the end of the file.
    ///
    /// # Errors
    /// If the file cannot be read on or a row cannot be understood; the message names file, line and field.
    #[expect(clippy::should_implement_trait, reason = "a row may be an error after which no other follows")]
    pub fn next(&mut self) -> Result<Option<RowOutcome>, WorkloadError> {
        if !self.lines.advance()? {
            return Ok(None);
        }
        let line = self.lines.number();
        if matches!(self.fields, Fields::Csv(_)) {
            while CsvFields::is_open(self.lines.text()?) {
                if !self.lines.append()? {
                    return Err(self.row_error(line, "a quoted field without end: expected a closing `\"`", HINT_ROW));
                }
            }
        }
        match self.decode(line)? {
            Ok(outcome) => Ok(Some(outcome)),
            Err(problem) => Err(self.row_error(line, problem, HINT_ROW)),
        }
    }

    /// Decodes the present line. The inner error says what is wrong with the row.
    fn decode(&mut self, line: u64) -> Result<Result<RowOutcome, String>, WorkloadError> {
        let text = self.lines.text()?;
        let record = match &mut self.fields {
            Fields::Csv(fields) => fields.record(text),
            Fields::Json(fields) => fields.record(text),
        };
        let record = match record {
            Ok(record) => record,
            Err(problem) => return Ok(Err(problem)),
        };
        let naming = Naming { spec: &self.spec, columns: self.columns.as_ref(), class_column: self.class_column.as_deref() };
        let decoder = Decoder {
            naming,
            units: self.units,
            has_arrivals: self.has_arrivals,
            format_given: self.format_given,
            wants_ids: self.wants_ids,
        };
        let block_size = self.block_size;
        let interned = Interned {
            hash_ids: &mut self.hash_ids,
            classes: &mut self.classes,
            sessions: self.sessions.as_mut().map(|s| &mut s.0),
        };
        let mut outcome = decoder.row(&record, line, block_size, interned);
        if let (Some((_, turns)), Ok(RowOutcome::Request(row))) = (&mut self.sessions, &mut outcome)
            && let Err(problem) = turns.complete(row)
        {
            outcome = Err(problem.to_owned());
        }
        Ok(outcome)
    }
}

/// What to do about a bad row.
const HINT_ROW: &str = "correct the row, or name another format or other columns if this file is of another kind";
