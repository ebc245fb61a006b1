//! The search along one line of values, from the hardest to the easiest: the first that meets the targets.
//!
//! First a coarse search that takes the word of one look, with the mean where the interval cannot tell: from the start
//! outwards in doubling steps, then bisection. Then the two cells at the border are looked at, turn by turn, until the one
//! surely meets the targets and the other surely misses one, or the border moves, or the budget ends.

use super::judge::Verdict;
use super::lab::{Halt, Lab};

/// Chance moves an excess by less than this factor, where no cell comes near the targets.
const CLEARLY_LESS: f64 = 0.8;

/// Where the search along a line ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Border {
    /// The first cell that meets the targets, if one does as far as the runs can tell.
    pub first: Option<usize>,
    /// What is certain.
    pub verdict: Verdict,
}

/// Searches the cells 0..`cells` from `start`.
///
/// # Errors
/// It was stopped, or a run failed.
pub(super) fn search(lab: &mut Lab<'_>, cells: usize, start: usize) -> Result<Border, Halt> {
    let (low, high) = match bracket(lab, cells, start)? {
        (_, None) => inside(lab)?,
        found => found,
    };
    let high = high.map_or(Ok(cells), |high| bisect(lab, low, high))?;
    let border = confirm(lab, cells, high)?;
    check_beyond(lab, cells, border)?;
    Ok(border)
}

/// Whether a cell meets the targets, by as many looks as it takes to know or, if that is only one, by the mean.
fn probe(lab: &mut Lab<'_>, cell: usize) -> Result<bool, Halt> {
    if lab.looks(cell) == 0 {
        match lab.next_look(cell) {
            Some(keys) => lab.need(&keys)?,
            // Nothing is left: what is not known does not count as met.
            None => return Ok(false),
        }
    }
    let judgement = lab.judgement(0, cell);
    Ok(match judgement.verdict {
        Verdict::Met => true,
        Verdict::Missed => false,
        Verdict::Undecided => judgement.by_mean,
    })
}

/// Steps outwards from `start`, doubling, until one cell misses and one meets: the last that misses, the first that meets.
fn bracket(lab: &mut Lab<'_>, cells: usize, start: usize) -> Result<(Option<usize>, Option<usize>), Halt> {
    let start = start.min(cells - 1);
    let mut step = 1;
    if probe(lab, start)? {
        let mut meets = start;
        while meets > 0 {
            let next = meets.saturating_sub(step);
            if !probe(lab, next)? {
                return Ok((Some(next), Some(meets)));
            }
            (meets, step) = (next, step * 2);
        }
        return Ok((None, Some(0)));
    }
    let mut misses = start;
    while misses + 1 < cells {
        let next = (misses + step).min(cells - 1);
        if probe(lab, next)? {
            return Ok((Some(misses), Some(next)));
        }
        (misses, step) = (next, step * 2);
    }
    Ok((Some(misses), None))
}

/// The cell that comes nearest to the targets: the easiest that was looked at, unless another misses them by clearly less.
pub(super) fn nearest(lab: &Lab<'_>) -> Option<usize> {
    let goals = &lab.plan().description.goals;
    let excess = |cell: usize| lab.judgement(0, cell).excess(goals);
    let cells = lab.cells();
    let easiest = *cells.last()?;
    let best = cells.into_iter().min_by(|a, b| excess(*a).total_cmp(&excess(*b)))?;
    Some(if excess(best) < CLEARLY_LESS * excess(easiest) { best } else { easiest })
}

/// Where even the easiest cell misses, but by more than some other: a look between that one and its neighbours, closer and
/// closer, for a cell that meets the targets after all. The last that misses below it, and the cell, if there is one.
fn inside(lab: &mut Lab<'_>) -> Result<(Option<usize>, Option<usize>), Halt> {
    loop {
        let looked = lab.cells();
        let nearest = nearest(lab).and_then(|cell| looked.iter().position(|other| *other == cell));
        let Some(nearest) = nearest.filter(|at| at + 1 < looked.len()) else { return Ok((None, None)) };
        let mut between = vec![looked[nearest].midpoint(looked[nearest + 1])];
        between.extend(nearest.checked_sub(1).map(|below| looked[below].midpoint(looked[nearest])));
        between.retain(|cell| !looked.contains(cell));
        if between.is_empty() || lab.left() == 0 {
            return Ok((None, None));
        }
        for cell in between {
            if probe(lab, cell)? {
                return Ok((looked.iter().copied().rfind(|below| *below < cell), Some(cell)));
            }
        }
    }
}

