//! Records of choices: by kv cost, and by the other pickers.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::monitor::outcome;
use super::record::{NamedLoad, RecordError, WorkerNames, fields, shortened};
use super::run::{ReplayError, StepState};
use crate::control::{
    BusyThresholds, Choose, MonitoredRouter, PickerMode, Pickers, RouterTimes, RouterTracking, SchedulerLoad, TrackingOptions,
    WorkerId,
};
use crate::units::SimTime;

/// A chooser that goes through every sequence of choices, one after the other.
///
/// What a random choice can come to is thereby known exactly, without drawing often and hoping.
#[derive(Clone, Debug, Default)]
pub struct EveryChoice {
    /// Choices of the present sequence, each with its number of possibilities.
    choices: Vec<(u64, u64)>,
    made: usize,
}

impl EveryChoice {
    /// Moves on to the next sequence; `false` where all have been through.
    pub fn advance(&mut self) -> bool {
        self.made = 0;
        while let Some((choice, n)) = self.choices.pop() {
            if choice + 1 < n {
                self.choices.push((choice + 1, n));
                return true;
            }
        }
        false
    }

    /// Everything `pick` can come to.
    pub fn outcomes<T: Ord>(mut pick: impl FnMut(&mut Self) -> Option<T>) -> BTreeSet<T> {
        let mut every = Self::default();
        let mut outcomes = BTreeSet::new();
        loop {
            outcomes.extend(pick(&mut every));
            if !every.advance() {
                return outcomes;
            }
        }
    }
}

impl Choose for EveryChoice {
    fn below(&mut self, n: u64) -> u64 {
        if self.made == self.choices.len() {
            self.choices.push((0, n));
        }
        let (choice, known) = self.choices[self.made];
        assert_eq!(known, n, "the same choices lead to the same possibilities");
        self.made += 1;
        choice
    }
}

/// A choice by kv cost.
#[derive(Clone, Debug)]
pub struct KvChoiceRecord {
    /// Its name.
    pub case: String,
    options: TrackingOptions,
    isl: u64,
    loads: Vec<NamedLoad>,
    excluded: Vec<u64>,
    expect: Map<String, Value>,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KvHeader {
    #[serde(default)]
    case: String,
    block_size: u32,
    isl: u64,
    loads: Vec<NamedLoad>,
    excluded: Vec<u64>,
    #[serde(default = "yes")]
    track_prefill_tokens: bool,
    #[serde(default = "yes")]
    track_active_blocks: bool,
    #[serde(default)]
    expect: Map<String, Value>,
}

impl KvChoiceRecord {
    pub(super) fn read(object: Map<String, Value>) -> Result<Self, RecordError> {
        let KvHeader { case, block_size, isl, loads, excluded, track_prefill_tokens, track_active_blocks, expect } =
            fields(object).map_err(RecordError::Field)?;
        let options = TrackingOptions::new(block_size)
            .and_then(|o| o.with(false, track_prefill_tokens, track_active_blocks))
            .map_err(|error| RecordError::Field(error.to_string()))?;
        Ok(Self { case, options, isl, loads, excluded, expect })
    }

