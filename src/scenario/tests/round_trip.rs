//! Resolved files read back to the very same scenario, and hostile ones do no harm.

use proptest::prelude::*;
use proptest::sample::select;

use super::super::Scenario;

/// Values that a field can take, each complete as TOML.
fn pick(options: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(options).prop_map(str::to_owned)
}

/// `key = value` for some of the fields, in random choice.
fn table(fields: &'static [(&'static str, &'static [&'static str])]) -> impl Strategy<Value = String> {
    let lines: Vec<_> = fields
        .iter()
        .map(|(key, values)| {
            (any::<bool>(), select(*values))
                .prop_map(move |(there, v)| if there { format!("{key} = {v}\n") } else { String::new() })
        })
        .collect();
    lines.prop_map(|lines| lines.concat())
}

const SPANS: &[&str] = &[
    r#""0s""#,
    r#""1.000000001s""#,
    r#"{ distribution = "uniform", low = "1ms", high = "2ms" }"#,
    r#"{ distribution = "exponential", mean = "1s" }"#,
    r#"{ distribution = "gamma", mean = "1s", cv = 0.3 }"#,
    r#"{ distribution = "lognormal", mean = "1s", cv = 2 }"#,
    r#"{ distribution = "empirical", values = ["1s", "3us"], weights = [0.1, 7] }"#,
    r#"{ distribution = "constant", value = "5ns" }"#,
];

const LENGTHS: &[&str] = &[
    "1",
    "4096",
    r#"{ distribution = "constant", value = 7, max = 9 }"#,
    r#"{ distribution = "uniform", low = 1, high = 1000, min = 10 }"#,
    r#"{ distribution = "lognormal", mean = 1155, p99 = 4142.5, max = 16384 }"#,
    r#"{ distribution = "lognormal", mean = 1155.7, cv = 1.03 }"#,
    r#"{ distribution = "gamma", mean = 300.25, cv = 1.1 }"#,
    r#"{ distribution = "pareto", scale = 20, alpha = 1.5, max = "none" }"#,
    r#"{ distribution = "empirical", values = [10, 20], weights = [1, 0.3] }"#,
    r#"{ distribution = "mixture", components = [{ weight = 1, tokens = 5 }, { weight = 2, tokens = { distribution = "gamma", mean = 9, cv = 1 } }] }"#,
];

const ARRIVALS: &[&str] = &[
    r#"{ process = "poisson", rate = 40.1 }"#,
    r#"{ process = "constant", rate = 0 }"#,
    r#"{ process = "constant", rate = [{ at = "0s", rate = 1, ramp = true }, { at = "1m", rate = 1e-3 }] }"#,
    r#"{ process = "gamma", rate = 3, cv = 13.15 }"#,
    r#"{ process = "weibull", rate = 3, cv = 0.5 }"#,
    r#"{ process = "on_off", on_rate = 100, mean_on = "1s", mean_off = "3s" }"#,
];

const ENGINES: &[&str] = &[
    r#"engine = "h100-llama-3.1-8b-bf16-vllm""#,
    r#"engine = "rtx4090-llama-3.1-8b-bf16-vllm""#,
    r#"engine = "dynamo-mocker""#,
    r#"engine = { preset = "l40s-llama-3.1-8b-bf16-vllm", served_factor = 1.23 }"#,
    r#"engine = { preset = "my own fit", base = 0.0133712345678901, prefill = "4.38e-5s", context = "28.6ns" }"#,
    r#"engine = { preset = "dynamo-mocker" }"#,
    r#"engine = { prefill = [16.5, 0.0151, 4.209989e-7], decode = ["1as", "62ns", 0] }"#,
];

