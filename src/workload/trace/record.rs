//! Named fields of one line, CSV or JSON, borrowed from it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// What a field means to a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Role {
    Arrival,
    InputTokens,
    OutputTokens,
    Class,
    ServiceTime,
    Worker,
    HashIds,
    BlockSize,
    /// The generated tokens one by one, instead of their number.
    OutputIds,
    /// Only rows of one kind are requests.
    EventType,
    /// Waits for an earlier answer instead of an instant.
    Delay,
    /// The session it is part of.
    Session,
    /// The request of the session before it; -1 where there is none.
    Parent,
    /// A session in one row: cannot be replayed as single requests.
    SubRequests,
    /// Depends on other requests: cannot be replayed at instants.
    Dependencies,
    ScheduledAt,
    FirstTokenAt,
    LastTokenAt,
}

/// Number of roles.
pub(super) const ROLES: usize = Role::LastTokenAt as usize + 1;

/// The fields of one row by role; absent, empty and null fields are `None`.
#[derive(Debug, Default)]
pub(super) struct Record<'a> {
    values: [Option<Cow<'a, str>>; ROLES],
}

impl Record<'_> {
    /// The field with a role.
    pub(super) fn get(&self, role: Role) -> Option<&str> {
        self.values[role as usize].as_deref()
    }
}

/// Where the fields of a CSV line are.
#[derive(Clone, Debug)]
pub(super) struct CsvFields {
    /// (column from 0, role), by column.
    wanted: Vec<(usize, Role)>,
    /// Columns of the header line; without one, at least as many as the last wanted.
    columns: Option<usize>,
    /// The last line with quotes, unquoted.
    quoted: csv::StringRecord,
}

impl CsvFields {
    pub(super) fn new(mut wanted: Vec<(usize, Role)>, columns: Option<usize>) -> Self {
        wanted.sort_by_key(|w| w.0);
        Self { wanted, columns, quoted: csv::StringRecord::new() }
    }

    /// Whether there is a column with a role.
    pub(super) fn has(&self, role: Role) -> bool {
        self.wanted.iter().any(|w| w.1 == role)
    }

    /// Whether a line ends within a quoted field and goes on in the next.
    pub(super) fn is_open(line: &str) -> bool {
        line.bytes().filter(|b| *b == b'"').count() % 2 == 1
    }

    /// Picks the fields of a line. The error says what was expected.
    pub(super) fn record<'a>(&'a mut self, line: &'a str) -> Result<Record<'a>, String> {
        let Self { wanted, columns, quoted } = self;
        if line.contains('"') {
            *quoted = split_quoted(line)?;
            return pick(wanted, *columns, quoted.iter());
        }
        pick(wanted, *columns, line.split(','))
    }
}

/// Splits a line with quoted fields.
pub(super) fn split_quoted(line: &str) -> Result<csv::StringRecord, String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(line.as_bytes());
    let mut record = csv::StringRecord::new();
    reader.read_record(&mut record).map_err(|e| format!("{e}: expected comma-separated values"))?;
    Ok(record)
}

fn pick<'a>(
    wanted: &[(usize, Role)],
    columns: Option<usize>,
    fields: impl Iterator<Item = &'a str>,
) -> Result<Record<'a>, String> {
    let mut record = Record::default();
    let mut next = wanted.iter().peekable();
    let mut found = 0;
    for (column, field) in fields.enumerate() {
        found += 1;
        while let Some((_, role)) = next.next_if(|w| w.0 == column) {
            let field = field.trim_ascii();
            record.values[*role as usize] = (!field.is_empty()).then_some(Cow::Borrowed(field));
        }
    }
    match columns {
        Some(columns) if columns != found => Err(format!("{found} columns: expected {columns}, as in the header")),
        None if next.peek().is_some() => {
            Err(format!("{found} columns: expected at least {}", wanted.last().map_or(0, |w| w.0 + 1)))
        }
        _ => Ok(record),
    }
}

/// Where the fields of a JSON object are: paths of names, each with a role.
#[derive(Clone, Debug, Default)]
pub(super) struct JsonFields {
    paths: Vec<(Vec<String>, Role)>,
}

impl JsonFields {
    /// From paths with dots; at most 64 of them.
    pub(super) fn new(paths: impl IntoIterator<Item = (String, Role)>) -> Self {
        let paths: Vec<_> = paths.into_iter().map(|(p, role)| (p.split('.').map(str::to_owned).collect(), role)).collect();
        assert!(paths.len() <= 64, "the alive set is a u64");
        Self { paths }
    }

    /// Picks the fields of a line that holds one JSON object. The error says what was expected.
    pub(super) fn record<'a>(&self, line: &'a str) -> Result<Record<'a>, String> {
        let mut record = Record::default();
        let alive = u64::MAX.checked_shr(64 - self.paths.len() as u32).unwrap_or(0);
        let mut json = serde_json::Deserializer::from_str(line);
        let seed = Object { paths: &self.paths, alive, depth: 0, record: &mut record };
        let parsed = seed.deserialize(&mut json).and_then(|()| json.end());
        parsed.map_err(|e| {
            let column = e.column();
            let text = e.to_string();
            let text = text.split(" at line ").next().unwrap_or(&text);
            format!("{text} (column {column})")
        })?;
        Ok(record)
    }
}

/// Walks one object (or nested object) and keeps what the paths lead to.
struct Object<'p, 'r, 'de> {
    paths: &'p [(Vec<String>, Role)],
    /// Bit per path: the names down to here agree.
    alive: u64,
    depth: usize,
    record: &'r mut Record<'de>,
}

