//! Where runs are made and remembered.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::Remote;
use crate::experiment::{RunEnd, RunOptions, run};

use super::judge::{Judgement, judge};
use super::question::Plan;
use super::record::Record;

/// Which run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Key {
    /// Place among the plan's variants; 0 is the scenario as asked.
    pub variant: usize,
    /// The cell of the plan's grid.
    pub cell: usize,
    /// Which of its independent replications.
    pub replication: u32,
}

/// How far a plan has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs done, those taken over from an earlier journal included.
    pub done: usize,
    /// Runs at most.
    pub most: usize,
}

/// Why a plan found no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// It was stopped through its remote.
    Stopped,
    /// A run failed; why.
    Failed(String),
}

/// Hears of each new run when it is there, one at a time.
pub type OnRecord<'a> = &'a mut (dyn FnMut(&Record, Progress) + Send);

/// Makes runs, several at a time, and remembers them.
pub struct Lab<'a> {
    plan: &'a Plan,
    pool: rayon::ThreadPool,
    remote: &'a Remote,
    on_record: OnRecord<'a>,
    /// Runs of an earlier, stopped attempt at the same plan.
    known: BTreeMap<Key, Record>,
    /// What this plan has asked for.
    used: BTreeMap<Key, Record>,
}

impl<'a> Lab<'a> {
    /// A lab that makes `jobs` runs at a time and does not repeat those `known`.
    pub fn new(plan: &'a Plan, known: Vec<Record>, jobs: usize, remote: &'a Remote, on_record: OnRecord<'a>) -> Self {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.max(1)).build().expect("the system has threads to give");
        let known = known.into_iter().map(|record| (record.key, record)).collect();
        Self { plan, pool, remote, on_record, known, used: BTreeMap::new() }
    }

    /// The plan.
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Sees to it that the runs are there.
    ///
    /// # Errors
    /// It was stopped, or a run failed.
    pub fn need(&mut self, keys: &[Key]) -> Result<(), Halt> {
        let mut missing = Vec::new();
        for key in keys {
            if self.used.contains_key(key) {
                continue;
            }
            match self.known.remove(key) {
                Some(record) => {
                    self.used.insert(*key, record);
                }
                None => missing.push(*key),
            }
        }
        let (plan, remote) = (self.plan, self.remote);
        let most = plan.description.max_runs;
        let shared = Mutex::new((&mut self.used, &mut *self.on_record));
        self.pool.install(|| {
            missing.par_iter().with_max_len(1).for_each(|key| {
                let Some(record) = run_one(plan, *key, remote) else { return };
                let mut guard = shared.lock().expect("no holder of the lock panics");
                let (used, on_record) = &mut *guard;
                on_record(&record, Progress { done: used.len() + 1, most: most.max(used.len() + 1) });
                used.insert(*key, record);
            });
        });
        if self.remote.stop.load(Relaxed) {
            return Err(Halt::Stopped);
        }
        let failed = |key: &Key| self.used.get(key).and_then(|record| record.error.clone());
        keys.iter().find_map(failed).map_or(Ok(()), |error| Err(Halt::Failed(error)))
    }

    /// The runs of a cell so far, by replication.
    pub fn runs(&self, variant: usize, cell: usize) -> Vec<&Record> {
        let key = |replication| Key { variant, cell, replication };
        self.used.range(key(0)..=key(u32::MAX)).map(|(_, record)| record).collect()
    }

    /// Runs of the scenario as asked: those that the budget bounds.
    pub fn spent(&self) -> usize {
        self.used.keys().filter(|key| key.variant == 0).count()
    }

    /// Runs that are left of the budget.
    pub fn left(&self) -> usize {
        self.plan.description.max_runs.saturating_sub(self.spent())
    }

    /// What the runs of a cell say so far.
    pub fn judgement(&self, variant: usize, cell: usize) -> Judgement {
        judge(&self.runs(variant, cell), &self.plan.description.goals, self.plan.description.look_level())
    }

    /// Looks that a cell has had; 0 if it has no run.
    pub fn looks(&self, cell: usize) -> usize {
        let runs = self.runs(0, cell).len();
        self.plan.description.looks.reached(runs).map_or(0, |look| look + 1)
    }

    /// The runs that a cell lacks for its next look; `None` if there is no further one or the budget does not allow it.
    pub fn next_look(&self, cell: usize) -> Option<Vec<Key>> {
        let runs = self.runs(0, cell).len();
        let needed = self.plan.description.looks.runs(self.looks(cell))?;
        let keys: Vec<Key> = (runs..needed).map(|n| Key { variant: 0, cell, replication: n as u32 }).collect();
        (keys.len() <= self.left()).then_some(keys)
    }

    /// All runs that were asked for, by variant, cell, then replication.
    pub fn into_records(self) -> Vec<Record> {
        self.used.into_values().collect()
    }

    /// The cells of the scenario as asked that have runs, in order.
    pub fn cells(&self) -> Vec<usize> {
        let mut cells: Vec<usize> = self.used.keys().filter(|key| key.variant == 0).map(|key| key.cell).collect();
        cells.dedup();
        cells
    }
}

/// One run; `None` if it was stopped.
fn run_one(plan: &Plan, key: Key, remote: &Remote) -> Option<Record> {
    if remote.stop.load(Relaxed) {
        return None;
    }
    let attempt = catch_unwind(AssertUnwindSafe(|| -> Result<Option<Record>, String> {
        let mut scenario = plan.scenario(key).map_err(|faults| faults.to_string())?;
        let length = plan.description.looks.length(key.replication, &scenario);
        if let Some(length) = length {
            scenario.phases = Some(length.batches());
        }
        // Judging decisions changes none of them, and no target asks for it.
        scenario.output.decision_quality = Some(false);
        let options = RunOptions { replication: key.replication.into(), ..RunOptions::default() };
        let (result, ()) = run(&scenario, options, (), remote).map_err(|error| error.to_string())?;
        let goals = &plan.description.goals;
        Ok((result.end != RunEnd::Interrupted).then(|| Record::of(key, goals, &scenario, result, length.is_some())))
    }));
    match attempt {
        Ok(Ok(record)) => record,
        Ok(Err(error)) => Some(Record::failed(key, error)),
        Err(_) => Some(Record::failed(key, "the simulation broke down: this is a bug of shedcast")),
    }
}
