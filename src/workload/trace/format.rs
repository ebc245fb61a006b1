//! The formats: which fields each has under which names, and how a file is recognised.

use serde_json::Value;

use super::record::Role::{self, *};
use crate::workload::config::TimeUnit;

/// A trace format that is read without being described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// shedcast's own CSV.
    Shedcast,
    /// Azure LLM inference traces of 2023, 2024 and (multimodal) 2025.
    Azure,
    /// Mooncake JSON Lines and the superset that Dynamo accepts.
    Mooncake,
    /// Mooncake rows of sessions whose later turns hold the new input only; recognised by name alone.
    MooncakeDelta,
    /// Dynamo request trace, version 1, wrapped or not.
    DynamoRequestTrace,
    /// BurstGPT 1 to 3.
    BurstGpt,
    /// Bailian JSON Lines.
    Bailian,
    /// LLMServingSim JSON Lines.
    LlmServingSim,
    /// A per-request log of vLLM, with measured times.
    VllmLog,
    /// vidur CSV, with or without arrivals.
    Vidur,
    /// splitwise-sim CSV.
    SplitwiseSim,
    /// BLIS TraceV2 CSV.
    Blis,
    /// ServeGen clients: rates per window, from which requests are drawn.
    ServeGen,
    /// A file whose columns the scenario names.
    Columns,
}

/// How the lines of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Csv,
    JsonLines,
}

/// What is known of a format.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) format: TraceFormat,
    pub(super) syntax: Syntax,
    /// Unit of the times.
    pub(super) unit: TimeUnit,
    /// Fields: the names each may have.
    pub(super) fields: &'static [(Role, &'static [&'static str])],
    /// Tokens of one block of hash ids.
    pub(super) block_size: u32,
    /// Rows that may be out of order: so many are held to sort them.
    pub(super) window: usize,
    /// Times are simulated instants already: they are not moved to start at 0, and prompts may be empty.
    pub(super) simulated: bool,
    /// Value of [`Role::EventType`] that makes a row a request.
    pub(super) request_event: Option<&'static str>,
}

const PLAIN: Spec = Spec {
    format: TraceFormat::Columns,
    syntax: Syntax::Csv,
    unit: TimeUnit::Seconds,
    fields: &[],
    block_size: 512,
    window: 1,
    simulated: false,
    request_event: None,
};

/// Rows held to sort formats that are written in another order than that of arrival (by end, or by id).
const UNSORTED: usize = 4096;

/// Fields of Mooncake rows, as Dynamo takes them.
const MOONCAKE: &[(Role, &[&str])] = &[
    (Arrival, &["timestamp", "created_time"]),
    (InputTokens, &["input_length", "input_tokens"]),
    (OutputTokens, &["output_length", "output_tokens"]),
    (OutputIds, &["output_token_ids"]),
    (HashIds, &["hash_ids"]),
    (Class, &["policy_class"]),
    (Session, &["session_id"]),
    (Delay, &["delay", "delay_ms"]),
    (Dependencies, &["dependencies"]),
];

