//! `workload.trace`: the file to replay, and how.

use std::path::Path;

use crate::workload::config::{PrefixReuse, SessionReplay, TimeUnit, TraceColumns, TraceConfig, TraceOptions};
use crate::workload::trace::TraceFormat;

use super::document::Document;
use super::fault::Faults;
use super::item::{Item, NumberRange};
use super::lengths;
use super::section::{Section, in_backticks, nearest};
use super::set_option::SetOption;
use super::workload::DEFAULT_CLASS;

const MAX_ROWS: u64 = 1_000_000_000_000;
const LONGEST_PATH: usize = 4_096;
const LONGEST_NAME: usize = 200;

/// Format name of a file that `columns` describes.
const DESCRIBED: &str = "columns";

/// Units of a time in a trace.
pub(super) const TIME_UNITS: [(&str, TimeUnit); 5] = [
    ("s", TimeUnit::Seconds),
    ("ms", TimeUnit::Milliseconds),
    ("us", TimeUnit::Microseconds),
    ("ns", TimeUnit::Nanoseconds),
    ("date", TimeUnit::Date),
];

/// The trace `path` with options from outside any scenario file: each sets a field of `trace`, such as `trace.rate_scale`.
/// The path is not looked at.
///
/// # Errors
/// All faults of the options.
pub fn trace_config(path: &Path, sets: &[SetOption]) -> Result<TraceConfig, Faults> {
    let document = Document::parse("", "the options")?.with(sets)?;
    document.read_table("trace", |section| {
        let format = section.optional("format").and_then(|item| format(&item));
        let class = section.text("class", 100).unwrap_or(DEFAULT_CLASS).to_owned();
        Some(TraceConfig { path: path.to_owned(), format, class, options: options(section) })
    })
}

/// Decodes a path, or a table with `path` and options.
pub(super) fn decode(item: &Item<'_>) -> Option<TraceConfig> {
    if !item.is_table() {
        let path = item.text(LONGEST_PATH).and_then(|text| item.existing(text))?;
        check_folder(item, &path, None);
        let (format, class, options) = (None, DEFAULT_CLASS.to_owned(), TraceOptions::default());
        return Some(TraceConfig { path, format, class, options });
    }
    let mut section = item.table()?;
    section.require("path", "the trace file");
    let file = section.item("path");
    let path = file.as_ref().and_then(|item| item.text(LONGEST_PATH).and_then(|text| item.existing(text)));
    let format = section.optional("format").and_then(|item| format(&item));
    if let (Some(file), Some(path)) = (&file, &path) {
        check_folder(file, path, format.as_deref());
    }
    let class = section.text("class", 100).unwrap_or(DEFAULT_CLASS).to_owned();
    let options = options(&mut section);
    section.finish();
    Some(TraceConfig { path: path?, format, class, options })
}

/// The name of a format that there is a reader for, or `columns`.
fn format(item: &Item<'_>) -> Option<String> {
    let name = item.text(LONGEST_NAME)?;
    if name == DESCRIBED || TraceFormat::from_name(name).is_some() {
        return Some(name.to_owned());
    }
    let names = || TraceFormat::ALL.iter().map(|format| format.name()).chain([DESCRIBED]);
    let hint = match nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "leave `format` out to have it recognised, or describe the file in `columns`".to_owned(),
    };
    item.mistake(format_args!("one of {}", in_backticks(names())), Some(hint));
    None
}

/// Only a pool of ServeGen clients is a folder.
fn check_folder(item: &Item<'_>, path: &Path, format: Option<&str>) {
    if !path.is_dir() {
        return;
    }
    let is_pool = match format.map(TraceFormat::from_name) {
        Some(format) => format == Some(TraceFormat::ServeGen),
        None => holds_clients(path),
    };
    if !is_pool {
        item.mistake("a trace file; only a pool of ServeGen clients is a folder", None);
    }
}

/// Whether a folder holds the windows of some ServeGen client, `chunk-N-trace.csv`.
fn holds_clients(path: &Path) -> bool {
    let is_client = |name: &str| name.starts_with("chunk-") && name.ends_with("-trace.csv");
    std::fs::read_dir(path).is_ok_and(|entries| entries.flatten().any(|e| e.file_name().to_str().is_some_and(is_client)))
}