    pub(super) fn replay(&self, visit: &mut dyn FnMut(&StepState<'_>) -> bool) -> Result<(), ReplayError> {
        let names = WorkerNames::new(self.loads.iter().map(|load| load.worker).chain(self.excluded.iter().copied()));
        let loads: Vec<SchedulerLoad> = self.loads.iter().map(|load| load.resolve(&names)).collect();
        let tracking = RouterTracking::at_loads(self.options, &loads);
        let mut router =
            MonitoredRouter::new(BusyThresholds::default(), RouterTimes::default()).expect("no threshold is out of its range");
        let workers: Vec<WorkerId> = loads.iter().map(|load| load.worker).collect();
        router.discover(SimTime::ZERO, &workers);
        for &name in &self.excluded {
            router.worker_rejected(SimTime::ZERO, names.id(name));
        }
        let refusal = router.pool_refusal(SimTime::ZERO);
        let eligible = router.router().eligible();
        let cost = |load: &SchedulerLoad| self.options.cost(load.active_prefill_tokens, load.active_decode_blocks, self.isl);
        let candidates = loads.iter().filter(|load| eligible.contains(&load.worker));
        let costs: Vec<Value> =
            candidates.map(|load| json!({ "cost": cost(load), "rank": load.rank, "worker": names.name(load.worker) })).collect();
        let chosen = EveryChoice::outcomes(|every| tracking.choose(self.isl, eligible, &[], every));
        let argmin: Vec<Value> = chosen.iter().map(|(worker, rank)| json!([names.name(*worker), rank])).collect();
        let mut actual = Map::new();
        actual.insert("costs".into(), costs.into());
        actual.insert("argmin".into(), argmin.into());
        actual.insert("outcome".into(), outcome(refusal.map(|r| r.reason)).into());
        visit(&StepState::plain(&self.case, (1, "choose"), SimTime::ZERO, &self.expect, actual, &names));
        Ok(())
    }
}

/// Choices of a picker that looks at workers, not ranks.
#[derive(Clone, Debug)]
pub struct PickerRecord {
    /// Its name.
    pub case: String,
    mode: PickerMode,
    loads: BTreeMap<u64, u32>,
    calls: Vec<Call>,
}

#[derive(Clone, Debug)]
struct Call {
    eligible: Vec<u64>,
    /// `expect` for round robin, `expect_in` for the others, where the record says it.
    expect: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoundRobin {
    #[serde(default)]
    case: String,
    #[serde(rename = "policy")]
    _policy: String,
    steps: Vec<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneChoice {
    #[serde(default)]
    case: String,
    #[serde(rename = "policy")]
    _policy: String,
    loads: BTreeMap<String, u32>,
    eligible: Vec<u64>,
    expect_in: Option<Vec<u64>>,
}

impl PickerRecord {
    pub(super) fn read(object: Map<String, Value>) -> Result<Self, RecordError> {
        let mode = match object.get("policy").and_then(Value::as_str) {
            Some("round_robin") => return Self::read_round_robin(object),
            Some("least_loaded") => PickerMode::LeastLoaded,
            Some("power_of_two") => PickerMode::PowerOfTwo,
            Some("random") => PickerMode::Random,
            _ => {
                let known = "expected round_robin, least_loaded, power_of_two or random";
                return Err(RecordError::Field(format!("unknown policy `{}`: {known}", shortened(&object["policy"]))));
            }
        };
        let one: OneChoice = fields(object).map_err(RecordError::Field)?;
        let id = |name: &String| name.parse::<u64>().map_err(|_| RecordError::Field(format!("`{name}` is no worker id")));
        let loads = one.loads.iter().map(|(name, load)| Ok((id(name)?, *load))).collect::<Result<_, RecordError>>()?;
        let expect = one.expect_in.map(|list| ("expect_in".to_owned(), json!(list))).into_iter().collect();
        Ok(Self { case: one.case, mode, loads, calls: vec![Call { eligible: ascending(one.eligible), expect }] })
    }

    fn read_round_robin(object: Map<String, Value>) -> Result<Self, RecordError> {
        let record: RoundRobin = fields(object).map_err(RecordError::Field)?;
        let call = |(mut step, number): (Map<String, Value>, usize)| {
            let expect = step.remove("expect").map(|chosen| ("expect".to_owned(), chosen)).into_iter().collect();
            let read: Eligible = fields(step).map_err(|message| RecordError::Step { number, message })?;
            Ok(Call { eligible: ascending(read.eligible), expect })
        };
        let calls = record.steps.into_iter().zip(1..).map(call).collect::<Result<_, RecordError>>()?;
        Ok(Self { case: record.case, mode: PickerMode::RoundRobin, loads: BTreeMap::new(), calls })
    }

    pub(super) fn replay(&self, visit: &mut dyn FnMut(&StepState<'_>) -> bool) -> Result<(), ReplayError> {
        let named = self.calls.iter().flat_map(|call| call.eligible.iter().copied());
        let names = WorkerNames::new(named.chain(self.loads.keys().copied()));
        let mut pickers = Pickers::with_in_flight(self.loads.iter().map(|(&name, &load)| (names.id(name), load)));
        for (call, number) in self.calls.iter().zip(1..) {
            let eligible: Vec<WorkerId> = call.eligible.iter().map(|&name| names.id(name)).collect();
            let chosen = EveryChoice::outcomes(|every| pickers.pick(self.mode, &eligible, every));
            let mut actual = Map::new();
            if self.mode == PickerMode::RoundRobin {
                let chosen = chosen.first().map(|&id| names.name(id));
                if chosen.is_some() {
                    pickers.advance_cursor();
                }
                actual.insert("expect".into(), chosen.into());
            } else {
                actual.insert("expect_in".into(), names.list(chosen));
            }
            if !visit(&StepState::plain(&self.case, (number, "pick"), SimTime::ZERO, &call.expect, actual, &names)) {
                break;
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Eligible {
    eligible: Vec<u64>,
}

fn ascending(mut names: Vec<u64>) -> Vec<u64> {
    names.sort_unstable();
    names.dedup();
    names
}
