//! What a run found, in a sentence.

use super::summary::{Named, Summary};
use crate::stats::text::{count, percent};

/// What happened, in one sentence without a full stop: how much was refused, and why.
pub fn headline(summary: &Summary) -> String {
    let (attempts, requests) = (&summary.total.attempts, &summary.total.requests);
    if requests.offered == 0 {
        return "no request arrived".to_owned();
    }
    let lead = greater_loss(summary).map(|(lead, _)| lead);
    let mut text = match (&lead, attempts.refused) {
        (Some(lead), 0) => format!("{lead}; no attempt refused"),
        (None, 0) => format!("nothing refused: {} of {} requests completed", count(requests.completed), count(requests.offered)),
        (lead, refused) => {
            let rate = percent(refused as f64 / attempts.started as f64);
            let lead = lead.as_ref().map(|lead| format!("{lead}; ")).unwrap_or_default();
            format!("{lead}{rate} of attempts refused ({}): {}", summary.overload_status_code, why(summary))
        }
    };
    if attempts.unavailable > 0 && !greater_loss(summary).is_some_and(|(_, loss)| loss == Loss::Unavailable) {
        let rate = attempts.unavailable as f64 / attempts.started as f64;
        text.push_str(&format!("; {} found no usable worker (503)", percent(rate)));
    }
    text
}

/// How requests are lost other than by refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// They fit no worker.
    Unservable,
    /// Their clients gave up.
    GaveUp,
    /// Nobody was there: 503.
    Unavailable,
    /// Their workers were lost.
    Failed,
    /// The run ended first.
    Unfinished,
}

/// Requests that are under way when a run ends are no loss up to this share.
const UNDER_WAY: f64 = 0.05;

/// What befell most of the lost requests where that was no refusal, as a clause that begins with the share that completed.
pub fn greater_loss(summary: &Summary) -> Option<(String, Loss)> {
    let requests = &summary.total.requests;
    let share = |n: u64| n as f64 / requests.offered as f64;
    let unfinished = if share(requests.unfinished) >= UNDER_WAY { requests.unfinished } else { 0 };
    let losses = [
        (requests.unservable, Loss::Unservable, "fit no worker"),
        (requests.gave_up, Loss::GaveUp, "gave up"),
        (requests.lost_to_unavailability, Loss::Unavailable, "found no usable worker (503)"),
        (requests.failed, Loss::Failed, "were lost with their workers"),
        (unfinished, Loss::Unfinished, "were unfinished at the end"),
    ];
    let greatest = losses.into_iter().reduce(|best, loss| if loss.0 > best.0 { loss } else { best });
    let (n, loss, befell) = greatest.filter(|(n, ..)| *n > requests.lost_to_overload)?;
    let completed = percent(share(requests.completed));
    Some((format!("{completed} of {} requests completed, {} {befell}", count(requests.offered), percent(share(n))), loss))
}

/// What is said of a share of refusals behind a setting: it is a figure of single requests, not of another run.
pub fn routed_without(setting: &str, share: &str) -> String {
    format!("without {setting}, {share} of the refused would have been routed, each judged alone, all else as it was")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Remote;
    use crate::experiment::{RunOptions, run};
    use crate::scenario::Scenario;

    fn said(text: &str) -> String {
        let scenario = Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario;
        let (result, ()) = run(&scenario, RunOptions::default(), (), &Remote::default()).unwrap();
        headline(&Summary::of(&scenario, &result))
    }

    fn four(fleet: &str, rest: &str) -> String {
        said(&format!(
            "horizon = \"20s\"\n[fleet]\nservice_time = \"10s\"\n{fleet}\n[[workload.requests]]\nat = \"0s\"\ncount = 4\ninput_tokens = 1\n\
             output_tokens = 1\n{rest}"
        ))
    }

    #[test]
    fn the_headline_leads_with_what_befell_most_of_the_lost() {
        let gate = "workers = 1\nengine_request_limit = 1\nrequest_queue_limit = 2";
        let refused = "75.0 % of attempts refused (529): by workers at capacity (N + Q)";
        assert_eq!(four("workers = 1", ""), "nothing refused: 4 of 4 requests completed");
        assert_eq!(four(gate, ""), refused.replace("75.0", "25.0"), "N + Q is 3");
        assert_eq!(
            four("workers = 0", ""),
            "0 % of 4 requests completed, 100 % found no usable worker (503); no attempt refused"
        );
        assert_eq!(
            four("workers = 1", "[clients]\npatience = \"1s\"\n"),
            "0 % of 4 requests completed, 100 % gave up; no attempt refused"
        );
        let gave_up = four(gate, "[clients]\npatience = \"1s\"\n");
        assert_eq!(gave_up, format!("0 % of 4 requests completed, 75.0 % gave up; {}", refused.replace("75.0", "25.0")));
        let cut = said(
            "horizon = \"5s\"\n[fleet]\nworkers = 1\nservice_time = \"10s\"\n[[workload.requests]]\nat = \"0s\"\ninput_tokens = 1\noutput_tokens = 1\n",
        );
        assert_eq!(cut, "0 % of 1 requests completed, 100 % were unfinished at the end; no attempt refused");
    }
}