fn fleet() -> impl Strategy<Value = String> {
    let limits = table(&[
        ("data_parallel_size", &["1", "8"]),
        ("engine_request_limit", &["1", "256", "\"none\""]),
        ("request_queue_limit", &["2", "16", "1000000"]),
        ("rank_dispatch", &["\"round_robin\"", "\"least-loaded\""]),
        ("advertised", &["{ kv_total_blocks = \"absent\", data_parallel_size = 3 }", "{ max_num_batched_tokens = 0 }"]),
        ("block_size", &["16", "64"]),
    ]);
    let batching =
        (select(ENGINES), table(&[("dp_lockstep", &["true"]), ("max_num_seqs", &["7"]), ("max_model_len", &["8192"])]))
            .prop_map(|(engine, rest)| format!("{engine}\nkv_total_blocks = 5000\n{rest}"));
    let opaque = (select(SPANS), table(&[("kv_total_blocks", &["0", "100", "\"none\""]), ("max_num_batched_tokens", &["8192"])]))
        .prop_map(|(time, rest)| format!("service_time = {time}\n{rest}"));
    let kind = (prop_oneof![batching, opaque], limits).prop_map(|(engine, limits)| format!("{engine}{limits}")).boxed();
    let single = kind.clone().prop_map(|kind| format!("[fleet]\nworkers = 3\n{kind}"));
    let several = (kind.clone(), kind).prop_map(|(a, b)| {
        format!("[[fleet.worker_types]]\nname = \"a\"\nworkers = 2\n{a}[[fleet.worker_types]]\nname = \"b é \\\"\"\nworkers = 0\nstandby = 1\ncost = 2.5\n{b}")
    });
    prop_oneof![single, several]
}

/// Tests run in the package's folder, where this file exists.
const TRACES: &[&str] = &[
    r#"trace = "Cargo.toml""#,
    r#"trace = { path = "Cargo.toml", format = "mooncake", class = "chat", window_start = "1s", window_end = "2s", rate_scale = 0.3, max_gap = "1m", repeat = true, dequantise = "3s", max_rows = 7, strict = true, sessions = "flatten", sort = true, prefix_reuse = "discount", hash_block_size = 512, class_column = "kind" }"#,
    r#"trace = { path = "Cargo.toml", columns = { arrival = "t", arrival_unit = "date", input_tokens = "in", output_tokens = "out", service_time = "s", service_time_unit = "ms", header = false }, time_unit = "us", max_input_tokens = 8, max_output_tokens = 9, input_tokens = 5, output_tokens = { distribution = "pareto", scale = 3, alpha = 2 } }"#,
];

const PAIRS: &[&str] = &[
    "lengths = { pairs = [[0, 1], [1200, 80, 2.5], [16777216, 16777216]] }",
    r#"lengths = { pieces = [{ at = "0s", pairs = [[5, 6]] }, { at = "1.5s", pairs = [[7, 8, 1e-9], [7, 9]] }] }"#,
    r#"lengths = { csv = "tests/fixtures/traces/pairs.csv", at_column = "at_s" }"#,
];

