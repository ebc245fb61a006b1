//! Part A: busy thresholds and the load monitor.

use shedcast::cluster::observer::PostAnswer;
use shedcast::control::RefusalReason;
use shedcast::scenario::codes;
use shedcast::units::SimTime;

use crate::harness::{Case, case, load};

/// The simulated instant `secs` seconds from the start.
fn at(secs: u64) -> SimTime {
    SimTime::from_nanos(secs * 1_000_000_000)
}

/// Every refusal of these cases is the frontend's, for all its workers.
fn refused_by_the_pool(case: &Case) -> bool {
    let mut refusals = case.log.attempts.iter().filter_map(|ended| ended.refusal());
    refusals.all(|refusal| refusal.reason == RefusalReason::AllWorkersBusy)
}

#[test]
fn case_01_a_small_number_of_the_router_does_not_hide_a_full_worker() {
    let case = case("01", &[]);
    assert_eq!(case.answers(), ["529"]);
    assert_eq!(case.result.total.decisive.decode, 1);
}

#[test]
fn case_03_a_worker_with_one_signal_recovers_and_its_limit_is_strict() {
    assert_eq!(case("03", &[]).answers(), ["529", "OK", "529"]);
}

#[test]
fn case_04_unset_thresholds_do_not_exist() {
    let nothing = case("04a", &[]);
    assert_eq!(nothing.answers(), ["OK"]);
    assert!(nothing.scenario.to_toml().contains("active_decode_blocks_threshold = \"none\"\n"), "unset is shown as unset");
    let prefill = case("04b", &[]);
    assert_eq!(prefill.answers(), ["OK", "529"]);
    assert_eq!(prefill.result.total.decisive.prefill, 1);
    let echo = prefill.scenario.to_toml();
    assert!(echo.contains("active_prefill_tokens_threshold = 5000\n"), "{echo}");
    assert!(echo.contains("active_prefill_tokens_threshold_frac = \"none\"\n"), "{echo}");
}

#[test]
fn case_05_zero_and_one_are_limits_like_any_other() {
    for name in ["05a", "05b", "05c"] {
        let case = case(name, &[]);
        assert_eq!(case.answers(), ["OK", "529"], "case {name}");
        assert!(refused_by_the_pool(&case));
        assert_eq!(case.warns(codes::THRESHOLD_CANNOT_FIRE), name == "05c", "case {name}");
    }
    let warning =
        load("05c", &[]).expect("a valid scenario").warnings.into_iter().find(|w| w.code == codes::THRESHOLD_CANNOT_FIRE);
    assert!(warning.expect("a warning").cause.contains("can never fire below 100 % usage"));
}

#[test]
fn case_07_a_check_without_a_capacity_never_fires_and_the_reader_says_so() {
    let case = case("07", &[]);
    assert_eq!(case.answers(), ["OK"]);
    let warning = case.warnings.iter().find(|warning| warning.code == codes::CAPACITY_UNKNOWN).expect("a warning");
    assert_eq!(warning.subject, "frontend.active_decode_blocks_threshold");
    assert!(warning.cause.contains("kv_total_blocks"), "{warning}");
}

#[test]
fn case_08_all_declared_ranks_must_be_busy_and_foreign_ranks_are_dropped() {
    assert_eq!(case("08", &[]).answers(), ["OK", "OK", "529", "OK"]);
}

#[test]
fn case_10_kv_blocks_are_counted_per_rank() {
    assert_eq!(case("10", &[]).answers(), ["529"]);
    let sum = case("10", &["fleet.kv_total_blocks=200"]);
    assert_eq!(sum.answers(), ["OK"]);
    assert!(sum.result.ranks.iter().all(|rank| rank.kv_total_blocks == Some(200)), "the figure is shown for each rank");
}

#[test]
fn case_11_a_prefill_limit_changes_with_the_next_load_event_of_any_worker_and_for_all() {
    let case = case("11", &[]);
    assert_eq!(case.answers(), ["OK", "529"]);
    let update = &case.result.updates[0];
    assert_eq!((update.at, update.noticed), (at(10), Some(at(12))));
    assert_eq!((update.workers.clone(), update.all), (vec![(1, at(12)), (2, at(12))], Some(at(12))));
    assert_eq!(update.decisions, [1, 0], "the request at 11 s was decided under the old limit");
}

#[test]
fn case_13_an_update_is_partial_and_a_faulty_one_changes_nothing() {
    let case = case("13", &[]);
    assert_eq!(case.answers(), ["529", "OK"]);
    assert_eq!(case.result.total.decisive.decode, 1);
    let answers: Vec<PostAnswer> = case.result.updates.iter().map(|update| update.answer).collect();
    use PostAnswer::{Changed, Invalid, Unchanged, UnknownModel};
    assert_eq!(answers, [Changed, Changed, Unchanged, Invalid, UnknownModel, Changed]);
    let stored = case.log.intervals.last().expect("a last interval").fleet.thresholds;
    assert_eq!(stored.active_decode_blocks_threshold, Some(0.5));
    assert_eq!(stored.active_prefill_tokens_threshold, Some(1000));
    assert_eq!(stored.active_prefill_tokens_threshold_frac, Some(2.0));
    let unset = load("13", &["events.2.post_busy_threshold={ active_decode_blocks_threshold = \"none\" }"]);
    let message = unset.expect_err("nothing can be unset at run time");
    assert!(message.contains("nothing can be unset at run time"), "{message}");
}

#[test]
fn case_15_a_worker_that_came_back_starts_clean() {
    assert_eq!(case("15", &[]).answers(), ["529", "503", "OK"]);
}
