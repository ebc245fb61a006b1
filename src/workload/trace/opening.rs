//! Opening of a trace: which format it has, and where its fields are.

use std::path::Path;

use super::format::{self, Recognised, Spec, Syntax, TraceFormat};
use super::lines::Lines;
use super::reader::Fields;
use super::record::{CsvFields, JsonFields, Role, split_quoted};
use super::time;
use crate::workload::config::{TimeUnit, TraceColumns};
use crate::workload::error::WorkloadError;

/// Whether the CSV header just read (the present line) has vidur's arrivals.
pub(super) fn lines_have_arrivals(lines: &Lines) -> Result<bool, WorkloadError> {
    Ok(lines.text()?.contains("arrived_at"))
}

pub(super) fn open_csv(
    lines: &mut Lines,
    named: Option<TraceFormat>,
    columns: Option<&TraceColumns>,
    class_column: Option<&str>,
) -> Result<(Spec, Fields), WorkloadError> {
    let path = lines.path().to_owned();
    lines.advance()?;
    if lines.text()?.trim_start().starts_with('[') {
        return Err(file_error(
            &path,
            "a JSON array: expected JSON Lines, one object a line",
            "`jq -c '.[]'` writes an array as lines",
        ));
    }
    let header: Vec<String> = split_quoted(lines.text()?)
        .map_err(|problem| file_error(&path, problem, "expected CSV with a header, or JSON Lines"))?
        .iter()
        .map(|h| h.trim().to_owned())
        .collect();
    if let Some(columns) = columns {
        return described_csv(lines, &path, &header, columns, class_column);
    }
    if named == Some(TraceFormat::ServeGen) || named.is_none() && format::is_servegen(&header) {
        let problem = "ServeGen windows hold rates, not requests";
        return Err(file_error(&path, problem, "requests are drawn from them in a run; inspect it as ServeGen"));
    }
    let spec = match named {
        Some(format) => format.spec().filter(|s| s.syntax == Syntax::Csv).ok_or_else(|| {
            let problem = format!("CSV, but format `{}` is JSON Lines", format.name());
            file_error(&path, problem, "leave the format out to have it recognised")
        })?,
        None => format::by_header(&header).ok_or_else(|| {
            let problem =
                format!("unknown columns `{}`: expected a trace of a known format ({})", header.join(","), TraceFormat::names());
            file_error(&path, problem, hint_for_unknown(&header))
        })?,
    };
    let mut wanted = Vec::new();
    for (role, names) in spec.fields {
        let column = match (role, class_column) {
            (Role::Class, Some(_)) => continue,
            _ => spec.column(&header, *role),
        };
        let optional_arrival = *role == Role::Arrival && spec.format == TraceFormat::Vidur;
        match column {
            Some(column) => wanted.push((column, *role)),
            None if matches!(role, Role::InputTokens | Role::OutputTokens | Role::Arrival) && !optional_arrival => {
                let problem = format!("no column `{}`, which format `{}` has", names[0], spec.format.name());
                return Err(file_error(&path, problem, format!("the file has `{}`", header.join(","))));
            }
            None => {}
        }
    }
    if let Some(name) = class_column {
        wanted.push((find_column(&path, &header, name)?, Role::Class));
    }
    Ok((Spec { ..*spec }, Fields::Csv(CsvFields::new(wanted, Some(header.len())))))
}

/// What to do about a first line that names no columns we know.
fn hint_for_unknown(header: &[String]) -> &'static str {
    match header {
        [one] if one.contains([';', '\t']) => "columns are separated by commas here: replace the semicolons or tabs",
        [one] if one.ends_with(':') || one.contains(": ") => {
            "this looks like YAML: a description of a workload has no requests; BLIS TraceV2 has them in the CSV beside its header"
        }
        header if is_data(header) => {
            "the first line looks like a row: give `columns` by number, with `header = false`, such as `--columns \
             header=false,arrival=1,arrival_unit=s,input_tokens=2,output_tokens=3`"
        }
        _ => "name the columns and units in the trace's `columns`",
    }
}

/// Whether no field of a first line is a name: all are numbers or dates, or nothing.
fn is_data(header: &[String]) -> bool {
    let is_value = |field: &String| field.parse::<f64>().is_ok() || time::nanos(field, TimeUnit::Date).is_ok();
    header.iter().any(is_value) && header.iter().all(|field| field.trim().is_empty() || is_value(field))
}