fn workload() -> impl Strategy<Value = String> {
    let stream = (select(ARRIVALS), select(LENGTHS), select(LENGTHS), table(&[("length_correlation", &["0.5", "-1"])]))
        .prop_map(|(arrivals, i, o, rest)| format!("arrivals = {arrivals}\ninput_tokens = {i}\noutput_tokens = {o}\n{rest}"))
        .boxed();
    let classes = (stream.clone(), stream.clone())
        .prop_map(|(a, b)| format!("[[workload.classes]]\nclass = \"a\"\n{a}[[workload.classes]]\nclass = \"default\"\n{b}"));
    let one_class = stream.clone().prop_map(|a| format!("[[workload.classes]]\nclass = \"only\"\n{a}"));
    let listed = "[[workload.requests]]\nat = \"1s\"\ninput_tokens = 0\noutput_tokens = 5\n[[workload.requests]]\nat = \"0s\"\ncount = 9\nevery = \"1ms\"\ninput_tokens = 4\noutput_tokens = 5\nworker = 2\nclass = \"x\"\n";
    let traced = select(TRACES).prop_map(|trace| format!("[workload]\n{trace}\n"));
    let mixed = (stream.clone(), select(TRACES)).prop_map(|(s, trace)| format!("[workload]\n{trace}\n{s}"));
    let plain = stream.prop_map(|s| format!("[workload]\n{s}"));
    let paired =
        (select(ARRIVALS), select(PAIRS)).prop_map(|(arrivals, pairs)| format!("[workload]\narrivals = {arrivals}\n{pairs}\n"));
    let share =
        (select(PAIRS), table(&[("weight", &["3", "0.25"])])).prop_map(|(pairs, rest)| format!("{pairs}\n{rest}")).boxed();
    let shared = (select(ARRIVALS), share.clone(), share).prop_map(|(arrivals, a, b)| {
        format!("[workload]\narrivals = {arrivals}\n[[workload.classes]]\nclass = \"default\"\n{a}[[workload.classes]]\nclass = \"b\"\n{b}")
    });
    let streams = prop_oneof![plain, classes, one_class, traced, mixed, paired, shared, Just(String::new())];
    (streams, any::<bool>()).prop_map(move |(streams, more)| if more { streams + listed } else { streams })
}

fn events() -> impl Strategy<Value = String> {
    let event = pick(&[
        "post_busy_threshold = {}",
        "post_busy_threshold = { active_decode_blocks_threshold = 1.5, active_prefill_tokens_threshold = 18446744073709551615 }\nfrontends = [1, 0]",
        "post_busy_threshold = { model = \"m\", active_prefill_tokens_threshold_frac = inf }",
        "load = [{ worker = 1, kv_used_blocks = 90 }, { worker = 3, rank = 4, active_decode_blocks = 1, active_prefill_tokens = 0 }]",
        "scheduler_load = [{ worker = 1, active_decode_blocks = 20, active_prefill_tokens = 0 }]",
        "worker_leave = 1",
        "worker_join = 3",
        "report_down = 2\nfrontends = [1]",
        "runtime_config = { worker = 1, kv_total_blocks = \"absent\", max_num_batched_tokens = \"truth\", data_parallel_size = 2 }",
    ]);
    let when =
        pick(&["at = \"0s\"", "at = \"1h\"", "at = \"1s\"\nevery = \"100ms\"", "at = \"1s\"\nevery = \"1ns\"\nuntil = \"2s\""]);
    let one = (when, event).prop_map(|(when, event)| format!("[[events]]\n{when}\n{event}\n"));
    prop::collection::vec(one, 0..4).prop_map(|events| events.concat())
}

