//! Arrival processes over a rate that changes with time.
//!
//! All but the even process work by *time rescaling*: gaps of mean 1 are drawn in operational time (the integral of the
//! rate) and mapped back through its inverse (Lewis and Shedler, Naval Research Logistics Quarterly 26, 1979; Gerhardt
//! and Nelson, INFORMS J. Computing 21, 2009, for renewal processes). A step of the rate is met at its very instant,
//! and the expected number of requests is the integral of the rate: renewal processes start in their steady state (the
//! first gap is a uniform part of a length-biased one; Cox, Renewal Theory, 1962), not with a request just past.

use super::config::{ArrivalProcess, RatePiece, RateSchedule};
use super::error::WorkloadError;
use super::evenly::EvenWalk;
use super::rates::RateWalk;
use super::sampling::{Gamma, Weibull, exponential, open_unit};
use crate::engine::rng::{SimRng, Streams};
use crate::units::{NANOS_PER_SECOND, SimTime, Span};

/// The arrivals of one stream, in order of time.
#[derive(Clone, Debug)]
pub struct ArrivalSampler {
    process: Process,
    rng: SimRng,
}

#[derive(Clone, Debug)]
enum Process {
    Poisson(RateWalk),
    Even(EvenWalk),
    Renewal { walk: RateWalk, gap: Gap, started: bool },
    OnOff(OnOff),
}

/// A distribution of gaps with mean 1.
#[derive(Clone, Debug)]
enum Gap {
    Gamma(Gamma),
    Weibull(Weibull),
}

impl Gap {
    fn draw(&self, rng: &mut SimRng) -> f64 {
        match self {
            Self::Gamma(gamma) => gamma.draw(rng),
            Self::Weibull(weibull) => weibull.draw(rng),
        }
    }

    /// From an arbitrary instant of a process in steady state to its next request.
    fn draw_first(&self, rng: &mut SimRng) -> f64 {
        let biased = match self {
            Self::Gamma(gamma) => gamma.length_biased().draw(rng),
            Self::Weibull(weibull) => weibull.draw_length_biased(rng),
        };
        open_unit(rng) * biased
    }
}

impl ArrivalSampler {
    /// Prepares a process; `index` is the stream's own, which names its randomness (`arrivals`, and `arrival states` for
    /// the states of an on/off process).
    ///
    /// # Errors
    /// If a parameter has no meaning.
    pub fn new(process: &ArrivalProcess, streams: Streams, index: u64) -> Result<Self, WorkloadError> {
        let no_gap = |cv: &f64| {
            let problem = format!("`{cv}` is no coefficient of variation of this process: expected > 0 and moderate");
            WorkloadError::parameter("cv", problem, "1 is as random as a Poisson process, 0.5 smoother, 3 bursty")
        };
        let process = match process {
            ArrivalProcess::Poisson { rate } => Process::Poisson(RateWalk::new(rate)?),
            ArrivalProcess::Constant { rate } => Process::Even(EvenWalk::new(rate)?),
            ArrivalProcess::Gamma { rate, cv } => {
                let gap = Gap::Gamma(Gamma::from_mean_cv(1.0, *cv).ok_or_else(|| no_gap(cv))?);
                Process::Renewal { walk: RateWalk::new(rate)?, gap, started: false }
            }
            ArrivalProcess::Weibull { rate, cv } => {
                let gap = Gap::Weibull(Weibull::from_mean_cv(1.0, *cv).ok_or_else(|| no_gap(cv))?);
                Process::Renewal { walk: RateWalk::new(rate)?, gap, started: false }
            }
            ArrivalProcess::OnOff { on_rate, off_rate, mean_on, mean_off } => {
                Process::OnOff(OnOff::new([*off_rate, *on_rate], [*mean_off, *mean_on], streams.stream("arrival states", index))?)
            }
        };
        Ok(Self { process, rng: streams.stream("arrivals", index) })
    }

    /// The next arrival; `None` if the rate is 0 for ever.
    #[expect(clippy::should_implement_trait, reason = "an endless process is no collection to iterate over")]
    pub fn next(&mut self) -> Option<SimTime> {
        match &mut self.process {
            Process::Poisson(walk) => walk.advance(exponential(&mut self.rng)),
            Process::Even(walk) => walk.next(),
            Process::Renewal { walk, gap, started } => {
                let gap = if *started { gap.draw(&mut self.rng) } else { gap.draw_first(&mut self.rng) };
                *started = true;
                walk.advance(gap)
            }
            Process::OnOff(process) => process.next(exponential(&mut self.rng)),
        }
    }
}

/// A Poisson process whose rate follows a two-state Markov chain, which starts in its steady state.
#[derive(Clone, Debug)]
struct OnOff {
    /// Requests per nanosecond, off and on.
    rates: [f64; 2],
    /// Mean sojourns in nanoseconds, off and on.
    means: [f64; 2],
    /// 1 while on.
    state: usize,
    nanos: u64,
    fraction: f64,
    /// End of the present sojourn.
    until: u64,
    states: SimRng,
}

