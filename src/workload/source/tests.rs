use std::path::Path;

use super::*;
use crate::units::NANOS_PER_SECOND;
use crate::workload::config::{
    ArrivalProcess, LengthDistribution, LengthShape, RatePiece, RateSchedule, StreamConfig, StreamLengths, TraceOptions,
};
use crate::workload::trace::{CsvExport, DropReason};

fn steady(rate: f64) -> RateSchedule {
    RateSchedule(vec![RatePiece { at: SimTime::ZERO, rate, ramp: false }])
}

fn lengths(mean: f64) -> LengthDistribution {
    LengthDistribution { shape: LengthShape::Lognormal { mean, p99: mean * 4.0 }, min: 1, max: None }
}

fn separate(input: f64) -> StreamLengths {
    StreamLengths::Separate { input_tokens: lengths(input), output_tokens: lengths(100.0), correlation: 0.0 }
}

fn stream(class: &str, arrivals: ArrivalProcess) -> StreamConfig {
    StreamConfig { class: class.into(), arrivals: Some(arrivals), weight: None, lengths: separate(1_000.0) }
}

fn listed(at: u64, count: u64, every: Option<Span>, class: &str) -> ListedRequest {
    ListedRequest {
        at: SimTime::from_nanos(at),
        count,
        every,
        input_tokens: 7,
        output_tokens: 1,
        service_time: Some(Span::from_secs(1)),
        worker: Some(3),
        class: class.into(),
    }
}

fn fixture(name: &str) -> Option<TraceConfig> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/traces").join(name);
    Some(TraceConfig { path, class: "trace".into(), ..Default::default() })
}

fn all(config: &WorkloadConfig, bounds: Bounds) -> (Vec<RequestSpec>, RequestSource) {
    let mut source = RequestSource::open(config, Streams::new(7), bounds).unwrap_or_else(|e| panic!("{e}"));
    let mut requests = vec![];
    while let Some(request) = source.next().unwrap() {
        requests.push(request);
    }
    (requests, source)
}

fn until(seconds: u64) -> Bounds {
    Bounds { horizon: Some(SimTime::from_nanos(seconds * NANOS_PER_SECOND)), requests: None }
}

#[test]
fn arrivals_lie_before_the_horizon_and_an_even_stream_starts_at_zero() {
    let config = WorkloadConfig {
        streams: vec![stream("default", ArrivalProcess::Constant { rate: steady(100.0) })],
        ..Default::default()
    };
    let (requests, source) = all(&config, until(10));
    assert_eq!(requests.len(), 1_000);
    assert_eq!(requests[999].arrival, SimTime::from_nanos(9_990_000_000));
    assert_eq!((requests[0].arrival, requests[0].row, source.class_names()), (SimTime::ZERO, 0, &["default".to_owned()][..]));
    let (requests, _) = all(&config, Bounds { requests: Some(17), ..until(10) });
    assert_eq!(requests.len(), 17);
}

