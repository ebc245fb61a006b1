//! `resolved.toml`: the scenario written out whole, so that it reads back to the very same one.

use std::fmt::Display;
use std::fmt::Write as _;

use crate::cluster::config::*;
use crate::control::{BusyThresholds, ThresholdUpdate};
use crate::units::{Attos, SimTime, Span};
use crate::workload::config::*;

use super::amount::print_attos;
use super::fleet::DEFAULT_TYPE;
use super::frontend::ROUTER_MODES;
use super::types::{QuantileMethod, Scenario, Warmup};
use super::workload::DEFAULT_CLASS;

/// Where the worker type `n` stands in the resolved file: a fleet of one plain type is written without `worker_types`.
pub(super) fn type_path(fleet: &FleetConfig, n: usize) -> String {
    if is_plain(fleet) { "fleet".to_owned() } else { format!("fleet.worker_types.{n}") }
}

fn is_plain(fleet: &FleetConfig) -> bool {
    matches!(&fleet.types[..], [only] if only.name == DEFAULT_TYPE)
}

/// Lines of TOML under construction.
#[derive(Default)]
struct Writer {
    text: String,
}

impl Writer {
    fn header(&mut self, header: &str) {
        let _ = write!(self.text, "\n{header}\n");
    }

    /// A line `key = value`, the value already TOML.
    fn line(&mut self, key: &str, value: impl Display) {
        let _ = writeln!(self.text, "{key} = {value}");
    }

    /// A line whose value may be absent.
    fn optional(&mut self, key: &str, value: Option<String>) {
        self.line(key, value.unwrap_or_else(|| quoted("none")));
    }
}

/// A TOML string.
fn quoted(text: impl Display) -> String {
    toml::Value::String(text.to_string()).to_string()
}

/// A TOML float that reads back to the same value.
fn float(x: f64) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    format!("{x:?}")
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// An inline table.
fn inline(fields: &[(&str, String)]) -> String {
    let fields = fields.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ");
    format!("{{ {fields} }}")
}

fn span(span: Span) -> String {
    quoted(span)
}

fn instant(at: SimTime) -> String {
    quoted(at)
}

fn attos(amount: Attos) -> String {
    quoted(print_attos(amount))
}

impl Scenario {
    /// The scenario as TOML, complete: every default written out, presets expanded to their coefficients. Reads back to an
    /// equal scenario.
    pub fn to_toml(&self) -> String {
        let mut w = Writer::default();
        self.write_top(&mut w);
        write_fleet(&mut w, &self.fleet);
        write_frontend(&mut w, &self.frontend);
        write_telemetry(&mut w, &self.telemetry);
        write_workload(&mut w, &self.workload);
        write_clients(&mut w, &self.clients);
        self.write_small(&mut w);
        self.events.iter().for_each(|event| write_event(&mut w, event));
        w.text
    }

    fn write_top(&self, w: &mut Writer) {
        w.line("name", quoted(&self.name));
        w.optional("description", self.description.as_ref().map(quoted));
        w.line("seed", self.seed);
        w.optional("horizon", self.horizon.map(instant));
        w.optional("requests", self.requests.map(|n| n.to_string()));
        w.line(
            "warmup",
            match self.warmup {
                Warmup::Fixed(time) => span(time),
                Warmup::Mser5 => quoted("mser-5"),
            },
        );
        let phases = self.phases.as_ref().map(|phases| list(phases.iter().copied().map(instant)));
        w.line("phases", phases.unwrap_or_else(|| quoted("auto")));
    }

    fn write_small(&self, w: &mut Writer) {
        w.header("[slo]");
        w.optional("ttft", self.slo.ttft.map(span));
        w.optional("tpot", self.slo.tpot.map(span));
        w.optional("e2e", self.slo.e2e.map(span));
        w.header("[output]");
        w.line("requests", self.output.requests);
        w.line("timeseries_interval", self.output.timeseries_interval.map_or_else(|| quoted("auto"), span));
        let method = match self.output.quantile_method {
            QuantileMethod::NearestRank => "nearest_rank",
            QuantileMethod::RoundedRank => "rounded_rank",
        };
        w.line("quantile_method", quoted(method));
        w.header("[limits]");
        w.line("max_events", self.limits.max_events);
        w.line("max_requests_in_system", self.limits.max_requests_in_system);
        w.line("max_output_bytes", self.limits.max_output_bytes);
    }
}

