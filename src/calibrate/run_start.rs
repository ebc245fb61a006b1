//! Where the fit of a run starts: a linear regression on the times of single requests.
//!
//! A request's decoding lasts as long as the steps it takes part in: `sum(base + a P + b P^2 + d D + k K)` over these steps, which is
//! linear in the coefficients. First the sums are estimated from the log alone, then taken from a replay with the
//! coefficients found, a few times over.

use super::least_squares::non_negative;
use super::replay::{ReplayLimits, Work, WorkOf, replay_with_work};
use super::run_log::LoggedRequest;
use super::run_loss::Target;
use super::run_search::timing_of;

/// Cells of the time grid on which the log's own load is added up.
const CELLS: usize = 4096;
/// Regressions on a replayed schedule.
const ROUNDS: u32 = 20;
/// What is added to the diagonal of a normal matrix scaled to ones: a direction that the data hardly tell is at most some thirty times as
/// long as one they tell well.
const RIDGE: f64 = 1e-3;
/// How far of the way to the coefficients of a regression the first of them goes.
const STRIDE: f64 = 0.7;
/// Without the square of the prefill tokens, which a run rarely tells.
pub(super) const LINEAR: [bool; 5] = [true, true, false, true, true];

/// Coefficients from the log alone.
pub(super) fn from_log(log: &[LoggedRequest]) -> Work {
    let load = Load::of(log);
    let (mut rows, mut wanted) = (Vec::new(), Vec::new());
    for r in log.iter().filter(|r| r.output_tokens > 1 && r.last > r.first) {
        let steps = f64::from(r.output_tokens - 1);
        let [prefill, running, context] = load.between(r.first, r.last);
        let weight = 1.0 / (r.last - r.first);
        let row = [steps, prefill, 0.0, steps * running, steps * context];
        rows.push(row.map(|v| v * weight));
        wanted.push(1.0);
    }
    let mut found = non_negative(&rows, &wanted, LINEAR);
    // A replay needs steps that take time, and prefill that is not free.
    let mean_tpot = log.iter().filter_map(LoggedRequest::time_per_output_token).sum::<f64>() / log.len() as f64;
    if found[0] <= 0.0 {
        found[0] = mean_tpot / 2.0;
    }
    if found[1] <= 0.0 {
        found[1] = found[0] / 500.0;
    }
    found
}

/// Better coefficients from replayed schedules, and their loss.
pub(super) fn refine(
    log: &[LoggedRequest],
    background: usize,
    limits: &ReplayLimits,
    target: &Target<'_>,
    fitted: usize,
    start: Work,
) -> Option<(Work, f64)> {
    let mut now = start;
    let mut best: Option<(Work, f64)> = None;
    for round in 0..ROUNDS {
        let mut limits = limits.clone();
        limits.spec.timing = timing_of(&now);
        let (replayed, work, _) = replay_with_work(log, background, &limits)?;
        let loss = target.loss(&replayed.served);
        if best.is_none_or(|(_, least)| loss < least) {
            best = Some((now, loss));
        }
        let next = regress(&log[..fitted], &work);
        // Not the whole way, and less each time: the schedule moves with the coefficients, and what it moves them by averages out
        // (Robbins and Monro 1951, "A stochastic approximation method").
        let stride = STRIDE / (1.0 + f64::from(round) / 4.0);
        now = std::array::from_fn(|i| now[i] + stride * (next[i] - now[i]));
    }
    best
}

/// Regression of first-token and decoding times on the work that the replay did in them.
fn regress(log: &[LoggedRequest], work: &[WorkOf]) -> Work {
    let (rows, wanted) = rows(log, work);
    non_negative(&rows, &wanted, LINEAR)
}

/// For each time that a request took, the work done in it over the time, and 1; both weighed. The coefficients that make the products
/// 1 are those of the engine.
fn rows(log: &[LoggedRequest], work: &[WorkOf]) -> (Vec<Work>, Vec<f64>) {
    let (mut rows, mut wanted) = (Vec::new(), Vec::new());
    let mut add = |work: Work, seconds: f64, weight: f64| {
        if seconds > 0.0 && work[0] > 0.0 {
            rows.push(work.map(|v| v / seconds * weight));
            wanted.push(weight);
        }
    };
    for (r, of) in log.iter().zip(work) {
        add(of.decode, r.last - r.first, 1.0);
        // A wait of a few steps is told by the phase in which it began: it weighs less.
        add(of.first, r.ttft(), if of.first[0] < 10.0 { 0.4 } else { 0.7 });
    }
    (rows, wanted)
}