#[test]
fn sources_merge_in_order_of_arrival_and_ties_follow_the_stated_order() {
    let config = WorkloadConfig {
        streams: vec![
            stream("a", ArrivalProcess::Constant { rate: steady(1.0) }),
            stream("b", ArrivalProcess::Constant { rate: steady(1.0) }),
        ],
        trace: fixture("mooncake.jsonl"),
        requests: vec![listed(0, 2, Some(Span::from_secs(1)), "b"), listed(0, 2, None, "c")],
        ..Default::default()
    };
    let (requests, source) = all(&config, until(2));
    let order: Vec<(u64, &str)> = requests
        .iter()
        .map(|r| (r.arrival.as_nanos() / NANOS_PER_SECOND, source.class_names()[usize::from(r.class.0)].as_str()))
        .collect();
    let expected = [(0, "b"), (0, "c"), (0, "c"), (0, "trace"), (0, "a"), (0, "b"), (1, "b"), (1, "a"), (1, "b")];
    assert_eq!(order, expected);
    assert_eq!(requests.iter().filter(|r| r.worker == Some(3)).map(|r| r.row).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let report = source.trace_report().unwrap();
    assert!(report.is_balanced());
    assert_eq!((report.emitted, report.dropped_for(DropReason::AfterTheEnd)), (1, 1));
}

#[test]
fn one_stream_does_not_change_the_draws_of_another() {
    let poisson = |class: &str| stream(class, ArrivalProcess::Poisson { rate: steady(20.0) });
    let alone = WorkloadConfig { streams: vec![poisson("a")], ..Default::default() };
    let mut other = poisson("b");
    other.lengths = separate(10.0);
    let both = WorkloadConfig { streams: vec![poisson("a"), other], ..Default::default() };
    let (first, _) = all(&alone, until(20));
    let (merged, _) = all(&both, until(20));
    assert!(merged.is_sorted_by_key(|r| r.arrival));
    let of_a: Vec<RequestSpec> = merged.into_iter().filter(|r| r.class == ClassId(0)).collect();
    assert_eq!(first, of_a);
    // A closed loop that draws from the same stream gets the same lengths.
    let mut closed = LengthSource::open(&alone, Streams::new(7)).unwrap();
    for request in &first[..50] {
        let drawn = closed.draw(0, request.arrival);
        assert_eq!((drawn.input_tokens, drawn.output_tokens), (request.input_tokens, request.output_tokens));
    }
}

#[test]
fn classes_share_arrivals_by_weight_and_weights_do_not_move_them() {
    let share = |class: &str, weight: f64| StreamConfig {
        arrivals: None,
        weight: Some(weight),
        ..stream(class, ArrivalProcess::Poisson { rate: steady(1.0) })
    };
    let shared = |weights: [f64; 2]| WorkloadConfig {
        streams: vec![
            share("a", weights[0]),
            share("b", weights[1]),
            stream("own", ArrivalProcess::Constant { rate: steady(10.0) }),
        ],
        shared_arrivals: Some(ArrivalProcess::Gamma { rate: steady(100.0), cv: 2.0 }),
        ..Default::default()
    };
    let count = |requests: &[RequestSpec], class: u16| requests.iter().filter(|r| r.class == ClassId(class)).count();
    let (even, source) = all(&shared([1.0, 1.0]), until(100));
    assert_eq!(source.class_names(), ["a", "b", "own"]);
    assert_eq!(count(&even, 2), 1_000);
    let of_shared = (even.len() - 1_000) as f64;
    // Half of about 10,000: four standard deviations are 200.
    assert!((count(&even, 0) as f64 - of_shared / 2.0).abs() < 200.0);
    let (uneven, _) = all(&shared([9.0, 1.0]), until(100));
    assert!((count(&uneven, 0) as f64 - of_shared * 0.9).abs() < 200.0);
    let arrivals = |requests: &[RequestSpec]| requests.iter().map(|r| r.arrival).collect::<Vec<_>>();
    assert_eq!(arrivals(&even), arrivals(&uneven), "weights only say whose a request is");
    let nobody = WorkloadConfig { streams: vec![], ..shared([1.0, 1.0]) };
    assert!(RequestSource::open(&nobody, Streams::new(1), until(1)).err().unwrap().to_string().contains("classes: expected"));
}

#[test]
fn users_choose_classes_in_turn_or_by_weight() {
    let closed = |weight: Option<f64>| WorkloadConfig {
        streams: ["a", "b"]
            .map(|class| StreamConfig {
                weight: weight.map(|w| if class == "a" { w } else { 1.0 }),
                ..stream(class, ArrivalProcess::Poisson { rate: steady(1.0) })
            })
            .into(),
        ..Default::default()
    };
    let choices = |weight| {
        let source = LengthSource::open(&closed(weight), Streams::new(1)).unwrap();
        let mut rng = Streams::new(1).stream("turns", 0);
        (0..10_000).map(|n| source.choose(n, &mut rng)).collect::<Vec<_>>()
    };
    assert_eq!(choices(None)[..4], [0, 1, 0, 1]);
    let of_a = choices(Some(3.0)).iter().filter(|class| **class == 0).count();
    assert!(of_a.abs_diff(7_500) < 174, "{of_a}: four standard deviations");
}

#[test]
fn an_exported_workload_replays_to_the_same_requests() {
    let config = WorkloadConfig {
        streams: vec![
            stream("a", ArrivalProcess::Gamma { rate: steady(30.0), cv: 2.0 }),
            stream("b", ArrivalProcess::Poisson { rate: steady(9.0) }),
        ],
        requests: vec![listed(123_456_789, 3, None, "c")],
        ..Default::default()
    };
    let (original, source) = all(&config, Bounds { requests: Some(1_000), horizon: None });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("export.csv");
    let mut export = CsvExport::new(std::fs::File::create(&path).unwrap(), true).unwrap();
    for r in &original {
        let class = &source.class_names()[usize::from(r.class.0)];
        export.write(r.arrival, (r.input_tokens, r.output_tokens), class, r.service_time, r.worker).unwrap();
    }
    export.finish().unwrap();
    let trace = TraceConfig { path, class: "a".into(), ..Default::default() };
    let (replayed, again) = all(&WorkloadConfig { trace: Some(trace), ..Default::default() }, Bounds::default());
    assert_eq!(replayed.len(), original.len());
    for (a, b) in original.iter().zip(&replayed) {
        let names = (&source.class_names()[usize::from(a.class.0)], &again.class_names()[usize::from(b.class.0)]);
        assert_eq!(names.0, names.1);
        assert_eq!(
            (a.arrival, a.input_tokens, a.output_tokens, a.service_time, a.worker),
            (b.arrival, b.input_tokens, b.output_tokens, b.service_time, b.worker)
        );
    }
}

#[test]
fn servegen_windows_are_drawn_as_a_trace() {
    let constant = |value| Some(LengthDistribution { shape: LengthShape::Constant { value }, min: 1, max: None });
    let options = TraceOptions { input_tokens: constant(5), output_tokens: constant(2), ..Default::default() };
    let trace = fixture("servegen_chunk.csv").map(|t| TraceConfig { options, ..t });
    let (requests, source) = all(&WorkloadConfig { trace, ..Default::default() }, Bounds::default());
    // 300 expected; four standard deviations at cv 1.5 are 104.
    assert!((196..404).contains(&requests.len()), "{}", requests.len());
    assert!(requests.iter().all(|r| (600..1200).contains(&(r.arrival.as_nanos() / NANOS_PER_SECOND))));
    assert!(source.trace_report().unwrap().is_balanced());
}

#[test]
fn a_trace_that_repeats_needs_an_end() {
    let trace =
        fixture("mooncake.jsonl").map(|t| TraceConfig { options: TraceOptions { repeat: true, ..Default::default() }, ..t });
    let config = WorkloadConfig { trace, ..Default::default() };
    assert!(RequestSource::open(&config, Streams::new(1), Bounds::default()).err().unwrap().to_string().contains("horizon"));
    assert_eq!(all(&config, Bounds { requests: Some(10), horizon: None }).0.len(), 10);
}