fn scenario() -> impl Strategy<Value = String> {
    let top = table(&[
        ("description", &["\"\"\"\nfirst\nsecond \\\\ 'x' \\u0007\"\"\"", "\"none at all\""]),
        ("seed", &["0", "18446744073709551615"]),
        ("requests", &["1", "1000000"]),
        ("warmup", &["\"1s\"", "\"mser-5\""]),
        ("phases", &["[]", "[\"1s\", \"1.5s\"]", "\"auto\""]),
    ]);
    let frontend = table(&[
        ("spread", &["[1, 0.25]", "\"random\""]),
        ("router_mode", &["\"kv\"", "\"power_of_two\"", "\"random\"", "\"least-loaded\""]),
        ("active_decode_blocks_threshold", &["0", "0.85", "1.0", "\"none\""]),
        ("active_prefill_tokens_threshold", &["0", "18446744073709551615"]),
        ("active_prefill_tokens_threshold_frac", &["0.1", "1e300"]),
        ("router_track_output_blocks", &["true"]),
        ("router_track_prefill_tokens", &["false"]),
        ("migration_limit", &["1"]),
        ("http_overload_status_code", &["200", "503"]),
        ("overload_lease", &["\"0s\"", "\"1.5s\""]),
        ("retry_after", &["\"1s\"", "\"none\""]),
        ("runtime_inhibited_duration", &["\"0s\""]),
        ("discovery_delay", &["\"3ms\""]),
        ("model", &["\"llama 'x'\""]),
    ]);
    let telemetry =
        (table(&[("worker_kv_metrics", &["false"]), ("debounce", &["\"0s\""]), ("loss", &["0.01", "1"])]), select(SPANS))
            .prop_map(|(rest, delay)| format!("{rest}delay = {delay}\n"));
    let clients = table(&[
        (
            "retry",
            &[
                r#"{ statuses = [529, 503], attempts = 3, backoff = "exponential", initial = "500ms", max = "8s", jitter = "full" }"#,
                r#"{ statuses = [429], attempts = 2, jitter = "equal", on_timeout = true, timeout_delay = "0s", budget = { max_tokens = 10, token_ratio = 0.1 }, obey_retry_after = false }"#,
            ],
        ),
        ("patience", &["\"1s\""]),
        ("patience_first_token", &["\"1ms\""]),
        ("server_notices", &["false", "true"]),
        (
            "sessions",
            &[
                r#"{ turns = 3 }"#,
                r#"{ turns = { distribution = "gamma", mean = 3, cv = 1 }, turn_think_time = "1s", context = "grow", max_context_tokens = 99, at_max_context = "cut" }"#,
            ],
        ),
    ]);
    let small = table(&[
        ("slo.ttft", &["\"2s\"", "\"none\""]),
        ("slo.tpot", &["\"50ms\""]),
        ("slo.e2e", &["\"1m\""]),
        ("output.requests", &["true"]),
        ("output.timeseries_interval", &["\"1s\"", "\"auto\""]),
        ("output.quantile_method", &["\"rounded_rank\""]),
        ("output.metrics", &["true"]),
        ("output.metrics_epoch", &["\"2027-02-03T04:05:06.789Z\"", "\"1970-01-01T00:00:00Z\""]),
        ("limits.max_events", &["7"]),
        ("limits.max_requests_in_system", &["8"]),
        ("limits.max_output_bytes", &["9"]),
    ]);
    (top, small, fleet(), frontend, telemetry, clients, workload(), events()).prop_map(
        |(top, small, fleet, frontend, telemetry, clients, workload, events)| {
            format!("horizon = \"10m\"\n{top}{small}{fleet}[frontend]\nfrontends = 2\n{frontend}[telemetry]\n{telemetry}[clients]\n{clients}{workload}{events}")
        },
    )
}

proptest! {
    #[test]
    fn a_resolved_scenario_reads_back_to_itself_and_warns_of_the_same(text in scenario()) {
        let first = Scenario::parse(&text, "a.toml", &[]);
        prop_assert!(first.is_ok(), "{}\n{text}", first.unwrap_err());
        let first = first.unwrap();
        let resolved = first.scenario.to_toml();
        let second = Scenario::parse(&resolved, "b.toml", &[]);
        prop_assert!(second.is_ok(), "{}\n{resolved}", second.unwrap_err());
        let second = second.unwrap();
        prop_assert_eq!(&second, &first, "{}", resolved);
        prop_assert_eq!(second.scenario.to_toml(), resolved);
    }

    #[test]
    fn a_damaged_file_is_refused_or_read_but_never_panics(text in scenario(), at in any::<prop::sample::Index>(), junk in "\\PC{0,3}|[\\[\\]{}=\",.#0-9eE+-]{1,4}") {
        let mut at = at.index(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let damaged = format!("{}{junk}{}", &text[..at], text[at..].chars().skip(1).collect::<String>());
        if let Err(faults) = Scenario::parse(&damaged, "a.toml", &[]) {
            prop_assert!(!faults.is_empty());
            prop_assert!(faults.iter().all(|fault| fault.message.lines().count() == 1), "{}", faults);
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = Scenario::parse(&text, "a.toml", &[]);
    }
}
