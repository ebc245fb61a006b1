//! Sides made by hand, where every figure is known.

use super::*;
use crate::experiment::measure_table::{MEASURES, Measure};

fn place(name: &str) -> usize {
    Measure::place(name).unwrap()
}

/// A run whose 529 rate and goodput are as given, replication by replication; all else is the same everywhere.
fn side(name: &str, seed: u64, rates: &[f64], goodputs: &[f64], fields: &[(&str, &str)]) -> Side {
    let run = |(number, (rate, goodput)): (usize, (&f64, &f64))| {
        let mut values = vec![Some(1.0); MEASURES.len()];
        values[place("rate_529")] = Some(*rate);
        values[place("goodput")] = Some(*goodput);
        values[place("update_lag_all")] = None;
        Replication { number: number as u32, values }
    };
    let runs = rates.iter().zip(goodputs).enumerate().map(run).collect();
    let fields = fields.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    let units = vec![Unit { label: String::new(), runs }];
    Side { name: name.to_owned(), scenario: "s".to_owned(), seed, fields, units }
}

fn against(comparison: &Comparison, name: &str) -> Against {
    comparison.units[0].measures[place(name)].against[0].unwrap()
}

#[test]
fn pairs_tell_a_small_difference_that_independent_runs_do_not() {
    let (rates, goodputs) = ([0.10, 0.20, 0.30, 0.15], [50.0, 40.0, 30.0, 45.0]);
    let worse = rates.map(|rate| rate + 0.01 + rate * 0.01);
    let a = side("a", 1, &rates, &goodputs, &[]);
    let paired = Comparison::of(vec![a.clone(), side("b", 1, &worse, &goodputs, &[])]);
    let found = against(&paired, "rate_529");
    assert!(found.paired && (found.difference - 0.011_875).abs() < 1e-12, "{found:?}");
    assert_eq!((found.standing, against(&paired, "goodput").standing), (Standing::Worse, Standing::Same));
    let apart = Comparison::of(vec![a, side("b", 2, &worse, &goodputs, &[])]);
    let found = against(&apart, "rate_529");
    assert!(!found.paired && found.standing == Standing::Unclear && found.replications == 4, "{found:?}");
    // Nothing differs, but two independent samples may still be of different means.
    assert_eq!(against(&apart, "goodput").standing, Standing::Unclear);
}

#[test]
fn one_run_has_a_difference_and_no_interval() {
    let comparison = Comparison::of(vec![side("a", 1, &[0.1], &[50.0], &[]), side("b", 1, &[0.2], &[60.0], &[])]);
    let found = against(&comparison, "rate_529");
    assert_eq!((found.interval, found.standing), (None, Standing::Worse));
    assert_eq!(against(&comparison, "goodput").standing, Standing::Better);
    assert!(comparison.units[0].measures[place("update_lag_all")].against[0].is_none());
}

#[test]
fn fields_that_differ_are_listed_those_that_only_name_are_not() {
    let a = side("a", 1, &[0.1], &[1.0], &[("name", "\"a\""), ("fleet.workers", "4"), ("seed", "1")]);
    let b = side("b", 1, &[0.1], &[1.0], &[("name", "\"b\""), ("fleet.workers", "5"), ("seed", "1"), ("events.0.at", "\"1s\"")]);
    let fields = Comparison::of(vec![a, b]).fields;
    let of = |path: &str, values: [Option<&str>; 2]| FieldDifference {
        path: path.to_owned(),
        values: values.map(|value| value.map(str::to_owned)).to_vec(),
    };
    assert_eq!(fields, [of("fleet.workers", [Some("4"), Some("5")]), of("events.0.at", [None, Some("\"1s\"")])]);
}

#[test]
fn a_rule_is_broken_beyond_interval_and_tolerance_only() {
    let rates = [0.10, 0.20, 0.30, 0.15];
    let sides = |more: f64| {
        let other = rates.map(|rate| rate + more);
        Comparison::of(vec![side("a", 1, &rates, &[1.0; 4], &[]), side("b", 1, &other, &[2.0; 4], &[])])
    };
    let rule = |text: &str| WorseRule::parse(text).unwrap();
    assert_eq!(rule("rate_529").broken(&sides(0.02)), Ok(vec![(String::new(), 1)]));
    assert_eq!(rule("rate_529=3%").broken(&sides(0.02)), Ok(vec![]));
    assert_eq!(rule("rate_529").broken(&sides(-0.02)), Ok(vec![]));
    assert_eq!(rule("goodput").broken(&sides(0.0)), Ok(vec![]));
    let noisy = [0.12, 0.18, 0.35, 0.14];
    let unclear = Comparison::of(vec![side("a", 1, &rates, &[1.0; 4], &[]), side("b", 1, &noisy, &[0.5; 4], &[])]);
    assert_eq!(rule("rate_529").broken(&unclear), Ok(vec![]));
    assert_eq!(rule("goodput").broken(&unclear), Ok(vec![(String::new(), 1)]));
    // A measure that no side has cannot get worse; one that a side has lost cannot be told.
    assert_eq!(rule("update_lag_all").broken(&unclear), Ok(vec![]));
    let mut lost = unclear;
    lost.units[0].measures[place("rate_529")].means[1] = None;
    lost.units[0].measures[place("rate_529")].against[0] = None;
    assert_eq!(rule("rate_529").broken(&lost), Err((String::new(), 1)));
}

#[test]
fn rules_that_make_no_sense_are_refused_with_a_hint() {
    let said = ["rate_592", "offered_rate", "rate_529=x", "goodput=-1", ""].map(|text| WorseRule::parse(text).unwrap_err());
    insta::assert_snapshot!(said.map(|(message, hint)| format!("{message}\n  hint: {hint}")).join("\n"));
}

#[test]
fn what_only_one_side_ran_is_told_and_not_compared() {
    let mut a = side("a", 1, &[0.1], &[1.0], &[]);
    let mut b = side("b", 1, &[0.1], &[1.0], &[]);
    a.units[0].label = "fleet.workers = 2".to_owned();
    b.units[0].label = "fleet.workers = 3".to_owned();
    let comparison = Comparison::of(vec![a, b]);
    assert!(comparison.units.is_empty());
    assert_eq!(comparison.lone, [(0, "fleet.workers = 2".to_owned()), (1, "fleet.workers = 3".to_owned())]);
}
