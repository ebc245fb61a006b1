//! `plan.json`: all of it, for machines.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::experiment::plan::{Answer, Binding, Description, Judgement, Note};
use crate::experiment::sweep::grid::plain;

use super::settings::{dynamo_settings, guidance};
use super::{Proposal, text, words};

/// The top of the file.
#[derive(Serialize)]
struct File<'a> {
    #[serde(flatten)]
    description: &'a Description,
    verdict: &'static str,
    answer: Value,
    next_worse: Value,
    says: String,
    runs: usize,
    sensitivity_runs: usize,
    cells: Vec<Value>,
    binds: Vec<Value>,
    sensitivity: Vec<Value>,
    notes: Vec<Value>,
    guidance: Vec<String>,
    settings: Vec<Value>,
}

/// The answer as JSON, indented.
pub fn plan_json(answer: &Answer, proposal: Option<&Proposal>) -> Vec<u8> {
    let file = File {
        description: &answer.description,
        verdict: answer.outcome.name(),
        answer: answer.chosen.map_or(Value::Null, |cell| one(answer, cell)),
        next_worse: answer.next.map_or(Value::Null, |cell| one(answer, cell)),
        says: text::headline(answer),
        runs: answer.runs(),
        sensitivity_runs: answer.records.len() - answer.runs(),
        cells: answer.looked.iter().map(|looked| one(answer, looked.cell)).collect(),
        binds: answer.bindings.iter().map(binds).collect(),
        sensitivity: answer
            .shifts
            .iter()
            .map(|shift| {
                json!({
                    "of": shift.variant.name(), "factor": shift.variant.factor(),
                    "meets_by_mean": shift.judgement.by_mean,
                    "answer": shift.cell.map(|cell| settings(&answer.description, cell)),
                    "targets": targets(&answer.description, &shift.judgement),
                })
            })
            .collect(),
        notes: answer.notes.iter().map(|note| json!({ "code": code(note), "says": text::note(answer, note) })).collect(),
        guidance: proposal.map_or(Vec::new(), |p| guidance(&p.fleet)),
        settings: proposal
            .map_or(Vec::new(), |p| dynamo_settings(&p.fleet))
            .into_iter()
            .map(|typed| json!({ "place": typed.place, "text": typed.text }))
            .collect(),
    };
    let mut bytes = serde_json::to_vec_pretty(&file).expect("plain data can be written");
    bytes.push(b'\n');
    bytes
}

const fn code(note: &Note) -> &'static str {
    match note {
        Note::Contradiction(..) => "contradiction",
        Note::AtTheEnd => "at_the_end",
        Note::NotMonotone(..) => "not_monotone",
        Note::Turns(..) => "turns",
        Note::Edge(_) => "edge",
        Note::Saturated(_) => "saturated",
        Note::WouldDecide(_) => "would_decide",
        Note::Alike(_) => "alike",
    }
}

fn settings(d: &Description, cell: usize) -> Value {
    let of = |(path, value): (&str, &str)| (path.to_owned(), json!(plain(value)));
    Value::Object(d.grid.settings(cell).into_iter().map(of).collect::<Map<String, Value>>())
}

fn one(answer: &Answer, cell: usize) -> Value {
    let d = &answer.description;
    let Some(judgement) = answer.judgement(cell) else { return json!({ "cell": cell, "settings": settings(d, cell) }) };
    json!({
        "cell": cell, "settings": settings(d, cell), "cost": d.quest.cost(cell), "runs": judgement.runs,
        "verdict": judgement.verdict.name(), "meets_by_mean": judgement.by_mean, "saturated": judgement.saturated,
        "bounded": judgement.bounded, "targets": targets(d, judgement),
    })
}

fn targets(d: &Description, judgement: &Judgement) -> Vec<Value> {
    let of = |(goal, judged): (&crate::experiment::plan::Goal, &crate::experiment::plan::Judged)| {
        let (low, high) = judged.interval.unzip();
        json!({
            "target": goal.text, "value": judged.figure, "tested": judged.tested, "bound": goal.tested().0, "low": low, "high": high,
            "batches": judged.batches, "verdict": judged.verdict.name(),
        })
    };
    d.goals.iter().zip(&judgement.goals).map(of).collect()
}

fn binds(binding: &Binding) -> Value {
    let (what, share) = match binding {
        Binding::Check { check, share } => (*check, *share),
        Binding::Kv(share) => ("kv", *share),
        Binding::Seats(share) => ("seats", *share),
        Binding::Slots(share) => ("slots", *share),
        Binding::Queue(share) => ("queue", *share),
        Binding::Prefill { waiting } => ("prefill_wait", *waiting),
        Binding::Preemptions(per) => ("preemptions", *per),
    };
    json!({ "what": what, "value": share, "says": words::binding(binding) })
}
