//! The engine alone: events with empty handlers, by where they wait.

#[path = "common/checksum.rs"]
mod checksum;
#[path = "common/gaps.rs"]
mod gaps;
#[path = "common/queue.rs"]
mod queue;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const EVENTS: u64 = 10_000;

fn events(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("events");
    group.throughput(Throughput::Elements(EVENTS));
    for pending in [4usize, 64, 256, 65_536] {
        group.bench_with_input(BenchmarkId::new("heap", pending), &pending, |b, &n| b.iter(|| queue::heap(black_box(EVENTS), n)));
        group.bench_with_input(BenchmarkId::new("lane", pending), &pending, |b, &n| b.iter(|| queue::lane(black_box(EVENTS), n)));
    }
    for owners in [1usize, 4, 64, 256, 1_024] {
        group.bench_with_input(BenchmarkId::new("deadlines", owners), &owners, |b, &n| {
            b.iter(|| queue::deadlines(black_box(EVENTS), n));
        });
    }
    group.finish();
}

criterion_group!(benches, events);
criterion_main!(benches);
