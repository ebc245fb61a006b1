//! The search for the coefficients of a run: a descent on the loss of replays.

use super::replay::{ReplayLimits, Work, replay};
use super::run_log::LoggedRequest;
use super::run_loss::Target;
use super::run_start::{LINEAR, directions, refine};
use super::scatter::comb;
use super::series::TickSeries;
use super::simplex::minimise;
use crate::cluster::config::StepTiming;
use crate::units::Attos;

/// Replays per descent: of a log of a few hundred requests, and fewer of a longer one.
const BUDGET: usize = 500;
const LEAST_BUDGET: usize = 120;
const BUDGETED_REQUESTS: usize = 200_000;
/// A further coefficient must bring the loss below this share of the loss without it.
const WORTH: f64 = 0.9;
/// Sizes to which the simplex is unfolded, one after the other.
const SPREADS: [f64; 4] = [0.03, -0.1, 0.01, 0.05];
/// Half widths of the cubes that are combed.
const RADII: [f64; 5] = [0.05, 0.02, 0.008, 0.003, 0.001];
/// Losses closer than this are one.
const TOLERANCE: f64 = 1e-5;
/// A loss that is good enough.
const GOOD: f64 = 0.002;

/// Step times of five coefficients in seconds.
pub(super) fn timing_of(coefficients: &Work) -> StepTiming {
    let [base, prefill, prefill_squared, decode, context] =
        coefficients.map(|c| Attos::from_secs_f64(c.clamp(0.0, 1e6)).unwrap_or(Attos::ZERO));
    StepTiming::SingleBase { base, prefill, prefill_squared, decode, context }
}

/// A descent on the loss.
pub(super) struct Search<'a> {
    /// The requests of the log, then those of the background.
    log: Vec<LoggedRequest>,
    background: usize,
    target: &'a Target<'a>,
    /// The engine; its times are those to be found.
    pub(super) limits: ReplayLimits,
    /// Running sequences over time, if they are to be met as well.
    pub(super) curve: Option<Curve>,
    /// Replays per descent.
    budget: usize,
    /// Requests that count, the first ones.
    fitted: usize,
}

/// Running sequences over time, as measured.
pub(super) struct Curve {
    instants: Vec<f64>,
    running: Vec<u32>,
}

/// What the distance of the curves of running sequences weighs, and what that of their peaks.
const CURVE: (f64, f64) = (0.2, 0.3);

impl Curve {
    /// Of a series.
    pub(super) fn of(series: &TickSeries) -> Self {
        Self { instants: series.instants(), running: series.ticks.iter().map(|tick| tick.running).collect() }
    }

    /// Mean distance and distance of the peaks, relative to the measured mean and peak.
    fn loss(&self, samples: &[(u32, u32)]) -> f64 {
        let apart: u64 = self.running.iter().zip(samples).map(|(real, got)| u64::from(real.abs_diff(got.0))).sum();
        let all: u64 = self.running.iter().map(|n| u64::from(*n)).sum();
        let real = self.running.iter().max().copied().unwrap_or(0);
        let got = samples.iter().map(|s| s.0).max().unwrap_or(0);
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { part };
        CURVE.0 * share(apart as f64, all as f64) + CURVE.1 * share(f64::from(real.abs_diff(got)), f64::from(real))
    }
}

/// Coefficients and their loss.
pub(super) type Found = (Work, f64);

impl<'a> Search<'a> {
    /// A search for the times with which `limits` serve `log` as `target` says, `background` behind it.
    pub(super) fn new(
        log: &[LoggedRequest],
        background: &[LoggedRequest],
        target: &'a Target<'a>,
        fitted: usize,
        limits: ReplayLimits,
    ) -> Self {
        let all: Vec<LoggedRequest> = log.iter().chain(background).copied().collect();
        let budget = (BUDGETED_REQUESTS / all.len()).clamp(LEAST_BUDGET, BUDGET);
        Self { log: all, background: background.len(), target, limits, curve: None, budget, fitted }
    }

    /// Where the regressions lead from coefficients of the log alone, and those; `None` if a request can never be served.
    pub(super) fn starts(&self, crude: Work) -> Option<[Work; 2]> {
        let refined = refine(&self.log, self.background, &self.limits, self.target, self.fitted, crude)?;
        Some([refined.0, crude])
    }

    fn loss(&self, coefficients: &Work) -> f64 {
        let mut limits = self.limits.clone();
        limits.spec.timing = timing_of(coefficients);
        let instants = self.curve.as_ref().map_or(&[][..], |curve| &curve.instants);
        let Some(replayed) = replay(&self.log, self.background, &limits, instants) else { return f64::INFINITY };
        self.target.loss(&replayed.served) + self.curve.as_ref().map_or(0.0, |curve| curve.loss(&replayed.samples))
    }

