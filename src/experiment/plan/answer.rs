//! What a plan finds out.

use crate::experiment::measure_table::Measure;

use super::binds::{Binding, bindings};
use super::description::{Description, Quest};
use super::judge::{Judgement, Verdict};
use super::lab::{Halt, Lab};
use super::line;
use super::record::Record;
use super::sensitivity::{Shift, shifts};
use super::{limits, mix};

/// How a plan ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There is an answer, and it is certain.
    Met,
    /// No setting of the grid meets the targets.
    Infeasible,
    /// The runs that the budget allows do not tell.
    Undecided,
}

impl Outcome {
    /// Name in machine formats.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Infeasible => "infeasible",
            Self::Undecided => "undecided",
        }
    }
}

/// What a reader should know beside the answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// No value can meet both targets: their places.
    Contradiction(usize, usize),
    /// The first cell of the line already meets the targets: fewer (or more) were not looked for.
    AtTheEnd,
    /// An easier cell (second) surely misses a target that a harder one (first) surely meets: the measures do not run one way.
    NotMonotone(usize, usize),
    /// No cell meets the targets, and the easiest (second) misses them by more than another one (first).
    Turns(usize, usize),
    /// The best limits lie at an end of the values of these axes: beyond them may be better ones.
    Edge(Vec<usize>),
    /// A cell is saturated: its latencies grow with the length of the run.
    Saturated(usize),
    /// How many times as much must be simulated to decide, as far as the intervals so far can tell.
    WouldDecide(f64),
    /// These cells cannot be told apart from the best.
    Alike(Vec<usize>),
}

/// One cell that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Looked {
    /// The cell.
    pub cell: usize,
    /// What its runs say.
    pub judgement: Judgement,
}

/// Everything a plan found out.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What the plan is.
    pub description: Description,
    /// How it ended.
    pub outcome: Outcome,
    /// The cell that is the answer, or seems to be.
    pub chosen: Option<usize>,
    /// The next worse choice: one worker fewer, more load, the cheaper fleet; without an answer, the cell that comes nearest.
    pub next: Option<usize>,
    /// All cells that were looked at, in their order.
    pub looked: Vec<Looked>,
    /// What binds, at [`Self::bound`].
    pub bindings: Vec<Binding>,
    /// What else would change the answer, and how.
    pub shifts: Vec<Shift>,
    /// What a reader should know.
    pub notes: Vec<Note>,
    /// All runs, by variant, cell, then replication.
    pub records: Vec<Record>,
}

impl Answer {
    /// What was found of a cell.
    pub fn judgement(&self, cell: usize) -> Option<&Judgement> {
        self.looked.iter().find(|looked| looked.cell == cell).map(|looked| &looked.judgement)
    }

    /// The cell whose bindings are told.
    pub fn bound(&self) -> Option<usize> {
        binding_cell(&self.description.quest, self.chosen, self.next)
    }

    /// Runs of the scenario as asked: those the budget bounds.
    pub fn runs(&self) -> usize {
        self.records.iter().filter(|record| record.key.variant == 0).count()
    }

    /// Places of the targets that a cell misses: surely, or if none so by the mean.
    pub fn missed(&self, cell: usize) -> Vec<usize> {
        let Some(judgement) = self.judgement(cell) else { return Vec::new() };
        let by = |miss: fn(&super::Judged) -> bool| -> Vec<usize> {
            judgement.goals.iter().enumerate().filter(|(_, judged)| miss(judged)).map(|(place, _)| place).collect()
        };
        let sure = by(|judged| judged.verdict == Verdict::Missed);
        if sure.is_empty() { by(|judged| !judged.by_mean) } else { sure }
    }
}

/// What the search for it gives.
struct Found {
    outcome: Outcome,
    chosen: Option<usize>,
    next: Option<usize>,
    notes: Vec<Note>,
}

/// Answers the lab's plan.
///
/// # Errors
/// It was stopped, or a run failed.
pub fn answer(mut lab: Lab<'_>) -> Result<Answer, Halt> {
    let description = lab.plan().description.clone();
    let found = match contradiction(&description) {
        Some(note) => Found { outcome: Outcome::Infeasible, chosen: None, next: None, notes: vec![note] },
        None => search(&mut lab, &description)?,
    };
    let shifts = match found.chosen.filter(|_| found.outcome == Outcome::Met) {
        Some(cell) => shifts(&mut lab, cell)?,
        None => Vec::new(),
    };
    let looked: Vec<Looked> = lab.cells().into_iter().map(|cell| Looked { cell, judgement: lab.judgement(0, cell) }).collect();
    let bound = binding_cell(&description.quest, found.chosen, found.next);
    let bindings = bound.map_or(Vec::new(), |cell| bindings(&lab.runs(0, cell)));
    let mut notes = found.notes;
    notes.extend(not_monotone(&description, &looked));
    notes.extend(edges(&description, found.chosen));
    notes.extend(looked.iter().filter(|l| l.judgement.saturated && Some(l.cell) == found.next).map(|l| Note::Saturated(l.cell)));
    if found.outcome == Outcome::Undecided {
        notes.extend(would_decide(&description, &looked, found.chosen, found.next).map(Note::WouldDecide));
    }
    let (chosen, next, outcome) = (found.chosen, found.next, found.outcome);
    Ok(Answer { description, outcome, chosen, next, looked, bindings, shifts, notes, records: lab.into_records() })
}

