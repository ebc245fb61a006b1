//! What a sweep costs beside its runs. Measures processor time, so that a busy machine spoils it less.

use std::fs;
use std::hint::black_box;

use super::{Plan, Request, Settings, run_sweep};
use crate::cluster::Remote;
use crate::experiment::{RunOptions, run};
use crate::scenario::Document;

const CLUSTER: &str = r#"
name = "overhead"
horizon = "60s"
[fleet]
workers = 2
engine = "h100-llama-3.1-8b-bf16-vllm"
engine_request_limit = 64
request_queue_limit = 16
[frontend]
router_mode = "kv"
[workload]
arrivals = { process = "poisson", rate = 30 }
input_tokens = { distribution = "lognormal", mean = 700, p99 = 2000 }
output_tokens = { distribution = "lognormal", mean = 120, p99 = 300 }
[sweep]
replications = 1
[sweep.grid]
workload.arrivals.rate = "20..58 step 2"
frontend.active_decode_blocks_threshold = "0.50..0.95 step 0.05"
"#;

/// Seconds of processor time of this process so far, all threads.
fn processor_time() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("this needs Linux");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("a name in brackets").split_whitespace().collect();
    // Fields 14 and 15 of the whole line, in ticks of 10 ms.
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().expect("ticks")).sum::<f64>() / 100.0
}

fn cost(work: impl FnOnce()) -> f64 {
    let before = processor_time();
    work();
    processor_time() - before
}

#[test]
#[ignore = "measures: by name, optimised, on an idle machine"]
fn a_sweep_of_200_cells_costs_little_more_than_its_runs() {
    let plan = || Plan::new(Document::parse(CLUSTER, "overhead.toml").unwrap(), &Request::default()).unwrap();
    let scenarios: Vec<_> = {
        let plan = plan();
        (0..plan.description.cells()).map(|cell| plan.scenario(cell).unwrap()).collect()
    };
    assert_eq!(scenarios.len(), 200);
    let bare = || {
        for scenario in &scenarios {
            black_box(run(scenario, RunOptions::default(), (), &Remote::default()).unwrap());
        }
    };
    // From the file to the records, each of them written down as the journal does.
    let sweep = || {
        let mut journal = Vec::new();
        let settings = Settings { jobs: 1, ..Settings::default() };
        run_sweep(&plan(), Vec::new(), &settings, &Remote::default(), &mut |record, _| journal.push(record.to_line()));
        assert_eq!(journal.len(), 200);
    };
    let mut ratios: Vec<f64> = (0..7)
        .map(|_| {
            let bare = cost(bare);
            cost(sweep) / bare
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    println!("a sweep over its bare runs, processor time: {ratios:.3?}");
    assert!(ratios[3] < 1.03, "the median is {}", ratios[3]);
}
