//! From the fields of a line to a request.

use super::format::{Spec, TraceFormat};
use super::reader::{Measured, RowOutcome, TraceRow};
use super::record::{Record, Role};
use super::report::DropReason;
use super::session_ids::{SessionIds, has_parent};
use super::time;
use crate::units::Span;
use crate::workload::config::{TimeUnit, TraceColumns};

/// Most class names of one trace.
const MOST_CLASSES: usize = 1024;

/// What the fields are called, for messages.
pub(super) struct Naming<'a> {
    pub(super) spec: &'a Spec,
    pub(super) columns: Option<&'a TraceColumns>,
    pub(super) class_column: Option<&'a str>,
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

/// What rows have in common, kept once.
pub(super) struct Interned<'a> {
    /// Block identities of the row.
    pub(super) hash_ids: &'a mut Vec<u64>,
    pub(super) classes: &'a mut Vec<String>,
    /// Where sessions matter.
    pub(super) sessions: Option<&'a mut SessionIds>,
}

/// Turns a record into a row.
pub(super) struct Decoder<'a> {
    pub(super) naming: Naming<'a>,
    pub(super) units: (TimeUnit, TimeUnit),
    pub(super) has_arrivals: bool,
    pub(super) format_given: bool,
    pub(super) wants_ids: bool,
}

impl Decoder<'_> {
    pub(super) fn row(
        &self,
        record: &Record,
        line: u64,
        block_size: Option<u32>,
        interned: Interned<'_>,
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
        let follows = interned.sessions.is_some();
        self.refuse_dependent(record, follows)?;
        let (session, delay) = self.turn(record, interned.sessions)?;
        let arrival = match (self.has_arrivals, delay) {
            (false, _) => None,
            // The turn before says when it is sent.
            (true, Some(_)) if record.get(Role::Arrival).is_none() => None,
            (true, _) => Some(self.time(record, Role::Arrival, self.units.0)?),
        };
        if self.wants_ids {
            self.hash_ids(record, interned.hash_ids)?;
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
            output_tokens: match record.get(Role::OutputIds).filter(|_| record.get(Role::OutputTokens).is_none()) {
                Some(ids) => list_length(ids).ok_or_else(|| self.problem(Role::OutputIds, ids, "expected a list of tokens"))?,
                None => self.tokens(record, Role::OutputTokens)?,
            },
            class: record.get(Role::Class).map(|name| intern(interned.classes, name)).transpose()?,
            service_time: self.optional(record, Role::ServiceTime, |text| self.span(text))?,
            worker: self.optional(record, Role::Worker, |text| text.parse().map_err(|_| "expected a worker's number".into()))?,
            in_session: is_part_of_session(record),
            session,
            delay,
            block_size: block_size.or(own_block).unwrap_or(spec.block_size),
            measured,
        }))
    }

    /// The session of a row and its delay after the turn before, where sessions matter.
    fn turn(&self, record: &Record, sessions: Option<&mut SessionIds>) -> Result<(Option<u32>, Option<Span>), String> {
        let (Some(ids), Some(name)) = (sessions, record.get(Role::Session)) else { return Ok((None, None)) };
        let session = ids.of(name, record.get(Role::Parent));
        let delay = self.optional(record, Role::Delay, |text| {
            let nanos = time::nanos(text, self.units.0)?;
            u64::try_from(nanos).map(Span::from_nanos).map_err(|_| "expected 0 or more, below 584 years".into())
        })?;
        Ok((Some(session), delay))
    }

    /// Rows that wait for other requests cannot be replayed at instants; `follows` where turns wait for the answer before.
    fn refuse_dependent(&self, record: &Record, follows: bool) -> Result<(), String> {
        if record.get(Role::Dependencies).is_some_and(|d| d != "[]") {
            return Err(
                "field `dependencies`: the request waits for others: expected requests that arrive at recorded instants".into()
            );
        }
        if record.get(Role::Delay).is_none() {
            return Ok(());
        }
        if !self.format_given {
            return Err(
                "field `delay`: a later turn of a session waits for the answer before, and its prompt may hold the new tokens \
                        only: expected a format that says so (`mooncake`: whole prompts; `mooncake-delta`: the new tokens only)"
                    .into(),
            );
        }
        // A delay beside an instant is ignored where turns do not wait; without an instant it never can be.
        if record.get(Role::Arrival).is_none() && !follows {
            return Err(
                "field `delay`: the turn is sent so long after the answer before and has no instant of its own: expected a \
                        replay with `sessions = \"follow\"`"
                    .into(),
            );
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

/// Whether other requests belong to the same session, as far as one row can tell.
fn is_part_of_session(record: &Record) -> bool {
    match record.get(Role::Parent) {
        None => record.get(Role::Session).is_some(),
        parent => has_parent(parent),
    }
}

/// Number of entries of a JSON list of numbers.
fn list_length(text: &str) -> Option<u32> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?.trim_ascii();
    let commas = inner.bytes().filter(|byte| *byte == b',').count();
    u32::try_from(if inner.is_empty() { 0 } else { commas + 1 }).ok()
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
    // It stands in tables and charts, where a line break or an escape would tear rows apart.
    if name.chars().any(char::is_control) {
        let shown: String =
            name.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect();
        return Err(format!("class `{}` has control characters: expected a name of printable ones", shortened(&shown)));
    }
    if classes.len() >= MOST_CLASSES {
        return Err(format!("class `{}` is one more than {MOST_CLASSES}: expected a column of few names", shortened(name)));
    }
    classes.push(name.to_owned());
    Ok((classes.len() - 1) as u16)
}
