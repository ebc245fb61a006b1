//! The story of one request as text: what each frontend saw, what it decided, and what came of it.

use std::fmt::Write as _;

use crate::cluster::observer::{AttemptOutcome, RequestOutcome};
use crate::cluster::story::{StoryEvent, WorkerView};
use crate::control::{Destination, DispatchFailure, FiringCheck, Refusal, RefusalLayer};
use crate::units::SimTime;

/// Workers that are described one by one at a decision, at most: those that could be picked come last.
const MOST_WORKERS: usize = 32;

/// The story of request `id`; says so where it is none of the `offered` requests of the run.
pub fn story_text(id: u64, story: &[(SimTime, StoryEvent)], offered: u64) -> String {
    let mut text = String::new();
    if story.is_empty() {
        let those = match offered {
            0 => "nothing did".to_owned(),
            n => format!("its requests are 0 to {}", n - 1),
        };
        let _ = writeln!(text, "request {id} did not arrive in this run: {those}");
        return text;
    }
    let _ = writeln!(text, "request {id}");
    for (at, event) in story {
        let mut lines = lines_of(*at, event).into_iter();
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(text, "{:>16}  {first}", at.to_string());
        for line in lines {
            let _ = writeln!(text, "{:>16}    {line}", "");
        }
    }
    text
}

fn lines_of(now: SimTime, event: &StoryEvent) -> Vec<String> {
    match event {
        StoryEvent::Arrived { input_tokens, output_tokens } => {
            vec![format!("arrives: {input_tokens} prompt tokens, {output_tokens} to generate")]
        }
        StoryEvent::Attempt { number, frontend } => vec![format!("attempt {number} reaches frontend {frontend}")],
        StoryEvent::Decision { workers, routed } => decision(now, workers, routed),
        StoryEvent::Gate { worker, admission: None, .. } => vec![format!("worker {worker} does not answer: it is gone")],
        StoryEvent::Gate { worker, admission: Some(admission), gate } => vec![format!(
            "worker {worker} {}: {} in the engine, {} waiting",
            match admission {
                crate::control::Admission::Direct => "gives it an engine slot",
                crate::control::Admission::Queued => "puts it in its overflow queue",
                crate::control::Admission::Rejected => "refuses it, at capacity",
            },
            gate.in_engine,
            gate.waiting
        )],
        StoryEvent::Slot { worker } => vec![format!("has an engine slot of worker {worker}")],
        StoryEvent::Rank { worker, rank } => vec![format!("joins the waiting line of rank {rank} of worker {worker}")],
        StoryEvent::FirstToken => vec!["first token".to_owned()],
        StoryEvent::Migrated { worker, failure, produced } => {
            let what = match failure {
                DispatchFailure::WorkerAtCapacity => "was at capacity",
                DispatchFailure::ConnectionFailed => "could not be reached",
                DispatchFailure::StreamCut => "was lost",
            };
            let tokens = if *produced > 0 { format!(" ({produced} tokens so far count as prompt)") } else { String::new() };
            vec![format!("worker {worker} {what}: the frontend tries another one{tokens}")]
        }
        StoryEvent::Ended { outcome } => vec![ended(now, outcome)],
        StoryEvent::Retries { at } => vec![format!("the client will try again at {at}")],
        StoryEvent::Over { outcome } => vec![format!("over: {}", over(*outcome))],
    }
}

fn decision(now: SimTime, workers: &[WorkerView], routed: &Result<Destination, Refusal>) -> Vec<String> {
    let eligible = workers.iter().filter(|w| w.is_eligible()).count();
    let decided = match routed {
        Ok(Destination { worker, rank: Some(rank) }) => format!("routed to worker {worker}, rank {rank}"),
        Ok(Destination { worker, rank: None }) => format!("routed to worker {worker}"),
        Err(refusal) => format!("refused: {}", refusal.reason.name()),
    };
    let mut lines = vec![format!("decision: {decided} ({eligible} of {} workers could be picked)", workers.len())];
    // What kept workers out explains a refusal; it comes first.
    let (free, out): (Vec<_>, Vec<_>) = workers.iter().partition(|w| w.is_eligible());
    let described = out.into_iter().chain(free);
    lines.extend(described.take(MOST_WORKERS).map(|worker| view(now, worker)));
    if workers.len() > MOST_WORKERS {
        lines.push(format!("... and {} more workers", workers.len() - MOST_WORKERS));
    }
    lines
}

