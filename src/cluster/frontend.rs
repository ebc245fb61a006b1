//! A frontend of the simulation: the control code, its source of chance, and how requests come to it.

use super::config::{FrontendConfig, FrontendSpread, RouterMode};
use super::request::Attempt;
use crate::control::{
    BookingId, Choose, Destination, FrontendControl, FrontendSettings, LoadOutcome, OverloadStatus, PickerMode, Refusal,
    RouteRequest, RouterTimes, TrackingOptions, WorkerId,
};
use crate::engine::{SimRng, Streams};
use crate::workload::sampling::AliasTable;

/// One frontend.
#[derive(Clone, Debug)]
pub struct Frontend {
    /// The code a real frontend would run.
    pub control: FrontendControl,
    chance: Chance,
}

/// The random choices of one router.
#[derive(Clone, Debug)]
struct Chance(SimRng);

impl Choose for Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }
}

/// The control code's settings for `config` with KV blocks of `block_size` tokens.
///
/// # Panics
/// If the configuration is not one a scenario resolves to.
pub fn settings(config: &FrontendConfig, block_size: u32) -> FrontendSettings {
    let tracking = TrackingOptions::new(block_size).and_then(|options| {
        options.with(config.router_track_output_blocks, config.router_track_prefill_tokens, config.router_track_active_blocks)
    });
    FrontendSettings {
        mode: match config.router_mode {
            RouterMode::RoundRobin => PickerMode::RoundRobin,
            RouterMode::Random => PickerMode::Random,
            RouterMode::PowerOfTwo => PickerMode::PowerOfTwo,
            RouterMode::LeastLoaded => PickerMode::LeastLoaded,
            RouterMode::Kv => PickerMode::Kv,
        },
        thresholds: config.thresholds,
        times: RouterTimes { overload_lease: config.overload_lease, inhibited_duration: config.inhibited_duration },
        tracking: tracking.expect("a resolved scenario has valid tracking options"),
    }
}

/// The overload status of `config`.
///
/// # Panics
/// If the configuration is not one a scenario resolves to.
pub fn overload_status(config: &FrontendConfig) -> OverloadStatus {
    OverloadStatus::new(config.overload_status_code).expect("a resolved scenario has a valid overload status")
}

impl Frontend {
    /// Frontend `index`, which knows no worker yet.
    pub fn new(settings: FrontendSettings, index: u32, streams: Streams) -> Self {
        let control = FrontendControl::new(settings).expect("a resolved scenario has valid thresholds");
        Self { control, chance: Chance(streams.stream("routing", u64::from(index))) }
    }

    /// Routes an attempt and, in kv mode, books it; `index` names it from here to its end.
    pub fn route(
        &mut self,
        now: crate::units::SimTime,
        index: u32,
        attempt: &Attempt,
    ) -> (Result<Destination, Refusal>, LoadOutcome) {
        let isl = u64::from(attempt.input_tokens);
        let request = RouteRequest {
            isl,
            pinned: attempt.pinned.map(WorkerId),
            tried: &attempt.tried,
            last_failure: attempt.migration.last_failure(),
        };
        let routed = self.control.route(now, &request, &mut self.chance);
        let mut outcome = LoadOutcome::default();
        if let Ok(Destination { worker, rank: Some(rank) }) = routed {
            let booked = self.control.book(now, BookingId(index), worker, rank, isl);
            outcome = booked.expect("an attempt is booked once, on a declared rank").outcome;
        }
        (routed, outcome)
    }

    /// The attempt is over at `worker`, however it ended.
    pub fn end(&mut self, now: crate::units::SimTime, index: u32, worker: u32) -> LoadOutcome {
        self.control.finish(WorkerId(worker));
        self.control.end(now, BookingId(index)).outcome
    }
}

/// How requests are spread over the frontends.
#[derive(Clone, Debug)]
pub struct Spread {
    frontends: u32,
    way: Way,
    rng: SimRng,
}

#[derive(Clone, Debug)]
enum Way {
    One,
    RoundRobin(u32),
    Random,
    Weights(AliasTable),
}

impl Spread {
    /// The spread of `config`.
    pub fn new(config: &FrontendConfig, streams: Streams) -> Self {
        let way = match &config.spread {
            _ if config.frontends == 1 => Way::One,
            FrontendSpread::RoundRobin => Way::RoundRobin(0),
            FrontendSpread::Random => Way::Random,
            FrontendSpread::Weights(weights) => {
                Way::Weights(AliasTable::new(weights).expect("a resolved scenario has usable weights"))
            }
        };
        Self { frontends: config.frontends, way, rng: streams.stream("spread", 0) }
    }

    /// The frontend of the next attempt.
    pub fn next_frontend(&mut self) -> u32 {
        match &mut self.way {
            Way::One => 0,
            Way::RoundRobin(cursor) => {
                let frontend = *cursor;
                *cursor = (frontend + 1) % self.frontends;
                frontend
            }
            Way::Random => self.rng.below(u64::from(self.frontends)) as u32,
            Way::Weights(table) => table.draw(&mut self.rng) as u32,
        }
    }
}
