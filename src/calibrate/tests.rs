//! Fits of logs whose truth is known, because the rank's own batching made them.

use super::*;
use crate::cluster::batching::RankSpec;
use crate::cluster::config::StepTiming;
use crate::units::Attos;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A generator of the tests' own: MMIX, Knuth.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

const TRUTH: [f64; 4] = [0.012, 6e-5, 7e-5, 5e-8];

fn engine(blocks: u64) -> ReplayLimits {
    let [base, prefill, decode, context] = TRUTH.map(|c| Attos::from_secs_f64(c).unwrap());
    let timing = StepTiming::SingleBase { base, prefill, prefill_squared: Attos::ZERO, decode, context };
    let spec = RankSpec { block_size: 16, total_blocks: blocks, max_num_seqs: 32, max_num_batched_tokens: 1024, timing };
    ReplayLimits { spec, ranks: 1, lockstep: false }
}

/// Requests as `engine` serves them, their gaps about 1 / `rate` seconds.
fn served(n: usize, rate: f64, engine: &ReplayLimits) -> Vec<LoggedRequest> {
    let mut noise = Noise(3);
    let mut at = 0.0;
    let mut log: Vec<LoggedRequest> = (0..n)
        .map(|i| {
            at += if i == 0 { 0.0 } else { 2.0 * noise.next() / rate };
            let (input_tokens, output_tokens) = (50 + (900.0 * noise.next()) as u32, 20 + (120.0 * noise.next()) as u32);
            LoggedRequest { queued: at, scheduled: None, first: 0.0, last: 0.0, input_tokens, output_tokens }
        })
        .collect();
    let times = replay(&log, 0, engine, &[]).unwrap().served;
    for (r, times) in log.iter_mut().zip(times) {
        (r.first, r.last) = (times.first, times.last);
    }
    log
}

fn run_log(requests: Vec<LoggedRequest>) -> RunLog {
    RunLog { path: PathBuf::from("log.jsonl"), requests, unserved: 0, front_end: None }
}

fn known(blocks: Option<u64>) -> EngineFacts {
    let given = FactSource::Given;
    EngineFacts {
        kv_total_blocks: blocks.map(|n| (n, given)),
        kv_cache_block_size: Some((16, given)),
        max_num_seqs: Some((32, given)),
        max_num_batched_tokens: Some((1024, given)),
        ..EngineFacts::default()
    }
}

#[test]
fn a_run_of_known_coefficients_is_met_and_the_same_each_time() {
    let log = run_log(served(120, 9.0, &engine(4_000)));
    let fit = fit_run(&log, None, &known(Some(4_000)), &FitOptions::default()).unwrap();
    assert!(Comparison::worst(&fit.fitted) < 0.015, "{:?}", fit.fitted);
    assert!(fit.background.is_empty() && fit.doubts.is_empty(), "{:?}", fit.doubts);
    // Coefficients trade with each other; a step of typical work takes the right time.
    let step = |c: [f64; 4]| c[0] + c[1] * 300.0 + c[2] * 25.0 + c[3] * 14_000.0;
    let [base, prefill, _, decode, context] = fit.coefficients;
    assert!((step([base, prefill, decode, context]) / step(TRUTH) - 1.0).abs() < 0.01, "{:?}", fit.coefficients);
    assert_eq!(fit, fit_run(&log, None, &known(Some(4_000)), &FitOptions::default()).unwrap());
}

#[test]
fn a_part_of_a_run_predicts_the_whole_of_it() {
    let log = run_log(served(120, 9.0, &engine(4_000)));
    let options = FitOptions { fit_first: Some(60), ..FitOptions::default() };
    let fit = fit_run(&log, None, &known(Some(4_000)), &options).unwrap();
    assert_eq!((fit.fitted_requests, fit.log.len()), (60, 120));
    assert!(Comparison::worst(fit.whole.as_deref().unwrap()) < 0.08, "{:?}", fit.whole);
}

#[test]
fn a_pool_that_limits_and_is_not_known_is_found() {
    let log = run_log(served(100, 12.0, &engine(600)));
    let fit = fit_run(&log, None, &known(None), &FitOptions::default()).unwrap();
    let found = fit.limits.spec.total_blocks;
    assert!((560..=640).contains(&found), "{found} blocks");
    assert!(fit.doubts.iter().any(|d| d.code == "kv_blocks_unknown"));
    assert!(Comparison::worst(&fit.fitted) < 0.05, "{:?}", fit.fitted);
}

#[test]
fn a_log_that_is_cut_off_is_met_with_the_arrivals_that_went_on() {
    let mut requests = served(160, 9.0, &engine(4_000));
    let whole = requests.clone();
    requests.truncate(80);
    let options = FitOptions { arrivals_go_on: Some(true), ..FitOptions::default() };
    let fit = fit_run(&run_log(requests), None, &known(Some(4_000)), &options).unwrap();
    assert!(!fit.background.is_empty() && fit.doubts.iter().any(|d| d.code == "arrivals_go_on"));
    let figures = judge(&whole, None, &fit.limits).unwrap();
    assert!(Comparison::worst(&figures) < 0.08, "{figures:?}");
}

