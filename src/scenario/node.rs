//! A TOML document as a tree that owns its text and remembers where each value came from.

use toml::de::{DeTable, DeValue};

/// Where a value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Byte offset in the file.
    Offset(usize),
    /// Index of the option that set it.
    Set(usize),
}

/// One value of a document.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub value: Value,
    pub origin: Origin,
}

/// What a [`Node`] holds. Numbers stay text, so that a decimal is read as it was written.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer { digits: String, radix: u32 },
    Float(String),
    Boolean(bool),
    Datetime(String),
    List(Vec<Node>),
    Table(Table),
}

/// A table, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table(pub Vec<Entry>);

/// One key of a [`Table`].
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    /// Where the key stands.
    pub origin: Origin,
    pub node: Node,
}

/// Longest text that a message repeats.
const SHOWN: usize = 60;

impl Table {
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.key == key)
    }

    /// The value under `key`, an empty table put there if there is none.
    pub fn get_or_insert(&mut self, key: &str, origin: Origin) -> &mut Node {
        let index = self.0.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
            let node = Node { value: Value::Table(Table::default()), origin };
            self.0.push(Entry { key: key.to_owned(), origin, node });
            self.0.len() - 1
        });
        &mut self.0[index].node
    }
}

impl Value {
    /// What the value is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Integer { .. } => "a whole number",
            Self::Float(_) => "a number",
            Self::Boolean(_) => "a boolean",
            Self::Datetime(_) => "a date",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }

    /// The value as a message shows it: on one line, without control characters, not too long.
    pub fn show(&self) -> String {
        match self {
            Self::Text(text) => format!("`\"{}\"`", clip(text)),
            Self::Integer { digits, radix } => match radix {
                16 => format!("`0x{}`", clip(digits)),
                8 => format!("`0o{}`", clip(digits)),
                2 => format!("`0b{}`", clip(digits)),
                _ => format!("`{}`", clip(digits)),
            },
            Self::Float(text) | Self::Datetime(text) => format!("`{}`", clip(text)),
            Self::Boolean(value) => format!("`{value}`"),
            Self::List(list) if list.is_empty() => "an empty list".to_owned(),
            Self::List(_) | Self::Table(_) => self.kind().to_owned(),
        }
    }

    /// The value as TOML.
    pub fn to_toml(&self) -> String {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        match self {
            Self::Text(text) => quoted(text),
            Self::Integer { digits, radix } => match radix {
                16 => format!("0x{digits}"),
                8 => format!("0o{digits}"),
                2 => format!("0b{digits}"),
                _ => digits.clone(),
            },
            Self::Float(text) | Self::Datetime(text) => text.clone(),
            Self::Boolean(value) => value.to_string(),
            Self::List(list) => {
                format!("[{}]", list.iter().map(|node| node.value.to_toml()).collect::<Vec<_>>().join(", "))
            }
            Self::Table(table) => {
                let entry = |entry: &Entry| format!("{} = {}", quoted(&entry.key), entry.node.value.to_toml());
                format!("{{ {} }}", table.0.iter().map(entry).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// The whole number, if it is one that `u64` holds.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Integer { digits, radix } => u64::from_str_radix(digits, *radix).ok(),
            _ => None,
        }
    }

    /// The number, whole or not; infinite only if written so.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Integer { digits, radix: 10 } => digits.parse().ok(),
            Self::Integer { .. } => self.as_u64().map(|n| n as f64),
            Self::Float(text) => text.parse().ok().filter(|x: &f64| x.is_finite() || text.contains(['i', 'n'])),
            _ => None,
        }
    }
}

/// The text without control characters and not longer than a message may repeat.
pub(crate) fn clip(text: &str) -> String {
    let mut shown = String::new();
    for (n, c) in text.chars().enumerate() {
        if n == SHOWN {
            shown.push('…');
            break;
        }
        match c {
            '`' => shown.push('\''),
            c if c.is_control() => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}

/// The tree of a parsed table; `origin` says where each part stands, given its offset.
pub(crate) fn from_table(table: &DeTable<'_>, origin: &impl Fn(usize) -> Origin) -> Table {
    let entry = |(key, value): (&toml::Spanned<toml::de::DeString<'_>>, &toml::Spanned<DeValue<'_>>)| Entry {
        key: key.get_ref().clone().into_owned(),
        origin: origin(key.span().start),
        node: from_value(value, origin),
    };
    Table(table.iter().map(entry).collect())
}

/// The tree of a parsed value.
pub(crate) fn from_value(value: &toml::Spanned<DeValue<'_>>, origin: &impl Fn(usize) -> Origin) -> Node {
    let tree = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.clone().into_owned()),
        DeValue::Integer(n) => Value::Integer { digits: n.as_str().to_owned(), radix: n.radix() },
        DeValue::Float(x) => Value::Float(x.as_str().to_owned()),
        DeValue::Boolean(b) => Value::Boolean(*b),
        DeValue::Datetime(date) => Value::Datetime(date.to_string()),
        DeValue::Array(list) => Value::List(list.iter().map(|v| from_value(v, origin)).collect()),
        DeValue::Table(table) => Value::Table(from_table(table, origin)),
    };
    Node { value: tree, origin: origin(value.span().start) }
}
