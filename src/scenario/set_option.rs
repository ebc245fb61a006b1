//! Values that override those of the file: `--set path=value`.

use std::fmt;

use toml::de::DeValue;

use super::fault::{Faults, Place};
use super::node::{self, Node, Origin, Table, Value, clip};

/// One `path=value` from outside the file, with the name of the option that gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetOption {
    option: String,
    path: String,
    value: String,
}

impl SetOption {
    /// `path` = `value`, as given by `option` (`--set`, `--grid`).
    pub fn new(option: impl Into<String>, path: impl Into<String>, value: impl Into<String>) -> Self {
        Self { option: option.into(), path: path.into(), value: value.into() }
    }

    /// Splits `path=value`.
    ///
    /// # Errors
    /// There is no `=`, or nothing before it.
    pub fn parse(option: &str, text: &str) -> Result<Self, Faults> {
        match text.split_once('=') {
            Some((path, value)) if !path.trim().is_empty() => Ok(Self::new(option, path.trim(), value.trim())),
            _ => {
                let place = Place::Option { text: format!("{option} {}", clip(text)) };
                Err(Faults::one(place, "expected `path=value`, such as `fleet.workers=4`"))
            }
        }
    }

    /// Whether it stands on the command line; values of a file's own grid do not.
    pub(super) fn is_option(&self) -> bool {
        self.option.starts_with("--")
    }

    /// The path, `fleet.workers`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value as given.
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl fmt::Display for SetOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (option, value) = (&self.option, clip(&self.value));
        // A text that was typed without quotes is shown without them.
        let typed = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&value);
        match self.path.strip_prefix("trace.columns.") {
            Some(column) if option == "--columns" => write!(f, "{option} {}={typed}", clip(column)),
            // The other options are no paths to those who type them.
            _ if option.starts_with("--") && !["--set", "--grid"].contains(&option.as_str()) => write!(f, "{option} {typed}"),
            _ => write!(f, "{option} {}={value}", clip(&self.path)),
        }
    }
}

/// Keys of a path at most: no scenario is deeper.
const MAX_DEPTH: usize = 32;

/// Message and hint of an option that cannot be applied.
type Refusal = (String, Option<String>);

/// Puts the value of `set` where its path says, creating tables on the way.
pub(super) fn apply(root: &mut Table, set: &SetOption, index: usize) -> Result<(), Refusal> {
    let origin = Origin::Set(index);
    let value = parse_value(&set.value, origin)?;
    if set.path.split('.').any(|part| part.trim().is_empty()) || set.path.split('.').count() > MAX_DEPTH {
        let message = format!("`{}` is no path: expected 1 to {MAX_DEPTH} keys with dots between them", clip(&set.path));
        return Err((message, None));
    }
    let mut parts = set.path.split('.').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let mut walked = first.to_owned();
    let mut node = root.get_or_insert(first, origin);
    for part in parts {
        node = step(node, part, &walked, origin)?;
        walked = format!("{walked}.{part}");
    }
    *node = value;
    Ok(())
}

/// The value under `part` of `node`, which stands at the path `walked`.
fn step<'n>(node: &'n mut Node, part: &str, walked: &str, origin: Origin) -> Result<&'n mut Node, Refusal> {
    match &mut node.value {
        Value::Table(table) => Ok(table.get_or_insert(part, origin)),
        Value::List(list) => {
            let count = list.len();
            let entry = part.parse::<usize>().ok().and_then(|n| list.get_mut(n));
            entry.ok_or_else(|| {
                let entries = if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") };
                let hint = "entries are counted from 0".to_owned();
                (format!("`{}` is a list of {entries}: `{}` is none of them", clip(walked), clip(part)), Some(hint))
            })
        }
        other => {
            let message = format!("`{}` is {}: `{}` cannot be set inside it", clip(walked), other.show(), clip(part));
            Err((message, Some(format!("set `{}` itself to a table first", clip(walked)))))
        }
    }
}

/// A TOML value; what is none is taken as a bare text, unless it began as something else.
fn parse_value(text: &str, origin: Origin) -> Result<Node, Refusal> {
    match DeValue::parse(text) {
        Ok(value) => Ok(node::from_value(&value, &|_| origin)),
        Err(error) if text.starts_with(['[', '{', '"', '\'']) => {
            let message = error.message().lines().collect::<Vec<_>>().join(", ");
            Err((format!("`{}` is no valid TOML: {message}", clip(text)), None))
        }
        Err(_) => Ok(Node { value: Value::Text(text.to_owned()), origin }),
    }
}
