//! Lines of a file, whatever their ends, gzipped or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::workload::error::WorkloadError;

/// Longest line accepted: a request with token ids of a million-token prompt fits.
const LONGEST: u64 = 64 << 20;
/// Size of the read buffer.
const BUFFER: usize = 1 << 16;

/// Files that are often taken for traces: how they begin, what they are, and what to do with them.
const BINARY: [(&[u8], &str, &str); 5] = [
    (b"PAR1", "a Parquet file", "write it as CSV first, for example with DuckDB: `copy (from 'x.parquet') to 'x.csv'`"),
    (b"PK\x03\x04", "a ZIP archive (or NumPy's .npz)", "unpack it, and name one of its files"),
    (b"\x28\xb5\x2f\xfd", "a file packed by zstd", "unpack it: `zstd -d FILE`, or pack it by gzip"),
    (b"\xfd7zXZ\x00", "a file packed by xz", "unpack it: `xz -d FILE`, or pack it by gzip"),
    (b"BZh", "a file packed by bzip2", "unpack it: `bunzip2 FILE`, or pack it by gzip"),
];

/// The path that stands for standard input.
pub const STDIN: &str = "-";

/// Whether a path stands for standard input.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN
}

/// A streaming reader of text lines that knows where it is. Memory: one buffer, and the longest line.
pub(super) struct Lines {
    path: PathBuf,
    input: Box<dyn BufRead + Send>,
    buffer: Vec<u8>,
    number: u64,
    /// The present line is to be handed out once more.
    again: bool,
}

