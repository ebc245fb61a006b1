//! How long runs are, and how many a cell gets before each look.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::{Scenario, Warmup};
use crate::stats::SequentialTest;
use crate::units::{SimTime, Span};

use super::goal::Goal;
use super::load::steady_rate;

/// Batches of a steady run (Schmeiser 1982: 10 to 30 do; more only help where neighbours are joined).
const BATCHES: u64 = 20;
/// Events of the rarest target that the first run of a steady cell shall see if the target is met exactly.
const EVENTS: f64 = 100.0;
/// Requests of the first run of a steady cell, at least.
const LEAST_REQUESTS: f64 = 5_000.0;
/// Requests of the first run of a steady cell, at most: the last is 32 times as long.
const MOST_REQUESTS: f64 = 20_000_000.0;
/// Runs of a steady cell at most: the first two are of one length, each further one as long as all before.
const STEADY_LOOKS: usize = 7;
/// Replications of a cell that is not steady, at its first look and at its last.
const REPLICATIONS: (usize, usize) = (4, 32);

/// How long a run is and what is cut off its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunLength {
    /// The end.
    pub horizon: SimTime,
    /// The start that is cut off.
    pub warmup: Span,
}

/// How a cell is looked at, time after time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Looks {
    /// The traffic is steady: each look adds a run that doubles what is simulated, and batches of runs are what is counted.
    Doubling {
        /// Length of the first run, in nanoseconds, a whole number of seconds.
        first: u64,
    },
    /// As the scenario says, with replications of equal length, which are what is counted.
    Replications,
    /// Replications of equal length, of the length of a first run; batches of runs are what is counted.
    Equal {
        /// Length of each run, in nanoseconds.
        length: u64,
    },
}

impl Looks {
    /// Runs that a cell has at look `look`, from 0; `None` beyond the last.
    pub fn runs(self, look: usize) -> Option<usize> {
        match self {
            Self::Doubling { .. } => (look < STEADY_LOOKS).then_some(look + 1),
            Self::Equal { .. } => [1, 2, 3, 4, 6, 9, 12].get(look).copied(),
            Self::Replications if look == 0 => Some(1),
            Self::Replications => {
                let schedule = replications();
                std::iter::successors(schedule.next_look(0), |&done| schedule.next_look(done)).nth(look - 1)
            }
        }
    }

    /// How many looks there are that can decide: the error is shared among them.
    pub fn deciding(self) -> usize {
        match self {
            Self::Doubling { .. } | Self::Equal { .. } => STEADY_LOOKS,
            Self::Replications => replications().looks(),
        }
    }

    /// The look that a cell with so many runs has reached; `None` before the first.
    pub fn reached(self, runs: usize) -> Option<usize> {
        (0..).take_while(|look| self.runs(*look).is_some_and(|needed| needed <= runs)).last()
    }

    /// Runs of one cell, at most.
    pub fn most(self) -> usize {
        (0..).map_while(|look| self.runs(look)).last().unwrap_or(1)
    }

    /// Where replication `replication` ends; `None` leaves it to the scenario.
    pub fn horizon(self, replication: u32) -> Option<SimTime> {
        match self {
            Self::Doubling { first } => Some(first.saturating_mul(1 << replication.saturating_sub(1).min(16))),
            Self::Equal { length } => Some(length),
            Self::Replications => None,
        }
        .map(SimTime::from_nanos)
    }

    /// How long replication `replication` is; `None` leaves it to the scenario.
    pub fn length(self, replication: u32, scenario: &Scenario) -> Option<RunLength> {
        let horizon = self.horizon(replication)?;
        // One more part than there are batches: the first is the warm-up, unless the scenario wants a longer one.
        let own = own_warmup(scenario);
        let part = Span::from_millis(horizon.as_nanos() / (BATCHES + 1) / 1_000_000);
        Some(RunLength { horizon, warmup: own.max(part) })
    }

    /// Whether runs are counted batch by batch.
    pub const fn in_batches(self) -> bool {
        !matches!(self, Self::Replications)
    }
}

impl RunLength {
    /// Where the batches of the run begin, the first left out.
    pub fn batches(self) -> Vec<SimTime> {
        let measured = self.horizon.as_nanos().saturating_sub(self.warmup.as_nanos());
        (1..BATCHES).map(|batch| SimTime::from_nanos(self.warmup.as_nanos() + measured / BATCHES * batch)).collect()
    }
}

