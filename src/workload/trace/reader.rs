//! Rows of a trace file, one after the other, with constant memory.

use std::path::{Path, PathBuf};

use super::format::{self, Recognised, Spec, Syntax, TraceFormat};
use super::lines::Lines;
use super::record::{CsvFields, JsonFields, Record, Role, split_quoted};
use super::report::DropReason;
use super::time;
use crate::units::Span;
use crate::workload::config::{TimeUnit, TraceColumns, TraceConfig};
use crate::workload::error::WorkloadError;

/// Most class names of one trace.
const MOST_CLASSES: usize = 1024;

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
enum Fields {
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
    hash_ids: Vec<u64>,
    wants_ids: bool,
}

pub(super) fn file_error(path: &Path, problem: impl Into<String>, hint: impl Into<String>) -> WorkloadError {
    WorkloadError::File { path: path.to_owned(), problem: problem.into(), hint: hint.into() }
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
            hash_ids: Vec::new(),
            wants_ids: true,
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
        Ok(decoder.row(&record, line, block_size, &mut self.hash_ids, &mut self.classes))
    }
}

/// What to do about a bad row.
const HINT_ROW: &str = "correct the row, or name another format or other columns if this file is of another kind";

/// Whether the CSV header just read (the present line) has vidur's arrivals.
fn lines_have_arrivals(lines: &Lines) -> Result<bool, WorkloadError> {
    Ok(lines.text()?.contains("arrived_at"))
}

fn open_csv(
    lines: &mut Lines,
    named: Option<TraceFormat>,
    columns: Option<&TraceColumns>,
    class_column: Option<&str>,
) -> Result<(Spec, Fields), WorkloadError> {
    let path = lines.path().to_owned();
    lines.advance()?;
    if lines.text()?.trim_start().starts_with('[') {
        return Err(file_error(
            &path,
            "a JSON array: expected JSON Lines, one object a line",
            "`jq -c '.[]'` writes an array as lines",
        ));
    }
    let header: Vec<String> = split_quoted(lines.text()?)
        .map_err(|problem| file_error(&path, problem, "expected CSV with a header, or JSON Lines"))?
        .iter()
        .map(|h| h.trim().to_owned())
        .collect();
    if let Some(columns) = columns {
        return described_csv(lines, &path, &header, columns, class_column);
    }
    if named == Some(TraceFormat::ServeGen) || named.is_none() && format::is_servegen(&header) {
        let problem = "ServeGen windows hold rates, not requests";
        return Err(file_error(&path, problem, "requests are drawn from them in a run; inspect it as ServeGen"));
    }
    let spec = match named {
        Some(format) => format.spec().filter(|s| s.syntax == Syntax::Csv).ok_or_else(|| {
            let problem = format!("CSV, but format `{}` is JSON Lines", format.name());
            file_error(&path, problem, "leave the format out to have it recognised")
        })?,
        None => format::by_header(&header).ok_or_else(|| {
            let problem =
                format!("unknown columns `{}`: expected a trace of a known format ({})", header.join(","), TraceFormat::names());
            file_error(&path, problem, "name the columns and units in the trace's `columns`")
        })?,
    };
    let mut wanted = Vec::new();
    for (role, names) in spec.fields {
        let column = match (role, class_column) {
            (Role::Class, Some(_)) => continue,
            _ => spec.column(&header, *role),
        };
        let optional_arrival = *role == Role::Arrival && spec.format == TraceFormat::Vidur;
        match column {
            Some(column) => wanted.push((column, *role)),
            None if matches!(role, Role::InputTokens | Role::OutputTokens | Role::Arrival) && !optional_arrival => {
                let problem = format!("no column `{}`, which format `{}` has", names[0], spec.format.name());
                return Err(file_error(&path, problem, format!("the file has `{}`", header.join(","))));
            }
            None => {}
        }
    }
    if let Some(name) = class_column {
        wanted.push((find_column(&path, &header, name)?, Role::Class));
    }
    Ok((Spec { ..*spec }, Fields::Csv(CsvFields::new(wanted, Some(header.len())))))
}

