//! What is wrong with a scenario: every fault of a file at once, each with its place, what was expected and a hint.

use std::fmt;

/// Where a fault stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In a file as a whole: it cannot be read, or something that ought to be in it is not.
    File {
        /// Name of the file as the user gave it.
        file: String,
    },
    /// At a position of a file.
    Position {
        /// Name of the file as the user gave it.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
    },
    /// In a value that does not come from the file, such as `--set fleet.workers=0`.
    Option {
        /// The option as it was given.
        text: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file } => f.write_str(file),
            Self::Position { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Self::Option { text } => f.write_str(text),
        }
    }
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it stands.
    pub place: Place,
    /// Path of the field (`fleet.workers`); empty where none is meant.
    pub path: String,
    /// What is wrong, as a lowercase fragment with values in backticks, and what was expected.
    pub message: String,
    /// What to do about it, where that can be said.
    pub hint: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// All faults of a scenario, in the order of the file; never empty when returned as an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct Faults {
    list: Vec<Fault>,
    left_out: usize,
}

impl Faults {
    /// Faults that are kept; further ones are only counted, so that a hostile file cannot fill the screen or the memory.
    pub const LIMIT: usize = 100;

    /// A single fault.
    pub fn one(place: Place, message: impl Into<String>) -> Self {
        Self { list: vec![Fault { place, path: String::new(), message: message.into(), hint: None }], left_out: 0 }
    }

    /// Adds a fault, unless an equal one is there already.
    pub fn push(&mut self, fault: Fault) {
        if self.list.contains(&fault) {
            return;
        }
        if self.list.len() < Self::LIMIT {
            self.list.push(fault);
        } else {
            self.left_out += 1;
        }
    }

    /// The value, or nothing where its faults are added to these.
    pub(crate) fn take<T>(&mut self, result: Result<T, Self>) -> Option<T> {
        result.map_err(|more| more.list.into_iter().for_each(|fault| self.push(fault))).ok()
    }

    /// These faults with messages and hints changed by `change`.
    #[must_use]
    pub(crate) fn with_messages(mut self, change: impl Fn(&str) -> String) -> Self {
        for fault in &mut self.list {
            fault.message = change(&fault.message);
            fault.hint = fault.hint.as_deref().map(&change);
        }
        self
    }

    /// Whether further faults are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() >= Self::LIMIT
    }

    /// Counts a fault that is not kept.
    pub(crate) fn count_one(&mut self) {
        self.left_out += 1;
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many faults there are, those left out included.
    pub fn len(&self) -> usize {
        self.list.len() + self.left_out
    }

    /// The faults that were kept, in the order of the file.
    pub fn iter(&self) -> std::slice::Iter<'_, Fault> {
        self.list.iter()
    }

    /// How many faults were counted but not kept.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Brings the faults into the order of the file; those of options come last.
    pub(crate) fn sort(&mut self) {
        self.list.sort_by(|a, b| a.place.cmp(&b.place));
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, fault) in self.list.iter().enumerate() {
            let separator = if i == 0 { "" } else { "\n" };
            write!(f, "{separator}{fault}")?;
        }
        match self.left_out {
            0 => Ok(()),
            n => write!(f, "\n... and {n} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(n: usize) -> Fault {
        let place = Place::Position { file: "a.toml".into(), line: n, column: 1 };
        Fault { place, path: "x".into(), message: format!("fault {n}"), hint: None }
    }

    #[test]
    fn faults_are_kept_up_to_a_limit_and_counted_beyond_it() {
        let mut faults = Faults::default();
        (1..=Faults::LIMIT + 7).for_each(|n| faults.push(fault(n)));
        assert_eq!((faults.iter().count(), faults.len(), faults.left_out()), (Faults::LIMIT, Faults::LIMIT + 7, 7));
        assert!(faults.to_string().ends_with("... and 7 more"));
    }

    #[test]
    fn equal_faults_are_told_once_and_in_the_order_of_the_file() {
        let mut faults = Faults::default();
        faults.push(Fault { place: Place::Option { text: "--set a=1".into() }, ..fault(1) });
        [fault(10), fault(9), fault(10)].into_iter().for_each(|f| faults.push(f));
        faults.sort();
        assert_eq!(faults.to_string(), "a.toml:9:1: fault 9\na.toml:10:1: fault 10\n--set a=1: fault 1");
    }
}
