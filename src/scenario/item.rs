//! One value of a document while it is read, with its path: typed readers that record what is wrong.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::units::{Attos, SimTime, Span};

use super::amount::{self, AmountError};
use super::document::Candidates;
use super::fault::Faults;
use super::node::{Node, Origin, Value};
use super::notes::Shape;
use super::section::{Context, Section, in_backticks, nearest};
use super::warning::{Warning, codes};

/// Longest duration or instant of a scenario: sums of several stay far below the end of the clock (584 years).
pub(super) const MAX_SPAN: Span = Span::from_secs(100 * 365 * 86_400);

/// A range of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberRange {
    low: f64,
    /// Whether `low` itself is excluded.
    open: bool,
    high: f64,
}

impl NumberRange {
    /// 0 to 1.
    pub const SHARE: Self = Self::between(0.0, 1.0);
    /// Above 0.
    pub const POSITIVE: Self = Self { low: 0.0, open: true, high: 1e12 };
    /// 0 or more.
    pub const NOT_NEGATIVE: Self = Self::between(0.0, 1e12);

    /// `low` to `high`, both included.
    pub const fn between(low: f64, high: f64) -> Self {
        Self { low, open: false, high }
    }

    /// Above `low`, to `high`.
    pub const fn above(low: f64, high: f64) -> Self {
        Self { low, open: true, high }
    }

    fn contains(self, x: f64) -> bool {
        x <= self.high && if self.open { x > self.low } else { x >= self.low }
    }
}

impl fmt::Display for NumberRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.open, self.high >= 1e12) {
            (false, false) => write!(f, "a number from {} to {}", self.low, self.high),
            (true, false) => write!(f, "a number above {} and up to {}", self.low, self.high),
            (false, true) => write!(f, "a finite number of {} or more", self.low),
            (true, true) => write!(f, "a finite number above {}", self.low),
        }
    }
}

/// One value of a document, with its path.
#[derive(Clone)]
pub struct Item<'c> {
    context: &'c Context<'c>,
    node: &'c Node,
    path: String,
}

impl<'c> Item<'c> {
    pub(super) fn new(context: &'c Context<'c>, node: &'c Node, path: String) -> Self {
        Self { context, node, path }
    }

    /// The path of the value, `fleet.workers`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The file or folder named `text`, beside the scenario or in the working directory (see [`Document::candidates`]); another of
    /// that name is warned of.
    ///
    /// [`Document::candidates`]: super::document::Document::candidates
    pub(super) fn existing(&self, text: &str) -> Option<PathBuf> {
        let Candidates { near, above } = self.context.document.candidates(Path::new(text), self.node.origin);
        let Some(taken) = near.iter().position(|path| path.exists()) else {
            let found = above.iter().find(|path| path.exists()).cloned();
            if found.is_none() {
                self.no_file(&near, !above.is_empty());
            }
            return found;
        };
        let same = |other: &Path| fs::canonicalize(other).ok() == fs::canonicalize(&near[taken]).ok();
        if let Some(other) = near[taken + 1..].iter().find(|other| other.exists() && !same(other)) {
            self.context.warn(Warning {
                code: codes::AMBIGUOUS_FILE,
                subject: self.path.clone(),
                cause: format!("names two files: `{}` is read, not `{}`", near[taken].display(), other.display()),
                next_step:
                    "a name in the scenario is looked for in its folder first, one on the command line in the working directory; \
                            write a longer path"
                        .to_owned(),
            });
        }
        Some(near[taken].clone())
    }

