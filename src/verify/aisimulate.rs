//! NVIDIA's AISimulate 0.13.0, where it and shedcast both apply: preset `dynamo-mocker`, no limits, unique prompts, no randomness.

use std::collections::BTreeMap;

use super::check::{Check, CheckTable, VerifyError, run_text};
use crate::cluster::Remote;
use crate::experiment::RunResult;
use crate::experiment::measure_table::Measure;
use crate::stats::RankRule;

/// Figures as AISimulate prints them.
const FIGURES: &str = include_str!("../../tests/conformance/aisimulate.csv");
/// Allowed in an open loop, relative, or half a unit of the last printed digit, whichever is more.
const OPEN: f64 = 1e-5;
/// Allowed in a closed loop, where requests of one instant may change places.
const CLOSED: f64 = 5e-4;

type Row = BTreeMap<String, String>;

/// Runs every setting of the table.
///
/// # Errors
/// Interrupted.
pub fn aisimulate(remote: &Remote) -> Result<CheckTable, VerifyError> {
    let mut reader = csv::Reader::from_reader(FIGURES.as_bytes());
    let mut checks = Vec::new();
    for row in reader.deserialize() {
        let row: Row = row.expect("the built-in table is sound");
        let result = run_text(&scenario(&row), 0, remote)?;
        for (name, value) in figures(&result) {
            let printed = &row[name];
            let reference: f64 = printed.parse().expect("the built-in table holds numbers");
            let allowed = match row["arrival"].as_str() {
                "closed" => reference * CLOSED,
                _ => (reference * OPEN).max(half_digit(printed)),
            };
            checks.push(Check::new(format!("{}: {name}", row["case"]), value, reference, allowed));
        }
    }
    let rule = "open loop: 0.001 %, or half a unit of the last printed digit; closed loop: 0.05 %".to_owned();
    Ok(CheckTable { title: "NVIDIA AISimulate 0.13.0".to_owned(), rule, checks })
}

fn scenario(row: &Row) -> String {
    let load = match row["arrival"].as_str() {
        "closed" => format!("[clients]\nmax_in_flight = {}\n[workload]\n", row["max_in_flight"]),
        _ => format!("[workload]\narrivals = {{ process = \"constant\", rate = {} }}\n", row["rps"]),
    };
    let lockstep = if row["dp"] == "1" { "" } else { "dp_lockstep = true\n" };
    format!(
        "name = \"{}\"\nrequests = {}\n[output]\nquantile_method = \"rounded_rank\"\n[fleet]\nworkers = {}\ndata_parallel_size = {}\n\
         {lockstep}engine = \"dynamo-mocker\"\n{load}input_tokens = {}\noutput_tokens = {}\n",
        row["case"], row["n"], row["workers"], row["dp"], row["isl"], row["osl"]
    )
}

fn figures(result: &RunResult) -> Vec<(&'static str, f64)> {
    let millis = |measure: &str| {
        let measure = Measure::find(measure).expect("checks name measures of the table");
        measure.take(result, RankRule::RoundedRank).value().unwrap_or(0.0) * 1e3
    };
    let completed = result.total.requests.completed as f64;
    let seconds = result.ended_at.as_secs_f64();
    vec![
        ("completed", completed),
        ("duration_ms", seconds * 1e3),
        ("ttft_mean_ms", millis("ttft_mean")),
        ("ttft_p50_ms", millis("ttft_p50")),
        ("ttft_p99_ms", millis("ttft_p99")),
        ("tpot_mean_ms", millis("tpot_mean")),
        ("e2e_mean_ms", millis("e2e_mean")),
        ("rps_out", completed / seconds),
    ]
}

fn half_digit(text: &str) -> f64 {
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    (0..decimals).fold(0.5, |half, _| half / 10.0)
}
