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
        format!("{} of attempts refused ({status}): {}", percent(rate), why(summary))
    };
    if attempts.unavailable > 0 {
        let rate = attempts.unavailable as f64 / attempts.started as f64;
        text.push_str(&format!("; {} found no usable worker (503)", percent(rate)));
    }
    text
}

/// The reasons with their shares, the greatest first, and the check that decided most exclusions.
fn why(summary: &Summary) -> String {
    let refused = summary.total.attempts.refused;
    let mut reasons: Vec<&Named> = summary.total.refused_by_reason.iter().filter(|n| n.attempts > 0).collect();
    reasons.sort_by_key(|n| std::cmp::Reverse(n.attempts));
    let alone = reasons.len() == 1;
    let parts = reasons.iter().map(|reason| {
        let share = if alone { String::new() } else { format!("{} ", percent(reason.attempts as f64 / refused as f64)) };
        match reason.name.as_str() {
            "all_workers_busy" => format!("{share}because every worker was excluded{}", decided(summary, reason.attempts)),
            "worker_at_capacity" => format!("{share}by workers at capacity (N + Q)"),
            _ => format!("{share}because the worker asked for was excluded"),
        }
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// In brackets, what decided most of `exclusions` refusals.
fn decided(summary: &Summary, exclusions: u64) -> String {
    let of_exclusions = summary.total.refused_by_decisive_check.iter().filter(|n| n.name != "worker_gate");
    let Some(check) = greatest(of_exclusions) else { return String::new() };
    let mostly = if check.attempts < exclusions { "mostly " } else { "" };
    format!(" ({mostly}{})", in_words(&check.name))
}

/// A decisive check as a reader calls it.
fn in_words(check: &str) -> &'static str {
    match check {
        "decode" => "by the decode threshold",
        "prefill" => "by the prefill threshold",
        "prefill_fraction" => "by the prefill fraction",
        "lease" => "by leases",
        _ => "by several checks at once",
    }
}

/// The entry with most attempts, the first of equal ones; `None` if all are 0.
fn greatest<'a>(named: impl Iterator<Item = &'a Named>) -> Option<&'a Named> {
    named.filter(|n| n.attempts > 0).reduce(|best, n| if n.attempts > best.attempts { n } else { best })
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
