//! A scenario for each number: fleets of both kinds of workers, every router mode, arrival process, length and fault.

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::faults::{chaos, event};

/// The text of the scenario with this number: the same on every machine.
pub fn scenario(number: u64) -> String {
    let mut seed = [0u8; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    // One in four is of the kind that the tests of faults have.
    let strategy = if number.is_multiple_of(4) { chaos().prop_map(|chaos| chaos.0).boxed() } else { varied().boxed() };
    strategy.new_tree(&mut runner).expect("nothing is filtered out").current()
}

fn varied() -> impl Strategy<Value = String> {
    (head(), fleet(), frontend(), traffic(), clients(), prop::collection::vec(event(), 0..4)).prop_map(
        |(head, (fleet, opaque), frontend, traffic, (clients, closed), events)| {
            let traffic = workload(&traffic, closed, opaque);
            format!("{head}{fleet}{frontend}{clients}{traffic}{}", events.concat())
        },
    )
}

fn head() -> impl Strategy<Value = String> {
    let warmup = prop::sample::select(vec!["0s", "500ms", "mser-5"]);
    let end =
        prop::sample::select(vec!["horizon = \"4s\"", "horizon = \"6s\"\nrequests = 150", "requests = 120\nhorizon = \"20s\""]);
    let bound = prop::option::weighted(0.2, 3u32..60);
    (0u64..1_000, warmup, end, bound, any_bool("phases = [\"1s\", \"2500ms\"]\n")).prop_map(|(seed, warmup, end, bound, phases)| {
        let bound = bound.map_or(String::new(), |n| format!("limits = {{ max_requests_in_system = {n} }}\n"));
        format!("name = \"random\"\nseed = {seed}\nwarmup = \"{warmup}\"\n{end}\n{phases}{bound}[slo]\nttft = \"1s\"\ntpot = \"50ms\"\n")
    })
}

fn any_bool(text: &'static str) -> impl Strategy<Value = &'static str> {
    any::<bool>().prop_map(move |yes| if yes { text } else { "" })
}

/// The fleet, and whether its workers are opaque. Three workers that exist, as the events ask.
fn fleet() -> impl Strategy<Value = (String, bool)> {
    let gate = prop::option::of((1u32..12, 2u32..9));
    let engine = prop::sample::select(vec![
        "engine = \"h100-llama-3.1-8b-bf16-vllm\"",
        "engine = \"dynamo-mocker\"",
        "engine = { base = \"9ms\", prefill = \"30us\", decode = \"62us\", context = \"0.4ns\" }",
        "engine = { prefill = [3, 0.02, 4.2e-7], decode = [1.5, 0.1, 1e-5] }",
    ]);
    let limits = (100u64..600, prop::sample::select(vec![8u32, 16, 64]), 4u32..40, 200u64..4_000);
    let ranks = (1u32..4, any::<bool>(), prop::sample::select(vec!["round_robin", "least_loaded"]));
    let batching = (engine, limits, ranks).prop_map(|(engine, (blocks, block_size, seats, tokens), (ranks, lockstep, dispatch))| {
        let text = format!(
            "{engine}\nkv_total_blocks = {blocks}\nkv_cache_block_size = {block_size}\nmax_num_seqs = {seats}\n\
             max_num_batched_tokens = {tokens}\ndata_parallel_size = {ranks}\ndp_lockstep = {lockstep}\nrank_dispatch = \"{dispatch}\"\n"
        );
        (text, false)
    });
    let service = prop::sample::select(vec![
        "\"120ms\"",
        "{ distribution = \"exponential\", mean = \"150ms\" }",
        "{ distribution = \"gamma\", mean = \"100ms\", cv = 2 }",
        "{ distribution = \"empirical\", values = [\"10ms\", \"400ms\"], weights = [3, 1] }",
    ]);
    let opaque = service
        .prop_map(|service| (format!("service_time = {service}\nkv_total_blocks = 100\nmax_num_batched_tokens = 8192\n"), true));
    (prop_oneof![3 => batching, 1 => opaque], gate).prop_map(|((engine, opaque), gate)| {
        let gate = gate.map_or(String::new(), |(n, q)| format!("engine_request_limit = {n}\nrequest_queue_limit = {q}\n"));
        (format!("[fleet]\nworkers = 2\nstandby = 1\n{engine}{gate}"), opaque)
    })
}

fn frontend() -> impl Strategy<Value = String> {
    let mode = prop::sample::select(vec!["round-robin", "random", "power-of-two", "least-loaded", "kv"]);
    let thresholds = (prop::option::of(1u32..100), prop::option::of(10u32..4_000), prop::option::of(1u32..300));
    let rest = (1u32..4, 0u32..3, any::<bool>(), 0u32..1_500, 0u32..200);
    let telemetry = (any::<bool>(), 0u32..30, 0u32..20, any::<bool>());
    (mode, thresholds, rest, telemetry).prop_map(|(mode, (decode, prefill, fraction), rest, (reports, delay, loss, reorder))| {
        let (frontends, migrations, output, lease, discovery) = rest;
        let decode = decode.map_or(String::new(), |d| format!("active_decode_blocks_threshold = {}\n", f64::from(d) / 100.0));
        let prefill = prefill.map_or(String::new(), |p| format!("active_prefill_tokens_threshold = {p}\n"));
        let fraction = fraction.map_or(String::new(), |f| format!("active_prefill_tokens_threshold_frac = {}\n", f64::from(f) / 100.0));
        format!(
            "[frontend]\nrouter_mode = \"{mode}\"\nfrontends = {frontends}\nmigration_limit = {migrations}\n\
             router_track_output_blocks = {output}\noverload_lease = \"{lease}ms\"\ndiscovery_delay = \"{discovery}ms\"\n\
             {decode}{prefill}{fraction}[telemetry]\nworker_kv_metrics = {reports}\ndelay = \"{delay}ms\"\nloss = 0.{loss:02}\nreorder = {reorder}\n"
        )
    })
}

/// Clients, and whether they close the loop.
fn clients() -> impl Strategy<Value = (String, bool)> {
    let retry = (1u32..4, prop::sample::select(vec!["none", "full", "equal"]), any::<bool>(), any::<bool>());
    let patience = (prop::option::of(150u32..2_000), prop::option::of(80u32..900), any::<bool>());
    let closed = prop::option::weighted(0.2, (1u32..40, 0u32..500));
    (prop::option::of(retry), patience, closed).prop_map(|(retry, (patience, first, notices), closed)| {
        let retry = retry.map_or(String::new(), |(attempts, jitter, timeout, budget)| {
            let budget = if budget { ", budget = { max_tokens = 10, token_ratio = 0.1 }" } else { "" };
            format!(
                "retry = {{ statuses = [529, 503], attempts = {attempts}, initial = \"200ms\", backoff = \"exponential\", \
                 jitter = \"{jitter}\", on_timeout = {timeout}{budget} }}\n"
            )
        });
        let patience = patience.map_or(String::new(), |ms| format!("patience = \"{ms}ms\"\n"));
        let first = first.map_or(String::new(), |ms| format!("patience_first_token = \"{ms}ms\"\n"));
        let is_closed = closed.is_some();
        let closed =
            closed.map_or(String::new(), |(users, ms)| format!("closed_loop = {{ users = {users}, think_time = \"{ms}ms\" }}\n"));
        (format!("[clients]\nserver_notices = {notices}\n{retry}{patience}{first}{closed}"), is_closed)
    })
}

/// Arrivals and lengths, each in one of their kinds.
#[derive(Clone, Debug)]
struct Traffic {
    arrivals: String,
    input: &'static str,
    output: &'static str,
    two_classes: bool,
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let rate = 5u32..120;
    let arrivals = prop_oneof![
        rate.clone().prop_map(|r| format!("{{ process = \"poisson\", rate = {r} }}")),
        rate.clone().prop_map(|r| format!("{{ process = \"constant\", rate = {r} }}")),
        rate.clone().prop_map(|r| format!("{{ process = \"gamma\", rate = {r}, cv = 2.5 }}")),
        rate.clone().prop_map(|r| format!("{{ process = \"weibull\", rate = {r}, cv = 0.5 }}")),
        rate.clone()
            .prop_map(|r| format!("{{ process = \"on_off\", on_rate = {r}, mean_on = \"500ms\", mean_off = \"300ms\" }}")),
        rate.prop_map(|r| {
            format!(
                "{{ process = \"poisson\", rate = [{{ at = \"0s\", rate = {r}, ramp = true }}, {{ at = \"2s\", rate = 70 }}] }}"
            )
        }),
    ];
    let input = prop::sample::select(vec![
        "300",
        "{ distribution = \"lognormal\", mean = 400, p99 = 2000 }",
        "{ distribution = \"uniform\", low = 0, high = 900 }",
        "{ distribution = \"pareto\", alpha = 1.5, scale = 40, max = 4000 }",
    ]);
    let output = prop::sample::select(vec![
        "1",
        "40",
        "{ distribution = \"gamma\", mean = 50, cv = 1.2 }",
        "{ distribution = \"empirical\", values = [1, 30, 200], weights = [1, 5, 1] }",
    ]);
    (arrivals, input, output, any::<bool>()).prop_map(|(arrivals, input, output, two_classes)| Traffic {
        arrivals,
        input,
        output,
        two_classes,
    })
}

fn workload(traffic: &Traffic, closed: bool, opaque: bool) -> String {
    let Traffic { arrivals, input, output, two_classes } = traffic;
    let arrivals = if closed { String::new() } else { format!("arrivals = {arrivals}\n") };
    let stream = |input: &str| format!("{arrivals}input_tokens = {input}\noutput_tokens = {output}\n");
    // Opaque workers do without lengths.
    let plain = if opaque && !closed { arrivals.clone() } else { stream(input) };
    if *two_classes && !closed {
        let other = "arrivals = { process = \"poisson\", rate = 4 }\ninput_tokens = 64\noutput_tokens = 8\n";
        return format!("[[workload.classes]]\nclass = \"a\"\n{plain}[[workload.classes]]\nclass = \"b\"\n{other}");
    }
    format!("[workload]\n{plain}")
}
