//! The control code of one frontend, alone: decisions with all that comes of them, and load reports.

use std::collections::VecDeque;

use shedcast::control::{
    BookingId, BusyThresholds, Choose, FrontendControl, FrontendSettings, Observation, PickerMode, RouteRequest, RouterTimes,
    RuntimeConfig, TrackingOptions, WorkerId, WorkerLoad,
};
use shedcast::engine::{SimRng, Streams};
use shedcast::units::{SimTime, Span};

use super::checksum::Checksum;

/// Every way to pick, with its name.
pub const MODES: [(&str, PickerMode); 5] = [
    ("round-robin", PickerMode::RoundRobin),
    ("random", PickerMode::Random),
    ("power-of-two", PickerMode::PowerOfTwo),
    ("least-loaded", PickerMode::LeastLoaded),
    ("kv", PickerMode::Kv),
];

/// KV blocks of a rank, and tokens of a step.
const BLOCKS: u64 = 27_062;
const TOKENS: u64 = 8_192;
/// Requests in flight per rank.
const IN_FLIGHT: usize = 32;

struct Chance(SimRng);

impl Choose for Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }
}

/// A frontend at work.
pub struct Bench {
    control: FrontendControl,
    chance: Chance,
    workers: u32,
    ranks: u32,
    now: SimTime,
    /// Requests in flight: booking and worker.
    flying: VecDeque<(BookingId, WorkerId)>,
    sum: Checksum,
}

impl Bench {
    /// A frontend of `workers` workers with `ranks` ranks each and all three thresholds, of which none is reached.
    pub fn new(mode: PickerMode, workers: u32, ranks: u32) -> Self {
        let thresholds = BusyThresholds {
            active_decode_blocks_threshold: Some(0.9),
            active_prefill_tokens_threshold: Some(1_000_000),
            active_prefill_tokens_threshold_frac: Some(100.0),
        };
        let tracking = TrackingOptions::new(16).expect("a block has tokens");
        let settings = FrontendSettings { mode, thresholds, times: RouterTimes::default(), tracking };
        let mut control = FrontendControl::new(settings).expect("the thresholds are in range");
        let ids: Vec<WorkerId> = (1..=workers).map(WorkerId).collect();
        let config =
            RuntimeConfig { dp_start: 0, dp_size: ranks, kv_total_blocks: Some(BLOCKS), max_num_batched_tokens: Some(TOKENS) };
        let configs: Vec<_> = ids.iter().map(|&id| (id, config)).collect();
        control.discover(SimTime::ZERO, &ids);
        control.runtime_config(SimTime::ZERO, &configs);
        let chance = Chance(Streams::new(1).stream("bench", 0));
        Self { control, chance, workers, ranks, now: SimTime::ZERO, flying: VecDeque::new(), sum: Checksum::new() }
    }

    /// Takes `decisions` decisions: each routes a request, books it, lets it put out its first token, and ends the oldest one.
    pub fn decide(&mut self, decisions: u64) -> u64 {
        for i in 0..decisions {
            self.now = self.now.saturating_add(Span::from_nanos(1_000));
            let isl = 200 + i % 1_800;
            let request = RouteRequest { isl, ..RouteRequest::default() };
            let routed = self.control.route(self.now, &request, &mut self.chance).expect("no worker is excluded");
            let flying = self.flying.len() as u32;
            let id = if flying < self.workers * self.ranks * IN_FLIGHT as u32 { BookingId(flying) } else { self.end_oldest() };
            if let Some(rank) = routed.rank {
                self.control.book(self.now, id, routed.worker, rank, isl).expect("the booking is free and the rank declared");
                self.control.first_token(self.now, id);
            }
            self.flying.push_back((id, routed.worker));
            self.sum.add(u64::from(routed.worker.0) << 32 | u64::from(routed.rank.unwrap_or(0)));
        }
        self.sum.value()
    }

    fn end_oldest(&mut self) -> BookingId {
        let (id, worker) = self.flying.pop_front().expect("requests are in flight");
        self.control.finish(worker);
        self.control.end(self.now, id);
        id
    }

    /// Takes in `events` reports of used blocks, rank after rank; every eighth round is over the threshold.
    pub fn load(&mut self, events: u64) -> u64 {
        for i in 0..events {
            self.now = self.now.saturating_add(Span::from_nanos(1_000));
            let ranks = u64::from(self.workers * self.ranks);
            let (round, at) = (i / ranks, i % ranks);
            let used = if round % 8 == 7 { BLOCKS } else { BLOCKS / 2 + round % 8 };
            let load = WorkerLoad {
                worker: WorkerId(1 + (at / u64::from(self.ranks)) as u32),
                rank: (at % u64::from(self.ranks)) as u32,
                report: Observation { kv_used_blocks: Some(used), ..Observation::default() },
            };
            let outcome = self.control.worker_load(self.now, &load);
            self.sum.add(u64::from(outcome.published) << 32 | self.control.router().eligible().len() as u64);
        }
        self.sum.value()
    }
}