static SPECS: [Spec; 12] = [
    Spec {
        format: TraceFormat::Shedcast,
        unit: TimeUnit::Nanoseconds,
        fields: &[
            (Arrival, &["arrival_ns"]),
            (InputTokens, &["input_tokens"]),
            (OutputTokens, &["output_tokens"]),
            (Class, &["class"]),
            (ServiceTime, &["service_time_ns"]),
            (Worker, &["worker"]),
        ],
        simulated: true,
        ..PLAIN
    },
    Spec {
        format: TraceFormat::Azure,
        unit: TimeUnit::Date,
        fields: &[(Arrival, &["TIMESTAMP"]), (InputTokens, &["ContextTokens"]), (OutputTokens, &["GeneratedTokens"])],
        ..PLAIN
    },
    Spec {
        format: TraceFormat::BurstGpt,
        fields: &[
            (Arrival, &["Timestamp"]),
            (InputTokens, &["Request tokens"]),
            (OutputTokens, &["Response tokens"]),
            (Session, &["Session ID"]),
        ],
        ..PLAIN
    },
    Spec {
        format: TraceFormat::Vidur,
        fields: &[(Arrival, &["arrived_at"]), (InputTokens, &["num_prefill_tokens"]), (OutputTokens, &["num_decode_tokens"])],
        ..PLAIN
    },
    Spec {
        format: TraceFormat::SplitwiseSim,
        fields: &[(Arrival, &["arrival_timestamp"]), (InputTokens, &["prompt_size"]), (OutputTokens, &["token_size"])],
        ..PLAIN
    },
    Spec {
        format: TraceFormat::Blis,
        unit: TimeUnit::Microseconds,
        fields: &[
            (Arrival, &["arrival_time_us"]),
            (InputTokens, &["input_tokens"]),
            (OutputTokens, &["output_tokens"]),
            (Class, &["slo_class"]),
            (Session, &["session_id"]),
        ],
        ..PLAIN
    },
    Spec {
        format: TraceFormat::DynamoRequestTrace,
        syntax: Syntax::JsonLines,
        unit: TimeUnit::Milliseconds,
        fields: &[
            (EventType, &["event_type", "event.event_type"]),
            (Arrival, &["request.request_received_ms", "event.request.request_received_ms"]),
            (InputTokens, &["request.replay.input_length", "event.request.replay.input_length"]),
            (OutputTokens, &["request.output_tokens", "event.request.output_tokens"]),
            (HashIds, &["request.replay.input_sequence_hashes", "event.request.replay.input_sequence_hashes"]),
            (BlockSize, &["request.replay.trace_block_size", "event.request.replay.trace_block_size"]),
            (Session, &["agent_context.session_id", "event.agent_context.session_id"]),
        ],
        window: UNSORTED,
        request_event: Some("request_end"),
        ..PLAIN
    },
    Spec {
        format: TraceFormat::VllmLog,
        syntax: Syntax::JsonLines,
        fields: &[
            (Arrival, &["queued_ts"]),
            (InputTokens, &["input_toks"]),
            (OutputTokens, &["output_toks"]),
            (ScheduledAt, &["scheduled_ts"]),
            (FirstTokenAt, &["first_token_ts"]),
            (LastTokenAt, &["last_token_ts"]),
        ],
        window: UNSORTED,
        ..PLAIN
    },
    Spec {
        format: TraceFormat::LlmServingSim,
        syntax: Syntax::JsonLines,
        unit: TimeUnit::Nanoseconds,
        fields: &[
            (Arrival, &["arrival_time_ns"]),
            (InputTokens, &["input_toks"]),
            (OutputTokens, &["output_toks"]),
            (SubRequests, &["sub_requests"]),
        ],
        ..PLAIN
    },
    Spec {
        format: TraceFormat::Bailian,
        syntax: Syntax::JsonLines,
        fields: &[
            (Arrival, &["timestamp"]),
            (InputTokens, &["input_length"]),
            (OutputTokens, &["output_length"]),
            (HashIds, &["hash_ids"]),
            (Session, &["chat_id"]),
            (Parent, &["parent_chat_id"]),
        ],
        block_size: 16,
        ..PLAIN
    },
    Spec { format: TraceFormat::Mooncake, syntax: Syntax::JsonLines, unit: TimeUnit::Milliseconds, fields: MOONCAKE, ..PLAIN },
    Spec {
        format: TraceFormat::MooncakeDelta,
        syntax: Syntax::JsonLines,
        unit: TimeUnit::Milliseconds,
        fields: MOONCAKE,
        ..PLAIN
    },
];

impl TraceFormat {
    /// Every format with a name of its own, in the order of the help.
    pub const ALL: [Self; 13] = [
        Self::Azure,
        Self::Mooncake,
        Self::MooncakeDelta,
        Self::DynamoRequestTrace,
        Self::BurstGpt,
        Self::Bailian,
        Self::LlmServingSim,
        Self::VllmLog,
        Self::Vidur,
        Self::SplitwiseSim,
        Self::Blis,
        Self::ServeGen,
        Self::Shedcast,
    ];

