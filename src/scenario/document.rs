//! A scenario file, parsed once; many variants of it are decoded cheaply.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use super::fault::{Fault, Faults, Place};
use super::node::{self, Origin, Table};
use super::notes::Notebook;
use super::section::{Context, Section};
use super::set_option::{self, SetOption};
use super::types::Loaded;

/// Largest scenario file, in bytes: far above any written by hand, far below what would hurt.
pub const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// Scenarios that shedcast itself writes beside results.
const WRITTEN: [&str; 2] = ["resolved.toml", "baseline.toml"];
/// Links that are followed: as many as Linux follows.
const MOST_LINKS: usize = 40;

/// A parsed scenario file with the options that change it.
#[derive(Clone, Debug)]
pub struct Document {
    /// The file's name as the user gave it, and its text for line numbers.
    source: Arc<Source>,
    pub(super) root: Table,
    pub(super) sets: Vec<SetOption>,
    /// Where readers note what they ask for.
    pub(super) notebook: Option<Arc<Notebook>>,
}

/// Text and name of a file.
#[derive(Debug)]
struct Source {
    name: String,
    text: String,
}

impl Document {
    /// Reads and parses a file; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, is larger than [`MAX_FILE_BYTES`], is not UTF-8, or is not TOML (all faults of it).
    pub fn load(path: &Path) -> Result<Self, Faults> {
        let (name, bytes) = if path == Path::new("-") {
            ("<stdin>".to_owned(), read_bounded(io::stdin().lock()))
        } else {
            (path.display().to_string(), read_file(path))
        };
        let place = Place::File { file: name.clone() };
        let bytes = bytes.map_err(|e| Faults::one(place.clone(), format!("cannot read the scenario: {}", reason(&e))))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(Faults::one(place, format!("a scenario file has at most {} MiB", MAX_FILE_BYTES >> 20)));
        }
        let text = String::from_utf8(bytes).map_err(|e| not_utf8(&name, &e))?;
        Self::parse(&text, &name)
    }

    /// Parses a text; `origin` is the name of the file it came from, used in messages and to find traces beside it.
    ///
    /// # Errors
    /// All places where the text is not TOML.
    pub fn parse(text: &str, origin: &str) -> Result<Self, Faults> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let source = Source { name: origin.to_owned(), text: text.to_owned() };
        let (table, errors) = DeTable::parse_recoverable(&source.text);
        let mut faults = Faults::default();
        for error in &errors {
            if faults.is_full() {
                faults.count_one();
                continue;
            }
            let span = error.span().unwrap_or_default();
            let place = source.place(span.start);
            let message = match error.message() {
                "duplicate key" => syntax(&source.duplicate(table.get_ref(), span)),
                other => syntax(other),
            };
            faults.push(Fault { place, path: String::new(), message, hint: None });
        }
        if !faults.is_empty() {
            faults.sort();
            return Err(faults);
        }
        let root = node::from_table(table.get_ref(), &Origin::Offset);
        Ok(Self { source: Arc::new(source), root, sets: Vec::new(), notebook: None })
    }

    /// This document with further options applied, in their order.
    ///
    /// # Errors
    /// All options whose path leads nowhere or whose value is no TOML.
    pub fn with(&self, sets: &[SetOption]) -> Result<Self, Faults> {
        let mut changed = self.clone();
        let mut faults = Faults::default();
        for set in sets {
            let index = changed.sets.len();
            changed.sets.push(set.clone());
            if let Err((message, hint)) = set_option::apply(&mut changed.root, set, index) {
                let place = Place::Option { text: set.to_string() };
                faults.push(Fault { place, path: set.path().to_owned(), message, hint });
            }
        }
        if faults.is_empty() { Ok(changed) } else { Err(faults) }
    }

    /// This document, whose readers note in `notebook` what they ask for.
    pub fn noting(mut self, notebook: &Arc<Notebook>) -> Self {
        self.notebook = Some(Arc::clone(notebook));
        self
    }

    /// Decodes the scenario.
    ///
    /// # Errors
    /// All faults.
    pub fn decode(&self) -> Result<Loaded, Faults> {
        let context = Context::new(self, "a scenario");
        let scenario = super::top::decode(&context);
        let of_files = context.warnings();
        let mut faults = context.finish();
        match scenario {
            Some(scenario) if faults.is_empty() => {
                Ok(Loaded { warnings: scenario.warnings().into_iter().chain(of_files).collect(), scenario })
            }
            _ => {
                faults.sort();
                Err(faults)
            }
        }
    }

    /// Whether the file has the table `name` (`sweep`, `plan`).
    pub fn has_table(&self, name: &str) -> bool {
        self.root.get(name).is_some()
    }

    /// Decodes a table that the scenario itself leaves alone (`sweep`, `plan`): `read` gets its section and returns
    /// what it made of it; an absent table is an empty one.
    ///
    /// # Errors
    /// All faults that `read` met; keys it never asked for are among them.
    pub fn read_table<T>(&self, name: &'static str, read: impl FnOnce(&mut Section<'_>) -> Option<T>) -> Result<T, Faults> {
        let context = Context::new(self, "a scenario");
        let mut root = context.root();
        let value = root.table_or_empty(name).and_then(|mut section| {
            let value = read(&mut section);
            section.finish();
            value
        });
        let mut faults = context.finish();
        match value {
            Some(value) if faults.is_empty() => Ok(value),
            _ if faults.is_empty() => Err(Faults::one(self.place_of_file(), format!("[{name}] cannot be read"))),
            _ => {
                faults.sort();
                Err(faults)
            }
        }
    }

    /// Where a file named `given` is looked for, in this order: for a name in the file, its own folder, the folders that it leads
    /// to if it is a link, and the working directory; for one from the command line, the working directory first.
    ///
    /// Last, for a file that a run or a sweep wrote, the folders above its own: it repeats a trace's path as it was found, from the
    /// working directory of that run, and results mostly lie below it. An absolute path would make results of the same scenario
    /// differ from place to place, and one from the results' own folder would be lost when they are moved.
    pub(super) fn candidates(&self, given: &Path, origin: Origin) -> Candidates {
        let folders = folders_of(Path::new(&self.source.name));
        let mut near: Vec<PathBuf> = folders.iter().map(|folder| folder.join(given)).collect();
        let from_command_line = matches!(origin, Origin::Set(index) if self.sets[index].is_option());
        near.insert(if from_command_line { 0 } else { near.len() }, given.to_path_buf());
        let mut seen = Vec::new();
        near.retain(|path| {
            let fresh = !seen.contains(path);
            seen.push(path.clone());
            fresh
        });
        let written = Path::new(&self.source.name).file_name().is_some_and(|name| WRITTEN.iter().any(|own| name == *own));
        let mut above = Vec::new();
        if written && given.is_relative() {
            let folder = folders.first().and_then(|folder| std::path::absolute(folder).ok());
            above.extend(folder.iter().flat_map(|folder| folder.ancestors().skip(1)).map(|folder| folder.join(given)));
        }
        Candidates { near, above }
    }

    /// The file's name without folder and ending, if it has one.
    pub(super) fn stem(&self) -> Option<String> {
        let path = Path::new(&self.source.name);
        path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned)
    }

    pub(super) fn place(&self, origin: Origin) -> Place {
        match origin {
            Origin::Offset(offset) => self.source.place(offset),
            Origin::Set(index) => Place::Option { text: self.sets[index].to_string() },
        }
    }

    pub(super) fn place_of_file(&self) -> Place {
        Place::File { file: self.source.name.clone() }
    }
}