    /// Records that none of `tried` exists; `above` tells whether the folders above were searched as well.
    fn no_file(&self, tried: &[PathBuf], above: bool) {
        let broken = tried.iter().any(|path| path.is_symlink());
        let what = if broken { "a link that leads nowhere" } else { "no such file" };
        let names = tried.iter().map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(" and ");
        let beyond = if above { ", and the folders above" } else { "" };
        let message = format!("`{}` is {}: {what} (tried {names}{beyond})", self.path, self.show());
        let order = match self.node.origin {
            Origin::Offset(_) if above => format!("results of a run elsewhere: name the file with `--set {}=...`", self.path),
            Origin::Offset(_) => {
                "a relative path is taken from the scenario's folder, then from the working directory".to_owned()
            }
            Origin::Set(_) => {
                "a relative path on the command line is taken from the working directory, then from the scenario's folder"
                    .to_owned()
            }
        };
        self.fault(message, Some(order));
    }

    /// Records the faults of another file that this value names.
    pub(super) fn faults_of_file(&self, faults: &Faults) {
        faults.iter().for_each(|fault| self.context.push(fault.clone()));
    }

    /// The value as messages show it.
    pub fn show(&self) -> String {
        self.node.value.show()
    }

    /// The value as TOML, numbers with the digits they were written with.
    pub fn to_toml(&self) -> String {
        self.node.value.to_toml()
    }

    /// Whether the value is the text `expected`.
    pub fn is_text(&self, expected: &str) -> bool {
        self.note(|| Shape::Word(expected.to_owned()));
        matches!(&self.node.value, Value::Text(text) if text == expected)
    }

    /// The value if it is a text; nothing is recorded, and nothing noted.
    pub(super) fn quiet_text(&self) -> Option<&'c str> {
        match &self.node.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    fn note(&self, shape: impl FnOnce() -> Shape) {
        self.context.note(&self.path, shape);
    }

    /// Whether the value is a text.
    pub fn is_any_text(&self) -> bool {
        matches!(self.node.value, Value::Text(_))
    }

    /// Whether the value is a number, whole or not.
    pub fn is_number(&self) -> bool {
        matches!(self.node.value, Value::Integer { .. } | Value::Float(_))
    }

