//! Schemas of the JSON that `compare`, `calibrate`, `verify`, `replay` and `trace` give.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::results::of;
use super::shapes::{by_name, count, document, either, flag, list, number, object, one_of, or_null, partial_object, text};
use crate::calibrate::{Doubt, Goodness, Range};
use crate::verify::CheckTable;
use crate::verify::against::Against;

/// The schema of a type as part of another one, its definitions added to `definitions`.
fn part<T: JsonSchema>(definitions: &mut Map<String, Value>) -> Value {
    let mut schema = of::<T>();
    let fields = schema.as_object_mut().expect("a type is an object");
    fields.remove("$schema");
    fields.remove("title");
    if let Some(Value::Object(more)) = fields.remove("definitions") {
        definitions.extend(more);
    }
    schema
}

/// `compare --format json`.
pub(super) fn comparison() -> Value {
    let side = object(
        "",
        vec![
            ("name", text("The directory, as it was named.")),
            ("scenario", text("Name of the scenario.")),
            ("seed", count("Root of all randomness.")),
            ("paired", flag("Whether its runs are compared pair by pair with those of the first side.")),
        ],
    );
    let field = object(
        "",
        vec![
            ("path", text("The field.")),
            ("values", list("Values as TOML, by side; null where a side has none.", or_null(json!({ "type": "string" })))),
        ],
    );
    let lone = object("", vec![("side", text("The side that has it.")), ("settings", text("What was run there."))]);
    let fields = vec![
        ("schema", json!({ "const": crate::report::compare::SCHEMA })),
        ("confidence", number("Level of the intervals.")),
        ("sides", list("What is compared, the first with each other one.", side)),
        ("fields", list("Fields of the scenarios that are not the same everywhere.", field)),
        ("units", list("What all sides ran: a run, or the cells of sweeps.", unit())),
        ("not_compared", list("What only some sides ran.", lone)),
        ("worse", list("What `--fail-if-worse` found, in words.", json!({ "type": "string" }))),
    ];
    document("Comparison", object("What differs between results. What does not exist is null, never 0.", fields))
}

fn unit() -> Value {
    let standings = ["same", "unclear", "better", "worse", "higher", "lower"];
    let difference = object(
        "",
        vec![
            ("difference", number("The side's mean less that of the first side.")),
            ("low", or_null(number("Lower end of its interval."))),
            ("high", or_null(number("Upper end of its interval."))),
            ("paired", flag("Whether it was taken pair by pair.")),
            ("replications", count("Replications on the side that has fewer.")),
            ("verdict", one_of("What that says.", &standings)),
        ],
    );
    let measure = object(
        "",
        vec![
            ("unit", text("Base unit.")),
            ("values", list("Means over the replications, by side.", or_null(json!({ "type": "number" })))),
            ("against_first", list("Each side after the first against the first.", or_null(difference))),
        ],
    );
    object(
        "",
        vec![
            ("settings", text("What tells it from the others; empty for runs.")),
            ("replications", list("Replications, by side.", count(""))),
            ("measures", by_name("By the name of the measure.", measure)),
        ],
    )
}

/// What `calibrate` writes beside the preset.
pub(super) fn calibration() -> Value {
    let mut definitions = Map::new();
    let (goodness, range) = (part::<Goodness>(&mut definitions), part::<Range>(&mut definitions));
    let doubts = list("What the data do not tell.", part::<Doubt>(&mut definitions));
    let one = object(
        "Of a step that prefills and decodes at once.",
        vec![
            ("base", number("Of every step.")),
            ("prefill", number("Per prefill token.")),
            ("prefill_squared", number("Per prefill token squared.")),
            ("decode", number("Per decoding sequence.")),
            ("context", number("Per context token.")),
        ],
    );
    let three = |about: &str| json!({ "description": about, "type": "array", "items": { "type": "number" }, "minItems": 3, "maxItems": 3 });
    let two = object(
        "Of prefill and of decode.",
        vec![
            ("prefill", three("Once, per token, per token squared.")),
            ("decode", three("Once, per sequence, per context token.")),
        ],
    );
    let fields = vec![
        ("schema", json!({ "const": 1 })),
        ("preset", text("Name of the preset.")),
        ("source", or_null(text("Where it is from."))),
        ("step_time_s", json!({ "description": "Coefficients of the step time, seconds.", "anyOf": [one, two] })),
        ("kv_total_blocks", or_null(count("KV blocks of a rank."))),
        ("kv_cache_block_size", count("Tokens of a block.")),
        ("max_num_seqs", count("Seats of a rank.")),
        ("max_num_batched_tokens", count("Tokens of a step at most.")),
        ("goodness", goodness),
        ("range", range),
        ("doubts", doubts),
    ];
    let mut schema = object("A calibration: times in seconds, errors as shares. What does not exist is null, never 0.", fields);
    schema["definitions"] = Value::Object(definitions);
    document("Calibration", schema)
}

