//! Good files: what is read from them, and the warnings they deserve.

use std::fs;

use super::super::{Document, QuantileMethod, Scenario, SetOption, Warmup, codes};
use super::{BASE, OPAQUE, faults, good, load, sets, warnings};
use crate::cluster::config::*;
use crate::units::{SimTime, Span};
use crate::workload::config::*;

/// The sketch that the documentation shows.
const SKETCH: &str = r#"
name = "burst on four workers"
seed = 1
horizon = "10m"

[fleet]
workers = 4
data_parallel_size = 2
engine = "h100-llama-3.1-8b-bf16-vllm"   # preset, or coefficients in a table
kv_total_blocks = 8192                   # per rank
max_num_batched_tokens = 8192
engine_request_limit = 256
request_queue_limit = 16

[frontend]
router_mode = "kv"
active_decode_blocks_threshold = 0.85
active_prefill_tokens_threshold_frac = 0.8

[workload]
arrivals = { process = "poisson", rate = [{ at = "0s", rate = 40 }, { at = "4m", rate = 400 }, { at = "5m", rate = 40 }] }
input_tokens = { distribution = "lognormal", mean = 1155, p99 = 4142 }
output_tokens = { distribution = "lognormal", mean = 211, p99 = 601 }

[clients]
retry = { statuses = [529, 503], attempts = 3, backoff = "exponential", initial = "500ms", jitter = "full" }

[[events]]
at = "4m30s"
post_busy_threshold = { active_decode_blocks_threshold = 0.6 }   # frontends = "all" unless named
"#;

fn instant(secs: u64) -> SimTime {
    SimTime::ZERO + Span::from_secs(secs)
}

fn batching(scenario: &Scenario) -> &BatchingEngine {
    match &scenario.fleet.types[0].engine {
        WorkerEngine::Batching(engine) => engine,
        WorkerEngine::Opaque { .. } => panic!("a batching worker was asked for"),
    }
}

#[test]
fn the_sketch_of_the_documentation_means_what_it_says() {
    let scenario = good(SKETCH);
    assert_eq!((scenario.name.as_str(), scenario.seed, scenario.horizon), ("burst on four workers", 1, Some(instant(600))));
    let kind = &scenario.fleet.types[0];
    assert_eq!((kind.workers, kind.data_parallel_size, kind.kv_total_blocks), (4, 2, Some(8_192)));
    assert_eq!((kind.engine_request_limit, kind.request_queue_limit), (Some(256), 16));
    assert_eq!(batching(&scenario).max_num_seqs, 1_024, "the preset's default");
    assert_eq!(scenario.frontend.router_mode, RouterMode::Kv);
    assert_eq!(scenario.frontend.thresholds.active_decode_blocks_threshold, Some(0.85));
    assert_eq!(scenario.frontend.thresholds.active_prefill_tokens_threshold, None);
    let Some(ArrivalProcess::Poisson { rate }) = &scenario.workload.streams[0].arrivals else { panic!("poisson") };
    assert_eq!(rate.0[1], RatePiece { at: instant(240), rate: 400.0, ramp: false });
    let StreamLengths::Separate { output_tokens, .. } = &scenario.workload.streams[0].lengths else { panic!("two sides") };
    assert_eq!(output_tokens.shape, LengthShape::Lognormal { mean: 211.0, p99: 601.0 });
    assert_eq!(scenario.clients.retry.as_ref().map(|r| (r.attempts, r.jitter)), Some((3, Jitter::Full)));
    assert_eq!((scenario.events[0].at, scenario.events[0].frontends.as_ref()), (instant(270), None));
    assert_eq!(scenario.warnings(), []);
}

