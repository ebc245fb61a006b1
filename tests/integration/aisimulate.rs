//! Agreement with NVIDIA's simulator where both apply: the preset `dynamo-mocker`, no limits, unique prompts.
//!
//! `tests/conformance/aisimulate.csv` holds figures of AISimulate 0.13.0 itself; `aisimulate_rules.csv` further settings
//! (overload, lockstep ranks, prompts longer than a step) computed by an independent program of its published rules, which gives
//! the former table too.

use std::collections::BTreeMap;

use crate::harness::{Case, run_text, tests_dir};
use shedcast::stats::RankRule;

/// A row of a table, by column.
type Row = BTreeMap<String, String>;

fn rows(file: &str) -> Vec<Row> {
    let path = tests_dir().join("conformance").join(file);
    let mut reader = csv::Reader::from_path(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let rows: Vec<Row> = reader.deserialize().map(|row| row.unwrap_or_else(|e| panic!("{}: {e}", path.display()))).collect();
    assert!(!rows.is_empty(), "{} has rows", path.display());
    rows
}

fn scenario(row: &Row) -> String {
    let arrivals = match row["arrival"].as_str() {
        "closed" => format!("[clients]\nmax_in_flight = {}\n[workload]\n", row["max_in_flight"]),
        "constant" => format!("[workload]\narrivals = {{ process = \"constant\", rate = {} }}\n", row["rps"]),
        other => panic!("arrivals `{other}` are in no table"),
    };
    let lockstep = if row["dp"] == "1" { "" } else { "dp_lockstep = true\n" };
    format!(
        "name = \"{}\"\nrequests = {}\n[output]\nquantile_method = \"rounded_rank\"\n[fleet]\nworkers = {}\ndata_parallel_size = {}\n\
         {lockstep}engine = \"dynamo-mocker\"\n{arrivals}input_tokens = {}\noutput_tokens = {}\n",
        row["case"], row["n"], row["workers"], row["dp"], row["isl"], row["osl"]
    )
}

/// Every figure of the table, as the run gives it.
fn figures(case: &Case) -> Vec<(&'static str, f64)> {
    let latencies = &case.result.total.latencies;
    let quantile = |p| latencies.ttft.quantile_by(RankRule::RoundedRank, p).expect("completions") as f64;
    let mean = |quantiles: &shedcast::stats::Quantiles| quantiles.mean().expect("completions");
    let completed = case.result.total.requests.completed as f64;
    let duration = case.result.ended_at.as_nanos() as f64;
    vec![
        ("completed", completed),
        ("duration_ms", duration / 1e6),
        ("ttft_mean_ms", mean(&latencies.ttft) / 1e6),
        ("ttft_p50_ms", quantile(0.5) / 1e6),
        ("ttft_p99_ms", quantile(0.99) / 1e6),
        ("tpot_mean_ms", mean(&latencies.tpot) / 1e6),
        ("e2e_mean_ms", mean(&latencies.e2e) / 1e6),
        ("rps_out", completed / (duration / 1e9)),
    ]
}

/// Half a unit of the last printed digit.
fn half_digit(text: &str) -> f64 {
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    (0..decimals).fold(0.5, |half, _| half / 10.0)
}

/// Compares every row: open loop within 0.001 % or half a unit of the last digit, closed loop within 0.05 %.
fn compare(file: &str) {
    let mut faults = Vec::new();
    for row in rows(file) {
        let closed = row["arrival"] == "closed";
        for (name, got) in figures(&run_text(&scenario(&row), &[])) {
            let expected: f64 = row[name].parse().expect("a number");
            let tolerance = if closed { expected * 5e-4 } else { (expected * 1e-5).max(half_digit(&row[name])) };
            println!("{} {name}: {got:.4} against {expected:.4} ({:+.5} %)", row["case"], 100.0 * (got / expected - 1.0));
            if (got - expected).abs() > tolerance {
                faults.push(format!("{} {name}: {got} against {expected} (+- {tolerance})", row["case"]));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn figures_of_aisimulate_are_met_to_the_last_digit() {
    compare("aisimulate.csv");
}

#[test]
fn overload_lockstep_ranks_and_chunked_prompts_follow_its_rules() {
    compare("aisimulate_rules.csv");
}
