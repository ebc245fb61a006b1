//! Part E: trace files. The files are under `tests/fixtures/cases/`.

use std::collections::BTreeSet;
use std::fs;

use shedcast::experiment::EngineKind;
use shedcast::workload::WorkloadError;
use shedcast::workload::trace::{CsvExport, DropReason, TraceReport};

use crate::harness::{Case, case, case_with_reports, load, run_loaded, tests_dir};

/// `workload.trace` with a file of the fixtures and further options.
fn trace(file: &str, more: &str) -> String {
    format!("workload.trace={{ path = \"../fixtures/cases/{file}\"{more} }}")
}

/// Arrivals in milliseconds, in their order.
fn arrivals(case: &Case) -> Vec<f64> {
    case.by_request().iter().map(|ended| ended.arrival.as_nanos() as f64 / 1e6).collect()
}

fn report(case: &Case) -> &TraceReport {
    let report = case.result.trace.as_ref().expect("a trace was replayed");
    assert!(report.is_balanced(), "{report}");
    report
}

fn warnings(case: &Case) -> Vec<&'static str> {
    report(case).warnings.iter().map(|warning| warning.name()).collect()
}

/// Why a scenario cannot be run: as a person reads it.
fn failure(name: &str, sets: &[&str]) -> String {
    let loaded = load(name, sets).unwrap_or_else(|faults| panic!("{faults}"));
    match run_loaded(loaded, EngineKind::default()) {
        Ok(_) => panic!("case {name} {sets:?} ran"),
        Err(error @ WorkloadError::Row { .. }) => error.to_string(),
        Err(error) => panic!("not the fault of a row: {error}"),
    }
}

#[test]
fn case_40_fractions_of_a_second_are_kept() {
    assert_eq!(arrivals(&case("40", &[])), [0.0, 1.0, 8.0, 10.0]);
}

#[test]
fn case_42_line_ends_and_blank_lines_change_nothing() {
    let bytes = fs::read(tests_dir().join("fixtures/cases/42-crlf.csv")).expect("the fixture");
    assert!(bytes.windows(2).any(|pair| pair == b"\r\n") && !bytes.ends_with(b"\n"), "the fixture is what it is for");
    for kind in ["csv", "jsonl"] {
        let [crlf, lf] = ["crlf", "lf"].map(|ends| case("42", &[&trace(&format!("42-{ends}.{kind}"), "")]));
        assert_eq!(crlf.log.attempts, lf.log.attempts, "{kind}");
        assert_eq!((report(&crlf).rows_read, report(&crlf).emitted), (3, 3));
        let lengths: Vec<_> = crlf.by_request().iter().map(|e| (e.attempt.input_tokens, e.attempt.output_tokens)).collect();
        assert_eq!(lengths, [(10, 3), (20, 5), (30, 17)], "the last column of the last line is a number");
    }
}

#[test]
fn case_44_mooncake_counts_in_milliseconds_and_burst_gpt_in_seconds() {
    let whole = case("44", &[]);
    assert_eq!(arrivals(&whole), [0.0, 10_535.0, 27_482.0]);
    assert!(!warnings(&whole).contains(&"trace_unit_doubt"));
    let fractions = case("44", &[&trace("44b.jsonl", "")]);
    assert_eq!(arrivals(&fractions), [0.0, 0.4, 1.2]);
    assert!(warnings(&fractions).contains(&"trace_unit_doubt"), "more than 1,000 requests/s are doubtful");
    let seconds = case("44", &[&trace("44b.jsonl", ", time_unit = \"s\"")]);
    assert_eq!(arrivals(&seconds), [0.0, 400.0, 1_200.0]);
    assert_eq!(arrivals(&case("44", &[&trace("44c.csv", "")])), [0.0, 40_000.0]);
}

#[test]
fn case_45_an_epoch_is_no_arrival_time() {
    let epoch = case("45", &[]);
    assert_eq!(arrivals(&epoch), [0.0, 1_500.0, 3_000.0]);
    assert_eq!((epoch.result.ended_at.as_secs_f64(), epoch.log.intervals.len()), (3.1, 4), "four windows, not billions");
    assert_eq!(epoch.count("OK"), 3);
    let zero = case("45", &[&trace("45-zero.jsonl", "")]);
    assert!(epoch.log == zero.log, "the same file without its epoch gives the same");
}

#[test]
fn case_47_zero_tokens_are_dropped_by_reason_and_negative_ones_are_an_error() {
    let case = case("47", &[]);
    let report = report(&case);
    assert_eq!((report.rows_read, report.emitted), (4, 1));
    let dropped = [DropReason::NoOutput, DropReason::NoInput, DropReason::NoTokens].map(|reason| report.dropped_for(reason));
    assert_eq!(dropped, [1, 1, 1]);
    let message = failure("47", &[&trace("47-negative.csv", "")]);
    assert!(message.contains("47-negative.csv:6:") && message.contains("`-3`"), "{message}");
}

