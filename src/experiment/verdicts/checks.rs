//! Checks that could not fire, and checks that cannot stop firing.

use super::codes;
use crate::cluster::config::RouterMode;
use crate::control::monitor::SignalsSeen;
use crate::control::{BusyThresholds, Check, Signal, WorkerMonitor};
use crate::experiment::result::RunResult;
use crate::scenario::{Scenario, Warning};
use crate::units::{SimTime, Span};

/// A signal that says nothing for this long has gone silent.
const SILENCE: Span = Span::from_secs(5);
/// Latches that are named one by one, at most, over all frontends.
const MOST_LATCHES: usize = 20;

/// What a frontend's monitor ended with.
#[derive(Clone, Debug, PartialEq)]
pub struct MonitorEnd {
    /// The frontend.
    pub frontend: u32,
    /// Thresholds stored.
    pub thresholds: BusyThresholds,
    /// Signals it ever met.
    pub signals: SignalsSeen,
    /// Latches that are set by a signal that has gone silent; the first `MOST_LATCHES`.
    pub held: Vec<HeldLatch>,
}

/// A latch set by a signal that has gone silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldLatch {
    /// Worker.
    pub worker: u32,
    /// Rank.
    pub rank: u32,
    /// The signal.
    pub signal: Signal,
    /// Its last value, in blocks.
    pub value: u64,
    /// How long ago it was observed.
    pub age: Span,
}

impl MonitorEnd {
    /// What `monitor` knows at `now`.
    pub(in crate::experiment) fn of(now: SimTime, frontend: u32, monitor: &WorkerMonitor) -> Self {
        let mut held = Vec::new();
        for (id, state) in monitor.workers() {
            for (rank, load) in state.ranks() {
                let Some(latch) = &load.latch else { continue };
                let sources = [
                    (Signal::ActiveDecodeBlocks, latch.active_decode_blocks, load.active_decode_blocks),
                    (Signal::KvUsedBlocks, latch.kv_used_blocks, load.kv_used_blocks),
                ];
                for (signal, memory, seen) in sources {
                    let Some(seen) = seen.filter(|seen| memory.over && now.since(seen.at) >= SILENCE) else { continue };
                    held.push(HeldLatch { worker: id.0, rank, signal, value: seen.value, age: now.since(seen.at) });
                }
            }
        }
        held.truncate(MOST_LATCHES);
        Self { frontend, thresholds: monitor.thresholds(), signals: monitor.signals_seen(), held }
    }
}

/// Configured checks that nothing was ever held against.
pub(super) fn never_evaluable(scenario: &Scenario, result: &RunResult) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    // Where no attempt came to be routed there was nothing to report: that is told by itself, and no threshold is at fault.
    let attempts = &result.whole.attempts;
    if attempts.started == attempts.unservable + attempts.unavailable {
        return warnings;
    }
    let configured = |of: fn(&BusyThresholds) -> bool| result.monitors.iter().any(|m| of(&m.thresholds));
    let seen = |of: fn(&SignalsSeen) -> bool| result.monitors.iter().any(|m| of(&m.signals));
    let mut warn = |field: &str, name: &str, missing: &str, next_step: &str| {
        warnings.push(Warning {
            code: codes::NEVER_EVALUABLE,
            subject: format!("frontend.{field}"),
            cause: format!("{name} configured, never evaluable ({missing})"),
            next_step: next_step.to_owned(),
        });
    };
    if configured(|t| t.active_decode_blocks_threshold.is_some()) {
        let reported = reports_total(scenario);
        if !reported || (seen(|s| s.active_decode_blocks || s.kv_used_blocks) && !seen(|s| s.blocks_with_total)) {
            let next_step = "let the workers report `kv_total_blocks`";
            warn("active_decode_blocks_threshold", "decode threshold D", "kv_total_blocks missing", next_step);
        } else if !seen(|s| s.active_decode_blocks || s.kv_used_blocks) {
            let next_step = "use `router_mode = \"kv\"`, or let the workers publish loads";
            warn("active_decode_blocks_threshold", "decode threshold D", "no used blocks were ever reported", next_step);
        }
    }
    if !seen(|s| s.active_prefill_tokens) {
        let missing = match scenario.frontend.router_mode {
            RouterMode::Kv => "no prefill tokens were ever tracked",
            _ => "active_prefill_tokens missing: no worker publishes them, and only kv mode tracks them",
        };
        let next_step = "use `router_mode = \"kv\"` with `router_track_prefill_tokens`";
        if configured(|t| t.active_prefill_tokens_threshold.is_some()) {
            warn("active_prefill_tokens_threshold", "prefill threshold P", missing, next_step);
        }
        if configured(|t| t.active_prefill_tokens_threshold_frac.is_some()) {
            warn("active_prefill_tokens_threshold_frac", "prefill fraction F", missing, next_step);
        }
    }
    warnings
}

