//! What a run's files say, against each other and against the result.

use shedcast::cluster::Remote;
use shedcast::experiment::{RunOptions, RunResult, run};
use shedcast::report::{
    SCHEMA, Streams, Summary, ranks_csv, run_figures, streams, summary_text, threshold_updates_csv, to_json, workers_csv,
};
use shedcast::scenario::{Scenario, SetOption};

const SCENARIO: &str = include_str!("../../scenarios/quickstart.toml");

struct Ran {
    scenario: Scenario,
    result: RunResult,
    requests: String,
    timeseries: String,
    workers: String,
}

/// A short quickstart with retries, changed by `sets`.
fn ran(sets: &[(&str, &str)]) -> Ran {
    let short = [("horizon", "80s"), ("clients.retry", "{ statuses = [529], attempts = 2, initial = \"200ms\" }")];
    let sets: Vec<SetOption> = short.iter().chain(sets).map(|(path, value)| SetOption::new("--set", *path, *value)).collect();
    let scenario = Scenario::parse(SCENARIO, "quickstart.toml", &sets).unwrap_or_else(|e| panic!("{e}")).scenario;
    let (mut requests, mut timeseries, mut workers) = (Vec::new(), Vec::new(), Vec::new());
    let sink = Streams::new(&scenario)
        .with_requests(&mut requests)
        .with_timeseries(&mut timeseries)
        .with_worker_timeseries(&mut workers);
    let (result, sink) = run(&scenario, RunOptions::default(), sink, &Remote::default()).expect("it runs");
    sink.finish().expect("memory takes all");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Ran { scenario, result, requests: text(requests), timeseries: text(timeseries), workers: text(workers) }
}

impl Ran {
    fn summary(&self) -> Summary {
        Summary::of(&self.scenario, &self.result)
    }
}

/// The values of a column.
fn column<'t>(csv: &'t str, name: &str) -> Vec<&'t str> {
    let mut lines = csv.lines();
    let at = lines.next().expect("a header").split(',').position(|column| column == name).expect("the column");
    lines.map(|line| line.split(',').nth(at).expect("as many fields as columns")).collect()
}

fn sum(csv: &str, name: &str) -> u64 {
    column(csv, name).iter().map(|value| value.parse::<u64>().expect("a whole number")).sum()
}

fn walk(value: &serde_json::Value, path: &str, see: &mut impl FnMut(&str, &serde_json::Value)) {
    match value {
        serde_json::Value::Object(fields) => fields.iter().for_each(|(key, value)| walk(value, &format!("{path}.{key}"), see)),
        serde_json::Value::Array(items) => items.iter().for_each(|value| walk(value, &format!("{path}[]"), see)),
        leaf => see(path, leaf),
    }
}

#[test]
fn every_number_of_the_summary_is_finite_and_reads_back() {
    for sets in [&[][..], &[("workload.arrivals.rate", "0")][..], &[("warmup", "10s")][..]] {
        let ran = ran(sets);
        let json = to_json(&ran.summary());
        let value: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
        walk(&value, "", &mut |path, leaf| {
            assert!(leaf.as_f64().is_none_or(f64::is_finite), "{path} is {leaf}");
        });
        assert_eq!(value["schema"], SCHEMA);
        let again: Summary = serde_json::from_slice(&json).expect("the summary reads back");
        assert_eq!(to_json(&again), json);
    }
}

#[test]
fn what_does_not_exist_is_null_and_never_0() {
    let value = serde_json::to_value(ran(&[("workload.arrivals.rate", "0")]).summary()).expect("JSON");
    let total = &value["total"];
    for absent in ["rate_529", "lost_to_overload_share", "amplification"] {
        assert!(total[absent].is_null(), "{absent} is {}", total[absent]);
    }
    assert!(total["latency"]["ttft_s"]["p99"].is_null() && total["slo"]["share"].is_null());
    assert_eq!(total["latency"]["ttft_s"]["count"], 0);
}

#[test]
fn the_names_in_the_summary_are_those_that_its_readers_know() {
    let value = serde_json::to_value(ran(&[]).summary()).expect("JSON");
    let mut paths = Vec::new();
    walk(&value, "", &mut |path, _| {
        if !paths.contains(&path.to_owned()) {
            paths.push(path.to_owned());
        }
    });
    insta::assert_snapshot!(paths.join("\n"));
}

#[test]
fn the_headers_of_the_tables_are_those_that_their_readers_know() {
    let ran = ran(&[]);
    let first = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8").lines().next().expect("a header").to_owned();
    let headers = [
        streams::REQUESTS_HEADER.trim_end().to_owned(),
        streams::TIMESERIES_HEADER.trim_end().to_owned(),
        streams::WORKER_TIMESERIES_HEADER.trim_end().to_owned(),
        first(workers_csv(&ran.result)),
        first(ranks_csv(&ran.scenario, &ran.result)),
        first(threshold_updates_csv(&ran.result.updates)),
    ];
    insta::assert_snapshot!(headers.join("\n\n"));
}