impl Source {
    /// A key that stands twice in a table, by name, and the first place where only one can be it.
    fn duplicate(&self, root: &DeTable<'_>, again: std::ops::Range<usize>) -> String {
        let key = self.text.get(again.clone()).unwrap_or_default();
        let name = key.trim_matches(['"', '\'']);
        let mut before = Vec::new();
        places_of(root, name, &mut before);
        before.retain(|at| *at < again.start);
        match before[..] {
            [first] => match self.place(first) {
                Place::Position { line, .. } => format!("duplicate key `{name}`: it stands in line {line} already"),
                _ => format!("duplicate key `{name}`"),
            },
            _ => format!("duplicate key `{name}`"),
        }
    }

    fn place(&self, offset: usize) -> Place {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Place::Position { file: self.name.clone(), line, column }
    }
}

/// Where the tables within `table` have a key called `name`.
fn places_of(table: &DeTable<'_>, name: &str, found: &mut Vec<usize>) {
    for (key, value) in table.iter() {
        if key.get_ref() == name {
            found.push(key.span().start);
        }
        places_in(value.get_ref(), name, found);
    }
}

fn places_in(value: &DeValue<'_>, name: &str, found: &mut Vec<usize>) {
    match value {
        DeValue::Table(table) => places_of(table, name, found),
        DeValue::Array(list) => list.iter().for_each(|entry| places_in(entry.get_ref(), name, found)),
        _ => {}
    }
}

/// Where a file may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidates {
    /// In their order; of several that exist the first is taken.
    pub near: Vec<PathBuf>,
    /// Where it is looked for if it is at none of those.
    pub above: Vec<PathBuf>,
}

/// The folder of a file, and those of the files that it leads to as a link, and that link, and so on.
fn folders_of(path: &Path) -> Vec<PathBuf> {
    let folder = |path: &Path| path.parent().map(Path::to_path_buf).unwrap_or_default();
    let (mut path, mut folders) = (path.to_owned(), vec![folder(path)]);
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = folder(&path).join(target);
        folders.push(folder(&path));
    }
    folders
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.is_dir() {
        return Err(io::Error::other("it is a directory"));
    }
    read_bounded(fs::File::open(path)?)
}

/// Reads at most one byte more than allowed, so that an endless pipe or device ends in an error.
fn read_bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What went wrong, without the number of the operating system's error.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

fn not_utf8(name: &str, error: &std::string::FromUtf8Error) -> Faults {
    if error.as_bytes().starts_with(&[0xff, 0xfe]) || error.as_bytes().starts_with(&[0xfe, 0xff]) {
        let place = Place::Position { file: name.to_owned(), line: 1, column: 1 };
        return Faults::one(place, "UTF-16 text: a scenario is a TOML file in UTF-8");
    }
    let valid = error.utf8_error().valid_up_to();
    let line = error.as_bytes()[..valid].iter().filter(|&&b| b == b'\n').count() + 1;
    let place = Place::Position { file: name.to_owned(), line, column: 1 };
    Faults::one(place, "not a text in UTF-8: a scenario is a TOML file")
}

/// The parser's message as one lowercase line.
fn syntax(message: &str) -> String {
    let line: String = message.lines().collect::<Vec<_>>().join(", ");
    format!("no valid TOML: {line}")
}
