//! Plans of small scenarios: against queueing theory, and what cannot be.

use super::*;
use crate::cluster::Remote;
use crate::scenario::Document;
use crate::stats::theory;

/// An M/M/c/(c + Q) queue: c slots, Q places.
fn queue(rate: f64, places: u64) -> String {
    format!(
        r#"
name = "queue"
horizon = "60s"
[fleet]
workers = 1
service_time = {{ distribution = "exponential", mean = "1s" }}
engine_request_limit = 2
request_queue_limit = {places}
[frontend]
overload_lease = "0s"
[workload]
arrivals = {{ process = "poisson", rate = {rate:.1} }}
"#
    )
}

/// Erlang's loss system through the busy thresholds: c workers that are busy as soon as they hold a request.
fn loss(rate: f64) -> String {
    format!(
        r#"
name = "loss"
horizon = "60s"
[fleet]
workers = 1
service_time = {{ distribution = "exponential", mean = "1s" }}
kv_total_blocks = 100
kv_cache_block_size = 16
[frontend]
router_mode = "kv"
active_decode_blocks_threshold = 0.0
overload_lease = "0s"
[workload]
arrivals = {{ process = "poisson", rate = {rate:.1} }}
input_tokens = 16
output_tokens = 1
"#
    )
}

fn plan_of(text: &str, request: &Request) -> Plan {
    let document = Document::parse(text, "queue.toml").unwrap_or_else(|faults| panic!("{faults}"));
    Plan::new(document, request).unwrap_or_else(|faults| panic!("{faults}"))
}

fn answered(plan: &Plan) -> Answer {
    let remote = Remote::default();
    let mut silent = |_: &Record, _: Progress| {};
    answer(Lab::new(plan, Vec::new(), 2, &remote, &mut silent)).unwrap_or_else(|halt| panic!("{halt:?}"))
}

fn request(target: &str) -> Request {
    Request { targets: vec![target.to_owned()], no_sensitivity: true, ..Request::default() }
}

/// One setting of the comparison with theory.
#[derive(Clone, Copy, Debug)]
struct Setting {
    rate: f64,
    /// Places of the gate; `None` is the loss system through the thresholds.
    places: Option<u64>,
    percent: &'static str,
}

impl Setting {
    fn truth(self) -> u64 {
        let target = self.percent.trim_end_matches('%').parse::<f64>().unwrap() / 100.0;
        match self.places {
            Some(places) => theory::mmck_servers(self.rate, 1.0, places, target, 64).unwrap(),
            None => theory::erlang_b_servers(self.rate, target, 64).unwrap(),
        }
    }

    fn plan(self) -> Plan {
        let base =
            Request { range: Some("1..64".to_owned()), no_analytic: true, ..request(&format!("rate_529<={}", self.percent)) };
        match self.places {
            Some(places) => {
                plan_of(&queue(self.rate, places), &Request { minimise: Some("fleet.engine_request_limit".to_owned()), ..base })
            }
            None => plan_of(&loss(self.rate), &base),
        }
    }

    /// Checks the plan against theory; whether it was decided.
    fn check(self) -> bool {
        let (truth, plan) = (self.truth(), self.plan());
        assert!(plan.description.start.is_none() && plan.description.bounds.is_empty());
        let answer = answered(&plan);
        let found = answer.chosen.map(|cell| cell as u64 + 1);
        println!("{self:?}: {found:?} {:?}, truly {truth}, {} runs, {:?}", answer.outcome, answer.runs(), answer.notes);
        assert!(answer.runs() <= 25, "{self:?}: {} runs", answer.runs());
        assert_ne!(answer.outcome, Outcome::Infeasible, "{self:?}");
        if answer.outcome == Outcome::Met {
            assert_eq!(found, Some(truth), "{self:?}");
        }
        answer.outcome == Outcome::Met
    }
}

/// Loads and queues at even steps, not chosen by how far the truth lies from the target.
fn settings() -> Vec<Setting> {
    let mut settings = Vec::new();
    for percent in ["1%", "0.1%", "0.01%"] {
        for (rate, places) in [(2.0, 2), (4.0, 4), (8.0, 8), (16.0, 16)] {
            settings.push(Setting { rate, places: Some(places), percent });
        }
        for rate in [3.0, 6.0, 12.0] {
            settings.push(Setting { rate, places: None, percent });
        }
    }
    // 21 settings; the last is the dearest.
    settings.truncate(20);
    settings
}

#[test]
fn the_slots_and_workers_planned_are_those_of_theory() {
    let quick = settings().into_iter().filter(|setting| setting.percent == "1%");
    let undecided = quick.filter(|setting| !setting.check()).count();
    assert!(undecided <= 1, "{undecided} undecided");
}

#[test]
#[ignore = "twenty settings down to a refusal in 10,000: minutes; run with --release"]
fn the_slots_and_workers_planned_are_those_of_theory_down_to_rare_refusals() {
    let undecided = settings().into_iter().filter(|setting| !setting.check()).count();
    assert!(undecided <= 3, "{undecided} undecided");
}