pub(super) fn find_column(path: &Path, header: &[String], name: &str) -> Result<usize, WorkloadError> {
    header.iter().position(|h| h == name).or_else(|| header.iter().position(|h| h.eq_ignore_ascii_case(name))).ok_or_else(|| {
        let problem = format!("no column `{name}`");
        file_error(path, problem, format!("the file has `{}`", header.join(",")))
    })
}

fn described_csv(
    lines: &mut Lines,
    path: &Path,
    header: &[String],
    columns: &TraceColumns,
    class_column: Option<&str>,
) -> Result<(Spec, Fields), WorkloadError> {
    let find = |name: &str| {
        if columns.header {
            return find_column(path, header, name);
        }
        let number = name.parse::<usize>().ok().filter(|n| (1..=header.len()).contains(n));
        number.map(|n| n - 1).ok_or_else(|| {
            let problem = format!("`{name}` is no column: without a header, expected a number from 1 to {}", header.len());
            file_error(path, problem, "set `header = true` if the first line has names")
        })
    };
    let mut wanted = Vec::new();
    for (name, role) in described_fields(columns, class_column) {
        wanted.push((find(&name)?, role));
    }
    if !columns.header {
        lines.unread();
    }
    Ok((format::described(Syntax::Csv, columns.arrival_unit), Fields::Csv(CsvFields::new(wanted, Some(header.len())))))
}

fn described_fields(columns: &TraceColumns, class_column: Option<&str>) -> Vec<(String, Role)> {
    let mut fields = vec![
        (columns.arrival.clone(), Role::Arrival),
        (columns.input_tokens.clone(), Role::InputTokens),
        (columns.output_tokens.clone(), Role::OutputTokens),
    ];
    fields.extend(columns.service_time.iter().map(|s| (s.0.clone(), Role::ServiceTime)));
    fields.extend(class_column.map(|name| (name.to_owned(), Role::Class)));
    fields
}

fn open_json(
    lines: &mut Lines,
    named: Option<TraceFormat>,
    columns: Option<&TraceColumns>,
    class_column: Option<&str>,
) -> Result<(Spec, Fields), WorkloadError> {
    if let Some(columns) = columns {
        let fields = JsonFields::new(described_fields(columns, class_column));
        return Ok((format::described(Syntax::JsonLines, columns.arrival_unit), Fields::Json(fields)));
    }
    let path = lines.path().to_owned();
    let spec = match named {
        Some(format) => format.spec().filter(|s| s.syntax == Syntax::JsonLines).ok_or_else(|| {
            let problem = format!("JSON Lines, but format `{}` is not", format.name());
            file_error(&path, problem, "leave the format out to have it recognised")
        })?,
        None => recognise_json(lines, &path)?,
    };
    let all = spec.fields.iter().flat_map(|(role, names)| names.iter().map(|n| ((*n).to_owned(), *role)));
    let all = all.filter(|(_, role)| *role != Role::Class || class_column.is_none());
    let all = all.chain(class_column.map(|name| (name.to_owned(), Role::Class)));
    Ok((Spec { ..*spec }, Fields::Json(JsonFields::new(all))))
}

fn recognise_json(lines: &mut Lines, path: &Path) -> Result<&'static Spec, WorkloadError> {
    lines.advance()?;
    lines.unread();
    let row: serde_json::Value = serde_json::from_str(lines.text()?).map_err(|e| WorkloadError::Row {
        path: path.to_owned(),
        line: lines.number(),
        problem: format!("no JSON object: {e}"),
        hint: "a JSON Lines trace has one object a line".into(),
    })?;
    match format::by_object(&row) {
        Recognised::Format(spec) => Ok(spec),
        Recognised::Refused(what) => {
            let hint = "replay the requests of one recorded run instead, which have instants; shedcast's closed-loop clients have sessions of turns";
            Err(file_error(path, format!("{what}: expected requests that arrive at recorded instants"), hint))
        }
        Recognised::Unknown => {
            let names: Vec<&str> = row.as_object().map(|o| o.keys().map(String::as_str).collect()).unwrap_or_default();
            let problem =
                format!("unknown fields `{}`: expected a trace of a known format ({})", names.join(","), TraceFormat::names());
            Err(file_error(path, problem, "name the fields and units in the trace's `columns`"))
        }
    }
}

