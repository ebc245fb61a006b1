//! The control code alone: nanoseconds per decision and per load report.

#[path = "common/checksum.rs"]
mod checksum;
#[path = "common/control.rs"]
mod frontend;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use frontend::{Bench, MODES};

const CALLS: u64 = 1_000;
/// Workers and their ranks.
const FLEETS: [(u32, u32); 4] = [(4, 1), (16, 4), (64, 1), (256, 4)];

/// A fleet's size as a bench's name tells it.
fn size(workers: u32, ranks: u32) -> String {
    format!("{workers}x{ranks}")
}

fn decisions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decision");
    group.throughput(Throughput::Elements(CALLS));
    for (name, mode) in MODES {
        for (workers, ranks) in FLEETS {
            let mut bench = Bench::new(mode, workers, ranks);
            group.bench_function(BenchmarkId::new(name, size(workers, ranks)), |b| b.iter(|| bench.decide(CALLS)));
        }
    }
    group.finish();
}

fn loads(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("load_event");
    group.throughput(Throughput::Elements(CALLS));
    for (workers, ranks) in FLEETS {
        let mut bench = Bench::new(MODES[0].1, workers, ranks);
        group.bench_function(BenchmarkId::from_parameter(size(workers, ranks)), |b| b.iter(|| bench.load(CALLS)));
    }
    group.finish();
}

criterion_group!(benches, decisions, loads);
criterion_main!(benches);