fn write_fleet(w: &mut Writer, fleet: &FleetConfig) {
    w.header("[fleet]");
    if is_plain(fleet) {
        write_type(w, &fleet.types[0]);
        return;
    }
    for kind in &fleet.types {
        w.header("[[fleet.worker_types]]");
        w.line("name", quoted(&kind.name));
        write_type(w, kind);
    }
}

fn write_type(w: &mut Writer, kind: &WorkerType) {
    w.line("workers", kind.workers);
    w.line("standby", kind.standby);
    w.line("cost", float(kind.cost));
    w.line("data_parallel_size", kind.data_parallel_size);
    match &kind.engine {
        WorkerEngine::Batching(engine) => write_batching(w, engine, kind.dp_lockstep),
        WorkerEngine::Opaque { service_time, max_num_batched_tokens } => {
            w.line("service_time", service_time.as_ref().map_or_else(|| quoted("per_request"), span_distribution));
            w.optional("max_num_batched_tokens", max_num_batched_tokens.map(|n| n.to_string()));
        }
    }
    w.optional("kv_total_blocks", kind.kv_total_blocks.map(|n| n.to_string()));
    w.line("kv_cache_block_size", kind.kv_cache_block_size);
    w.optional("engine_request_limit", kind.engine_request_limit.map(|n| n.to_string()));
    // Without a gate Q does nothing: naming it is a setting without effect, which the resolved file repeats only if made.
    if kind.engine_request_limit.is_some() || kind.request_queue_limit_idle {
        w.line("request_queue_limit", kind.request_queue_limit);
    }
    w.line(
        "rank_dispatch",
        quoted(match kind.rank_dispatch {
            RankDispatch::RoundRobin => "round_robin",
            RankDispatch::LeastLoaded => "least_loaded",
        }),
    );
    let advertised = [
        ("kv_total_blocks", figure(kind.advertised.kv_total_blocks)),
        ("max_num_batched_tokens", figure(kind.advertised.max_num_batched_tokens)),
        ("data_parallel_size", figure(kind.advertised.data_parallel_size)),
    ];
    w.line("advertised", inline(&advertised));
}

fn write_batching(w: &mut Writer, engine: &BatchingEngine, lockstep: bool) {
    let mut fields = Vec::new();
    fields.extend(engine.preset.as_ref().map(|preset| ("preset", quoted(preset))));
    match &engine.timing {
        StepTiming::SingleBase { base, prefill, prefill_squared, decode, context } => {
            fields.push(("base", attos(*base)));
            fields.push(("prefill", attos(*prefill)));
            fields.push(("prefill_squared", attos(*prefill_squared)));
            fields.push(("decode", attos(*decode)));
            fields.push(("context", attos(*context)));
        }
        StepTiming::TwoPart { prefill, decode } => {
            fields.push(("prefill", list(prefill.iter().copied().map(attos))));
            fields.push(("decode", list(decode.iter().copied().map(attos))));
        }
        StepTiming::Mocker => fields.push(("timing", quoted("mocker"))),
    }
    w.line("engine", inline(&fields));
    w.line("max_num_batched_tokens", engine.max_num_batched_tokens);
    w.line("max_num_seqs", engine.max_num_seqs);
    w.optional("max_model_len", engine.max_model_len.map(|n| n.to_string()));
    w.line("dp_lockstep", lockstep);
}

fn figure(figure: Override) -> String {
    match figure {
        Override::Truth => quoted("truth"),
        Override::Absent => quoted("absent"),
        Override::Value(value) => value.to_string(),
    }
}