fn options(section: &mut Section<'_>) -> TraceOptions {
    let default = TraceOptions::default();
    let options = TraceOptions {
        columns: section.optional("columns").and_then(|item| columns(&item)),
        time_unit: section.optional("time_unit").and_then(|item| item.one_of(&TIME_UNITS)),
        window_start: section.optional("window_start").and_then(|item| item.span()),
        window_end: section.optional("window_end").and_then(|item| item.span()),
        rate_scale: section.optional("rate_scale").and_then(|item| item.number(NumberRange::above(0.0, 1e9))),
        max_gap: section.optional("max_gap").and_then(|item| item.span()),
        repeat: section.boolean("repeat").unwrap_or(default.repeat),
        dequantise: section
            .aliased("dequantise", &["dequantize"])
            .filter(|item| !item.is_text("none"))
            .and_then(|item| item.positive_span()),
        max_rows: section.optional("max_rows").and_then(|item| item.u64(1, MAX_ROWS)),
        max_input_tokens: section.optional("max_input_tokens").and_then(|item| item.u32(1, lengths::MAX_TOKENS)),
        max_output_tokens: section.optional("max_output_tokens").and_then(|item| item.u32(1, lengths::MAX_TOKENS)),
        strict: section.boolean("strict").unwrap_or(default.strict),
        sort: section.boolean("sort").unwrap_or(default.sort),
        sessions: section
            .one_of("sessions", &[("flatten", SessionReplay::Flatten), ("follow", SessionReplay::Follow)])
            .unwrap_or_default(),
        prefix_reuse: section
            .one_of("prefix_reuse", &[("off", PrefixReuse::Off), ("discount", PrefixReuse::Discount)])
            .unwrap_or_default(),
        hash_block_size: section.optional("hash_block_size").and_then(|item| item.u32(1, lengths::MAX_TOKENS)),
        class_column: section.optional("class_column").and_then(|item| item.text(LONGEST_NAME)).map(str::to_owned),
        input_tokens: section.optional("input_tokens").and_then(|item| lengths::decode(&item, 0)),
        output_tokens: section.optional("output_tokens").and_then(|item| lengths::decode(&item, 1)),
    };
    if let (Some(start), Some(end)) = (options.window_start, options.window_end)
        && end < start
    {
        let message =
            format!("`{}` is `\"{end}\"`: expected not before `window_start` = `\"{start}\"`", section.path_of("window_end"));
        section.fault(Some("window_end"), message, None);
    }
    if options.repeat && options.sessions == SessionReplay::Follow {
        let message =
            format!("`{}` is `true`: a trace whose sessions are followed cannot start again", section.path_of("repeat"));
        section.fault(Some("repeat"), message, Some("leave out `repeat`, or `sessions = \"follow\"`".to_owned()));
    }
    options
}

fn columns(item: &Item<'_>) -> Option<TraceColumns> {
    let mut section = item.table()?;
    section.require("arrival", "the column or field of the arrival time");
    section.require("arrival_unit", "`s`, `ms`, `us`, `ns` or `date`");
    section.require("input_tokens", "the column or field of the prompt tokens");
    section.require("output_tokens", "the column or field of the generated tokens");
    let mut name = |key| section.optional(key).and_then(|item| item.text(LONGEST_NAME)).map(str::to_owned);
    let [arrival, input_tokens, output_tokens] = ["arrival", "input_tokens", "output_tokens"].map(&mut name);
    let service_time = name("service_time");
    let arrival_unit = section.one_of("arrival_unit", &TIME_UNITS);
    let service_unit = section.one_of("service_time_unit", &TIME_UNITS[..4]);
    match (&service_time, section.given("service_time_unit")) {
        (Some(_), false) => section.require("service_time_unit", "`s`, `ms`, `us` or `ns`"),
        (None, true) => section.require("service_time", "the column or field of the service time"),
        _ => {}
    }
    let header = section.boolean("header").unwrap_or(true);
    section.finish();
    Some(TraceColumns {
        arrival: arrival?,
        arrival_unit: arrival_unit?,
        input_tokens: input_tokens?,
        output_tokens: output_tokens?,
        service_time: service_time.zip(service_unit),
        header,
    })
}
