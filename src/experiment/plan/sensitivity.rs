//! What a little more or less of something does to the answer, by runs with the random numbers of the answer's own.

use super::description::Quest;
use super::judge::Judgement;
use super::lab::{Halt, Key, Lab};
use super::variants::Variant;

/// How far from the answer another one is looked for.
const REACH: usize = 4;
/// Replications of a variant where runs are not steady.
const REPLICATIONS: u32 = 2;

/// What one variant does.
#[derive(Clone, Debug, PartialEq)]
pub struct Shift {
    /// What differs.
    pub variant: Variant,
    /// What the answer's own cell then shows.
    pub judgement: Judgement,
    /// The cell that would then be the answer, by the means; `None` where none within reach would be, or where it is not asked.
    pub cell: Option<usize>,
}

/// Runs every variant at the answer and, along a line, at its neighbours.
///
/// # Errors
/// It was stopped, or a run failed.
pub(super) fn shifts(lab: &mut Lab<'_>, answer: usize) -> Result<Vec<Shift>, Halt> {
    let count = lab.plan().description.variants.len();
    let first: Vec<Key> = (1..count).flat_map(|variant| keys(lab, variant, answer)).collect();
    lab.need(&first)?;
    (1..count).map(|variant| shift(lab, variant, answer)).collect()
}

fn keys(lab: &Lab<'_>, variant: usize, cell: usize) -> Vec<Key> {
    let replications = if lab.plan().description.looks.in_batches() { 1 } else { REPLICATIONS };
    (0..replications).map(|replication| Key { variant, cell, replication }).collect()
}

fn shift(lab: &mut Lab<'_>, variant: usize, answer: usize) -> Result<Shift, Halt> {
    let d = &lab.plan().description;
    let (cells, line) = (d.cells(), matches!(d.quest, Quest::Fewest { .. } | Quest::Most { .. }));
    let judgement = lab.judgement(variant, answer);
    let mut found = judgement.by_mean.then_some(answer);
    if line {
        let mut meets = |cell: usize| -> Result<bool, Halt> {
            let keys = keys(lab, variant, cell);
            lab.need(&keys)?;
            Ok(lab.judgement(variant, cell).by_mean)
        };
        if found.is_some() {
            let mut cell = answer;
            while cell > answer.saturating_sub(REACH) && meets(cell - 1)? {
                cell -= 1;
            }
            found = Some(cell);
        } else {
            for cell in answer + 1..cells.min(answer + 1 + REACH) {
                if meets(cell)? {
                    found = Some(cell);
                    break;
                }
            }
        }
    }
    Ok(Shift { variant: lab.plan().description.variants[variant], judgement, cell: found })
}
