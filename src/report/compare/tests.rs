//! Two small sides in every form: the same figures everywhere, and nothing that is not there.

use super::*;
use crate::experiment::compare::{Comparison, Replication, Side, Unit};
use crate::experiment::measure_table::{MEASURES, Measure};

fn place(name: &str) -> usize {
    Measure::place(name).unwrap()
}

fn side(name: &str, workers: u32, label: &str, rates: &[f64]) -> Side {
    let run = |(number, rate): (usize, &f64)| {
        let mut values = vec![Some(2.0); MEASURES.len()];
        values[place("rate_529")] = Some(*rate);
        values[place("ttft_p99")] = Some(1.5 - rate);
        values[place("throughput")] = Some(40.0 + if number == 0 { 0.0 } else { f64::from(workers) });
        values[place("update_lag_all")] = (workers == 4).then_some(0.002);
        values[place("update_lag_noticed")] = None;
        Replication { number: number as u32, values }
    };
    let resolved = format!("name = \"{name}\"\n[fleet]\nworkers = {workers}\n[[events]]\nat = \"{workers}s\"\n");
    Side {
        name: format!("results/{name}"),
        scenario: name.to_owned(),
        seed: 1,
        fields: resolved_fields(&resolved).unwrap(),
        units: vec![Unit { label: label.to_owned(), runs: rates.iter().enumerate().map(run).collect() }],
    }
}

fn comparison() -> Comparison {
    Comparison::of(vec![side("small", 4, "", &[0.10, 0.12, 0.11]), side("large", 5, "", &[0.01, 0.02, 0.015])])
}

#[test]
fn the_text_says_what_differs_and_how_sure_that_is() {
    let broken = ["`throughput` in results/large".to_owned()];
    insta::assert_snapshot!(comparison_screen(&comparison(), false, &broken).to_text(100));
    let single = Comparison::of(vec![side("small", 4, "", &[0.10]), side("large", 5, "", &[0.01]), side("same", 4, "", &[0.10])]);
    insta::assert_snapshot!(comparison_screen(&single, false, &[]).to_text(140));
    let same = Comparison::of(vec![side("small", 4, "", &[0.10]), side("small", 4, "", &[0.10])]);
    let said = comparison_screen(&same, false, &[]).to_text(80);
    assert!(said.starts_with("no measure differs\n") && said.contains("the scenarios are the same"), "{said}");
}

#[test]
fn every_form_has_the_same_figures() {
    let comparison = comparison();
    let json: serde_json::Value = serde_json::from_slice(&comparison_json(&comparison, &[])).unwrap();
    assert_eq!((&json["schema"], &json["fields"][0]["path"]), (&SCHEMA.into(), &"fleet.workers".into()));
    let found = &json["units"][0]["measures"]["rate_529"]["against_first"][0];
    let csv = String::from_utf8(comparison_csv(&comparison)).unwrap();
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let head = rows.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), MEASURES.len());
    let row = rows.iter().find(|row| &row[1] == "rate_529").unwrap();
    for name in ["difference", "low", "high"] {
        let column = head.iter().position(|found| found == name).unwrap();
        assert_eq!(row[column].parse::<f64>().ok(), found[name].as_f64(), "{name}");
    }
    assert_eq!((&row[12], &found["verdict"], &row[10]), ("better", &"better".into(), "true"));
    // What a side does not have is empty, and no difference.
    let lag = rows.iter().find(|row| &row[1] == "update_lag_all").unwrap();
    assert_eq!((&lag[5], &lag[6], &lag[7], &lag[12]), ("", "0.002", "", ""));
    let page = comparison_page(&comparison, &[]);
    assert!(page.contains("rate_529") && page.contains("-9.5 pp") && !page.contains("<script"), "{page}");
}

#[test]
fn a_side_is_read_from_the_files_of_a_sweep() {
    let measures = MEASURES.iter().map(|m| m.name).collect::<Vec<_>>().join(",");
    let values = |x: &str| vec![x; MEASURES.len()].join(",");
    let sweep =
        r#"{"schema":"shedcast.sweep/1","name":"s","seed":7,"complete":true,"grid":{"axes":[]},"replications":2,"targets":[]}"#;
    let rows = format!(
        "cell,fleet.workers,clients.retry,replication,end,error,warnings,{measures}\n0,2,none,0,horizon,,,{}\n0,2,none,1,,\"it, failed\",,{}\n1,4,none,0,horizon,,,{}\n",
        values("0.5"),
        values(""),
        values("1e-7")
    );
    let half = sweep.replace("true", "false");
    assert!(sweep_side("dir", &half, &rows, None).unwrap_err().starts_with("sweep.json: the sweep is not finished"));
    let side = sweep_side("dir", sweep, &rows, None).unwrap();
    assert_eq!((side.seed, side.units.len(), side.units[0].runs.len()), (7, 2, 2));
    assert_eq!(side.units[1].label, "fleet.workers = 4, clients.retry = none");
    assert_eq!((side.units[0].runs[1].values[0], side.units[1].runs[0].values[3]), (None, Some(1e-7)));
    assert!(side.fields.iter().any(|(path, value)| path == "sweep.replications" && value == "2"));
    let bad = [
        sweep_side("dir", "{", &rows, None),
        sweep_side("dir", "{\"schema\":\"x\"}", &rows, None),
        sweep_side("dir", sweep, "cell,replication\n", None),
        sweep_side("dir", sweep, &rows.replace("1e-7", "abc"), None),
        run_side("dir", "{\"schema\":\"shedcast.summary/1\"}", ""),
        run_side("dir", "[]", ""),
    ];
    insta::assert_snapshot!(bad.map(|side| side.unwrap_err()).join("\n"));
}
