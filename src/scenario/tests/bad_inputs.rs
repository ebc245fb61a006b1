//! Bad files and what is said of them.

use super::{BASE, OPAQUE, faults};

#[test]
fn a_misspelt_key_names_the_nearest_valid_one() {
    let text = &format!(
        "{BASE}{}",
        r#"[frontend]
active_decode_block_threshold = 0.85
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:11:1: `frontend.active_decode_block_threshold` is no key of `frontend`
      hint: did you mean `active_decode_blocks_threshold`?
    "#);
}

#[test]
fn an_unknown_key_without_a_neighbour_lists_the_keys() {
    let text = &format!(
        "{BASE}{}",
        r#"[slo]
latency = "2s"
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:11:1: `slo.latency` is no key of `slo`
      hint: the keys of `slo` are `ttft`, `tpot`, `e2e`
    "#);
}

#[test]
fn an_unknown_table_is_refused() {
    let text = &format!(
        "{BASE}{}",
        r#"[frontends]
router_mode = "kv"
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:10:2: `frontends` is no key of a scenario
      hint: did you mean `frontend`?
    "#);
}

#[test]
fn what_is_not_toml_names_every_bad_line() {
    let text = r#"name = "x
[fleet
workers = = 3
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:1:10: no valid TOML: invalid basic string, expected `"`
    burst.toml:2:7: no valid TOML: unclosed table, expected `]`
    burst.toml:3:11: no valid TOML: extra `=`, expected nothing
    burst.toml:3:13: no valid TOML: unexpected key or value, expected newline, `#`
    "#);
}

#[test]
fn a_duplicate_key_is_refused() {
    let text = r#"[fleet]
workers = 1
workers = 2
"#;
    insta::assert_snapshot!(faults(text), @"burst.toml:3:1: no valid TOML: duplicate key `workers`: it stands in line 2 already");
}

#[test]
fn an_empty_file_says_what_is_missing() {
    let text = r#""#;
    insta::assert_snapshot!(faults(text), @"burst.toml: `fleet` is missing: expected a table with `workers` and an `engine`");
}

#[test]
fn a_fleet_without_workers_and_engine_says_both() {
    let text = r#"horizon = "1s"
[fleet]
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:2:1: `fleet.workers` is missing: expected how many workers there are
    burst.toml:2:1: `fleet.engine` is missing: expected a preset, coefficients, or `service_time`
      hint: for example `engine = "h100-llama-3.1-8b-bf16-vllm"`
    "#);
}

#[test]
fn negative_workers() {
    let text = r#"horizon = "1s"
[fleet]
workers = -1
service_time = "1s"
"#;
    insta::assert_snapshot!(faults(text), @"burst.toml:3:11: `fleet.workers` is `-1`: expected a whole number from 0 to 65535");
}

#[test]
fn fractional_workers() {
    let text = r#"horizon = "1s"
[fleet]
workers = 2.0
service_time = "1s"
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:3:11: `fleet.workers` is `2.0`: expected a whole number from 0 to 65535
      hint: write it without a decimal point or exponent: `2`
    "#);
}

#[test]
fn workers_as_a_text() {
    let text = r#"horizon = "1s"
[fleet]
workers = "4"
service_time = "1s"
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:3:11: `fleet.workers` is `"4"`: expected a whole number from 0 to 65535
      hint: write the number without quotes: `4`
    "#);
}

#[test]
fn workers_beyond_any_integer() {
    let text = r#"horizon = "1s"
[fleet]
workers = 99999999999999999999999999
service_time = "1s"
"#;
    insta::assert_snapshot!(faults(text), @"burst.toml:3:11: `fleet.workers` is `99999999999999999999999999`: expected a whole number from 0 to 65535");
}

#[test]
fn too_many_ranks_in_all() {
    let text = r#"horizon = "1s"
[fleet]
workers = 60000
data_parallel_size = 1024
service_time = "1s"
"#;
    insta::assert_snapshot!(faults(text), @"burst.toml:4:22: `fleet` has 61440000 ranks in all: expected at most 1048576");
}

#[test]
fn a_horizon_without_unit() {
    let text = &format!(
        "{}{OPAQUE}",
        r#"horizon = 600
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:1:11: `horizon` is `600`: expected a duration such as `"250ms"`, `"1.5s"` or `"10m"`
      hint: a duration is a text with a unit (ns, us, ms, s, m, h, d), such as `"600s"`
    "#);
}

#[test]
fn a_horizon_with_an_unknown_unit() {
    let text = &format!(
        "{}{OPAQUE}",
        r#"horizon = "10 minutes"
"#
    );
    insta::assert_snapshot!(faults(text), @r#"burst.toml:1:11: `horizon` is `"10 minutes"`: `minutes` is no unit of time: expected ns, us, ms, s, m, h or d"#);
}

#[test]
fn a_negative_horizon() {
    let text = &format!(
        "{}{OPAQUE}",
        r#"horizon = "-1s"
"#
    );
    insta::assert_snapshot!(faults(text), @r#"burst.toml:1:11: `horizon` is `"-1s"`: a duration cannot be negative"#);
}

#[test]
fn a_horizon_finer_than_the_clock() {
    let text = &format!(
        "{}{OPAQUE}",
        r#"horizon = "0.5ns"
"#
    );
    insta::assert_snapshot!(faults(text), @r#"burst.toml:1:11: `horizon` is `"0.5ns"`: the clock counts whole nanoseconds: the value has finer digits"#);
}

#[test]
fn a_service_time_beyond_any_clock() {
    let text = r#"horizon = "1s"
[fleet]
workers = 1
service_time = "1e30s"
"#;
    insta::assert_snapshot!(faults(text), @r#"burst.toml:4:16: `fleet.service_time` is `"1e30s"`: `e` is no unit of time: expected ns, us, ms, s, m, h or d"#);
}

#[test]
fn a_horizon_of_a_million_years() {
    let text = &format!(
        "{}{OPAQUE}",
        r#"horizon = "9999999999h"
"#
    );
    insta::assert_snapshot!(faults(text), @r#"burst.toml:1:11: `horizon` is `"9999999999h"`: too long: the clock holds 584 years"#);
}

#[test]
fn n_of_zero_says_how_to_go_without() {
    let text = &format!(
        "{OPAQUE}{}",
        r#"engine_request_limit = 0
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:7:24: `fleet.engine_request_limit` is `0`: expected a whole number from 1 to 1000000000
      hint: leave `engine_request_limit` out, or set it to `"none"`, to run without a gate
    "#);
}

#[test]
fn q_of_one_names_the_minimum() {
    let text = &format!(
        "{OPAQUE}{}",
        r#"engine_request_limit = 2
request_queue_limit = 1
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:8:23: `fleet.request_queue_limit` is `1`: expected a whole number from 2 to 1000000000
      hint: the minimum is 2: one request waits in the channel and one with the dispatcher
    "#);
}

#[test]
fn q_of_zero_names_the_minimum() {
    let text = &format!(
        "{OPAQUE}{}",
        r#"engine_request_limit = 2
request_queue_limit = 0
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:8:23: `fleet.request_queue_limit` is `0`: expected a whole number from 2 to 1000000000
      hint: the minimum is 2: one request waits in the channel and one with the dispatcher
    "#);
}

#[test]
fn an_engine_beside_a_service_time() {
    let text = &format!(
        "{OPAQUE}{}",
        r#"engine = "dynamo-mocker"
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:7:10: `fleet.engine` cannot be given here: `service_time` makes the workers opaque
      hint: remove `engine`, or remove `service_time`
    "#);
}

#[test]
fn seats_of_an_opaque_worker() {
    let text = &format!(
        "{OPAQUE}{}",
        r#"max_num_seqs = 4
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:7:16: `fleet.max_num_seqs` cannot be given here: an opaque worker knows nothing but its service time
      hint: give an `engine` instead of `service_time`, or remove the field
    "#);
}

#[test]
fn an_unknown_preset_names_its_neighbour() {
    let text = r#"horizon = "1s"
[fleet]
workers = 1
engine = "h100-llama-3-8b-bf16-vllm"
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:4:10: `fleet.engine` is `"h100-llama-3-8b-bf16-vllm"`: there is no preset of that name
      hint: did you mean `h100-llama-3.1-8b-bf16-vllm`?
    "#);
}

#[test]
fn coefficients_without_blocks() {
    let text = r#"horizon = "1s"
[fleet]
workers = 1
engine = { base = 0.0175, prefill = "104.1us" }
"#;
    insta::assert_snapshot!(faults(text), @"burst.toml:2:1: `fleet.kv_total_blocks` is missing: expected the KV blocks of a rank, 1 or more");
}

#[test]
fn blocks_that_are_given_as_none_at_all() {
    let text = &BASE.replace("[fleet]\n", "[fleet]\nkv_total_blocks = 0\n");
    insta::assert_snapshot!(faults(text), @"burst.toml:4:19: `fleet.kv_total_blocks` is `0`: expected the KV blocks of a rank, 1 or more");
}

#[test]
fn a_time_series_of_too_many_rows() {
    let text = &format!("{BASE}{}", "[output]\ntimeseries_interval = \"1ns\"\n");
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:11:23: `output.timeseries_interval` is `"1ns"`: 600000000000 rows until the horizon, expected at most 10000000
      hint: give `"60us"` or more, or `"auto"`
    "#);
}

#[test]
fn shares_as_percentages_and_with_a_comma() {
    let text = &format!(
        "{BASE}{}",
        r#"[frontend]
active_decode_blocks_threshold = 80
active_prefill_tokens_threshold_frac = "0,8"
[telemetry]
loss = "80%"
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:11:34: `frontend.active_decode_blocks_threshold` is `80`: expected a number from 0 to 1
      hint: write `0.8`
    burst.toml:12:40: `frontend.active_prefill_tokens_threshold_frac` is `"0,8"`: expected a finite number of 0 or more
      hint: write `0.8`
    burst.toml:14:8: `telemetry.loss` is `"80%"`: expected a number from 0 to 1
      hint: write `0.8`
    "#);
}

#[test]
fn coefficients_without_unit_too_few_negative_or_unnamed() {
    let text = r#"horizon = "1s"
[fleet]
workers = 1
kv_total_blocks = 100
engine = { prefill = [5.28, 0.01655], decode = ["6.4", -0.011, "4.17e-5 ms"], fixed = 3 }
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:5:22: `fleet.engine.prefill` is a list: expected a list of three coefficients, in milliseconds or with a unit
    burst.toml:5:49: `fleet.engine.decode.0` is `"6.4"`: a duration needs a unit: s, ms, us, ns, ps, fs or as
    burst.toml:5:56: `fleet.engine.decode.1` is `-0.011`: a step time cannot be negative
    burst.toml:5:79: `fleet.engine.fixed` is no key of `fleet.engine`
      hint: the keys of `fleet.engine` are `preset`, `served_factor`, `prefill`, `decode`
    "#);
}

#[test]
fn an_engine_that_takes_no_time() {
    let text = r#"horizon = "1s"
[fleet]
workers = 1
kv_total_blocks = 100
engine = { base = 0 }
"#;
    insta::assert_snapshot!(faults(text), @"burst.toml:5:10: all step times of `fleet.engine` are zero: expected at least one above zero");
}

#[test]
fn an_engine_table_without_step_times() {
    let text = r#"horizon = "1s"
[fleet]
workers = 1
engine = { served_factor = 1.1 }
"#;
    insta::assert_snapshot!(faults(text), @"burst.toml:4:10: `fleet.engine` has no step times: expected `preset`, or `base` and its kin in seconds, or the lists `prefill` and `decode` in milliseconds");
}

#[test]
fn fewer_tokens_than_seats() {
    let text = r#"horizon = "1s"
[fleet]
workers = 1
engine = "dynamo-mocker"
max_num_batched_tokens = 128
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:5:26: `fleet.max_num_batched_tokens` is `128`: expected at least `max_num_seqs` = `256`, as vLLM does
      hint: each running sequence takes a token of a step
    "#);
}

#[test]
fn both_names_of_the_block_size() {
    let text = r#"horizon = "1s"
[fleet]
workers = 1
engine = "dynamo-mocker"
block_size = 16
kv_cache_block_size = 16
"#;
    insta::assert_snapshot!(faults(text), @"burst.toml:5:14: `fleet.block_size` is another name of `kv_cache_block_size`: give only one of them");
}

#[test]
fn an_advertised_number_of_ranks_cannot_be_absent() {
    let text = r#"horizon = "1s"
[fleet]
workers = 1
engine = "dynamo-mocker"
[fleet.advertised]
data_parallel_size = "absent"
kv_total_blocks = "unknown"
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:6:22: `fleet.advertised.data_parallel_size` is `"absent"`: expected a whole number from 1 to 1024, or `"truth"`
    burst.toml:7:19: `fleet.advertised.kv_total_blocks` is `"unknown"`: expected a whole number from 0 to 1000000000000, `"truth"` or `"absent"`
    "#);
}

#[test]
fn worker_types_need_names_of_their_own_and_their_own_numbers() {
    let text = r#"horizon = "1s"
[fleet]
workers = 3
engine = "dynamo-mocker"
[[fleet.worker_types]]
name = "a"
workers = 1
[[fleet.worker_types]]
name = "a"
workers = 1
cost = -2
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:3:11: `fleet.workers` cannot be given here: the worker types say how many there are
      hint: give `workers` in each of `fleet.worker_types`
    burst.toml:9:8: `fleet.worker_types.1.name` is `"a"`: another worker type has this name
    burst.toml:11:8: `fleet.worker_types.1.cost` is `-2`: expected a finite number of 0 or more
    "#);
}

#[test]
fn an_empty_list_of_worker_types() {
    let text = r#"horizon = "1s"
[fleet]
worker_types = []
"#;
    insta::assert_snapshot!(faults(text), @"burst.toml:3:16: `fleet.worker_types` is an empty list: expected at least one entry");
}

#[test]
fn thresholds_out_of_range() {
    let text = &format!(
        "{BASE}{}",
        r#"[frontend]
active_decode_blocks_threshold = 1.5
active_prefill_tokens_threshold = -1
active_prefill_tokens_threshold_frac = inf
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:11:34: `frontend.active_decode_blocks_threshold` is `1.5`: expected a number from 0 to 1
    burst.toml:12:35: `frontend.active_prefill_tokens_threshold` is `-1`: expected a whole number of 0 or more
    burst.toml:13:40: `frontend.active_prefill_tokens_threshold_frac` is `inf`: expected a finite number of 0 or more
    "#);
}

#[test]
fn a_threshold_that_is_not_a_number() {
    let text = &format!(
        "{BASE}{}",
        r#"[frontend]
active_decode_blocks_threshold = nan
"#
    );
    insta::assert_snapshot!(faults(text), @"burst.toml:11:34: `frontend.active_decode_blocks_threshold` is `nan`: expected a number from 0 to 1");
}

#[test]
fn an_overload_status_that_is_none() {
    let text = &format!(
        "{BASE}{}",
        r#"[frontend]
overload_status_code = 1000
"#
    );
    insta::assert_snapshot!(faults(text), @"burst.toml:11:24: `frontend.overload_status_code` is `1000`: expected a whole number from 200 to 999");
}

#[test]
fn both_names_of_the_overload_status() {
    let text = &format!(
        "{BASE}{}",
        r#"[frontend]
overload_status_code = 529
http_overload_status_code = 503
"#
    );
    insta::assert_snapshot!(faults(text), @"burst.toml:12:29: `frontend.http_overload_status_code` is another name of `overload_status_code`: give only one of them");
}

#[test]
fn a_router_mode_that_does_not_exist() {
    let text = &format!(
        "{BASE}{}",
        r#"[frontend]
router_mode = "round-robbin"
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:11:15: `frontend.router_mode` is `"round-robbin"`: expected one of `round-robin`, `random`, `power-of-two`, `least-loaded`, `kv`
      hint: did you mean `round-robin`?
    "#);
}

#[test]
fn output_blocks_without_prompt_blocks() {
    let text = &format!(
        "{BASE}{}",
        r#"[frontend]
router_track_output_blocks = true
router_track_active_blocks = false
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:11:30: `frontend.router_track_output_blocks` is `true` while `router_track_active_blocks` is `false`: expected prompt blocks to be tracked where output blocks are
      hint: the release refuses this combination too
    "#);
}

#[test]
fn weights_that_do_not_fit_the_frontends() {
    let text = &format!(
        "{BASE}{}",
        r#"[frontend]
frontends = 3
spread = [1, 2]
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:12:10: `frontend.spread` has 2 weights: expected 3, one for each frontend
      hint: `frontends` says how many there are
    "#);
}

#[test]
fn a_loss_that_is_no_share() {
    let text = &format!(
        "{BASE}{}",
        r#"[telemetry]
loss = 1.01
delay = { distribution = "gamma", mean = "5ms" }
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:11:8: `telemetry.loss` is `1.01`: expected a number from 0 to 1
    burst.toml:12:9: `telemetry.delay.cv` is missing: expected a coefficient of variation above 0
    "#);
}

#[test]
fn a_rate_that_is_negative_and_one_that_goes_back_in_time() {
    let text = r#"horizon = "1s"
[fleet]
workers = 1
service_time = "1s"
[[workload.classes]]
class = "a"
arrivals = { process = "poisson", rate = -4 }
[[workload.classes]]
class = "b"
arrivals = { process = "constant", rate = [{ at = "0s", rate = 1 }, { at = "5s", rate = 2 }, { at = "5s", rate = 3 }] }
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:7:42: `workload.classes.0.arrivals.rate` is `-4`: expected a number from 0 to 1000000000
    burst.toml:10:43: `workload.classes.1.arrivals.rate.2.at` is `"5s"`: expected later than the piece before, `"5s"`
    "#);
}

#[test]
fn arrivals_that_are_just_a_number() {
    let text = r#"horizon = "1s"
[fleet]
workers = 1
service_time = "1s"
[workload]
arrivals = 40
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:6:12: `workload.arrivals` is `40`: expected a table with a `process` and its `rate`
      hint: for example `{ process = "poisson", rate = 40 }`
    "#);
}

#[test]
fn a_rate_that_does_not_begin_at_the_start() {
    let text = r#"horizon = "1s"
[fleet]
workers = 1
service_time = "1s"
[workload]
arrivals = { process = "poisson", rate = [{ at = "1s", rate = 1 }] }
"#;
    insta::assert_snapshot!(faults(text), @r#"burst.toml:6:42: `workload.arrivals.rate.0.at` is `"1s"`: expected `"0s"`, the start of the run"#);
}

#[test]
fn lengths_that_no_lognormal_has_and_a_missing_one() {
    let text = r#"horizon = "1s"
[fleet]
workers = 1
engine = "dynamo-mocker"
[workload]
arrivals = { process = "poisson", rate = 1 }
input_tokens = { distribution = "lognormal", mean = 100, p99 = 5000 }
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:5:1: `workload.output_tokens` is missing: expected a number of tokens, or a table with a `distribution`; or give `lengths` as pairs
    burst.toml:7:64: `workload.input_tokens.p99` is `5000` at `mean` = `100`: expected a number from the mean to 14.96 times the mean
      hint: no lognormal has a tail beyond that: use `pareto`, `empirical` or `mixture`
    "#);
}

#[test]
fn an_output_of_no_tokens() {
    let text = r#"horizon = "1s"
[fleet]
workers = 1
engine = "dynamo-mocker"
[workload]
arrivals = { process = "poisson", rate = 1 }
input_tokens = 0
output_tokens = 0
"#;
    insta::assert_snapshot!(faults(text), @"burst.toml:8:17: `workload.output_tokens` is `0`: expected a whole number from 1 to 16777216");
}

#[test]
fn weights_that_do_not_fit_the_values() {
    let text = r#"horizon = "1s"
[fleet]
workers = 1
engine = "dynamo-mocker"
[workload]
arrivals = { process = "poisson", rate = 1 }
input_tokens = { distribution = "empirical", values = [1, 2], weights = [1] }
output_tokens = { distribution = "empirical", values = [] }
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:7:73: `workload.input_tokens.weights` has 1 entries: expected 2, one for each of `values`
    burst.toml:8:56: `workload.output_tokens.values` is an empty list: expected at least one entry
    "#);
}

#[test]
fn a_trace_that_does_not_exist() {
    let text = &format!(
        "{OPAQUE}{}",
        r#"[workload]
trace = "no/such/trace.csv"
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:8:9: `workload.trace` is `"no/such/trace.csv"`: no such file (tried `no/such/trace.csv`)
      hint: a relative path is taken from the scenario's folder, then from the working directory
    "#);
}

#[test]
fn a_trace_that_is_a_directory() {
    let text = &format!(
        "{OPAQUE}{}",
        r#"[workload]
trace = { path = "." }
"#
    );
    insta::assert_snapshot!(faults(text), @r#"burst.toml:8:18: `workload.trace.path` is `"."`: expected a trace file; only a pool of ServeGen clients is a folder"#);
}

#[test]
fn arrivals_that_never_end_without_a_horizon() {
    let text = r#"[fleet]
workers = 1
service_time = "1s"
[workload]
arrivals = { process = "poisson", rate = 1 }
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml: the run has no end: the arrivals of class `default` go on for ever, and neither `horizon` nor `requests` is given
      hint: add `horizon = "10m"` or `requests = 100000`
    "#);
}

#[test]
fn a_closed_loop_that_never_ends() {
    let text = &format!(
        "{OPAQUE}{}",
        r#"[clients]
max_in_flight = 8
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml: the run has no end: a closed loop goes on for ever, and neither `horizon` nor `requests` is given
      hint: add `horizon = "10m"` or `requests = 100000`
    "#);
}

#[test]
fn arrivals_in_a_closed_loop() {
    let text = &format!(
        "{BASE}{}",
        r#"[clients]
closed_loop = { users = 8 }
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:7:12: `workload.arrivals` cannot be given here: in a closed loop the clients decide when requests arrive
      hint: remove it, or remove `clients.closed_loop`
    "#);
}

#[test]
fn a_retry_that_is_incomplete_and_one_status_twice() {
    let text = &format!(
        "{BASE}{}",
        r#"[clients]
retry = { statuses = [529, 529, 99], backoff = "expo", jitter = true }
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:11:9: `clients.retry.attempts` is missing: expected how many attempts there are in all, the first included
    burst.toml:11:28: `clients.retry.statuses.1` is `529`: it is in the list already
    burst.toml:11:33: `clients.retry.statuses.2` is `99`: expected a whole number from 400 to 999
    burst.toml:11:48: `clients.retry.backoff` is `"expo"`: expected one of `fixed`, `exponential`
    burst.toml:11:65: `clients.retry.jitter` is `true`: expected one of `none`, `full`, `equal`
    "#);
}

#[test]
fn a_longest_back_off_below_the_first() {
    let text = &format!(
        "{BASE}{}",
        r#"[clients]
retry = { statuses = [529], attempts = 3, initial = "2s", max = "1s" }
patience = "0s"
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:11:65: `clients.retry.max` is `"1s"`: expected at least `initial` = `"2s"`
    burst.toml:12:12: `clients.patience` is `"0s"`: expected a duration above zero
    "#);
}

#[test]
fn events_naming_workers_and_frontends_that_do_not_exist() {
    let text = &format!(
        "{BASE}{}",
        r#"[[events]]
at = "1s"
worker_leave = 3
[[events]]
at = "1s"
load = { worker = 0, kv_used_blocks = 4 }
[[events]]
at = "1s"
report_down = 1
frontends = [0, 1]
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:12:16: `events.0.worker_leave` is `3`: expected a worker that exists, 1 to 2
      hint: workers that join later are counted by `standby`
    burst.toml:15:19: `events.1.load.worker` is `0`: expected a whole number from 1 to 65535
    burst.toml:19:17: `events.2.frontends.1` is `1`: expected a whole number from 0 to 0
    "#);
}

#[test]
fn events_with_no_action_two_or_a_misspelt_one() {
    let text = &format!(
        "{BASE}{}",
        r#"[[events]]
at = "1s"
[[events]]
at = "2s"
worker_leave = 1
worker_join = 1
[[events]]
at = "3s"
post_busy_thresholds = { active_decode_blocks_threshold = 0.5 }
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:10:1: `events.0` does nothing: expected exactly one of `post_busy_threshold`, `load`, `scheduler_load`, `worker_leave`, `worker_join`, `report_down`, `runtime_config`, `worker_crash`, `worker_drain`, `worker_slow`, `network_delay`, `scale`, `telemetry_outage`, `telemetry_freeze`
    burst.toml:14:16: `events.1` has `worker_leave`, `worker_join`: expected exactly one action
      hint: write one `[[events]]` for each
    burst.toml:16:1: `events.2` does nothing: expected exactly one of `post_busy_threshold`, `load`, `scheduler_load`, `worker_leave`, `worker_join`, `report_down`, `runtime_config`, `worker_crash`, `worker_drain`, `worker_slow`, `network_delay`, `scale`, `telemetry_outage`, `telemetry_freeze`
    burst.toml:18:1: `events.2.post_busy_thresholds` is no key of `events.2`
      hint: did you mean `post_busy_threshold`?
    "#);
}

#[test]
fn faults_of_the_cluster_that_cannot_be() {
    let text = &format!(
        "{BASE}{}",
        r#"[[events]]
at = "1s"
worker_crash = { worker = 1, load_time = "1s" }
[[events]]
at = "2s"
worker_slow = { worker = 1, factor = 0 }
[[events]]
at = "3s"
network_delay = { delay = "1ms", worker = 3 }
[[events]]
at = "4s"
scale = { workers = 3 }
[[events]]
at = "5s"
telemetry_outage = { worker = 1 }
[[events]]
at = "6s"
telemetry_freeze = "0s"
frontends = [0]
"#
    );
    let said = faults(text);
    for part in [
        "`events.0.worker_crash.load_time`",
        "`events.1.worker_slow.factor` is `0`",
        "`events.2.network_delay.worker` is `3`: expected a worker that exists, 1 to 2",
        "`events.3.scale.workers` is `3`: expected at most 2, the workers that exist",
        "raise `standby` in the fleet",
        "`events.4.telemetry_outage.for` is missing",
        "`events.5.telemetry_freeze` is `\"0s\"`: expected a duration above zero",
    ] {
        assert!(said.contains(part), "{part} is not in:\n{said}");
    }
}

#[test]
fn an_event_without_an_instant_and_one_that_ends_before_it_begins() {
    let text = &format!(
        "{BASE}{}",
        r#"[[events]]
worker_leave = 1
[[events]]
at = "5s"
every = "0s"
until = "1s"
worker_leave = 1
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:10:1: `events.0.at` is missing: expected the instant of the event
    burst.toml:14:9: `events.1.every` is `"0s"`: expected a duration above zero
    burst.toml:15:9: `events.1.until` needs `every`: an event without it happens once
    "#);
}

#[test]
fn asking_to_unset_a_threshold_at_run_time() {
    let text = &format!(
        "{BASE}{}",
        r#"[[events]]
at = "1s"
post_busy_threshold = { active_decode_blocks_threshold = "none", active_prefill_tokens_threshold = false }
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:12:58: `events.0.post_busy_threshold.active_decode_blocks_threshold` is `"none"`: nothing can be unset at run time
      hint: a field that is left out keeps its value; a check can be made harmless by a high value, but not removed
    burst.toml:12:100: `events.0.post_busy_threshold.active_prefill_tokens_threshold` is `false`: nothing can be unset at run time
      hint: a field that is left out keeps its value; a check can be made harmless by a high value, but not removed
    "#);
}

#[test]
fn a_posted_threshold_that_is_no_number() {
    let text = &format!(
        "{BASE}{}",
        r#"[[events]]
at = "1s"
post_busy_threshold = { active_decode_blocks_threshold = "0.6", active_prefill_tokens_threshold = 0.5 }
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:12:58: `events.0.post_busy_threshold.active_decode_blocks_threshold` is `"0.6"`: expected a number
    burst.toml:12:99: `events.0.post_busy_threshold.active_prefill_tokens_threshold` is `0.5`: expected a whole number of 0 or more
    "#);
}

#[test]
fn a_runtime_configuration_that_changes_nothing() {
    let text = &format!(
        "{BASE}{}",
        r#"[[events]]
at = "1s"
runtime_config = { worker = 1 }
"#
    );
    insta::assert_snapshot!(faults(text), @"burst.toml:12:18: `events.0.runtime_config` changes nothing: expected one of `data_parallel_size`, `kv_total_blocks`, `max_num_batched_tokens`");
}

#[test]
fn an_incomplete_scheduler_batch() {
    let text = &format!(
        "{BASE}{}",
        r#"[[events]]
at = "1s"
scheduler_load = [{ worker = 1, active_decode_blocks = 20 }]
"#
    );
    insta::assert_snapshot!(faults(text), @"burst.toml:12:19: `events.0.scheduler_load.0.active_prefill_tokens` is missing: expected tokens: a batch of the router always carries them");
}

#[test]
fn events_as_a_table() {
    let text = &format!(
        "{BASE}{}",
        r#"[events]
at = "1s"
"#
    );
    insta::assert_snapshot!(faults(text), @"burst.toml:10:1: `events` is a table: expected a list");
}

#[test]
fn a_name_that_is_no_folder() {
    let text = &format!(
        "{}{OPAQUE}",
        r#"name = "../secrets"
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:1:8: `name` is `"../secrets"`: expected a name without control characters and without any of `/ \ : * ? " < > |`
      hint: the name is that of the folder of the results
    "#);
}

#[test]
fn a_name_that_is_too_long() {
    let text = &format!(
        "{}{OPAQUE}",
        r#"name = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
"#
    );
    insta::assert_snapshot!(faults(text), @r#"burst.toml:1:8: `name` is `"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"`: expected a text of 1 to 100 characters"#);
}

#[test]
fn a_warm_up_as_long_as_the_run_and_phases_out_of_order() {
    let text = r#"horizon = "10s"
warmup = "10s"
phases = ["5s", "3s", "11s"]
[fleet]
workers = 1
service_time = "1s"
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:2:10: `warmup` is `"10s"`: expected less than `horizon` = `"10s"`
    burst.toml:3:17: `phases.1` is `"3s"`: expected later than `"5s"`
    burst.toml:3:23: `phases.2` is `"11s"`: expected before `horizon` = `"10s"`
    "#);
}

#[test]
fn listed_requests_with_a_count_a_worker_and_a_service_time_that_make_no_sense() {
    let text = &format!(
        "{BASE}{}",
        r#"[[workload.requests]]
at = "1s"
input_tokens = 10
output_tokens = 1
service_time = "1s"
worker = 9
every = "1s"
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:14:16: `workload.requests.0.service_time` cannot be given here: batching workers compute it from the tokens
      hint: give `fleet.service_time` for opaque workers
    burst.toml:15:10: `workload.requests.0.worker` is `9`: expected a worker that exists, 1 to 2
      hint: workers that join later are counted by `standby`
    burst.toml:16:9: `workload.requests.0.every` needs `count`: how many requests are that far apart
    "#);
}

#[test]
fn requests_without_the_service_time_they_need() {
    let text = r#"[fleet]
workers = 1
service_time = "per_request"
[[workload.requests]]
at = "1s"
[[workload.classes]]
class = "a"
arrivals = { process = "poisson", rate = [{ at = "0s", rate = 1 }, { at = "9s", rate = 0 }] }
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:4:1: `workload.requests.0.service_time` is missing: expected a duration, because `fleet.service_time` is `"per_request"`
    burst.toml:4:3: `fleet.service_time` is `"per_request"`, but generated requests bring none: expected a distribution there
      hint: requests of a trace or of `workload.requests` may bring a service time
    "#);
}

#[test]
fn single_arrivals_beside_classes() {
    let text = &format!(
        "{BASE}{}",
        r#"[[workload.classes]]
class = "a"
arrivals = { process = "poisson", rate = 1 }
input_tokens = 1
output_tokens = 1
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:7:12: `workload.arrivals` is for classes without arrivals of their own, and there is none
      hint: remove it, or the `arrivals` of the classes that shall share it
    burst.toml:8:16: `workload.input_tokens` cannot be given here: the classes say it
      hint: move it into one of `workload.classes`
    burst.toml:9:17: `workload.output_tokens` cannot be given here: the classes say it
      hint: move it into one of `workload.classes`
    "#);
}

#[test]
fn pairs_of_lengths_that_make_no_sense() {
    let text = &format!(
        "{OPAQUE}{}",
        r#"[[workload.classes]]
class = "a"
arrivals = { process = "poisson", rate = [{ at = "0s", rate = 1 }, { at = "9s", rate = 0 }] }
input_tokens = 5
lengths = { pairs = [[5], [1, 0], [1, 2, 0], [1, 2]] }
[[workload.classes]]
class = "b"
weight = 2
arrivals = { process = "poisson", rate = [{ at = "0s", rate = 1 }, { at = "9s", rate = 0 }] }
lengths = { pieces = [{ at = "1s", pairs = [[1, 2]] }], at_column = "t" }
[[workload.classes]]
class = "c"
arrivals = { process = "poisson", rate = [{ at = "0s", rate = 1 }, { at = "9s", rate = 0 }] }
lengths = { csv = "Cargo.toml" }
[[workload.classes]]
class = "d"
lengths = {}
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:10:16: `workload.classes.0.input_tokens` cannot be given here: `lengths` says it
      hint: give one of them only
    burst.toml:11:22: `workload.classes.0.lengths.pairs.0` has one number: expected `[input, output]` or `[input, output, weight]`
    burst.toml:11:31: `workload.classes.0.lengths.pairs.1.1` is `0`: expected a whole number from 1 to 16777216
    burst.toml:11:42: `workload.classes.0.lengths.pairs.2.2` is `0`: expected a finite number above 0
    burst.toml:14:10: `workload.classes.1.weight` cannot be given here: the class has arrivals of its own
      hint: remove it, or its `arrivals` so that it shares `workload.arrivals`
    burst.toml:16:22: `workload.classes.1.lengths.pieces.0.at` is `"1s"`: expected `"0s"`, the start of the run
    burst.toml:16:69: `workload.classes.1.lengths.at_column` cannot be given here: it names a column of `csv`
      hint: remove it, or give the `csv`
    burst.toml:20:19: `workload.classes.2.lengths.csv`: Cargo.toml: no column `input_tokens`
      hint: the file has `[package]`
    burst.toml:21:1: `workload.classes.3.arrivals` is missing: expected an arrival process, such as `{ process = "poisson", rate = 40 }`
    burst.toml:23:11: `workload.classes.3.lengths` has 0 of `pairs`, `pieces` and `csv`: expected one of them
      hint: for example `{ pairs = [[1200, 80], [300, 250]] }`
    "#);
}

#[test]
fn sessions_that_make_no_sense() {
    let text = &format!(
        "requests = 5\n{OPAQUE}{}",
        r#"[workload]
input_tokens = { distribution = "empirical", csv = "Cargo.toml", values = [1] }
[clients]
closed_loop = { users = 1, context = "grow", max_context_tokens = 1 }
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:9:16: `workload.input_tokens.column` is missing: expected the column of the token counts
    burst.toml:9:75: `workload.input_tokens.values` cannot be given here: the values come from `csv`
      hint: give one of them only
    burst.toml:11:38: `clients.closed_loop.context` cannot be given here: it is about sessions of several turns
      hint: give `turns`, how many a session has
    burst.toml:11:67: `clients.closed_loop.max_context_tokens` cannot be given here: it is about sessions of several turns
      hint: give `turns`, how many a session has
    "#);
    let text = &format!(
        "requests = 5\n{OPAQUE}{}",
        r#"[clients]
closed_loop = { users = 1, turns = 0, context = "growing", max_context_tokens = 1, at_max_context = "cut" }
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:9:36: `clients.closed_loop.turns` is `0`: expected a whole number from 1 to 16777216
    burst.toml:9:49: `clients.closed_loop.context` is `"growing"`: expected one of `none`, `grow`
    burst.toml:9:81: `clients.closed_loop.max_context_tokens` is `1`: expected a whole number from 2 to 16777216
    "#);
}

#[test]
fn limits_given_twice() {
    let text = r#"max_events = 5
horizon = "1s"
[limits]
max_events = 6
max_requests_in_system = 0
[fleet]
workers = 1
service_time = "1s"
"#;
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:4:14: `limits.max_events` cannot be given here: it stands at the top level already
      hint: give only one of them
    burst.toml:5:26: `limits.max_requests_in_system` is `0`: expected a whole number from 1 to 1000000000
    "#);
}

#[test]
fn a_table_where_a_duration_belongs_and_a_date_where_a_number_belongs() {
    let text = &format!(
        "{BASE}{}",
        r#"[slo]
ttft = { mean = "1s" }
[frontend]
migration_limit = 2024-05-10
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:11:8: `slo.ttft` is a table: expected a duration such as `"250ms"`, `"1.5s"` or `"10m"`
      hint: a duration is a text with a unit (ns, us, ms, s, m, h, d), such as `"1.5s"`
    burst.toml:13:19: `frontend.migration_limit` is `2024-05-10`: expected a whole number from 0 to 4294967295
    "#);
}

#[test]
fn reserved_tables_must_be_tables() {
    let text = r#"sweep = 4
horizon = "1s"
[fleet]
workers = 1
service_time = "1s"
"#;
    insta::assert_snapshot!(faults(text), @"burst.toml:1:9: `sweep` is `4`: expected a table");
}

#[test]
fn control_characters_and_backticks_in_a_value_stay_on_one_line() {
    let text = &format!(
        "{BASE}{}",
        r#"[frontend]
router_mode = "a\u001b[31m`\nb"
"#
    );
    insta::assert_snapshot!(faults(text), @r#"burst.toml:11:15: `frontend.router_mode` is `"a\u{1b}[31m'\nb"`: expected one of `round-robin`, `random`, `power-of-two`, `least-loaded`, `kv`"#);
}

#[test]
fn trace_options_that_make_no_sense() {
    let text = &format!(
        "{OPAQUE}{}",
        r#"[workload]
trace = { path = "Cargo.toml", rate_scale = 0, dequantise = "0s", window_start = "2s", window_end = "1s", time_unit = "h", columns = { arrival = "t", arrival_unit = "s", input_tokens = "i", output_tokens = "o", service_time = "x" }, tick = 3 }
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:8:45: `workload.trace.rate_scale` is `0`: expected a number above 0 and up to 1000000000
    burst.toml:8:61: `workload.trace.dequantise` is `"0s"`: expected a duration above zero
    burst.toml:8:101: `workload.trace.window_end` is `"1s"`: expected not before `window_start` = `"2s"`
    burst.toml:8:119: `workload.trace.time_unit` is `"h"`: expected one of `s`, `ms`, `us`, `ns`, `date`
    burst.toml:8:134: `workload.trace.columns.service_time_unit` is missing: expected `s`, `ms`, `us` or `ns`
    burst.toml:8:234: `workload.trace.tick` is no key of `workload.trace`
      hint: the keys of `workload.trace` are `path`, `format`, `class`, `columns`, `time_unit`, `window_start`, `window_end`, `rate_scale`, `max_gap`, `repeat`, `dequantise`, `dequantize`, `max_rows`, `max_input_tokens`, `max_output_tokens`, `strict`, `sort`, `sessions`, `prefix_reuse`, `hash_block_size`, `class_column`, `input_tokens`, `output_tokens`
    "#);
}

#[test]
fn a_trace_that_repeats_for_ever() {
    let text = &format!("{OPAQUE}[workload]\ntrace = {{ path = \"Cargo.toml\", repeat = true }}\n");
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml: the run has no end: the trace repeats for ever, and neither `horizon` nor `requests` is given
      hint: add `horizon = "10m"` or `requests = 100000`
    "#);
}

#[test]
fn a_lognormal_told_twice_or_too_wide() {
    let text = &format!(
        "{OPAQUE}{}",
        r#"[workload]
arrivals = { process = "weibull", rate = 1, cv = 1e-9 }
input_tokens = { distribution = "lognormal", mean = 10, p99 = 20, cv = 1 }
output_tokens = { distribution = "lognormal", mean = 10, cv = 20 }
"#
    );
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:8:50: `workload.arrivals.cv` is `1e-9`: expected a number from 0.002 to 1000
    burst.toml:9:63: `workload.input_tokens.p99` cannot be given here: `cv` already says how wide the distribution is
      hint: give only one of them
    burst.toml:10:63: `workload.output_tokens.cv` is `20`: expected a number from 0.002 to 14
    "#);
}

#[test]
fn a_preset_file_that_does_not_exist_or_is_no_preset() {
    let text = r#"
horizon = "1s"
[[fleet.worker_types]]
name = "a"
workers = 1
engine = "no/such/preset.toml"
[[fleet.worker_types]]
name = "b"
workers = 1
engine = "rustfmt.toml"
"#;
    insta::assert_snapshot!(faults(text), @r#"
    rustfmt.toml: `name` is missing: expected the preset's name
    rustfmt.toml: `engine` is missing: expected a table of step-time coefficients
    rustfmt.toml: `kv_total_blocks` is missing: expected the KV blocks of a rank
    burst.toml:6:10: `fleet.worker_types.0.engine` is `"no/such/preset.toml"`: no such file (tried `no/such/preset.toml`)
      hint: a relative path is taken from the scenario's folder, then from the working directory
    rustfmt.toml:1:1: `max_width` is no key of a preset
      hint: the keys of a preset are `name`, `engine`, `kv_total_blocks`, `kind`, `source`, `validity`, `kv_cache_block_size`, `block_size`, `max_num_seqs`, `max_num_batched_tokens`
    rustfmt.toml:2:1: `use_small_heuristics` is no key of a preset
      hint: the keys of a preset are `name`, `engine`, `kv_total_blocks`, `kind`, `source`, `validity`, `kv_cache_block_size`, `block_size`, `max_num_seqs`, `max_num_batched_tokens`
    "#);
}

#[test]
fn hostile_files_end_in_a_message() {
    let deep = "[".repeat(100_000);
    let dotted = format!("{}a = 1", "a.".repeat(100_000));
    let header = format!("[{}a]\nb = 1", "a.".repeat(100_000));
    let many: String = (0..100_000).map(|n| format!("key{n} = 1\n")).collect();
    let long = format!("{} = 1", "x".repeat(1_000_000));
    let inline = format!("x = {}{}", "{ a = ".repeat(50_000), "}".repeat(50_000));
    for text in [format!("x = {deep}"), dotted, header, many, long, inline] {
        let faults = super::load(&text, &[]).unwrap_err();
        assert!(!faults.is_empty() && faults.to_string().len() < 100_000, "{} faults", faults.len());
    }
}

#[test]
fn a_trace_format_that_nobody_reads() {
    let text = &format!("{OPAQUE}[workload]\ntrace = {{ path = \"Cargo.toml\", format = \"moonkake\" }}\n");
    insta::assert_snapshot!(faults(text), @r#"
    burst.toml:8:41: `workload.trace.format` is `"moonkake"`: expected one of `azure`, `mooncake`, `mooncake-delta`, `dynamo-request-trace`, `burstgpt`, `bailian`, `llmservingsim`, `vllm-log`, `vidur`, `splitwise-sim`, `blis`, `servegen`, `shedcast`, `columns`
      hint: did you mean `mooncake`?
    "#);
}
