//! The journal of a plan: what it is, then a line per finished run.

use serde::{Deserialize, Serialize};

use super::description::Description;
use super::record::Record;

/// Name and version of the format.
pub const JOURNAL_SCHEMA: &str = "shedcast.plan-journal/1";

/// The first line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`JOURNAL_SCHEMA`].
    pub journal: String,
    /// The plan.
    pub plan: Description,
}

impl Header {
    /// The header of a plan.
    pub fn new(description: &Description) -> Self {
        Self { journal: JOURNAL_SCHEMA.to_owned(), plan: description.clone() }
    }

    /// As the first line, with its line feed.
    pub fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("plain data can be written");
        line.push('\n');
        line
    }
}

/// A journal as read.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// What it is of.
    pub header: Header,
    /// The runs it holds, in the order of the file.
    pub records: Vec<Record>,
    /// Bytes up to the end of the last whole line: a torn one, of a process that was killed, is to be cut off.
    pub whole_bytes: usize,
}

impl Journal {
    /// Reads a journal; a torn last line is left out.
    ///
    /// # Errors
    /// It has no header of this format, or a line before the last is no record.
    pub fn parse(text: &str) -> Result<Self, String> {
        let whole_bytes = text.rfind('\n').map_or(0, |at| at + 1);
        let mut lines = text[..whole_bytes].lines();
        let header: Header = lines
            .next()
            .and_then(|line| serde_json::from_str(line).ok())
            .filter(|header: &Header| header.journal == JOURNAL_SCHEMA)
            .ok_or_else(|| format!("no journal of a plan of this version (`{JOURNAL_SCHEMA}`)"))?;
        let goals = header.plan.goals.len();
        let record = |(n, line)| Record::from_line(line, goals).ok_or_else(|| format!("line {} is no record of a run", n + 2));
        let records = lines.enumerate().map(record).collect::<Result<_, _>>()?;
        Ok(Self { header, records, whole_bytes })
    }
}
