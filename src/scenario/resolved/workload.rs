//! `[workload]`.

use crate::units::SimTime;
use crate::workload::config::{
    ArrivalProcess, PairPiece, PairSchedule, PrefixReuse, RatePiece, RateSchedule, SessionReplay, StreamConfig, StreamLengths,
    TimeUnit, TraceColumns, TraceConfig, WeightedPair, WorkloadConfig,
};

use super::super::trace::TIME_UNITS;
use super::super::workload::DEFAULT_CLASS;
use super::distributions::length_distribution;
use super::writer::{Writer, float, inline, instant, list, quoted, span};

/// The table `[workload]` alone, as it stands in a scenario file; with `pairs_file`, pairs of lengths are in that CSV file.
pub fn workload_toml(workload: &WorkloadConfig, pairs_file: Option<&str>) -> String {
    let mut w = Writer::default();
    write(&mut w, workload, pairs_file);
    w.text
}

pub(super) fn write_workload(w: &mut Writer, workload: &WorkloadConfig) {
    write(w, workload, None);
}

fn write(w: &mut Writer, workload: &WorkloadConfig, pairs_file: Option<&str>) {
    w.header("[workload]");
    if let Some(trace) = &workload.trace {
        w.line("trace", trace_config(trace));
    }
    if let Some(arrivals) = &workload.shared_arrivals {
        w.line("arrivals", arrival_process(arrivals));
    }
    match &workload.streams[..] {
        [only] if only.class == DEFAULT_CLASS && only.weight.is_none() => write_stream(w, only, pairs_file),
        streams => {
            for stream in streams {
                w.header("[[workload.classes]]");
                w.line("class", quoted(&stream.class));
                write_stream(w, stream, pairs_file);
            }
        }
    }
    for request in &workload.requests {
        w.header("[[workload.requests]]");
        w.line("at", instant(request.at));
        w.line("count", request.count);
        if let Some(every) = request.every {
            w.line("every", span(every));
        }
        w.line("input_tokens", request.input_tokens);
        w.line("output_tokens", request.output_tokens);
        if let Some(time) = request.service_time {
            w.line("service_time", span(time));
        }
        if let Some(worker) = request.worker {
            w.line("worker", worker);
        }
        w.line("class", quoted(&request.class));
    }
}

fn write_stream(w: &mut Writer, stream: &StreamConfig, pairs_file: Option<&str>) {
    if let Some(arrivals) = &stream.arrivals {
        w.line("arrivals", arrival_process(arrivals));
    }
    if let Some(weight) = stream.weight {
        w.line("weight", float(weight));
    }
    match &stream.lengths {
        StreamLengths::Separate { input_tokens, output_tokens, correlation } => {
            w.line("input_tokens", length_distribution(input_tokens));
            w.line("output_tokens", length_distribution(output_tokens));
            w.line("length_correlation", float(*correlation));
        }
        StreamLengths::Paired(schedule) => w.line(
            "lengths",
            match pairs_file {
                Some(file) => inline(&[("csv", quoted(file))]),
                None => pair_schedule(schedule),
            },
        ),
    }
}

fn pair_schedule(schedule: &PairSchedule) -> String {
    match &schedule.0[..] {
        [only] => inline(&[("pairs", pairs(&only.pairs))]),
        pieces => {
            let piece = |p: &PairPiece| inline(&[("at", instant(p.at)), ("pairs", pairs(&p.pairs))]);
            inline(&[("pieces", list(pieces.iter().map(piece)))])
        }
    }
}

fn pairs(pairs: &[WeightedPair]) -> String {
    list(pairs.iter().map(|pair| match pair.weight {
        1.0 => format!("[{}, {}]", pair.input_tokens, pair.output_tokens),
        weight => format!("[{}, {}, {}]", pair.input_tokens, pair.output_tokens, float(weight)),
    }))
}

