//! Sessions of several turns: users of a closed loop, and traces whose turns wait for the answer before.

use shedcast::cluster::observer::AttemptOutcome;
use shedcast::workload::trace::DropReason;

use crate::harness::{Case, Ended, run_text};

/// Two opaque workers that answer after a second each; one of them where there are limits.
fn fleet(limits: &str) -> String {
    let workers = if limits.is_empty() { 2 } else { 1 };
    format!("seed = 3\n[fleet]\nworkers = {workers}\nservice_time = \"1s\"\n{limits}\n")
}

fn chatting(limits: &str, closed_loop: &str, end: &str) -> Case {
    run_text(
        &format!(
            "{end}\n{}[clients]\nclosed_loop = {{ users = 6, think_time = \"3s\", {closed_loop} }}\n[workload]\ninput_tokens = 10\noutput_tokens = 5\n",
            fleet(limits)
        ),
        &[],
    )
}

/// Sessions add up, and every request is a turn of one.
fn assert_conserved(case: &Case) {
    let sessions = case.result.sessions.expect("there are sessions");
    let ended = sessions.completed + sessions.at_max_context + sessions.broken;
    assert_eq!(sessions.started, ended + sessions.unfinished());
    assert!(sessions.unfinished() <= 6, "{sessions:?}: a user is in one session at most");
    let requests = &case.result.whole.requests;
    assert_eq!(requests.offered, sessions.turns);
    assert_eq!(requests.offered, requests.accounted());
}

#[test]
fn a_prompt_grows_by_what_was_said_and_turns_wait_for_answers() {
    let case = chatting("", "turns = 3, turn_think_time = \"2s\", context = \"grow\"", "horizon = \"21s\"");
    assert_conserved(&case);
    // Six at once: three turns of a second with two pauses of two seconds, then three seconds of thought.
    let mut arrivals: Vec<(u64, u32)> =
        case.by_request().iter().map(|e| (e.arrival.as_nanos() / 1_000_000_000, e.attempt.input_tokens)).collect();
    arrivals.dedup();
    assert_eq!(arrivals, [(0, 10), (3, 25), (6, 40), (10, 10), (13, 25), (16, 40), (20, 10)]);
    let sessions = case.result.sessions.expect("sessions");
    assert_eq!((sessions.started, sessions.completed, sessions.turns), (18, 12, 42));
}

#[test]
fn a_refused_turn_breaks_its_session() {
    let limits = "engine_request_limit = 1\nrequest_queue_limit = 2";
    let case = chatting(limits, "turns = 4, turn_think_time = \"200ms\", context = \"grow\"", "horizon = \"5m\"");
    assert_conserved(&case);
    let sessions = case.result.sessions.expect("sessions");
    assert!(sessions.broken > 0 && sessions.completed > 0, "{sessions:?}");
    assert_eq!(sessions.broken, case.result.whole.requests.lost_to_overload, "who gets no answer starts anew");
    let again = chatting(limits, "turns = 4, turn_think_time = \"200ms\", context = \"grow\"", "horizon = \"5m\"");
    assert_eq!(case.log.attempts, again.log.attempts);
}

#[test]
fn the_longest_context_is_kept_either_way() {
    for (rule, most) in [("end", 40), ("cut", 40)] {
        let sessions = format!("turns = 9, context = \"grow\", max_context_tokens = {most}, at_max_context = \"{rule}\"");
        let case = chatting("", &sessions, "horizon = \"60s\"");
        assert_conserved(&case);
        let longest = case.log.attempts.iter().map(|e| e.attempt.input_tokens + e.attempt.output_tokens).max();
        let counts = case.result.sessions.expect("sessions");
        match rule {
            "end" => assert!(longest == Some(30) && counts.at_max_context > 0 && counts.completed == 0, "{counts:?}"),
            _ => assert!(longest == Some(most) && counts.cut > 0 && counts.completed > 0, "{counts:?}"),
        }
    }
}

#[test]
fn a_users_nth_session_is_the_same_whatever_the_fleet_refuses() {
    let spread = "turns = { distribution = \"gamma\", mean = 4, cv = 0.8 }, turn_think_time = { distribution = \"exponential\", mean = \"1s\" }";
    let first_prompts = |limits: &str| {
        let case = run_text(
            &format!(
                "horizon = \"60s\"\n{}[clients]\nclosed_loop = {{ users = 1, {spread} }}\n[workload]\nlengths = {{ pairs = [[1, 9], [2, 8], [3, 7], [4, 6], [5, 5]] }}\n",
                fleet(limits)
            ),
            &[],
        );
        assert_conserved(&case);
        case.by_request().iter().map(|e| e.attempt.input_tokens).take(12).collect::<Vec<_>>()
    };
    assert_eq!(first_prompts(""), first_prompts("engine_request_limit = 1\nrequest_queue_limit = 2"));
}