pub(super) fn find_column(path: &Path, header: &[String], name: &str) -> Result<usize, WorkloadError> {
    header.iter().position(|h| h == name).or_else(|| header.iter().position(|h| h.eq_ignore_ascii_case(name))).ok_or_else(|| {
        let problem = format!("no column `{name}`");
        let hint = match is_data(header) {
            true => {
                format!("the file has `{}`, which looks like a row: number the columns, with `header = false`", header.join(","))
            }
            false => format!("the file has `{}`", header.join(",")),
        };
        file_error(path, problem, hint)
    })
}

fn described_csv(
    lines: &mut Lines,
    path: &Path,
    header: &[String],
    columns: &TraceColumns,
    class_column: Option<&str>,
) -> Result<(Spec, Fields), WorkloadError> {
    let find = |name: &str| {
        if columns.header {
            return find_column(path, header, name);
        }
        let number = name.parse::<usize>().ok().filter(|n| (1..=header.len()).contains(n));
        number.map(|n| n - 1).ok_or_else(|| {
            let problem = format!("`{name}` is no column: without a header, expected a number from 1 to {}", header.len());
            file_error(path, problem, "set `header = true` if the first line has names")
        })
    };
    let mut wanted = Vec::new();
    for (name, role) in described_fields(columns, class_column) {
        wanted.push((find(&name)?, role));
    }
    if !columns.header {
        lines.unread();
    }
    Ok((format::described(Syntax::Csv, columns.arrival_unit), Fields::Csv(CsvFields::new(wanted, Some(header.len())))))
}

fn described_fields(columns: &TraceColumns, class_column: Option<&str>) -> Vec<(String, Role)> {
    let mut fields = vec![
        (columns.arrival.clone(), Role::Arrival),
        (columns.input_tokens.clone(), Role::InputTokens),
        (columns.output_tokens.clone(), Role::OutputTokens),
    ];
    fields.extend(columns.service_time.iter().map(|s| (s.0.clone(), Role::ServiceTime)));
    fields.extend(class_column.map(|name| (name.to_owned(), Role::Class)));
    fields
}

pub(super) fn open_json(
    lines: &mut Lines,
    named: Option<TraceFormat>,
    columns: Option<&TraceColumns>,
    class_column: Option<&str>,
) -> Result<(Spec, Fields), WorkloadError> {
    if let Some(columns) = columns {
        let fields = JsonFields::new(described_fields(columns, class_column));
        return Ok((format::described(Syntax::JsonLines, columns.arrival_unit), Fields::Json(fields)));
    }
    let path = lines.path().to_owned();
    let spec = match named {
        Some(format) => format.spec().filter(|s| s.syntax == Syntax::JsonLines).ok_or_else(|| {
            let problem = format!("JSON Lines, but format `{}` is not", format.name());
            file_error(&path, problem, "leave the format out to have it recognised")
        })?,
        None => recognise_json(lines, &path)?,
    };
    let all = spec.fields.iter().flat_map(|(role, names)| names.iter().map(|n| ((*n).to_owned(), *role)));
    let all = all.filter(|(_, role)| *role != Role::Class || class_column.is_none());
    let all = all.chain(class_column.map(|name| (name.to_owned(), Role::Class)));
    Ok((Spec { ..*spec }, Fields::Json(JsonFields::new(all))))
}

fn recognise_json(lines: &mut Lines, path: &Path) -> Result<&'static Spec, WorkloadError> {
    lines.advance()?;
    lines.unread();
    let row: serde_json::Value = serde_json::from_str(lines.text()?).map_err(|e| WorkloadError::Row {
        path: path.to_owned(),
        line: lines.number(),
        problem: format!("no JSON object: {e}"),
        hint: if e.is_eof() {
            "a JSON Lines trace has one object a line: `jq -c .` writes an object that is spread over lines as one".into()
        } else {
            "a JSON Lines trace has one object a line".into()
        },
    })?;
    match format::by_object(&row) {
        Recognised::Format(spec) => Ok(spec),
        Recognised::Refused(what, hint) => {
            Err(file_error(path, format!("{what}: expected requests that arrive at recorded instants"), hint))
        }
        Recognised::Unknown => {
            let names: Vec<&str> = row.as_object().map(|o| o.keys().map(String::as_str).collect()).unwrap_or_default();
            let problem =
                format!("unknown fields `{}`: expected a trace of a known format ({})", names.join(","), TraceFormat::names());
            Err(file_error(path, problem, "name the fields and units in the trace's `columns`"))
        }
    }
}

pub(super) fn file_error(path: &Path, problem: impl Into<String>, hint: impl Into<String>) -> WorkloadError {
    WorkloadError::File { path: path.to_owned(), problem: problem.into(), hint: hint.into() }
}
