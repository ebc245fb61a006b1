//! Lines and values of TOML.

use std::fmt::Display;
use std::fmt::Write as _;

use crate::units::{Attos, SimTime, Span};

use super::super::amount::print_attos;

/// Lines of TOML under construction.
#[derive(Default)]
pub(super) struct Writer {
    pub text: String,
}

impl Writer {
    pub fn header(&mut self, header: &str) {
        let _ = write!(self.text, "\n{header}\n");
    }

    /// A line `key = value`, the value already TOML.
    pub fn line(&mut self, key: &str, value: impl Display) {
        let _ = writeln!(self.text, "{key} = {value}");
    }

    /// A line whose value may be absent.
    pub fn optional(&mut self, key: &str, value: Option<String>) {
        self.line(key, value.unwrap_or_else(|| quoted("none")));
    }
}

/// A TOML string.
pub(super) fn quoted(text: impl Display) -> String {
    toml::Value::String(text.to_string()).to_string()
}

/// A TOML float that reads back to the same value.
pub(super) fn float(x: f64) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    format!("{x:?}")
}

pub(super) fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// An inline table.
pub(super) fn inline(fields: &[(&str, String)]) -> String {
    let fields = fields.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ");
    format!("{{ {fields} }}")
}

pub(super) fn span(span: Span) -> String {
    quoted(span)
}

pub(super) fn instant(at: SimTime) -> String {
    quoted(at)
}

pub(super) fn attos(amount: Attos) -> String {
    quoted(print_attos(amount))
}