impl Lines {
    /// Opens a file, or standard input where the path is [`STDIN`]; gzip is recognised by content.
    pub(super) fn open(path: &Path) -> Result<Self, WorkloadError> {
        if is_stdin(path) {
            return Self::open_stdin();
        }
        let failed = |source: io::Error| {
            let hint = match source.kind() {
                io::ErrorKind::NotFound => "relative paths are taken from the scenario's folder, then from the working directory",
                _ => "the trace must be a readable file, plain or gzipped",
            };
            WorkloadError::Io { path: path.to_owned(), source, hint: hint.into() }
        };
        let file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        let mut plain = BufReader::with_capacity(BUFFER, file);
        let head = plain.fill_buf().map_err(failed)?;
        let zipped = head.starts_with(&[0x1f, 0x8b]);
        if let Some((_, what, hint)) = BINARY.iter().find(|(magic, ..)| head.starts_with(magic)) {
            let problem = format!("{what}: expected text, plain or gzipped");
            return Err(WorkloadError::File { path: path.to_owned(), problem, hint: (*hint).into() });
        }
        let input: Box<dyn BufRead + Send> =
            if zipped { Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(plain))) } else { Box::new(plain) };
        Ok(Self::new(path, input))
    }

    /// What comes by standard input, which can be read once only.
    fn open_stdin() -> Result<Self, WorkloadError> {
        let path = Path::new("<stdin>");
        let failed = |source| WorkloadError::Io { path: path.to_owned(), source, hint: "pipe the trace into it".into() };
        let mut plain = BufReader::with_capacity(BUFFER, io::stdin());
        let zipped = plain.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]);
        let input: Box<dyn BufRead + Send> =
            if zipped { Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(plain))) } else { Box::new(plain) };
        Ok(Self::new(path, input))
    }

    /// Reads from anything.
    pub(super) fn new(path: &Path, input: Box<dyn BufRead + Send>) -> Self {
        Self { path: path.to_owned(), input, buffer: Vec::new(), number: 0, again: false }
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Number of the present line, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next call of [`Lines::next`] yields the present line again.
    pub(super) fn unread(&mut self) {
        self.again = true;
    }

    /// Moves to the next line that is not blank; `false` at the end.
    pub(super) fn advance(&mut self) -> Result<bool, WorkloadError> {
        if std::mem::take(&mut self.again) {
            return Ok(true);
        }
        loop {
            self.buffer.clear();
            if !self.append()? {
                return Ok(false);
            }
            if !self.buffer.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// Adds one more physical line to the present one, for a quoted field that holds a line end; `false` at the end.
    pub(super) fn append(&mut self) -> Result<bool, WorkloadError> {
        if !self.buffer.is_empty() {
            self.buffer.push(b'\n');
        }
        let before = self.buffer.len();
        let room = LONGEST.saturating_sub(before as u64);
        let read = self.input.by_ref().take(room).read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|source| {
            let hint = format!("reading stopped after line {}: is the file complete?", self.number);
            WorkloadError::Io { path: self.path.clone(), source, hint }
        })?;
        if read == 0 && room > 0 {
            return Ok(false);
        }
        self.number += 1;
        if self.buffer.len() as u64 >= LONGEST {
            return Err(self.broken("a line of more than 64 MiB: expected one request a line"));
        }
        if self.number == 1 {
            self.check_encoding()?;
        }
        let ended = self.buffer.ends_with(b"\n");
        while self.buffer.len() > before && matches!(self.buffer.last(), Some(b'\n' | b'\r')) {
            self.buffer.pop();
        }
        if !ended && self.number == 1 && self.buffer.contains(&b'\r') {
            return Err(self.broken("lines that end with carriage returns alone: expected line feeds"));
        }
        if self.buffer[before..].contains(&0) {
            return Err(self.broken("a zero byte: expected text, not a binary file"));
        }
        Ok(true)
    }

    /// Drops a byte order mark of UTF-8 and refuses UTF-16.
    fn check_encoding(&mut self) -> Result<(), WorkloadError> {
        if self.buffer.starts_with(&[0xef, 0xbb, 0xbf]) {
            self.buffer.drain(..3);
        }
        if self.buffer.starts_with(&[0xff, 0xfe]) || self.buffer.starts_with(&[0xfe, 0xff]) {
            return Err(self.broken("UTF-16 text: expected UTF-8"));
        }
        Ok(())
    }

    fn broken(&self, problem: &str) -> WorkloadError {
        let hint = "a trace is CSV or JSON Lines in UTF-8, plain or gzipped".into();
        WorkloadError::Row { path: self.path.clone(), line: self.number, problem: problem.into(), hint }
    }

    /// The present line without its end.
    pub(super) fn text(&self) -> Result<&str, WorkloadError> {
        std::str::from_utf8(&self.buffer).map_err(|_| self.broken("bytes that are no UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Write};

    fn read(bytes: &[u8]) -> Result<Vec<(u64, String)>, WorkloadError> {
        let mut lines = Lines::new(Path::new("t"), Box::new(Cursor::new(bytes.to_vec())));
        let mut all = vec![];
        while lines.advance()? {
            all.push((lines.number(), lines.text()?.to_owned()));
        }
        Ok(all)
    }

    fn numbered(lines: &[(u64, &str)]) -> Vec<(u64, String)> {
        lines.iter().map(|(n, s)| (*n, (*s).to_owned())).collect()
    }

    #[test]
    fn line_ends_blank_lines_and_a_byte_order_mark_make_no_difference() {
        let expected = numbered(&[(1, "a"), (4, "b"), (5, "c")]);
        assert_eq!(read(b"a\n\n \nb\nc\n").unwrap(), expected);
        assert_eq!(read(b"\xef\xbb\xbfa\r\n\r\n  \t\r\nb\r\nc").unwrap(), expected);
        assert_eq!(read(b"").unwrap(), []);
    }

    #[test]
    fn what_is_no_text_is_refused_with_its_line() {
        for (bytes, what) in [
            (&b"a\nb\0c\n"[..], "t:2: a zero byte"),
            (b"a,b\r1,2\r", "t:1: lines that end with carriage returns"),
            (b"\xff\xfea\0", "t:1: UTF-16"),
            (b"ok\n\xc3\x28\n", "t:2: bytes that"),
        ] {
            let message = read(bytes).unwrap_err().to_string();
            assert!(message.starts_with(what) && message.contains("\n  hint: "), "{message}");
        }
    }

    #[test]
    fn gzip_is_recognised_by_content_and_a_cut_file_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.csv");
        let mut zip = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
        zip.write_all(b"one\ntwo\n").unwrap();
        let bytes = zip.finish().unwrap();
        std::fs::write(&path, &bytes).unwrap();
        let mut lines = Lines::open(&path).unwrap();
        assert!(lines.advance().unwrap() && lines.text().unwrap() == "one");
        assert!(lines.advance().unwrap() && lines.text().unwrap() == "two");
        assert!(!lines.advance().unwrap());
        std::fs::write(&path, &bytes[..bytes.len() - 6]).unwrap();
        let mut lines = Lines::open(&path).unwrap();
        let cut = std::iter::from_fn(|| match lines.advance() {
            Ok(true) => Some(Ok(())),
            Ok(false) => None,
            Err(e) => Some(Err(e)),
        });
        assert!(cut.take(5).any(|line| line.is_err_and(|e| e.to_string().contains("is the file complete?"))));
    }

    #[test]
    fn a_packed_or_binary_file_says_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        for (bytes, what) in
            [(&b"PAR1\x15\x04"[..], "a Parquet file"), (b"\x28\xb5\x2f\xfd\x24", "packed by zstd"), (b"PK\x03\x04", "a ZIP")]
        {
            let path = dir.path().join("trace");
            std::fs::write(&path, bytes).unwrap();
            let message = Lines::open(&path).err().unwrap().to_string();
            assert!(message.contains(what) && message.contains("\n  hint: "), "{message}");
        }
    }

    #[test]
    fn a_missing_file_and_a_folder_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        for path in [dir.path().join("none.csv"), dir.path().to_owned()] {
            let message = Lines::open(&path).err().unwrap().to_string();
            assert!(message.contains("cannot read the trace") && message.contains("\n  hint: "), "{message}");
        }
    }
}
