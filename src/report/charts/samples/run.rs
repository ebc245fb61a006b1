//! Samples of one run over time.

use super::super::data::*;
use super::super::{Figure, busy, loads, occupancy, overview, refusals, traffic};
use super::{Noise, heading};

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

fn traffics() -> Vec<(&'static str, Figure)> {
    let rate =
        |seed, level: f64, swell: f64| walk(seed, 300, 600.0, |at, u| level * (0.9 + 0.2 * u) * (1.0 + swell * pressure(at)));
    let data = TrafficData {
        heading: heading("goodput does not recover: 79.3/s before the disturbance, 0/s in the last quarter, with 80/s offered"),
        time: frame(burst_marks()),
        offered: rate(1, 80.0, 5.0),
        attempts: rate(2, 80.0, 19.0),
        goodput: rate(3, 79.0, -1.0),
        orphans: rate(4, 20.0, 3.0),
        unfinished: rate(5, 30.0, 90.0),
    };
    let calm = TrafficData { orphans: Vec::new(), time: frame(Vec::new()), ..data.clone() };
    vec![("traffic", traffic(&data)), ("traffic_calm", traffic(&calm)), ("traffic_empty", traffic(&TrafficData::default()))]
}

pub(super) fn figures() -> Vec<(&'static str, Figure)> {
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
    let mut figures = vec![
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
    ];
    figures.extend(traffics());
    figures
}
