//! A frontend of the simulation: the control code, its source of chance, and how requests come to it.

use super::config::{FrontendConfig, FrontendSpread, RouterMode};
use super::request::Attempt;
use crate::control::{
    BookingId, Choose, Destination, FrontendControl, FrontendSettings, LoadOutcome, MonitoredRouter, OverloadStatus, PickerMode,
    Publication, Refusal, RouteRequest, RouterTimes, RuntimeConfig, SchedulerLoad, ThresholdError, ThresholdUpdate,
    TrackingOptions, WorkerId, WorkerLoad,
};
use crate::engine::{SimRng, Streams};
use crate::units::SimTime;
use crate::workload::sampling::AliasTable;

/// One frontend.
///
/// What changes its control code goes through the methods here, so that its shadow sees the same.
#[derive(Clone, Debug)]
pub struct Frontend {
    /// The code a real frontend would run.
    pub control: FrontendControl,
    chance: Chance,
    /// Monitor and router as they would be without the last threshold post: fed the same events, until the two decide
    /// differently or a further post comes.
    shadow: Option<Box<MonitoredRouter>>,
}

/// What became of an attempt at its frontend.
#[derive(Clone, Copy, Debug)]
pub struct Routing {
    /// The decision.
    pub routed: Result<Destination, Refusal>,
    /// What booking it published.
    pub booked: Publication,
    /// Without the last threshold post the decision would have been another one.
    pub by_post: bool,
    /// What the reference would have decided, if one was asked.
    pub reference: Option<Result<Destination, Refusal>>,
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
        Self { control, chance: Chance(streams.stream("routing", u64::from(index))), shadow: None }
    }

    /// Routes an attempt and, in kv mode, books it; `index` names it from here to its end. A `reference`, if given, is asked
    /// what it would do.
    pub fn route(&mut self, now: SimTime, index: u32, attempt: &Attempt, reference: Option<&mut MonitoredRouter>) -> Routing {
        let isl = u64::from(attempt.input_tokens);
        let request = RouteRequest {
            isl,
            pinned: attempt.pinned().map(WorkerId),
            tried: attempt.tried(),
            last_failure: attempt.migration.last_failure(),
        };
        // Asked before the decision, which moves cursors and counts.
        let reference = reference.map(|other| self.ask(now, other, &request));
        let shadow = self.shadow.take().map(|mut shadow| {
            let says = self.ask(now, &mut shadow, &request);
            (shadow, says)
        });
        let routed = self.control.route(now, &request, &mut self.chance);
        let mut by_post = false;
        if let Some((shadow, says)) = shadow {
            by_post = says.is_some_and(|says| !same_decision(&says, &routed));
            self.shadow = (!by_post).then_some(shadow);
        }
        let mut booked = Publication::default();
        if let Ok(Destination { worker, rank: Some(rank) }) = routed {
            let published = self.control.book(now, BookingId(index), worker, rank, isl);
            booked = published.expect("an attempt is booked once, on a declared rank");
            self.shadow_publishes(now, &booked);
        }
        let reference = reference.map(|says| says.unwrap_or(routed));
        Routing { routed, booked, by_post, reference }
    }

    /// What the frontend would decide by the exclusions of `other`; `None` where these are its own, so that it decides the same.
    fn ask(
        &mut self,
        now: SimTime,
        other: &mut MonitoredRouter,
        request: &RouteRequest<'_>,
    ) -> Option<Result<Destination, Refusal>> {
        other.advance(now);
        self.control.advance(now);
        let eligible = self.control.router().eligible();
        if request.pinned.is_none() && !eligible.is_empty() && other.router().eligible() == eligible {
            return None;
        }
        Some(self.control.probe_with(now, other, request, &mut self.chance.clone()))
    }

    /// Discovery and the configurations that come with it.
    pub fn show(&mut self, now: SimTime, ids: &[WorkerId], configs: &[(WorkerId, RuntimeConfig)]) -> LoadOutcome {
        if let Some(shadow) = &mut self.shadow {
            shadow.discover(now, ids);
            shadow.runtime_config(now, configs);
        }
        self.control.discover(now, ids);
        self.control.runtime_config(now, configs)
    }

    /// A worker was found unreachable.
    pub fn report_down(&mut self, now: SimTime, worker: WorkerId) {
        if let Some(shadow) = &mut self.shadow {
            shadow.report_down(now, worker);
        }
        self.control.report_down(now, worker);
    }

    /// A worker load event arrives.
    pub fn worker_load(&mut self, now: SimTime, load: &WorkerLoad) -> LoadOutcome {
        if let Some(shadow) = &mut self.shadow {
            shadow.worker_load(now, load);
        }
        self.control.worker_load(now, load)
    }

    /// A batch of scheduler loads arrives that is not the frontend's own tracking.
    pub fn scheduler_load(&mut self, now: SimTime, loads: &[SchedulerLoad]) -> LoadOutcome {
        if let Some(shadow) = &mut self.shadow {
            shadow.scheduler_load(now, loads);
        }
        self.control.scheduler_load(now, loads)
    }

    /// A worker answered "at capacity".
    pub fn worker_rejected(&mut self, now: SimTime, worker: WorkerId) {
        if let Some(shadow) = &mut self.shadow {
            shadow.worker_rejected(now, worker);
        }
        self.control.worker_rejected(now, worker);
    }

    /// The first token of an attempt arrives.
    pub fn first_token(&mut self, now: SimTime, index: u32) -> Publication {
        let published = self.control.first_token(now, BookingId(index));
        self.shadow_publishes(now, &published);
        published
    }

    /// The attempt is over at `worker`, however it ended.
    pub fn end(&mut self, now: SimTime, index: u32, worker: u32) -> Publication {
        self.control.finish(WorkerId(worker));
        let published = self.control.end(now, BookingId(index));
        self.shadow_publishes(now, &published);
        published
    }

    #[inline]
    fn shadow_publishes(&mut self, now: SimTime, published: &Publication) {
        if let (Some(shadow), Some(load)) = (&mut self.shadow, published.load) {
            shadow.scheduler_load(now, &[load]);
        }
    }

    /// Thresholds are posted; from now on a shadow keeps the old ones, if this changes any. Whether it does.
    ///
    /// # Errors
    /// An invalid value: nothing is stored.
    pub fn post(&mut self, update: ThresholdUpdate) -> Result<bool, ThresholdError> {
        let stored = self.control.monitor().thresholds();
        let before = (stored.merged(update) != stored).then(|| Box::new(self.control.shedding().clone()));
        let outcome = self.control.post_busy_threshold(update)?;
        if outcome.changed {
            self.shadow = before;
        }
        Ok(outcome.changed)
    }
}

/// Whether two decisions are the same to the client: the same destination, or refused for the same reason.
pub fn same_decision(one: &Result<Destination, Refusal>, other: &Result<Destination, Refusal>) -> bool {
    match (one, other) {
        (Ok(one), Ok(other)) => one == other,
        (Err(one), Err(other)) => one.reason == other.reason,
        _ => false,
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