/// Directions in which to change the coefficients `used`, as many as there are of them: a step of length 1 along any of them changes the
/// times of requests by about their own size, and by no part of what another direction changes. Coefficients that trade with each
/// other are changed together.
pub(super) fn directions(
    log: &[LoggedRequest],
    background: usize,
    limits: &ReplayLimits,
    fitted: usize,
    used: [bool; 5],
) -> Option<Vec<Work>> {
    let (_, work, _) = replay_with_work(log, background, limits)?;
    let (rows, _) = rows(&log[..fitted], &work);
    let columns: Vec<usize> = (0..5).filter(|i| used[*i] && rows.iter().any(|row| row[*i] > 0.0)).collect();
    let mean = |i: usize, j: usize| rows.iter().map(|row| row[i] * row[j]).sum::<f64>() / rows.len() as f64;
    let scales: Vec<f64> = columns.iter().map(|i| mean(*i, *i).sqrt()).collect();
    let n = columns.len();
    // Cholesky's factor L of the scaled normal matrix, a little of the identity added, so that no direction is endless.
    let mut factor = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| factor[i][k] * factor[j][k]).sum();
            let value = mean(columns[i], columns[j]) / (scales[i] * scales[j]) + if i == j { RIDGE } else { 0.0 } - known;
            factor[i][j] = if i == j { value.max(RIDGE * RIDGE).sqrt() } else { value / factor[j][j] };
        }
    }
    // The columns of the inverse of L transposed.
    let column = |at: usize| -> Work {
        let mut x = vec![0.0; n];
        for i in (0..=at).rev() {
            let rest: f64 = (i + 1..=at).map(|k| factor[k][i] * x[k]).sum();
            x[i] = (if i == at { 1.0 } else { 0.0 } - rest) / factor[i][i];
        }
        let mut direction = Work::default();
        columns.iter().zip(&x).zip(&scales).for_each(|((i, x), scale)| direction[*i] = x / scale);
        direction
    };
    Some((0..n).map(column).collect())
}

/// What was inside the engine, by the log alone, added up over time.
struct Load {
    cell: f64,
    /// Up to the start of each cell: prompt tokens whose first token was out, and the time integrals of decoding sequences and
    /// of their context tokens.
    sums: Vec<[f64; 3]>,
}

impl Load {
    fn of(log: &[LoggedRequest]) -> Self {
        let end = log.iter().map(|r| r.last).fold(0.0, f64::max).max(1e-9);
        let cell = end / CELLS as f64;
        let place = |at: f64| ((at / cell) as usize).min(CELLS - 1);
        // Changes of: prefilled tokens; decoding sequences; context tokens; growth of context per second.
        let mut steps = vec![[0.0; 4]; CELLS + 1];
        for r in log {
            let (from, to) = (place(r.first), place(r.last));
            let (input, output) = (f64::from(r.input_tokens), f64::from(r.output_tokens));
            let rate = if r.last > r.first { output / (r.last - r.first) } else { 0.0 };
            steps[from][0] += input;
            steps[from][1] += 1.0;
            steps[from][2] += input;
            steps[from][3] += rate;
            steps[to + 1][1] -= 1.0;
            steps[to + 1][2] -= input + rate * cell * (to + 1 - from) as f64;
            steps[to + 1][3] -= rate;
        }
        let (mut sums, mut sum, mut now) = (vec![[0.0; 3]], [0.0; 3], [0.0; 3]);
        for step in &steps[..CELLS] {
            sum[0] += step[0];
            for i in 0..3 {
                now[i] += step[i + 1];
            }
            sum[1] += now[0] * cell;
            sum[2] += now[1] * cell;
            now[1] += now[2] * cell;
            sums.push(sum);
        }
        Self { cell, sums }
    }

    /// Prompt tokens prefilled, mean decoding sequences and mean context tokens between two instants.
    fn between(&self, from: f64, to: f64) -> [f64; 3] {
        let at = |t: f64| {
            let place = (t / self.cell).min(CELLS as f64);
            let below = (place as usize).min(CELLS - 1);
            let part = place - below as f64;
            let (a, b) = (self.sums[below], self.sums[below + 1]);
            [0, 1, 2].map(|i| a[i] + (b[i] - a[i]) * part)
        };
        let (a, b) = (at(from), at(to));
        [b[0] - a[0], (b[1] - a[1]) / (to - from), (b[2] - a[2]) / (to - from)]
    }
}
