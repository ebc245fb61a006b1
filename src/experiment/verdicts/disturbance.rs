//! The first scheduled thing that disturbs a run, and when it is over.

use crate::experiment::phases::name_of_change;
use crate::scenario::Scenario;
use crate::units::{SimTime, Span};
use crate::workload::config::{RatePiece, WorkloadConfig};

/// A rate that rises by less than this share disturbs nothing: rates that were fitted go up and down all the time.
const RISE: f64 = 0.1;

/// Something that disturbs a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Disturbance {
    /// When it begins.
    pub at: SimTime,
    /// From when on no more is offered than before it, where it is more load; `None` where it is not, or lasts.
    pub over_at: Option<SimTime>,
}

/// The first disturbance after `from` and before `until`: a rise of the rate, an event, or requests written out beside other
/// traffic.
pub(super) fn first(scenario: &Scenario, from: SimTime, until: SimTime) -> Option<Disturbance> {
    let workload = &scenario.workload;
    let rise = rise(workload, from);
    let listed = &workload.requests;
    let other_traffic = !workload.streams.is_empty() || workload.trace.is_some();
    let bursts = listed.iter().filter(|_| other_traffic).map(|request| {
        let gaps = request.every.unwrap_or(Span::ZERO).saturating_mul(request.count.saturating_sub(1));
        Disturbance { at: request.at, over_at: Some(request.at.saturating_add(gaps)) }
    });
    // A post is a change too, though it has a name of its own.
    let lasting = |event: &&crate::cluster::config::ScenarioEvent| {
        let posts = matches!(event.action, crate::cluster::config::EventAction::PostBusyThreshold(_));
        event.every.is_none() && (posts || name_of_change(&event.action).is_some())
    };
    let events = scenario.events.iter().filter(lasting).map(|event| Disturbance { at: event.at, over_at: None });
    let candidates = rise.into_iter().chain(bursts).chain(events);
    candidates.filter(|d| d.at > from && d.at < until).min_by_key(|d| d.at)
}

/// The first rise of the scheduled rate of all streams together after `from`, and when the rate is down again for good.
fn rise(workload: &WorkloadConfig, from: SimTime) -> Option<Disturbance> {
    let schedules: Vec<&[RatePiece]> = workload.processes().filter_map(|(_, p)| p.schedule()).map(|s| &s.0[..]).collect();
    let mut changes: Vec<SimTime> = schedules.iter().flat_map(|pieces| pieces.iter().map(|piece| piece.at)).collect();
    changes.sort_unstable();
    changes.dedup();
    // Between two changes the rate is highest at one of the ends: level pieces have it throughout, ramps at an end.
    let highest = |i: usize| {
        let ramps = |pieces: &&[RatePiece]| {
            let n = pieces.partition_point(|piece| piece.at <= changes[i]);
            let piece = pieces[n - 1];
            piece.ramp.then(|| pieces.get(n)).flatten().map_or(piece.rate, |next| piece.rate.max(next.rate))
        };
        schedules.iter().filter(|pieces| pieces[0].at <= changes[i]).map(ramps).sum::<f64>()
    };
    let rates: Vec<f64> = (0..changes.len()).map(highest).collect();
    let first = (1..changes.len()).find(|&i| changes[i] > from && rates[i] > rates[i - 1] * (1.0 + RISE))?;
    let before = rates[first - 1];
    let last_high = (first..changes.len()).rev().find(|&i| rates[i] > before * (1.0 + RISE))?;
    Some(Disturbance { at: changes[first], over_at: changes.get(last_high + 1).copied() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(workload: &str, events: &str) -> Option<(f64, Option<f64>)> {
        let text = format!(
            "horizon = \"10m\"\nphases = []\n[fleet]\nworkers = 2\nservice_time = \"1s\"\n[workload]\n{workload}\n{events}"
        );
        let scenario = Scenario::parse(&text, "a.toml", &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario;
        let found = first(&scenario, SimTime::ZERO, SimTime::from_nanos(600_000_000_000))?;
        Some((found.at.as_secs_f64(), found.over_at.map(SimTime::as_secs_f64)))
    }

    fn rates(pieces: &str) -> String {
        format!("arrivals = {{ process = \"poisson\", rate = [{pieces}] }}")
    }

    #[test]
    fn a_spike_of_the_rate_begins_with_its_rise_and_ends_when_the_rate_is_down() {
        let spike = rates("{ at = \"0s\", rate = 10 }, { at = \"60s\", rate = 30 }, { at = \"80s\", rate = 10.5 }");
        assert_eq!(of(&spike, ""), Some((60.0, Some(80.0))), "whatever phases the run is cut into");
        let ramp = rates(
            "{ at = \"0s\", rate = 10 }, { at = \"60s\", rate = 10, ramp = true }, { at = \"90s\", rate = 50, ramp = true }, { at = \"100s\", rate = 10 }",
        );
        assert_eq!(of(&ramp, ""), Some((60.0, Some(100.0))));
        let lasting = rates("{ at = \"0s\", rate = 10 }, { at = \"20s\", rate = 9 }, { at = \"60s\", rate = 30 }");
        assert_eq!(of(&lasting, ""), Some((60.0, None)));
        let gentle = rates("{ at = \"0s\", rate = 10 }, { at = \"60s\", rate = 10.9 }, { at = \"80s\", rate = 9.5 }");
        assert_eq!(of(&gentle, ""), None);
    }

    #[test]
    fn events_and_bursts_disturb_as_well() {
        let steady = rates("{ at = \"0s\", rate = 10 }");
        assert_eq!(of(&steady, "[[events]]\nat = \"30s\"\nworker_leave = 1\n"), Some((30.0, None)));
        assert_eq!(of(&steady, "[[events]]\nat = \"30s\"\nevery = \"1s\"\nload = { worker = 1, kv_used_blocks = 1 }\n"), None);
        let burst = format!("{steady}\n[[workload.requests]]\nat = \"40s\"\ncount = 11\nevery = \"100ms\"\n");
        assert_eq!(of(&burst, ""), Some((40.0, Some(41.0))));
        let two = format!("{steady}\n[[workload.requests]]\nat = \"40s\"\n");
        assert_eq!(of(&two, "[[events]]\nat = \"30s\"\nworker_leave = 1\n"), Some((30.0, None)), "the first one counts");
    }
}
