//! Cases from public issues and pull requests of this field. Each is a scenario file under `tests/cases/`, run through the public
//! `run`; its comment says what it shows and where it was reported. Marks in the tests: `OK`, `SHED` (refused by a worker), `529`
//! (refused by the frontend), `503`.
//!
//! | file | cases |
//! |---|---|
//! | `thresholds.rs` | busy thresholds and the load monitor |
//! | `routing.rs` | routing, status codes, leases |
//! | `queue.rs` | the worker's gate, N + Q |
//! | `overload.rs` | overload dynamics: backlogs, retries |
//! | `retries.rs` | metastable overload |
//! | `trace_files.rs` | trace files |
//! | `ignored.rs` | settings that can do nothing |
//! | `clock.rs` | clock, order and conservation |
//! | `reporting.rs` | quantiles, rates, warm-up |

mod clock;
mod ignored;
mod overload;
mod queue;
mod reporting;
mod retries;
mod routing;
mod thresholds;
mod trace_files;

use crate::harness::{load, tests_dir};

#[test]
fn every_case_is_a_valid_scenario_that_names_its_report() {
    let listing = std::fs::read_dir(tests_dir().join("cases")).expect("the cases");
    let mut names: Vec<String> = listing.map(|e| e.expect("an entry").file_name().into_string().expect("a plain name")).collect();
    names.sort_unstable();
    assert!(names.len() > 50, "the cases are here: {}", names.len());
    for file in names {
        let name = file.strip_suffix(".toml").unwrap_or_else(|| panic!("{file} is no scenario"));
        let loaded = load(name, &[]).unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!(loaded.scenario.name, format!("case {name}"));
        let text = std::fs::read_to_string(tests_dir().join("cases").join(&file)).expect("a text");
        let comment: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        let cites = |word: &str| {
            word.split_once('#').is_some_and(|(repo, n)| repo.contains('/') && n.starts_with(|c: char| c.is_ascii_digit()))
        };
        assert!(comment.iter().flat_map(|line| line.split([' ', '(', ')', ',', ';'])).any(cites), "{file} names no report");
    }
}
