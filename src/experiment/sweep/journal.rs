//! The journal of a sweep: what it is, then a line per finished run. A shard's journal is its result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::journal_lines;
use super::grid::MAX_CELLS;
use super::plan::Description;
use super::record::Record;
use super::result::{Status, SweepResult};
use super::run::Shard;

/// Name and version of the format.
pub const JOURNAL_SCHEMA: &str = "shedcast.sweep-journal/1";

/// The first line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// [`JOURNAL_SCHEMA`].
    pub journal: String,
    /// Which part of the sweep, from 0, and of how many.
    pub shard: [usize; 2],
    /// The sweep.
    pub sweep: Description,
    /// The scenario of the baseline cell, resolved.
    #[serde(default)]
    pub scenario: String,
}

impl Header {
    /// The header of a shard.
    pub fn new(description: &Description, shard: Shard) -> Self {
        let sweep = description.clone();
        Self { journal: JOURNAL_SCHEMA.to_owned(), shard: [shard.index, shard.count], sweep, scenario: String::new() }
    }

    /// With the scenario of the baseline cell, for reports.
    #[must_use]
    pub fn with_scenario(mut self, scenario: String) -> Self {
        self.scenario = scenario;
        self
    }

    /// Whether it can be of a sweep at all: a file that was changed may say anything.
    fn is_sound(&self) -> bool {
        let ([index, count], cells) = (self.shard, self.sweep.grid.cells());
        let filled = self.sweep.grid.axes.iter().all(|axis| {
            !axis.paths.is_empty() && !axis.values.is_empty() && axis.values.iter().all(|row| row.len() == axis.paths.len())
        });
        let numbered = index < count && count as u64 <= MAX_CELLS && (self.sweep.baseline as u64) < cells;
        filled && numbered && cells <= MAX_CELLS && self.sweep.replications <= self.sweep.max_replications
    }

    /// As the first line, with its line feed.
    pub fn to_line(&self) -> String {
        journal_lines::to_line(self)
    }
}

/// A journal as read.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// What it is of.
    pub header: Header,
    /// The runs it holds, in the order of the file.
    pub records: Vec<Record>,
    /// Bytes up to the end of the last whole line: a torn one, of a process that was killed, is to be cut off.
    pub whole_bytes: usize,
}

impl Journal {
    /// Reads a journal; a torn last line is left out.
    ///
    /// # Errors
    /// It has no header of this format, or a line before the last is no record.
    pub fn parse(text: &str) -> Result<Self, String> {
        let accepts = |header: &Header| header.journal == JOURNAL_SCHEMA && header.is_sound();
        let missing = || format!("no journal of a sweep of this version (`{JOURNAL_SCHEMA}`)");
        let (header, records, whole_bytes) = journal_lines::read(text, accepts, missing, |_, line| Record::from_line(line))?;
        Ok(Self { header, records, whole_bytes })
    }

    /// The journal of finished runs, in their order.
    pub fn to_text(header: &Header, records: &[Record]) -> String {
        let mut text = header.to_line();
        records.iter().for_each(|record| text.push_str(&record.to_line()));
        text
    }
}

