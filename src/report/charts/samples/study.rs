//! Samples of updates, latencies, sweeps and plans.

use super::super::data::*;
use super::super::{Figure, heat_map, latency, load_curve, multiples, pareto, sweep_line, updates};
use super::{Noise, heading};

fn post(i: usize, workers: usize) -> PostStages {
    let mut noise = Noise(i as u64 * 31 + 3);
    let noticed = 0.0004 * (1.0 + 20.0 * noise.next());
    let switches: Vec<f64> = (0..workers).map(|_| noticed * (1.0 + 400.0 * noise.next() * noise.next())).collect();
    let last = switches.iter().copied().fold(0.0, f64::max);
    PostStages {
        label: format!("post {} at {} s, frontend 1: active_decode_blocks_threshold 0.85 to 0.6", i + 1, 270 + 30 * i),
        noticed: Stage::After(noticed),
        workers: switches.iter().enumerate().map(|(w, s)| (format!("worker {}", w + 1), Stage::After(*s))).collect(),
        all: Stage::After(last),
        effect: if i % 4 == 3 { Stage::Never } else { Stage::After(noticed * (1.0 + 3.0 * noise.next())) },
        decisions_before_noticed: (noise.next() * 4.0) as u64,
        decisions_until_all: (noise.next() * 400.0) as u64,
    }
}

fn awkward_posts() -> Vec<PostStages> {
    let silent =
        (0..6).map(|w| (format!("worker {}", w + 1), if w == 2 { Stage::Never } else { Stage::After(0.004 * f64::from(w)) }));
    vec![
        PostStages { noticed: Stage::After(0.0), effect: Stage::After(0.0), ..post(0, 4) },
        PostStages { all: Stage::Never, workers: silent.collect(), ..post(1, 6) },
        PostStages {
            noticed: Stage::NoOp,
            all: Stage::NoOp,
            effect: Stage::NoOp,
            workers: vec![("worker 1".into(), Stage::NoOp)],
            label: "post 3 at 330 s, frontend 2: values equal to the stored ones, with a label far too long for the line it stands on".into(),
            ..post(2, 1)
        },
        PostStages { all: Stage::Superseded, effect: Stage::Superseded, ..post(4, 64) },
    ]
}

fn latency_curve(name: &str, scale: f64, objective: Option<f64>, spread: f64) -> LatencyCurve {
    let mut noise = Noise(17);
    let mut values: Vec<f64> = (0..4000)
        .map(|_| {
            let (a, b, c) = (noise.next(), noise.next(), noise.next());
            scale * (1.0 + spread * (a + b + c) / (1.02 - a))
        })
        .collect();
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[(share * (values.len() - 1) as f64) as usize];
    LatencyCurve {
        name: name.to_owned(),
        cumulative: values.iter().enumerate().map(|(i, v)| [*v, (i + 1) as f64 / values.len() as f64]).collect(),
        quantiles: vec![("p50".into(), at(0.5)), ("p90".into(), at(0.9)), ("p99".into(), at(0.99))],
        objective,
    }
}

fn latencies() -> Vec<LatencyCurve> {
    vec![
        latency_curve("time to first token", 0.06, Some(2.0), 3.0),
        latency_curve("time per output token", 0.011, Some(0.05), 0.15),
        latency_curve("end to end", 1.9, None, 1.0),
    ]
}

fn quantity(label: &str, unit: Unit, log: bool) -> Quantity {
    Quantity { label: label.to_owned(), unit, log, categories: Vec::new() }
}

fn series(name: &str, xs: &[f64], value: impl Fn(f64) -> f64, width: f64) -> SweepSeries {
    let point = |x: &f64| {
        let mean = value(*x);
        SweepPoint { x: *x, mean, low: mean * (1.0 - width), high: mean * (1.0 + width) }
    };
    SweepSeries { name: name.to_owned(), points: xs.iter().map(point).collect() }
}

fn at_most(value: f64, label: &str) -> Option<Target> {
    Some(Target { value, sense: Sense::AtMost, label: label.to_owned() })
}

fn steps(from: f64, step: f64, count: usize) -> Vec<f64> {
    (0..count).map(|i| from + step * i as f64).collect()
}