#[test]
fn the_resolved_sketch_leaves_nothing_out() {
    insta::assert_snapshot!(good(SKETCH).to_toml(), @r#"
    name = "burst on four workers"
    description = "none"
    seed = 1
    horizon = "10m"
    requests = "none"
    warmup = "0s"
    phases = "auto"

    [fleet]
    workers = 4
    standby = 0
    cost = 1.0
    data_parallel_size = 2
    engine = { preset = "h100-llama-3.1-8b-bf16-vllm", prefill = ["5.808ms", "18.205us", "621.72ps"], decode = ["7.04ms", "12.1us", "45.87ns"] }
    max_num_batched_tokens = 8192
    max_num_seqs = 1024
    max_model_len = "none"
    dp_lockstep = false
    kv_total_blocks = 8192
    kv_cache_block_size = 16
    engine_request_limit = 256
    request_queue_limit = 16
    rank_dispatch = "round_robin"
    advertised = { kv_total_blocks = "truth", max_num_batched_tokens = "truth", data_parallel_size = "truth" }

    [frontend]
    frontends = 1
    spread = "round_robin"
    router_mode = "kv"
    active_decode_blocks_threshold = 0.85
    active_prefill_tokens_threshold = "none"
    active_prefill_tokens_threshold_frac = 0.8
    router_track_output_blocks = false
    router_track_prefill_tokens = true
    router_track_active_blocks = true
    migration_limit = 0
    overload_status_code = 529
    retry_after = "none"
    overload_lease = "1s"
    runtime_inhibited_duration = "5s"
    discovery_delay = "0s"
    model = "model"

    [telemetry]
    worker_kv_metrics = true
    debounce = "1ms"
    delay = "0s"
    loss = 0.0
    reorder = false

    [workload]
    arrivals = { process = "poisson", rate = [{ at = "0s", rate = 40.0, ramp = false }, { at = "4m", rate = 400.0, ramp = false }, { at = "5m", rate = 40.0, ramp = false }] }
    input_tokens = { distribution = "lognormal", mean = 1155.0, p99 = 4142.0, min = 1, max = "none" }
    output_tokens = { distribution = "lognormal", mean = 211.0, p99 = 601.0, min = 1, max = "none" }
    length_correlation = 0.0

    [clients]
    closed_loop = "none"
    sessions = "none"
    retry = { statuses = [529, 503], attempts = 3, backoff = "exponential", initial = "500ms", max = "none", jitter = "full", on_timeout = false, timeout_delay = "none", budget = "none", obey_retry_after = true }
    patience_first_token = "none"
    patience = "none"
    server_notices = true

    [slo]
    ttft = "none"
    tpot = "none"
    e2e = "none"

    [output]
    requests = false
    decision_quality = "auto"
    timeseries_interval = "auto"
    quantile_method = "nearest_rank"
    metrics = false
    metrics_epoch = "2026-01-01T00:00:00Z"

    [limits]
    max_events = 1000000000000
    max_requests_in_system = 10000000
    max_output_bytes = 100000000000

    [[events]]
    at = "270s"
    frontends = "all"
    post_busy_threshold = { active_decode_blocks_threshold = 0.6 }
    "#);
}

#[test]
fn defaults_are_those_of_dynamo() {
    let scenario = good(OPAQUE);
    let (kind, frontend) = (&scenario.fleet.types[0], &scenario.frontend);
    assert_eq!((kind.engine_request_limit, kind.request_queue_limit, kind.data_parallel_size), (None, 16, 1));
    assert_eq!((kind.rank_dispatch, kind.dp_lockstep, kind.kv_cache_block_size), (RankDispatch::RoundRobin, false, 16));
    assert_eq!((frontend.router_mode, frontend.overload_status_code, frontend.migration_limit), (RouterMode::RoundRobin, 529, 0));
    assert_eq!((frontend.overload_lease, frontend.inhibited_duration), (Span::from_secs(1), Span::from_secs(5)));
    let tracked =
        (frontend.router_track_output_blocks, frontend.router_track_prefill_tokens, frontend.router_track_active_blocks);
    assert_eq!(tracked, (false, true, true));
    assert!(!frontend.thresholds.any());
    assert_eq!(scenario.telemetry, TelemetryConfig::default());
    assert_eq!(scenario.clients, ClientConfig::default());
    assert_eq!((scenario.name.as_str(), scenario.seed, scenario.warmup), ("burst", 1, Warmup::Fixed(Span::ZERO)));
    assert_eq!(scenario.output.quantile_method, QuantileMethod::NearestRank);
    assert!(!scenario.output.requests);
}

#[test]
fn router_modes_are_accepted_in_both_spellings() {
    let mode = |name: &str| good(&format!("{OPAQUE}[frontend]\nrouter_mode = \"{name}\"")).frontend.router_mode;
    assert_eq!((mode("round-robin"), mode("round_robin")), (RouterMode::RoundRobin, RouterMode::RoundRobin));
    assert_eq!((mode("power-of-two"), mode("power_of_two")), (RouterMode::PowerOfTwo, RouterMode::PowerOfTwo));
    assert_eq!((mode("least-loaded"), mode("least_loaded")), (RouterMode::LeastLoaded, RouterMode::LeastLoaded));
    assert_eq!((mode("random"), mode("kv")), (RouterMode::Random, RouterMode::Kv));
}

#[test]
fn coefficients_keep_every_attosecond() {
    let engine = |value: &str| {
        let text = format!("horizon = \"1s\"\n[fleet]\nworkers = 1\nkv_total_blocks = 100\nengine = {value}");
        batching(&good(&text)).timing.clone()
    };
    let plain = engine("{ base = 0.01750, prefill = 1.041e-4, decode = 8.56e-5, context = 6.20e-8 }");
    let texts = engine(r#"{ base = "17.5ms", prefill = "104.1us", decode = "85.6us", context = "62ns" }"#);
    let preset = engine(r#"{ preset = "rtx4090-llama-3.1-8b-bf16-vllm" }"#);
    assert_eq!(plain, texts);
    assert_eq!(plain, preset);
    let parts = engine("{ prefill = [16.50142, 0.01518344, 4.209989e-7], decode = [\"1ms\", 0, \"1as\"] }");
    let StepTiming::TwoPart { prefill, decode } = parts else { panic!("two parts") };
    assert_eq!(prefill.map(|a| a.0), [16_501_420_000_000_000, 15_183_440_000_000, 420_998_900]);
    assert_eq!(decode.map(|a| a.0), [1_000_000_000_000_000, 0, 1]);
    let doubled = engine(r#"{ prefill = [1, 0, 0], decode = [2, 0, 0], served_factor = 1.5 }"#);
    let StepTiming::TwoPart { prefill, .. } = doubled else { panic!("two parts") };
    assert_eq!(prefill[0].0, 1_500_000_000_000_000);
}

#[test]
fn worker_types_override_the_fleet() {
    let scenario = good(
        r#"
        horizon = "1s"
        [fleet]
        engine = "h100-llama-3.1-8b-bf16-vllm"
        engine_request_limit = 8
        advertised = { kv_total_blocks = "absent" }
        [[fleet.worker_types]]
        name = "h100"
        workers = 2
        [[fleet.worker_types]]
        name = "a100"
        workers = 3
        standby = 1
        cost = 0.5
        engine = "a100-llama-3.1-8b-bf16-vllm"
        engine_request_limit = "none"
        advertised = { kv_total_blocks = "truth", data_parallel_size = 2 }
        "#,
    );
    let [h100, a100] = &scenario.fleet.types[..] else { panic!("two types") };
    assert_eq!((h100.engine_request_limit, h100.advertised.kv_total_blocks, h100.cost), (Some(8), Override::Absent, 1.0));
    assert_eq!((a100.engine_request_limit, a100.advertised.kv_total_blocks, a100.cost), (None, Override::Truth, 0.5));
    assert_eq!(a100.advertised.data_parallel_size, Override::Value(2));
    let WorkerEngine::Batching(engine) = &a100.engine else { panic!("batching") };
    assert_eq!((engine.max_num_seqs, engine.max_num_batched_tokens), (256, 2_048), "defaults follow the type's own preset");
    assert_eq!(scenario.fleet.worker_count(), 6);
    let name = |id| scenario.fleet.type_of(id).map(|t| t.name.as_str());
    assert_eq!((name(0), name(2), name(3), name(6), name(7)), (None, Some("h100"), Some("a100"), Some("a100"), None));
}

#[test]
fn a_list_of_loads_becomes_one_event_each_and_a_batch_stays_one() {
    let scenario = good(&format!(
        r#"{OPAQUE}
        [[events]]
        at = "1s"
        load = [{{ worker = 1, kv_used_blocks = 90 }}, {{ worker = 1, rank = 5, active_prefill_tokens = 7 }}]
        [[events]]
        at = "2s"
        scheduler_load = {{ worker = 1, active_decode_blocks = 20, active_prefill_tokens = 0 }}
        [[events]]
        at = "100ms"
        every = "100ms"
        until = "1000s"
        frontends = [0]
        load = {{ worker = 1, kv_used_blocks = 1 }}
        "#
    ));
    assert_eq!(scenario.events.len(), 4);
    let EventAction::Load(second) = &scenario.events[1].action else { panic!("a load") };
    assert_eq!((second.rank, second.kv_used_blocks, second.active_prefill_tokens), (5, None, Some(7)));
    let EventAction::SchedulerLoad(batch) = &scenario.events[2].action else { panic!("a batch") };
    assert_eq!(batch.len(), 1);
    assert_eq!((scenario.events[3].every, scenario.events[3].until), (Some(Span::from_millis(100)), Some(instant(1_000))));
    assert_eq!(scenario.events[3].frontends, Some(vec![0]));
}

#[test]
fn a_post_may_carry_what_the_release_refuses() {
    let text = format!(
        r#"{OPAQUE}
        [[events]]
        at = "1s"
        post_busy_threshold = {{ active_decode_blocks_threshold = 1.5, active_prefill_tokens_threshold = 1 }}
        [[events]]
        at = "2s"
        post_busy_threshold = {{ active_prefill_tokens_threshold_frac = nan }}
        [[events]]
        at = "3s"
        post_busy_threshold = {{ model = "other", active_prefill_tokens_threshold_frac = 2.0 }}
        [[events]]
        at = "4s"
        post_busy_threshold = {{}}
        [[events]]
        at = "5s"
        post_busy_threshold = {{ active_decode_blocks_threshold = 1 }}
        [frontend]
        router_mode = "kv"
        "#
    );
    let scenario = good(&text);
    let post = |n: usize| match &scenario.events[n].action {
        EventAction::PostBusyThreshold(post) => post.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(post(0).update.active_decode_blocks_threshold, Some(1.5));
    assert!(post(1).update.active_prefill_tokens_threshold_frac.is_some_and(f64::is_nan));
    assert_eq!(post(2).model.as_deref(), Some("other"));
    assert!(post(3).update.is_empty());
    assert_eq!(post(4).update.active_decode_blocks_threshold, Some(1.0));
    insta::assert_snapshot!(warnings(&text), @r#"
    [post_refused] `events.0.post_busy_threshold` will be refused as a whole (400): active_decode_blocks_threshold must be a number from 0.0 to 1.0, got 1.5
      hint: correct the value, unless the refusal is what you want to see
    [post_refused] `events.1.post_busy_threshold` will be refused as a whole (400): active_prefill_tokens_threshold_frac must be a finite number of 0.0 or more, got NaN
      hint: correct the value, unless the refusal is what you want to see
    [post_refused] `events.2.post_busy_threshold` will be refused (404): the frontend's model is `model`
      hint: correct `model`, unless the refusal is what you want to see
    "#);
}

#[test]
fn settings_that_are_accepted_and_then_ignored_are_warned_of() {
    insta::assert_snapshot!(warnings(&format!("{OPAQUE}request_queue_limit = 16\n")), @r#"
    [no_effect] `fleet.request_queue_limit` has no effect because `engine_request_limit` is not set: without it a worker has no gate and no overflow queue
      hint: set `engine_request_limit`, or remove `request_queue_limit`
    "#);
    insta::assert_snapshot!(warnings(&format!("{BASE}[frontend]\nrouter_mode = \"kv\"\nactive_prefill_tokens_threshold_frac = 0.8\n[fleet.advertised]\nmax_num_batched_tokens = \"absent\"\n")), @r#"
    [no_effect] `frontend.active_prefill_tokens_threshold_frac` has no effect because the workers of `fleet` report no `max_num_batched_tokens`: the fraction is taken of 10,000,000 tokens
      hint: give `max_num_batched_tokens`, or use `active_prefill_tokens_threshold`
    "#);
    let frontend = "[frontend]\nrouter_track_output_blocks = true\nactive_prefill_tokens_threshold = 100\nactive_decode_blocks_threshold = 1.0\n";
    insta::assert_snapshot!(warnings(&format!("{OPAQUE}{frontend}[telemetry]\ndelay = \"5ms\"\n")), @r#"
    [signal_missing] `frontend.active_decode_blocks_threshold` cannot fire because its signal never arrives: no worker publishes `kv_used_blocks` and the router tracks no blocks
      hint: use `router_mode = "kv"`, or let the workers publish loads
    [threshold_cannot_fire] `frontend.active_decode_blocks_threshold` is 1.0 and can never fire below 100 % usage: the check is strict
      hint: choose a value below 1, such as 0.9
    [signal_missing] `frontend.active_prefill_tokens_threshold` can fire in kv mode only: no worker publishes prefill tokens
      hint: use `router_mode = "kv"`, or unset it
    [no_effect] `frontend.router_track_output_blocks` has no effect because outside kv mode the router tracks nothing
      hint: remove it, or use `router_mode = "kv"`
    [no_effect] `telemetry.delay` has no effect because opaque workers publish no loads
      hint: remove it, or let batching workers publish loads
    "#);
    let clients =
        "[clients]\nserver_notices = false\nretry = { statuses = [503], attempts = 1, max = \"9s\", on_timeout = true }\n";
    insta::assert_snapshot!(warnings(&format!("{BASE}{clients}[[events]]\nat = \"11m\"\nworker_leave = 1\n")), @r#"
    [no_effect] `clients.server_notices` has no effect because clients are patient and never leave
      hint: set `patience`, or remove it
    [no_effect] `clients.retry.on_timeout` has no effect because clients are patient: nothing times out
      hint: set `patience`, or remove it
    [no_effect] `clients.retry.max` has no effect because a fixed back-off does not grow
      hint: use `backoff = "exponential"`, or remove it
    [no_effect] `clients.retry` has no effect because `attempts` counts the first one and is 1
      hint: raise `attempts`, or remove it
    [event_after_end] `events.0` never happens: it is due at 11m and the run ends before
      hint: move the event, or raise `horizon`
    "#);
}

#[test]
fn users_without_end_a_fleet_without_workers_and_reports_that_never_come_are_warned_of() {
    let gated = format!(
        "horizon = \"1m\"\n{OPAQUE}engine_request_limit = 2\nrequest_queue_limit = 2\n[workload]\ninput_tokens = 10\noutput_tokens = 1\n"
    );
    let users = |clients: &str| warnings(&format!("{gated}[clients]\n{clients}\n"));
    for fine in [
        "max_in_flight = 4",
        "closed_loop = { users = 5, think_time = \"1ms\" }",
        "max_in_flight = 5\nretry = { statuses = [529], attempts = 2, initial = \"1s\" }",
    ] {
        assert_eq!(users(fine), "", "{fine}");
    }
    let endless = users("max_in_flight = 5");
    insta::assert_snapshot!(endless, @r#"
    [time_stands_still] `clients.closed_loop` has 5 users who do not think, and the gates hold 4 requests (N + Q of all workers) and refuse at once: who is refused sends again at the same instant, and simulated time stands still
      hint: give users a `think_time`, let `clients.retry` wait, or have no more users than the gates hold
    "#);
    assert_eq!(users("max_in_flight = 5\nretry = { statuses = [503], attempts = 2, initial = \"1s\" }"), endless);
    let none = gated.replace("workers = 1", "workers = 0");
    insta::assert_snapshot!(warnings(&format!("{none}[frontend]\nactive_decode_blocks_threshold = 0.5\n[clients]\nmax_in_flight = 2\n")), @r#"
    [no_workers] `fleet` has no workers, and none can ever join: every request is answered with 503
      hint: give `fleet.workers`
    [time_stands_still] `clients.closed_loop` has 2 users who do not think, and a fleet without workers answers them at once: who is refused sends again at the same instant, and simulated time stands still
      hint: give users a `think_time`, let `clients.retry` wait, or have no more users than the gates hold
    "#);
    insta::assert_snapshot!(warnings(&format!("{BASE}[telemetry]\ndelay = \"11m\"\n")), @r#"
    [signal_missing] `telemetry.delay` is 11m at least, and the run ends at 10m: no load report ever reaches a frontend, which decides without them
      hint: choose less, or switch `worker_kv_metrics` off, which says the same plainly
    "#);
    insta::assert_snapshot!(warnings(&format!("{BASE}[telemetry]\nloss = 1\n")), @r#"
    [signal_missing] `telemetry.loss` is 1: no load report ever reaches a frontend, which decides without them
      hint: choose less, or switch `worker_kv_metrics` off, which says the same plainly
    "#);
    assert_eq!(warnings(&format!("{BASE}[telemetry]\ndelay = \"10m\"\nloss = 0.9\n")), "");
}

#[test]
fn statuses_that_no_answer_has_are_warned_of() {
    let text = |frontend: &str, statuses: &str| {
        format!("{BASE}[frontend]\n{frontend}\n[clients]\nretry = {{ statuses = {statuses}, attempts = 2, initial = \"1s\" }}\n")
    };
    for answered in ["[529]", "[503, 429]", "[500]"] {
        assert_eq!(warnings(&text("", answered)), "");
    }
    insta::assert_snapshot!(warnings(&text("overload_status_code = 429", "[529]")), @r#"
    [no_effect] `clients.retry.statuses` has no effect because no answer has any of its statuses: a refusal has 429 (`frontend.overload_status_code`), a fleet without usable worker 503, an answer that breaks off 500
      hint: add 429, or change `frontend.overload_status_code`
    "#);
    // The release takes any number from 200 on.
    insta::assert_snapshot!(warnings(&text("overload_status_code = 200", "[503]")), @r#"
    [status_is_no_error] `frontend.overload_status_code` is 200, which real clients take for a success or a redirection; simulated ones know it for a refusal
      hint: use 529, 503 or 429, unless this is what you want to see
    "#);
    assert!(faults(&text("", "[200]")).contains("`clients.retry.statuses.0` is `200`: expected a whole number from 400 to 999"));
}

#[test]
fn a_decode_check_without_known_capacity_is_warned_of() {
    let text = OPAQUE.replace("kv_total_blocks = 100", "kv_total_blocks = \"none\"");
    let text = format!(
        "{text}[frontend]\nactive_decode_blocks_threshold = 0.1\n[[events]]\nat = \"0s\"\nload = {{ worker = 1, kv_used_blocks = 999 }}\n"
    );
    insta::assert_snapshot!(warnings(&text), @r#"
    [capacity_unknown] `frontend.active_decode_blocks_threshold` cannot fire for the workers of `fleet` because they report no `kv_total_blocks`
      hint: let them report `kv_total_blocks`
    "#);
}

#[test]
fn a_preset_below_its_range_is_warned_of() {
    let text = BASE.replace("h100-llama-3.1-8b-bf16-vllm", "h200-llama-3.1-8b-fp8-vllm");
    assert_eq!(warnings(&text), "");
    insta::assert_snapshot!(warnings(&text.replace("1024", "280")), @r#"
    [preset_out_of_range] `fleet.engine` holds for contexts above 400 tokens, but those of class `default` have about 344 on average: contexts above 400 tokens: median error 1.7 % (prefill) and 2.2 % (decode), at most 16 %; at context 350 with batches of 260 to 1,570 it is 30 % low to 36 % high
      hint: read step times of this class as rough, or take another preset
    "#);
}

#[test]
fn both_queue_limits_of_a_gate_are_read() {
    let limits = |q: u32| {
        let text = format!("{OPAQUE}engine_request_limit = 2\nrequest_queue_limit = {q}\n");
        (good(&text).fleet.types[0].request_queue_limit, warnings(&text))
    };
    assert_eq!((limits(2), limits(3)), ((2, String::new()), (3, String::new())));
}

#[test]
fn a_closed_loop_has_a_short_form() {
    let text = format!("requests = 100\n{OPAQUE}[workload]\ninput_tokens = 10\n[clients]\nmax_in_flight = 8\n");
    let scenario = good(&text);
    let users = ClosedLoop { users: 8, think_time: SpanDistribution::Constant { value: Span::ZERO }, sessions: None };
    assert_eq!(scenario.clients.closed_loop, Some(users));
    assert_eq!(scenario.workload.streams[0].arrivals, None);
}

/// Reads back to itself once resolved.
fn resolves(text: &str) -> Scenario {
    let scenario = good(text);
    let again = Scenario::parse(&scenario.to_toml(), "resolved.toml", &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario;
    assert_eq!(again, scenario);
    scenario
}

#[test]
fn sessions_of_users_have_turns_that_grow() {
    let closed =
        "users = 8, think_time = \"9s\", turns = { distribution = \"uniform\", low = 2, high = 6 }, turn_think_time = \"2s\"";
    let text = |more: &str| {
        format!("requests = 9\n{OPAQUE}[workload]\ninput_tokens = 10\n[clients]\nclosed_loop = {{ {closed}{more} }}\n")
    };
    let sessions = |text: &str| resolves(text).clients.closed_loop.unwrap().sessions.unwrap();
    let plain = sessions(&text(""));
    assert_eq!((plain.context, plain.max_context_tokens, plain.at_max_context), (SessionContext::None, None, AtMaxContext::End));
    let grown = sessions(&text(", context = \"grow\", max_context_tokens = 8192, at_max_context = \"cut\""));
    assert_eq!((grown.context, grown.max_context_tokens), (SessionContext::Grow, Some(8_192)));
    assert_eq!(
        (grown.at_max_context, grown.turn_think_time),
        (AtMaxContext::Cut, SpanDistribution::Constant { value: Span::from_secs(2) })
    );
}

#[test]
fn arrivals_of_an_open_loop_may_begin_sessions() {
    let open = "[clients]\nsessions = { turns = 3, turn_think_time = \"2s\", context = \"grow\", max_context_tokens = 900 }\n";
    let sessions = resolves(&format!("{BASE}{open}")).clients.sessions.unwrap();
    assert_eq!((sessions.context, sessions.max_context_tokens), (SessionContext::Grow, Some(900)));
}

#[test]
fn classes_share_arrivals_and_have_pairs_of_lengths() {
    let text = format!(
        "{OPAQUE}{}",
        r#"[workload]
arrivals = { process = "gamma", cv = 2, rate = [{ at = "0s", rate = 9 }, { at = "9s", rate = 0 }] }
[[workload.classes]]
class = "chat"
weight = 3
lengths = { pairs = [[1200, 80], [300, 250, 2.5]] }
[[workload.classes]]
class = "batch"
lengths = { pieces = [{ at = "0s", pairs = [[10, 1]] }, { at = "5s", pairs = [[20, 2]] }] }
[[workload.classes]]
class = "own"
arrivals = { process = "poisson", rate = [{ at = "0s", rate = 9 }, { at = "9s", rate = 0 }] }
lengths = { csv = "tests/fixtures/traces/pairs.csv" }
[[workload.classes]]
class = "measured"
input_tokens = { distribution = "empirical", csv = "tests/fixtures/traces/pairs.csv", column = "input_tokens", weight_column = "weight" }
output_tokens = 7
"#
    );
    let workload = resolves(&text).workload;
    let weights: Vec<Option<f64>> = workload.streams.iter().map(|s| s.weight).collect();
    assert_eq!(weights, [Some(3.0), Some(1.0), None, Some(1.0)]);
    assert!(matches!(workload.shared_arrivals, Some(ArrivalProcess::Gamma { cv: 2.0, .. })));
    let StreamLengths::Paired(pairs) = &workload.streams[0].lengths else { panic!("pairs") };
    assert_eq!(pairs.0[0].pairs[1], WeightedPair { input_tokens: 300, output_tokens: 250, weight: 2.5 });
    let StreamLengths::Paired(file) = &workload.streams[2].lengths else { panic!("pairs") };
    assert_eq!((file.0.len(), file.0[0].pairs.len(), file.0[1].at), (2, 2, SimTime::from_nanos(2_500_000_000)));
    let StreamLengths::Separate { input_tokens, .. } = &workload.streams[3].lengths else { panic!("two sides") };
    assert_eq!(input_tokens.shape, LengthShape::Empirical { values: vec![(40, 1.0), (100, 2.0), (300, 1.0)] });
}

#[test]
fn runs_that_end_by_themselves_need_no_horizon() {
    let ending = "[workload]\narrivals = { process = \"poisson\", rate = [{ at = \"0s\", rate = 9, ramp = true }, { at = \"9s\", rate = 0 }] }\n";
    assert_eq!(good(&format!("{OPAQUE}{ending}")).horizon, None);
    let listed = "[[workload.requests]]\nat = \"1s\"\ncount = 3\nevery = \"1s\"\nservice_time = \"2.2s\"\nworker = 1\n";
    let request = &good(&format!("{OPAQUE}{listed}")).workload.requests[0];
    assert_eq!((request.count, request.service_time, request.worker), (3, Some(Span::from_millis(2_200)), Some(1)));
    assert_eq!(good("[fleet]\nworkers = 0\nservice_time = \"per_request\"").fleet.worker_count(), 0);
}

#[test]
fn options_override_the_file_and_create_what_is_missing() {
    let options = [
        "fleet.workers=7",
        "frontend.router_mode=kv",
        "frontend.active_decode_blocks_threshold=0.6",
        "horizon=30s",
        "slo.ttft=2s",
        "workload.arrivals.rate=[{at=\"0s\",rate=1},{at=\"9s\",rate=2}]",
        "workload.arrivals.rate.1.rate=5",
        "description=a = b",
    ];
    let scenario = load(BASE, &options).unwrap_or_else(|faults| panic!("{faults}")).scenario;
    assert_eq!((scenario.fleet.types[0].workers, scenario.frontend.router_mode), (7, RouterMode::Kv));
    assert_eq!((scenario.horizon, scenario.slo.ttft), (Some(instant(30)), Some(Span::from_secs(2))));
    let Some(ArrivalProcess::Poisson { rate }) = &scenario.workload.streams[0].arrivals else { panic!("poisson") };
    assert_eq!(rate.0[1].rate, 5.0);
    assert_eq!(scenario.description.as_deref(), Some("a = b"));
}

#[test]
fn one_document_serves_many_variants() {
    let document = Document::parse(&format!("{BASE}[sweep]\naxes = {{ \"fleet.workers\" = [1, 2] }}\n"), "x/a.toml").unwrap();
    assert!(document.has_table("sweep") && !document.has_table("plan"));
    for workers in 0..100u32 {
        let changed = document.with(&[SetOption::new("--grid", "fleet.workers", workers.to_string())]).unwrap();
        assert_eq!(changed.decode().unwrap().scenario.fleet.types[0].workers, workers);
    }
    let axes = document.read_table("sweep", |sweep| {
        let axes = sweep.table("axes")?;
        let names: Vec<String> = axes.entries().into_iter().map(|(key, _)| key.to_owned()).collect();
        Some(names)
    });
    assert_eq!(axes.unwrap(), ["fleet.workers"]);
    let unread = document.read_table("sweep", |_| Some(())).unwrap_err();
    assert_eq!(unread.to_string().lines().next(), Some("x/a.toml:11:1: `sweep.axes` is no key of `sweep`"));
    let absent = document.read_table("plan", |plan| Some(plan.exists()));
    assert!(!absent.unwrap());
}

#[test]
fn every_table_reports_keys_it_does_not_know() {
    let whole = format!(
        "{}\n[telemetry]\ndelay = {{ distribution = \"exponential\", mean = \"1ms\" }}\n[slo]\n[output]\n[limits]\n",
        SKETCH.replace("request_queue_limit = 16", "request_queue_limit = 16\nadvertised = { kv_total_blocks = 7 }")
    );
    good(&whole);
    let paths = [
        "bogus",
        "fleet.bogus",
        "fleet.advertised.bogus",
        "frontend.bogus",
        "telemetry.bogus",
        "telemetry.delay.bogus",
        "workload.bogus",
        "workload.arrivals.bogus",
        "workload.arrivals.rate.0.bogus",
        "workload.input_tokens.bogus",
        "workload.output_tokens.bogus",
        "clients.bogus",
        "clients.retry.bogus",
        "events.0.bogus",
        "events.0.post_busy_threshold.bogus",
        "slo.bogus",
        "output.bogus",
        "limits.bogus",
    ];
    for path in paths {
        let faults = load(&whole, &[&format!("{path}=1")]).unwrap_err().to_string();
        assert!(faults.starts_with(&format!("--set {path}=1: `{path}` is no key of ")), "{faults}");
    }
}

#[test]
fn a_trace_is_found_beside_the_scenario_or_in_the_working_directory() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), "x").unwrap();
    let file = folder.path().join("my run.toml");
    fs::write(&file, format!("{OPAQUE}[workload]\ntrace = {{ path = \"t.csv\", format = \"mooncake\", class = \"chat\" }}\n"))
        .unwrap();
    let scenario = Scenario::load(&file, &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario;
    let trace = scenario.workload.trace.clone().unwrap();
    assert_eq!((trace.path, trace.class.as_str()), (folder.path().join("t.csv"), "chat"));
    assert_eq!(scenario.name, "my run");
    // The resolved file stands elsewhere and still finds it.
    let again = Scenario::parse(&scenario.to_toml(), "outputs/my run/resolved.toml", &[]).unwrap();
    assert_eq!(again.scenario, scenario);
    // Cargo runs tests in the package's folder.
    assert_eq!(
        good(&format!("{OPAQUE}[workload]\ntrace = \"Cargo.toml\"\n")).workload.trace.unwrap().path.to_str(),
        Some("Cargo.toml")
    );
}

/// A scenario that replays `t.csv`.
fn replay() -> String {
    format!("{OPAQUE}[workload]\ntrace = {{ path = \"t.csv\", format = \"mooncake\" }}\n")
}

#[test]
fn results_elsewhere_still_find_their_trace_in_the_folders_above() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("outputs/one");
    fs::create_dir_all(&out).unwrap();
    fs::write(folder.path().join("t.csv"), "x").unwrap();
    for name in ["resolved.toml", "baseline.toml", "other.toml"] {
        fs::write(out.join(name), replay()).unwrap();
    }
    for name in ["resolved.toml", "baseline.toml"] {
        let loaded = Scenario::load(&out.join(name), &[]).unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!(loaded.scenario.workload.trace.unwrap().path, folder.path().join("t.csv"));
    }
    // Nobody expects that of a file of his own.
    assert!(Scenario::load(&out.join("other.toml"), &[]).unwrap_err().to_string().contains("no such file"));
    fs::remove_file(folder.path().join("t.csv")).unwrap();
    let said = Scenario::load(&out.join("resolved.toml"), &[]).unwrap_err().to_string().replace(out.to_str().unwrap(), "OUT");
    assert!(said.contains("no such file (tried `OUT/t.csv` and `t.csv`, and the folders above)"), "{said}");
    assert!(said.contains("hint: results of a run elsewhere: name the file with `--set workload.trace.path=...`"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_scenario_behind_links_finds_its_trace_beside_any_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    ["there", "between", "here"].iter().for_each(|name| fs::create_dir(at(name)).unwrap());
    fs::write(at("there/a.toml"), replay()).unwrap();
    std::os::unix::fs::symlink("../there/a.toml", at("between/b.toml")).unwrap();
    std::os::unix::fs::symlink(at("between/b.toml"), at("here/c.toml")).unwrap();
    let path = || Scenario::load(&at("here/c.toml"), &[]).unwrap().scenario.workload.trace.unwrap().path;
    fs::write(at("there/t.csv"), "x").unwrap();
    assert_eq!(fs::canonicalize(path()).unwrap(), fs::canonicalize(at("there/t.csv")).unwrap());
    fs::write(at("between/t.csv"), "x").unwrap();
    assert_eq!(path(), at("between/t.csv"));
    fs::write(at("here/t.csv"), "x").unwrap();
    assert_eq!(path(), at("here/t.csv"), "the link's own folder first");
}

#[test]
fn of_two_files_of_a_name_the_one_taken_is_told() {
    // Cargo runs tests in the package's folder.
    let folder = tempfile::tempdir().unwrap();
    let beside = folder.path().join("Cargo.toml");
    fs::write(&beside, "x").unwrap();
    let text = format!("{OPAQUE}[workload]\ntrace = {{ path = \"Cargo.toml\", format = \"mooncake\" }}\n");
    let read = |text: &str, options: &[&str]| {
        let origin = folder.path().join("a.toml").display().to_string();
        let loaded = Scenario::parse(text, &origin, &sets(options)).unwrap_or_else(|faults| panic!("{faults}"));
        let told = loaded.warnings.iter().filter(|warning| warning.code == codes::AMBIGUOUS_FILE).map(ToString::to_string);
        (loaded.scenario.workload.trace.unwrap().path, told.collect::<Vec<_>>().join("\n"))
    };
    let there = beside.display().to_string();
    let (path, told) = read(&text, &[]);
    assert_eq!(path, beside);
    assert!(told.starts_with(&format!("`workload.trace.path` names two files: `{there}` is read, not `Cargo.toml`")), "{told}");
    let (path, told) = read(&text, &["workload.trace.path=Cargo.toml"]);
    assert_eq!(path.to_str(), Some("Cargo.toml"));
    assert!(told.contains(&format!("names two files: `Cargo.toml` is read, not `{there}`")), "{told}");
    // One file has one name here, and a longer one is one file.
    assert_eq!(read(&text.replace("Cargo.toml", &there), &[]).1, "");
    fs::remove_file(&beside).unwrap();
    assert_eq!(read(&text, &[]).1, "");
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let error = |name: &str| {
        let faults = Scenario::load(&folder.path().join(name), &sets(&[])).unwrap_err().to_string();
        faults.replace(&folder.path().display().to_string(), "DIR")
    };
    fs::write(folder.path().join("binary.toml"), b"seed = 1\nname = \"\xff\xfe\"").unwrap();
    fs::write(folder.path().join("nul.toml"), b"seed = 1\0").unwrap();
    fs::write(folder.path().join("cut.toml"), "[fleet]\nworkers = ").unwrap();
    fs::write(folder.path().join("big.toml"), vec![b'#'; 9 << 20]).unwrap();
    insta::assert_snapshot!([".", "absent.toml", "binary.toml", "nul.toml", "cut.toml", "big.toml"].map(error).join("\n"), @r#"
    DIR/.: cannot read the scenario: it is a directory
    DIR/absent.toml: cannot read the scenario: no such file or directory
    DIR/binary.toml:2:1: not a text in UTF-8: a scenario is a TOML file
    DIR/nul.toml:1:8: no valid TOML: string values must be quoted, expected literal string
    DIR/cut.toml:2:11: no valid TOML: string values must be quoted, expected literal string
    DIR/big.toml: a scenario file has at most 8 MiB
    "#);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("loop.toml", folder.path().join("loop.toml")).unwrap();
        insta::assert_snapshot!(error("loop.toml"), @"DIR/loop.toml: cannot read the scenario: too many levels of symbolic links");
    }
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_tolerated() {
    let text = format!("\u{feff}{}", BASE.replace('\n', "\r\n"));
    assert_eq!(good(&text), good(BASE));
}

#[test]
fn an_engine_may_be_a_preset_file_beside_the_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let preset = "name = \"my gpu\"\nkv_total_blocks = 77\nmax_num_seqs = 9\nengine = { base = \"1ms\" }\n";
    fs::write(folder.path().join("gpu.toml"), preset).unwrap();
    let text = "horizon = \"1s\"\n[fleet]\nworkers = 1\nengine = \"gpu.toml\"\n";
    let origin = folder.path().join("a.toml").display().to_string();
    let scenario = Scenario::parse(text, &origin, &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario;
    let engine = batching(&scenario);
    assert_eq!((engine.preset.as_deref(), engine.max_num_seqs), (Some("my gpu"), 9));
    assert_eq!(scenario.fleet.types[0].kv_total_blocks, Some(77));
    assert_eq!(Scenario::parse(&scenario.to_toml(), "elsewhere/a.toml", &[]).unwrap().scenario, scenario);
}

#[test]
fn a_lognormal_by_mean_and_variation_has_the_p99_that_follows() {
    let text = BASE.replace("input_tokens = 1024", "input_tokens = { distribution = \"lognormal\", mean = 1000, cv = 1 }");
    // sigma^2 = ln 2, p99 = mean * exp(2.3263 sigma - sigma^2 / 2).
    let StreamLengths::Separate { input_tokens, .. } = &good(&text).workload.streams[0].lengths else { panic!("two sides") };
    let LengthShape::Lognormal { mean, p99 } = input_tokens.shape else { panic!("lognormal") };
    assert!(mean == 1000.0 && (p99 - 4_904.92).abs() < 0.01, "{p99}");
}

#[test]
fn a_folder_of_servegen_clients_is_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("m-small");
    fs::create_dir(&pool).unwrap();
    fs::write(pool.join("chunk-0-trace.csv"), "0,0.1,1.2,Gamma,1,1\r\n").unwrap();
    let text = format!("{OPAQUE}[workload]\ntrace = \"m-small\"\n");
    let origin = folder.path().join("a.toml").display().to_string();
    let scenario = Scenario::parse(&text, &origin, &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario;
    assert_eq!(scenario.workload.trace.unwrap().path, pool);
}

#[test]
fn faults_of_the_cluster_are_read_in_their_short_and_long_forms_and_read_back() {
    let types = "[[fleet.worker_types]]\nname = \"small\"\nworkers = 1\nservice_time = \"1s\"\n[[fleet.worker_types]]\nname = \"big\"\nworkers = 1\nstandby = 2\nservice_time = \"1s\"\n";
    let events = r#"
[[events]]
at = "1s"
worker_crash = 2
[[events]]
at = "2s"
worker_crash = { worker = 1, rejoin_after = "30s", load_time = "1m" }
[[events]]
at = "3s"
worker_slow = { worker = 1, factor = 2.5, for = "10s" }
[[events]]
at = "4s"
network_delay = "20ms"
[[events]]
at = "5s"
network_delay = { delay = "20ms", worker = 2, for = "1s" }
[[events]]
at = "6s"
scale = { type = "big", workers = 3, load_time = "45s" }
[[events]]
at = "7s"
telemetry_outage = { for = "5s", worker = 1, rank = 0 }
frontends = [0]
[[events]]
at = "8s"
telemetry_freeze = "2s"
[[events]]
at = "9s"
worker_drain = 1
"#;
    let scenario = good(&format!("{types}{events}"));
    let secs = Span::from_secs;
    let actions: Vec<&EventAction> = scenario.events.iter().map(|event| &event.action).collect();
    let crash = WorkerCrash { worker: 1, rejoin_after: Some(secs(30)), load_time: secs(60) };
    assert_eq!(*actions[1], EventAction::WorkerCrash(crash));
    assert_eq!(*actions[2], EventAction::WorkerSlow(WorkerSlow { worker: 1, factor: 2.5, duration: Some(secs(10)) }));
    let everywhere = NetworkDelay { delay: Span::from_millis(20), worker: None, duration: None };
    assert_eq!(*actions[3], EventAction::NetworkDelay(everywhere));
    assert_eq!(*actions[5], EventAction::Scale(Scale { kind: 1, workers: 3, load_time: secs(45) }));
    let outage = TelemetryFault { worker: Some(1), rank: Some(0), duration: secs(5) };
    assert_eq!((actions[6], scenario.events[6].frontends.as_deref()), (&EventAction::TelemetryOutage(outage), Some(&[0][..])));
    assert_eq!(good(&scenario.to_toml()), scenario);
}