/// Whether any worker says how many blocks it has.
fn reports_total(scenario: &Scenario) -> bool {
    let reported = |t: &crate::cluster::config::WorkerType| t.advertised.kv_total_blocks.reported(t.kv_total_blocks);
    let changed = scenario.events.iter().any(|event| match &event.action {
        crate::cluster::config::EventAction::RuntimeConfig(change) => change.kv_total_blocks.is_some(),
        _ => false,
    });
    changed || scenario.fleet.types.iter().any(|t| reported(t).is_some_and(|blocks| blocks > 0))
}

/// Decode thresholds whose line lies above everything a rank can use.
pub(super) fn cannot_fire(scenario: &Scenario) -> Vec<Warning> {
    let frontend = &scenario.frontend;
    // The router's own count does not stop at what a rank has.
    let tracked = frontend.router_mode == RouterMode::Kv && frontend.router_track_active_blocks;
    let Some(threshold) = frontend.thresholds.active_decode_blocks_threshold.filter(|_| !tracked) else { return Vec::new() };
    let mut warnings = Vec::new();
    for of in scenario.fleet.types.iter().filter(|t| !t.is_opaque()) {
        let (Some(total), Some(reported)) = (of.kv_total_blocks, of.advertised.kv_total_blocks.reported(of.kv_total_blocks))
        else {
            continue;
        };
        let line = threshold * reported as f64;
        if reported != total && line >= total as f64 {
            warnings.push(Warning {
                code: codes::THRESHOLD_CANNOT_FIRE,
                subject: "frontend.active_decode_blocks_threshold".to_owned(),
                cause: format!(
                    "can never fire for workers of type `{}`: they report {reported} blocks per rank and have {total}, so that \
                     the line of {line:.0} blocks is never crossed",
                    of.name
                ),
                next_step: "let them report the blocks each rank has".to_owned(),
            });
        }
    }
    warnings
}

/// What to add to a verdict where the decode check could have fired and did not; else nothing.
pub(super) fn decode_never_fired(scenario: &Scenario, result: &RunResult) -> String {
    let configured = result.monitors.iter().any(|m| m.thresholds.active_decode_blocks_threshold.is_some());
    if !configured || result.fired.contains(Check::Decode) || scenario.fleet.types.iter().all(|t| t.is_opaque()) {
        return String::new();
    }
    let usage = |rank: &crate::experiment::result::RankResult| {
        let total = rank.kv_total_blocks.filter(|total| *total > 0)?;
        Some(rank.kv_used_blocks.max()? as f64 / total as f64)
    };
    let peak = result.ranks.iter().filter_map(usage).fold(0.0, f64::max);
    format!("; decode threshold D never fired (peak usage {:.0} %)", peak * 100.0)
}

/// Latches that no signal is left to clear.
pub(super) fn held_by_silence(result: &RunResult) -> Vec<Warning> {
    let of_frontend = |monitor: &MonitorEnd| {
        let frontend = monitor.frontend;
        let warning = move |held: &HeldLatch| Warning {
            code: codes::LATCH_HELD_BY_SILENCE,
            subject: format!("worker {} rank {} at frontend {frontend}", held.worker, held.rank),
            cause: format!(
                "is held busy by `{}` = {}, last observed {} before the end: the latch waits for that signal",
                held.signal.name(),
                held.value,
                held.age
            ),
            next_step: "look for what silenced the signal; a new runtime configuration rebuilds the latch".to_owned(),
        };
        monitor.held.iter().map(warning).collect::<Vec<_>>()
    };
    result.monitors.iter().flat_map(of_frontend).take(MOST_LATCHES).collect()
}
