//! What a sweep found out: estimates per cell, differences, and the cells that meet the targets.

use crate::experiment::RunEnd;
use crate::experiment::measure_table::{Better, MEASURES, Measure};
use crate::stats::{PairedDifference, ShareMethod, mean_interval, paired_difference, replicated_share};

use super::plan::Description;
use super::record::{Entry, Record};
use super::target::Verdict;

/// Confidence level of every interval.
pub const LEVEL: f64 = 0.95;

/// Which interval an estimate has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Student-t over the replications.
    StudentT,
    /// Wilson's, with the design effect between replications.
    Wilson,
    /// That of Clopper and Pearson, for shares near 0 or 1, with the design effect between replications.
    ClopperPearson,
    /// None: a single replication.
    None,
}

impl Method {
    /// Name in machine formats.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StudentT => "student_t",
            Self::Wilson => "wilson",
            Self::ClopperPearson => "clopper_pearson",
            Self::None => "none",
        }
    }
}

/// A measure over the replications of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean over the replications; of a share, all hits over all trials.
    pub mean: f64,
    /// Ends of the interval at [`LEVEL`]; `None` of a single replication.
    pub interval: Option<(f64, f64)>,
    /// Which interval.
    pub method: Method,
    /// Replications that have the measure.
    pub replications: usize,
}

impl Estimate {
    /// Half the width of the interval.
    pub fn half_width(&self) -> Option<f64> {
        self.interval.map(|(low, high)| 0.5 * (high - low))
    }
}

/// What the replications give for the measure `name`; `None` if none of them has it.
pub fn estimate(records: &[&Record], name: &str) -> Option<Estimate> {
    let place = Measure::place(name)?;
    let entries: Vec<Entry> = records.iter().filter_map(|record| record.values.get(place).copied()).collect();
    let shares: Vec<(u64, u64)> = entries
        .iter()
        .filter_map(|entry| if let Entry::Share([hits, trials]) = entry { Some((*hits, *trials)) } else { None })
        .collect();
    let values: Vec<f64> = entries.iter().filter_map(|entry| entry.value()).collect();
    if let Some(share) = replicated_share(&shares, LEVEL) {
        let method = match share.method {
            ShareMethod::Wilson => Method::Wilson,
            ShareMethod::ClopperPearson => Method::ClopperPearson,
        };
        return Some(Estimate { mean: share.share, interval: Some((share.low, share.high)), method, replications: values.len() });
    }
    let mean = mean_interval(&values, LEVEL)?;
    let interval = mean.interval().map(|interval| (interval.low, interval.high));
    let method = if interval.is_some() { Method::StudentT } else { Method::None };
    Some(Estimate { mean: mean.mean, interval, method, replications: values.len() })
}

/// How a cell ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// All its replications are there and went as far as the scenario asks.
    Ok,
    /// Some replications reached a bound of the run first; which.
    Bounded(String),
    /// Some replications failed; why the first did.
    Failed(String),
    /// The sweep was stopped before all its replications were done.
    Incomplete,
}

impl Status {
    /// Name in machine formats.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Bounded(_) => "bounded",
            Self::Failed(_) => "failed",
            Self::Incomplete => "incomplete",
        }
    }
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its number, from 0.
    pub cell: usize,
    /// How it ended.
    pub status: Status,
    /// Replications that did not fail.
    pub replications: usize,
    /// Codes of warnings, with the number of replications that gave them.
    pub warnings: Vec<(String, usize)>,
    /// Per measure, in the order of the table.
    pub estimates: Vec<Option<Estimate>>,
    /// What its estimates say of each target; empty if a target's measure is missing or the cell failed.
    pub verdicts: Vec<Verdict>,
}

impl Cell {
    /// The estimate of a measure.
    pub fn estimate(&self, measure: &str) -> Option<&Estimate> {
        self.estimates[Measure::place(measure)?].as_ref()
    }

    /// The mean of a measure.
    pub fn mean(&self, measure: &str) -> Option<f64> {
        self.estimate(measure).map(|estimate| estimate.mean)
    }

    /// The worst of its verdicts; `None` without targets, or where one cannot be told.
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdicts.iter().copied().max()
    }

    /// Whether the means of the cell meet all targets.
    pub fn meets(&self) -> bool {
        self.status == Status::Ok && self.verdict().is_some_and(|verdict| verdict != Verdict::Missed)
    }
}

/// A difference between a cell and the baseline, replication by replication.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The cell.
    pub cell: usize,
    /// Place of the measure in the table.
    pub measure: usize,
    /// Cell minus baseline.
    pub paired: PairedDifference,
}

/// Everything a sweep found out.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepResult {
    /// What the sweep is.
    pub description: Description,
    /// All runs, by cell, then replication.
    pub records: Vec<Record>,
    /// The cells, in order.
    pub cells: Vec<Cell>,
}

impl SweepResult {
    /// Sums up the records, in any order.
    pub fn of(description: Description, mut records: Vec<Record>) -> Self {
        records.sort_by_key(|record| (record.cell, record.replication));
        let by_cell = by_cell(&records, description.cells());
        let cells = by_cell.iter().enumerate().map(|(cell, records)| sum_up(&description, cell, records)).collect();
        Self { description, records, cells }
    }

    /// Whether every cell has all its replications.
    pub fn is_complete(&self) -> bool {
        self.done() == self.cells.len()
    }

    /// Cells that have all their replications, or failed.
    pub fn done(&self) -> usize {
        self.cells.iter().filter(|cell| cell.status != Status::Incomplete).count()
    }