fn view(now: SimTime, worker: &WorkerView) -> String {
    let mut states = Vec::new();
    if !worker.discovered {
        states.push("not registered".to_owned());
    } else if !worker.present {
        states.push("gone, which the frontend does not know yet".to_owned());
    }
    if worker.down {
        states.push("reported down".to_owned());
    }
    if worker.busy {
        states.push("busy".to_owned());
        states.extend(worker.firing.iter().map(|firing| fires(now, firing)));
    }
    if let Some(until) = worker.leased_until {
        states.push(format!("under a lease until {until}"));
    }
    if worker.tried {
        states.push("failed this request before".to_owned());
    }
    if states.is_empty() {
        states.push("free".to_owned());
    }
    format!("worker {}: {}", worker.worker, states.join(", "))
}

fn fires(now: SimTime, firing: &FiringCheck) -> String {
    let FiringCheck { rank, check, signal, measured, limit, observed_at, .. } = firing;
    let age = now.since(*observed_at);
    format!("rank {rank} by {check} ({} {measured} > {limit}, {age} old)", signal.name())
}

fn ended(now: SimTime, outcome: &AttemptOutcome) -> String {
    match outcome {
        AttemptOutcome::Completed => "the answer is complete".to_owned(),
        AttemptOutcome::Refused { refusal, status, why } => {
            let measured = why.as_ref().map_or(String::new(), |why| format!("; worker {} {}", why.worker, fires(now, why)));
            let by = match refusal.layer {
                RefusalLayer::WorkerGate(worker) => format!("by the gate of worker {worker}"),
                RefusalLayer::Pinned(worker) => format!("because worker {worker}, which it asks for, is excluded"),
                RefusalLayer::Pool => "because every routable worker is excluded".to_owned(),
                RefusalLayer::Untried => "because no untried worker is left".to_owned(),
            };
            format!("refused with {status} {by}{}{measured}", decisive(refusal))
        }
        AttemptOutcome::Unavailable { .. } => "answered 503: no routable worker".to_owned(),
        AttemptOutcome::Failed => "failed: its worker was lost".to_owned(),
        AttemptOutcome::Cancelled => "the client left".to_owned(),
        AttemptOutcome::Unservable => "can never fit any worker".to_owned(),
    }
}

/// What alone, unset, would have routed this request.
fn decisive(refusal: &Refusal) -> String {
    let checks: Vec<&str> = refusal.freed_by.iter().map(crate::control::Check::name).collect();
    if refusal.is_joint() {
        "; no single check unset would have let it through".to_owned()
    } else if checks.is_empty() {
        String::new()
    } else {
        format!("; without {} it would have been routed", checks.join(", or without "))
    }
}

const fn over(outcome: RequestOutcome) -> &'static str {
    match outcome {
        RequestOutcome::Completed => "answered in full",
        RequestOutcome::LostToOverload => "lost to overload",
        RequestOutcome::LostToUnavailability => "lost to unavailability",
        RequestOutcome::Failed => "failed",
        RequestOutcome::GaveUp => "the client gave up",
        RequestOutcome::Unservable => "unservable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Remote;
    use crate::experiment::{RunOptions, run};
    use crate::scenario::Scenario;

    fn story_of(id: u64) -> String {
        let text = r#"
name = "story"
horizon = "10s"
[fleet]
workers = 1
service_time = "5s"
max_num_batched_tokens = 8192
kv_total_blocks = 100
engine_request_limit = 1
request_queue_limit = 2
[frontend]
active_decode_blocks_threshold = 0.6
[[workload.requests]]
at = "1s"
input_tokens = 16
output_tokens = 1
[[workload.requests]]
at = "3s"
input_tokens = 16
output_tokens = 1
[[events]]
at = "2s"
load = { worker = 1, kv_used_blocks = 61 }
"#;
        let scenario = Scenario::parse(text, "story.toml", &[]).unwrap().scenario;
        let options = RunOptions { explain: Some(id), ..RunOptions::default() };
        let (result, ()) = run(&scenario, options, (), &Remote::default()).unwrap();
        story_text(id, &result.story.unwrap(), result.whole.requests.offered)
    }

    #[test]
    fn a_refusal_names_what_was_measured_its_limit_and_its_age() {
        let story = story_of(1);
        assert!(story.contains("worker 1: busy, rank 0 by decode (kv_used_blocks 61 > 60, 1s old)"), "{story}");
        assert!(story.contains("refused with 529 because every routable worker is excluded; without decode it would have been"));
        assert!(story.contains("over: lost to overload"), "{story}");
    }

    #[test]
    fn a_served_request_is_told_from_its_arrival_to_its_end_and_an_unknown_one_is_said_to_be_so() {
        let story = story_of(0);
        let order = ["arrives: 16", "attempt 1 reaches frontend 0", "routed to worker 1", "gives it an engine slot", "complete"];
        let places: Vec<usize> = order.iter().map(|part| story.find(part).unwrap_or_else(|| panic!("{part}: {story}"))).collect();
        assert!(places.is_sorted(), "{story}");
        assert_eq!(story_of(9), "request 9 did not arrive in this run: its requests are 0 to 1\n");
    }
}
