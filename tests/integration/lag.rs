//! Threshold posts on their way into force, in scenarios whose answers can be worked out by hand.

use shedcast::experiment::result::UpdateResult;
use shedcast::units::SimTime;

use crate::harness::{Case, run_text};

fn at(millis: u64) -> SimTime {
    SimTime::from_nanos(millis * 1_000_000)
}

/// Two opaque workers that answer in 100 ms, and requests at these milliseconds.
fn scenario(fleet: &str, frontend: &str, requests: &[u64], events: &str) -> Case {
    let requests: String = requests
        .iter()
        .map(|ms| format!("[[workload.requests]]\nat = \"{ms}ms\"\ninput_tokens = 10\noutput_tokens = 1\n"))
        .collect();
    let text = format!(
        "name = \"lag\"\nhorizon = \"20s\"\n[fleet]\nservice_time = \"100ms\"\nkv_total_blocks = 100\nmax_num_batched_tokens = 8192\n\
         {fleet}\n[frontend]\n{frontend}\n{requests}{events}"
    );
    run_text(&text, &[])
}

fn event(at: &str, what: &str) -> String {
    format!("[[events]]\nat = \"{at}\"\n{what}\n")
}

/// Noticed, each worker, all, effect, and the decisions before and after the notice.
type Stages = (Option<SimTime>, Vec<(u32, SimTime)>, Option<SimTime>, Option<SimTime>, [u64; 2]);

fn stages(update: &UpdateResult) -> Stages {
    (update.noticed, update.workers.clone(), update.all, update.effect, update.decisions)
}

#[test]
fn a_prefill_post_is_in_force_everywhere_with_the_next_event_of_any_worker() {
    let events = event("0s", "load = [{ worker = 1, active_prefill_tokens = 700 }, { worker = 2, active_prefill_tokens = 700 }]")
        + &event("10s", "post_busy_threshold = { active_prefill_tokens_threshold = 500 }")
        + &event("12s", "load = { worker = 1, active_prefill_tokens = 700 }");
    let case = scenario("workers = 2", "active_prefill_tokens_threshold = 1000", &[11_000, 13_000, 14_000], &events);
    assert_eq!(case.answers(), ["OK", "529", "529"]);
    let expected = (Some(at(12_000)), vec![(1, at(12_000)), (2, at(12_000))], Some(at(12_000)), Some(at(13_000)), [1, 0]);
    assert_eq!(stages(&case.result.updates[0]), expected);
    assert_eq!(case.result.update_lags.effect.max(), Some(3_000_000_000));
}

#[test]
fn a_latched_rank_follows_a_decode_post_with_its_own_report_only() {
    let events = event("0s", "load = [{ worker = 1, kv_used_blocks = 60 }, { worker = 2, kv_used_blocks = 40 }]")
        + &event("10s", "post_busy_threshold = { active_decode_blocks_threshold = 0.7 }")
        + &event("11s", "load = { worker = 2, kv_used_blocks = 40 }")
        + &event("15s", "load = { worker = 1, kv_used_blocks = 60 }");
    let requests = [5_000, 10_500, 12_000, 16_000, 17_000];
    let case = scenario("workers = 2", "active_decode_blocks_threshold = 0.5", &requests, &events);
    let workers: Vec<_> = case.by_request().iter().map(|ended| ended.attempt.worker()).collect();
    // The cursor stands at 3 when worker 1 comes back: 16 s still picks worker 2, as without the post; 17 s does not.
    assert_eq!(workers, [Some(2), Some(2), Some(2), Some(2), Some(1)]);
    let expected = (Some(at(11_000)), vec![(2, at(11_000)), (1, at(15_000))], Some(at(15_000)), Some(at(17_000)), [1, 1]);
    assert_eq!(stages(&case.result.updates[0]), expected);
}

#[test]
fn a_decode_threshold_set_for_the_first_time_looks_at_stored_values() {
    let events = event("0s", "load = [{ worker = 1, kv_used_blocks = 80 }, { worker = 2, kv_used_blocks = 10 }]")
        + &event("10s", "post_busy_threshold = { active_decode_blocks_threshold = 0.5 }")
        + &event("11s", "load = { worker = 2, kv_used_blocks = 10 }");
    let case = scenario("workers = 2", "", &[5_000, 12_000, 13_000], &events);
    let workers: Vec<_> = case.by_request().iter().map(|ended| ended.attempt.worker()).collect();
    assert_eq!(workers, [Some(1), Some(2), Some(2)]);
    let expected = (Some(at(11_000)), vec![(1, at(11_000)), (2, at(11_000))], Some(at(11_000)), Some(at(13_000)), [0, 0]);
    assert_eq!(stages(&case.result.updates[0]), expected);
}

