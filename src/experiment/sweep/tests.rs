//! Sweeps of a small scenario: refused grids, and bytes that depend on nothing but the plan.

use super::*;
use crate::cluster::Remote;
use crate::experiment::measure_table::MEASURES;
use crate::experiment::{RunOptions, run};
use crate::scenario::{Document, SetOption};
use std::sync::atomic::Ordering::Relaxed;

/// An M/M/c/(c+Q) queue: c = 2, Q = 2.
const QUEUE: &str = r#"
name = "queue"
horizon = "60s"
[fleet]
workers = 1
service_time = { distribution = "exponential", mean = "100ms" }
engine_request_limit = 2
request_queue_limit = 2
[frontend]
router_mode = "kv"
[workload]
arrivals = { process = "poisson", rate = 15 }
input_tokens = 100
output_tokens = 1
"#;

fn plan(grid: &[&str], replications: u32) -> Plan {
    let request = Request {
        grid: grid.iter().map(|text| (*text).to_owned()).collect(),
        replications: Some(replications),
        ..Request::default()
    };
    Plan::new(Document::parse(QUEUE, "queue.toml").unwrap(), &request).unwrap_or_else(|faults| panic!("{faults}"))
}

fn refused(text: &str, request: &Request) -> String {
    match Document::parse(text, "queue.toml").and_then(|document| Plan::new(document, request)) {
        Ok(plan) => panic!("this should have been refused: {:?}", plan.description),
        Err(faults) => faults.to_string(),
    }
}

const GRID: [&str; 2] = ["fleet.request_queue_limit=2,4", "workload.arrivals.rate=15..25 step 5"];

fn records(plan: &Plan, settings: &Settings) -> Vec<Record> {
    run_sweep(plan, Vec::new(), settings, &Remote::default(), &mut |_, _| {})
}

#[test]
fn bad_grids_are_refused_before_any_run_with_a_hint() {
    let grids: &[&[&str]] = &[
        &[],
        &["fleet.wrkers=1,2"],
        &["fleet.workers"],
        &["=1,2"],
        &["fleet..workers=1"],
        &["fleet.workers="],
        &["fleet.workers=1,,2"],
        &["fleet.workers=5..1 step 1"],
        &["fleet.workers=1..5 step 0"],
        &["fleet.workers=1..5"],
        &["workload.arrivals.rate=1..1000000000 step 1"],
        &[
            "fleet.engine_request_limit=1..1000 step 1",
            "fleet.request_queue_limit=2..1001 step 1",
            "workload.arrivals.rate=1..1000 step 1",
        ],
        &["fleet.workers=2,2"],
        &["workload.arrivals.rate=10,10.0"],
        &["frontend.router_mode=1..3 step 1"],
        &["fleet.workers=1..2 linear 2", "fleet.workers=4"],
        &["fleet=1,2", "fleet.workers=1,2"],
        &["fleet.workers:fleet.workers=1:1,2:2"],
        &["fleet.workers:workload.arrivals.rate=1:10,2"],
        &["seed=1,2"],
        &["fleet.request_queue_limit=1,2"],
        &["fleet.workers=1,two"],
        &["horizon=1s..3s step 1"],
        &["fleet.workers.count=1,2"],
    ];
    let said = grids.iter().map(|grid| {
        let request = Request { grid: grid.iter().map(|text| (*text).to_owned()).collect(), ..Request::default() };
        format!("{grid:?}\n{}\n", refused(QUEUE, &request))
    });
    insta::assert_snapshot!(said.collect::<Vec<_>>().join("\n"));
}

