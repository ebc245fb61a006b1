//! `[frontend]` and `[telemetry]`.

use crate::cluster::config::{FrontendConfig, FrontendSpread, RouterMode, TelemetryConfig};
use crate::control::BusyThresholds;
use crate::units::Span;

use super::item::{Item, NumberRange};
use super::section::Section;
use super::spans;

/// Frontends at most.
const MAX_FRONTENDS: u32 = 4_096;

/// `DYN_HTTP_OVERLOAD_STATUS_CODE` where the scenario names none.
const DEFAULT_OVERLOAD_STATUS: u16 = 529;

/// Model name where the scenario gives none.
const DEFAULT_MODEL: &str = "model";

/// Names of the router modes; `-` and `_` mean the same.
pub(super) const ROUTER_MODES: [(&str, RouterMode); 5] = [
    ("round-robin", RouterMode::RoundRobin),
    ("random", RouterMode::Random),
    ("power-of-two", RouterMode::PowerOfTwo),
    ("least-loaded", RouterMode::LeastLoaded),
    ("kv", RouterMode::Kv),
];

/// Decodes `[frontend]`.
pub(super) fn decode(section: &mut Section<'_>) -> FrontendConfig {
    let frontends = section.u32("frontends", 1, MAX_FRONTENDS).unwrap_or(1);
    let spread = section.item("spread").and_then(|item| spread(&item, frontends)).unwrap_or_default();
    let status = section.aliased("overload_status_code", &["http_overload_status_code"]).and_then(|item| item.u32(200, 999));
    let (track_output, track_active) =
        (section.boolean("router_track_output_blocks"), section.boolean("router_track_active_blocks"));
    if track_output == Some(true) && track_active == Some(false) {
        let message = format!(
            "`{}` is `true` while `router_track_active_blocks` is `false`: expected prompt blocks to be tracked where output blocks are",
            section.path_of("router_track_output_blocks")
        );
        section.fault(Some("router_track_output_blocks"), message, Some("the release refuses this combination too".to_owned()));
    }
    FrontendConfig {
        frontends,
        spread,
        router_mode: section.one_of("router_mode", &ROUTER_MODES).unwrap_or_default(),
        thresholds: thresholds(section),
        router_track_output_blocks: track_output.unwrap_or(false),
        router_track_prefill_tokens: section.boolean("router_track_prefill_tokens").unwrap_or(true),
        router_track_active_blocks: track_active.unwrap_or(true),
        migration_limit: section.u32("migration_limit", 0, u32::MAX).unwrap_or(0),
        overload_status_code: status.and_then(|s| u16::try_from(s).ok()).unwrap_or(DEFAULT_OVERLOAD_STATUS),
        retry_after: section.optional("retry_after").and_then(|item| item.positive_span()),
        overload_lease: section.span("overload_lease").unwrap_or(Span::from_secs(1)),
        inhibited_duration: section.span("runtime_inhibited_duration").unwrap_or(Span::from_secs(5)),
        discovery_delay: section.span("discovery_delay").unwrap_or(Span::ZERO),
        model: section.text("model", 200).unwrap_or(DEFAULT_MODEL).to_owned(),
    }
}

fn thresholds(section: &mut Section<'_>) -> BusyThresholds {
    BusyThresholds {
        active_decode_blocks_threshold: section
            .optional("active_decode_blocks_threshold")
            .and_then(|item| item.number(NumberRange::SHARE)),
        active_prefill_tokens_threshold: section.optional("active_prefill_tokens_threshold").and_then(|i| i.u64(0, u64::MAX)),
        active_prefill_tokens_threshold_frac: section
            .optional("active_prefill_tokens_threshold_frac")
            .and_then(|item| item.number(NumberRange::between(0.0, f64::MAX))),
    }
}

fn spread(item: &Item<'_>, frontends: u32) -> Option<FrontendSpread> {
    if !item.is_list() {
        let names = [("round_robin", false), ("random", true)];
        let random = item.one_of(&names)?;
        return Some(if random { FrontendSpread::Random } else { FrontendSpread::RoundRobin });
    }
    let list = item.list()?;
    if list.len() != frontends as usize {
        item.fault(
            format!("`{}` has {} weights: expected {frontends}, one for each frontend", item.path(), list.len()),
            Some("`frontends` says how many there are".to_owned()),
        );
        return None;
    }
    let weights: Vec<f64> = list.iter().map(|entry| entry.number(NumberRange::NOT_NEGATIVE)).collect::<Option<_>>()?;
    if weights.iter().all(|weight| *weight == 0.0) {
        item.mistake("at least one weight above 0", None);
        return None;
    }
    Some(FrontendSpread::Weights(weights))
}

/// Decodes `[telemetry]`.
pub(super) fn decode_telemetry(section: &mut Section<'_>) -> TelemetryConfig {
    let default = TelemetryConfig::default();
    TelemetryConfig {
        worker_kv_metrics: section.boolean("worker_kv_metrics").unwrap_or(default.worker_kv_metrics),
        debounce: section.span("debounce").unwrap_or(default.debounce),
        delay: section.item("delay").and_then(|item| spans::decode(&item)).unwrap_or(default.delay),
        loss: section.number("loss", NumberRange::SHARE).unwrap_or(default.loss),
        reorder: section.boolean("reorder").unwrap_or(default.reorder),
    }
}
