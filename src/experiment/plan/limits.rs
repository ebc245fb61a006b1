//! The best limits: a staged search over a grid of settings.
//!
//! A coarse grid over all axes gets one run a cell, all with the same random numbers. Around the best of them the steps are
//! halved, again and again (compass search: Kolda, Lewis and Torczon 2003, "Optimization by direct search"), down to
//! neighbours. The best cells then get more runs in rounds, half of them dropping out of each (successive halving:
//! Jamieson and Talwalkar 2016), until one is left. Last, the winner is looked at until it is certain of the targets.

use std::cmp::Ordering;

use crate::experiment::measure_table::{Better, Measure};
use crate::experiment::sweep::Grid;
use crate::stats::paired_difference;

use super::judge::Verdict;
use super::lab::{Halt, Key, Lab};
use super::mix::settle;

/// Values of an axis in the coarse grid: of one axis alone, and of each of several.
const COARSE: (usize, usize) = (5, 3);
/// Cells that are refined around, each round.
const CENTRES: usize = 2;
/// Cells that enter the rounds of more runs.
const FINALISTS: usize = 4;
/// Replications of the finalists, round by round.
const ROUNDS: [usize; 4] = [2, 4, 6, 9];

/// Where the search ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Best {
    /// The best cell that meets the targets as far as the runs can tell.
    pub cell: Option<usize>,
    /// What is certain of it.
    pub verdict: Verdict,
    /// The cell that comes next: the best that misses a target, or else the second best.
    pub next: Option<usize>,
    /// Cells among the last that cannot be told apart from the best by their paired differences.
    pub alike: Vec<usize>,
}

/// Searches for the best value of `measure`.
///
/// # Errors
/// It was stopped, or a run failed.
pub(super) fn search(lab: &mut Lab<'_>, measure: &Measure) -> Result<Best, Halt> {
    let grid = lab.plan().description.grid.clone();
    let reserve = (lab.plan().description.max_runs / 3).min(FINALISTS * ROUNDS[ROUNDS.len() - 1]);
    let coarse = coarse(&grid, lab.left().saturating_sub(reserve).max(1));
    look(lab, &coarse, 1)?;
    refine(lab, &grid, measure, reserve)?;
    let finalists = rounds(lab, measure)?;
    conclude(lab, measure, &finalists)
}

/// Runs the cells up to so many replications, as far as the budget goes.
fn look(lab: &mut Lab<'_>, cells: &[usize], replications: usize) -> Result<(), Halt> {
    let mut keys = Vec::new();
    for cell in cells {
        let there = lab.runs(0, *cell).len();
        keys.extend((there..replications).map(|n| Key { variant: 0, cell: *cell, replication: n as u32 }));
    }
    keys.truncate(lab.left());
    lab.need(&keys)
}

/// Values at even steps of every axis, ends included, in all combinations; only the middles and the ends axis by axis where
/// those would be more than `most`.
fn coarse(grid: &Grid, most: usize) -> Vec<usize> {
    let per_axis = if grid.axes.len() == 1 { COARSE.0 } else { COARSE.1 };
    let values: Vec<Vec<usize>> = grid.axes.iter().map(|axis| spread(axis.values.len(), per_axis)).collect();
    if values.iter().fold(1usize, |n, axis| n.saturating_mul(axis.len())) <= most {
        let mut cells = vec![Vec::new()];
        for axis in &values {
            cells = cells.iter().flat_map(|cell| axis.iter().map(move |v| [cell.as_slice(), &[*v]].concat())).collect();
        }
        return cells.iter().map(|places| grid.cell_at(places)).collect();
    }
    let middle: Vec<usize> = values.iter().map(|axis| axis[axis.len() / 2]).collect();
    let mut cells = vec![grid.cell_at(&middle)];
    for (n, axis) in values.iter().enumerate() {
        for place in axis.iter().filter(|place| **place != middle[n]) {
            let mut places = middle.clone();
            places[n] = *place;
            cells.push(grid.cell_at(&places));
        }
    }
    cells.truncate(most);
    cells
}

/// `count` places among `length`, ends included, at even steps.
fn spread(length: usize, count: usize) -> Vec<usize> {
    if length <= count {
        return (0..length).collect();
    }
    (0..count).map(|i| (i * (length - 1) + (count - 1) / 2) / (count - 1)).collect()
}

/// How good a cell is by its runs so far.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Score {
    meets: bool,
    excess: f64,
    /// The lower the better.
    cost: f64,
}