#[test]
fn each_frontend_notices_by_the_events_that_reach_it() {
    let events = event("0s", "load = { worker = 1, active_prefill_tokens = 700 }")
        + &event("10s", "post_busy_threshold = { active_prefill_tokens_threshold = 500 }")
        + &event("12s", "load = { worker = 1, active_prefill_tokens = 700 }\nfrontends = [0]")
        + &event("14s", "load = { worker = 1, active_prefill_tokens = 700 }\nfrontends = [1]");
    let frontend = "frontends = 2\nactive_prefill_tokens_threshold = 1000";
    let case = scenario("workers = 1", frontend, &[13_000, 13_000, 15_000, 15_000], &events);
    assert_eq!(case.answers(), ["529", "OK", "529", "529"]);
    let lags: Vec<_> = case.result.updates.iter().map(|u| (u.frontend, u.noticed, u.effect, u.decisions)).collect();
    let expected = [(0, Some(at(12_000)), Some(at(13_000)), [0, 0]), (1, Some(at(14_000)), Some(at(15_000)), [1, 0])];
    assert_eq!(lags, expected);
}

#[test]
fn a_rank_whose_events_are_lost_never_follows_and_is_named() {
    let loads = "load = [{ worker = 1, rank = 0, kv_used_blocks = 50 }, { worker = 1, rank = 1, kv_used_blocks = 50 }]";
    let events = event("0s", loads)
        + &event("10s", "post_busy_threshold = { active_decode_blocks_threshold = 0.4 }")
        + &event("12s", "load = { worker = 1, rank = 0, kv_used_blocks = 50 }");
    let fleet = "workers = 1\ndata_parallel_size = 2";
    let case = scenario(fleet, "active_decode_blocks_threshold = 0.9", &[13_000, 14_000], &events);
    assert_eq!(case.answers(), ["OK", "OK"]);
    let update = &case.result.updates[0];
    assert_eq!(stages(update), (Some(at(12_000)), vec![], None, None, [0, 2]));
    assert_eq!(update.silent, [(1, vec![1])]);
}

#[test]
fn a_post_that_another_one_replaces_is_superseded() {
    let events = event("0s", "load = { worker = 1, active_prefill_tokens = 700 }")
        + &event("10s", "post_busy_threshold = { active_prefill_tokens_threshold = 800 }")
        + &event("11s", "post_busy_threshold = { active_prefill_tokens_threshold = 500 }")
        + &event("12s", "load = { worker = 1, active_prefill_tokens = 700 }");
    let case = scenario("workers = 1", "active_prefill_tokens_threshold = 1000", &[10_500, 11_500, 13_000], &events);
    assert_eq!(case.answers(), ["OK", "OK", "529"]);
    let [first, second] = &case.result.updates[..] else { panic!("two posts") };
    assert_eq!((first.superseded, first.effect_superseded, first.decisions), (Some(at(11_000)), Some(at(11_000)), [1, 0]));
    assert_eq!(stages(first), (None, vec![], None, None, [1, 0]));
    assert_eq!(stages(second), (Some(at(12_000)), vec![(1, at(12_000))], Some(at(12_000)), Some(at(13_000)), [1, 0]));
    assert_eq!((case.result.update_lags.changed, case.result.update_lags.superseded), (2, 1));
}

#[test]
fn equal_values_reads_and_refused_updates_change_nothing() {
    let events = event("1s", "post_busy_threshold = { active_prefill_tokens_threshold = 1000 }")
        + &event("2s", "post_busy_threshold = {}")
        + &event("3s", "post_busy_threshold = { active_decode_blocks_threshold = 1.5 }")
        + &event("4s", "load = { worker = 1, active_prefill_tokens = 1 }");
    let case = scenario("workers = 1", "active_prefill_tokens_threshold = 1000", &[5_000], &events);
    assert!(case.result.updates.iter().all(|u| u.is_no_op() && stages(u) == (None, vec![], None, None, [0, 0])));
    assert_eq!((case.result.update_lags.posts, case.result.update_lags.changed), (3, 0));
}

#[test]
fn a_hundred_thousand_periodic_posts_stay_within_their_bounds() {
    let post = |at: &str, limit: u64| {
        format!(
            "[[events]]\nat = \"{at}\"\nevery = \"200us\"\nuntil = \"19s\"\npost_busy_threshold = {{ \
             active_prefill_tokens_threshold = {limit} }}\n"
        )
    };
    let events = post("0s", 500)
        + &post("100us", 600)
        + "[[events]]\nat = \"50us\"\nevery = \"100us\"\nuntil = \"19s\"\nload = { worker = 1, active_prefill_tokens = 1 }\n";
    let case = scenario("workers = 3", "", &[], &events);
    let lags = &case.result.update_lags;
    assert_eq!((lags.posts, lags.superseded), (190_001, 0));
    assert_eq!(case.result.updates.len(), shedcast::experiment::result::MOST_UPDATES);
    assert_eq!(lags.noticed.max(), Some(50_000));
}