#[test]
fn arrivals_of_an_open_loop_begin_sessions() {
    let text = format!(
        "requests = 4\n{}[clients]\nsessions = {{ turns = 3, turn_think_time = \"2s\", context = \"grow\" }}\n[workload]\n\
         arrivals = {{ process = \"constant\", rate = 1 }}\ninput_tokens = 10\noutput_tokens = 5\n[[workload.requests]]\nat = \"500ms\"\n",
        fleet("")
    );
    let case = run_text(&text, &[]);
    // One arrival a second, each answered within a second; what is written out is a request and no session.
    let expected = [
        (0, 10),
        (500, 1),
        (1_000, 10),
        (2_000, 10),
        (3_000, 25),
        (4_000, 25),
        (5_000, 25),
        (6_000, 40),
        (7_000, 40),
        (8_000, 40),
    ];
    assert_eq!(sent(&case), expected);
    let sessions = case.result.sessions.expect("sessions");
    assert_eq!((sessions.started, sessions.completed, sessions.turns, sessions.unfinished()), (3, 3, 9, 0));
    assert_eq!(case.result.whole.requests.offered, 10);
    let cut = run_text(&text.replace("requests = 4", "horizon = \"6s\""), &[]);
    assert_eq!(cut.result.sessions.map(|s| (s.started, s.turns, s.unfinished())), Some((6, 9, 6)));
}

/// Requests of a trace with `options`, each answered after a second.
fn replayed(options: &str, limits: &str, top: &str) -> Case {
    let trace = format!("path = \"tests/fixtures/traces/sessions_delay.jsonl\", format = \"mooncake\"{options}");
    let case = run_text(&format!("{top}\n{}[workload]\ntrace = {{ {trace} }}\n", fleet(limits)), &[]);
    let report = case.result.trace.as_ref().expect("a trace");
    assert!(report.is_balanced(), "{report}");
    case
}

fn sent(case: &Case) -> Vec<(u64, u32)> {
    let mut sent: Vec<(u64, u32)> =
        case.by_request().iter().map(|e: &&Ended| (e.arrival.as_nanos() / 1_000_000, e.attempt.input_tokens)).collect();
    sent.sort_unstable();
    sent
}

#[test]
fn turns_of_a_trace_wait_for_the_answer_before() {
    let case = replayed(", sessions = \"follow\"", "", "");
    // `a` is answered at 1 s, its second turn comes 0.5 s later and is answered at 2.5 s, the third is late by then; `b` is
    // answered at 2 s and goes on at once.
    assert_eq!(sent(&case), [(0, 10), (1_000, 20), (1_500, 7), (1_500, 30), (2_000, 50), (2_500, 40)]);
    let sessions = case.result.sessions.expect("sessions");
    assert_eq!((sessions.started, sessions.completed, sessions.turns, sessions.unfinished()), (2, 2, 5, 0));
    let bounded = replayed(", sessions = \"follow\"", "", "requests = 4");
    assert_eq!(bounded.result.trace.as_ref().map(|t| (t.emitted, t.dropped_for(DropReason::AfterTheEnd))), Some((4, 2)));
    let cut = replayed(", sessions = \"follow\"", "", "horizon = \"2s\"");
    assert_eq!(cut.result.trace.as_ref().map(|t| t.emitted), Some(4), "the turn of the horizon is not sent");
}

#[test]
fn a_trace_without_sessions_has_none_to_follow() {
    let text = format!(
        "{}[workload]\ntrace = {{ path = \"tests/fixtures/traces/azure_2023.csv\", sessions = \"follow\" }}\n",
        fleet("")
    );
    let case = run_text(&text, &[]);
    let names: Vec<_> = case.result.trace.as_ref().expect("a trace").warnings.iter().map(|w| w.name()).collect();
    assert_eq!(names, ["trace_no_sessions"]);
}

#[test]
fn delta_prompts_are_made_whole() {
    let case = replayed(", sessions = \"follow\"", "", "");
    assert_eq!(case.log.attempts.len(), 6);
    let text = format!(
        "{}[workload]\ntrace = {{ path = \"tests/fixtures/traces/sessions_delay.jsonl\", format = \"mooncake-delta\", sessions = \"follow\" }}\n",
        fleet("")
    );
    assert_eq!(sent(&run_text(&text, &[])), [(0, 10), (1_000, 20), (1_500, 7), (1_500, 45), (2_000, 75), (2_500, 90)]);
}

#[test]
fn a_session_without_answer_drops_its_further_turns() {
    let case = replayed(", sessions = \"follow\"", "", "clients.patience = \"1ms\"");
    let report = case.result.trace.as_ref().expect("a trace");
    assert_eq!((report.emitted, report.dropped_for(DropReason::BrokenSession)), (3, 3), "{report}");
    assert!(case.log.attempts.iter().all(|e| e.outcome == AttemptOutcome::Cancelled));
    assert_eq!(case.result.sessions.map(|s| s.broken), Some(2));
}
