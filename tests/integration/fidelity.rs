//! Two real overload runs of vLLM 0.19, replayed with the coefficients fitted to them: one in which the KV cache was exhausted
//! (RTX 4090), one in which the seats were (RTX PRO 6000). Skipped where the recordings are absent.
//!
//! Beside the log of requests stands a series sampled every second, whose clock has another origin. The offset between the two
//! is found from the recording alone, without the simulation: where the number of requests inside, counted from the log, agrees
//! best with running + waiting of the series. For the RTX 4090 that is 0.11 s; by the wall clock of its two files it is 0.09 s, and
//! the engine writes its series up to a step (0.04 s) late.
//!
//! An independent program of the same scheduling rules, in floats, gives the sums of all first tokens and of all ends.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::harness::{Case, run_text, shared};

/// A line of the log of requests.
#[derive(Deserialize)]
struct Logged {
    output_toks: u32,
    queued_ts: f64,
    first_token_ts: f64,
    last_token_ts: f64,
}

/// A second of the series.
#[derive(Deserialize)]
struct Tick {
    t: f64,
    running: u32,
    waiting: u32,
}

/// Times of one request in seconds, from the first arrival on.
#[derive(Clone, Copy)]
struct Times {
    arrival: f64,
    first: f64,
    end: f64,
    output: u32,
}

fn recorded(folder: &Path) -> (Vec<Times>, Vec<Tick>) {
    let text = fs::read_to_string(folder.join("requests.jsonl")).expect("the log of requests");
    let log: Vec<Logged> = text.lines().map(|line| serde_json::from_str(line).expect("a request")).collect();
    let start = log.iter().map(|r| r.queued_ts).fold(f64::INFINITY, f64::min);
    let times = |r: &Logged| Times {
        arrival: r.queued_ts - start,
        first: r.first_token_ts - start,
        end: r.last_token_ts - start,
        output: r.output_toks,
    };
    let mut series = csv::Reader::from_path(folder.join("timeseries.csv")).expect("the series");
    (log.iter().map(times).collect(), series.deserialize().map(|row| row.expect("a second")).collect())
}

fn simulated(case: &Case) -> Vec<Times> {
    let times = case.by_request().into_iter().map(|ended| Times {
        arrival: ended.arrival.as_secs_f64(),
        first: ended.attempt.first_token().expect("a first token").as_secs_f64(),
        end: ended.at.as_secs_f64(),
        output: ended.attempt.output_tokens,
    });
    times.collect()
}

