//! Memory does not grow with the length of a run, and what integer clocks and sums say agrees to the last digit.
//!
//! ```sh
//! cargo test --release --test integration -- --ignored ten_million --nocapture
//! SHEDCAST_SOAK=100000000 cargo test --release --test integration -- --ignored a_soak --nocapture
//! ```

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

use super::bench::now;

/// What a soak came to.
struct Soaked {
    summary: Value,
    /// Most memory it held, KiB; 0 where the system does not say.
    peak: u64,
    took: Duration,
}

/// Runs `scenarios/soak.toml` to its end, watching its memory.
fn soak(requests: u64, more: &[&str]) -> Soaked {
    let out = tempfile::tempdir().expect("a temporary folder");
    let begun = now();
    let mut command = Command::new(cargo_bin!("shedcast"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(["run", "scenarios/soak.toml", "--no-charts", "--quiet"]);
    command.args(["--set", &format!("requests={requests}"), "--out"]).arg(out.path()).args(more).stdout(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok()).unwrap_or(peak);
        match child.try_wait().expect("it can be asked") {
            Some(ended) => break ended,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    assert!(ended.success(), "{ended}");
    let summary = std::fs::read(Path::new(out.path()).join("summary.json")).expect("the summary");
    Soaked { summary: serde_json::from_slice(&summary).expect("JSON"), peak, took: begun.elapsed() }
}

fn number(value: &Value, path: &str) -> f64 {
    let found = path.split('.').try_fold(value, |value, key| value.get(key));
    found.and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} is no number"))
}

/// Two ways to the same quantity, which differ by the rounding of a quotient only.
fn assert_agree(what: &str, a: f64, b: f64) {
    let apart = ((a - b) / b).abs();
    println!("  {what}: {a} and {b}, {apart:.1e} apart");
    assert!(apart < 1e-11, "{what}: {a} and {b}");
}

/// What integer clocks, counters and time-weighted sums say of the same thing.
fn check_sums(summary: &Value, requests: u64) {
    assert_eq!(summary["conservation"]["holds"], true);
    assert_eq!(summary["conservation"]["requests"]["offered"], requests);
    let total = |path: &str| number(&summary["total"], path);
    let span = total("span_s");
    let completed = total("attempts.completed");
    // The last request arrives at (requests - 1) / 1100 s, to the nanosecond; it is served, or given up, within a quarter second.
    let last = (requests - 1) as f64 / 1_100.0;
    assert!((last..last + 0.25).contains(&span), "the run ends at {span} s, its last request comes at {last} s");
    assert_agree("slot-seconds, by occupancy and by completions", total("occupancy.engine_slots.mean") * span, completed * 0.03);
    let waited = total("attempt_latency.queue_wait_s.mean") * completed;
    assert_agree("queue-seconds, by occupancy and by request", total("occupancy.queue.mean") * span, waited);
    let inside = total("attempt_latency.e2e_s.mean") * completed;
    assert_agree("request-seconds, by occupancy and by request", total("occupancy.in_workers.mean") * span, inside);
}

fn tell(requests: u64, soaked: &Soaked) {
    let took = soaked.took.as_secs_f64();
    let rate = requests as f64 / took;
    println!("{requests} requests: {took:.1} s, {rate:.0} requests per second, at most {} MiB", soaked.peak / 1024);
}

/// Ten times the requests may take half as much memory again.
fn assert_flat(short: u64, more: &[&str]) {
    let (a, b) = (soak(short, more), soak(10 * short, more));
    for (requests, soaked) in [(short, &a), (10 * short, &b)] {
        tell(requests, soaked);
        check_sums(&soaked.summary, requests);
    }
    assert!(b.peak as f64 <= 1.5 * a.peak as f64, "{} KiB for {short} requests, {} KiB for ten times as many", a.peak, b.peak);
}

#[test]
fn case_67_memory_does_not_grow_with_the_run() {
    assert_flat(20_000, &[]);
}

#[test]
fn case_67_memory_does_not_grow_with_rows_that_are_streamed() {
    assert_flat(5_000, &["--requests-csv"]);
}

/// Case 67 at its full size; by name, in a release build.
#[test]
#[ignore = "takes a minute: run it by name"]
fn case_67_with_one_and_ten_million() {
    assert_flat(1_000_000, &[]);
    assert_flat(1_000_000, &["--requests-csv"]);
}

/// As many requests as `SHEDCAST_SOAK` says, in one run; by name, in a release build.
#[test]
#[ignore = "takes minutes: run it by name"]
fn a_soak() {
    let requests = std::env::var("SHEDCAST_SOAK").map_or(10_000_000, |text| text.parse().expect("a whole number"));
    let soaked = soak(requests, &[]);
    tell(requests, &soaked);
    check_sums(&soaked.summary, requests);
}
