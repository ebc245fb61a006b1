//! A cursor over one table of a document: readers that check type and range, collect faults and remember the keys.

use std::cell::RefCell;

use super::document::Document;
use super::fault::{Fault, Faults};
use super::item::Item;
use super::node::{Entry, Origin, Table, Value, clip};
use super::notes::Shape;
use super::warning::Warning;

/// What one decoding shares: the document and what was found in it.
pub struct Context<'d> {
    pub(super) document: &'d Document,
    /// What the document is, for messages.
    whole: &'static str,
    faults: RefCell<Faults>,
    warnings: RefCell<Vec<Warning>>,
}

static EMPTY: Table = Table(Vec::new());

impl<'d> Context<'d> {
    pub(super) fn new(document: &'d Document, whole: &'static str) -> Self {
        Self { document, whole, faults: RefCell::default(), warnings: RefCell::default() }
    }

    /// The document's top level.
    pub(super) fn root(&self) -> Section<'_> {
        Section::new(self, &self.document.root, String::new(), None)
    }

    /// Records what is no fault; the same once.
    pub(super) fn warn(&self, warning: Warning) {
        let mut warnings = self.warnings.borrow_mut();
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// What was found that is no fault, and that the scenario alone does not tell.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        self.warnings.take()
    }

    /// Everything that was found wrong.
    pub(super) fn finish(self) -> Faults {
        self.faults.into_inner()
    }

    /// Notes that the value at `path` is read as `shape`, where someone wants to know.
    pub(super) fn note(&self, path: &str, shape: impl FnOnce() -> Shape) {
        if let Some(notebook) = &self.document.notebook {
            notebook.value(path, shape());
        }
    }

    pub(super) fn fault_count(&self) -> usize {
        self.faults.borrow().len()
    }

    pub(super) fn fault(&self, origin: Option<Origin>, path: &str, message: String, hint: Option<String>) {
        // Finding a place reads the file up to it: not for faults that nobody will see.
        if self.faults.borrow().is_full() {
            return self.faults.borrow_mut().count_one();
        }
        let place = origin.map_or_else(|| self.document.place_of_file(), |origin| self.document.place(origin));
        self.push(Fault { place, path: path.to_owned(), message, hint });
    }

    pub(super) fn push(&self, fault: Fault) {
        self.faults.borrow_mut().push(fault);
    }
}

/// One table of a document while it is read.
///
/// Each reader marks its key as known and returns `None` if the key is absent or if its value is wrong; the fault is
/// recorded then. [`Section::finish`] reports the keys that no reader asked for.
pub struct Section<'c> {
    context: &'c Context<'c>,
    table: &'c Table,
    path: String,
    /// Where the table stands; `None` if the document does not have it.
    origin: Option<Origin>,
    known: Vec<&'static str>,
    required: Vec<&'static str>,
}

impl<'c> Section<'c> {
    pub(super) fn new(context: &'c Context<'c>, table: &'c Table, path: String, origin: Option<Origin>) -> Self {
        Self { context, table, path, origin, known: Vec::new(), required: Vec::new() }
    }

    /// The path of this table, empty at the top level.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether the document has this table.
    pub fn exists(&self) -> bool {
        self.origin.is_some()
    }

    /// Whether the table has a value under `key`; does not mark the key as known.
    pub fn given(&self, key: &str) -> bool {
        self.table.get(key).is_some()
    }

    pub(super) fn context(&self) -> &'c Context<'c> {
        self.context
    }

    /// The path of a field of this table.
    pub fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value under `key`, if there is one.
    pub fn item(&mut self, key: &'static str) -> Option<Item<'c>> {
        self.know(key);
        let entry = self.table.get(key)?;
        Some(Item::new(self.context, &entry.node, self.path_of(key)))
    }

    /// The value under `key`, where the text `"none"` stands for an absent one.
    pub fn optional(&mut self, key: &'static str) -> Option<Item<'c>> {
        self.item(key).filter(|item| !item.is_text("none"))
    }

    /// The value under `key` or under another of its names; only one of them may be given.
    pub fn aliased(&mut self, key: &'static str, others: &[&'static str]) -> Option<Item<'c>> {
        let mut found = self.item(key);
        for other in others {
            let item = self.item(other);
            if let (Some(_), Some(second)) = (&found, &item) {
                second.fault(format!("`{}` is another name of `{key}`: give only one of them", second.path()), None);
            }
            found = found.or(item);
        }
        found
    }

    /// Records a fault if `key` is absent; `expected` says what it ought to be.
    pub fn require(&mut self, key: &'static str, expected: &str) {
        self.know(key);
        if !self.required.contains(&key) {
            self.required.push(key);
        }
        if !self.given(key) {
            self.fault(None, format!("`{}` is missing: expected {expected}", self.path_of(key)), None);
        }
    }

    /// Records that `key` may not be given here, if it is, and why.
    pub fn forbid(&mut self, key: &'static str, why: &str, hint: &str) {
        if let Some(item) = self.item(key) {
            item.fault(format!("`{}` cannot be given here: {why}", item.path()), Some(hint.to_owned()));
        }
    }

    /// A whole number.
    pub fn u32(&mut self, key: &'static str, low: u32, high: u32) -> Option<u32> {
        self.item(key)?.u32(low, high)
    }

