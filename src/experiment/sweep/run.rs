//! The runs of a sweep, in parallel.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use crate::cluster::Remote;
use crate::experiment::{RunEnd, RunOptions, run};
use crate::stats::SequentialTest;

use super::plan::{Description, Plan};
use super::record::Record;
use super::result::{Estimate, estimate};

/// One part of a sweep: the cells whose number leaves `index` when divided by `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    pub index: usize,
    /// At least 1.
    pub count: usize,
}

impl Shard {
    /// All of it.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Whether the cell belongs to it.
    pub const fn has(self, cell: usize) -> bool {
        cell % self.count == self.index
    }
}

/// How a sweep is run; nothing here changes its results.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Runs at a time, at least 1.
    pub jobs: usize,
    /// Which part.
    pub shard: Shard,
    /// Work through the runs in an order that this number decides, for tests; 0 keeps them in order.
    pub shuffle: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { jobs: 1, shard: Shard::WHOLE, shuffle: 0 }
    }
}

/// How far a sweep has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs done, those taken over from an earlier journal included.
    pub done: usize,
    /// Runs known to be needed so far; more may come where replications are added.
    pub planned: usize,
}

/// Runs what `known` does not hold yet and returns all records by cell, then replication.
///
/// `on_record` hears of each new record when it is there, one at a time. Stopped through `remote`, it returns what is
/// done; a run that was under way then is dropped.
pub fn run_sweep(
    plan: &Plan,
    known: Vec<Record>,
    settings: &Settings,
    remote: &Remote,
    on_record: &mut (dyn FnMut(&Record, Progress) + Send),
) -> Vec<Record> {
    let description = &plan.description;
    let cells: Vec<usize> = (0..description.cells()).filter(|cell| settings.shard.has(*cell)).collect();
    let mut records = Records::new(description, known);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(settings.jobs.max(1)).build();
    let pool = pool.expect("the system has threads to give");
    loop {
        let wanted: Vec<usize> = cells.iter().map(|cell| records.wanted(description, *cell)).collect();
        let mut jobs = records.missing(&cells, &wanted);
        if jobs.is_empty() || remote.stop.load(Relaxed) {
            return records.into_list(&cells);
        }
        shuffle(&mut jobs, settings.shuffle);
        let planned = wanted.iter().sum();
        let shared = Mutex::new((&mut records, &mut *on_record));
        pool.install(|| {
            jobs.par_iter().with_max_len(1).for_each(|&(cell, replication)| {
                let Some(record) = run_one(plan, cell, replication, remote) else { return };
                let mut guard = shared.lock().expect("no holder of the lock panics");
                let (records, on_record) = &mut *guard;
                records.put(&record);
                on_record(&record, Progress { done: records.done, planned });
            });
        });
    }
}

/// One run; `None` if it was stopped.
fn run_one(plan: &Plan, cell: usize, replication: u32, remote: &Remote) -> Option<Record> {
    if remote.stop.load(Relaxed) {
        return None;
    }
    let attempt = catch_unwind(AssertUnwindSafe(|| -> Result<Option<Record>, String> {
        let scenario = plan.scenario(cell).map_err(|faults| faults.to_string())?;
        let options = RunOptions { replication: replication.into(), ..RunOptions::default() };
        let (result, ()) = run(&scenario, options, (), remote).map_err(|error| error.to_string())?;
        Ok((result.end != RunEnd::Interrupted).then(|| Record::of(cell, replication, &scenario, &result)))
    }));
    match attempt {
        Ok(Ok(record)) => record,
        Ok(Err(error)) => Some(Record::failed(cell, replication, error)),
        Err(_) => Some(Record::failed(cell, replication, "the simulation broke down: this is a bug of shedcast")),
    }
}

/// The records by cell and replication.
struct Records {
    cells: Vec<Vec<Option<Record>>>,
    done: usize,
}

impl Records {
    fn new(description: &Description, known: Vec<Record>) -> Self {
        let mut records = Self { cells: vec![Vec::new(); description.cells()], done: 0 };
        for record in known {
            if record.cell < records.cells.len() && record.replication < description.max_replications {
                records.put(&record);
            }
        }
        records
    }

    /// Keeps the record, unless there is one already.
    fn put(&mut self, record: &Record) {
        let cell = &mut self.cells[record.cell];
        let at = record.replication as usize;
        if cell.len() <= at {
            cell.resize(at + 1, None);
        }
        if cell[at].is_none() {
            cell[at] = Some(record.clone());
            self.done += 1;
        }
    }

    /// How many replications the cell shall have, by those it has: the first ones, in their order, alone decide.
    fn wanted(&self, description: &Description, cell: usize) -> usize {
        let mut look = description.replications as usize;
        let Some(precision) = &description.until_halfwidth else { return look };
        let schedule = SequentialTest::new(precision.half_width, 0.95, look, description.max_replications as usize);
        look = schedule.next_look(0).unwrap_or(look);
        loop {
            let there: Vec<&Record> = self.cells[cell].iter().take(look).map_while(Option::as_ref).collect();
            let narrow = |estimate: Estimate| estimate.half_width().is_some_and(|half| half <= precision.half_width);
            if there.len() < look || estimate(&there, &precision.measure).is_some_and(narrow) {
                return look;
            }
            match schedule.next_look(look) {
                Some(next) => look = next,
                None => return look,
            }
        }
    }

    fn missing(&self, cells: &[usize], wanted: &[usize]) -> Vec<(usize, u32)> {
        let of = |(&cell, &wanted): (&usize, &usize)| {
            let absent = move |replication: &usize| self.cells[cell].get(*replication).is_none_or(Option::is_none);
            (0..wanted).filter(absent).map(move |replication| (cell, replication as u32))
        };
        cells.iter().zip(wanted).flat_map(of).collect()
    }

    /// All records of `cells`, by cell, then replication.
    fn into_list(self, cells: &[usize]) -> Vec<Record> {
        let mut list = Vec::new();
        for (cell, records) in self.cells.into_iter().enumerate() {
            if cells.binary_search(&cell).is_ok() {
                list.extend(records.into_iter().flatten());
            }
        }
        list
    }
}

/// Fisher and Yates' shuffle, driven by a linear congruential generator (Knuth's MMIX constants): an order, not a sample.
fn shuffle(jobs: &mut [(usize, u32)], seed: u64) {
    if seed == 0 {
        return;
    }
    let mut state = seed;
    for i in (1..jobs.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        jobs.swap(i, (state >> 33) as usize % (i + 1));
    }
}
