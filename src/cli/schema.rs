//! `shedcast schema`: what files mean, for machines.

use std::fmt::Write as _;

use super::generate_args::SchemaArgs;
use super::terminal::Terminal;
use super::whole_files::write_new;
use super::{ExitStatus, Failure};
use crate::report::schema::{Schema, schemas};

/// Prints a schema, lists all, or writes all.
pub(super) fn schema(args: &SchemaArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let all = schemas();
    if let Some(out) = &args.out {
        let files: Vec<(String, Vec<u8>)> = all.iter().map(|schema| (schema.file(), schema.to_text().into_bytes())).collect();
        write_new(out, &files, args.force)?;
        return Ok(ExitStatus::Success);
    }
    let text = match &args.name {
        Some(name) => find(&all, name)?.to_text(),
        None => list(&all),
    };
    terminal.print(text.as_bytes())?;
    Ok(ExitStatus::Success)
}

/// By name, with or without the ending.
fn find<'a>(all: &'a [Schema], name: &str) -> Result<&'a Schema, Failure> {
    let found = all.iter().find(|schema| schema.name == name || schema.name.split('.').next() == Some(name));
    found.ok_or_else(|| {
        let names = all.iter().map(|schema| format!("`{}`", schema.name)).collect::<Vec<_>>().join(", ");
        Failure::Schema(format!("`{name}` has no schema\n  hint: there are {names}"))
    })
}

fn list(all: &[Schema]) -> String {
    let mut text = String::new();
    for schema in all {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<22} {}", schema.name, schema.about);
    }
    text
}
