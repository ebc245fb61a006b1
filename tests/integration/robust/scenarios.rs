//! Random scenarios by number: the books balance, a run repeats, and both engines agree on every attempt and interval.
//!
//! ```sh
//! cargo test --release --test integration -- --ignored thousands_of_random_scenarios --nocapture
//! SHEDCAST_SCENARIO=1234 cargo test --test integration -- one_random_scenario --nocapture
//! ```

#[path = "scenarios/generator.rs"]
mod generator;

use std::panic::{AssertUnwindSafe, catch_unwind};

use shedcast::cluster::Remote;
use shedcast::experiment::{EngineKind, RunEnd, RunOptions, RunResult, run};
use shedcast::scenario::Scenario;

use crate::harness::Log;
use generator::scenario;

/// Scenarios in CI.
const IN_CI: u64 = 160;
/// Scenarios by name, unless `SHEDCAST_SCENARIOS` says how many.
const BY_NAME: u64 = 5_000;

fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text}: expected a whole number")))
}

fn simulate(scenario: &Scenario, engine: EngineKind) -> (RunResult, Log) {
    let options = RunOptions { engine, ..RunOptions::default() };
    run(scenario, options, Log::default(), &Remote::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Everything that must hold of the scenario with this number.
fn check(text: &str) -> RunResult {
    let scenario = Scenario::parse(text, "random.toml", &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario;
    let resolved =
        Scenario::parse(&scenario.to_toml(), "resolved.toml", &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario;
    assert_eq!(resolved, scenario, "the resolved scenario means the same");
    let (result, log) = simulate(&scenario, EngineKind::Coalesced);
    for measures in [&result.whole, &result.total].into_iter().chain(result.phases.iter().map(|phase| &phase.measures)) {
        assert_eq!(measures.attempts.started, measures.attempts.accounted(), "attempts are conserved: {:?}", measures.attempts);
        assert_eq!(measures.requests.offered, measures.requests.accounted(), "requests are conserved: {:?}", measures.requests);
    }
    let (again, log_again) = simulate(&resolved, EngineKind::Coalesced);
    assert!(format!("{result:?}") == format!("{again:?}") && log == log_again, "a second run differs");
    let (plain, log_plain) = simulate(&scenario, EngineKind::Stepwise);
    assert!(log == log_plain, "the engines differ in what they stream");
    assert!(format!("{result:?}") == format!("{plain:?}"), "the engines differ in what they measure");
    result
}

/// Checks scenarios `numbers`; the first that fails is told with the command that repeats it.
fn check_all(numbers: std::ops::Range<u64>) {
    let (mut offered, mut refused, mut bounded) = (0u64, 0u64, 0u64);
    for number in numbers.clone() {
        let text = scenario(number);
        match catch_unwind(AssertUnwindSafe(|| check(&text))) {
            Ok(result) => {
                offered += result.whole.requests.offered;
                refused += result.whole.attempts.refused_total();
                bounded += u64::from(!matches!(result.end, RunEnd::Horizon | RunEnd::Drained));
            }
            Err(cause) => {
                let text_of = cause.downcast_ref::<String>().map(String::as_str);
                let cause = text_of.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("a panic");
                panic!(
                    "random scenario {number}: {cause}\nrepeat with\n\
                     SHEDCAST_SCENARIO={number} cargo test --test integration -- one_random_scenario --nocapture\n{text}"
                );
            }
        }
    }
    let count = numbers.end - numbers.start;
    println!("{count} scenarios: {offered} requests, {refused} refusals, {bounded} runs ended at a bound");
    assert!(count < 100 || (offered > 10 * count && refused > count), "the scenarios are too tame to show anything");
}

#[test]
fn random_scenarios_balance_repeat_and_agree() {
    check_all(0..IN_CI);
}

/// The one that `SHEDCAST_SCENARIO` numbers, with its text.
#[test]
fn one_random_scenario() {
    if let Some(number) = asked("SHEDCAST_SCENARIO") {
        println!("{}", scenario(number));
        check_all(number..number + 1);
    }
}

/// By name, in a release build.
#[test]
#[ignore = "takes minutes: run it by name"]
fn thousands_of_random_scenarios() {
    check_all(0..asked("SHEDCAST_SCENARIOS").unwrap_or(BY_NAME));
}