    /// From each of `starts`, and from the same with the cost of context charged to sequences, which a run hardly tells apart; then
    /// on from where the best ends.
    pub(super) fn descend(&self, starts: [Work; 2]) -> Found {
        let mean_context = self.log.iter().map(|r| f64::from(r.input_tokens) + f64::from(r.output_tokens) / 2.0).sum::<f64>()
            / self.log.len() as f64;
        let swapped = |start: Work| -> Work {
            let mut other = start;
            other[3] += other[4] * mean_context * 0.7;
            other[4] *= 0.3;
            other
        };
        let starts = starts.map(with_floor).into_iter().flat_map(|start| [start, swapped(start)]);
        let found = starts.map(|start| self.from(start, LINEAR, 0.08, self.budget / 2));
        let mut best = found.min_by(|a, b| a.1.total_cmp(&b.1)).expect("there are starts");
        // A simplex gets stuck on the steps of a schedule: it is unfolded again, to other sizes, and its surroundings are combed.
        for spread in SPREADS {
            if best.1 < GOOD {
                break;
            }
            let regressed = refine(&self.log, self.background, &self.limits, self.target, self.fitted, best.0);
            let from = regressed.filter(|(_, loss)| *loss < best.1).unwrap_or(best);
            let next = self.from(from.0, LINEAR, spread, self.budget / 2);
            best = if next.1 < best.1 { next } else { best };
            let next = self.around(best.0, LINEAR);
            best = if next.1 < best.1 { next } else { best };
        }
        best
    }

    /// Down from `start`, the simplex unfolded to a share `spread` of the times of requests along each direction.
    fn from(&self, start: Work, used: [bool; 5], spread: f64, budget: usize) -> Found {
        let Some(directions) = self.directions(&start, used) else { return (start, f64::INFINITY) };
        let point = |z: &Work| along(&start, &directions, z);
        let (z, loss) = minimise(|z| self.loss(&point(z)), directions.len(), spread, budget, TOLERANCE);
        (point(&z), loss)
    }

    /// Around `start`, more and more closely.
    fn around(&self, start: Work, used: [bool; 5]) -> Found {
        let Some(directions) = self.directions(&start, used) else { return (start, f64::INFINITY) };
        let point = |z: &Work| along(&start, &directions, z);
        let points = (self.budget / RADII.len()) as u32;
        let (z, loss) = comb(|z| self.loss(&point(z)), directions.len(), &RADII, points);
        (point(&z), loss)
    }

    fn directions(&self, at: &Work, used: [bool; 5]) -> Option<Vec<Work>> {
        let mut limits = self.limits.clone();
        limits.spec.timing = timing_of(at);
        directions(&self.log, self.background, &limits, self.fitted, used)
    }

    /// Also tries the square of the prefill tokens, and keeps it if it is worth it.
    pub(super) fn with_square(&self, found: Found) -> Found {
        let budget = self.limits.spec.max_num_batched_tokens as f64;
        let mut start = found.0;
        start[2] = (start[1] / budget / 4.0).max(1e-15);
        start[1] *= 0.8;
        let squared = self.from(start, [true; 5], 0.03, self.budget);
        if squared.1 < WORTH * found.1 { squared } else { found }
    }

    /// Also tries smaller and larger pools.
    pub(super) fn with_pool(&mut self, found: Found, percents: &[u64]) -> Found {
        let mut best = (found.0, self.loss(&found.0));
        let estimate = self.limits.spec.total_blocks;
        let mut pool = estimate;
        for percent in percents {
            self.limits.spec.total_blocks = (estimate * percent).div_ceil(100);
            let found = self.from(best.0, LINEAR, 0.02, self.budget / 6);
            if found.1 < best.1 {
                (best, pool) = (found, self.limits.spec.total_blocks);
            }
        }
        self.limits.spec.total_blocks = pool;
        self.from(best.0, LINEAR, 0.02, self.budget / 2)
    }
}

/// A coefficient that the regression leaves at 0 gets a chance: a small part of a step.
fn with_floor(mut start: Work) -> Work {
    let [base, prefill, _, decode, context] = start;
    let step = (base + prefill * 100.0 + decode * 30.0 + context * 30_000.0).max(1e-4);
    for (i, amount) in [(0, 1.0), (1, 500.0), (3, 50.0), (4, 50_000.0)] {
        start[i] = start[i].max(0.02 * step / amount);
    }
    start
}

/// `start` moved by `z` along the directions; no coefficient turns negative.
fn along(start: &Work, directions: &[Work], z: &Work) -> Work {
    let moved = |i: usize| start[i] + directions.iter().zip(z).map(|(d, z)| d[i] * z).sum::<f64>();
    std::array::from_fn(|i| moved(i).max(0.0))
}
