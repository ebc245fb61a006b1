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

/// A queue of four workers at 60 % load with the given `[plan]`.
fn small(plan: &str) -> String {
    let fleet = "workers = 4\nservice_time = { distribution = \"exponential\", mean = \"100ms\" }\n\
                 engine_request_limit = 2\nrequest_queue_limit = 2";
    let traffic = "arrivals = { process = \"poisson\", rate = 50 }";
    format!(
        "name = \"small\"\nhorizon = \"60s\"\n[fleet]\n{fleet}\n[frontend]\noverload_lease = \"0s\"\nrouter_mode = \"least-loaded\"\n\
         [workload]\n{traffic}\n[slo]\ne2e = \"250ms\"\n[plan]\nsensitivity = false\n{plan}\n"
    )
}

fn outcome_of(plan: &str) -> (Outcome, Option<String>, usize) {
    let plan = plan_of(&small(plan), &Request::default());
    let answer = answered(&plan);
    println!("{:?} {:?} {:?}", answer.outcome, answer.notes, answer.looked.iter().map(|l| l.cell).collect::<Vec<_>>());
    (answer.outcome, answer.chosen.map(|cell| answer.description.grid.axes[0].label(cell)), answer.runs())
}

#[test]
fn what_cannot_be_or_already_is_ends_quickly_with_its_verdict() {
    // More is offered than any fleet in range serves.
    let (outcome, _, runs) = outcome_of("target = \"rate_529<=1%\"\nrange = \"1..3\"");
    assert!(outcome == Outcome::Infeasible && runs <= 4, "{outcome:?} {runs}");
    // One worker is enough.
    let (outcome, found, runs) = outcome_of("target = \"rate_529<=99%\"\nrange = \"1..64\"\nanalytic = false");
    assert!((outcome, found.as_deref()) == (Outcome::Met, Some("1")) && runs <= 5, "{outcome:?} {found:?} {runs}");
    // Service alone takes longer.
    let (outcome, _, runs) = outcome_of("target = \"e2e_p50<=1ms\"\nrange = \"1..64\"");
    assert!(outcome == Outcome::Infeasible && runs <= 10, "{outcome:?} {runs}");
    // No value is both.
    assert_eq!(outcome_of("target = [\"rate_529<=1%\", \"rate_529>=2%\"]").2, 0);
    // Each can be had, but not both at once.
    let (outcome, _, _) = outcome_of("target = [\"completed_share>=99%\", \"rate_529>=20%\"]\nrange = \"1..32\"");
    assert_eq!(outcome, Outcome::Infeasible);
}

#[test]
fn a_queue_without_bounds_that_only_grows_does_not_meet_a_target_on_refusals() {
    let text = small("target = \"rate_529<=1%\"\nrange = \"1..4\"")
        .replace("engine_request_limit = 2\nrequest_queue_limit = 2", "engine_request_limit = 2\nrequest_queue_limit = 10000000");
    let answer = answered(&plan_of(&text, &Request::default()));
    // 50 requests/s of 100 ms need five of the eight slots of four workers: three workers have six.
    assert_eq!((answer.outcome, answer.chosen), (Outcome::Met, Some(2)), "{:?}", answer.notes);
    assert!(answer.judgement(1).is_some_and(|judgement| judgement.saturated && judgement.verdict == Verdict::Missed));
    assert!(answer.notes.contains(&Note::Saturated(1)));
}

#[test]
fn the_most_load_is_where_one_step_more_breaks_the_target() {
    let (outcome, found, runs) = outcome_of("target = \"rate_529<=1%\"\nmaximise = \"load\"\nrange = \"0.5..2.0 step 0.3\"");
    assert_eq!((outcome, found.as_deref()), (Outcome::Met, Some("1.1")), "{runs} runs");
}

#[test]
fn headroom_asks_for_more_workers() {
    let least = |more: &str| {
        let (outcome, found, _) = outcome_of(&format!("target = \"rate_529<=1%\"\nrange = \"1..32\"\n{more}"));
        assert_eq!(outcome, Outcome::Met);
        found.unwrap().parse::<u32>().unwrap()
    };
    let (now, lost, grown) = (least(""), least("survive = 1"), least("growth = \"50%\""));
    assert!(lost == now + 1 && grown > now, "{now} {lost} {grown}");
}

#[test]
fn a_measure_that_does_not_run_one_way_is_noticed() {
    // A longer queue refuses less and waits longer: few places break the first target, many the second.
    let plan = "target = [\"rate_529<=25%\", \"e2e_p90<=600ms\"]\nminimise = \"fleet.request_queue_limit\"\nrange = \"2..200\"";
    let text = small(plan).replace("workers = 4", "workers = 2").replace("rate = 50", "rate = 46");
    let answer = answered(&plan_of(&text, &Request::default()));
    println!("{:?} {:?} {:?}", answer.outcome, answer.chosen, answer.notes);
    assert!(answer.notes.iter().any(|note| matches!(note, Note::NotMonotone(..))), "{:?}", answer.notes);
}

#[test]
fn values_inside_that_meet_the_targets_are_found_where_both_ends_miss_them() {
    // Of 2, 6, 10, 14, ... places only 10 are enough for the one and not too many for the other; doubling steps pass it by.
    let plan =
        "target = [\"rate_529<=8.2%\", \"e2e_p90<=790ms\"]\nminimise = \"fleet.request_queue_limit\"\nrange = \"2..398 step 4\"";
    let text = small(plan).replace("workers = 4", "workers = 2").replace("rate = 50", "rate = 42");
    let answer = answered(&plan_of(&text, &Request::default()));
    println!("{:?} {:?} {:?}", answer.outcome, answer.chosen, answer.notes);
    let looked = |cell: usize| answer.judgement(cell).map(|judgement| judgement.verdict);
    assert_eq!((answer.outcome, answer.chosen), (Outcome::Met, Some(2)));
    assert_eq!((looked(1), looked(99)), (Some(Verdict::Missed), Some(Verdict::Missed)));
}