#[test]
fn load_that_does_not_vary_tells_nothing() {
    let lonely = |i: usize| {
        let at = 10.0 * i as f64;
        LoggedRequest { queued: at, scheduled: None, first: at + 0.1, last: at + 3.0, input_tokens: 100, output_tokens: 100 }
    };
    let log = run_log((0..40).map(lonely).collect());
    insta::assert_snapshot!(fit_run(&log, None, &known(Some(1_000)), &FitOptions::default()).unwrap_err(), @r"
    log.jsonl: hardly two requests decode at a time (98 % see at most 1.0): what a sequence costs beside others is not in these data
      hint: log a run that begins idle and ends drained, with a rate at which many requests run together
    ");
}

/// A log as a file.
fn file(text: &str, ending: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("log.{ending}"));
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn read(path: &Path, unit: TimeUnit, columns: &str) -> Result<RunLog, String> {
    let folder = path.parent().unwrap().display().to_string();
    RunLog::read(path, unit, &ColumnNames::parse(columns).unwrap()).map_err(|error| error.to_string().replace(&folder, "DIR"))
}

fn csv(rows: usize, scale: f64) -> String {
    let mut text = "when,scheduled,tok1,tokn,in,out\n".to_owned();
    for i in 0..rows {
        let at = i as f64;
        let times = [at, at + 0.01, at + 0.5, at + 2.5].map(|t| t * scale);
        writeln!(text, "{},{},{},{},100,50", times[0], times[1], times[2], times[3]).unwrap();
    }
    text
}

const COLUMNS: &str = "queued=when,first=tok1,last=tokn,input=in,output=out";

#[test]
fn csv_with_columns_of_any_name_and_unit_is_read() {
    let (_folder, path) = file(&csv(40, 1e3), "csv");
    let log = read(&path, TimeUnit::Millis, COLUMNS).unwrap();
    let r = log.requests[1];
    assert_eq!((r.queued, r.scheduled, r.first, r.last, r.input_tokens, r.output_tokens), (1.0, Some(1.01), 1.5, 3.5, 100, 50));
    assert_eq!((log.requests.len(), log.unserved), (40, 0));
}

#[test]
fn a_wrong_unit_is_doubted() {
    let (_folder, path) = file(&csv(40, 1e3), "csv");
    insta::assert_snapshot!(read(&path, TimeUnit::Seconds, COLUMNS).unwrap_err(), @r"
    DIR/log.csv: the median time per output token would be 4.082e1 s with times in s: expected 0.0002 to 2 s
      hint: are the times in another unit? `--time-unit` takes s, ms, us or ns
    ");
}

#[test]
fn missing_columns_and_too_few_rows_are_told() {
    let (_folder, path) = file(&csv(5, 1.0), "csv");
    insta::assert_snapshot!(read(&path, TimeUnit::Seconds, "first=tok1,last=tokn").unwrap_err(), @r"
    DIR/log.csv: there is no column for `queued` (one of queued_ts, queued_time, queued, queue_time_ts) or `arrival` (arrival_time, arrival, arrived_at, arrival_ts, start_time, timestamp)
    DIR/log.csv: there is no column for `input` (one of input_toks, input_tokens, prompt_tokens, num_prompt_tokens, isl, input_length)
    DIR/log.csv: there is no column for `output` (one of output_toks, output_tokens, completion_tokens, num_output_tokens, generation_tokens, osl, output_length)
      hint: name it with `--columns key=COLUMN,...`; the file has when, scheduled, tok1, tokn, in, out
    ");
    insta::assert_snapshot!(read(&path, TimeUnit::Seconds, COLUMNS).unwrap_err(), @r"
    DIR/log.csv: 5 served requests: expected at least 30
      hint: log a run of some hundred requests, of which several run at a time
    ");
}

#[test]
fn faulty_rows_are_told_all_at_once() {
    let good = r#"{"input_toks": 9, "output_toks": 5, "queued_ts": 1.0, "first_token_ts": 1.5, "last_token_ts": 2.0}"#;
    let late = r#"{"input_toks": 9, "output_toks": 5, "queued_ts": 1.0, "first_token_ts": 0.5, "last_token_ts": 2.0}"#;
    let odd = r#"{"input_toks": -9, "output_toks": 5, "queued_ts": 1.0, "first_token_ts": 1.5, "last_token_ts": 2.0}"#;
    let (_folder, path) = file(&[good, late, odd, "nonsense"].join("\n"), "jsonl");
    insta::assert_snapshot!(read(&path, TimeUnit::Seconds, "").unwrap_err(), @r"
    DIR/log.jsonl:4: no JSON: expected ident at line 1 column 2
      hint: expected JSON Lines, one object a line, or CSV with a header
    ");
    let (_folder, path) = file(&[good, late, odd].join("\n"), "jsonl");
    insta::assert_snapshot!(read(&path, TimeUnit::Seconds, "").unwrap_err(), @r"
    DIR/log.jsonl:2: times out of order: queued 1, first token 0.5, last token 2
    DIR/log.jsonl:3: `input_toks` is `-9`: expected a whole number up to 100000000
      hint: correct the rows or leave them out; `--time-unit` and `--columns` say what is what
    ");
}

#[test]
fn what_produced_nothing_is_left_out_and_counted() {
    let mut text = String::new();
    for i in 0..40 {
        let at = f64::from(i);
        let last = if i % 10 == 0 { "null".to_owned() } else { (at + 2.0).to_string() };
        let first = at + 0.5;
        writeln!(
            text,
            r#"{{"arrival_time": {}, "queued_ts": {at}, "first_token_ts": {first}, "last_token_ts": {last}, "input_toks": 10, "output_toks": 20}}"#,
            at + 1e9 - 0.25 * f64::from(i % 2)
        )
        .unwrap();
    }
    let (_folder, path) = file(&text, "jsonl");
    let log = read(&path, TimeUnit::Seconds, "").unwrap();
    assert_eq!((log.requests.len(), log.unserved), (36, 4));
    let (median, most) = log.front_end.unwrap();
    assert!((median - 0.25).abs() < 1e-6 && (most - 0.25).abs() < 1e-6, "{median} {most}");
}
