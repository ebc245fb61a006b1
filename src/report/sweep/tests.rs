//! Files, texts and titles of small sweeps.

use super::*;
use crate::cluster::Remote;
use crate::experiment::sweep::{Plan, Request, Settings, SweepResult, run_sweep};
use crate::report::html::sweep_page;
use crate::scenario::Document;

const QUEUE: &str = r#"
name = "queue"
horizon = "30s"
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

fn sweep(grid: &[&str], targets: &[&str]) -> SweepResult {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let request = Request { grid: owned(grid), targets: owned(targets), replications: Some(3), ..Request::default() };
    let plan = Plan::new(Document::parse(QUEUE, "queue.toml").unwrap(), &request).unwrap_or_else(|faults| panic!("{faults}"));
    let records = run_sweep(&plan, Vec::new(), &Settings::default(), &Remote::default(), &mut |_, _| {});
    SweepResult::of(plan.description, records)
}

const RATE: &str = "workload.arrivals.rate=5..25 step 10";
const QUEUES: &str = "fleet.request_queue_limit=2,8";

#[test]
fn the_table_names_the_best_cells_and_why() {
    let result = sweep(&[RATE, QUEUES], &["rate_529<=5%", "ttft_p99<=1s"]);
    insta::assert_snapshot!(sweep_text(&result));
    insta::assert_snapshot!(sweep_text(&sweep(&[RATE], &["rate_529<=0.01%"])));
}

#[test]
fn a_sweep_that_is_not_finished_concludes_nothing() {
    for targets in [&["rate_529<=5%", "ttft_p99<=1s"][..], &["rate_529<=0.01%"], &[]] {
        let whole = sweep(&[RATE, QUEUES], targets);
        let said = |result: &SweepResult| format!("{}\n{}", sweep_text(result), sweep_page(result, ""));
        assert!(!said(&whole).to_lowercase().contains("not finished"));
        // Four of the six cells, and the first replication of the fifth.
        let known = whole.records.iter().filter(|record| record.cell < 4 || (record.cell, record.replication) == (4, 0));
        let half = SweepResult::of(whole.description.clone(), known.cloned().collect());
        assert_eq!((half.done(), half.is_complete()), (4, false));
        assert!(sweep_text(&half).starts_with("NOT FINISHED: 4 of 6 cells are done; finish it with"), "{}", sweep_text(&half));
        assert!(sweep_headline(&half).starts_with("not finished: 4 of 6 cells are done; "));
        let text = said(&half).to_lowercase();
        for conclusion in ["best of", "best cell", "best setting", "no cell meets", "none meets", "widen the grid"] {
            assert!(!text.contains(conclusion), "{conclusion}: {text}");
        }
        for figure in sweep_figures(&half) {
            assert!(figure.figure.title().starts_with("So far, 4 of 6 cells are done: "), "{}", figure.figure.title());
        }
    }
}

#[test]
fn every_shape_has_its_figures_and_their_titles_state_the_finding() {
    let shapes: [(&[&str], &[&str]); 5] = [
        (&[RATE], &[]),
        (&[QUEUES], &["rate_529<=5%"]),
        (&[RATE, QUEUES], &["rate_529<=5%", "ttft_p99<=1s"]),
        (&[QUEUES, "fleet.engine_request_limit=1,2"], &["rate_529<=20%"]),
        (&[QUEUES, "fleet.engine_request_limit=1,2", RATE], &["rate_529<=5%"]),
    ];
    let mut said = String::new();
    for (grid, targets) in shapes {
        let result = sweep(grid, targets);
        for figure in sweep_figures(&result) {
            assert!(figure.figure.to_svg().contains("</svg>"));
            said += &format!("{}: {}\n", figure.name, figure.figure.title());
        }
        said += "\n";
    }
    insta::assert_snapshot!(said);
}

#[test]
fn tables_have_a_row_per_cell_per_run_and_per_difference() {
    let result = sweep(&[RATE, QUEUES], &[]);
    let rows = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    let (cells, runs, differences) = (rows(cells_csv(&result)), rows(replications_csv(&result)), rows(differences_csv(&result)));
    assert_eq!((cells.len(), runs.len()), (1 + 6, 1 + 18));
    assert!(differences.len() > 5 * 20);
    assert!(cells[0].starts_with("cell,workload.arrivals.rate,fleet.request_queue_limit,status,replications,warnings,rate_529,rate_529_low,rate_529_high,rate_529_interval,"));
    assert!(cells[1].starts_with("0,5,2,ok,3,"), "{}", cells[1]);
    let fields = |row: &String| row.split(',').count();
    assert!(cells.iter().all(|row| fields(row) == fields(&cells[0])) && runs.iter().all(|row| fields(row) == fields(&runs[0])));
    let json: serde_json::Value = serde_json::from_slice(&sweep_json(&result)).unwrap();
    assert_eq!(json["schema"], "shedcast.sweep/1");
    assert_eq!(json["cells"].as_array().unwrap().len(), 6);
    let mean = json["cells"][2]["measures"]["rate_529"]["mean"].as_f64().unwrap();
    assert_eq!(cells[3].split(',').nth(6).unwrap().parse::<f64>().unwrap(), mean);
}

#[test]
fn job_files_quote_what_a_shell_would_take_apart() {
    let file = JobFile {
        name: "a queue".to_owned(),
        command: ["shedcast", "sweep", "my scenario.toml", "--grid", "fleet.workers=1..4 step 1", "--target", "rate_529<=1%"]
            .map(str::to_owned)
            .to_vec(),
        shards: 4,
        jobs: 2,
        out: "outputs/a queue".to_owned(),
    };
    let all = [Emit::Slurm, Emit::Kubernetes, Emit::Parallel].map(|kind| emit(kind, &file));
    insta::assert_snapshot!(all.join("\n=====\n"));
}