#[test]
fn targets_of_one_class_count_its_requests_alone() {
    let text = small("target = \"slow:e2e_p90<=1s\"\nrange = \"1..12\"").replace(
        "arrivals = { process = \"poisson\", rate = 50 }",
        "[[workload.classes]]\nclass = \"slow\"\narrivals = { process = \"poisson\", rate = 20 }\n\
         [[workload.classes]]\nclass = \"quick\"\narrivals = { process = \"poisson\", rate = 30 }",
    );
    let answer = answered(&plan_of(&text, &Request::default()));
    assert_eq!(answer.outcome, Outcome::Met, "{:?}", answer.notes);
    // About two fifths of the requests are of the class, and replications are counted whole.
    let first = &answer.records[0];
    let Batch::Share([_, completed]) = first.goals[0].batches[0] else { panic!("a share") };
    let all = first.value("throughput").unwrap() * 60.0;
    assert!(first.goals[0].batches.len() == 1 && (0.3..0.5).contains(&(completed as f64 / all)), "{completed} of {all}");
}

#[test]
fn the_cheapest_mix_is_the_one_that_trying_all_finds() {
    let text = r#"
name = "mix"
horizon = "60s"
[fleet]
request_queue_limit = 2
[[fleet.worker_types]]
name = "small"
workers = 1
cost = 1.0
engine_request_limit = 2
service_time = { distribution = "exponential", mean = "100ms" }
[[fleet.worker_types]]
name = "large"
workers = 1
cost = 2.5
engine_request_limit = 6
service_time = { distribution = "exponential", mean = "100ms" }
[frontend]
overload_lease = "0s"
router_mode = "least-loaded"
[workload]
arrivals = { process = "poisson", rate = 90 }
[plan]
sensitivity = false
target = "rate_529<=2%"
minimise = "cost"
max_runs = 60
[plan.grid]
"fleet.worker_types.0.workers" = "0..6 step 1"
"fleet.worker_types.1.workers" = "0..4 step 1"
"#;
    let plan = plan_of(text, &Request::default());
    let answer = answered(&plan);
    let chosen = answer.chosen.expect("a fleet");
    let cost = |cell: usize| plan.description.quest.cost(cell).unwrap();
    println!("{:?} {} cost {} in {} runs", answer.outcome, plan.description.grid.describe(chosen), cost(chosen), answer.runs());
    // Every cheaper fleet, looked at on its own, refuses more than the target by its mean.
    let remote = Remote::default();
    let mut silent = |_: &Record, _: Progress| {};
    let mut lab = Lab::new(&plan, Vec::new(), 2, &remote, &mut silent);
    for cell in (0..plan.description.cells()).filter(|cell| cost(*cell) < cost(chosen)) {
        lab.need(&[Key { variant: 0, cell, replication: 0 }]).unwrap();
        assert!(!lab.judgement(0, cell).by_mean, "{}", plan.description.grid.describe(cell));
    }
    assert!(answer.outcome == Outcome::Met && answer.runs() < 30, "{:?} {}", answer.outcome, answer.runs());
}

#[test]
fn the_best_limits_are_as_good_as_the_best_of_the_whole_grid() {
    let grid = "[plan.grid]\nfleet.engine_request_limit = \"1..12 step 1\"\nfleet.request_queue_limit = \"2..24 step 2\"";
    let plan = format!("target = \"rate_529<=60%\"\nmaximise = \"goodput\"\nmax_runs = 72\nrun_length = \"30s\"\n{grid}");
    // Slots share a worker's pace here by being few: more of them are a longer wait for nobody, so the queue decides.
    let text = small(&plan).replace("workers = 4", "workers = 1");
    let plan = plan_of(&text, &Request::default());
    let answer = answered(&plan);
    let chosen = answer.chosen.expect("a choice");
    // The whole grid, five runs a cell: ten times as many.
    let remote = Remote::default();
    let mut silent = |_: &Record, _: Progress| {};
    let mut lab = Lab::new(&plan, Vec::new(), 2, &remote, &mut silent);
    let keys: Vec<Key> = (0..144).flat_map(|cell| (0..5).map(move |replication| Key { variant: 0, cell, replication })).collect();
    lab.need(&keys).unwrap();
    let values = |cell: usize| -> Vec<f64> { lab.runs(0, cell).iter().map(|r| r.value("goodput").unwrap()).collect() };
    let mean = |cell: usize| values(cell).iter().sum::<f64>() / 5.0;
    let best = (0..144).filter(|cell| lab.judgement(0, *cell).by_mean).max_by(|a, b| mean(*a).total_cmp(&mean(*b))).unwrap();
    let interval = crate::stats::mean_interval(&values(best), 0.95).unwrap().interval().unwrap();
    let describe = |cell: usize| plan.description.grid.describe(cell);
    println!("{} ({}) against {} ({}), {} runs", describe(chosen), mean(chosen), describe(best), mean(best), answer.runs());
    assert!(answer.runs() <= 72 && mean(chosen) >= interval.low, "{} runs, {} against {interval:?}", answer.runs(), mean(chosen));
}