/// `verify --format json`, without and with `--against`.
pub(super) fn verification() -> Value {
    let mut definitions = Map::new();
    let tables = list("The checks.", part::<CheckTable>(&mut definitions));
    let comparison = part::<Against>(&mut definitions);
    let schema = || ("schema", json!({ "const": 1 }));
    let checks = object("Checks against references.", vec![schema(), ("passed", flag("Whether all pass.")), ("tables", tables)]);
    let fields = vec![schema(), ("agrees", flag("Whether no measure parts.")), ("comparison", comparison)];
    let against = object("Counters beside a scenario, with `--against`.", fields);
    let mut schema = either(&[checks, against]);
    schema["definitions"] = Value::Object(definitions);
    document("Verification", schema)
}

/// A line of `replay --format json`, without and with `--verify`.
pub(super) fn replay() -> Value {
    let firing = object(
        "A check that fires.",
        vec![
            ("worker", count("Number of the worker in the record.")),
            ("rank", count("Its rank.")),
            ("check", text("The check.")),
            ("signal", text("What it looks at.")),
            ("measured", number("What was measured.")),
            ("limit", number("The limit that it is beyond.")),
            ("age_ns", count("How old the measurement was, nanoseconds.")),
        ],
    );
    let reason = object(
        "Why a request was refused.",
        vec![
            ("reason", text("Name of the reason.")),
            ("layer", one_of("Where it was refused.", &["pool", "pinned", "untried", "worker_gate"])),
            ("worker", or_null(count("The worker, where one refused."))),
            ("decisive", list("Checks of which each alone, unset, would have let it through.", json!({ "type": "string" }))),
            ("joint", flag("Whether no check alone is to blame.")),
            ("leased_since_ns", or_null(count("Since when a lease excludes the worker, nanoseconds."))),
            ("why", or_null(firing.clone())),
        ],
    );
    let place = || ("place", text("File and line."));
    let step = || ("step", count("Number of the step."));
    let case = || ("case", text("Name of the case; empty if it has none."));
    let op = || ("op", text("The operation."));
    let anything = by_name("What the step can be asked for, by field.", json!(true));
    let shown = partial_object(
        "A step.",
        vec![place(), case(), step(), op(), ("at_ns", count("Instant, nanoseconds."))],
        vec![
            ("outcome", json!({ "description": "What became of the request." })),
            ("reason", or_null(reason)),
            ("state", anything),
            ("firing", list("Every check that fires on any worker.", firing)),
        ],
    );
    let holds = object(
        "All that is expected holds.",
        vec![("verified", json!({ "const": true })), ("records", count("Records.")), ("fields", count("Fields compared."))],
    );
    let field = vec![
        place(),
        case(),
        step(),
        op(),
        ("field", text("What differs.")),
        ("expected", json!({ "description": "As it was recorded." })),
        ("got", json!({ "description": "As it is." })),
    ];
    let differs = object(
        "Something else was expected.",
        vec![("verified", json!({ "const": false })), ("difference", object("The first difference.", field))],
    );
    document("A line of a replay", either(&[shown, holds, differs]))
}

/// `trace inspect --json`.
pub(super) fn inspection() -> Value {
    let schema = || ("schema", json!({ "const": crate::report::trace::INSPECTION_SCHEMA }));
    let trace = || ("trace", text("The file or the folder."));
    let fields = vec![
        schema(),
        trace(),
        ("format", text("Format of the file.")),
        ("rows", count("Rows that are requests.")),
        ("other_rows", count("Rows of other kinds.")),
        (
            "dropped_in_a_replay",
            object(
                "Rows that a replay drops, each once.",
                vec![
                    ("no_tokens", count("With neither prompt nor generated tokens.")),
                    ("no_input_tokens", count("Without prompt tokens.")),
                    ("no_output_tokens", count("Without generated tokens.")),
                ],
            ),
        ),
        ("session_rows", count("Rows that belong to a session.")),
        ("out_of_order", count("Rows that arrive before the row above them.")),
        ("arrivals", or_null(arrivals())),
        ("input_tokens", or_null(lengths("Prompt tokens."))),
        ("output_tokens", or_null(lengths("Generated tokens."))),
        (
            "length_correlation",
            or_null(number("Linear correlation of prompt and generated tokens; null if either does not vary.")),
        ),
        (
            "prefix",
            or_null(object(
                "Use of an infinite prefix cache.",
                vec![
                    ("rows", count("Rows that name their blocks.")),
                    ("distinct_blocks", count("Distinct blocks.")),
                    ("reusable_share", number("Share of prompt tokens that would be found there.")),
                ],
            )),
        ),
        ("classes", list("Rows by class.", object("", vec![("class", text("Name.")), ("rows", count("Rows."))]))),
        (
            "warnings",
            list("What its reader should know.", object("", vec![("code", text("Which.")), ("cause", text("In words."))])),
        ),
    ];
    let of_requests = object("A trace of requests.", fields);
    let rate = vec![
        ("mean", number("Mean.")),
        ("min", number("Of the window with least.")),
        ("max", number("Of the window with most.")),
        ("peak_to_mean", number("Largest over mean.")),
    ];
    let cv = vec![
        ("p50", number("Median.")),
        ("p90", number("90th percentile.")),
        ("p99", number("99th percentile.")),
        ("mean_by_rate", number("Mean, each window weighted by its rate.")),
    ];
    let pool = object(
        "ServeGen windows.",
        vec![
            schema(),
            trace(),
            ("format", json!({ "const": "servegen" })),
            ("clients", count("Clients.")),
            ("windows", count("Windows of a client.")),
            ("span_s", number("From the start of the first window to the end of the last, seconds.")),
            ("rate", object("Requests per second of the pool.", rate)),
            ("gap_cv", object("Coefficient of variation of gaps over clients and windows.", cv)),
        ],
    );
    document("Inspection of a trace", either(&[of_requests, pool]))
}