/// What the fields are called, for messages.
struct Naming<'a> {
    spec: &'a Spec,
    columns: Option<&'a TraceColumns>,
    class_column: Option<&'a str>,
}

impl Naming<'_> {
    fn of(&self, role: Role) -> &str {
        match (self.columns, role) {
            (_, Role::Class) if self.class_column.is_some() => self.class_column.unwrap_or("class"),
            (Some(columns), Role::Arrival) => &columns.arrival,
            (Some(columns), Role::InputTokens) => &columns.input_tokens,
            (Some(columns), Role::OutputTokens) => &columns.output_tokens,
            (Some(columns), Role::ServiceTime) => columns.service_time.as_ref().map_or("service_time", |s| s.0.as_str()),
            _ => self.spec.field_name(role),
        }
    }
}

/// Turns a record into a row.
struct Decoder<'a> {
    naming: Naming<'a>,
    units: (TimeUnit, TimeUnit),
    has_arrivals: bool,
    format_given: bool,
    wants_ids: bool,
}

impl Decoder<'_> {
    fn row(
        &self,
        record: &Record,
        line: u64,
        block_size: Option<u32>,
        hash_ids: &mut Vec<u64>,
        classes: &mut Vec<String>,
    ) -> Result<RowOutcome, String> {
        let spec = self.naming.spec;
        if let Some(wanted) = spec.request_event
            && record.get(Role::EventType) != Some(wanted)
        {
            return Ok(RowOutcome::Skipped(DropReason::OtherEvent));
        }
        if record.get(Role::SubRequests).is_some() {
            return Ok(RowOutcome::Skipped(DropReason::AgenticSession));
        }
        self.refuse_dependent(record)?;
        let arrival = if self.has_arrivals { Some(self.time(record, Role::Arrival, self.units.0)?) } else { None };
        if self.wants_ids {
            self.hash_ids(record, hash_ids)?;
        }
        let measured = match arrival {
            Some(arrival) if spec.format == TraceFormat::VllmLog => Some(self.measured(record, arrival)?),
            _ => None,
        };
        let own_block = record.get(Role::BlockSize).and_then(|text| text.parse::<u32>().ok());
        Ok(RowOutcome::Request(TraceRow {
            line,
            arrival,
            input_tokens: self.tokens(record, Role::InputTokens)?,
            output_tokens: self.tokens(record, Role::OutputTokens)?,
            class: record.get(Role::Class).map(|name| intern(classes, name)).transpose()?,
            service_time: self.optional(record, Role::ServiceTime, |text| self.span(text))?,
            worker: self.optional(record, Role::Worker, |text| text.parse().map_err(|_| "expected a worker's number".into()))?,
            in_session: record.get(Role::Session).is_some(),
            block_size: block_size.or(own_block).unwrap_or(spec.block_size),
            measured,
        }))
    }

    /// Rows that wait for other requests cannot be replayed at instants.
    fn refuse_dependent(&self, record: &Record) -> Result<(), String> {
        if record.get(Role::Dependencies).is_some_and(|d| d != "[]") {
            return Err(
                "field `dependencies`: the request waits for others: expected requests that arrive at recorded instants".into()
            );
        }
        // With the format named by the user, a delay beside an instant is ignored; without an instant it never can be.
        if record.get(Role::Delay).is_some() && (!self.format_given || record.get(Role::Arrival).is_none()) {
            return Err("field `delay`: a later turn of a session waits for the answer before, and its prompt may hold the new tokens only: \
                        expected requests that arrive at recorded instants with whole prompts (`format = \"mooncake\"` replays rows that have \
                        timestamps as they stand)"
                .into());
        }
        Ok(())
    }

    /// `field: problem`, with the value.
    fn problem(&self, role: Role, text: &str, expected: &str) -> String {
        format!("field `{}` is `{}`: {expected}", self.naming.of(role), shortened(text))
    }

    fn required<'r>(&self, record: &'r Record, role: Role) -> Result<&'r str, String> {
        record.get(role).ok_or_else(|| format!("field `{}` is missing: expected a value", self.naming.of(role)))
    }

    fn optional<T>(&self, record: &Record, role: Role, parse: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
        let Some(text) = record.get(role) else { return Ok(None) };
        parse(text).map(Some).map_err(|expected| self.problem(role, text, &expected))
    }

    fn time(&self, record: &Record, role: Role, unit: TimeUnit) -> Result<i128, String> {
        let text = self.required(record, role)?;
        time::nanos(text, unit).map_err(|expected| self.problem(role, text, &expected))
    }

    fn span(&self, text: &str) -> Result<Span, String> {
        let nanos = time::nanos(text, self.units.1)?;
        u64::try_from(nanos).map(Span::from_nanos).map_err(|_| "expected 0 or more, below 584 years".into())
    }

    fn tokens(&self, record: &Record, role: Role) -> Result<u32, String> {
        let text = self.required(record, role)?;
        // Almost always a plain number; otherwise one with a fraction of zeros, or an error.
        if let Ok(tokens) = text.parse::<u32>() {
            return Ok(tokens);
        }
        let exact = time::decimal(text, 0).filter(|n| time::decimal(text, 3) == Some(n * 1000));
        let exact = exact.ok_or_else(|| self.problem(role, text, "expected a whole number of tokens"))?;
        if exact < 0 {
            return Err(self.problem(role, text, "expected 0 or more tokens"));
        }
        u32::try_from(exact).map_err(|_| self.problem(role, text, "expected at most 4294967295 tokens"))
    }

    fn measured(&self, record: &Record, arrival: i128) -> Result<Measured, String> {
        let since = |role: Role| {
            self.optional(record, role, |text| {
                let span = time::nanos(text, self.units.0)? - arrival;
                u64::try_from(span).map(Span::from_nanos).map_err(|_| "expected an instant after the arrival".into())
            })
        };
        Ok(Measured {
            scheduled: since(Role::ScheduledAt)?,
            first_token: since(Role::FirstTokenAt)?,
            last_token: since(Role::LastTokenAt)?,
        })
    }

    fn hash_ids(&self, record: &Record, hash_ids: &mut Vec<u64>) -> Result<(), String> {
        hash_ids.clear();
        let Some(text) = record.get(Role::HashIds) else { return Ok(()) };
        let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
        let inner = inner.ok_or_else(|| self.problem(Role::HashIds, text, "expected a list of block identities"))?;
        if inner.trim_ascii().is_empty() || plain_ids(inner, hash_ids) {
            return Ok(());
        }
        hash_ids.clear();
        for id in inner.split(',') {
            let id = id.trim_ascii();
            // Signed identities are 64-bit hashes printed by a language without unsigned numbers.
            let parsed = id.parse::<u64>().ok().or_else(|| id.parse::<i64>().ok().map(i64::cast_unsigned));
            hash_ids.push(parsed.ok_or_else(|| self.problem(Role::HashIds, id, "expected whole 64-bit numbers"))?);
        }
        Ok(())
    }
}

