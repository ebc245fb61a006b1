//! Single columns of a CSV file that is no trace.

use std::path::Path;

use super::lines::Lines;
use super::opening::{file_error, find_column};
use super::record::{CsvFields, split_quoted};
use crate::workload::error::WorkloadError;

/// A column to look for.
#[derive(Clone, Copy, Debug)]
pub(in crate::workload) enum Wanted<'a> {
    /// The file must have it.
    Required(&'a str),
    /// The file may have it.
    IfPresent(&'a str),
    /// Not this one.
    Nothing,
}

/// Reads `N` columns by name, row by row.
pub(in crate::workload) struct CsvColumns<const N: usize> {
    lines: Lines,
    wanted: [Option<usize>; N],
}

impl<const N: usize> CsvColumns<N> {
    /// Opens a file with a header and finds its columns.
    pub(in crate::workload) fn open(path: &Path, names: &[Wanted<'_>; N]) -> Result<Self, WorkloadError> {
        let mut lines = Lines::open(path)?;
        if !lines.advance()? {
            return Err(file_error(path, "the file is empty: expected a header", "is this the right file?"));
        }
        let header = split_quoted(lines.text()?).map_err(|problem| file_error(path, problem, "expected CSV with a header"))?;
        let header: Vec<String> = header.iter().map(|h| h.trim().to_owned()).collect();
        let mut wanted = [None; N];
        for (slot, name) in wanted.iter_mut().zip(names) {
            *slot = match name {
                Wanted::Required(name) => Some(find_column(path, &header, name)?),
                Wanted::IfPresent(name) => find_column(path, &header, name).ok(),
                Wanted::Nothing => None,
            };
        }
        Ok(Self { lines, wanted })
    }

    /// Whether column `i` was asked for and is there.
    pub(in crate::workload) fn has(&self, i: usize) -> bool {
        self.wanted[i].is_some()
    }

    /// The fields of the next row; empty ones are absent.
    pub(in crate::workload) fn next_row(&mut self) -> Result<Option<[Option<String>; N]>, WorkloadError> {
        if !self.lines.advance()? {
            return Ok(None);
        }
        while CsvFields::is_open(self.lines.text()?) {
            if !self.lines.append()? {
                return Err(self.error("a quoted field without end: expected a closing `\"`".into()));
            }
        }
        let record = split_quoted(self.lines.text()?).map_err(|problem| self.error(problem))?;
        Ok(Some(self.wanted.map(|column| {
            column.and_then(|c| record.get(c)).map(str::trim).filter(|field| !field.is_empty()).map(str::to_owned)
        })))
    }

    /// Parses a field of the present row.
    pub(in crate::workload) fn parse<T>(
        &self,
        name: &str,
        text: Option<&str>,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, WorkloadError> {
        let text = text.ok_or_else(|| self.error(format!("field `{name}` is missing: expected {expected}")))?;
        parse(text).ok_or_else(|| self.error(format!("field `{name}` is `{text}`: expected {expected}")))
    }

    fn error(&self, problem: String) -> WorkloadError {
        let hint = "correct the row, or name another column".into();
        WorkloadError::Row { path: self.lines.path().to_owned(), line: self.lines.number(), problem, hint }
    }
}
