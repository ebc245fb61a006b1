//! The verdict of a run in words: what was refused, why, when, and what would change it.

use super::charts::data::Refusals;
use super::marks::instant;
use super::run_charts::RunCharts;
use super::summary::{Named, Summary};
use super::text::targets;
use super::verdict::{Loss, admitting_setting, greater_loss, routed_without};
use crate::control::RefusalReason;
use crate::stats::text::{count, duration, percent, significant};

const NANOS_PER_SECOND: f64 = 1e9;
/// Causes of fewer refusals are not explained.
const LEAST_SHARE: f64 = 0.05;

/// Sentences under the four questions of an operator; names of settings stand in back quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What was refused, and what became of the rest.
    pub what: Vec<String>,
    /// By which rule.
    pub why: Vec<String>,
    /// In which part of the run.
    pub when: Vec<String>,
    /// What to change, or to try.
    pub change: Vec<String>,
}

impl Findings {
    /// What a run found.
    pub fn of(summary: &Summary, charts: &RunCharts) -> Self {
        let refusing = summary.total.attempts.refused > 0;
        Self {
            what: what(summary),
            why: if refusing { why(summary) } else { Vec::new() },
            when: when(summary, charts),
            change: change(summary),
        }
    }
}

fn what(summary: &Summary) -> Vec<String> {
    let (attempts, requests) = (&summary.total.attempts, &summary.total.requests);
    if requests.offered == 0 {
        return vec!["No request arrived.".to_owned()];
    }
    let lead = greater_loss(summary).map(|(lead, _)| lead + ".");
    let refusals = if attempts.refused == 0 && lead.is_some() {
        "No attempt was refused.".to_owned()
    } else if attempts.refused == 0 {
        format!("No attempt was refused: {} of {} requests completed.", count(requests.completed), count(requests.offered))
    } else {
        format!(
            "{} of {} attempts were refused with status {}; {} of {} requests were lost to it ({}).",
            count(attempts.refused),
            count(attempts.started),
            summary.overload_status_code,
            count(requests.lost_to_overload),
            count(requests.offered),
            summary.total.lost_to_overload_share.map(percent).unwrap_or_default()
        )
    };
    let mut said: Vec<String> = lead.into_iter().chain([refusals]).collect();
    let outcomes = requests.outcomes();
    let others: Vec<String> = outcomes
        .iter()
        .filter(|(name, n)| *n > 0 && *name != "lost to overload")
        .map(|(name, n)| format!("{} {name}", count(*n)))
        .collect();
    if !others.is_empty() {
        let whose = if attempts.refused == 0 { "requests" } else { "others" };
        said.push(format!("What became of the {whose}: {}.", others.join(", ")));
    }
    if attempts.unavailable > 0 {
        said.push(format!("{} attempts found no usable worker (503).", count(attempts.unavailable)));
    }
    let (ttft, slo) = (&summary.total.latency.ttft_s, &summary.total.slo);
    if let Some(p99) = ttft.p99 {
        let mut sentence =
            format!("Of the completed requests, 99 % had their first token within {}", duration(p99 * NANOS_PER_SECOND));
        if let (false, Some(share)) = (targets(summary).is_empty(), slo.share) {
            sentence += &format!("; {} of all offered requests met {}", percent(share), targets(summary).join(", "));
        }
        said.push(sentence + ".");
    }
    if let Some(amplification) = summary.total.amplification.filter(|a| *a > 1.005) {
        said.push(format!("Clients retried: {} attempts per request.", significant(amplification, 3)));
    }
    said
}

