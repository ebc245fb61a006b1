//! Rows of CSV written by hand into a buffer that is used again: several times cheaper than a general serialiser, and
//! what is absent is an empty field, never 0.

use std::io::Write;

use crate::units::{NANOS_PER_SECOND, SimTime, Span};

const BUFFERS_NEVER_FAIL: &str = "writing to memory cannot fail";

/// One row in the making: fields are appended in order, and [`end`](Self::end) closes the line with a line feed.
///
/// ```
/// use shedcast::stats::CsvRow;
/// use shedcast::units::SimTime;
///
/// let mut buffer = Vec::new();
/// CsvRow::new(&mut buffer).time(SimTime::from_nanos(1_500_000_000)).int(7).float(None).text("a, b").end();
/// assert_eq!(buffer, b"1.5,7,,\"a, b\"\n");
/// ```
#[derive(Debug)]
#[must_use = "a row ends with `end`"]
pub struct CsvRow<'a> {
    buffer: &'a mut Vec<u8>,
    first: bool,
}

impl<'a> CsvRow<'a> {
    /// A row at the end of `buffer`.
    pub const fn new(buffer: &'a mut Vec<u8>) -> Self {
        Self { buffer, first: true }
    }

    /// A whole number.
    pub fn int(mut self, value: u64) -> Self {
        self.separate();
        push_int(self.buffer, value);
        self
    }

    /// A whole number, or an empty field.
    pub fn opt_int(self, value: Option<u64>) -> Self {
        match value {
            Some(value) => self.int(value),
            None => self.empty(),
        }
    }

    /// A number in the fewest digits that read back as the same; empty if absent or not finite. Very small and very
    /// large ones in the e notation.
    pub fn float(mut self, value: Option<f64>) -> Self {
        self.separate();
        if let Some(value) = value.filter(|value| value.is_finite()) {
            // Adding 0 makes -0 a plain 0.
            let value = value + 0.0;
            let plain = value == 0.0 || (1e-6..1e16).contains(&value.abs());
            let written = if plain { write!(self.buffer, "{value}") } else { write!(self.buffer, "{value:e}") };
            written.expect(BUFFERS_NEVER_FAIL);
        }
        self
    }

    /// An instant in seconds, exact to the nanosecond.
    pub fn time(mut self, time: SimTime) -> Self {
        self.separate();
        push_seconds(self.buffer, time.as_nanos());
        self
    }

    /// A span in seconds, exact to the nanosecond.
    pub fn span(mut self, span: Span) -> Self {
        self.separate();
        push_seconds(self.buffer, span.as_nanos());
        self
    }

    /// An instant in seconds, or an empty field.
    pub fn opt_time(self, time: Option<SimTime>) -> Self {
        match time {
            Some(time) => self.time(time),
            None => self.empty(),
        }
    }

    /// A span in seconds, or an empty field.
    pub fn opt_span(self, span: Option<Span>) -> Self {
        match span {
            Some(span) => self.span(span),
            None => self.empty(),
        }
    }

    /// `true` or `false`.
    pub fn flag(mut self, value: bool) -> Self {
        self.separate();
        self.buffer.extend_from_slice(if value { b"true" } else { b"false" });
        self
    }

    /// A text, quoted where it must be (RFC 4180).
    pub fn text(mut self, text: &str) -> Self {
        self.separate();
        if text.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n')) {
            self.buffer.push(b'"');
            self.buffer.extend_from_slice(text.replace('"', "\"\"").as_bytes());
            self.buffer.push(b'"');
        } else {
            self.buffer.extend_from_slice(text.as_bytes());
        }
        self
    }

    /// An empty field.
    pub fn empty(mut self) -> Self {
        self.separate();
        self
    }

    /// Ends the line.
    pub fn end(self) {
        self.buffer.push(b'\n');
    }

    fn separate(&mut self) {
        if !self.first {
            self.buffer.push(b',');
        }
        self.first = false;
    }
}

/// Appends the decimal digits of `value`.
fn push_int(buffer: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    buffer.extend_from_slice(&digits[at..]);
}

/// Appends nanoseconds as seconds: no float takes part, and zeros at the end are left out.
fn push_seconds(buffer: &mut Vec<u8>, nanos: u64) {
    push_int(buffer, nanos / NANOS_PER_SECOND);
    let mut rest = nanos % NANOS_PER_SECOND;
    if rest == 0 {
        return;
    }
    buffer.push(b'.');
    let mut place = NANOS_PER_SECOND / 10;
    while rest > 0 {
        buffer.push(b'0' + (rest / place) as u8);
        rest %= place;
        place /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(write: impl FnOnce(CsvRow<'_>)) -> String {
        let mut buffer = Vec::new();
        write(CsvRow::new(&mut buffer));
        String::from_utf8(buffer).unwrap()
    }

    #[test]
    fn absent_is_empty_and_never_zero_nor_nan() {
        let text = row(|r| {
            r.float(None).float(Some(f64::NAN)).float(Some(f64::INFINITY)).opt_int(None).opt_time(None).opt_span(None).end()
        });
        assert_eq!(text, ",,,,,\n");
        assert_eq!(
            row(|r| r.float(Some(-0.0)).float(Some(0.1)).float(Some(1e300)).float(Some(-2e-9)).end()),
            "0,0.1,1e300,-2e-9\n"
        );
    }

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        let nanos = [0, 1, 1_500_000_000, 3_435_948_056_000, 60_000_000_000, u64::MAX];
        let texts = nanos.map(|n| row(|r| r.time(SimTime::from_nanos(n)).end()));
        assert_eq!(texts, ["0\n", "0.000000001\n", "1.5\n", "3435.948056\n", "60\n", "18446744073.709551615\n"]);
    }

    proptest! {
        #[test]
        fn a_csv_reader_gives_every_field_back(texts in prop::collection::vec("[ -~\r\n\"é,]{0,12}", 2..6), ints in prop::collection::vec(any::<u64>(), 1..4), x in any::<f64>(), nanos in any::<u64>()) {
            let mut buffer = Vec::new();
            let mut row = CsvRow::new(&mut buffer);
            for text in &texts { row = row.text(text) }
            for &int in &ints { row = row.int(int) }
            row.float(Some(x)).span(Span::from_nanos(nanos)).flag(true).end();
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&buffer[..]);
            let record = reader.records().next().unwrap().unwrap();
            let fields: Vec<&str> = record.iter().collect();
            prop_assert_eq!(&fields[..texts.len()], &texts[..]);
            for (field, int) in fields[texts.len()..].iter().zip(&ints) {
                prop_assert_eq!(field.parse::<u64>().unwrap(), *int);
            }
            let rest = &fields[texts.len() + ints.len()..];
            if x.is_finite() { prop_assert_eq!(rest[0].parse::<f64>().unwrap(), x) } else { prop_assert_eq!(rest[0], "") }
            prop_assert_eq!(format!("{}s", rest[1]).parse::<Span>().unwrap().as_nanos(), nanos);
            prop_assert_eq!(rest[2], "true");
        }
    }
}