fn arrivals() -> Value {
    let gaps = vec![
        ("mean", number("Mean.")),
        ("p50", number("Median.")),
        ("p90", number("90th percentile.")),
        ("p99", number("99th percentile.")),
        ("max", number("Longest.")),
    ];
    let window = vec![
        ("window_s", count("Width, seconds.")),
        ("dispersion", number("Variance over mean of the counts.")),
        ("peak_to_mean", number("Largest over mean count.")),
        ("peak", count("Largest count.")),
        ("empty_share", number("Share of windows without a request.")),
        ("input_tokens_peak_to_mean", number("Largest over mean sum of prompt tokens.")),
        ("output_tokens_peak_to_mean", number("Largest over mean sum of generated tokens.")),
    ];
    let above = |about: &str| object(about, vec![("count", count("How many.")), ("sum_s", number("Their sum, seconds."))]);
    let coarse = vec![("window_s", count("Width, seconds.")), ("counts", list("Requests.", count("")))];
    let instant = vec![("mean", number("Mean.")), ("max", count("Largest.")), ("dispersion", number("Variance over mean."))];
    object(
        "When requests arrive.",
        vec![
            ("span_s", number("From the first to the last arrival, seconds.")),
            ("rate", number("Requests per second of the span.")),
            ("head_rate", number("Requests per second of its first tenth.")),
            ("gap_s", or_null(object("Gaps between arrivals, seconds; a single arrival has none.", gaps))),
            ("gap_cv", or_null(number("Their coefficient of variation."))),
            ("zero_gaps", count("Gaps of exactly 0.")),
            ("gaps_above_10s", above("Gaps above 10 s.")),
            ("gaps_above_60s", above("Gaps above 60 s.")),
            ("windows", list("Counts per window; those longer than the span are left out.", object("", window))),
            ("coarse", object("Requests per window over the whole trace.", coarse)),
            ("input_token_rate", number("Prompt tokens per second.")),
            ("output_token_rate", number("Generated tokens per second.")),
            ("instants", count("Distinct instants.")),
            ("requests_per_instant", object("Arrivals that share an instant.", instant)),
        ],
    )
}

fn lengths(about: &str) -> Value {
    object(
        about,
        vec![
            ("mean", number("Mean.")),
            ("p50", number("Median.")),
            ("p90", number("90th percentile.")),
            ("p99", number("99th percentile.")),
            ("min", count("Smallest.")),
            ("max", count("Largest.")),
            ("at_max", count("Rows at the largest.")),
            ("cv", number("Coefficient of variation.")),
        ],
    )
}

/// `trace fit --json`.
pub(super) fn fit() -> Value {
    let maybe = |about: &str| or_null(number(about));
    let figure = vec![
        ("figure", text("The figure.")),
        ("trace", maybe("Of the trace.")),
        ("imitation", maybe("Of the imitation.")),
        ("half_width", maybe("Half the width of the 95 % interval of `imitation`.")),
        ("relative_error", maybe("`imitation / trace - 1`.")),
        ("allowed", maybe("How far off it may be, relative to the trace; null where nothing is promised.")),
        ("misses", flag("Whether it is farther off.")),
        ("why", or_null(text("Why that is."))),
    ];
    let fields = vec![
        ("schema", json!({ "const": crate::report::trace::FIT_SCHEMA })),
        ("trace", text("The file.")),
        ("requests", count("Requests of the trace.")),
        ("span_s", number("From the first to the last arrival, seconds.")),
        ("process", text("The arrival process.")),
        ("cv", number("Coefficient of variation of its gaps.")),
        ("gap_distance", number("Largest distance of the distributions of gaps (Kolmogorov and Smirnov).")),
        ("length_correlation", number("Rank correlation of prompt and generated tokens.")),
        ("scenario", or_null(text("The scenario whose fleet refusals are of."))),
        ("figures", list("Trace beside imitation.", object("", figure))),
        ("pairs", count("Distinct pairs of lengths that are kept.")),
        ("workload", text("The table `[workload]`, as TOML.")),
    ];
    document("Fit of a trace", object("An imitation of a trace. What does not exist is null, never 0.", fields))
}
