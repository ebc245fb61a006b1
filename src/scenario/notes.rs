//! What the readers of documents ask for: keys, types and ranges, noted while they read. A schema made of it cannot part
//! from the readers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// One kind of value that a reader takes. Ranges are as the reader states them.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum Shape {
    /// A whole number from the first to the second.
    Integer(u64, u64),
    /// A number from the first to the second; `true` excludes the first itself.
    Number(f64, f64, bool),
    /// Any number.
    AnyNumber,
    /// `true` or `false`.
    Boolean,
    /// A text of at most so many characters.
    Text(usize),
    /// This very text.
    Word(String),
    /// One of these texts.
    OneOf(Vec<String>),
    /// A duration, or an instant as the time since the start.
    Span,
    /// A step time: a text with a unit, or a number of 0 or more.
    StepTime,
    /// A table; its keys are noted by themselves.
    Table,
    /// A list of at most so many entries; what they are is noted by itself.
    List(usize),
}

/// The keys of a table.
#[derive(Clone, Debug, Default)]
pub struct TableNotes {
    /// Every key that a reader knows.
    pub keys: BTreeSet<&'static str>,
    /// Keys that every reading required so far.
    pub required: BTreeSet<&'static str>,
    /// Whether the user chooses further keys.
    pub open: bool,
    /// Whether it has been read at all.
    read: bool,
}

/// What was noted. A path has `*` for a place in a list: `events.*.at`.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Tables by path, the top level under an empty one.
    pub tables: BTreeMap<String, TableNotes>,
    /// Kinds of value by path.
    pub values: BTreeMap<String, Vec<Shape>>,
}

impl Notes {
    /// These notes with other paths; what comes to the same path is taken together.
    pub fn renamed(&self, rename: impl Fn(&str) -> String) -> Self {
        let mut all = Self::default();
        for (path, table) in &self.tables {
            all.tables.entry(rename(path)).or_default().merge(table);
        }
        for (path, shapes) in &self.values {
            let known = all.values.entry(rename(path)).or_default();
            shapes.iter().for_each(|shape| add(known, shape));
        }
        all
    }
}

impl TableNotes {
    fn merge(&mut self, other: &Self) {
        self.keys.extend(&other.keys);
        self.open |= other.open;
        match (self.read, other.read) {
            (true, true) => self.required.retain(|key| other.required.contains(key)),
            (false, true) => self.required.clone_from(&other.required),
            _ => {}
        }
        self.read |= other.read;
    }
}

/// Adds a kind of value, or widens the one that is there.
fn add(shapes: &mut Vec<Shape>, shape: &Shape) {
    if !shapes.iter_mut().any(|old| old.widen(shape)) {
        shapes.push(shape.clone());
    }
}

/// Notes that several documents may be read into.
#[derive(Debug, Default)]
pub struct Notebook(Mutex<Notes>);

impl Notebook {
    /// What has been noted.
    pub fn notes(&self) -> Notes {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn write(&self, change: impl FnOnce(&mut Notes)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// A value at `path` was read as `shape`.
    pub(super) fn value(&self, path: &str, shape: Shape) {
        self.write(|notes| {
            add(notes.values.entry(general(path)).or_default(), &shape);
        });
    }

    /// The table at `path` takes whatever keys the user chooses.
    pub(super) fn open(&self, path: &str) {
        self.write(|notes| notes.tables.entry(general(path)).or_default().open = true);
    }

    /// The table at `path` was read to its end: with these keys, of which the reader required some.
    pub(super) fn table(&self, path: &str, keys: &[&'static str], required: &[&'static str]) {
        self.write(|notes| {
            let read = TableNotes {
                keys: keys.iter().copied().collect(),
                required: required.iter().copied().collect(),
                open: false,
                read: true,
            };
            notes.tables.entry(general(path)).or_default().merge(&read);
        });
    }
}

impl Shape {
    /// Takes `other` in, if it is of the same kind.
    fn widen(&mut self, other: &Self) -> bool {
        match (self, other) {
            (Self::Integer(low, high), Self::Integer(l, h)) => {
                (*low, *high) = ((*low).min(*l), (*high).max(*h));
                true
            }
            (Self::Number(low, high, open), Self::Number(l, h, o)) => {
                *open = if *low == *l {
                    *open && *o
                } else if *l < *low {
                    *o
                } else {
                    *open
                };
                (*low, *high) = (low.min(*l), high.max(*h));
                true
            }
            (Self::Text(most), Self::Text(m)) | (Self::List(most), Self::List(m)) => {
                *most = (*most).max(*m);
                true
            }
            (Self::OneOf(names), Self::OneOf(more)) => {
                more.iter()
                    .filter(|name| !names.contains(name))
                    .cloned()
                    .collect::<Vec<_>>()
                    .into_iter()
                    .for_each(|n| names.push(n));
                true
            }
            (this, other) => *this == *other,
        }
    }
}

/// A path with `*` for places in lists.
fn general(path: &str) -> String {
    let part =
        |part: &str| if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) { "*".to_owned() } else { part.to_owned() };
    path.split('.').map(part).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::scenario::Document;

    #[test]
    fn readers_note_keys_kinds_and_ranges() {
        let notebook = Arc::new(Notebook::default());
        let text =
            "horizon = \"1s\"\n[fleet]\nworkers = 1\nengine = \"dynamo-mocker\"\n[[events]]\nat = \"1s\"\nworker_leave = 1\n";
        let _ = Document::parse(text, "a.toml").unwrap().noting(&notebook).decode();
        let notes = notebook.notes();
        assert!(notes.tables[""].keys.contains("fleet") && notes.tables[""].required.contains("fleet"));
        assert!(notes.tables["events.*"].required.contains("at"));
        assert_eq!(notes.values["fleet.workers"], [Shape::Integer(0, 65_535)]);
        assert_eq!(notes.values["horizon"], [Shape::Word("none".to_owned()), Shape::Span]);
    }

    #[test]
    fn what_one_reading_does_not_require_is_not_required() {
        let notebook = Notebook::default();
        notebook.table("a.0", &["x", "y"], &["x", "y"]);
        notebook.table("a.1", &["x", "z"], &["x"]);
        let table = &notebook.notes().tables["a.*"];
        assert_eq!((table.keys.len(), table.required.iter().copied().collect::<Vec<_>>()), (3, vec!["x"]));
    }
}
