//! The text against the format's rules, and its figures against those of the summary.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use super::Scrape;
use crate::cluster::Remote;
use crate::experiment::{RunOptions, RunResult, run};
use crate::scenario::Scenario;

/// Refusals by both layers, two frontends, a crash, retries, and clients that leave.
const BUSY: &str = r#"
name = "busy"
seed = 3
horizon = "20s"
[fleet]
workers = 2
standby = 1
data_parallel_size = 2
engine = "h100-llama-3.1-8b-bf16-vllm"
kv_total_blocks = 1500
engine_request_limit = 20
request_queue_limit = 3
[frontend]
frontends = 2
router_mode = "kv"
model = 'a "model" \ of mine'
active_decode_blocks_threshold = 0.8
migration_limit = 1
[workload]
arrivals = { process = "poisson", rate = 60 }
input_tokens = { distribution = "lognormal", mean = 700, p99 = 2000 }
output_tokens = { distribution = "lognormal", mean = 80, p99 = 300 }
[clients]
patience = "2s"
retry = { statuses = [529], attempts = 2, backoff = "fixed", initial = "300ms" }
[[events]]
at = "5s"
post_busy_threshold = { active_decode_blocks_threshold = 0.6 }
[[events]]
at = "8s"
worker_crash = { worker = 1, rejoin_after = "4s" }
"#;

fn scrape(text: &str) -> (RunResult, String) {
    let scenario = Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario;
    let sink = Scrape::new(&scenario, Cursor::new(Vec::new()));
    let (result, sink) = run(&scenario, RunOptions::default(), sink, &Remote::default()).unwrap();
    let mut bytes = Vec::new();
    sink.finish(&mut bytes).unwrap();
    (result, String::from_utf8(bytes).unwrap())
}

/// A sample line: name, labels, value, date.
fn parts(line: &str) -> (&str, &str, f64, f64) {
    let (series, rest) = line.rsplit_once("} ").unwrap_or_else(|| panic!("{line}"));
    let (name, labels) = series.split_once('{').unwrap_or_else(|| panic!("{line}"));
    let (value, date) = rest.split_once(' ').unwrap_or_else(|| panic!("{line}"));
    (name, labels, value.parse().unwrap(), date.parse().unwrap())
}

/// The last value of each series.
fn last(text: &str) -> BTreeMap<String, f64> {
    let samples = text.lines().filter(|line| !line.starts_with('#')).map(parts);
    samples.map(|(name, labels, value, _)| (format!("{name}{{{labels}}}"), value)).collect()
}

/// The sum of the last values of all series whose name and labels start like this.
fn sum(last: &BTreeMap<String, f64>, start: &str) -> f64 {
    let found: Vec<f64> = last.iter().filter(|(series, _)| series.starts_with(start)).map(|(_, value)| *value).collect();
    assert!(!found.is_empty(), "no series starts with {start}");
    found.iter().sum()
}