#[test]
fn every_row_has_as_many_fields_as_its_header() {
    let ran = ran(&[]);
    let written = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let tables = [
        ran.requests.clone(),
        ran.timeseries.clone(),
        ran.workers.clone(),
        written(workers_csv(&ran.result)),
        written(ranks_csv(&ran.scenario, &ran.result)),
        written(threshold_updates_csv(&ran.result.updates)),
    ];
    for table in tables {
        let fields: Vec<usize> = table.lines().map(|line| line.split(',').count()).collect();
        assert!(fields.len() > 1 && fields.iter().all(|n| *n == fields[0]), "{}", table.lines().next().unwrap_or_default());
    }
}

#[test]
fn rows_of_requests_and_of_the_time_series_add_up_to_the_summary() {
    let ran = ran(&[]);
    let summary = ran.summary();
    let outcomes = column(&ran.requests, "outcome");
    let with = |outcome: &str| outcomes.iter().filter(|o| **o == outcome).count() as u64;
    let attempts = &summary.conservation.attempts;
    assert_eq!((with("completed"), with("refused")), (attempts.completed, attempts.refused));
    assert_eq!((outcomes.len() as u64, with("in_system")), (attempts.started, attempts.in_system));
    for reason in &summary.total.refused_by_reason {
        let rows = column(&ran.requests, "reason").iter().filter(|r| **r == reason.name).count() as u64;
        assert_eq!((rows, sum(&ran.timeseries, &reason.name)), (reason.attempts, reason.attempts), "{}", reason.name);
    }
    assert_eq!(sum(&ran.timeseries, "offered"), summary.conservation.requests.offered);
    assert_eq!(sum(&ran.timeseries, "attempts"), attempts.started);
    assert_eq!(sum(&ran.timeseries, "good"), summary.total.slo.met);
    assert_eq!(
        column(&ran.timeseries, "queue_max").iter().filter_map(|n| n.parse().ok()).max(),
        summary.total.occupancy.as_ref().and_then(|o| o.queue.max)
    );
    let last = column(&ran.timeseries, "end_s").last().map(|at| at.parse::<f64>().expect("seconds"));
    assert_eq!(last, Some(summary.ended_at_s));
}

#[test]
fn latencies_of_the_rows_are_those_of_the_summary() {
    let ran = ran(&[("clients.retry", "none")]);
    let summary = ran.summary();
    for (name, figures) in [("ttft_s", &summary.total.latency.ttft_s), ("e2e_s", &summary.total.latency.e2e_s)] {
        let completed = column(&ran.requests, "outcome").into_iter().zip(column(&ran.requests, name));
        let mut values: Vec<f64> =
            completed.filter(|(outcome, _)| *outcome == "completed").map(|(_, v)| v.parse().expect("seconds")).collect();
        values.sort_by(f64::total_cmp);
        let rank = |p: f64| values[(p * values.len() as f64).ceil() as usize - 1];
        assert_eq!(figures.count, values.len() as u64);
        assert_eq!(
            (figures.p50, figures.p99, figures.max),
            (Some(rank(0.5)), Some(rank(0.99)), values.last().copied()),
            "{name}"
        );
    }
}

#[test]
fn a_pipe_that_breaks_while_rows_stream_is_told_at_the_end() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::new(std::io::ErrorKind::StorageFull, "no space left"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let scenario = Scenario::parse(SCENARIO, "quickstart.toml", &[]).unwrap_or_else(|e| panic!("{e}")).scenario;
    let sink = Streams::new(&scenario).with_requests(Full);
    let (_, sink) = run(&scenario, RunOptions::default(), sink, &Remote::default()).expect("the run itself goes on");
    assert_eq!(sink.finish().expect_err("told").to_string(), "requests.csv: no space left");
}

#[test]
fn the_text_for_people_is_one_screen_of_80_columns() {
    let ran = ran(&[]);
    let text = summary_text(&ran.summary(), Some("results in outputs/quickstart"));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.lines().count() <= 50, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn the_text_of_other_runs_says_what_they_show() {
    let quiet = ran(&[("workload.arrivals.rate", "5")]);
    insta::assert_snapshot!("nothing_refused", summary_text(&quiet.summary(), None));
    let nobody = ran(&[("workload.arrivals.rate", "0")]);
    insta::assert_snapshot!("no_request", summary_text(&nobody.summary(), None));
    let twice = "[{ at = \"60s\", post_busy_threshold = { active_decode_blocks_threshold = 2.0 } }, \
                  { at = \"61s\", post_busy_threshold = { active_decode_blocks_threshold = 0.95 } }, \
                  { at = \"80s\", post_busy_threshold = { active_decode_blocks_threshold = 0.9 } }]";
    let posts = ran(&[("events", twice), ("frontend.frontends", "2")]);
    insta::assert_snapshot!("posts_without_effect", summary_text(&posts.summary(), None));
}

#[test]
fn figures_state_what_was_found() {
    let ran = ran(&[]);
    let figures = run_figures(&ran.scenario, &ran.result, &ran.summary());
    let titles: Vec<String> = figures.iter().map(|f| format!("{}: {}", f.name, f.figure.title())).collect();
    insta::assert_snapshot!(titles.join("\n"));
}