#[test]
fn bad_sweep_tables_are_refused_with_their_place() {
    let tables = [
        "[sweep]\nreplications = 0\n[sweep.grid]\n\"fleet.workers\" = [1, 2]",
        "[sweep]\nreplication = 5\n[sweep.grid]\n\"fleet.workers\" = [1, 2]",
        "[sweep]\ntarget = \"rate_592<=1%\"\n[sweep.grid]\n\"fleet.workers\" = [1, 2]",
        "[sweep]\nuntil_halfwidth = \"rate_529=0\"\n[sweep.grid]\nfleet.workers = [1, 2]",
        "[sweep.grid]\n\"fleet.workers\" = 3",
        "[sweep.grid]\n\"fleet.workers\" = \"1..0 step 1\"",
        "[sweep.grid]\n\"fleet.workers\" = []",
        "[sweep.grid]\n\"fleet.wrkers\" = [1]",
        "[[sweep.paired]]\nfleet.workers = [1, 2]\nworkload.arrivals.rate = [10]",
        "[[sweep.paired]]\nfleet.workers = [1, 2]",
        "[sweep]\nbaseline = { \"fleet.workers\" = 9 }\n[sweep.grid]\nfleet.workers = [1, 2]",
        "[sweep]\nbaseline = { \"fleet.ranks\" = 9 }\n[sweep.grid]\nfleet.workers = [1, 2]",
        "[sweep]\nbest = \"goodputt\"\n[sweep.grid]\nfleet.workers = [1, 2]",
    ];
    let said = tables.iter().map(|table| format!("{table}\n{}\n", refused(&format!("{QUEUE}{table}\n"), &Request::default())));
    insta::assert_snapshot!(said.collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_table_and_the_options_give_the_same_grid() {
    let table = "[sweep]\nreplications = 3\n[sweep.grid]\nfleet.request_queue_limit = [2, 4]\n\"workload.arrivals.rate\" = \"15..25 step 5\"\n";
    let document = Document::parse(&format!("{QUEUE}{table}"), "queue.toml").unwrap();
    let from_table = Plan::new(document, &Request::default()).unwrap();
    let from_options = plan(&GRID, 3);
    let values = |plan: &Plan| plan.description.grid.axes.iter().map(|a| (a.paths.clone(), a.values.clone())).collect::<Vec<_>>();
    assert_eq!(values(&from_table), values(&from_options));
    assert_eq!(from_table.description.replications, 3);
}

#[test]
fn records_are_the_same_for_any_number_of_jobs_and_any_order_of_runs() {
    let plan = plan(&GRID, 3);
    let alone = records(&plan, &Settings::default());
    assert_eq!(alone.len(), 18);
    for (jobs, shuffle) in [(2, 0), (8, 0), (1, 7), (3, 99)] {
        assert_eq!(records(&plan, &Settings { jobs, shuffle, ..Settings::default() }), alone, "{jobs} jobs, order {shuffle}");
    }
}

#[test]
fn a_cell_run_alone_gives_its_row() {
    let plan = plan(&GRID, 2);
    let all = records(&plan, &Settings::default());
    let sets: Vec<SetOption> = ["fleet.request_queue_limit=4", "workload.arrivals.rate=20"]
        .iter()
        .map(|text| SetOption::parse("--set", text).unwrap())
        .collect();
    let scenario = Document::parse(QUEUE, "queue.toml").unwrap().with(&sets).unwrap().decode().unwrap().scenario;
    let (result, ()) = run(&scenario, RunOptions::default(), (), &Remote::default()).unwrap();
    let row = all.iter().find(|record| record.cell == 4 && record.replication == 0).unwrap();
    assert_eq!(*row, Record::of(4, 0, &scenario, &result));
}

#[test]
fn cells_share_their_random_numbers_and_replications_do_not() {
    let plan = plan(&["fleet.request_queue_limit=2,8"], 2);
    let all = records(&plan, &Settings::default());
    let offered = |cell: usize, replication: u32| {
        let place = MEASURES.iter().position(|m| m.name == "offered_rate").unwrap();
        all.iter().find(|r| r.cell == cell && r.replication == replication).unwrap().values[place]
    };
    assert_eq!(offered(0, 0), offered(1, 0));
    assert_eq!(offered(0, 1), offered(1, 1));
    assert_ne!(offered(0, 0), offered(0, 1));
}

#[test]
fn shards_in_any_order_merge_into_the_whole() {
    let plan = plan(&GRID, 2);
    let whole = SweepResult::of(plan.description.clone(), records(&plan, &Settings::default()));
    for count in [1usize, 5, 9] {
        let shards = (0..count).rev().map(|index| {
            let shard = Shard { index, count };
            let records = records(&plan, &Settings { jobs: 2, shard, ..Settings::default() });
            let text = Journal::to_text(&journal::Header::new(&plan.description, shard), &records);
            (format!("shard-{index}"), Journal::parse(&text).unwrap())
        });
        assert_eq!(merge(shards.collect()).unwrap(), whole, "{count} shards");
    }
}

#[test]
fn shards_that_do_not_fit_are_refused() {
    let (ours, theirs) = (plan(&GRID, 2), plan(&GRID, 3));
    let part = |plan: &Plan, index, count| {
        let shard = Shard { index, count };
        let records = records(plan, &Settings { shard, ..Settings::default() });
        (
            format!("part-{index}-of-{count}"),
            Journal { header: journal::Header::new(&plan.description, shard), records, whole_bytes: 0 },
        )
    };
    let mut unfinished = part(&ours, 1, 2);
    unfinished.1.records.pop();
    let mut twice = part(&ours, 1, 2);
    twice.1.records.push(twice.1.records[0].clone());
    let mut foreign = part(&ours, 1, 2);
    foreign.1.records[0].cell = 2;
    let cases: Vec<Vec<(String, Journal)>> = vec![
        vec![],
        vec![part(&ours, 0, 2), part(&theirs, 1, 2)],
        vec![part(&ours, 0, 2), part(&ours, 1, 3)],
        vec![part(&ours, 0, 2), part(&ours, 0, 2)],
        vec![part(&ours, 0, 3)],
        vec![part(&ours, 0, 2), unfinished],
        vec![part(&ours, 0, 2), twice],
        vec![part(&ours, 0, 2), foreign],
    ];
    let said = cases.into_iter().map(|case| merge(case).unwrap_err().to_string().replace(&ours.description.fingerprint, "OURS"));
    let said = said.map(|text| text.replace(&theirs.description.fingerprint, "THEIRS"));
    insta::assert_snapshot!(said.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_sweep_stopped_half_way_and_resumed_is_the_same_sweep() {
    let plan = plan(&GRID, 3);
    let whole = records(&plan, &Settings::default());
    let remote = Remote::default();
    let mut text = journal::Header::new(&plan.description, Shard::WHOLE).to_line();
    let mut heard = 0;
    let settings = Settings { jobs: 2, shuffle: 3, ..Settings::default() };
    let stopped = run_sweep(&plan, Vec::new(), &settings, &remote, &mut |record, progress| {
        heard += 1;
        assert_eq!((progress.done, progress.planned), (heard, 18));
        text.push_str(&record.to_line());
        remote.stop.store(heard >= 7, Relaxed);
    });
    assert!(stopped.len() >= 7 && stopped.len() < 18, "{}", stopped.len());
    assert!(!SweepResult::of(plan.description.clone(), stopped.clone()).is_complete());
    // A process that is killed may leave a torn line.
    let torn = format!("{text}{}", &whole[0].to_line()[..30]);
    let journal = Journal::parse(&torn).unwrap();
    assert_eq!((journal.whole_bytes, journal.records.len()), (text.len(), stopped.len()));
    let resumed = run_sweep(&plan, journal.records, &Settings::default(), &Remote::default(), &mut |_, _| {});
    assert_eq!(resumed, whole);
}

#[test]
fn replications_are_added_until_the_interval_is_narrow_enough_or_the_bound_is_reached() {
    let request = |half: &str, most| Request {
        grid: vec!["workload.arrivals.rate=5,25".to_owned()],
        replications: Some(3),
        max_replications: Some(most),
        until_halfwidth: Some(format!("rate_529={half}")),
        ..Request::default()
    };
    let document = Document::parse(QUEUE, "queue.toml").unwrap();
    let plan = Plan::new(document.clone(), &request("0.02", 60)).unwrap();
    let result = SweepResult::of(plan.description.clone(), records(&plan, &Settings { jobs: 2, ..Settings::default() }));
    assert!(result.is_complete());
    for cell in &result.cells {
        assert!(cell.estimate("rate_529").unwrap().half_width().unwrap() <= 0.02, "{cell:?}");
    }
    assert!(result.cells[1].replications > 3 && result.cells[1].replications < 60);
    let bounded = Plan::new(document, &request("0.0001", 4)).unwrap();
    let result = SweepResult::of(bounded.description.clone(), records(&bounded, &Settings::default()));
    assert_eq!(
        result.cells.iter().map(|cell| (cell.replications, cell.status.clone())).collect::<Vec<_>>(),
        [(4, Status::Ok), (4, Status::Ok)]
    );
}

#[test]
fn a_run_that_fails_does_not_lose_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace.csv");
    std::fs::write(
        &trace,
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:47.6805900,100,4\n",
    )
    .unwrap();
    let text = QUEUE.replace(
        "arrivals = { process = \"poisson\", rate = 15 }\ninput_tokens = 100\noutput_tokens = 1",
        &format!("trace = {{ path = \"{}\" }}", trace.display()),
    );
    let request = Request { grid: vec!["fleet.workers=1,2".to_owned()], replications: Some(2), ..Request::default() };
    let plan = Plan::new(Document::parse(&text, "trace.toml").unwrap(), &request).unwrap_or_else(|faults| panic!("{faults}"));
    let mut runs = 0;
    let all = run_sweep(&plan, Vec::new(), &Settings::default(), &Remote::default(), &mut |_, _| {
        runs += 1;
        if runs == 2 {
            std::fs::remove_file(&trace).unwrap();
        }
    });
    let result = SweepResult::of(plan.description.clone(), all);
    assert_eq!(result.cells[0].status, Status::Ok);
    assert!(matches!(&result.cells[1].status, Status::Failed(error) if error.contains("trace.csv")), "{:?}", result.cells[1]);
    assert!(result.is_complete() && result.cells[1].estimates.iter().all(Option::is_none));
}

#[test]
fn differences_to_the_baseline_are_sharper_than_the_means() {
    let request = Request {
        grid: vec!["fleet.request_queue_limit=2,3".to_owned()],
        replications: Some(10),
        baseline: vec!["fleet.request_queue_limit=3".to_owned()],
        ..Request::default()
    };
    let plan = Plan::new(Document::parse(QUEUE, "queue.toml").unwrap(), &request).unwrap();
    let result = SweepResult::of(plan.description.clone(), records(&plan, &Settings { jobs: 2, ..Settings::default() }));
    let differences = result.differences();
    let rate = differences.iter().find(|difference| MEASURES[difference.measure].name == "rate_529").unwrap();
    assert_eq!(rate.cell, 0);
    let interval = rate.paired.difference.interval().unwrap();
    assert!(interval.low > 0.0, "a shorter queue refuses more: {rate:?}");
    assert!(rate.paired.variance_reduction.unwrap() > 5.0, "{rate:?}");
}

#[test]
fn the_ranking_puts_cells_that_surely_meet_the_targets_first() {
    let ranked = |target: &str| {
        let request = Request {
            grid: vec!["workload.arrivals.rate=2,10,40".to_owned()],
            replications: Some(3),
            targets: vec![target.to_owned()],
            ..Request::default()
        };
        let plan = Plan::new(Document::parse(QUEUE, "queue.toml").unwrap(), &request).unwrap();
        let result = SweepResult::of(plan.description.clone(), records(&plan, &Settings::default()));
        let order: Vec<usize> = result.ranking().iter().map(|cell| cell.cell).collect();
        (order, result.cells.iter().map(Cell::verdict).collect::<Vec<_>>())
    };
    let (met, likely, missed) = (Some(Verdict::Met), Some(Verdict::Likely), Some(Verdict::Missed));
    // More goodput comes first, unless only the mean meets the target.
    assert_eq!(ranked("rate_529<=20%"), (vec![1, 0], vec![met, met, missed]));
    assert_eq!(ranked("rate_529<=10%"), (vec![0, 1], vec![met, likely, missed]));
}
