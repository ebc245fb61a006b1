//! The journal of a plan: what it is, then a line per finished run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::journal_lines;
use super::description::Description;
use super::record::Record;

/// Name and version of the format.
pub const JOURNAL_SCHEMA: &str = "shedcast.plan-journal/1";

/// The first line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
        journal_lines::to_line(self)
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
        let accepts = |header: &Header| header.journal == JOURNAL_SCHEMA;
        let missing = || format!("no journal of a plan of this version (`{JOURNAL_SCHEMA}`)");
        let (header, records, whole_bytes) =
            journal_lines::read(text, accepts, missing, |header, line| Record::from_line(line, header.plan.goals.len()))?;
        Ok(Self { header, records, whole_bytes })
    }
}