fn why(summary: &Summary) -> Vec<String> {
    let refused = summary.total.attempts.refused;
    let share = |n: u64| percent(n as f64 / refused as f64);
    let mut reasons: Vec<&Named> = summary.total.refused_by_reason.iter().filter(|n| n.attempts > 0).collect();
    reasons.sort_by_key(|n| std::cmp::Reverse(n.attempts));
    let mut said: Vec<String> = reasons
        .into_iter()
        .map(|reason| {
            let cause = match reason.name.as_str() {
                "all_workers_busy" => "every worker was excluded, by thresholds or leases (`all_workers_busy`)",
                "worker_at_capacity" => {
                    "the worker that was chosen had all N engine slots and Q queue places taken (`worker_at_capacity`)"
                }
                _ => "the worker that was asked for was excluded (`pinned_worker_busy`)",
            };
            format!("{} ({}): {cause}.", count(reason.attempts), share(reason.attempts))
        })
        .collect();
    let checks = summary.total.refused_by_decisive_check.iter().filter(|n| n.attempts > 0 && n.name != "worker_gate");
    let checks: Vec<String> = checks.map(|n| format!("{} {}", n.name, count(n.attempts))).collect();
    if !checks.is_empty() {
        said.push(format!("Checks that decided the exclusions: {}.", checks.join(", ")));
    }
    said
}

fn when(summary: &Summary, charts: &RunCharts) -> Vec<String> {
    let mut said = Vec::new();
    let end = charts.refusals.time.end;
    if let Some(span) = RefusalSpan::of(&charts.refusals.refusals, end) {
        said.push(format!(
            "Refusals came between {} and {} of {}, in {} of {} intervals of that stretch; most in the one from {}: {} of its attempts.",
            instant(span.from),
            instant(span.to),
            instant(end),
            count(span.refusing),
            count(span.bins),
            instant(span.worst.0),
            percent(span.worst.1)
        ));
    }
    let worst = summary.phases.iter().filter(|p| p.measures.attempts.refused > 0);
    let worst = worst.max_by(|a, b| a.measures.rate_529.unwrap_or(0.0).total_cmp(&b.measures.rate_529.unwrap_or(0.0)));
    if let Some(phase) = worst.filter(|_| summary.phases.len() > 1) {
        said.push(format!(
            "Worst phase: “{}”, from {} to {}: {} of attempts refused.",
            phase.name,
            instant(phase.start_s),
            instant(phase.end_s),
            phase.measures.rate_529.map(percent).unwrap_or_default()
        ));
    }
    if let Some(recovery) = &summary.recovery {
        let rates = format!(
            "{}/s before, {}/s in the last quarter",
            significant(recovery.goodput_before, 3),
            significant(recovery.goodput_last_quarter, 3)
        );
        let at = instant(recovery.disturbed_at_s);
        match recovery.recovered_after_s {
            _ if recovery.does_not_recover => {
                said.push(format!(
                    "Goodput does not recover from the disturbance at {at}: {rates}, though no more is offered than before."
                ));
            }
            Some(after) if after > 0.0 => said
                .push(format!("Goodput was back {} after the disturbance at {at}: {rates}.", duration(after * NANOS_PER_SECOND))),
            _ => {}
        }
    }
    said
}

/// The stretch of a run in which attempts were refused.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RefusalSpan {
    from: f64,
    to: f64,
    /// Intervals with refusals.
    refusing: u64,
    /// Intervals from the first to the last of those.
    bins: u64,
    /// Start and share of the earliest interval with the greatest share.
    worst: (f64, f64),
}

impl RefusalSpan {
    fn of(refusals: &Refusals, end: f64) -> Option<Self> {
        let share =
            |i: usize| refusals.reasons.iter().filter_map(|reason| reason.shares.get(i)).filter(|s| s.is_finite()).sum::<f64>();
        let shares: Vec<f64> = (0..refusals.bins.len()).map(share).collect();
        let first = shares.iter().position(|s| *s > 0.0)?;
        let last = shares.iter().rposition(|s| *s > 0.0)?;
        let worst = (first..=last).fold(first, |best, i| if shares[i] > shares[best] { i } else { best });
        Some(Self {
            from: refusals.bins[first],
            to: refusals.bins.get(last + 1).copied().unwrap_or(end),
            refusing: shares.iter().filter(|s| **s > 0.0).count() as u64,
            bins: (last + 1 - first) as u64,
            worst: (refusals.bins[worst], shares[worst]),
        })
    }
}