#[test]
fn case_47_a_head_ten_times_quieter_than_the_rest_is_told() {
    let quiet = case("47", &[&trace("47-quiet-head.csv", "")]);
    let warning = report(&quiet).warnings.iter().find(|w| w.name() == "trace_uneven_head").expect("a warning");
    let shedcast::workload::trace::TraceWarning::UnevenHead { head, overall } = warning else { panic!("{warning}") };
    // Two rows in the first ten seconds, 228 in a hundred.
    assert!(overall / head > 10.0, "{head} {overall}");
    assert!(!warnings(&case("44", &[])).contains(&"trace_uneven_head"));
}

#[test]
fn case_48_fast_arrivals_stay_apart() {
    let trace = case("48a", &[]);
    let at = arrivals(&trace);
    assert_eq!((at.len(), at[0], at[9]), (10, 0.0, 3.6));
    let generated = case("48b", &[]);
    let at = arrivals(&generated);
    let distinct: BTreeSet<u64> = generated.by_request().iter().map(|e| e.arrival.as_nanos()).collect();
    assert!((5_000 - 283..=5_000 + 283).contains(&at.len()), "{} arrivals", at.len());
    let mean_gap = (at[at.len() - 1] - at[0]) / (at.len() - 1) as f64;
    assert!((mean_gap - 0.2).abs() < 0.012, "mean gap {mean_gap} ms");
    assert!(at.len() - distinct.len() <= 1, "nearly all distinct: {} of {}", distinct.len(), at.len());
}

#[test]
fn case_50_a_row_without_a_timestamp_is_an_error_that_names_it() {
    for file in ["50-missing.jsonl", "50-text.jsonl", "50-nan.jsonl"] {
        let message = failure("50", &[&trace(file, "")]);
        assert!(message.contains(&format!("{file}:2:")) && message.contains("`timestamp`"), "file, line and field: {message}");
        assert!(message.contains("\n  hint: "), "{message}");
        assert!(file != "50-text.jsonl" || message.contains("abc"), "the value is shown: {message}");
    }
}

#[test]
fn case_51_a_window_includes_its_ends_and_counts_follow_it() {
    let both = case("51", &[]);
    assert_eq!(arrivals(&both), [0.0, 16_947.0]);
    assert_eq!((report(&both).emitted, report(&both).dropped_for(DropReason::OutsideWindow)), (2, 1));
    for (start, end) in [("10536ms", "27481ms"), ("30s", "40s")] {
        let more = format!(", window_start = \"{start}\", window_end = \"{end}\"");
        let none = case("51", &[&trace("44a.jsonl", &more)]);
        assert_eq!((none.result.total.requests.offered, none.result.ended_at.as_nanos()), (0, 0), "it ends at once");
        assert!(warnings(&none).contains(&"trace_no_rows_in_window"), "{:?}", warnings(&none));
    }
}

#[test]
fn case_52_rows_of_one_instant_keep_their_order() {
    let plain = case("52", &[]);
    let answers = plain.answers();
    assert!(answers[..6].iter().all(|a| a == "OK") && answers[6] == "SHED");
    assert!(answers[7..].iter().all(|a| a == "529"), "the lease refuses the rest: {answers:?}");
    let waits: Vec<f64> = plain.by_request()[..6].iter().map(|e| e.at.as_secs_f64()).collect();
    assert_eq!(waits, [1.0, 1.0, 1.0, 1.0, 2.0, 2.0], "four at once");
    let with_event = case("52", &["events=[{ at = \"0s\", load = { worker = 1, kv_used_blocks = 10 } }]"]);
    assert_eq!(plain.log.attempts, with_event.log.attempts, "an unrelated event of the same instant changes nothing");
    // A run never shares anything with another one, however many there are at once.
    let runs: Vec<Case> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| case("52", &[]))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a run")).collect()
    });
    assert!(runs.iter().all(|run| run.log == plain.log));
}

#[test]
fn case_65_a_replayed_export_gives_the_same_to_the_last_digit() {
    let generated = case_with_reports("65", &[]);
    assert_eq!(generated.result.total.requests.offered, 1_000);
    assert!(generated.result.total.attempts.refused_total() > 0, "the gates are met");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("export.csv");
    let mut export = CsvExport::new(fs::File::create(&path).expect("a file"), false).expect("a header");
    for ended in generated.by_request() {
        let tokens = (ended.attempt.input_tokens, ended.attempt.output_tokens);
        export.write(ended.arrival, tokens, "default", None, None).expect("a row");
    }
    export.finish().expect("the rest");
    let set = format!("workload.trace={{ path = \"{}\" }}", path.display());
    let replayed = case_with_reports("65-replay", &[&set]);
    assert_eq!(generated.log.attempts, replayed.log.attempts);
    assert_eq!(generated.log.attempts, case_with_reports("65", &[]).log.attempts, "the same seed gives the same");
    assert_ne!(generated.log.attempts, case_with_reports("65", &["seed=8"]).log.attempts, "another seed another run");
}
