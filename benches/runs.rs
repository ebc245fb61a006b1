//! Whole runs (a) to (g), cut short: time per request, summary and time series included.

#[path = "common/checksum.rs"]
mod checksum;
#[path = "common/floor.rs"]
mod floor;
#[path = "common/gaps.rs"]
mod gaps;
#[path = "common/runs.rs"]
mod runs;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const REQUESTS: u64 = 20_000;

fn whole(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("whole");
    group.throughput(Throughput::Elements(REQUESTS)).sample_size(10);
    for (name, text) in runs::RUNS {
        let scenario = runs::scenario(text, REQUESTS, &[]);
        group.bench_function(BenchmarkId::from_parameter(name), |b| b.iter(|| runs::answer(&runs::whole(&scenario))));
    }
    group.finish();
}

/// The floor of their events, the requests alone, and the runs without files and without anyone who watches.
fn parts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parts");
    group.throughput(Throughput::Elements(REQUESTS)).sample_size(10);
    for (name, text) in runs::RUNS {
        let scenario = runs::scenario(text, REQUESTS, &[]);
        let (events, groups) = (runs::unobserved(&scenario), runs::groups(&scenario));
        group.bench_function(BenchmarkId::new("floor", name), |b| b.iter(|| floor::floor(black_box(events), groups)));
        group.bench_function(BenchmarkId::new("drawn", name), |b| b.iter(|| runs::drawn(&scenario)));
        group.bench_function(BenchmarkId::new("unobserved", name), |b| b.iter(|| runs::unobserved(&scenario)));
        group.bench_function(BenchmarkId::new("measured", name), |b| b.iter(|| runs::answer(&runs::measured(&scenario))));
    }
    group.finish();
}

criterion_group!(benches, whole, parts);
criterion_main!(benches);