impl Score {
    fn of(lab: &Lab<'_>, measure: &Measure, cell: usize) -> Self {
        let judgement = lab.judgement(0, cell);
        let values: Vec<f64> = lab.runs(0, cell).iter().filter_map(|record| record.value(measure.name)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let cost = if values.is_empty() { f64::INFINITY } else { sign(measure) * mean };
        Self { meets: judgement.by_mean, excess: judgement.excess(&lab.plan().description.goals), cost }
    }

    /// Those that meet the targets by the measure, the others by how far they miss them.
    fn compare(&self, other: &Self) -> Ordering {
        other
            .meets
            .cmp(&self.meets)
            .then_with(|| if self.meets { self.cost.total_cmp(&other.cost) } else { self.excess.total_cmp(&other.excess) })
    }
}

fn sign(measure: &Measure) -> f64 {
    if measure.better == Better::Lower { 1.0 } else { -1.0 }
}

/// All cells with runs, the best first.
fn ranked(lab: &Lab<'_>, measure: &Measure) -> Vec<usize> {
    let mut scored: Vec<(Score, usize)> = lab.cells().into_iter().map(|cell| (Score::of(lab, measure, cell), cell)).collect();
    scored.sort_by(|a, b| a.0.compare(&b.0).then(a.1.cmp(&b.1)));
    scored.into_iter().map(|(_, cell)| cell).collect()
}

/// Halves the steps around the best cells until neighbours have been looked at and none is better, or only `reserve` runs
/// are left.
fn refine(lab: &mut Lab<'_>, grid: &Grid, measure: &Measure, reserve: usize) -> Result<(), Halt> {
    let per_axis = if grid.axes.len() == 1 { COARSE.0 } else { COARSE.1 };
    let mut steps: Vec<usize> =
        grid.axes.iter().map(|axis| ((axis.values.len() - 1) / (per_axis - 1)).div_ceil(2).max(1)).collect();
    loop {
        let ranked = ranked(lab, measure);
        let done = lab.cells();
        let mut around: Vec<usize> = ranked
            .iter()
            .take(CENTRES)
            .flat_map(|centre| neighbours(grid, *centre, &steps))
            .filter(|c| !done.contains(c))
            .collect();
        around.sort_unstable();
        around.dedup();
        around.truncate(lab.left().saturating_sub(reserve));
        look(lab, &around, 1)?;
        let moved = self::ranked(lab, measure).first() != ranked.first();
        if lab.left() <= reserve || (!moved && steps.iter().all(|step| *step == 1)) {
            return Ok(());
        }
        if !moved {
            steps.iter_mut().for_each(|step| *step = step.div_ceil(2));
        }
    }
}

/// The cells one step away along each axis.
fn neighbours(grid: &Grid, cell: usize, steps: &[usize]) -> Vec<usize> {
    let places = grid.places(cell);
    let mut found = Vec::new();
    for (n, step) in steps.iter().enumerate() {
        let last = grid.axes[n].values.len() - 1;
        for place in [places[n].saturating_sub(*step), (places[n] + step).min(last)] {
            if place != places[n] {
                let mut other = places.clone();
                other[n] = place;
                found.push(grid.cell_at(&other));
            }
        }
    }
    found
}

/// Rounds of more runs for the best cells; those that are left at the end, the best first.
fn rounds(lab: &mut Lab<'_>, measure: &Measure) -> Result<Vec<usize>, Halt> {
    let mut finalists: Vec<usize> = ranked(lab, measure).into_iter().take(FINALISTS).collect();
    for replications in ROUNDS {
        look(lab, &finalists, replications)?;
        let order = ranked(lab, measure);
        finalists.sort_by_key(|cell| order.iter().position(|other| other == cell));
        let keep = (finalists.len().div_ceil(2)).max(2);
        if replications > ROUNDS[0] {
            finalists.truncate(keep);
        }
    }
    Ok(finalists)
}

/// The best of the finalists that the targets do not rule out, and what is certain.
fn conclude(lab: &mut Lab<'_>, measure: &Measure, finalists: &[usize]) -> Result<Best, Halt> {
    let mut order: Vec<usize> = finalists.to_vec();
    order.extend(ranked(lab, measure).into_iter().filter(|cell| !finalists.contains(cell)));
    let hopeful = |lab: &Lab<'_>, cell: usize| lab.judgement(0, cell).by_mean;
    for cell in order.iter().copied().filter(|cell| lab.judgement(0, *cell).by_mean).collect::<Vec<_>>() {
        let verdict = settle(lab, cell)?;
        if verdict == Verdict::Missed || !hopeful(lab, cell) {
            continue;
        }
        let alike =
            order.iter().copied().filter(|other| *other != cell && hopeful(lab, *other) && alike(lab, measure, cell, *other));
        let alike: Vec<usize> = alike.take(8).collect();
        let next = order.iter().copied().find(|other| *other != cell);
        return Ok(Best { cell: Some(cell), verdict, next, alike });
    }
    let nearest = order.first().copied();
    let verdict = match nearest {
        Some(cell) => settle(lab, cell)?,
        None => Verdict::Undecided,
    };
    // A nearest cell that more runs have shown to meet the targets is the answer after all.
    let cell = nearest.filter(|_| verdict == Verdict::Met);
    Ok(Best { cell, verdict, next: nearest.filter(|_| cell.is_none()), alike: Vec::new() })
}

/// Whether the paired difference of two cells may be zero, over the runs that both have; false with fewer than two of them.
fn alike(lab: &Lab<'_>, measure: &Measure, a: usize, b: usize) -> bool {
    let (a, b) = (lab.runs(0, a), lab.runs(0, b));
    let pairs: Vec<(f64, f64)> =
        a.iter().zip(&b).filter_map(|(a, b)| Some((a.value(measure.name)?, b.value(measure.name)?))).collect();
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let interval = paired_difference(&a, &b, crate::experiment::sweep::LEVEL).and_then(|paired| paired.difference.interval());
    interval.is_some_and(|interval| interval.low <= 0.0 && interval.high >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_values_hold_both_ends() {
        assert_eq!(spread(12, 3), [0, 6, 11]);
        assert_eq!((spread(2, 3), spread(9, 5)), (vec![0, 1], vec![0, 2, 4, 6, 8]));
    }

    #[test]
    fn a_coarse_grid_that_costs_too_much_becomes_a_star() {
        let mut grid = Grid::default();
        for axis in ["a=1,2,3,4,5", "b=1,2,3,4,5", "c=1,2,3,4,5"] {
            grid.add_option(axis).unwrap();
        }
        assert_eq!((coarse(&grid, 100).len(), coarse(&grid, 20).len(), coarse(&grid, 4).len()), (27, 7, 4));
    }
}