    /// Differences of every cell to the baseline, in each measure that both have, over the replications both have.
    pub fn differences(&self) -> Vec<Difference> {
        let by_cell = by_cell(&self.records, self.cells.len());
        let base = by_cell[self.description.baseline];
        let mut differences = Vec::new();
        for (cell, records) in by_cell.iter().enumerate().filter(|(cell, _)| *cell != self.description.baseline) {
            let each = (0..MEASURES.len())
                .filter_map(|measure| Some(Difference { cell, measure, paired: difference(records, base, measure)? }));
            differences.extend(each);
        }
        differences
    }

    /// The cells whose means meet all targets, the best first: those that meet them surely, then by the measure
    /// `best`, then by number. All cells that ended well, where no target is given.
    pub fn ranking(&self) -> Vec<&Cell> {
        let none = self.description.targets.is_empty();
        let mut cells: Vec<&Cell> =
            self.cells.iter().filter(|cell| if none { cell.status == Status::Ok } else { cell.meets() }).collect();
        cells.sort_by(|a, b| {
            let sure = |cell: &Cell| cell.verdict().unwrap_or(Verdict::Met);
            sure(a).cmp(&sure(b)).then_with(|| self.compare(a, b)).then(a.cell.cmp(&b.cell))
        });
        cells
    }

    /// Which of two cells is better in the measure `best`: the better one first, one without it last.
    pub fn compare(&self, a: &Cell, b: &Cell) -> std::cmp::Ordering {
        let best = &self.description.best;
        let better = Measure::find(best).map_or(Better::Neutral, |measure| measure.better);
        let cost =
            |cell: &Cell| cell.mean(best).map_or(f64::INFINITY, |mean| if better == Better::Higher { -mean } else { mean });
        cost(a).total_cmp(&cost(b))
    }

    /// Whether the paired difference of two cells in the measure `best` may be zero.
    pub fn cannot_tell(&self, a: usize, b: usize) -> bool {
        self.cannot_tell_by(&self.description.best, a, b)
    }

    /// Whether the paired difference of two cells in a measure may be zero.
    pub fn cannot_tell_by(&self, measure: &str, a: usize, b: usize) -> bool {
        let by_cell = by_cell(&self.records, self.cells.len());
        let found = Measure::place(measure).and_then(|place| difference(by_cell[a], by_cell[b], place));
        let interval = found.and_then(|paired| paired.difference.interval());
        interval.is_none_or(|interval| interval.low <= 0.0 && interval.high >= 0.0)
    }
}

/// The records of each cell; they must be sorted.
fn by_cell(records: &[Record], cells: usize) -> Vec<&[Record]> {
    let mut rest = records;
    (0..cells)
        .map(|cell| {
            let (mine, others) = rest.split_at(rest.partition_point(|record| record.cell <= cell));
            rest = others;
            mine
        })
        .collect()
}

fn difference(a: &[Record], b: &[Record], measure: usize) -> Option<PairedDifference> {
    let value = |record: &Record| record.values.get(measure).and_then(|entry| entry.value());
    let mut pairs = (Vec::new(), Vec::new());
    for one in a {
        let Ok(at) = b.binary_search_by_key(&one.replication, |record| record.replication) else { continue };
        if let (Some(x), Some(y)) = (value(one), value(&b[at])) {
            pairs.0.push(x);
            pairs.1.push(y);
        }
    }
    paired_difference(&pairs.0, &pairs.1, LEVEL)
}

fn sum_up(description: &Description, cell: usize, records: &[Record]) -> Cell {
    let good: Vec<&Record> = records.iter().filter(|record| record.error.is_none()).collect();
    let status = status(description, records);
    let estimates: Vec<Option<Estimate>> = MEASURES.iter().map(|measure| estimate(&good, measure.name)).collect();
    let mut warnings: Vec<(String, usize)> = Vec::new();
    for code in good.iter().flat_map(|record| &record.warnings) {
        match warnings.iter_mut().find(|(known, _)| known == code) {
            Some((_, count)) => *count += 1,
            None => warnings.push((code.clone(), 1)),
        }
    }
    warnings.sort();
    let verdict =
        |target: &super::Target| Some(target.verdict(estimates[target.place()]?.mean, estimates[target.place()]?.interval));
    let verdicts = description.targets.iter().map(verdict).collect::<Option<Vec<_>>>().unwrap_or_default();
    Cell { cell, status, replications: good.len(), warnings, estimates, verdicts }
}

fn status(description: &Description, records: &[Record]) -> Status {
    if let Some(error) = records.iter().find_map(|record| record.error.as_ref()) {
        return Status::Failed(error.clone());
    }
    let contiguous = records.iter().enumerate().all(|(n, record)| record.replication as usize == n);
    if !contiguous || records.len() < description.replications as usize || !enough(description, records) {
        return Status::Incomplete;
    }
    let ended_early = |record: &&Record| ![RunEnd::Horizon, RunEnd::Drained].iter().any(|end| end.name() == record.end);
    records.iter().find(ended_early).map_or(Status::Ok, |record| Status::Bounded(record.end.clone()))
}

/// Whether the stopping rule asks for no further replication.
fn enough(description: &Description, records: &[Record]) -> bool {
    let Some(precision) = &description.until_halfwidth else { return true };
    let all: Vec<&Record> = records.iter().collect();
    let narrow = estimate(&all, &precision.measure).and_then(|e| e.half_width()).is_some_and(|half| half <= precision.half_width);
    narrow || records.len() >= description.max_replications as usize
}