/// Between a cell that misses (or none) and one that meets (or the end): the first that meets, if monotone.
fn bisect(lab: &mut Lab<'_>, low: Option<usize>, high: usize) -> Result<usize, Halt> {
    let (mut low, mut high) = (low.map_or(0, |low| low + 1), high);
    while low < high {
        let middle = low + (high - low) / 2;
        if probe(lab, middle)? { high = middle } else { low = middle + 1 }
    }
    Ok(high)
}

/// Looks at the border until it is certain. `high` is the first cell that is taken to meet the targets, or the end.
fn confirm(lab: &mut Lab<'_>, cells: usize, mut high: usize) -> Result<Border, Halt> {
    // The border moves to and fro as means move: each cell has finitely many looks, so that this ends.
    loop {
        let above = (high < cells).then_some(high);
        let below = high.checked_sub(1);
        let mut keys = Vec::new();
        for cell in [above, below].into_iter().flatten() {
            if lab.judgement(0, cell).verdict == Verdict::Undecided || lab.looks(cell) == 0 {
                let budget = lab.left() - keys.len();
                keys.extend(lab.next_look(cell).filter(|look| look.len() <= budget).unwrap_or_default());
            }
        }
        lab.need(&keys)?;
        let verdict = |lab: &Lab<'_>, cell: Option<usize>, beyond: Verdict| {
            cell.map_or(beyond, |cell| if lab.looks(cell) == 0 { Verdict::Undecided } else { lab.judgement(0, cell).verdict })
        };
        let (over, under) = (verdict(lab, above, Verdict::Met), verdict(lab, below, Verdict::Missed));
        match (over, under) {
            (Verdict::Missed, _) => high += 1,
            (_, Verdict::Met) => high -= 1,
            (Verdict::Met, Verdict::Missed) => {
                let verdict = if above.is_some() { Verdict::Met } else { Verdict::Missed };
                return Ok(Border { first: above, verdict });
            }
            _ if keys.is_empty() => return undecided(lab, cells, high),
            _ => {}
        }
    }
}

/// The border as the means have it, after a look at the next easier cell, which may be certain.
fn undecided(lab: &mut Lab<'_>, cells: usize, high: usize) -> Result<Border, Halt> {
    let means = |lab: &Lab<'_>, cell: usize| lab.looks(cell) > 0 && lab.judgement(0, cell).by_mean;
    let first = match high.checked_sub(1) {
        Some(below) if means(lab, below) && lab.judgement(0, below).verdict != Verdict::Missed => below,
        _ if high < cells && !means(lab, high) => high + 1,
        _ => high,
    };
    for cell in high..cells.min(high + 2) {
        while lab.looks(cell) == 0 || lab.judgement(0, cell).verdict == Verdict::Undecided {
            let Some(keys) = lab.next_look(cell) else { break };
            lab.need(&keys)?;
        }
        if lab.judgement(0, cell).verdict == Verdict::Met {
            break;
        }
    }
    Ok(Border { first: (first < cells).then_some(first), verdict: Verdict::Undecided })
}

/// One look at the easiest cell, and one half way to it: a target that is kept at the border and not there tells that the
/// measure does not run one way.
fn check_beyond(lab: &mut Lab<'_>, cells: usize, border: Border) -> Result<(), Halt> {
    let Some(first) = border.first.filter(|_| border.verdict == Verdict::Met) else { return Ok(()) };
    for cell in [cells - 1, first + (cells - 1 - first) / 4] {
        probe(lab, cell)?;
    }
    Ok(())
}
