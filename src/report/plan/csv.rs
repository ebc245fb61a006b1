//! `runs.csv` and `cells.csv` of a plan.

use crate::experiment::measure_table::{MEASURES, Measure};
use crate::experiment::plan::{Answer, Description};
use crate::experiment::sweep::grid::plain;
use crate::stats::CsvRow;

fn paths<'a>(mut row: CsvRow<'a>, d: &Description) -> CsvRow<'a> {
    for path in d.grid.axes.iter().flat_map(|axis| &axis.paths) {
        row = row.text(path);
    }
    row
}

fn values<'a>(mut row: CsvRow<'a>, d: &Description, cell: usize) -> CsvRow<'a> {
    for (_, value) in d.grid.settings(cell) {
        row = row.text(&plain(value));
    }
    row
}

/// A row per run: which it is, how long, its measures, and those of targets that are not among them.
pub fn plan_runs_csv(answer: &Answer) -> Vec<u8> {
    let d = &answer.description;
    let extra: Vec<usize> =
        (0..d.goals.len()).filter(|n| d.goals[*n].class.is_some() || Measure::find(&d.goals[*n].measure).is_none()).collect();
    let mut bytes = Vec::new();
    let mut head = paths(CsvRow::new(&mut bytes).text("variant").text("factor").text("cell"), d);
    head = head.text("replication").text("horizon").text("end").text("warnings");
    for measure in MEASURES {
        head = head.text(measure.name);
    }
    for place in &extra {
        let goal = &d.goals[*place];
        head = head.text(&goal.class.as_ref().map_or(goal.measure.clone(), |class| format!("{class}:{}", goal.measure)));
    }
    head.end();
    for record in &answer.records {
        let variant = d.variants[record.key.variant];
        let row = CsvRow::new(&mut bytes).text(variant.name()).float(Some(variant.factor())).int(record.key.cell as u64);
        let row = values(row, d, record.key.cell).int(u64::from(record.key.replication));
        let mut row = row.float(d.looks.horizon(record.key.replication).map(|at| at.as_secs_f64()));
        row = row.text(&record.end).text(&record.warnings.join(" "));
        for place in 0..MEASURES.len() {
            row = row.float(record.values.get(place).and_then(|entry| entry.value()));
        }
        for place in &extra {
            row = row.float(record.goals.get(*place).and_then(|evidence| evidence.figure));
        }
        row.end();
    }
    bytes
}

/// A row per cell that was looked at and target: what its runs say.
pub fn plan_cells_csv(answer: &Answer) -> Vec<u8> {
    let d = &answer.description;
    let mut bytes = Vec::new();
    let head = paths(CsvRow::new(&mut bytes).text("cell"), d).text("cost").text("runs").text("verdict").text("saturated");
    let head = head.text("target").text("value").text("tested").text("bound").text("low").text("high");
    head.text("batches").text("target_verdict").end();
    for looked in &answer.looked {
        let judgement = &looked.judgement;
        for (goal, judged) in d.goals.iter().zip(&judgement.goals) {
            let row = values(CsvRow::new(&mut bytes).int(looked.cell as u64), d, looked.cell);
            let row = row.float(d.quest.cost(looked.cell)).int(judgement.runs as u64).text(judgement.verdict.name());
            let row = row.flag(judgement.saturated).text(&goal.text).float(judged.figure).float(judged.tested);
            let (low, high) = judged.interval.unzip();
            let row = row.float(Some(goal.tested().0)).float(low).float(high).int(judged.batches as u64);
            row.text(judged.verdict.name()).end();
        }
    }
    bytes
}
