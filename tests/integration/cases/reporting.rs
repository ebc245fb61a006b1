//! Part F: what is reported, where little happened or much is hidden.

use shedcast::experiment::RunEnd;
use shedcast::experiment::measures::Measures;
use shedcast::experiment::verdicts;
use shedcast::stats::Quantiles;

use crate::harness::case;

/// Every rate and share of a stretch.
fn rates(measures: &Measures) -> Vec<Option<f64>> {
    let shares = [measures.rate_529(), measures.lost_share(), measures.slo_share(), measures.slo_share_of_completed()];
    let rates = [measures.goodput(), measures.throughput(), measures.offered_rate(), measures.amplification()];
    shares.into_iter().chain(rates).collect()
}

fn is_empty(quantiles: &Quantiles) -> bool {
    let at = [0.0, 0.5, 0.9, 0.99, 1.0].map(|p| quantiles.quantile(p));
    quantiles.mean().is_none() && quantiles.min().is_none() && quantiles.max().is_none() && at == [None; 5]
}

#[test]
fn case_56_where_nothing_completed_figures_are_zero_or_absent() {
    let refused = case("56a", &[]);
    let total = &refused.result.total;
    assert_eq!((total.rate_529(), total.lost_share(), total.slo_share()), (Some(1.0), Some(1.0), Some(0.0)));
    assert_eq!((total.throughput(), total.goodput(), total.slo_share_of_completed()), (Some(0.0), Some(0.0), None));
    let none = case("56b", &[]);
    assert_eq!((none.result.end, none.result.ended_at.as_nanos()), (RunEnd::Drained, 0), "it ends at once");
    assert_eq!(none.result.total.requests.offered, 0);
    assert!(none.warns(verdicts::codes::NO_REQUESTS));
    let instant = case("56c", &[]);
    assert_eq!(instant.result.total.requests.offered, 0, "arrivals are those before the horizon");
    for case in [&refused, &none, &instant] {
        for (name, quantiles) in case.result.total.latencies.named() {
            assert!(is_empty(quantiles), "{name}");
        }
        assert!(rates(&case.result.total).into_iter().flatten().all(f64::is_finite));
        let occupancy = &case.result.total.occupancy;
        assert!(occupancy.in_workers.mean().is_none_or(|mean| mean == 0.0));
    }
}

#[test]
fn case_56_a_service_without_duration_ends_where_it_begins() {
    let case = case("56c", &["horizon=1s"]);
    let e2e = &case.result.total.latencies.e2e;
    assert_eq!((e2e.mean(), e2e.quantile(0.99), case.result.total.throughput()), (Some(0.0), Some(0), Some(1.0)));
}

/// Milliseconds at the given percentages, by the nearest rank.
fn percentiles<const N: usize>(quantiles: &Quantiles, at: [f64; N]) -> [f64; N] {
    at.map(|p| quantiles.quantile(p / 100.0).expect("samples") as f64 / 1e6)
}

#[test]
fn case_58_percentiles_are_samples_and_never_fall() {
    let three = case("58a", &[]);
    assert_eq!(percentiles(&three.result.total.latencies.e2e, [50.0, 75.0, 100.0]), [42.9, 425.7, 425.7]);
    let request = "{ at = \"0s\", input_tokens = 10, output_tokens = 1, service_time = \"580ms\" }";
    let one = case("58a", &[&format!("workload.requests=[{request}]")]);
    assert_eq!(percentiles(&one.result.total.latencies.e2e, [0.0, 50.0, 99.0, 100.0]), [580.0; 4]);
    let hundred = case("58b", &[]);
    assert_eq!(percentiles(&hundred.result.total.latencies.e2e, [50.0, 90.0, 99.0]), [50.0, 90.0, 99.0]);
    for case in [&three, &one, &hundred] {
        for (name, quantiles) in case.result.total.latencies.named().into_iter().filter(|(name, _)| *name != "tpot") {
            let steps = percentiles(quantiles, [50.0, 90.0, 95.0, 99.0, 100.0]);
            assert!(steps.windows(2).all(|pair| pair[0] <= pair[1]), "{name}: {steps:?}");
            assert!(quantiles.method().to_string().contains("nearest rank"), "the method is named");
        }
    }
}

#[test]
fn case_61_what_waits_at_the_warm_up_cut_still_waits() {
    let case = case("61", &[]);
    let waiting = |secs: f64| {
        let interval = case.log.intervals.iter().find(|i| i.end.as_secs_f64() == secs).expect("a sample");
        interval.point.waiting[0]
    };
    assert_eq!([3.0, 3.5, 4.5, 5.5].map(waiting), [3, 2, 1, 0]);
    let window = &case.result.total.occupancy.waiting;
    assert_eq!((window.mean(), window.max(), window.min()), (Some(1.8), Some(3), Some(1)));
    assert_eq!(case.result.workers[0].waiting.mean(), Some(1.8));
    assert_eq!(case.result.measured_from.as_secs_f64(), 3.0);
    assert_eq!((case.result.total.requests.offered, case.result.whole.requests.offered), (0, 4));
}

#[test]
fn case_69_a_rate_is_that_of_the_whole_fleet() {
    let total = case("69a", &[]).result.total;
    assert_eq!((total.requests.offered, total.offered_rate()), (1_000, Some(100.0)));
}

#[test]
fn case_69_the_share_within_targets_is_of_all_that_was_offered() {
    let case = case("69b", &[]);
    let total = &case.result.total;
    assert_eq!(case.completions(), [20.0, 40.0, 60.0]);
    assert_eq!((total.slo_share(), total.slo_share_of_completed()), (Some(0.6), Some(1.0)));
    assert_eq!(total.attempts.refused_total(), 2);
    assert_eq!((total.throughput(), total.offered_rate()), (Some(3.0 / 60.0), Some(5.0 / 60.0)));
}