fn change(summary: &Summary) -> Vec<String> {
    let total = &summary.total;
    let share = |n: u64| percent(n as f64 / total.attempts.refused as f64);
    let mut decided: Vec<(&Named, &str)> = total
        .refused_by_decisive_check
        .iter()
        .filter(|n| n.attempts > 0)
        .filter_map(|n| Some((n, admitting_setting(&n.name)?)))
        .collect();
    decided.sort_by_key(|(n, _)| std::cmp::Reverse(n.attempts));
    let mut said: Vec<String> = decided
        .iter()
        .map(|(n, setting)| {
            let sentence = routed_without(&quoted(setting), &share(n.attempts));
            format!("W{}.", &sentence[1..])
        })
        .collect();
    said.extend(room(summary));
    said.extend(unserved(summary));
    if summary.recovery.as_ref().is_some_and(|r| r.does_not_recover) {
        said.push("The overload feeds itself: bound the retries of clients (`clients.retry`), or refuse earlier, before work is wasted.".to_owned());
    }
    if said.is_empty() {
        return idle(summary);
    }
    said.push(
        "In the whole run another limit may take over where one is raised. Only other runs tell: `shedcast compare` of two, `shedcast \
         sweep resolved.toml --grid PATH=VALUES --target 'rate_529<=1%'` of many, `shedcast plan` for what targets need."
            .to_owned(),
    );
    said
}

/// What ended badly without a refusal.
fn unserved(summary: &Summary) -> Vec<String> {
    let (total, requests) = (&summary.total, &summary.total.requests);
    let of_offered = |n: u64| percent(n as f64 / requests.offered as f64);
    let mut said = Vec::new();
    if requests.gave_up > 0 {
        let wasted = total.tokens.wasted_share.filter(|share| *share > 0.0);
        let wasted = wasted.map(|s| format!(", and {} of all tokens were computed for nobody", percent(s))).unwrap_or_default();
        let cure = if total.attempts.refused == 0 {
            "nothing refuses here: a cap (`fleet.engine_request_limit`, `fleet.request_queue_limit`) or a busy threshold ends such \
             requests before they cost"
        } else {
            "refuse earlier, or add workers"
        };
        said.push(format!("Clients of {} of offered requests gave up{wasted}: {cure}.", of_offered(requests.gave_up)));
    }
    if requests.unservable > 0 {
        said.push(format!(
            "{} of offered requests fit no worker: they exceed its context limit or the blocks of a rank (`fleet.kv_total_blocks`).",
            of_offered(requests.unservable)
        ));
    }
    if requests.lost_to_unavailability > 0 {
        said.push(format!(
            "{} of offered requests found no usable worker (503): look at the fleet's events, and at leases and reports of failure.",
            of_offered(requests.lost_to_unavailability)
        ));
    }
    if requests.failed > 0 {
        said.push(format!("{} of offered requests were lost with their workers.", of_offered(requests.failed)));
    }
    if greater_loss(summary).is_some_and(|(_, loss)| loss == Loss::Unfinished) {
        said.push(format!(
            "{} of offered requests were unfinished at the end: a longer run tells whether they are ever served.",
            of_offered(requests.unfinished)
        ));
    }
    if let Some(met) = total.slo.share_of_completed.filter(|share| *share < 0.99 && !targets(summary).is_empty()) {
        said.push(format!(
            "Only {} of the completed requests met {}: more workers, less load, or limits that bite earlier.",
            percent(met),
            targets(summary).join(", ")
        ));
    }
    said
}