fn threshold_panel(count: usize) -> SweepPanel {
    let xs = steps(0.5, 0.05, 11);
    let line =
        |i: usize| series(&format!("{} req/s", 40 + 20 * i), &xs, |x| 0.3 * (1.0 - x) * (1.0 + i as f64) * (1.2 - x), 0.12);
    SweepPanel {
        measure: quantity("529 rate", Unit::Share, false),
        series: (0..count).map(line).collect(),
        target: at_most(0.05, "target: at most 5 %"),
        interval: String::new(),
    }
}

fn map(columns: usize, rows: usize, log: bool) -> HeatMapData {
    let value = |c: usize, r: usize| {
        0.0004 + 0.4 * (c as f64 / columns as f64) * (c as f64 / columns as f64) * (1.0 - r as f64 / rows as f64)
    };
    let mut values: Vec<f64> = (0..rows).flat_map(|r| (0..columns).map(move |c| value(c, r))).collect();
    if values.len() > 12 {
        values[7] = f64::NAN;
    }
    HeatMapData {
        heading: heading("At most 1 % is refused up to 120 requests/s at 0.85, and up to 140 at 0.95"),
        x_label: "workload.arrivals.rate (requests/s)".into(),
        x_values: (0..columns).map(|c| format!("{}", 40 + 20 * c)).collect(),
        y_label: "frontend.active_decode_blocks_threshold".into(),
        y_values: (0..rows).map(|r| format!("{:.2}", 0.5 + 0.05 * r as f64)).collect(),
        measure: quantity("529 rate, share of attempts", Unit::Share, log),
        values,
        target: at_most(0.01, "target: at most 1 %"),
        best: Some((columns / 3, rows - 1)),
    }
}

fn front(count: usize) -> ParetoData {
    let mut noise = Noise(11);
    let mut points: Vec<ParetoPoint> = (0..count)
        .map(|i| {
            let share = i as f64 / count as f64;
            ParetoPoint {
                x: 0.002 + 0.2 * share * share,
                y: 0.4 + 6.0 * (1.0 - share) * (1.0 - share),
                label: format!("{:.2}", 0.95 - 0.45 * share),
                on_front: true,
                chosen: i == count / 3,
            }
        })
        .collect();
    for i in 0..count {
        let p = points[i].clone();
        points.push(ParetoPoint {
            x: p.x + 0.06 * noise.next(),
            y: p.y + 2.0 * noise.next(),
            on_front: false,
            chosen: false,
            ..p
        });
    }
    ParetoData {
        heading: heading("0.80 refuses 2 % and keeps p99 at 3 s; beyond it each percent refused buys less"),
        x: quantity("529 rate", Unit::Share, false),
        y: quantity("p99 time to first token", Unit::Seconds, false),
        point_label: "active_decode_blocks_threshold".into(),
        points,
        x_target: at_most(0.05, "at most 5 % refused"),
        y_target: at_most(4.0, "p99 at most 4 s"),
    }
}

fn curve_of_load() -> LoadCurveData {
    let xs = steps(10.0, 10.0, 16);
    let panel = |measure, series, target| SweepPanel { measure, series, target, interval: String::new() };
    let over = |x: f64| ((x - 90.0) / 40.0).clamp(0.0, 3.0);
    LoadCurveData {
        heading: heading("Goodput holds at 90 requests/s to the end with thresholds, and collapses without"),
        x: quantity("offered load", Unit::Named("requests/s".into()), false),
        panels: vec![
            panel(
                quantity("goodput", Unit::Named("requests/s".into()), false),
                vec![
                    series("thresholds on", &xs, |x| x.min(90.0), 0.03),
                    series("thresholds off", &xs, |x| x.min(90.0) / (1.0 + over(x)), 0.05),
                ],
                None,
            ),
            panel(
                quantity("p99 time to first token", Unit::Seconds, true),
                vec![
                    series("thresholds on", &xs, |x| 0.2 + 0.4 * over(x), 0.1),
                    series("thresholds off", &xs, |x| 0.2 + 20.0 * over(x), 0.1),
                ],
                at_most(2.0, "objective 2 s"),
            ),
            panel(
                quantity("completed, of offered", Unit::Share, false),
                vec![series("thresholds on", &xs, |x| (95.0 / x).min(1.0), 0.01), series("thresholds off", &xs, |_| 1.0, 0.0)],
                Some(Target { value: 0.99, sense: Sense::AtLeast, label: "at least 99 %".into() }),
            ),
        ],
        ideal: true,
    }
}

