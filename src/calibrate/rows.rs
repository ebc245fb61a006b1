//! Tables of named fields: CSV with a header, or JSON Lines.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::CalibrationError;

/// Bytes of a file at most.
const MAX_BYTES: u64 = 512 << 20;
/// Bytes that are read before they are looked at.
const PIECE: u64 = 1 << 20;
/// What is wanted where text is.
const TEXT: &str = "expected CSV, JSON or JSON Lines in UTF-8";
/// Faulty rows that are told one by one.
const MOST_FAULTS: usize = 10;

/// Rows of a file, each field as text.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// The file.
    pub(super) path: PathBuf,
    /// Names of the fields in the order of the file.
    pub(super) header: Vec<String>,
    /// The rows.
    pub(super) rows: Vec<Row>,
}

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Line of the file, from 1.
    pub(super) line: u64,
    fields: BTreeMap<String, String>,
}

impl Row {
    /// A field; empty ones are absent.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(|text| text.trim()).filter(|text| !text.is_empty())
    }
}

/// Which column serves as what, where the names of the file are others than the known ones: `key=COLUMN,...`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnNames(BTreeMap<String, String>);

impl ColumnNames {
    /// Reads `key=COLUMN,...`.
    ///
    /// # Errors
    /// A part without `=`, or a key given twice.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut names = BTreeMap::new();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let (key, column) = part.split_once('=').ok_or_else(|| format!("`{part}`: expected `key=COLUMN`"))?;
            if names.insert(key.trim().to_owned(), column.trim().to_owned()).is_some() {
                return Err(format!("`{}` is named twice", key.trim()));
            }
        }
        Ok(Self(names))
    }

    /// The column named for `key`.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// A key that is none of `known`.
    pub(super) fn unknown(&self, known: &[&str]) -> Option<&str> {
        self.0.keys().map(String::as_str).find(|key| !known.contains(key))
    }
}

/// Rows to keep: every named column has this value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter(Vec<(String, String)>);

impl Filter {
    /// Reads `COLUMN=VALUE,...`.
    ///
    /// # Errors
    /// A part without `=`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let part = |part: &str| {
            let (column, value) = part.split_once('=').ok_or_else(|| format!("`{part}`: expected `COLUMN=VALUE`"))?;
            Ok((column.trim().to_owned(), value.trim().to_owned()))
        };
        text.split(',').filter(|p| !p.trim().is_empty()).map(part).collect::<Result<_, String>>().map(Self)
    }
}

impl Rows {
    /// Reads a file: JSON Lines if its first character is `{`, else CSV.
    ///
    /// # Errors
    /// It cannot be read, is too large, or holds lines of another form: the first ten are told.
    pub(super) fn read(path: &Path) -> Result<Self, CalibrationError> {
        let text = read_text(path)?;
        if text.trim().is_empty() {
            return Err(CalibrationError::file(path, "the file is empty", "is this the right file?"));
        }
        if text.trim_start_matches('\u{feff}').trim_start().starts_with('{') { json(path, &text) } else { csv(path, &text) }
    }

    /// The rows that pass `filter`.
    ///
    /// # Errors
    /// It names a column that is not there.
    pub(super) fn filtered(mut self, filter: &Filter) -> Result<Self, CalibrationError> {
        for (column, _) in &filter.0 {
            if !self.header.contains(column) {
                return Err(CalibrationError::file(
                    &self.path,
                    &format!("there is no column `{column}`"),
                    format!("its columns are {}", self.header.join(", ")),
                ));
            }
        }
        self.rows.retain(|row| filter.0.iter().all(|(column, value)| row.get(column) == Some(value)));
        Ok(self)
    }

    /// The column that serves as `key`: the one named for it, or the first of `known` that is there.
    ///
    /// # Errors
    /// A named column that is not there.
    pub(super) fn column(&self, key: &str, known: &[&str], names: &ColumnNames) -> Result<Option<String>, CalibrationError> {
        match names.get(key) {
            Some(name) if self.header.iter().any(|h| h == name) => Ok(Some(name.to_owned())),
            Some(name) => Err(CalibrationError::file(
                &self.path,
                &format!("there is no column `{name}` (named for `{key}`)"),
                format!("its columns are {}", self.header.join(", ")),
            )),
            None => Ok(known.iter().find(|name| self.header.iter().any(|h| h == *name)).map(|name| (*name).to_owned())),
        }
    }
}

/// Collects faults of rows, of which it tells the first ten.
#[derive(Debug, Default)]
pub(super) struct RowFaults {
    faults: Vec<String>,
    more: usize,
}