impl Object<'_, '_, '_> {
    /// Bits of the alive paths whose name at this depth is `key`.
    fn matching(&self, key: &str) -> u64 {
        let agrees = |i: &usize| self.alive >> i & 1 == 1 && self.paths[*i].0.get(self.depth).is_some_and(|name| name == key);
        (0..self.paths.len()).filter(agrees).fold(0, |bits, i| bits | 1 << i)
    }
}

/// Roles of the paths of a set that end with `depth` names.
fn ending(paths: &[(Vec<String>, Role)], bits: u64, depth: usize) -> impl Iterator<Item = Role> {
    paths.iter().enumerate().filter(move |(i, p)| bits >> i & 1 == 1 && p.0.len() == depth).map(|(_, p)| p.1)
}

impl<'de> DeserializeSeed<'de> for Object<'_, '_, 'de> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// A nested value that is no object holds none of the fields: they are absent.
macro_rules! no_object {
    ($($visit:ident($type:ty)),*) => { $(
        fn $visit<E: serde::de::Error>(self, _: $type) -> Result<(), E> {
            if self.depth == 0 { Err(E::custom("expected a JSON object")) } else { Ok(()) }
        }
    )* };
}

impl<'de> Visitor<'de> for Object<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    no_object!(visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64), visit_str(&str));

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.visit_bool(false)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        self.visit_bool(false)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            let bits = self.matching(&key);
            let named = |e: A::Error| A::Error::custom(format!("field `{key}`: {e}"));
            if bits == 0 {
                map.next_value::<IgnoredAny>().map_err(named)?;
            } else if ending(self.paths, bits, self.depth + 1).next().is_some() {
                let raw: &'de RawValue = map.next_value().map_err(named)?;
                let value = plain(raw.get());
                for role in ending(self.paths, bits, self.depth + 1) {
                    let slot = &mut self.record.values[role as usize];
                    if slot.is_some() && value.is_some() {
                        return Err(A::Error::custom(format!("field `{key}` or an alias of it appears twice")));
                    }
                    *slot = slot.take().or_else(|| value.clone());
                }
            } else {
                let nested = Object { paths: self.paths, alive: bits, depth: self.depth + 1, record: &mut *self.record };
                map.next_value_seed(nested)?;
            }
        }
        Ok(())
    }
}

/// The text of a raw JSON value: strings without quotes, null and the empty string as nothing.
fn plain(raw: &str) -> Option<Cow<'_, str>> {
    let text = match raw.strip_prefix('"').and_then(|r| r.strip_suffix('"')) {
        Some(inner) if inner.contains('\\') => Cow::Owned(serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned())),
        Some(inner) => Cow::Borrowed(inner),
        None => Cow::Borrowed(raw),
    };
    (!text.is_empty() && raw != "null").then_some(text)
}

/// A name, borrowed unless it has escapes.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }
    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(key))
    }
    fn visit_str<E>(self, key: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn csv() -> CsvFields {
        CsvFields::new(vec![(2, Role::InputTokens), (0, Role::Arrival)], Some(3))
    }

    fn json() -> JsonFields {
        let paths = [("t", Role::Arrival), ("r.in", Role::InputTokens), ("event.r.in", Role::InputTokens), ("name", Role::Class)];
        JsonFields::new(paths.map(|(p, role)| (p.to_owned(), role)))
    }

    #[test]
    fn csv_columns_are_picked_by_position_with_and_without_quotes() {
        for line in ["5,x,7", " 5 ,,7 ", "\"5\",\"a,\"\"b\",7"] {
            let mut fields = csv();
            let record = fields.record(line).unwrap();
            assert_eq!((record.get(Role::Arrival), record.get(Role::InputTokens)), (Some("5"), Some("7")), "{line}");
        }
        assert_eq!(csv().record("5,x, ").unwrap().get(Role::InputTokens), None);
        assert_eq!(csv().record("5,x").unwrap_err(), "2 columns: expected 3, as in the header");
        assert!(CsvFields::is_open("1,\"a") && !CsvFields::is_open("1,\"a\""));
    }

    #[test]
    fn json_fields_are_picked_by_path_whatever_surrounds_them() {
        let json = json();
        for line in [
            r#"{"t": 1.50, "name": "a\"b", "x": [1, {"t": 2}], "r": {"t": 3, "in": 7}}"#,
            r#"{"r": null, "event": {"r": {"in": 7}}, "\u0074": 1.50, "name": "a\u0022b"}"#,
        ] {
            let record = json.record(line).unwrap();
            assert_eq!(record.get(Role::Arrival), Some("1.50"), "{line}");
            assert_eq!(record.get(Role::InputTokens), Some("7"), "{line}");
            assert_eq!(record.get(Role::Class), Some("a\"b"), "{line}");
        }
        assert_eq!(json.record(r#"{"t": null, "r": [1], "name": ""}"#).unwrap().get(Role::Arrival), None);
    }

    #[test]
    fn broken_json_names_the_field_it_breaks_at() {
        let json = json();
        let error = |line| json.record(line).unwrap_err();
        assert!(error(r#"{"t": NaN}"#).starts_with("field `t`: "), "{}", error(r#"{"t": NaN}"#));
        assert!(error(r#"{"t": 1, "t": 2}"#).contains("field `t` or an alias of it appears twice"));
        assert!(error("[1]").contains("JSON object") && error("7").contains("JSON object"));
        assert!(error(r#"{"t": 1} x"#).contains("trailing"));
        assert!(!error(r#"{"t": 1"#).is_empty());
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "[\\[\\]{}\",:a-z0-9. \\\\]{0,80}") {
            let _ = csv().record(&line);
            let _ = json().record(&line);
        }
    }
}