impl OnOff {
    fn new(rates: [f64; 2], means: [Span; 2], mut states: SimRng) -> Result<Self, WorkloadError> {
        for rate in rates {
            // The schedule's own check of a rate, with its message.
            RateWalk::new(&RateSchedule(vec![RatePiece { at: SimTime::ZERO, rate, ramp: false }]))?;
        }
        if means.iter().any(|mean| mean.is_zero()) {
            let problem = "`0s` is no mean sojourn: expected more";
            return Err(WorkloadError::parameter("mean_on", problem, "give mean_on and mean_off as durations, such as `30s`"));
        }
        let rates = rates.map(|rate| rate / NANOS_PER_SECOND as f64);
        let means = means.map(|mean| mean.as_nanos() as f64);
        let state = usize::from(states.unit() * (means[0] + means[1]) >= means[0]);
        let mut process = Self { rates, means, state, nanos: 0, fraction: 0.0, until: 0, states };
        process.stay();
        Ok(process)
    }

    /// Draws the end of the sojourn that starts now.
    fn stay(&mut self) {
        let stay = exponential(&mut self.states) * self.means[self.state];
        self.until = self.until.saturating_add(stay as u64).saturating_add(1);
    }

    fn next(&mut self, mut requests: f64) -> Option<SimTime> {
        if self.rates == [0.0, 0.0] {
            return None;
        }
        loop {
            let rate = self.rates[self.state];
            let left = (self.until - self.nanos) as f64 - self.fraction;
            let needed = if rate > 0.0 { requests / rate } else { f64::INFINITY };
            if needed < left {
                let sum = self.fraction + needed;
                self.nanos += sum as u64;
                self.fraction = sum - (sum as u64) as f64;
                return Some(SimTime::from_nanos(self.nanos));
            }
            if self.until == u64::MAX {
                return None;
            }
            requests = (requests - rate * left).max(0.0);
            (self.nanos, self.fraction) = (self.until, 0.0);
            self.state = 1 - self.state;
            self.stay();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(pieces: &[(u64, f64, bool)]) -> RateSchedule {
        RateSchedule(
            pieces
                .iter()
                .map(|&(s, rate, ramp)| RatePiece { at: SimTime::from_nanos(s * NANOS_PER_SECOND), rate, ramp })
                .collect(),
        )
    }

    /// Arrivals before `seconds`, in seconds.
    fn until(process: &ArrivalProcess, seed: u64, seconds: f64) -> Vec<f64> {
        let mut sampler = ArrivalSampler::new(process, Streams::new(seed), 0).unwrap();
        std::iter::from_fn(|| sampler.next().map(SimTime::as_secs_f64).filter(|t| *t < seconds)).collect()
    }

    fn gap_mean_and_cv(times: &[f64]) -> (f64, f64) {
        let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64;
        (mean, variance.sqrt() / mean)
    }

    #[test]
    fn gaps_have_the_mean_and_variation_asked_for() {
        for (process, cv) in [
            (ArrivalProcess::Poisson { rate: rate(&[(0, 5.0, false)]) }, 1.0),
            (ArrivalProcess::Gamma { rate: rate(&[(0, 5.0, false)]), cv: 0.4 }, 0.4),
            (ArrivalProcess::Gamma { rate: rate(&[(0, 5.0, false)]), cv: 2.0 }, 2.0),
            (ArrivalProcess::Weibull { rate: rate(&[(0, 5.0, false)]), cv: 0.4 }, 0.4),
            (ArrivalProcess::Weibull { rate: rate(&[(0, 5.0, false)]), cv: 2.0 }, 2.0),
        ] {
            let found = gap_mean_and_cv(&until(&process, 11, 40_000.0));
            // 200,000 gaps: four standard errors of the mean at cv 2 are 1.8 %.
            assert!((found.0 * 5.0 - 1.0).abs() < 0.018 && (found.1 / cv - 1.0).abs() < 0.03, "{process:?}: {found:?}");
        }
    }

    #[test]
    fn fast_arrivals_do_not_collapse_onto_a_coarse_clock() {
        // 5,000/s for a second: 4 standard deviations are 283 requests.
        let times = until(&ArrivalProcess::Poisson { rate: rate(&[(0, 5_000.0, false)]) }, 1, 1.0);
        assert!((times.len() as f64 - 5_000.0).abs() < 283.0, "{}", times.len());
        let distinct = times.windows(2).filter(|w| w[0] < w[1]).count() + 1;
        assert!(distinct + 2 >= times.len(), "{distinct} of {}", times.len());
        assert!((gap_mean_and_cv(&times).0 / 2e-4 - 1.0).abs() < 0.06);
    }

    #[test]
    fn a_changing_rate_is_followed_piece_by_piece() {
        // 10/s, a ramp to 50/s, nothing, 20/s; 100 s each.
        let schedule = rate(&[(0, 10.0, false), (100, 10.0, true), (200, 50.0, false), (300, 0.0, false), (400, 20.0, false)]);
        for process in [
            ArrivalProcess::Poisson { rate: schedule.clone() },
            ArrivalProcess::Gamma { rate: schedule.clone(), cv: 0.5 },
            ArrivalProcess::Weibull { rate: schedule.clone(), cv: 1.5 },
            ArrivalProcess::Constant { rate: schedule },
        ] {
            let mut sums = [0.0; 5];
            for seed in 0..20 {
                until(&process, seed, 500.0).iter().for_each(|t| sums[(t / 100.0) as usize] += 1.0 / 20.0);
            }
            for (found, expected) in sums.iter().zip([1_000.0, 3_000.0, 5_000.0, 0.0, 2_000.0_f64]) {
                // Five standard errors over 20 runs; cv 1.5 spreads counts 1.5 times as wide as a Poisson process.
                let allowed = 5.0 * 1.5 * (expected / 20.0).sqrt();
                assert!((found - expected).abs() <= allowed, "{process:?}: {sums:?}");
            }
        }
    }

    #[test]
    fn a_renewal_process_starts_in_its_steady_state() {
        // An ordinary renewal process at cv 5 would bring 12 requests too many at the start; 4 standard errors are 5.
        let process = ArrivalProcess::Gamma { rate: rate(&[(0, 10.0, false)]), cv: 5.0 };
        let mean = (0..2_000).map(|seed| until(&process, seed, 10.0).len() as f64).sum::<f64>() / 2_000.0;
        assert!((mean - 100.0).abs() < 5.0, "{mean}");
        let process = ArrivalProcess::Weibull { rate: rate(&[(0, 10.0, false)]), cv: 5.0 };
        let mean = (0..2_000).map(|seed| until(&process, seed, 10.0).len() as f64).sum::<f64>() / 2_000.0;
        assert!((mean - 100.0).abs() < 5.0, "{mean}");
    }

    #[test]
    fn an_on_off_process_has_its_mean_rate_and_is_bursty() {
        let (mean_on, mean_off) = (Span::from_secs(2), Span::from_secs(6));
        let process = ArrivalProcess::OnOff { on_rate: 40.0, off_rate: 4.0, mean_on, mean_off };
        let times = until(&process, 3, 40_000.0);
        // (40 * 2 + 4 * 6) / 8 = 13 per second; the states' own variation leaves 3 % at four standard errors.
        assert!((times.len() as f64 / 520_000.0 - 1.0).abs() < 0.03, "{}", times.len());
        assert!(gap_mean_and_cv(&times).1 > 1.5);
        let silent = ArrivalProcess::OnOff { on_rate: 0.0, off_rate: 0.0, mean_on, mean_off };
        assert!(until(&silent, 3, 1.0).is_empty());
    }

    #[test]
    fn the_first_arrivals_are_golden() {
        let schedule = rate(&[(0, 5.0, true), (10, 50.0, false)]);
        let span = Span::from_secs(1);
        let first: Vec<u64> = [
            ArrivalProcess::Poisson { rate: schedule.clone() },
            ArrivalProcess::Gamma { rate: schedule.clone(), cv: 2.0 },
            ArrivalProcess::Weibull { rate: schedule, cv: 2.0 },
            ArrivalProcess::OnOff { on_rate: 5.0, off_rate: 1.0, mean_on: span, mean_off: span },
        ]
        .iter()
        .map(|p| ArrivalSampler::new(p, Streams::new(1), 0).unwrap().next().unwrap().as_nanos())
        .collect();
        assert_eq!(first, GOLDEN);
    }

    const GOLDEN: [u64; 4] = [478_735_600, 9_761_450, 9_940_579, 581_870_099];

    #[test]
    fn parameters_without_meaning_are_refused() {
        let steady = || rate(&[(0, 5.0, false)]);
        for bad in [
            ArrivalProcess::Gamma { rate: steady(), cv: 0.0 },
            ArrivalProcess::Gamma { rate: steady(), cv: f64::INFINITY },
            ArrivalProcess::Weibull { rate: steady(), cv: f64::NAN },
            ArrivalProcess::OnOff { on_rate: -1.0, off_rate: 0.0, mean_on: Span::from_secs(1), mean_off: Span::from_secs(1) },
            ArrivalProcess::OnOff { on_rate: 1.0, off_rate: 0.0, mean_on: Span::ZERO, mean_off: Span::from_secs(1) },
        ] {
            let message = ArrivalSampler::new(&bad, Streams::new(1), 0).unwrap_err().to_string();
            assert!(message.contains("expected") && message.contains("\n  hint: "), "{message}");
        }
    }
}