fn write_frontend(w: &mut Writer, frontend: &FrontendConfig) {
    w.header("[frontend]");
    w.line("frontends", frontend.frontends);
    w.line(
        "spread",
        match &frontend.spread {
            FrontendSpread::RoundRobin => quoted("round_robin"),
            FrontendSpread::Random => quoted("random"),
            FrontendSpread::Weights(weights) => list(weights.iter().copied().map(float)),
        },
    );
    let mode = ROUTER_MODES.iter().find(|(_, mode)| *mode == frontend.router_mode).map_or("round-robin", |(name, _)| name);
    w.line("router_mode", quoted(mode));
    for (key, value) in thresholds(frontend.thresholds) {
        w.optional(key, value);
    }
    w.line("router_track_output_blocks", frontend.router_track_output_blocks);
    w.line("router_track_prefill_tokens", frontend.router_track_prefill_tokens);
    w.line("router_track_active_blocks", frontend.router_track_active_blocks);
    w.line("migration_limit", frontend.migration_limit);
    w.line("overload_status_code", frontend.overload_status_code);
    w.line("overload_lease", span(frontend.overload_lease));
    w.line("runtime_inhibited_duration", span(frontend.inhibited_duration));
    w.line("discovery_delay", span(frontend.discovery_delay));
    w.line("model", quoted(&frontend.model));
}

