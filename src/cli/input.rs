//! Texts that a command reads whole: bounded, so that an endless pipe, a device or a wrong file ends in a message.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Bytes that are read before they are looked at.
const PIECE: u64 = 1 << 20;

/// Why a text cannot be read: a lowercase fragment.
#[derive(Debug, thiserror::Error)]
pub(super) enum InputFault {
    /// The operating system refuses.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// Where a file ought to be stands something else.
    #[error("is {0}, not a file")]
    NotAFile(&'static str),
    /// More than is read.
    #[error("is longer than {0} bytes")]
    TooLong(u64),
    /// Text of another encoding.
    #[error("is UTF-16 text: expected UTF-8")]
    Utf16,
    /// No text.
    #[error("has a zero byte in line {0}: expected text, not a binary file")]
    ZeroByte(usize),
    /// Bytes that are no UTF-8.
    #[error("has bytes that are no UTF-8 in line {0}: expected text")]
    NotUtf8(usize),
}

/// A text of at most `most` bytes from a file, a pipe or a device; `-` is standard input.
pub(super) fn read_text(path: &Path, most: u64) -> Result<String, InputFault> {
    if path == Path::new("-") {
        return text_of(io::stdin().lock(), most);
    }
    if fs::metadata(path)?.is_dir() {
        return Err(InputFault::NotAFile("a directory"));
    }
    text_of(File::open(path)?, most)
}

/// A text that only shedcast itself writes: nothing but a file will do.
pub(super) fn read_own(path: &Path) -> Result<String, InputFault> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(InputFault::NotAFile(if found.is_dir() { "a directory" } else { "a device or a pipe" }));
    }
    text_of(File::open(path)?, u64::MAX)
}

/// Reads piece by piece: what is no text ends the reading at once, however long it goes on.
fn text_of(mut input: impl Read, most: u64) -> Result<String, InputFault> {
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        let room = most.saturating_add(1).saturating_sub(before as u64);
        let read = input.by_ref().take(room.min(PIECE)).read_to_end(&mut bytes)?;
        if before == 0 && (bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])) {
            return Err(InputFault::Utf16);
        }
        if let Some(at) = bytes[before..].iter().position(|byte| *byte == 0) {
            return Err(InputFault::ZeroByte(line_of(&bytes, before + at)));
        }
        if bytes.len() as u64 > most {
            return Err(InputFault::TooLong(most));
        }
        if read == 0 {
            break;
        }
    }
    let text = String::from_utf8(bytes).map_err(|e| InputFault::NotUtf8(line_of(e.as_bytes(), e.utf8_error().valid_up_to())))?;
    // A byte order mark says nothing in UTF-8.
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// The line of the byte at `at`, from 1.
fn line_of(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], most: u64) -> Result<String, String> {
        text_of(bytes, most).map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_text_is_read_whole_and_without_its_mark() {
        assert_eq!(read("a\nß\n".as_bytes(), 5).unwrap(), "a\nß\n");
        assert_eq!(read(b"\xef\xbb\xbfa", 10).unwrap(), "a");
        assert_eq!(read(b"", 0).unwrap(), "");
    }

    #[test]
    fn what_is_no_text_is_told_with_its_line() {
        assert_eq!(read(b"a\nb\0", 9).unwrap_err(), "has a zero byte in line 2: expected text, not a binary file");
        assert_eq!(read(b"a\n\n\xe9\n", 9).unwrap_err(), "has bytes that are no UTF-8 in line 3: expected text");
        assert_eq!(read(b"\xff\xfea\0", 9).unwrap_err(), "is UTF-16 text: expected UTF-8");
        assert_eq!(read(b"abcd", 3).unwrap_err(), "is longer than 3 bytes");
    }

    #[test]
    fn what_never_ends_is_refused() {
        assert!(matches!(text_of(io::repeat(b'x'), 3 << 20), Err(InputFault::TooLong(_))));
        assert!(matches!(text_of(io::repeat(0), u64::MAX), Err(InputFault::ZeroByte(1))));
    }
}
