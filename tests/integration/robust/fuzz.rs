//! Random input by the million: whatever stands in a file, reading it ends soon, in a value or in a message.
//!
//! An input is a function of its target, the seed and its number. In CI each target gets a few seconds; a million executions
//! each, or another number of them, are run by name:
//!
//! ```sh
//! cargo test --release --test integration -- --ignored a_million --nocapture
//! SHEDCAST_FUZZ_SEED=2 SHEDCAST_FUZZ_RUNS=10000000 cargo test --release --test integration -- --ignored a_million_grids
//! ```

#[path = "fuzz/corpus.rs"]
mod corpus;
#[path = "fuzz/mutation.rs"]
mod mutation;
#[path = "fuzz/targets.rs"]
mod targets;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use corpus::Corpus;
use mutation::{Dice, mutate};
use targets::Target;

use super::bench::now;

/// Executions of a target in CI at most, and how long they may take together.
const IN_CI: (u64, Duration) = (3_000, Duration::from_secs(2));
/// One execution may take this long: all else is a hang.
const HANG: Duration = Duration::from_secs(10);
/// What the process may grow by while inputs come and go, KiB.
const GROWTH: u64 = 256 * 1024;

/// A number of the environment.
fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text}: expected a whole number")))
}

/// Memory of this process now, KiB; 0 where the system does not say.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok()).unwrap_or(0)
}

/// The input with this number.
fn input(corpus: &Corpus, seed: u64, number: u64) -> Vec<u8> {
    let mut dice = Dice::new(seed, number);
    mutate(&mut dice, corpus)
}

/// Executes a target on many inputs, or on the one that `SHEDCAST_FUZZ_ONLY` numbers.
fn fuzz(mut target: Box<dyn Target>, runs: u64, time: Duration) {
    let name = target.name();
    let corpus = Corpus::of(name);
    let seed = asked("SHEDCAST_FUZZ_SEED").unwrap_or(1);
    let only = asked("SHEDCAST_FUZZ_ONLY");
    let numbers = only.map_or(0..runs, |number| number..number + 1);
    let (begun, mut executed, mut taken, mut slowest) = (now(), 0u64, 0u64, Duration::ZERO);
    let mut kinds = BTreeSet::new();
    let mut before = 0;
    for number in numbers {
        let bytes = if number < corpus.entries.len() as u64 {
            corpus.entries[number as usize].clone()
        } else {
            input(&corpus, seed, number)
        };
        let at = now();
        let ended = catch_unwind(AssertUnwindSafe(|| target.execute(&bytes, number)));
        let took = at.elapsed();
        let repeat = format!(
            "SHEDCAST_FUZZ_SEED={seed} SHEDCAST_FUZZ_ONLY={number} cargo test --test integration -- --ignored {}",
            target.test()
        );
        let show = || String::from_utf8_lossy(&bytes[..bytes.len().min(2_000)]).into_owned();
        match ended {
            Err(_) => panic!("{name}: a panic at input {number}; repeat with\n{repeat}\n{}", show()),
            Ok(Err(why)) => panic!("{name}: {why} at input {number}; repeat with\n{repeat}\n{}", show()),
            Ok(Ok(kind)) => {
                taken += u64::from(kind == "taken");
                kinds.insert(kind);
            }
        }
        assert!(took < HANG, "{name}: {took:?} for input {number}; repeat with\n{repeat}\n{}", show());
        slowest = slowest.max(took);
        executed += 1;
        // What is kept once (tables, buffers) is not growth.
        if executed == runs / 10 {
            before = resident();
        }
        if begun.elapsed() > time {
            break;
        }
    }
    let growth = if before == 0 { 0 } else { resident().saturating_sub(before) };
    assert!(growth < GROWTH, "{name}: grew by {growth} KiB");
    let (rate, share) = (executed as f64 / begun.elapsed().as_secs_f64(), taken as f64 * 100.0 / executed as f64);
    println!(
        "{name}: {executed} executions, {share:.1} % taken, {} kinds of end, slowest {slowest:.1?}, {rate:.0} per second, grew by {growth} KiB",
        kinds.len()
    );
    if only.is_none() {
        assert!(kinds.len() >= 3, "{name}: the inputs come to {kinds:?} only: they reach nothing");
    }
}

macro_rules! targets {
    ($($quick:ident, $long:ident, $target:expr;)+) => {
        $(
            #[test]
            fn $quick() {
                fuzz(Box::new($target), IN_CI.0, IN_CI.1);
            }

            /// By name, in a release build.
            #[test]
            #[ignore = "takes minutes: run it by name"]
            fn $long() {
                fuzz(Box::new($target), asked("SHEDCAST_FUZZ_RUNS").unwrap_or(1_000_000), Duration::MAX);
            }
        )+

        /// Names of targets and of their long tests.
        #[test]
        fn every_target_names_its_test_and_has_a_corpus() {
            $(
                let target = $target;
                assert_eq!(target.test(), stringify!($long));
                assert!(!Corpus::of(target.name()).entries.is_empty());
            )+
        }
    };
}

targets! {
    random_scenario_files, a_million_scenario_files, targets::ScenarioFile;
    random_options, a_million_options, targets::Options;
    random_csv_traces, a_million_csv_traces, targets::Trace::csv();
    random_json_traces, a_million_json_traces, targets::Trace::json();
    random_servegen_windows, a_million_servegen_windows, targets::Trace::servegen();
    random_control_events, a_million_control_events, targets::Replay;
    random_grids, a_million_grids, targets::GridText;
    random_journals, a_million_journals, targets::JournalText;
    random_plan_journals, a_million_plan_journals, targets::PlanJournalText;
    random_measurements, a_million_measurements, targets::Measurements::new();
    random_counters, a_million_counters, targets::CounterText::new();
    random_length_files, a_million_length_files, targets::LengthFile::new();
}
