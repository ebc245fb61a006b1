//! Requests per second of whole runs, what they cost above the floor of their events, and how costs grow: the tables of
//! `docs/speed.md`.
//!
//!   cargo bench --bench speed [-- RUN...] [requests=N] [repeats=N]
//!
//! Every figure is the least of several repeats: what disturbs a measurement only ever adds to it.

#[path = "common/checksum.rs"]
mod checksum;
#[path = "common/floor.rs"]
mod floor;
#[path = "common/gaps.rs"]
mod gaps;
#[path = "common/runs.rs"]
mod runs;

use std::hint::black_box;
use std::time::{Duration, Instant};

use shedcast::scenario::Scenario;

/// What the command line asks for.
struct Asked {
    /// Letters of runs; none are all.
    runs: Vec<String>,
    requests: u64,
    repeats: u32,
}

fn asked() -> Asked {
    let mut asked = Asked { runs: Vec::new(), requests: 200_000, repeats: 5 };
    for argument in std::env::args().skip(1).filter(|argument| argument != "--bench") {
        match argument.split_once('=') {
            Some(("requests", n)) => asked.requests = n.parse().expect("requests=N needs a whole number"),
            Some(("repeats", n)) => asked.repeats = n.parse().expect("repeats=N needs a whole number"),
            _ => asked.runs.push(argument),
        }
    }
    asked
}

/// The least time of several repeats.
#[expect(clippy::disallowed_methods, reason = "a bench asks the time; nothing of it reaches a result")]
fn least<T>(repeats: u32, mut work: impl FnMut() -> T) -> Duration {
    let once = |_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    };
    (0..repeats.max(1)).map(once).min().expect("at least one repeat")
}

/// Nanoseconds per request.
fn each(time: Duration, requests: u64) -> f64 {
    time.as_nanos() as f64 / requests as f64
}

fn measure(name: &str, scenario: &Scenario, asked: &Asked) {
    let (requests, repeats) = (asked.requests, asked.repeats);
    let events = runs::unobserved(scenario);
    let groups = runs::groups(scenario);
    let per_request = |time| each(time, requests);
    let floor = per_request(least(repeats, || floor::floor(events, groups)));
    let drawn = per_request(least(repeats, || runs::drawn(scenario)));
    let unobserved = per_request(least(repeats, || runs::unobserved(scenario)));
    let measured = per_request(least(repeats, || runs::measured(scenario)));
    let whole = per_request(least(repeats, || runs::whole(scenario)));
    println!(
        "{name:>3} {:>11.0} {whole:>8.0} {:>8.2} {:>8.1} {:>7.1}   {drawn:>6.0} {floor:>6.0} {:>8.0} {:>8.0} {:>6.0}   {:016x}",
        1e9 / whole,
        events as f64 / requests as f64,
        whole * requests as f64 / events as f64,
        whole / floor,
        unobserved - drawn - floor,
        measured - unobserved,
        whole - measured,
        runs::answer(&runs::measured(scenario)),
    );
}

/// Cost per request of one scenario over that of another.
fn growth(title: &str, asked: &Asked, [small, large]: [Scenario; 2]) {
    let [small, large] = [small, large].map(|scenario| each(least(asked.repeats, || runs::whole(&scenario)), asked.requests));
    println!("{title}: {small:.0} -> {large:.0} ns, {:.2} times", large / small);
}

fn main() {
    let asked = asked();
    let wanted = |name: &str| asked.runs.is_empty() || asked.runs.iter().any(|run| run == name);
    println!(
        "{} requests a run; ns are per request; ratio: to the floor of as many events with empty handlers\n",
        asked.requests
    );
    println!("                                                    of that:                             (rest)");
    println!("run  requests/s       ns   events ns/event   ratio   sample  queue  cluster   record  files   answer");
    for (name, text) in runs::RUNS {
        if wanted(name) {
            measure(name, &runs::scenario(text, asked.requests, &[]), &asked);
        }
    }
    println!();
    let cut = |text, sets: &[(&str, &str)]| runs::scenario(text, asked.requests, sets);
    if wanted("workers") {
        let (_, a) = runs::RUNS[0];
        let fleet = |workers: u32| {
            let (count, rate) = (workers.to_string(), (23 * workers).to_string());
            cut(a, &[("fleet.workers", &count), ("workload.arrivals.rate", &rate)])
        };
        growth("4 -> 256 workers, round robin, equal load per worker", &asked, [fleet(4), fleet(256)]);
    }
    if wanted("tokens") {
        let (_, c) = runs::RUNS[2];
        let [short, long] = [("128", "4"), ("2048", "0.25")];
        let tokens =
            |(output, rate): (&str, &str)| cut(c, &[("workload.output_tokens", output), ("workload.arrivals.rate", rate)]);
        growth("128 -> 2,048 output tokens, step times along lines, equal load", &asked, [tokens(short), tokens(long)]);
    }
}
