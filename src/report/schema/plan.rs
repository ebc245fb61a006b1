//! Schemas of what a plan writes.

use serde_json::{Value, json};

use super::results::{journal_of, of};
use super::shapes::{by_name, count, flag, list, number, object, one_of, or_null, partial_object, text};
use crate::experiment::plan::journal::Header;
use crate::experiment::plan::{Description, Record};

const VERDICTS: [&str; 3] = ["met", "missed", "undecided"];

/// `plan-journal.jsonl`, line by line.
pub(super) fn plan_journal() -> Value {
    journal_of::<Header, Record>("A line of the journal of a plan")
}

/// `plan.json`: the description of the plan, and what was found.
pub(super) fn plan() -> Value {
    let mut schema = of::<Description>();
    let fields = schema.as_object_mut().expect("a struct is an object");
    fields.insert("title".to_owned(), json!("Plan"));
    fields.insert("description".to_owned(), json!("A plan and its answer. What does not exist is null, never 0."));
    fields.insert("additionalProperties".to_owned(), json!(false));
    let said =
        |names: &[&str]| object("", vec![("code", one_of("Which note it is.", names)), ("says", text("The note in words."))]);
    let notes = ["contradiction", "at_the_end", "not_monotone", "turns", "edge", "saturated", "would_decide", "alike"].as_slice();
    let more = [
        ("verdict", one_of("How it ended.", &["met", "infeasible", "undecided"])),
        ("answer", or_null(cell("The answer, or what seems to be it."))),
        ("next_worse", or_null(cell("The next worse choice; without an answer, the cell that comes nearest."))),
        ("says", text("The answer in a sentence.")),
        ("runs", count("Runs of the search.")),
        ("sensitivity_runs", count("Runs for what would change the answer, on top.")),
        ("cells", list("Cells that were looked at, in their order.", cell(""))),
        ("binds", list("What binds where the targets break.", binding())),
        ("sensitivity", list("What would change the answer.", shift())),
        ("notes", list("What else is to be known.", said(notes))),
        ("guidance", list("How N stands to the engine's seats, by worker type.", json!({ "type": "string" }))),
        ("settings", list("What to type.", setting())),
    ];
    for (name, property) in more {
        fields["properties"][name] = property;
        fields["required"].as_array_mut().expect("some fields are required").push(json!(name));
    }
    schema
}

fn settings() -> Value {
    by_name("Value of each field of the grid.", json!({ "type": "string" }))
}

fn cell(about: &str) -> Value {
    let always = vec![("cell", count("Number of the cell, from 0.")), ("settings", settings())];
    let looked_at = vec![
        ("cost", or_null(number("Cost of its fleet, if costs are asked for."))),
        ("runs", count("Its runs.")),
        ("verdict", one_of("Of all targets.", &VERDICTS)),
        ("meets_by_mean", flag("Whether all tested values are on the good side, and the cell is stable.")),
        ("saturated", flag("Whether more is offered than is served.")),
        ("bounded", or_null(text("The bound of `[limits]` that a run reached."))),
        ("targets", targets()),
    ];
    partial_object(about, always, looked_at)
}

fn targets() -> Value {
    let target = object(
        "",
        vec![
            ("target", text("As it was written.")),
            ("value", or_null(number("The measure."))),
            (
                "tested",
                or_null(number("What is held against `bound`: the measure, or of a quantile the share of requests beyond it.")),
            ),
            ("bound", number("What `tested` must keep.")),
            ("low", or_null(number("Lower end of the interval of `tested`."))),
            ("high", or_null(number("Upper end of the interval of `tested`."))),
            ("batches", count("Stretches that were counted as independent.")),
            ("verdict", one_of("What the interval says.", &VERDICTS)),
        ],
    );
    list("What the runs say of each target.", target)
}

fn binding() -> Value {
    object(
        "",
        vec![
            ("what", text("A check of refusals, or a resource that is full.")),
            ("value", number("Share of the refusals, or of the resource; requests or preemptions.")),
            ("says", text("The same in words.")),
        ],
    )
}

fn shift() -> Value {
    let of = ["rate", "input_tokens", "output_tokens", "step_time", "telemetry_delay"];
    object(
        "",
        vec![
            ("of", one_of("What differs.", &of)),
            ("factor", number("Times as much.")),
            ("meets_by_mean", flag("Whether the answer would still keep the targets.")),
            ("answer", or_null(settings())),
            ("targets", targets()),
        ],
    )
}

fn setting() -> Value {
    let places = ["frontend", "replicas", "worker", "post"];
    object("", vec![("place", one_of("Where it is typed.", &places)), ("text", text("What is typed."))])
}