    /// The format's name in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shedcast => "shedcast",
            Self::Azure => "azure",
            Self::Mooncake => "mooncake",
            Self::MooncakeDelta => "mooncake-delta",
            Self::DynamoRequestTrace => "dynamo-request-trace",
            Self::BurstGpt => "burstgpt",
            Self::Bailian => "bailian",
            Self::LlmServingSim => "llmservingsim",
            Self::VllmLog => "vllm-log",
            Self::Vidur => "vidur",
            Self::SplitwiseSim => "splitwise-sim",
            Self::Blis => "blis",
            Self::ServeGen => "servegen",
            Self::Columns => "columns",
        }
    }

    /// A format by name; upper case, `_` for `-`, and a year or number after the family's name make no difference.
    pub fn from_name(name: &str) -> Option<Self> {
        let plain = name.trim().to_ascii_lowercase().replace('_', "-");
        let family = plain.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
        let family = family.strip_suffix("-lmm").unwrap_or(family);
        let exact = Self::ALL.into_iter().find(|f| f.name() == plain || f.name() == family);
        exact.or(match plain.as_str() {
            "azurepublicdataset" => Some(Self::Azure),
            "dynamo" | "dynamo.request.trace.v1" | "dynamo-request-trace-v1" => Some(Self::DynamoRequestTrace),
            "qwen-bailian" => Some(Self::Bailian),
            "vllm" => Some(Self::VllmLog),
            "splitwise" => Some(Self::SplitwiseSim),
            _ => None,
        })
    }

    /// All names, for messages.
    pub(super) fn names() -> String {
        Self::ALL.map(|f| f.name()).join(", ")
    }

    pub(super) fn spec(self) -> Option<&'static Spec> {
        SPECS.iter().find(|s| s.format == self)
    }
}

impl Spec {
    /// The column of a CSV header that has a role.
    pub(super) fn column(&self, header: &[String], role: Role) -> Option<usize> {
        let names = self.fields.iter().find(|f| f.0 == role)?.1;
        let exact = header.iter().position(|h| names.contains(&h.as_str()));
        exact.or_else(|| header.iter().position(|h| names.iter().any(|n| n.eq_ignore_ascii_case(h))))
    }

    /// The name a field goes by in messages.
    pub(super) fn field_name(&self, role: Role) -> &'static str {
        self.fields.iter().find(|f| f.0 == role).map_or("field", |f| f.1[0])
    }
}

/// The format of a CSV file by the names in its header; lengths without arrivals are recognised last.
pub(super) fn by_header(header: &[String]) -> Option<&'static Spec> {
    let has = |spec: &Spec, roles: &[Role]| roles.iter().all(|r| spec.column(header, *r).is_some());
    let csv = || SPECS.iter().filter(|s| s.syntax == Syntax::Csv);
    let whole = csv().find(|s| has(s, &[Arrival, InputTokens, OutputTokens]));
    whole.or_else(|| csv().find(|s| s.format == TraceFormat::Vidur && has(s, &[InputTokens, OutputTokens])))
}

/// A line without header that is a ServeGen window: start, rate, cv, pattern and two arguments.
pub(super) fn is_servegen(fields: &[String]) -> bool {
    fields.len() == 6
        && matches!(fields[3].as_str(), "" | "Gamma" | "Weibull")
        && [0, 1, 2].iter().all(|&i| fields[i].parse::<f64>().is_ok())
}

