//! Where a run is cut into phases: at its warm-up and its scheduled changes.

use crate::cluster::config::EventAction;
use crate::scenario::Scenario;
use crate::units::{SimTime, Span};
use crate::workload::config::RateSchedule;

/// Phases at most: a scenario with more changes than this is measured as a whole.
const MOST_PHASES: usize = 64;

/// The start and name of each phase, in order; the first starts at 0, and is the warm-up if there is one.
pub fn boundaries(scenario: &Scenario, warmup: Span) -> Vec<(SimTime, String)> {
    let mut changes: Vec<(SimTime, String)> = match &scenario.phases {
        Some(instants) => instants.iter().map(|at| (*at, format!("from {at}"))).collect(),
        None => scheduled_changes(scenario),
    };
    let cut = SimTime::ZERO.saturating_add(warmup);
    let end = scenario.horizon.unwrap_or(SimTime::NEVER);
    changes.retain(|(at, _)| *at > cut && *at < end);
    changes.sort_by_key(|(at, _)| *at);
    changes.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same && !earlier.1.contains(&later.1) {
            earlier.1 = format!("{}, {}", earlier.1, later.1);
        }
        same
    });
    if changes.len() >= MOST_PHASES {
        changes.clear();
    }
    if warmup.is_zero() {
        changes.insert(0, (SimTime::ZERO, "start".to_owned()));
    } else {
        changes.insert(0, (cut, "after warm-up".to_owned()));
        changes.insert(0, (SimTime::ZERO, "warm-up".to_owned()));
    }
    changes
}

/// Changes of rate and the events that do not repeat and change more than a load.
fn scheduled_changes(scenario: &Scenario) -> Vec<(SimTime, String)> {
    let mut changes = Vec::new();
    for (_, process) in scenario.workload.processes() {
        let to = process.schedule().into_iter().flat_map(rate_changes);
        changes.extend(to.map(|(at, to)| (at, format!("{to}/s"))));
    }
    for event in scenario.events.iter().filter(|event| event.every.is_none()) {
        let name = match &event.action {
            EventAction::PostBusyThreshold(_) => "threshold post".to_owned(),
            action => match name_of_change(action) {
                Some(name) => name,
                None => continue,
            },
        };
        changes.push((event.at, name));
    }
    changes
}

/// Where a rate changes, and to how many requests per second: `40`, or `to 70` along a ramp.
pub fn rate_changes(rate: &RateSchedule) -> impl Iterator<Item = (SimTime, String)> {
    let next = rate.0.iter().skip(1).map(Some).chain([None]);
    rate.0.iter().zip(next).map(|(piece, next)| match next.filter(|_| piece.ramp) {
        Some(next) => (piece.at, format!("to {}", next.rate)),
        None => (piece.at, piece.rate.to_string()),
    })
}

/// What a scheduled change of the cluster is called in tables and figures; `None` for posts, which are told by what they
/// post, and for scripted loads, which are no change.
pub fn name_of_change(action: &EventAction) -> Option<String> {
    Some(match action {
        EventAction::WorkerLeave { worker } => format!("worker {worker} leaves"),
        EventAction::WorkerJoin { worker } => format!("worker {worker} joins"),
        EventAction::ReportDown { worker } => format!("worker {worker} reported down"),
        EventAction::RuntimeConfig(change) => format!("worker {} reconfigured", change.worker),
        EventAction::WorkerCrash(crash) => format!("worker {} crashes", crash.worker),
        EventAction::WorkerDrain { worker } => format!("worker {worker} drains"),
        EventAction::WorkerSlow(slow) => format!("worker {} takes {} times as long", slow.worker, slow.factor),
        EventAction::NetworkDelay(network) => format!("network delay {}", network.delay),
        EventAction::Scale(scale) => format!("scale to {}", scale.workers),
        EventAction::TelemetryOutage(_) => "telemetry outage".to_owned(),
        EventAction::TelemetryFreeze(_) => "telemetry freeze".to_owned(),
        EventAction::PostBusyThreshold(_) | EventAction::Load(_) | EventAction::SchedulerLoad(_) => return None,
    })
}
