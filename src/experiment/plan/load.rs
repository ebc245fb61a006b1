//! More or less of the same traffic.

use crate::cluster::config::ClosedLoop;
use crate::scenario::Scenario;
use crate::workload::config::{ArrivalProcess, RateSchedule};

/// The path that stands for all traffic of a scenario: its value is a factor of what the scenario says.
pub const LOAD: &str = "load";

/// Why a scenario's traffic cannot be scaled; `None` if it can.
pub(super) fn cannot_scale(scenario: &Scenario) -> Option<&'static str> {
    (!scenario.workload.requests.is_empty())
        .then_some("requests written out one by one (`[[workload.requests]]`) have no rate to scale")
}

/// Multiplies all traffic by `factor`: the rates of streams, the speed of a trace, the users of a closed loop (to the nearest
/// whole one). Lengths, bursts and daily shapes stay.
pub(super) fn scale(scenario: &mut Scenario, factor: f64) {
    if factor == 1.0 {
        return;
    }
    for stream in &mut scenario.workload.streams {
        match &mut stream.arrivals {
            Some(
                ArrivalProcess::Poisson { rate }
                | ArrivalProcess::Constant { rate }
                | ArrivalProcess::Gamma { rate, .. }
                | ArrivalProcess::Weibull { rate, .. },
            ) => scale_schedule(rate, factor),
            Some(ArrivalProcess::OnOff { on_rate, off_rate, .. }) => {
                *on_rate *= factor;
                *off_rate *= factor;
            }
            None => {}
        }
    }
    if let Some(trace) = &mut scenario.workload.trace {
        trace.options.rate_scale = Some(trace.options.rate_scale.unwrap_or(1.0) * factor);
    }
    if let Some(ClosedLoop { users, .. }) = &mut scenario.clients.closed_loop {
        *users = ((f64::from(*users) * factor).round_ties_even() as u32).max(1);
    }
}

fn scale_schedule(schedule: &mut RateSchedule, factor: f64) {
    schedule.0.iter_mut().for_each(|piece| piece.rate *= factor);
}

/// Requests per second that the streams offer on average, where each has one rate for ever; `None` for other traffic.
pub(super) fn steady_rate(scenario: &Scenario) -> Option<f64> {
    let workload = &scenario.workload;
    if workload.trace.is_some() || !workload.requests.is_empty() || workload.streams.is_empty() {
        return None;
    }
    workload.streams.iter().map(|stream| rate_of(stream.arrivals.as_ref()?)).sum()
}

fn rate_of(process: &ArrivalProcess) -> Option<f64> {
    match process {
        ArrivalProcess::Poisson { rate }
        | ArrivalProcess::Constant { rate }
        | ArrivalProcess::Gamma { rate, .. }
        | ArrivalProcess::Weibull { rate, .. } => match rate.0.as_slice() {
            [piece] => Some(piece.rate),
            _ => None,
        },
        ArrivalProcess::OnOff { on_rate, off_rate, mean_on, mean_off } => {
            let (on, off) = (mean_on.as_secs_f64(), mean_off.as_secs_f64());
            Some((on_rate * on + off_rate * off) / (on + off))
        }
    }
}
