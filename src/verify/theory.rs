//! Queueing theory: the simulated queue against the closed form of the same queue.

use rayon::prelude::*;

use super::check::{Check, CheckTable, VerifyError, run_text};
use crate::cluster::Remote;
use crate::experiment::RunResult;
use crate::experiment::measure_table::Measure;
use crate::stats::theory::{QueueFigures, erlang_b, mg1, mm1, mmc, mmck};
use crate::stats::{RankRule, mean_interval};

/// Independent replications of each queue.
const REPLICATIONS: u64 = 16;
/// Requests of each.
const REQUESTS: u64 = 80_000;
/// Confidence with which a reference must lie in the interval of a figure.
const LEVEL: f64 = 0.999;
/// An interval wider than this share of its reference to either side proves nothing: then the check fails.
const WIDEST: f64 = 0.05;

/// A figure of a queue: how it is taken of a run, and its closed form.
struct Figure {
    name: &'static str,
    /// Measures that are added up.
    measures: &'static [&'static str],
    reference: f64,
}

/// A queue.
struct Queue {
    name: &'static str,
    scenario: String,
    figures: Vec<Figure>,
}

/// Runs every queue and holds it against theory.
///
/// # Errors
/// Interrupted.
pub fn theory(remote: &Remote) -> Result<CheckTable, VerifyError> {
    let mut checks = Vec::new();
    let mut worst_little = 1.0_f64;
    for queue in queues() {
        let mut samples = vec![Vec::new(); queue.figures.len()];
        let run = |replication| run_text(&queue.scenario, replication, remote);
        // In the order of the replications, whatever the number of threads.
        let results: Vec<RunResult> = (0..REPLICATIONS).into_par_iter().map(run).collect::<Result<_, _>>()?;
        for result in results {
            let ratio = little(&result);
            if (ratio - 1.0).abs() > (worst_little - 1.0).abs() {
                worst_little = ratio;
            }
            for (samples, figure) in samples.iter_mut().zip(&queue.figures) {
                samples.push(take(&result, figure.measures));
            }
        }
        for (samples, figure) in samples.iter().zip(&queue.figures) {
            checks.push(judge(queue.name, figure, samples));
        }
    }
    checks.push(Check::new("Little's law, worst of all runs: L / (lambda W)", worst_little, 1.0, 1e-9));
    let rule = format!(
        "{REPLICATIONS} replications of {REQUESTS} requests; the closed form must lie in the {} % interval of their mean (Student), which \
         may be at most {} % wide to either side",
        LEVEL * 100.0,
        WIDEST * 100.0
    );
    Ok(CheckTable { title: "queueing theory".to_owned(), rule, checks })
}

fn judge(queue: &str, figure: &Figure, samples: &[f64]) -> Check {
    let interval = mean_interval(samples, LEVEL);
    let mean = interval.as_ref().map_or(f64::NAN, |i| i.mean);
    let half = interval.as_ref().and_then(|i| i.interval()).map_or(0.0, |i| (i.high - i.low) / 2.0);
    // An interval too wide to prove anything allows nothing.
    let allowed = if half <= WIDEST * figure.reference { half } else { 0.0 };
    Check::new(format!("{queue}: {}", figure.name), mean, figure.reference, allowed)
}

fn take(result: &RunResult, measures: &[&str]) -> f64 {
    let value = |name: &&str| {
        let measure = Measure::find(name).expect("checks name measures of the table");
        measure.take(result, RankRule::NearestRank).value().unwrap_or(0.0)
    };
    measures.iter().map(value).sum()
}

/// Little (1961): mean number inside = throughput x mean sojourn; a run that starts and ends empty has no edge effects. The
/// ratio of the two sides.
fn little(result: &RunResult) -> f64 {
    let seen = take(result, &["slots_mean", "queue_mean"]);
    let by_law = take(result, &["throughput"]) * take(result, &["e2e_mean"]);
    seen / by_law
}