/// The test whose looks at replications of equal length are taken; its target does not matter here.
fn replications() -> SequentialTest {
    SequentialTest::new(0.0, 0.95, REPLICATIONS.0, REPLICATIONS.1)
}

/// What the file may say of the length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LengthWish {
    /// By the targets, where the traffic is steady; else the scenario's own.
    #[default]
    Auto,
    /// The scenario's own, with replications.
    Scenario,
    /// The first run of each cell.
    First(Span),
}

/// How the cells of a scenario are looked at.
///
/// # Errors
/// The length that is asked for is impossible.
pub(super) fn choose(scenario: &Scenario, goals: &[Goal], wish: LengthWish, equal: bool) -> Result<Looks, String> {
    let make = |nanos: u64| if equal { Looks::Equal { length: nanos } } else { Looks::Doubling { first: nanos } };
    let steady = steady_rate(scenario).filter(|rate| *rate > 0.0 && is_steady(scenario) && goals.iter().all(Goal::has_parts));
    match (wish, steady) {
        (LengthWish::Scenario, _) | (LengthWish::Auto, None) => Ok(Looks::Replications),
        (LengthWish::First(_), None) => {
            Err("the traffic is not steady (a trace, changing rates, events, a closed loop) or a target is of one class"
                .to_owned())
        }
        (LengthWish::First(span), Some(_)) if whole_seconds(span.as_secs_f64()) < 21_000_000_000 => {
            Err(format!("`{span}` is too short to be cut into {} parts: give 21 s or more", BATCHES + 1))
        }
        (LengthWish::First(span), Some(_)) if span.as_nanos() < own_warmup(scenario).as_nanos().saturating_mul(2) => {
            Err(format!("`{span}` is less than twice the warm-up of `{}`", own_warmup(scenario)))
        }
        (LengthWish::First(span), Some(_)) => Ok(make(whole_seconds(span.as_secs_f64()))),
        (LengthWish::Auto, Some(rate)) => Ok(make(whole_seconds(natural(scenario, goals, rate)))),
    }
}

/// Seconds that show enough events of the rarest target, and no less than the scenario's own length.
fn natural(scenario: &Scenario, goals: &[Goal], rate: f64) -> f64 {
    let rarest = goals.iter().map(Goal::rarity).fold(0.01, f64::min);
    let requests = (EVENTS / rarest.max(1e-9)).clamp(LEAST_REQUESTS, MOST_REQUESTS);
    let own = scenario.horizon.map_or(0.0, SimTime::as_secs_f64);
    (requests / rate).max(own).max(3.0 * own_warmup(scenario).as_secs_f64()).clamp(21.0, 3e9)
}

/// The warm-up that the scenario asks for.
fn own_warmup(scenario: &Scenario) -> Span {
    if let Warmup::Fixed(span) = scenario.warmup { span } else { Span::ZERO }
}

/// Rounded up to whole seconds, in nanoseconds, so that it can be typed.
fn whole_seconds(seconds: f64) -> u64 {
    Span::from_secs(seconds.ceil().max(1.0) as u64).as_nanos()
}

/// Whether nothing but chance changes while the scenario runs.
fn is_steady(scenario: &Scenario) -> bool {
    scenario.events.is_empty() && scenario.phases.is_none() && scenario.clients.closed_loop.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_runs_double_what_is_simulated() {
        let looks = Looks::Doubling { first: 1_000 };
        let scenario = Scenario::parse(
            "name = \"x\"\nhorizon = \"1s\"\n[fleet]\nworkers = 1\nservice_time = \"1s\"\n[workload]\narrivals = { process = \"poisson\", rate = 1 }\n",
            "x.toml",
            &[],
        );
        let scenario = scenario.unwrap().scenario;
        let lengths: Vec<u64> = (0..5).map(|r| looks.length(r, &scenario).unwrap().horizon.as_nanos()).collect();
        assert_eq!(lengths, [1_000, 1_000, 2_000, 4_000, 8_000]);
        assert_eq!((looks.runs(0), looks.runs(6), looks.runs(7), looks.most()), (Some(1), Some(7), None, 7));
        assert_eq!((looks.reached(0), looks.reached(1), looks.reached(7)), (None, Some(0), Some(6)));
    }

    #[test]
    fn replications_start_with_a_probe_and_grow_by_half() {
        let counts: Vec<usize> = (0..).map_while(|look| Looks::Replications.runs(look)).collect();
        assert_eq!(counts, [1, 4, 6, 9, 14, 21, 32]);
        assert_eq!((Looks::Replications.deciding(), Looks::Replications.reached(5)), (6, Some(1)));
    }
}
