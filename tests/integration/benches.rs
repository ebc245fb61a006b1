//! Every body of a bench at smoke size: it runs, and it still works out what it did.

#[path = "../../benches/common/checksum.rs"]
mod checksum;
#[path = "../../benches/common/control.rs"]
mod control;
#[path = "../../benches/common/floor.rs"]
mod floor;
#[path = "../../benches/common/gaps.rs"]
mod gaps;
#[path = "../../benches/common/queue.rs"]
mod queue;
#[path = "../../benches/common/runs.rs"]
mod runs;

use control::{Bench, MODES};
use runs::RUNS;

const REQUESTS: u64 = 1_500;

#[test]
fn whole_runs_still_give_their_answers() {
    let mut told = String::new();
    for (name, text) in RUNS {
        let scenario = runs::scenario(text, REQUESTS, &[]);
        let result = runs::whole(&scenario);
        assert_eq!(result.total.requests.offered, REQUESTS, "{name}");
        assert_eq!(runs::answer(&result), runs::answer(&runs::measured(&scenario)), "{name}: writing changes no answer");
        told += &format!("{name} {:016x}\n", runs::answer(&result));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn parts_of_runs_do_the_work_of_their_runs() {
    for (name, text) in RUNS {
        let scenario = runs::scenario(text, 200, &[]);
        assert!(runs::unobserved(&scenario) >= 400, "{name}: a request arrives and ends");
        assert!(runs::drawn(&scenario) >= 200 * 2, "{name}: a request has tokens");
        let workers = scenario.fleet.worker_count() as usize;
        assert!(runs::groups(&scenario) >= workers, "{name}: every worker steps");
    }
}

#[test]
fn events_with_empty_handlers_come_in_their_order() {
    // All three hold the same owners, with the same gaps: lanes and deadlines may not change what comes when.
    assert_eq!(queue::heap(2_000, 16), queue::deadlines(2_000, 16));
    let told = format!(
        "heap {:016x}\nlane {:016x}\nfloor {:016x}",
        queue::heap(2_000, 9),
        queue::lane(2_000, 9),
        floor::floor(2_000, 9)
    );
    insta::assert_snapshot!(told);
}

#[test]
fn the_control_code_still_decides_as_it_did() {
    let mut told = String::new();
    for (name, mode) in MODES {
        let mut bench = Bench::new(mode, 5, 2);
        told += &format!("{name} {:016x} {:016x}\n", bench.decide(2_000), bench.load(400));
    }
    insta::assert_snapshot!(told);
}
