//! `[frontend]`, `[telemetry]` and `[clients]`.

use crate::cluster::config::{
    Backoff, ClientConfig, ClosedLoop, FrontendConfig, FrontendSpread, Jitter, RetryBudget, RetryPolicy, SessionConfig,
    TelemetryConfig,
};
use crate::control::BusyThresholds;

use super::super::clients::{AT_MAX_CONTEXT, CONTEXTS};
use super::super::frontend::ROUTER_MODES;
use super::distributions::{length_distribution, span_distribution};
use super::writer::{Writer, float, inline, list, quoted, span};

pub(super) fn write_frontend(w: &mut Writer, frontend: &FrontendConfig) {
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
    w.optional("retry_after", frontend.retry_after.map(span));
    w.line("overload_lease", span(frontend.overload_lease));
    w.line("runtime_inhibited_duration", span(frontend.inhibited_duration));
    w.line("discovery_delay", span(frontend.discovery_delay));
    w.line("model", quoted(&frontend.model));
}

pub(super) fn thresholds(thresholds: BusyThresholds) -> [(&'static str, Option<String>); 3] {
    [
        ("active_decode_blocks_threshold", thresholds.active_decode_blocks_threshold.map(float)),
        ("active_prefill_tokens_threshold", thresholds.active_prefill_tokens_threshold.map(|n| n.to_string())),
        ("active_prefill_tokens_threshold_frac", thresholds.active_prefill_tokens_threshold_frac.map(float)),
    ]
}

pub(super) fn write_telemetry(w: &mut Writer, telemetry: &TelemetryConfig) {
    w.header("[telemetry]");
    w.line("worker_kv_metrics", telemetry.worker_kv_metrics);
    w.line("debounce", span(telemetry.debounce));
    w.line("delay", span_distribution(&telemetry.delay));
    w.line("loss", float(telemetry.loss));
    w.line("reorder", telemetry.reorder);
}

pub(super) fn write_clients(w: &mut Writer, clients: &ClientConfig) {
    w.header("[clients]");
    w.optional("closed_loop", clients.closed_loop.as_ref().map(closed_loop));
    if clients.closed_loop.is_none() {
        let fields = clients.sessions.as_ref().map(|sessions| inline(&session_fields(sessions)));
        w.optional("sessions", fields);
    }
    w.optional("retry", clients.retry.as_ref().map(retry));
    w.optional("patience_first_token", clients.patience_first_token.map(span));
    w.optional("patience", clients.patience.map(span));
    w.line("server_notices", clients.server_notices);
}

fn closed_loop(closed: &ClosedLoop) -> String {
    let mut fields = vec![("users", closed.users.to_string()), ("think_time", span_distribution(&closed.think_time))];
    fields.extend(closed.sessions.iter().flat_map(session_fields));
    inline(&fields)
}

fn session_fields(sessions: &SessionConfig) -> Vec<(&'static str, String)> {
    let limit = sessions.max_context_tokens;
    let mut fields = vec![
        ("turns", length_distribution(&sessions.turns)),
        ("turn_think_time", span_distribution(&sessions.turn_think_time)),
        ("context", named(&CONTEXTS, sessions.context)),
        ("max_context_tokens", limit.map_or_else(|| quoted("none"), |n| n.to_string())),
    ];
    if limit.is_some() {
        fields.push(("at_max_context", named(&AT_MAX_CONTEXT, sessions.at_max_context)));
    }
    fields
}

/// The name of a value in the table that it is read by.
fn named<T: Copy + PartialEq>(names: &[(&str, T)], value: T) -> String {
    quoted(names.iter().find(|(_, candidate)| *candidate == value).map_or("", |(name, _)| name))
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
        ("obey_retry_after", retry.obey_retry_after.to_string()),
    ])
}
