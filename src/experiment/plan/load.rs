//! More or less of the same traffic.

use crate::cluster::config::ClosedLoop;
use crate::scenario::Scenario;
use crate::workload::config::{
    ArrivalProcess, LengthDistribution, LengthShape, RateSchedule, StreamConfig, StreamLengths, WeightedPair,
};

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
    let workload = &mut scenario.workload;
    let own = workload.streams.iter_mut().filter_map(|stream| stream.arrivals.as_mut());
    own.chain(&mut workload.shared_arrivals).for_each(|process| scale_process(process, factor));
    if let Some(trace) = &mut scenario.workload.trace {
        trace.options.rate_scale = Some(trace.options.rate_scale.unwrap_or(1.0) * factor);
    }
    if let Some(ClosedLoop { users, .. }) = &mut scenario.clients.closed_loop {
        *users = ((f64::from(*users) * factor).round_ties_even() as u32).max(1);
    }
}

fn scale_process(process: &mut ArrivalProcess, factor: f64) {
    match process {
        ArrivalProcess::Poisson { rate }
        | ArrivalProcess::Constant { rate }
        | ArrivalProcess::Gamma { rate, .. }
        | ArrivalProcess::Weibull { rate, .. } => scale_schedule(rate, factor),
        ArrivalProcess::OnOff { on_rate, off_rate, .. } => {
            *on_rate *= factor;
            *off_rate *= factor;
        }
    }
}

fn scale_schedule(schedule: &mut RateSchedule, factor: f64) {
    schedule.0.iter_mut().for_each(|piece| piece.rate *= factor);
}

/// Requests per second that the streams offer on average, where each has one rate and one kind of lengths for ever; `None`
/// for other traffic.
pub(super) fn steady_rate(scenario: &Scenario) -> Option<f64> {
    let workload = &scenario.workload;
    if workload.trace.is_some() || !workload.requests.is_empty() || workload.streams.is_empty() {
        return None;
    }
    let drift = |lengths: &StreamLengths| matches!(lengths, StreamLengths::Paired(schedule) if schedule.0.len() > 1);
    if workload.streams.iter().any(|stream| drift(&stream.lengths)) {
        return None;
    }
    stream_rates(&workload.streams, workload.shared_arrivals.as_ref()).map(|rates| rates.iter().sum())
}

/// Mean prompt and answer of a request of the streams, in tokens; of pairs over time those of the first piece.
pub(super) fn mean_lengths(scenario: &Scenario) -> (f64, f64) {
    let workload = &scenario.workload;
    let even = || vec![1.0; workload.streams.len()];
    let rates = stream_rates(&workload.streams, workload.shared_arrivals.as_ref()).unwrap_or_else(even);
    let (mut input, mut output, mut all) = (0.0, 0.0, 0.0);
    for (stream, rate) in workload.streams.iter().zip(rates) {
        let mean = mean_pair(&stream.lengths);
        (input, output, all) = (input + rate * mean.0, output + rate * mean.1, all + rate);
    }
    if all > 0.0 { (input / all, output / all) } else { (0.0, 0.0) }
}

/// The rate of each stream, its own or its share of what all share; `None` where some rate changes or none is known.
fn stream_rates(streams: &[StreamConfig], shared: Option<&ArrivalProcess>) -> Option<Vec<f64>> {
    let weights: f64 = streams.iter().filter(|s| s.arrivals.is_none()).filter_map(|s| s.weight).sum();
    let rate = |stream: &StreamConfig| match &stream.arrivals {
        Some(own) => rate_of(own),
        None => Some(rate_of(shared?)? * stream.weight? / weights),
    };
    streams.iter().map(rate).collect()
}

fn mean_pair(lengths: &StreamLengths) -> (f64, f64) {
    match lengths {
        StreamLengths::Separate { input_tokens, output_tokens, .. } => (mean_length(input_tokens), mean_length(output_tokens)),
        StreamLengths::Paired(schedule) => {
            let pairs = schedule.0.first().map_or(&[][..], |piece| &piece.pairs);
            let mean = |of: fn(&WeightedPair) -> u32| {
                let weights: f64 = pairs.iter().map(|pair| pair.weight).sum();
                pairs.iter().map(|pair| pair.weight * f64::from(of(pair))).sum::<f64>() / weights
            };
            (mean(|pair| pair.input_tokens), mean(|pair| pair.output_tokens))
        }
    }
}

/// Mean of a distribution of lengths, cut to its `min` and `max` as a whole: a start, no figure.
fn mean_length(lengths: &LengthDistribution) -> f64 {
    // A tail without a mean counts for ten times its smallest value where nothing cuts it.
    let tail = |shape: &LengthShape| if let LengthShape::Pareto { scale, .. } = shape { 10.0 * scale } else { f64::MAX };
    let mean = if lengths.mean().is_finite() { lengths.mean() } else { lengths.max.map_or(tail(&lengths.shape), f64::from) };
    mean.clamp(f64::from(lengths.min), lengths.max.map_or(f64::INFINITY, f64::from))
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