impl RowFaults {
    /// Notes a fault.
    pub(super) fn push(&mut self, path: &Path, line: u64, problem: &str) {
        if self.faults.len() < MOST_FAULTS {
            self.faults.push(format!("{}:{line}: {problem}", path.display()));
        } else {
            self.more += 1;
        }
    }

    /// An error if there was any.
    ///
    /// # Errors
    /// There was any.
    pub(super) fn finish(mut self, hint: &str) -> Result<(), CalibrationError> {
        if self.faults.is_empty() {
            return Ok(());
        }
        if self.more > 0 {
            self.faults.push(format!("... and {} more rows", self.more));
        }
        Err(CalibrationError::Faulty { faults: self.faults, hint: hint.to_owned() })
    }
}

/// The text of a file.
///
/// # Errors
/// It cannot be read, is too large, or is no UTF-8.
pub(super) fn read_text(path: &Path) -> Result<String, CalibrationError> {
    let bytes = bounded(path, MAX_BYTES, true).map_err(|error| refused(path, error))?;
    String::from_utf8(bytes).map_err(|_| CalibrationError::file(path, "it is no text", TEXT))
}

/// The bytes of a file.
///
/// # Errors
/// It cannot be read, or is too large.
pub(super) fn read_bytes(path: &Path) -> Result<Vec<u8>, CalibrationError> {
    bounded(path, MAX_BYTES, false).map_err(|error| refused(path, error))
}

fn refused(path: &Path, error: io::Error) -> CalibrationError {
    match error.kind() {
        io::ErrorKind::FileTooLarge => {
            CalibrationError::file(path, &error.to_string(), "a few thousand requests tell all there is to tell")
        }
        io::ErrorKind::InvalidData => CalibrationError::file(path, &error.to_string(), TEXT),
        _ => CalibrationError::io(path, error),
    }
}

/// At most `most` bytes of a file, a pipe or a device, which may have no end: what is no text, where text is wanted, is not read on.
pub(crate) fn bounded(path: &Path, most: u64, text: bool) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        let room = (most + 1).saturating_sub(before as u64).min(PIECE);
        let read = file.by_ref().take(room).read_to_end(&mut bytes)?;
        if text && bytes[before..].contains(&0) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it has a zero byte: expected text, not a binary file"));
        }
        if bytes.len() as u64 > most {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
        }
        if read == 0 {
            return Ok(bytes);
        }
    }
}

fn csv(path: &Path, text: &str) -> Result<Rows, CalibrationError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = ::csv::ReaderBuilder::new().flexible(true).trim(::csv::Trim::All).from_reader(text.as_bytes());
    let header: Vec<String> = match reader.headers() {
        Ok(header) => header.iter().map(str::to_owned).collect(),
        Err(error) => return Err(CalibrationError::file(path, &error.to_string(), "expected CSV with a header")),
    };
    let (mut rows, mut faults) = (Vec::new(), RowFaults::default());
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                let line = error.position().map_or(0, ::csv::Position::line);
                faults.push(path, line, &error.to_string());
                continue;
            }
        };
        let line = record.position().map_or(0, ::csv::Position::line);
        if record.len() != header.len() {
            faults.push(path, line, &format!("{} fields: expected {} as in the header", record.len(), header.len()));
            continue;
        }
        let fields = header.iter().cloned().zip(record.iter().map(str::to_owned)).collect();
        rows.push(Row { line, fields });
    }
    faults.finish("expected CSV with a header, or JSON Lines")?;
    Ok(Rows { path: path.to_owned(), header, rows })
}

fn json(path: &Path, text: &str) -> Result<Rows, CalibrationError> {
    let (mut header, mut rows, mut faults) = (Vec::<String>::new(), Vec::new(), RowFaults::default());
    for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1u64..).filter(|(line, _)| !line.trim().is_empty()) {
        let object = match serde_json::from_str(line) {
            Ok(Value::Object(object)) => object,
            Ok(_) => {
                faults.push(path, number, "another kind of JSON value: expected an object");
                continue;
            }
            Err(error) => {
                faults.push(path, number, &format!("no JSON: {error}"));
                continue;
            }
        };
        let mut fields = BTreeMap::new();
        for (key, value) in object {
            let text = match value {
                Value::String(text) => text,
                Value::Null => continue,
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                Value::Array(_) | Value::Object(_) => continue,
            };
            if !header.contains(&key) {
                header.push(key.clone());
            }
            fields.insert(key, text);
        }
        rows.push(Row { line: number, fields });
    }
    faults.finish("expected JSON Lines, one object a line, or CSV with a header")?;
    Ok(Rows { path: path.to_owned(), header, rows })
}
