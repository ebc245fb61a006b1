//! Synthetic data for the tests of charts: several situations for each kind of figure.

use super::data::*;
use super::{
    Figure, busy, heat_map, latency, load_curve, loads, multiples, occupancy, overview, pareto, refusals, sweep_line, updates,
};

/// A small generator, so that samples are the same everywhere.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        // Constants of Knuth's MMIX.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn heading(title: &str) -> Heading {
    Heading {
        title: title.to_owned(),
        subtitle: "burst on four workers, seed 1, 10 min, kv mode, 0.85 of decode blocks, 0.8 of prefill tokens".to_owned(),
        description: String::new(),
    }
}

fn mark(at: f64, kind: MarkKind, label: &str) -> Mark {
    Mark { at, kind, label: label.to_owned() }
}

fn frame(marks: Vec<Mark>) -> TimeFrame {
    TimeFrame { start: 0.0, end: 600.0, marks }
}

fn burst_marks() -> Vec<Mark> {
    vec![
        mark(60.0, MarkKind::Phase, "warm-up ends"),
        mark(240.0, MarkKind::Phase, "rate 400/s"),
        mark(270.0, MarkKind::Post, "post 1: decode 0.85 to 0.6"),
        mark(300.0, MarkKind::Phase, "rate 40/s"),
        mark(310.0, MarkKind::Fault, "worker 3 crashes"),
        mark(420.0, MarkKind::Post, "post 2: decode 0.6 to 0.9, prefill fraction 0.8 to 0.5"),
        mark(598.0, MarkKind::Fault, "worker 3 back"),
    ]
}

/// 0 in calm, 1 in the burst.
fn pressure(at: f64) -> f64 {
    match at {
        at if at < 240.0 => 0.0,
        at if at < 300.0 => 1.0,
        at => (1.0 - (at - 300.0) / 60.0).max(0.0),
    }
}

fn walk(seed: u64, count: usize, end: f64, value: impl Fn(f64, f64) -> f64) -> Vec<Sample> {
    let mut noise = Noise(seed);
    (0..count).map(|i| end * i as f64 / count as f64).map(|at| [at, value(at, noise.next())]).collect()
}

fn refused(bins: usize, level: f64) -> Refusals {
    let reason = |name: &str, seed, share: f64| Reason {
        name: name.to_owned(),
        shares: walk(seed, bins, 600.0, |at, u| level * share * pressure(at) * (0.8 + 0.4 * u)).iter().map(|p| p[1]).collect(),
    };
    Refusals {
        bins: (0..bins).map(|i| 600.0 * i as f64 / bins as f64).collect(),
        reasons: vec![
            reason("all_workers_busy", 1, 0.6),
            reason("worker_at_capacity", 2, 0.2),
            reason("pinned_worker_busy", 3, 0.05),
        ],
    }
}

fn worker(i: usize, count: usize, limits: (f64, f64)) -> WorkerOccupancy {
    let slots = |at: f64, u: f64| (limits.0 * (0.3 + 0.1 * u + 0.7 * pressure(at))).min(limits.0).floor();
    let queue = |at: f64, u: f64| if pressure(at) > 0.5 { (limits.1 * (0.6 + 0.5 * u)).min(limits.1).floor() } else { 0.0 };
    WorkerOccupancy {
        name: format!("worker {}", i + 1),
        slots: walk(i as u64, count, 600.0, slots),
        queue: walk(i as u64 + 99, count, 600.0, queue),
        slot_limit: Some(limits.0),
        queue_limit: Some(limits.1),
    }
}

fn workers(count: usize, samples: usize) -> Vec<WorkerOccupancy> {
    (0..count).map(|i| worker(i, samples, (256.0, 16.0))).collect()
}

fn rank_loads(ranks: usize, samples: usize) -> Loads {
    let share = |at: f64, u: f64| (0.35 + 0.1 * u + 0.55 * pressure(at)).min(1.0);
    let tokens = |at: f64, u: f64| (1500.0 * u + 9000.0 * pressure(at)).floor();
    let curves = |value: &dyn Fn(f64, f64) -> f64, seed: u64| {
        let curve = |i: usize| Curve {
            name: format!("worker {} rank {}", i / 2 + 1, i % 2),
            points: walk(seed + i as u64, samples, 600.0, value),
        };
        Spread::Each((0..ranks).map(curve).collect())
    };
    let line = |name: &str, points: &[Sample]| Curve { name: name.to_owned(), points: points.to_vec() };
    Loads {
        decode: Some(LoadPanel {
            load: curves(&share, 10),
            thresholds: vec![line("active_decode_blocks_threshold", &[[0.0, 0.85], [270.0, 0.6], [420.0, 0.9]])],
        }),
        prefill: Some(LoadPanel {
            load: curves(&tokens, 50),
            thresholds: vec![
                line("active_prefill_tokens_threshold", &[[0.0, 9500.0]]),
                line("active_prefill_tokens_threshold_frac, of 8192", &[[0.0, 6553.0], [420.0, 4096.0]]),
            ],
        }),
    }
}