/// Reads identities of at most 18 digits, as almost all are, in one pass; `false` if some are of another kind.
fn plain_ids(list: &str, ids: &mut Vec<u64>) -> bool {
    let (mut id, mut digits) = (0u64, 0);
    for byte in list.bytes().chain([b',']) {
        match byte {
            b'0'..=b'9' if digits < 18 => {
                id = id * 10 + u64::from(byte - b'0');
                digits += 1;
            }
            b',' if digits > 0 => {
                ids.push(id);
                (id, digits) = (0, 0);
            }
            b' ' if digits == 0 => {}
            _ => return false,
        }
    }
    true
}

/// At most 40 characters of a value, for messages.
fn shortened(text: &str) -> String {
    if text.chars().count() <= 40 { text.to_owned() } else { text.chars().take(39).chain(['…']).collect() }
}

/// The index of a class name, added if it is new.
fn intern(classes: &mut Vec<String>, name: &str) -> Result<u16, String> {
    if let Some(found) = classes.iter().position(|c| c == name) {
        return Ok(found as u16);
    }
    if classes.len() >= MOST_CLASSES {
        return Err(format!("class `{}` is one more than {MOST_CLASSES}: expected a column of few names", shortened(name)));
    }
    classes.push(name.to_owned());
    Ok((classes.len() - 1) as u16)
}