/// Where it is told what binds: at the next worse choice, which misses the targets; of the best limits, at those.
fn binding_cell(quest: &Quest, chosen: Option<usize>, next: Option<usize>) -> Option<usize> {
    if matches!(quest, Quest::Best { .. }) { chosen.or(next) } else { next.or(chosen) }
}

fn contradiction(description: &Description) -> Option<Note> {
    let goals = &description.goals;
    let pairs = (0..goals.len()).flat_map(|a| (0..a).map(move |b| (b, a)));
    pairs.into_iter().find(|(a, b)| goals[*a].contradicts(&goals[*b])).map(|(a, b)| Note::Contradiction(a, b))
}

fn search(lab: &mut Lab<'_>, description: &Description) -> Result<Found, Halt> {
    match &description.quest {
        Quest::Fewest { .. } | Quest::Most { .. } => along(lab, description),
        Quest::Best { measure } => {
            let measure = Measure::find(measure).expect("it was found when the plan was read");
            let best = limits::search(lab, measure)?;
            let notes = if best.alike.is_empty() { Vec::new() } else { vec![Note::Alike(best.alike)] };
            Ok(Found { outcome: outcome(best.verdict), chosen: best.cell, next: best.next, notes })
        }
        Quest::Cheapest { .. } => {
            let costs: Vec<f64> = (0..description.cells()).filter_map(|cell| description.quest.cost(cell)).collect();
            let cheapest = mix::search(lab, &costs)?;
            Ok(Found { outcome: outcome(cheapest.verdict), chosen: cheapest.cell, next: cheapest.next, notes: Vec::new() })
        }
    }
}

const fn outcome(verdict: Verdict) -> Outcome {
    match verdict {
        Verdict::Met => Outcome::Met,
        Verdict::Missed => Outcome::Infeasible,
        Verdict::Undecided => Outcome::Undecided,
    }
}

fn along(lab: &mut Lab<'_>, description: &Description) -> Result<Found, Halt> {
    let cells = description.cells();
    // Without a closed form: few workers and little load are quick to simulate.
    let start = description.start.unwrap_or(if matches!(description.quest, Quest::Fewest { .. }) { 0 } else { cells - 1 });
    let border = line::search(lab, cells, start)?;
    let goals = &description.goals;
    let nearest = |lab: &Lab<'_>| {
        let excess = |cell: &usize| lab.judgement(0, *cell).excess(goals);
        lab.cells().into_iter().rev().min_by(|a, b| excess(a).total_cmp(&excess(b)))
    };
    let next = border.first.map_or_else(|| nearest(lab), |first| first.checked_sub(1));
    let at_the_end = border.first == Some(0) && border.verdict == Verdict::Met;
    let mut notes = if at_the_end { vec![Note::AtTheEnd] } else { Vec::new() };
    notes.extend(next.filter(|cell| border.first.is_none() && *cell + 1 < cells).map(|cell| Note::Turns(cell, cells - 1)));
    Ok(Found { outcome: outcome(border.verdict), chosen: border.first, next, notes })
}

/// A harder cell that surely meets the targets with an easier one beside it that surely misses one.
fn not_monotone(description: &Description, looked: &[Looked]) -> Option<Note> {
    if !matches!(description.quest, Quest::Fewest { .. } | Quest::Most { .. }) {
        return None;
    }
    let sure = |verdict: Verdict| looked.iter().filter(move |l| l.judgement.verdict == verdict);
    let meets = sure(Verdict::Met).next()?;
    sure(Verdict::Missed).find(|l| l.cell > meets.cell).map(|l| Note::NotMonotone(meets.cell, l.cell))
}

/// Axes of three values or more along which the best limits lie at an end.
fn edges(description: &Description, chosen: Option<usize>) -> Option<Note> {
    let cell = chosen.filter(|_| matches!(description.quest, Quest::Best { .. }))?;
    let (axes, places) = (&description.grid.axes, description.grid.places(cell));
    let at_end = |axis: &usize| axes[*axis].values.len() > 2 && [0, axes[*axis].values.len() - 1].contains(&places[*axis]);
    let found: Vec<usize> = (0..axes.len()).filter(at_end).collect();
    (!found.is_empty()).then_some(Note::Edge(found))
}

/// By how much more must be simulated so that an interval as wide as its distance from the bound is left: widths fall with
/// the root of the length.
fn would_decide(description: &Description, looked: &[Looked], chosen: Option<usize>, next: Option<usize>) -> Option<f64> {
    let open = looked.iter().filter(|l| [chosen, next].contains(&Some(l.cell)) && l.judgement.verdict == Verdict::Undecided);
    let factors = open.flat_map(|l| l.judgement.goals.iter().zip(&description.goals)).filter_map(|(judged, goal)| {
        let ((low, high), tested) = (judged.interval.filter(|_| judged.verdict == Verdict::Undecided)?, judged.tested?);
        let distance = (tested - goal.tested().0).abs();
        let half = 0.5 * (high - low);
        (distance > 0.0).then(|| (half / distance) * (half / distance))
    });
    factors.fold(None, |most: Option<f64>, factor| Some(most.map_or(factor, |m| m.max(factor)))).filter(|factor| *factor > 1.0)
}