/// Why journals cannot be merged; the message names the one at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There is nothing to merge.
    #[error("there is no shard to merge")]
    Nothing,
    /// Two are of different sweeps.
    #[error(
        "{b}: belongs to another sweep than {a} (fingerprints `{theirs}` and `{ours}`)\n  hint: run all shards with the same scenario, grid, replications and version"
    )]
    OtherSweep {
        /// The first.
        a: String,
        /// The one that differs.
        b: String,
        /// Fingerprint of the first.
        ours: String,
        /// The other's.
        theirs: String,
    },
    /// Two were cut into different numbers of shards.
    #[error("{b}: is one of {theirs} shards, but {a} one of {ours}\n  hint: run all shards with the same `--shard i/n`")]
    OtherCount {
        /// The first.
        a: String,
        /// The one that differs.
        b: String,
        /// Shards of the first.
        ours: usize,
        /// The other's.
        theirs: usize,
    },
    /// The same shard twice.
    #[error("{b}: is shard {shard} again, after {a}\n  hint: name each shard once")]
    Doubled {
        /// The first.
        a: String,
        /// The second.
        b: String,
        /// The shard, from 1.
        shard: usize,
    },
    /// Shards that were not named.
    #[error("{missing} of {count} missing\n  hint: run what is missing with `--shard i/{count}`, and name its directory too")]
    Missing {
        /// `shard 3`, or `shards 2, 3`, from 1.
        missing: String,
        /// How many there ought to be.
        count: usize,
    },
    /// A shard that was stopped early.
    #[error("{name}: shard {shard} is not finished: cell {cell} lacks replications\n  hint: finish it with `--resume`")]
    Unfinished {
        /// Its name.
        name: String,
        /// The shard, from 1.
        shard: usize,
        /// The first cell.
        cell: usize,
    },
    /// A shard with runs that are not its own.
    #[error("{name}: holds cell {cell}, which is not of shard {shard}\n  hint: the file was changed; run the shard again")]
    Foreign {
        /// Its name.
        name: String,
        /// The shard, from 1.
        shard: usize,
        /// The cell.
        cell: usize,
    },
    /// A shard with a run twice.
    #[error("{name}: holds replication {replication} of cell {cell} twice\n  hint: the file was changed; run the shard again")]
    Twice {
        /// Its name.
        name: String,
        /// The cell.
        cell: usize,
        /// The replication.
        replication: u32,
    },
}

/// Joins the shards of one sweep, each with its name, into the result of the whole.
///
/// # Errors
/// They are of different sweeps, incomplete or doubled.
pub fn merge(journals: Vec<(String, Journal)>) -> Result<SweepResult, MergeError> {
    let (name, first) = journals.first().ok_or(MergeError::Nothing)?;
    let count = first.header.shard[1];
    let mut seen: Vec<Option<String>> = vec![None; count];
    for (other, journal) in &journals {
        let (header, a, b) = (&journal.header, name.clone(), other.clone());
        if header.sweep != first.header.sweep {
            let (ours, theirs) = (first.header.sweep.fingerprint.clone(), header.sweep.fingerprint.clone());
            return Err(MergeError::OtherSweep { a, b, ours, theirs });
        }
        if header.shard[1] != count || header.shard[0] >= count {
            return Err(MergeError::OtherCount { a, b, ours: count, theirs: header.shard[1] });
        }
        let shard = header.shard[0] + 1;
        if let Some(a) = seen[shard - 1].replace(other.clone()) {
            return Err(MergeError::Doubled { a, b, shard });
        }
        check_cells(other, journal)?;
    }
    let missing: Vec<String> = (0..count).filter(|i| seen[*i].is_none()).map(|i| (i + 1).to_string()).collect();
    if !missing.is_empty() {
        let shards = if missing.len() == 1 { "shard" } else { "shards" };
        return Err(MergeError::Missing { missing: format!("{shards} {}", missing.join(", ")), count });
    }
    let description = first.header.sweep.clone();
    let result = SweepResult::of(description, journals.into_iter().flat_map(|(_, journal)| journal.records).collect());
    let unfinished = result.cells.iter().find(|cell| cell.status == Status::Incomplete);
    match unfinished {
        Some(cell) => {
            let shard = cell.cell % count;
            Err(MergeError::Unfinished { name: seen[shard].clone().unwrap_or_default(), shard: shard + 1, cell: cell.cell })
        }
        None => Ok(result),
    }
}

/// Whether a journal holds runs of its own cells only, each once.
fn check_cells(name: &str, journal: &Journal) -> Result<(), MergeError> {
    let [index, count] = journal.header.shard;
    let (shard, cells) = (Shard { index, count }, journal.header.sweep.cells());
    let mut runs: Vec<(usize, u32)> = Vec::with_capacity(journal.records.len());
    for record in &journal.records {
        if record.cell >= cells || !shard.has(record.cell) {
            return Err(MergeError::Foreign { name: name.to_owned(), shard: index + 1, cell: record.cell });
        }
        runs.push((record.cell, record.replication));
    }
    runs.sort_unstable();
    match runs.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(MergeError::Twice { name: name.to_owned(), cell: pair[0].0, replication: pair[0].1 }),
        None => Ok(()),
    }
}