    /// Whether the value is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.node.value, Value::Table(_))
    }

    /// Whether the value is a list.
    pub fn is_list(&self) -> bool {
        matches!(self.node.value, Value::List(_))
    }

    /// Records a fault at this value.
    pub fn fault(&self, message: impl Into<String>, hint: Option<String>) {
        self.context.fault(Some(self.node.origin), &self.path, message.into(), hint);
    }

    /// Records that the value is not what was expected.
    pub fn mistake(&self, expected: impl fmt::Display, hint: Option<String>) {
        self.fault(format!("`{}` is {}: expected {expected}", self.path, self.show()), hint);
    }

    /// A whole number from `low` to `high`.
    pub fn u64(&self, low: u64, high: u64) -> Option<u64> {
        self.note(|| Shape::Integer(low, high));
        let value = self.node.value.as_u64().filter(|n| (low..=high).contains(n));
        if value.is_none() {
            let hint = self.whole_number_hint();
            match high {
                u64::MAX => self.mistake(format_args!("a whole number of {low} or more"), hint),
                _ => self.mistake(format_args!("a whole number from {low} to {high}"), hint),
            }
        }
        value
    }

    /// The value if it is a whole number of 0 or more; records nothing.
    pub(super) fn quiet_u64(&self) -> Option<u64> {
        self.node.value.as_u64()
    }

    /// The value if it is a boolean; records nothing.
    pub(super) fn quiet_bool(&self) -> Option<bool> {
        match self.node.value {
            Value::Boolean(value) => Some(value),
            _ => None,
        }
    }

    /// A whole number from `low` to `high`.
    pub fn u32(&self, low: u32, high: u32) -> Option<u32> {
        self.u64(u64::from(low), u64::from(high)).and_then(|n| u32::try_from(n).ok())
    }

    /// How to write the whole number that was probably meant.
    fn whole_number_hint(&self) -> Option<String> {
        match &self.node.value {
            Value::Text(text) => text.trim().parse::<u64>().ok().map(|n| format!("write the number without quotes: `{n}`")),
            Value::Float(_) => {
                let x = self.node.value.as_f64().filter(|x| x.fract() == 0.0 && (0.0..1e15).contains(x))?;
                Some(format!("write it without a decimal point or exponent: `{x:.0}`"))
            }
            _ => None,
        }
    }

    /// A finite number in `range`.
    pub fn number(&self, range: NumberRange) -> Option<f64> {
        self.note(|| Shape::Number(range.low, range.high, range.open));
        let value = self.node.value.as_f64().filter(|x| range.contains(*x));
        if value.is_none() {
            self.mistake(range, self.number_hint(range));
        }
        // `-0.0` and `0.0` mean the same, and only one of them shall reach results and resolved files.
        value.map(|x| x + 0.0)
    }

    /// How to write the number that was probably meant: without quotes, with a dot, or a share instead of a percentage.
    fn number_hint(&self, range: NumberRange) -> Option<String> {
        let fits = |x: f64| range.contains(x).then(|| format!("write `{x}`"));
        match &self.node.value {
            Value::Text(text) => {
                let plain = text.trim().replace(',', ".");
                let percent = plain.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
                match (plain.parse::<f64>().ok(), percent) {
                    (Some(_), _) if !text.contains(',') => Some("write the number without quotes".to_owned()),
                    (Some(number), _) => fits(number),
                    (None, percent) => fits(percent? / 100.0),
                }
            }
            // Of a share alone 80 can mean 80 %.
            _ if range == NumberRange::SHARE => {
                self.node.value.as_f64().filter(|x| (2.0..=100.0).contains(x)).and_then(|x| fits(x / 100.0))
            }
            _ => None,
        }
    }

    /// Any number, infinities and NaN included: for values that the run is to show as refused.
    pub fn any_number(&self) -> Option<f64> {
        self.note(|| Shape::AnyNumber);
        let value = self.node.value.as_f64();
        if value.is_none() {
            self.mistake("a number", None);
        }
        value
    }

    /// A boolean.
    pub fn boolean(&self) -> Option<bool> {
        self.note(|| Shape::Boolean);
        match self.node.value {
            Value::Boolean(value) => Some(value),
            _ => {
                self.mistake("`true` or `false`", None);
                None
            }
        }
    }

    /// A text of 1 to `longest` characters.
    pub fn text(&self, longest: usize) -> Option<&'c str> {
        self.note(|| Shape::Text(longest));
        match &self.node.value {
            Value::Text(text) if !text.is_empty() && text.chars().count() <= longest => Some(text),
            Value::Text(_) => {
                self.mistake(format_args!("a text of 1 to {longest} characters"), None);
                None
            }
            _ => {
                self.mistake("a text", Some("a text stands in quotes".to_owned()));
                None
            }
        }
    }

    /// A duration of at most 100 years.
    pub fn span(&self) -> Option<Span> {
        self.note(|| Shape::Span);
        let Value::Text(text) = &self.node.value else {
            let hint = match &self.node.value {
                Value::Integer { digits, .. } | Value::Float(digits) if self.node.value.as_f64().is_some_and(|x| x >= 0.0) => {
                    format!(
                        "a duration is a text with a unit (ns, us, ms, s, m, h, d), such as `\"{}s\"`",
                        super::node::clip(digits)
                    )
                }
                _ => "a duration is a text with a unit (ns, us, ms, s, m, h, d), such as `\"1.5s\"`".to_owned(),
            };
            self.mistake("a duration such as `\"250ms\"`, `\"1.5s\"` or `\"10m\"`", Some(hint));
            return None;
        };
        match text.parse::<Span>() {
            Ok(span) if span <= MAX_SPAN => Some(span),
            Ok(_) => {
                self.mistake("a duration of at most 100 years (`876000h`)", None);
                None
            }
            Err(error) => {
                self.fault(format!("`{}` is {}: {error}", self.path, self.show()), None);
                None
            }
        }
    }

    /// A duration above zero.
    pub fn positive_span(&self) -> Option<Span> {
        let span = self.span()?;
        if span.is_zero() {
            self.mistake("a duration above zero", None);
            return None;
        }
        Some(span)
    }

    /// An instant, as the time since the start of the run.
    pub fn instant(&self) -> Option<SimTime> {
        self.span().map(|span| SimTime::from_nanos(span.as_nanos()))
    }

    /// A step-time coefficient: a text with a unit, or a number of 10^`unit` attoseconds (18 seconds, 15 milliseconds).
    pub(super) fn attos(&self, unit: i32) -> Option<Attos> {
        self.note(|| Shape::StepTime);
        let read = match &self.node.value {
            Value::Text(text) => amount::parse_attos(text, None),
            Value::Integer { digits: text, radix: 10 } | Value::Float(text) if !text.contains(['n', 'i']) => {
                amount::parse_attos(text, Some(unit))
            }
            _ => Err(AmountError::NotANumber),
        };
        read.map_err(|error| self.fault(format!("`{}` is {}: {error}", self.path, self.show()), None)).ok()
    }

    /// A number above 0 as an exact decimal.
    pub(super) fn decimal(&self, range: NumberRange) -> Option<amount::Decimal> {
        self.number(range)?;
        let text = match &self.node.value {
            Value::Integer { digits: text, radix: 10 } | Value::Float(text) => text,
            _ => {
                self.mistake("a decimal number", None);
                return None;
            }
        };
        let read = amount::Decimal::parse(text);
        read.map_err(|_| self.mistake("a decimal number of at most 25 digits", None)).ok()
    }

    /// One of a few names; `-` and `_` mean the same.
    pub fn one_of<T: Copy>(&self, names: &[(&str, T)]) -> Option<T> {
        self.note(|| Shape::OneOf(names.iter().map(|(name, _)| (*name).to_owned()).collect()));
        self.named(names)
    }

    /// One of a few names that the user gave elsewhere in the document.
    pub(super) fn named<T: Copy>(&self, names: &[(&str, T)]) -> Option<T> {
        let list = || names.iter().map(|(name, _)| *name);
        let Value::Text(text) = &self.node.value else {
            self.mistake(format_args!("one of {}", in_backticks(list())), None);
            return None;
        };
        let plain = text.replace('-', "_");
        let found = names.iter().find(|(name, _)| name.replace('-', "_") == plain);
        if found.is_none() {
            let hint = nearest(text, list()).map(|near| format!("did you mean `{near}`?"));
            self.mistake(format_args!("one of {}", in_backticks(list())), hint);
        }
        found.map(|(_, value)| *value)
    }

    /// A table.
    pub fn table(&self) -> Option<Section<'c>> {
        self.note(|| Shape::Table);
        let table = self.node.value.as_table();
        if table.is_none() {
            self.mistake("a table", None);
        }
        table.map(|table| Section::new(self.context, table, self.path.clone(), Some(self.node.origin)))
    }

    /// The entries of a list, possibly none.
    pub fn list(&self) -> Option<Vec<Item<'c>>> {
        self.note(|| Shape::List(0));
        let Value::List(list) = &self.node.value else {
            self.mistake("a list", None);
            return None;
        };
        let entry = |(n, node)| Item::new(self.context, node, format!("{}.{n}", self.path));
        Some(list.iter().enumerate().map(entry).collect())
    }

    /// The entries of a list of 1 to `most` entries.
    pub fn filled_list(&self, most: usize) -> Option<Vec<Item<'c>>> {
        self.note(|| Shape::List(most));
        let list = self.list()?;
        if list.is_empty() {
            self.mistake("at least one entry", None);
            return None;
        }
        if list.len() > most {
            self.mistake(format_args!("a list of at most {most} entries"), None);
            return None;
        }
        Some(list)
    }
}