/// Linear interpolation between the two nearest samples, as numpy takes it.
fn percentile(sorted: &[f64], p: f64) -> f64 {
    let place = p / 100.0 * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// Name, and the samples in ascending order, of each latency.
fn latencies(times: &[Times]) -> [(&'static str, Vec<f64>); 3] {
    let sorted = |mut samples: Vec<f64>| {
        samples.sort_by(f64::total_cmp);
        samples
    };
    let several = times.iter().filter(|t| t.output > 1);
    [
        ("ttft", sorted(times.iter().map(|t| t.first - t.arrival).collect())),
        ("tpot", sorted(several.map(|t| (t.end - t.first) / f64::from(t.output - 1)).collect())),
        ("e2e", sorted(times.iter().map(|t| t.end - t.arrival).collect())),
    ]
}

/// The instant of the log, in seconds, at which the series reads 0: the one that brings requests inside and running + waiting
/// closest together over all seconds, in steps of 10 ms.
fn offset(log: &[Times], series: &[Tick]) -> f64 {
    let inside = |at: f64| log.iter().filter(|t| t.arrival <= at && at < t.end).count() as f64;
    let distance = |offset: f64| {
        let apart = |tick: &Tick| (inside(tick.t + offset) - f64::from(tick.running + tick.waiting)).abs();
        series.iter().map(apart).sum::<f64>()
    };
    let steps = (-200..=200).map(|step| f64::from(step) / 100.0);
    steps.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).expect("steps")
}

/// One line of the table of errors; `false` if the error is beyond `limit` percent.
fn line(what: &str, got: f64, real: f64, limit: f64) -> bool {
    let error = 100.0 * (got / real - 1.0);
    println!("  {what:<14} simulated {got:>10.4}   real {real:>10.4}   {error:>+6.2} %");
    error.abs() <= limit
}

/// `sums`: seconds from the first arrival to the first tokens, and to the ends, of all requests together, by the rules alone.
fn replay(run: &str, preset: &str, sums: [f64; 2]) {
    let Some(folder) = shared(&format!("data/calibration/llmservingsim/{run}")) else { return };
    let (log, series) = recorded(&folder);
    let text = format!(
        "name = \"fidelity\"\n[fleet]\nworkers = 1\nengine = \"{preset}\"\n[output]\ntimeseries_interval = \"10ms\"\n\
         [workload]\ntrace = {{ path = \"{}\", format = \"vllm-log\" }}\n",
        folder.join("requests.jsonl").display()
    );
    let case = run_text(&text, &[]);
    assert_eq!(case.result.total.requests.completed, log.len() as u64);
    let times = simulated(&case);
    let got = [times.iter().map(|t| t.first).sum::<f64>(), times.iter().map(|t| t.end).sum::<f64>()];
    assert!(got.iter().zip(sums).all(|(got, by_rules)| (got - by_rules).abs() < 1e-5), "{run}: {got:?} against {sums:?}");
    println!("{run}:");
    let mut good = true;
    for ((name, got), (_, real)) in latencies(&times).into_iter().zip(latencies(&log)) {
        for p in [50.0, 90.0, 99.0] {
            good &= line(&format!("{name} p{p}, s"), percentile(&got, p), percentile(&real, p), 3.5);
        }
    }
    let offset = offset(&log, &series);
    println!("  the series begins {:.2} s before the first arrival", -offset);
    good &= curves(&case, &series, offset);
    assert!(good, "{run}: an error is beyond its limit, see the table");
}

/// Running and waiting over time: peaks within 5 %, and waiting within 10 % of its peak at every tenth second.
fn curves(case: &Case, series: &[Tick], offset: f64) -> bool {
    let at = |seconds: f64| {
        // Sample k of the simulation is taken at (k + 1) / 100 s.
        let index = (seconds * 100.0).round() as i64 - 1;
        let interval = usize::try_from(index).ok().and_then(|index| case.log.intervals.get(index));
        interval.map_or((0, 0), |i| (i.fleet.ranks[0].running, i.fleet.ranks[0].waiting))
    };
    let simulated: Vec<(u32, u32)> = series.iter().map(|tick| at(tick.t + offset)).collect();
    let most = |values: &mut dyn Iterator<Item = u32>| f64::from(values.max().expect("seconds"));
    let (running, waiting) =
        (most(&mut series.iter().map(|tick| tick.running)), most(&mut series.iter().map(|tick| tick.waiting)));
    let mut good = line("peak running", most(&mut simulated.iter().map(|s| s.0)), running, 5.0);
    good &= line("peak waiting", most(&mut simulated.iter().map(|s| s.1)), waiting, 5.0);
    let marks = series.iter().zip(&simulated).filter(|(tick, _)| tick.t % 10.0 == 0.0);
    let apart = |(tick, got): (&Tick, &(u32, u32))| (f64::from(got.1) - f64::from(tick.waiting)).abs() / waiting * 100.0;
    let worst = marks.map(apart).fold(0.0, f64::max);
    println!("  waiting at every tenth second: at most {worst:.1} % of the peak apart");
    good && worst <= 10.0
}

#[test]
fn an_exhausted_kv_cache_is_reproduced() {
    replay("RTX4090_Llama-3.1-8B", "rtx4090-llama-3.1-8b-bf16-vllm", [23_962.881_593, 30_210.922_384]);
}

#[test]
fn exhausted_seats_are_reproduced() {
    replay("RTXPRO6000_Llama-3.1-8B", "rtxpro6000-llama-3.1-8b-bf16-vllm", [6_420.217_700, 12_715.466_508]);
}
