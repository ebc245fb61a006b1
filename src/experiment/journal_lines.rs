//! What the journals of sweeps and plans have in common: a header, then a line per finished run, the last of which may be torn.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value as a line, with its line feed.
pub(super) fn to_line(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).expect("plain data can be written");
    line.push('\n');
    line
}

/// Reads a journal: its header, its records in the order of the file, and the bytes up to the end of its last whole line. A torn
/// line after that, of a process that was killed, is left out.
///
/// # Errors
/// `no_header` if the first line is no header that `accepts` takes; or the number of a line that is no `record`.
pub(super) fn read<H: DeserializeOwned, R>(
    text: &str,
    accepts: impl Fn(&H) -> bool,
    no_header: impl FnOnce() -> String,
    record: impl Fn(&H, &str) -> Option<R>,
) -> Result<(H, Vec<R>, usize), String> {
    let whole_bytes = text.rfind('\n').map_or(0, |at| at + 1);
    let mut lines = text[..whole_bytes].lines();
    let header: H =
        lines.next().and_then(|line| serde_json::from_str(line).ok()).filter(|header| accepts(header)).ok_or_else(no_header)?;
    let number = |(n, line)| record(&header, line).ok_or_else(|| format!("line {} is no record of a run", n + 2));
    let records = lines.enumerate().map(number).collect::<Result<_, _>>()?;
    Ok((header, records, whole_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Result<(u32, Vec<u32>, usize), String> {
        read(text, |header: &u32| *header == 7, || "no header".to_owned(), |_, line| line.parse().ok())
    }

    #[test]
    fn a_torn_line_is_left_out_and_a_wrong_one_is_named() {
        assert_eq!(numbers("7\n1\n2\n3"), Ok((7, vec![1, 2], 6)));
        assert_eq!(numbers("7\n1\nx\n2\n"), Err("line 3 is no record of a run".to_owned()));
        for text in ["8\n1\n", "7", ""] {
            assert_eq!(numbers(text), Err("no header".to_owned()), "{text:?}");
        }
    }
}