fn small(count: usize) -> MultiplesData {
    let panel = |i: usize| (format!("request_queue_limit = {}", 2 << i), threshold_panel(3));
    MultiplesData {
        heading: heading("A longer queue helps below 80 requests/s only"),
        x: quantity("active_decode_blocks_threshold", Unit::Number, false),
        panels: (0..count).map(panel).collect(),
    }
}

pub(super) fn figures() -> Vec<(&'static str, Figure)> {
    let stages = |posts: Vec<PostStages>| UpdatesData {
        heading: heading("The last worker follows a post after 0.2 s in the median"),
        posts,
    };
    let latency_of = |curves, tail| LatencyData {
        heading: heading("99 % get their first token within 2.3 s, 1 % more than the objective allows"),
        curves,
        tail,
    };
    let sweep = |panel, x| SweepData {
        heading: heading("At 80 requests/s, 0.75 is the lowest threshold that refuses at most 5 %"),
        x,
        panel,
    };
    let threshold = || quantity("active_decode_blocks_threshold", Unit::Number, false);
    let modes = ["round_robin", "random", "power_of_two", "least_loaded", "kv"].map(String::from).to_vec();
    let by_mode = SweepPanel {
        series: vec![
            series("long prompts", &[0.0, 1.0, 2.0, 3.0, 4.0], |x| 0.2 / (1.0 + x), 0.1),
            series("short prompts", &[0.0, 1.0, 2.0, 3.0, 4.0], |x| 0.1 / (1.0 + x), 0.1),
        ],
        ..threshold_panel(0)
    };
    let delays = vec![series(
        "4 workers, retries with exponential back-off and full jitter",
        &[0.001, 0.01, 0.1, 1.0, 10.0],
        |x| x * 0.02 + 1e-4,
        0.3,
    )];
    let by_delay = SweepPanel {
        measure: quantity("529 rate", Unit::Share, true),
        series: delays,
        target: at_most(0.01, "target: at most 1 %"),
        interval: String::new(),
    };
    vec![
        ("updates-3", updates(&stages((0..3).map(|i| post(i, 4)).collect()))),
        ("updates-awkward", updates(&stages(awkward_posts()))),
        ("updates-8", updates(&stages((0..8).map(|i| post(i, 64)).collect()))),
        ("updates-288", updates(&stages((0..288).map(|i| post(i, 16)).collect()))),
        ("updates-none", updates(&stages(Vec::new()))),
        ("latency", latency(&latency_of(latencies(), Tail::AtOrBelow))),
        ("latency-tail", latency(&latency_of(latencies(), Tail::Above))),
        (
            "latency-4",
            latency(&latency_of(
                [latencies(), vec![LatencyCurve { name: "queue wait".into(), ..LatencyCurve::default() }]].concat(),
                Tail::AtOrBelow,
            )),
        ),
        ("latency-none", latency(&LatencyData::default())),
        ("sweep-1", sweep_line(&sweep(threshold_panel(1), threshold()))),
        ("sweep-6", sweep_line(&sweep(threshold_panel(6), threshold()))),
        ("sweep-modes", sweep_line(&sweep(by_mode, Quantity { categories: modes, ..threshold() }))),
        ("sweep-log", sweep_line(&sweep(by_delay, quantity("telemetry delay", Unit::Seconds, true)))),
        ("sweep-none", sweep_line(&SweepData::default())),
        ("heat-map", heat_map(&map(9, 7, false))),
        ("heat-map-log", heat_map(&map(9, 7, true))),
        ("heat-map-large", heat_map(&map(60, 40, true))),
        ("heat-map-one", heat_map(&map(1, 1, false))),
        ("pareto", pareto(&front(9))),
        ("pareto-80", pareto(&front(80))),
        ("load-curve", load_curve(&curve_of_load())),
        ("multiples-4", multiples(&small(4))),
        ("multiples-9", multiples(&small(9))),
        ("multiples-12", multiples(&small(12))),
    ]
}
