//! The cheapest fleet among many: cells ordered by cost, where more of anything is taken to be no worse.

use super::judge::Verdict;
use super::lab::{Halt, Lab};

/// What is known of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Nothing,
    Meets,
    Misses,
}

/// The cheapest fleet as far as the runs can tell, and what is certain of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cheapest {
    /// The cell.
    pub cell: Option<usize>,
    /// What is certain: of the cell that it meets the targets, and of the dearest cheaper one looked at that it does not.
    pub verdict: Verdict,
    /// The dearest of the cheaper fleets that were looked at and miss a target.
    pub next: Option<usize>,
}

/// Searches the cells, whose costs are `costs`.
///
/// A fleet that meets the targets rules out all that cost as much or more; one that misses a target rules out all with no
/// more of anything. Bisection over the costs finds some fleet that does; then the cheaper fleets are tried that rule out
/// most others.
///
/// # Errors
/// It was stopped, or a run failed.
pub(super) fn search(lab: &mut Lab<'_>, costs: &[f64]) -> Result<Cheapest, Halt> {
    let mut field = Field::new(lab, costs);
    field.some_that_meets(lab)?;
    while let Some(cell) = field.most_telling() {
        if !field.probe(lab, cell)? {
            break;
        }
    }
    field.confirm(lab)
}

struct Field<'c> {
    costs: &'c [f64],
    places: Vec<Vec<usize>>,
    /// Cells by cost, then number.
    order: Vec<usize>,
    known: Vec<Known>,
}

impl<'c> Field<'c> {
    fn new(lab: &Lab<'_>, costs: &'c [f64]) -> Self {
        let grid = &lab.plan().description.grid;
        let mut order: Vec<usize> = (0..costs.len()).collect();
        order.sort_by(|a, b| costs[*a].total_cmp(&costs[*b]).then(a.cmp(b)));
        let places = (0..costs.len()).map(|cell| grid.places(cell)).collect();
        Self { costs, places, order, known: vec![Known::Nothing; costs.len()] }
    }

    /// Whether `less` has no more of anything than `more`.
    fn within(&self, less: usize, more: usize) -> bool {
        self.places[less].iter().zip(&self.places[more]).all(|(a, b)| a <= b)
    }

    /// The cheapest cell that is known to meet the targets.
    fn best(&self) -> Option<usize> {
        self.order.iter().copied().find(|cell| self.known[*cell] == Known::Meets)
    }

    /// Looks at a cell and rules out what follows from it; false where the budget is used up.
    fn probe(&mut self, lab: &mut Lab<'_>, cell: usize) -> Result<bool, Halt> {
        if lab.looks(cell) == 0 {
            let Some(keys) = lab.next_look(cell) else { return Ok(false) };
            lab.need(&keys)?;
        }
        let judgement = lab.judgement(0, cell);
        let meets = judgement.verdict == Verdict::Met || (judgement.verdict == Verdict::Undecided && judgement.by_mean);
        self.learn(cell, meets);
        Ok(true)
    }

    fn learn(&mut self, cell: usize, meets: bool) {
        for other in 0..self.known.len() {
            let follows = if meets { self.within(cell, other) } else { self.within(other, cell) };
            if other == cell || (follows && self.known[other] == Known::Nothing) {
                self.known[other] = if meets { Known::Meets } else { Known::Misses };
            }
        }
    }

    /// Bisects the costs until some cell meets the targets: starts with the dearest.
    fn some_that_meets(&mut self, lab: &mut Lab<'_>) -> Result<(), Halt> {
        let (mut low, mut high) = (0, self.order.len() - 1);
        if !self.probe(lab, self.order[high])? || self.best().is_none() {
            return Ok(());
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if !self.probe(lab, self.order[middle])? {
                return Ok(());
            }
            if self.known[self.order[middle]] == Known::Meets { high = middle } else { low = middle + 1 }
        }
        Ok(())
    }

    /// Of the cells that may yet be cheaper than the best: the one that would rule out most others by missing a target.
    fn most_telling(&self) -> Option<usize> {
        let best = self.best()?;
        let open: Vec<usize> = self
            .order
            .iter()
            .copied()
            .filter(|cell| self.known[*cell] == Known::Nothing && self.costs[*cell] < self.costs[best])
            .collect();
        let telling = |cell: &usize| open.iter().filter(|other| self.within(**other, *cell)).count();
        open.iter().copied().max_by_key(|cell| (telling(cell), std::cmp::Reverse(*cell)))
    }

    /// The dearest of the cheaper cells that have runs and are not known to meet.
    fn next(&self, lab: &Lab<'_>, best: usize) -> Option<usize> {
        let cheaper = |cell: &&usize| self.costs[**cell] < self.costs[best] && lab.looks(**cell) > 0;
        self.order.iter().rev().find(cheaper).copied()
    }

    /// Looks at the best cell and at the next until both are certain, or the budget ends.
    fn confirm(mut self, lab: &mut Lab<'_>) -> Result<Cheapest, Halt> {
        loop {
            let Some(best) = self.best() else {
                let dearest = self.order[self.order.len() - 1];
                let verdict = settle(lab, dearest)?;
                if verdict == Verdict::Met {
                    self.learn(dearest, true);
                    continue;
                }
                return Ok(Cheapest { cell: None, verdict, next: Some(dearest) });
            };
            let next = self.next(lab, best);
            let sure = settle(lab, best)?;
            let below = next.map_or(Ok(Verdict::Missed), |next| settle(lab, next))?;
            if sure == Verdict::Missed {
                self.known[best] = Known::Misses;
                self.reconsider(lab)?;
                continue;
            }
            if below == Verdict::Met {
                self.learn(next.unwrap_or(best), true);
                continue;
            }
            let verdict = if sure == Verdict::Met && below == Verdict::Missed { Verdict::Met } else { Verdict::Undecided };
            return Ok(Cheapest { cell: Some(best), verdict, next });
        }
    }

    /// After the best cell has turned out to miss: what followed from its meeting is open again.
    fn reconsider(&mut self, lab: &mut Lab<'_>) -> Result<(), Halt> {
        for cell in 0..self.known.len() {
            let judged = lab.looks(cell) > 0;
            if self.known[cell] == Known::Meets && !judged {
                self.known[cell] = Known::Nothing;
            }
        }
        while let Some(cell) = self.most_telling() {
            if !self.probe(lab, cell)? {
                break;
            }
        }
        Ok(())
    }
}

/// Looks at a cell until it is certain, or the budget ends.
pub(super) fn settle(lab: &mut Lab<'_>, cell: usize) -> Result<Verdict, Halt> {
    loop {
        if lab.looks(cell) > 0 {
            let verdict = lab.judgement(0, cell).verdict;
            if verdict != Verdict::Undecided {
                return Ok(verdict);
            }
        }
        let Some(keys) = lab.next_look(cell) else { return Ok(Verdict::Undecided) };
        lab.need(&keys)?;
    }
}
