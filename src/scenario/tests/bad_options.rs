//! Bad options and what is said of them.

use super::super::SetOption;
use super::option_faults;

#[test]
fn a_path_that_does_not_exist() {
    insta::assert_snapshot!(option_faults(&["fleet.worker=4"]), @r#"
    --set fleet.worker=4: `fleet.worker` is no key of `fleet`
      hint: did you mean `workers`?
    "#);
}

#[test]
fn a_path_through_a_text() {
    insta::assert_snapshot!(option_faults(&["fleet.engine.base=1"]), @r#"
    --set fleet.engine.base=1: `fleet.engine` is `"h100-llama-3.1-8b-bf16-vllm"`: `base` cannot be set inside it
      hint: set `fleet.engine` itself to a table first
    "#);
}

#[test]
fn an_entry_of_a_list_that_does_not_exist() {
    insta::assert_snapshot!(option_faults(&["events.0.at=1s"]), @"--set events.0.at=1s: `events` is a table: expected a list");
}

#[test]
fn an_entry_beyond_the_list() {
    insta::assert_snapshot!(option_faults(&[r#"events=[{at="1s", worker_leave=1}]"#, "events.1.at=2s", "events.x.at=2s"]), @r#"
    --set events.1.at=2s: `events` is a list of 1 entry: `1` is none of them
      hint: entries are counted from 0
    --set events.x.at=2s: `events` is a list of 1 entry: `x` is none of them
      hint: entries are counted from 0
    "#);
}

#[test]
fn a_value_out_of_range() {
    insta::assert_snapshot!(option_faults(&["fleet.workers=-1", "frontend.active_decode_blocks_threshold=1.5"]), @r#"
    --set fleet.workers=-1: `fleet.workers` is `-1`: expected a whole number from 0 to 65535
    --set frontend.active_decode_blocks_threshold=1.5: `frontend.active_decode_blocks_threshold` is `1.5`: expected a number from 0 to 1
    "#);
}

#[test]
fn a_duration_without_a_unit() {
    insta::assert_snapshot!(option_faults(&["horizon=600"]), @r#"
    --set horizon=600: `horizon` is `600`: expected a duration such as `"250ms"`, `"1.5s"` or `"10m"`
      hint: a duration is a text with a unit (ns, us, ms, s, m, h, d), such as `"600s"`
    "#);
}

#[test]
fn a_value_that_began_as_a_table() {
    insta::assert_snapshot!(option_faults(&["workload.arrivals={process=poisson}"]), @"--set workload.arrivals={process=poisson}: `{process=poisson}` is no valid TOML: string values must be quoted, expected literal string");
}

#[test]
fn an_empty_part_of_a_path() {
    insta::assert_snapshot!(option_faults(&["fleet..workers=1"]), @"--set fleet..workers=1: `fleet..workers` is no path: expected 1 to 32 keys with dots between them");
}

#[test]
fn a_path_that_is_far_too_deep() {
    insta::assert_snapshot!(option_faults(&["a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.b=1"]), @"--set a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.…=1: `a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.…` is no path: expected 1 to 32 keys with dots between them");
}

#[test]
fn a_bare_text_that_is_no_router_mode() {
    insta::assert_snapshot!(option_faults(&["frontend.router_mode=kvv"]), @r#"
    --set frontend.router_mode=kvv: `frontend.router_mode` is `"kvv"`: expected one of `round-robin`, `random`, `power-of-two`, `least-loaded`, `kv`
      hint: did you mean `kv`?
    "#);
}

#[test]
fn an_option_without_an_equals_sign() {
    insta::assert_snapshot!(SetOption::parse("--set", "fleet.workers").unwrap_err(), @"--set fleet.workers: expected `path=value`, such as `fleet.workers=4`");
    insta::assert_snapshot!(SetOption::parse("--grid", "=4").unwrap_err(), @"--grid =4: expected `path=value`, such as `fleet.workers=4`");
}

#[test]
fn a_number_where_a_text_belongs() {
    insta::assert_snapshot!(option_faults(&["frontend.model=405"]), @r#"
    --set frontend.model=405: `frontend.model` is `405`: expected a text
      hint: a text stands in quotes
    "#);
}