fn busy_count(workers: f64) -> BusyCount {
    BusyCount {
        busy: walk(7, 600, 600.0, |at, u| (workers * pressure(at) * (0.7 + 0.5 * u)).min(workers).floor()),
        leased: walk(8, 600, 600.0, |at, u| if pressure(at) > 0.0 && u > 0.8 { 1.0 } else { 0.0 }),
        discovered: vec![[0.0, workers], [310.0, workers - 1.0], [598.0, workers]],
    }
}

fn busy_rows(count: usize, spans: usize, name: &str) -> Vec<BusyRow> {
    let states = [BusyState::Decode, BusyState::Prefill, BusyState::Mixed, BusyState::Lease];
    let row = |i: usize| {
        let mut noise = Noise(i as u64 + 5);
        let mut at = 240.0 + 20.0 * noise.next();
        let mut row = BusyRow { name: format!("{name}{}", i + 1), spans: Vec::new() };
        for _ in 0..spans {
            let length = 120.0 / spans as f64 * noise.next() * 1.4;
            row.spans.push(BusySpan { from: at, to: at + length, state: states[(noise.next() * 4.0) as usize] });
            at += length + 40.0 / spans as f64 * noise.next();
        }
        if i == 2 {
            row.spans.push(BusySpan { from: at.max(450.0), to: 598.0, state: BusyState::Absent });
        }
        row
    };
    (0..count).map(row).collect()
}

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

fn run_figures() -> Vec<(&'static str, Figure)> {
    let long = "9.4 % of attempts were refused, nearly all of them in the burst from four to five minutes, because every worker was busy by \
                decode blocks; the post at 270 s made it worse, took 1.2 s to reach the last worker, and was taken back at 420 s";
    let full = |title: &str, count: usize, samples: usize, level: f64, marks: Vec<Mark>| OverviewData {
        heading: heading(title),
        time: frame(marks),
        refusals: Some(refused(samples.min(600), level)),
        occupancy: Some(Occupancy::Workers(workers(count, samples))),
        busy: Some(busy_count(count as f64)),
        loads: rank_loads(count * 2, samples),
    };
    let posts = (0..288).map(|i| mark(2.0 * f64::from(i) + 5.0, MarkKind::Post, &format!("post {i}"))).collect();
    let refusal = |level, bins, marks| RefusalsData {
        heading: heading("60 % refused in the burst"),
        time: frame(marks),
        refusals: refused(bins, level),
    };
    let slots = |occupancy| OccupancyData {
        heading: heading("All four queues were full for 58 s"),
        time: frame(burst_marks()),
        occupancy,
    };
    let load = |ranks, samples| LoadsData {
        heading: heading("Decode blocks cross 0.85 within 9 s"),
        time: frame(burst_marks()),
        loads: rank_loads(ranks, samples),
    };
    let timeline = |workers| BusyData {
        heading: heading("Worker 3 stays out for 2 minutes after the burst"),
        time: frame(burst_marks()),
        workers,
    };
    vec![
        ("overview", overview(&full(long, 4, 600, 1.0, burst_marks()))),
        ("overview-calm", overview(&full("Nothing was refused", 1, 600, 0.0, Vec::new()))),
        ("overview-64", overview(&full("12 % refused", 64, 2000, 0.2, posts))),
        ("overview-empty", overview(&OverviewData { heading: heading("No request arrived"), ..OverviewData::default() })),
        ("refusals", refusals(&refusal(1.0, 600, burst_marks()))),
        ("refusals-long", refusals(&refusal(0.001, 100_000, Vec::new()))),
        ("occupancy-1", occupancy(&slots(Occupancy::Workers(workers(1, 600))))),
        ("occupancy-4", occupancy(&slots(Occupancy::Workers(workers(4, 600))))),
        ("occupancy-8", occupancy(&slots(Occupancy::Workers(workers(8, 100_000))))),
        ("occupancy-64", occupancy(&slots(Occupancy::Workers(workers(64, 600))))),
        (
            "occupancy-far",
            occupancy(&slots(Occupancy::Workers(vec![WorkerOccupancy {
                queue_limit: Some(1e6),
                ..worker(0, 600, (256.0, 16.0))
            }]))),
        ),
        ("occupancy-none", occupancy(&slots(Occupancy::Workers(Vec::new())))),
        ("loads-2", loads(&load(2, 600))),
        ("loads-8", loads(&load(8, 100))),
        ("loads-64", loads(&load(64, 600))),
        ("busy-4", busy(&timeline(busy_rows(4, 12, "worker ")))),
        ("busy-64", busy(&timeline(busy_rows(64, 200, "worker ")))),
        ("busy-1000", busy(&timeline(busy_rows(1000, 20, "h100-eu-west-production-")))),
        ("busy-none", busy(&timeline(Vec::new()))),
    ]
}

fn study_figures() -> Vec<(&'static str, Figure)> {
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

/// Every sample figure by name.
pub(super) fn all() -> Vec<(&'static str, Figure)> {
    let mut figures = run_figures();
    figures.extend(study_figures());
    figures
}