fn thresholds(thresholds: BusyThresholds) -> [(&'static str, Option<String>); 3] {
    [
        ("active_decode_blocks_threshold", thresholds.active_decode_blocks_threshold.map(float)),
        ("active_prefill_tokens_threshold", thresholds.active_prefill_tokens_threshold.map(|n| n.to_string())),
        ("active_prefill_tokens_threshold_frac", thresholds.active_prefill_tokens_threshold_frac.map(float)),
    ]
}

fn write_telemetry(w: &mut Writer, telemetry: &TelemetryConfig) {
    w.header("[telemetry]");
    w.line("worker_kv_metrics", telemetry.worker_kv_metrics);
    w.line("debounce", span(telemetry.debounce));
    w.line("delay", span_distribution(&telemetry.delay));
    w.line("loss", float(telemetry.loss));
}

/// A constant is a plain duration, anything else a table.
fn span_distribution(distribution: &SpanDistribution) -> String {
    let named = |name: &str, fields: &[(&str, String)]| {
        let all: Vec<_> = std::iter::once(("distribution", quoted(name))).chain(fields.iter().cloned()).collect();
        inline(&all)
    };
    match distribution {
        SpanDistribution::Constant { value } => span(*value),
        SpanDistribution::Uniform { low, high } => named("uniform", &[("low", span(*low)), ("high", span(*high))]),
        SpanDistribution::Exponential { mean } => named("exponential", &[("mean", span(*mean))]),
        SpanDistribution::Gamma { mean, cv } => named("gamma", &[("mean", span(*mean)), ("cv", float(*cv))]),
        SpanDistribution::Lognormal { mean, cv } => named("lognormal", &[("mean", span(*mean)), ("cv", float(*cv))]),
        SpanDistribution::Empirical { values } => {
            let (spans, weights) = (values.iter().map(|v| span(v.0)), values.iter().map(|v| float(v.1)));
            named("empirical", &[("values", list(spans)), ("weights", list(weights))])
        }
    }
}

fn length_distribution(distribution: &LengthDistribution) -> String {
    let mut fields = match &distribution.shape {
        LengthShape::Constant { value } => vec![("distribution", quoted("constant")), ("value", value.to_string())],
        LengthShape::Uniform { low, high } => {
            vec![("distribution", quoted("uniform")), ("low", low.to_string()), ("high", high.to_string())]
        }
        LengthShape::Lognormal { mean, p99 } => {
            vec![("distribution", quoted("lognormal")), ("mean", float(*mean)), ("p99", float(*p99))]
        }
        LengthShape::Gamma { mean, cv } => vec![("distribution", quoted("gamma")), ("mean", float(*mean)), ("cv", float(*cv))],
        LengthShape::Pareto { scale, alpha } => {
            vec![("distribution", quoted("pareto")), ("scale", float(*scale)), ("alpha", float(*alpha))]
        }
        LengthShape::Empirical { values } => vec![
            ("distribution", quoted("empirical")),
            ("values", list(values.iter().map(|v| v.0.to_string()))),
            ("weights", list(values.iter().map(|v| float(v.1)))),
        ],
        LengthShape::Mixture { components } => {
            let component =
                |c: &MixtureComponent| inline(&[("weight", float(c.weight)), ("tokens", length_distribution(&c.distribution))]);
            vec![("distribution", quoted("mixture")), ("components", list(components.iter().map(component)))]
        }
    };
    fields.push(("min", distribution.min.to_string()));
    fields.push(("max", distribution.max.map_or_else(|| quoted("none"), |n| n.to_string())));
    inline(&fields)
}

fn write_workload(w: &mut Writer, workload: &WorkloadConfig) {
    w.header("[workload]");
    if let Some(trace) = &workload.trace {
        let format = trace.format.as_ref().map_or_else(|| quoted("none"), quoted);
        let fields = [("path", quoted(trace.path.display())), ("format", format), ("class", quoted(&trace.class))];
        w.line("trace", inline(&fields));
    }
    match &workload.streams[..] {
        [only] if only.class == DEFAULT_CLASS => write_stream(w, only),
        streams => {
            for stream in streams {
                w.header("[[workload.classes]]");
                w.line("class", quoted(&stream.class));
                write_stream(w, stream);
            }
        }
    }
    for request in &workload.requests {
        w.header("[[workload.requests]]");
        w.line("at", instant(request.at));
        w.line("count", request.count);
        if let Some(every) = request.every {
            w.line("every", span(every));
        }
        w.line("input_tokens", request.input_tokens);
        w.line("output_tokens", request.output_tokens);
        if let Some(time) = request.service_time {
            w.line("service_time", span(time));
        }
        if let Some(worker) = request.worker {
            w.line("worker", worker);
        }
        w.line("class", quoted(&request.class));
    }
}

fn write_stream(w: &mut Writer, stream: &StreamConfig) {
    if let Some(arrivals) = &stream.arrivals {
        w.line("arrivals", arrival_process(arrivals));
    }
    w.line("input_tokens", length_distribution(&stream.input_tokens));
    w.line("output_tokens", length_distribution(&stream.output_tokens));
    w.line("length_correlation", float(stream.length_correlation));
}

fn arrival_process(arrivals: &ArrivalProcess) -> String {
    let process = |name: &str| ("process", quoted(name));
    match arrivals {
        ArrivalProcess::Poisson { rate } => inline(&[process("poisson"), ("rate", schedule(rate))]),
        ArrivalProcess::Constant { rate } => inline(&[process("constant"), ("rate", schedule(rate))]),
        ArrivalProcess::Gamma { rate, cv } => inline(&[process("gamma"), ("rate", schedule(rate)), ("cv", float(*cv))]),
        ArrivalProcess::Weibull { rate, cv } => inline(&[process("weibull"), ("rate", schedule(rate)), ("cv", float(*cv))]),
        ArrivalProcess::OnOff { on_rate, off_rate, mean_on, mean_off } => inline(&[
            process("on_off"),
            ("on_rate", float(*on_rate)),
            ("off_rate", float(*off_rate)),
            ("mean_on", span(*mean_on)),
            ("mean_off", span(*mean_off)),
        ]),
    }
}

fn schedule(rate: &RateSchedule) -> String {
    match &rate.0[..] {
        [only] if only.at == SimTime::ZERO && !only.ramp => float(only.rate),
        pieces => {
            let piece = |p: &RatePiece| inline(&[("at", instant(p.at)), ("rate", float(p.rate)), ("ramp", p.ramp.to_string())]);
            list(pieces.iter().map(piece))
        }
    }
}

fn write_clients(w: &mut Writer, clients: &ClientConfig) {
    w.header("[clients]");
    let users = |c: &ClosedLoop| inline(&[("users", c.users.to_string()), ("think_time", span_distribution(&c.think_time))]);
    w.optional("closed_loop", clients.closed_loop.as_ref().map(users));
    w.optional("retry", clients.retry.as_ref().map(retry));
    w.optional("patience_first_token", clients.patience_first_token.map(span));
    w.optional("patience", clients.patience.map(span));
    w.line("server_notices", clients.server_notices);
}

fn retry(retry: &RetryPolicy) -> String {
    let none = || quoted("none");
    let budget = |b: &RetryBudget| inline(&[("max_tokens", float(b.max_tokens)), ("token_ratio", float(b.token_ratio))]);
    inline(&[
        ("statuses", list(retry.statuses.iter().map(u16::to_string))),
        ("attempts", retry.attempts.to_string()),
        (
            "backoff",
            quoted(match retry.backoff {
                Backoff::Fixed => "fixed",
                Backoff::Exponential => "exponential",
            }),
        ),
        ("initial", span(retry.initial)),
        ("max", retry.max.map_or_else(none, span)),
        (
            "jitter",
            quoted(match retry.jitter {
                Jitter::None => "none",
                Jitter::Full => "full",
                Jitter::Equal => "equal",
            }),
        ),
        ("on_timeout", retry.on_timeout.to_string()),
        ("timeout_delay", retry.timeout_delay.map_or_else(none, span)),
        ("budget", retry.budget.as_ref().map_or_else(none, budget)),
        ("retry_after", retry.retry_after.map_or_else(none, span)),
    ])
}

fn write_event(w: &mut Writer, event: &ScenarioEvent) {
    w.header("[[events]]");
    w.line("at", instant(event.at));
    if let Some(every) = event.every {
        w.line("every", span(every));
    }
    if let Some(until) = event.until {
        w.line("until", instant(until));
    }
    if super::events::reaches_frontends(&event.action) {
        let some = event.frontends.as_ref().map(|ids| list(ids.iter().map(u32::to_string)));
        w.line("frontends", some.unwrap_or_else(|| quoted("all")));
    }
    match &event.action {
        EventAction::PostBusyThreshold(post) => w.line("post_busy_threshold", threshold_post(post)),
        EventAction::Load(load) => w.line("load", scripted_load(load)),
        EventAction::SchedulerLoad(batch) => w.line("scheduler_load", list(batch.iter().map(scheduler_load))),
        EventAction::WorkerLeave { worker } => w.line("worker_leave", worker),
        EventAction::WorkerJoin { worker } => w.line("worker_join", worker),
        EventAction::ReportDown { worker } => w.line("report_down", worker),
        EventAction::RuntimeConfig(change) => w.line("runtime_config", runtime_config(change)),
    }
}

/// Adds the fields that are there.
fn present(fields: &mut Vec<(&'static str, String)>, more: impl IntoIterator<Item = (&'static str, Option<String>)>) {
    fields.extend(more.into_iter().filter_map(|(key, value)| Some((key, value?))));
}

fn threshold_post(post: &ThresholdPost) -> String {
    let ThresholdUpdate { active_decode_blocks_threshold, active_prefill_tokens_threshold, active_prefill_tokens_threshold_frac } =
        post.update;
    let mut fields = Vec::new();
    present(&mut fields, [("model", post.model.as_ref().map(quoted))]);
    present(
        &mut fields,
        thresholds(BusyThresholds {
            active_decode_blocks_threshold,
            active_prefill_tokens_threshold,
            active_prefill_tokens_threshold_frac,
        }),
    );
    inline(&fields)
}

fn scripted_load(load: &ScriptedLoad) -> String {
    let mut fields = vec![("worker", load.worker.to_string()), ("rank", load.rank.to_string())];
    present(
        &mut fields,
        [
            ("active_decode_blocks", load.active_decode_blocks.map(|n| n.to_string())),
            ("active_prefill_tokens", load.active_prefill_tokens.map(|n| n.to_string())),
            ("kv_used_blocks", load.kv_used_blocks.map(|n| n.to_string())),
        ],
    );
    inline(&fields)
}

fn scheduler_load(load: &ScriptedSchedulerLoad) -> String {
    inline(&[
        ("worker", load.worker.to_string()),
        ("rank", load.rank.to_string()),
        ("active_decode_blocks", load.active_decode_blocks.to_string()),
        ("active_prefill_tokens", load.active_prefill_tokens.to_string()),
    ])
}

fn runtime_config(change: &RuntimeConfigChange) -> String {
    let mut fields = vec![("worker", change.worker.to_string())];
    present(
        &mut fields,
        [
            ("data_parallel_size", change.data_parallel_size.map(|n| n.to_string())),
            ("kv_total_blocks", change.kv_total_blocks.map(figure)),
            ("max_num_batched_tokens", change.max_num_batched_tokens.map(figure)),
        ],
    );
    inline(&fields)
}