/// Whether the engines had room for what the frontends' checks refused, where that is a share of the refusals that matters.
fn room(summary: &Summary) -> Option<String> {
    let engine = &summary.decision_quality.as_ref()?.engine;
    let (room, none) = (engine.refused_with_room, engine.refused_without_room);
    let total = &summary.total;
    let gates = total.refused_by_reason.iter().filter(|n| n.name == RefusalReason::WorkerAtCapacity.name());
    let by_frontends = total.attempts.refused.saturating_sub(gates.map(|n| n.attempts).sum());
    let of_refusals = by_frontends as f64 / total.attempts.refused as f64;
    if room + none == 0 || total.attempts.refused == 0 || of_refusals < LEAST_SHARE {
        return None;
    }
    let had = format!(
        "The frontends' checks decided {} of the refusals. Where they refused, some worker had a free place, and a rank with free \
         blocks and seats, in {} of the cases",
        percent(of_refusals),
        percent(room as f64 / (room + none) as f64)
    );
    Some(if room >= none {
        format!("{had}: these checks bite earlier than the engines.")
    } else {
        format!("{had}; otherwise the engines were full. Higher limits then make requests wait instead.")
    })
}

/// What may still be worth a change where nothing was refused.
fn idle(summary: &Summary) -> Vec<String> {
    if summary.total.requests.offered == 0 {
        return vec!["Check the arrivals of the scenario (`workload`): nothing was tried.".to_owned()];
    }
    vec!["Nothing needs to change for this load. How much more it carries: `shedcast sweep resolved.toml --grid PATH=VALUES` over the arrival rate.".to_owned()]
}

/// Settings, each in back quotes.
fn quoted(settings: &str) -> String {
    settings.split(", ").map(|setting| format!("`{setting}`")).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::charts::data::Reason;

    #[test]
    fn the_stretch_of_refusals_is_found_with_its_worst_interval() {
        let reason = |name: &str, shares: [f64; 5]| Reason { name: name.to_owned(), shares: shares.to_vec() };
        let refusals = Refusals {
            bins: vec![0.0, 1.0, 2.0, 3.0, 4.0],
            reasons: vec![reason("a", [0.0, 0.25, f64::NAN, 0.5, 0.0]), reason("b", [0.0, 0.0, f64::NAN, 0.25, 0.0])],
        };
        let span = RefusalSpan::of(&refusals, 5.0).unwrap();
        assert_eq!(span, RefusalSpan { from: 1.0, to: 4.0, refusing: 2, bins: 3, worst: (3.0, 0.75) });
        assert_eq!(RefusalSpan::of(&Refusals::default(), 5.0), None);
    }

    fn changes(frontend: &str, fleet: &str) -> String {
        let text = format!(
            "horizon = \"20s\"\n[fleet]\nworkers = 1\nengine = \"h100-llama-3.1-8b-bf16-vllm\"\n{fleet}\n[frontend]\n{frontend}\n[workload]\n\
             arrivals = {{ process = \"constant\", rate = 20 }}\ninput_tokens = 1024\noutput_tokens = 200\n"
        );
        let scenario =
            crate::scenario::Scenario::parse(&text, "test.toml", &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario;
        let (options, remote) = (crate::experiment::RunOptions::default(), crate::cluster::Remote::default());
        let (result, ()) = crate::experiment::run(&scenario, options, (), &remote).unwrap();
        let summary = Summary::of(&scenario, &result);
        assert!(summary.total.attempts.refused > 0, "{text}");
        change(&summary).join("\n")
    }

    #[test]
    fn frontends_checks_are_spoken_of_where_they_refuse_and_nothing_is_promised() {
        let gate = "engine_request_limit = 8\nrequest_queue_limit = 2";
        let gates = changes("overload_lease = \"0s\"", gate);
        assert!(!gates.contains("frontends' checks"), "gates alone refused: {gates}");
        assert!(
            gates.starts_with("Without `fleet.engine_request_limit` and `fleet.request_queue_limit`, 100 % of the refused"),
            "{gates}"
        );
        let checks = changes("active_decode_blocks_threshold = 0.05\noverload_lease = \"0s\"", "");
        assert!(checks.contains("The frontends' checks decided 100 % of the refusals."), "{checks}");
        for said in [gates, checks] {
            assert!(said.contains("each judged alone, all else as it was.") && said.contains("`shedcast compare`"), "{said}");
        }
    }
}
