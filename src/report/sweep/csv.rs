//! `cells.csv`, `replications.csv` and `differences.csv`.

use crate::experiment::measure_table::{Extract, MEASURES};
use crate::experiment::sweep::grid::plain;
use crate::experiment::sweep::{Grid, SweepResult};
use crate::stats::CsvRow;

fn paths<'a>(mut row: CsvRow<'a>, grid: &Grid) -> CsvRow<'a> {
    for path in grid.axes.iter().flat_map(|axis| &axis.paths) {
        row = row.text(path);
    }
    row
}

fn values<'a>(mut row: CsvRow<'a>, grid: &Grid, cell: usize) -> CsvRow<'a> {
    for (_, value) in grid.settings(cell) {
        row = row.text(&plain(value));
    }
    row
}

/// A row per cell: its values; for each measure the mean and the ends of its 95 % interval, and for shares which interval
/// it is. What a cell does not have is empty.
pub fn cells_csv(result: &SweepResult) -> Vec<u8> {
    let grid = &result.description.grid;
    let mut bytes = Vec::new();
    let mut head = paths(CsvRow::new(&mut bytes).text("cell"), grid).text("status").text("replications").text("warnings");
    for measure in MEASURES {
        head = head.text(measure.name).text(&format!("{}_low", measure.name)).text(&format!("{}_high", measure.name));
        if matches!(measure.extract, Extract::Share(_)) {
            head = head.text(&format!("{}_interval", measure.name));
        }
    }
    head.end();
    for cell in &result.cells {
        let warnings = cell.warnings.iter().map(|(code, n)| format!("{code}:{n}")).collect::<Vec<_>>().join(" ");
        let mut row = values(CsvRow::new(&mut bytes).int(cell.cell as u64), grid, cell.cell);
        row = row.text(cell.status.name()).int(cell.replications as u64).text(&warnings);
        for (measure, estimate) in MEASURES.iter().zip(&cell.estimates) {
            let interval = estimate.and_then(|estimate| estimate.interval);
            row = row.float(estimate.map(|e| e.mean)).float(interval.map(|i| i.0)).float(interval.map(|i| i.1));
            if matches!(measure.extract, Extract::Share(_)) {
                row = row.text(estimate.map_or("", |estimate| estimate.method.name()));
            }
        }
        row.end();
    }
    bytes
}

/// A row per run.
pub fn replications_csv(result: &SweepResult) -> Vec<u8> {
    let grid = &result.description.grid;
    let mut bytes = Vec::new();
    let mut head =
        paths(CsvRow::new(&mut bytes).text("cell"), grid).text("replication").text("end").text("error").text("warnings");
    for measure in MEASURES {
        head = head.text(measure.name);
    }
    head.end();
    for record in &result.records {
        let mut row =
            values(CsvRow::new(&mut bytes).int(record.cell as u64), grid, record.cell).int(u64::from(record.replication));
        row = row.text(&record.end).text(record.error.as_deref().unwrap_or("")).text(&record.warnings.join(" "));
        for place in 0..MEASURES.len() {
            row = row.float(record.values.get(place).and_then(|entry| entry.value()));
        }
        row.end();
    }
    bytes
}

/// A row per cell and measure: the cell minus the baseline, paired by replication.
pub fn differences_csv(result: &SweepResult) -> Vec<u8> {
    let grid = &result.description.grid;
    let mut bytes = Vec::new();
    let head = paths(CsvRow::new(&mut bytes).text("cell"), grid).text("baseline").text("measure").text("unit");
    head.text("difference").text("low").text("high").text("variance_reduction").text("replications").end();
    for found in result.differences() {
        let measure = &MEASURES[found.measure];
        let interval = found.paired.difference.interval();
        values(CsvRow::new(&mut bytes).int(found.cell as u64), grid, found.cell)
            .int(result.description.baseline as u64)
            .text(measure.name)
            .text(measure.unit.name())
            .float(Some(found.paired.difference.mean))
            .float(interval.map(|i| i.low))
            .float(interval.map(|i| i.high))
            .float(found.paired.variance_reduction)
            .int(found.paired.difference.samples as u64)
            .end();
    }
    bytes
}