/// What the format demands: families in one piece, described first; series in one piece (but for a histogram's, which stand
/// together date by date); dates that rise; counters and buckets that never fall.
fn check_format(text: &str) {
    assert!(text.ends_with("\n# EOF\n") && text.matches("# EOF").count() == 1);
    let (mut families, mut family, mut kind) = (BTreeSet::new(), "", "");
    let mut seen: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    let (mut groups, mut group) = (BTreeSet::new(), String::new());
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(about) = line.strip_prefix("# ") {
            let mut words = about.splitn(3, ' ');
            let (word, name, said) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            match word {
                "HELP" => assert!(families.insert(name), "{name} comes twice"),
                "TYPE" => (family, kind) = (name, said),
                "UNIT" => assert!(name.ends_with(&format!("_{said}")), "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (name, labels, value, date) = parts(line);
        let rest = name.strip_prefix(family).unwrap_or_else(|| panic!("{line} under {family}"));
        let fits = match kind {
            "counter" => rest.is_empty() && family.ends_with("_total"),
            "gauge" => rest.is_empty(),
            _ => ["_bucket", "_sum", "_count"].contains(&rest),
        };
        assert!(fits, "{line} under a {kind}");
        let without_le = labels.split(",le=").next().unwrap();
        let of = format!("{family}{{{without_le}}}");
        if of != group {
            assert!(groups.insert(of.clone()), "{of} is interrupted");
            group = of;
        }
        if let Some((earlier, before)) = seen.insert(format!("{name}{{{labels}}}"), (date, value)) {
            assert!(earlier < date, "{line} does not come later");
            assert!(kind == "gauge" || before <= value, "{line} falls from {before}");
        }
    }
}

#[test]
fn the_text_keeps_the_rules_of_the_format_and_repeats_to_the_byte() {
    let (_, text) = scrape(BUSY);
    check_format(&text);
    assert_eq!(scrape(BUSY).1, text);
    assert!(text.contains(r#"model="a \"model\" \\ of mine""#));
    assert!(text.contains("# TYPE dynamo_frontend_model_rejection_total counter\n"));
    assert!(text.contains("# UNIT dynamo_frontend_time_to_first_token_seconds seconds\n"));
    // The workers of standby are never there, the one that crashed is away for a while.
    let count = |worker: &str| text.matches(&format!("dynamo_engine_request{{worker_id=\"{worker}\"}}")).count();
    let (crashed, whole, standby) = (count("1"), count("2"), count("3"));
    assert!(standby == 0 && 0 < crashed && crashed < whole, "{crashed}, {whole}, {standby} samples");
}

#[test]
fn counters_end_at_the_figures_of_the_result() {
    let (result, text) = scrape(BUSY);
    let (last, attempts) = (last(&text), result.whole.attempts);
    let equals = |start: &str, expected: u64| assert_eq!(sum(&last, start), expected as f64, "{start}");
    let refused = attempts.refused_total();
    assert!(refused > 0 && attempts.cancelled > 0 && result.whole.worker_rejections > 0, "{attempts:?}");
    equals("dynamo_frontend_model_rejection_total{", refused);
    equals("dynamo_rejection_request_total{", result.whole.worker_rejections);
    equals("dynamo_frontend_requests_started_total{", attempts.started);
    equals("dynamo_frontend_requests_total{", attempts.started - attempts.in_system);
    equals("dynamo_frontend_request_duration_seconds_count{", attempts.started - attempts.in_system);
    equals("dynamo_frontend_model_cancellation_total{", attempts.cancelled);
    equals("dynamo_frontend_inflight_requests{", attempts.in_system);
    equals("dynamo_frontend_output_tokens_total{", result.whole.tokens.output);
    equals("dynamo_frontend_output_sequence_tokens_sum{", result.whole.tokens.output);
    equals("dynamo_frontend_output_sequence_tokens_count{", attempts.completed);
    equals("dynamo_frontend_inter_token_latency_seconds_count{", result.whole.tokens.output - attempts.completed);
    let slots: u32 = result.series.points().last().map_or(0, |p| p.value.workers.iter().map(|w| w.slots[0]).sum());
    equals("dynamo_engine_request{", slots.into());
    assert!(sum(&last, "dynamo_frontend_model_migration_total{") > 0.0);
    assert!(sum(&last, "dynamo_frontend_queued_requests{") <= sum(&last, "dynamo_frontend_inflight_requests{"));
    let update = &result.updates[1];
    let lag = update.noticed.map(|at| at.since(update.at).as_secs_f64());
    assert_eq!(last.get("shedcast_threshold_update_lag_seconds{frontend=\"1\",stage=\"noticed\"}").copied(), lag);
    assert_eq!(last["shedcast_busy_threshold{threshold=\"active_decode_blocks_threshold\"}"], 0.6);
    // Two of every rank: the frontends track each its own, and all together what is booked.
    assert_eq!(last.keys().filter(|series| series.starts_with("dynamo_frontend_worker_active_decode_blocks{")).count(), 4);
}

#[test]
fn a_server_that_does_not_notice_finishes_what_nobody_waits_for() {
    let unnoticed = BUSY.replace("patience = \"2s\"", "patience = \"2s\"\nserver_notices = false");
    let (result, text) = scrape(&unnoticed);
    check_format(&text);
    let (last, attempts) = (last(&text), result.whole.attempts);
    let success = last.iter().find(|(series, _)| series.contains("status=\"success\"")).map(|(_, value)| *value);
    assert!(attempts.cancelled > 0 && success > Some(attempts.completed as f64), "{success:?} of {attempts:?}");
    assert_eq!(sum(&last, "dynamo_frontend_model_rejection_total{"), attempts.refused_total() as f64);
    assert_eq!(sum(&last, "dynamo_frontend_requests_started_total{"), attempts.started as f64);
}

#[test]
fn an_opaque_worker_behind_another_router_has_no_tracked_loads() {
    let (result, text) = scrape(
        r#"
        horizon = "1s"
        [fleet]
        workers = 2
        service_time = "50ms"
        [frontend]
        router_mode = "round_robin"
        [workload]
        arrivals = { process = "constant", rate = 20 }
        input_tokens = 10
        output_tokens = 4
        [output]
        timeseries_interval = "100us"
        metrics_epoch = "1970-01-01T00:00:00Z"
        "#,
    );
    check_format(&text);
    assert!(!text.contains("worker_active_") && !text.contains("model_total_kv_blocks"));
    let last = last(&text);
    assert_eq!(sum(&last, "dynamo_frontend_time_to_first_token_seconds_count{"), result.whole.attempts.completed as f64);
    assert_eq!(sum(&last, "dynamo_frontend_queued_requests{"), result.whole.attempts.in_system as f64);
    // One sample a second, and one at the start.
    assert_eq!(text.matches("\ndynamo_frontend_queued_requests{").count(), 2);
}