/// What a JSON object of the first rows says of its file.
pub(super) enum Recognised {
    /// This format.
    Format(&'static Spec),
    /// A file that cannot be replayed as requests at instants: what it is, and what to do.
    Refused(&'static str, &'static str),
    /// Nothing.
    Unknown,
}

const AGENTIC: &str = "replay the requests of one recorded run instead, which have instants; shedcast's closed-loop clients have \
                       sessions of turns (`clients.closed_loop`)";

/// The format of a JSON Lines file by one of its rows.
pub(super) fn by_object(row: &Value) -> Recognised {
    let has = |key: &str| row.get(key).is_some();
    let schema = row.get("schema").and_then(Value::as_str).unwrap_or("");
    if schema.starts_with("dynamo.agentic_mooncake") || has("dependencies") && has("not_before_ms") {
        return Recognised::Refused("an agentic Mooncake trace, whose requests wait for one another", AGENTIC);
    }
    if has("num_turns") && has("input_prompt_length") {
        return Recognised::Refused("a trace of agentic sessions, whose turns wait for one another", AGENTIC);
    }
    if has("request_throughput") || has("num_prompts") && has("request_rate") {
        let hint = "generate traffic like that of the benchmark: `arrivals` with its rate (gamma, cv = 1 / sqrt(burstiness)), or \
                    `clients.max_in_flight` for its `max_concurrency` where the rate is `inf`";
        return Recognised::Refused("the result of a benchmark, not its requests", hint);
    }
    let lengths = ["input_length", "input_tokens", "input_toks", "hash_ids"];
    if ["text_input", "messages", "payload", "prompt", "conversations", "body"].iter().any(|key| has(key))
        && !lengths.iter().any(|key| has(key))
    {
        let hint = "count the tokens of each prompt with the model's tokeniser, and write them as `input_length`";
        return Recognised::Refused("texts, whose tokens nobody has counted", hint);
    }
    let format =
        if schema.starts_with("dynamo.request.trace") || has("event_type") || row.get("event").is_some_and(Value::is_object) {
            TraceFormat::DynamoRequestTrace
        } else if has("queued_ts") && has("input_toks") {
            TraceFormat::VllmLog
        } else if has("arrival_time_ns") {
            TraceFormat::LlmServingSim
        } else if has("chat_id") && has("timestamp") {
            TraceFormat::Bailian
        } else if has("input_length") || (has("timestamp") || has("created_time")) && has("input_tokens") {
            TraceFormat::Mooncake
        } else {
            return Recognised::Unknown;
        };
    format.spec().map_or(Recognised::Unknown, Recognised::Format)
}

/// A format described by the user.
pub(super) fn described(syntax: Syntax, unit: TimeUnit) -> Spec {
    Spec { syntax, unit, ..PLAIN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_name_that_finds_it() {
        for format in TraceFormat::ALL {
            assert_eq!(TraceFormat::from_name(format.name()), Some(format));
            assert_eq!(TraceFormat::from_name(&format.name().to_uppercase().replace('-', "_")), Some(format));
            assert!(format == TraceFormat::ServeGen || format.spec().is_some_and(|s| s.format == format));
        }
        for (name, format) in [
            ("azure-2023", TraceFormat::Azure),
            ("azure-lmm-2025", TraceFormat::Azure),
            ("AzurePublicDataset", TraceFormat::Azure),
            ("BurstGPT_3", TraceFormat::BurstGpt),
            ("dynamo.request.trace.v1", TraceFormat::DynamoRequestTrace),
        ] {
            assert_eq!(TraceFormat::from_name(name), Some(format), "{name}");
        }
        assert_eq!(TraceFormat::from_name("pcap"), None);
    }

    #[test]
    fn headers_are_recognised_by_name_in_any_order() {
        let find = |header: &str| {
            let header: Vec<String> = header.split(',').map(str::to_owned).collect();
            by_header(&header).map(|s| s.format)
        };
        assert_eq!(find("TIMESTAMP,ContextTokens,GeneratedTokens"), Some(TraceFormat::Azure));
        assert_eq!(find("TIMESTAMP,NumImages,ContextTokens,GeneratedTokens"), Some(TraceFormat::Azure));
        assert_eq!(find("Log Type,Response tokens,Request tokens,Timestamp"), Some(TraceFormat::BurstGpt));
        assert_eq!(find("arrived_at,num_prefill_tokens,num_decode_tokens"), Some(TraceFormat::Vidur));
        assert_eq!(find("num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio"), Some(TraceFormat::Vidur));
        assert_eq!(find("output_tokens,input_tokens,arrival_ns"), Some(TraceFormat::Shedcast));
        assert_eq!(find("time,in,out"), None);
    }
}