fn arrival_process(arrivals: &ArrivalProcess) -> String {
    let process = |name: &str| ("process", quoted(name));
    match arrivals {
        ArrivalProcess::Poisson { rate } => inline(&[process("poisson"), ("rate", schedule(rate))]),
        ArrivalProcess::Constant { rate } => inline(&[process("constant"), ("rate", schedule(rate))]),
        ArrivalProcess::Gamma { rate, cv } => inline(&[process("gamma"), ("rate", schedule(rate)), ("cv", float(*cv))]),
        ArrivalProcess::Weibull { rate, cv } => inline(&[process("weibull"), ("rate", schedule(rate)), ("cv", float(*cv))]),
        ArrivalProcess::OnOff { on_rate, off_rate, mean_on, mean_off } => inline(&[
            process("on_off"),
            ("on_rate", float(*on_rate)),
            ("off_rate", float(*off_rate)),
            ("mean_on", span(*mean_on)),
            ("mean_off", span(*mean_off)),
        ]),
    }
}

fn schedule(rate: &RateSchedule) -> String {
    match &rate.0[..] {
        [only] if only.at == SimTime::ZERO && !only.ramp => float(only.rate),
        pieces => {
            let piece = |p: &RatePiece| inline(&[("at", instant(p.at)), ("rate", float(p.rate)), ("ramp", p.ramp.to_string())]);
            list(pieces.iter().map(piece))
        }
    }
}

fn trace_config(trace: &TraceConfig) -> String {
    let options = &trace.options;
    let optional = |value: Option<String>| value.unwrap_or_else(|| quoted("none"));
    let reuse = match options.prefix_reuse {
        PrefixReuse::Off => "off",
        PrefixReuse::Discount => "discount",
    };
    let sessions = match options.sessions {
        SessionReplay::Flatten => "flatten",
        SessionReplay::Follow => "follow",
    };
    inline(&[
        ("path", quoted(trace.path.display())),
        ("format", optional(trace.format.as_ref().map(quoted))),
        ("class", quoted(&trace.class)),
        ("columns", optional(options.columns.as_ref().map(columns))),
        ("time_unit", optional(options.time_unit.map(time_unit))),
        ("window_start", optional(options.window_start.map(span))),
        ("window_end", optional(options.window_end.map(span))),
        ("rate_scale", optional(options.rate_scale.map(float))),
        ("max_gap", optional(options.max_gap.map(span))),
        ("repeat", options.repeat.to_string()),
        ("dequantise", optional(options.dequantise.map(span))),
        ("max_rows", optional(options.max_rows.map(|n| n.to_string()))),
        ("max_input_tokens", optional(options.max_input_tokens.map(|n| n.to_string()))),
        ("max_output_tokens", optional(options.max_output_tokens.map(|n| n.to_string()))),
        ("strict", options.strict.to_string()),
        ("sort", options.sort.to_string()),
        ("sessions", quoted(sessions)),
        ("prefix_reuse", quoted(reuse)),
        ("hash_block_size", optional(options.hash_block_size.map(|n| n.to_string()))),
        ("class_column", optional(options.class_column.as_ref().map(quoted))),
        ("input_tokens", optional(options.input_tokens.as_ref().map(length_distribution))),
        ("output_tokens", optional(options.output_tokens.as_ref().map(length_distribution))),
    ])
}

fn columns(columns: &TraceColumns) -> String {
    let mut fields = vec![
        ("arrival", quoted(&columns.arrival)),
        ("arrival_unit", time_unit(columns.arrival_unit)),
        ("input_tokens", quoted(&columns.input_tokens)),
        ("output_tokens", quoted(&columns.output_tokens)),
    ];
    if let Some((column, unit)) = &columns.service_time {
        fields.push(("service_time", quoted(column)));
        fields.push(("service_time_unit", time_unit(*unit)));
    }
    fields.push(("header", columns.header.to_string()));
    inline(&fields)
}

fn time_unit(unit: TimeUnit) -> String {
    quoted(TIME_UNITS.iter().find(|(_, candidate)| *candidate == unit).map_or("s", |(name, _)| name))
}