/// A worker behind a gate of `slots` and `places`; times in seconds.
fn gate(seed: u64, service: &str, slots: u32, places: u32, rate: f64) -> String {
    format!(
        "name = \"check\"\nrequests = {REQUESTS}\nseed = {seed}\n[fleet]\nworkers = 1\nservice_time = {service}\n\
         engine_request_limit = {slots}\nrequest_queue_limit = {places}\n[frontend]\noverload_lease = \"0s\"\n[workload]\n\
         arrivals = {{ process = \"poisson\", rate = {rate} }}\n"
    )
}

/// c workers without a gate that a threshold of 0 makes busy as soon as they hold a request of one block: c lines, no queue.
fn lines(seed: u64, service: &str, workers: u32, rate: f64) -> String {
    format!(
        "name = \"check\"\nrequests = {REQUESTS}\nseed = {seed}\n[fleet]\nworkers = {workers}\nservice_time = {service}\n\
         kv_total_blocks = 100\nkv_cache_block_size = 16\n[frontend]\nrouter_mode = \"kv\"\nactive_decode_blocks_threshold = 0.0\n\
         overload_lease = \"0s\"\n[workload]\narrivals = {{ process = \"poisson\", rate = {rate} }}\ninput_tokens = 16\noutput_tokens = 1\n"
    )
}

const EXPONENTIAL: &str = r#"{ distribution = "exponential", mean = "1s" }"#;
const CONSTANT: &str = r#""1s""#;
const LOGNORMAL: &str = r#"{ distribution = "lognormal", mean = "1s", cv = 1.0 }"#;
/// A queue that never fills.
const ENDLESS: u32 = 1_000_000;
const INSIDE: &[&str] = &["slots_mean", "queue_mean"];

fn waiting(of: Option<QueueFigures>) -> Vec<Figure> {
    let of = of.expect("the built-in queues are stable");
    vec![
        Figure { name: "mean wait, s", measures: &["queue_wait_mean"], reference: of.mean_wait },
        Figure { name: "mean number inside", measures: INSIDE, reference: of.mean_in_system },
    ]
}

fn refusing(of: Option<QueueFigures>) -> Vec<Figure> {
    let share = of.as_ref().expect("the built-in queues are stable").refused_share;
    let mut figures = waiting(of);
    figures.push(Figure { name: "refused share", measures: &["rate_529"], reference: share });
    figures
}

fn losing(servers: u64, offered: f64) -> Vec<Figure> {
    let reference = erlang_b(servers, offered).expect("the built-in loads are finite");
    vec![Figure { name: "refused share", measures: &["rate_529"], reference }]
}

fn queues() -> Vec<Queue> {
    let queue = |name, scenario, figures| Queue { name, scenario, figures };
    vec![
        queue("M/M/1 at 0.7", gate(1, EXPONENTIAL, 1, ENDLESS, 0.7), waiting(mm1(0.7, 1.0))),
        queue("M/M/4 at 0.7", gate(2, EXPONENTIAL, 4, ENDLESS, 2.8), waiting(mmc(2.8, 1.0, 4))),
        queue("M/M/2/4 at 1.5", gate(3, EXPONENTIAL, 2, 2, 3.0), refusing(mmck(3.0, 1.0, 2, 4))),
        queue("M/M/8/24 at 1.1", gate(4, EXPONENTIAL, 8, 16, 8.8), refusing(mmck(8.8, 1.0, 8, 24))),
        queue("M/D/1 at 0.7", gate(5, CONSTANT, 1, ENDLESS, 0.7), waiting(mg1(0.7, 1.0, 0.0))),
        queue("M/G/1 at 0.7, lognormal", gate(6, LOGNORMAL, 1, ENDLESS, 0.7), waiting(mg1(0.7, 1.0, 1.0))),
        queue("Erlang B by thresholds, exponential", lines(7, EXPONENTIAL, 4, 3.0), losing(4, 3.0)),
        queue("Erlang B by thresholds, constant", lines(8, CONSTANT, 4, 3.0), losing(4, 3.0)),
        queue("Erlang B by thresholds, lognormal", lines(9, LOGNORMAL, 4, 3.0), losing(4, 3.0)),
    ]
}
