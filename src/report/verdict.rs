//! What a run found, in a sentence.

use super::summary::{Named, Summary};
use crate::stats::text::{count, percent};

/// What happened, in one sentence without a full stop: how much was refused, and why.
pub fn headline(summary: &Summary) -> String {
    let (attempts, requests) = (&summary.total.attempts, &summary.total.requests);
    if requests.offered == 0 {
        return "no request arrived".to_owned();
    }
    let mut text = if attempts.refused == 0 {
        format!("nothing refused: {} of {} requests completed", count(requests.completed), count(requests.offered))
    } else {
        let rate = attempts.refused as f64 / attempts.started as f64;
        let status = summary.overload_status_code;
        format!("{} of attempts refused ({status}), {}", percent(rate), why(summary))
    };
    if attempts.unavailable > 0 {
        let rate = attempts.unavailable as f64 / attempts.started as f64;
        text.push_str(&format!("; {} found no usable worker (503)", percent(rate)));
    }
    text
}

/// The greatest reason and, for exclusions, the check that decided most.
fn why(summary: &Summary) -> String {
    let refused = summary.total.attempts.refused;
    let Some(reason) = greatest(&summary.total.refused_by_reason) else { return "for no known reason".to_owned() };
    let what = match reason.name.as_str() {
        "all_workers_busy" => "because every worker was excluded",
        "worker_at_capacity" => "by workers at capacity (N + Q)",
        _ => "because the worker asked for was excluded",
    };
    let part = part_of(reason.attempts, refused);
    let by = greatest(&summary.total.refused_by_decisive_check).filter(|_| reason.name != "worker_at_capacity");
    match by.and_then(|check| Some((in_words(&check.name)?, check.attempts))) {
        Some((check, n)) => format!("{part} {what}; {check} decided {}", part_of(n, refused)),
        None => format!("{part} {what}"),
    }
}

/// A check as a reader calls it; `None` for what is decided by no check alone.
fn in_words(check: &str) -> Option<&'static str> {
    match check {
        "decode" => Some("the decode threshold"),
        "prefill" => Some("the prefill threshold"),
        "prefill_fraction" => Some("the prefill fraction"),
        "lease" => Some("a lease"),
        "joint" => Some("no check alone"),
        _ => None,
    }
}

fn part_of(part: u64, whole: u64) -> String {
    if part == whole { "all of them".to_owned() } else { format!("{} of them", percent(part as f64 / whole as f64)) }
}

/// The entry with most attempts, the first of equal ones; `None` if all are 0.
fn greatest(named: &[Named]) -> Option<&Named> {
    named.iter().filter(|n| n.attempts > 0).reduce(|best, n| if n.attempts > best.attempts { n } else { best })
}

/// The setting behind a decisive check, as it is called in scenario files; `None` where no single one would have admitted the
/// request.
pub fn admitting_setting(check: &str) -> Option<&'static str> {
    match check {
        "decode" => Some("frontend.active_decode_blocks_threshold"),
        "prefill" => Some("frontend.active_prefill_tokens_threshold"),
        "prefill_fraction" => Some("frontend.active_prefill_tokens_threshold_frac"),
        "lease" => Some("frontend.overload_lease"),
        "worker_gate" => Some("fleet.engine_request_limit, fleet.request_queue_limit"),
        _ => None,
    }
}