    /// A whole number.
    pub fn u64(&mut self, key: &'static str, low: u64, high: u64) -> Option<u64> {
        self.item(key)?.u64(low, high)
    }

    /// A number.
    pub fn number(&mut self, key: &'static str, range: super::item::NumberRange) -> Option<f64> {
        self.item(key)?.number(range)
    }

    /// A boolean.
    pub fn boolean(&mut self, key: &'static str) -> Option<bool> {
        self.item(key)?.boolean()
    }

    /// A text of at most `longest` characters.
    pub fn text(&mut self, key: &'static str, longest: usize) -> Option<&'c str> {
        self.item(key)?.text(longest)
    }

    /// A duration.
    pub fn span(&mut self, key: &'static str) -> Option<crate::units::Span> {
        self.item(key)?.span()
    }

    /// A duration above zero.
    pub fn positive_span(&mut self, key: &'static str) -> Option<crate::units::Span> {
        self.item(key)?.positive_span()
    }

    /// An instant, as the time since the start of the run.
    pub fn instant(&mut self, key: &'static str) -> Option<crate::units::SimTime> {
        self.item(key)?.instant()
    }

    /// One of a few names.
    pub fn one_of<T: Copy>(&mut self, key: &'static str, names: &[(&str, T)]) -> Option<T> {
        self.item(key)?.one_of(names)
    }

    /// The table under `key`, if there is one.
    pub fn table(&mut self, key: &'static str) -> Option<Section<'c>> {
        self.item(key)?.table()
    }

    /// The table under `key`, an empty one if there is none; `None` only where another kind of value stands.
    pub fn table_or_empty(&mut self, key: &'static str) -> Option<Section<'c>> {
        match self.item(key) {
            Some(item) => item.table(),
            None => Some(Section::new(self.context, &EMPTY, self.path_of(key), None)),
        }
    }

    /// The tables of the list under `key` (`[[key]]`), none if it is absent.
    pub fn tables(&mut self, key: &'static str) -> Vec<Section<'c>> {
        let items = self.item(key).and_then(|item| item.list()).unwrap_or_default();
        items.into_iter().filter_map(|item| item.table()).collect()
    }

    /// All keys of the table with their values, for tables whose keys the user chooses; marks all of them as known.
    pub fn entries(&self) -> Vec<(&'c str, Item<'c>)> {
        if let Some(notebook) = &self.context.document.notebook {
            notebook.open(&self.path);
        }
        let item = |entry: &'c Entry| Item::new(self.context, &entry.node, self.path_of(&clip(&entry.key)));
        self.table.0.iter().map(|entry| (entry.key.as_str(), item(entry))).collect()
    }

    /// Records a fault at the value of `key`, or at the table if `key` is `None` or absent.
    pub fn fault(&self, key: Option<&str>, message: impl Into<String>, hint: Option<String>) {
        let entry = key.and_then(|key| self.table.get(key));
        let path = key.map_or_else(|| self.path.clone(), |key| self.path_of(key));
        self.context.fault(entry.map(|e| e.node.origin).or(self.origin), &path, message.into(), hint);
    }

    /// Ends the reading: keys that nobody asked for are faults.
    pub fn finish(self) {
        if let Some(notebook) = self.context.document.notebook.as_ref().filter(|_| self.exists() || self.path.is_empty()) {
            notebook.table(&self.path, &self.known, &self.required);
        }
        for entry in &self.table.0 {
            if !self.known.contains(&entry.key.as_str()) {
                self.unknown(entry);
            }
        }
    }

    /// Marks a key as known without reading it.
    pub fn ignore(&mut self, key: &'static str) {
        self.know(key);
    }

    fn know(&mut self, key: &'static str) {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
    }

    fn unknown(&self, entry: &Entry) {
        if self.context.faults.borrow().is_full() {
            return self.context.faults.borrow_mut().count_one();
        }
        let path = self.path_of(&clip(&entry.key));
        let whose = if self.path.is_empty() { self.context.whole.to_owned() } else { format!("`{}`", self.path) };
        let hint = match nearest(&entry.key, self.known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the keys of {whose} are {}", in_backticks(self.known.iter().copied())),
        };
        self.context.fault(Some(entry.origin), &path, format!("`{path}` is no key of {whose}"), Some(hint));
    }
}

/// The names in backticks with commas between them.
pub(super) fn in_backticks<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The candidate most like `word`, if one is like it at all.
pub(super) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Below this share of letters in common a suggestion confuses more than it helps.
    const ALIKE: f64 = 0.6;
    // Comparing takes the product of the lengths: nobody misspells a key by hundreds of letters.
    if word.len() > 100 {
        return None;
    }
    let word = word.to_lowercase().replace('-', "_");
    let score = |name: &str| strsim::normalized_damerau_levenshtein(&word, &name.replace('-', "_"));
    let best = candidates.map(|name| (score(name), name)).fold(None, |best: Option<(f64, &str)>, next| match best {
        Some(best) if best.0 >= next.0 => Some(best),
        _ => Some(next),
    });
    best.filter(|(score, _)| *score >= ALIKE).map(|(_, name)| name)
}

impl Value {
    pub(super) fn as_table(&self) -> Option<&Table> {
        match self {
            Self::Table(table) => Some(table),
            _ => None,
        }
    }
}
