//! The answer on one screen, as an engineer would sign it.

use std::fmt::Write as _;

use crate::experiment::plan::{Answer, Judgement, Note, Outcome, Quest, Verdict};
use crate::report::wrap;
use crate::report::wrap::COLUMNS;
use crate::stats::text::significant;

use super::settings::{dynamo_settings, guidance};
use super::{Proposal, words};

/// The text.
pub fn plan_text(answer: &Answer, proposal: Option<&Proposal>) -> String {
    let mut text = wrap("", &headline(answer), 0, COLUMNS);
    text.push_str(&wrap("  for ", &premises(answer), 6, COLUMNS));
    table(answer, &mut text);
    let mut lines = statements(answer, proposal);
    lines.extend(answer.description.bounds.iter().map(|b| {
        format!("closed form ({}): {} of these workers at least, since {}", b.form, significant(b.workers, 3), b.because)
    }));
    for line in lines {
        text.push_str(&wrap("- ", &line, 2, COLUMNS));
    }
    sensitivity(answer, &mut text);
    if let Some(proposal) = proposal.filter(|_| answer.outcome != Outcome::Infeasible) {
        text.push_str("to type:\n");
        for typed in dynamo_settings(&proposal.fleet) {
            let _ = writeln!(text, "  {:<10} {}", typed.place, typed.text);
        }
    }
    text.push_str(&wrap("rests on ", &evidence(answer), 2, COLUMNS));
    text
}

/// Margin, what lies beside the answer, what binds, and what else is to be known.
pub(super) fn statements(answer: &Answer, proposal: Option<&Proposal>) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(margin(answer));
    lines.extend(next_worse(answer));
    lines.extend(binds(answer));
    lines.extend(answer.notes.iter().map(|n| note(answer, n)));
    lines.extend(proposal.map_or(Vec::new(), |p| guidance(&p.fleet)));
    lines
}

/// What the n-th cell that is shown is: nothing to say of the answer.
pub(super) fn role(answer: &Answer, n: usize) -> &'static str {
    match (n, answer.chosen, &answer.description.quest) {
        (0, Some(_), _) => "",
        (_, None, _) => " (the nearest)",
        (_, _, Quest::Best { .. }) => " (the second best)",
        _ => " (the next worse)",
    }
}

/// The answer in one sentence.
pub(super) fn headline(answer: &Answer) -> String {
    let d = &answer.description;
    let chosen = answer.chosen.map(|cell| words::cell(d, cell));
    match (answer.outcome, &d.quest, chosen) {
        (Outcome::Met, Quest::Fewest { .. }, Some(chosen)) => {
            format!("{}: {chosen} {} the targets, and nothing less does", d.name, words::agreeing("meet", &chosen))
        }
        (Outcome::Met, Quest::Most { .. }, Some(chosen)) => format!("{}: the targets hold up to {chosen}", d.name),
        (Outcome::Met, Quest::Best { measure }, Some(chosen)) => {
            format!("{}: best {measure} under the targets with {chosen}", d.name)
        }
        (Outcome::Met, Quest::Cheapest { .. }, Some(chosen)) => {
            let cost = answer
                .chosen
                .and_then(|cell| d.quest.cost(cell))
                .map_or(String::new(), |c| format!(", cost {}", significant(c, 4)));
            format!("{}: the cheapest fleet that meets the targets is {chosen}{cost}", d.name)
        }
        (Outcome::Undecided, _, Some(chosen)) => {
            format!("{}: undecided: {chosen} by the means, but the runs that were allowed do not tell", d.name)
        }
        (Outcome::Undecided, ..) => {
            format!("{}: undecided: nothing meets the targets by the means, but the runs do not tell", d.name)
        }
        (Outcome::Infeasible | Outcome::Met, ..) => format!("{}: infeasible: {}", d.name, infeasible(answer)),
    }
}

fn infeasible(answer: &Answer) -> String {
    let d = &answer.description;
    if let Some(Note::Contradiction(a, b)) = answer.notes.first() {
        return format!("no value meets both `{}` and `{}`", d.goals[*a], d.goals[*b]);
    }
    let Some(cell) = answer.next else { return "no setting meets the targets".to_owned() };
    let missed: Vec<String> = answer.missed(cell).into_iter().map(|place| format!("`{}`", d.goals[place])).collect();
    let what = match (missed.is_empty(), answer.judgement(cell)) {
        (false, _) => missed.join(" and "),
        (true, Some(judgement)) if judgement.saturated => "the load: more is offered than is served".to_owned(),
        (true, _) => "the targets".to_owned(),
    };
    let nearest = words::cell(d, cell);
    format!("not even {nearest} {} {what}", words::agreeing("keep", &nearest))
}

/// What the answer holds for.
pub(super) fn premises(answer: &Answer) -> String {
    let d = &answer.description;
    let conditions = words::conditions(d).map_or(String::new(), |c| format!(", {c}"));
    format!("{}{conditions}; each verdict {} sure", words::goals(d), words::percent_of(d.confidence))
}

/// The targets at the answer and at the next worse choice.
fn table(answer: &Answer, text: &mut String) {
    let d = &answer.description;
    for (n, cell) in answer.chosen.into_iter().chain(answer.next).enumerate() {
        let Some(judgement) = answer.judgement(cell) else { continue };
        let role = role(answer, n);
        let wanted = match &d.quest {
            Quest::Best { measure } => format!(": {measure} {}", objective(answer, cell, measure)),
            Quest::Cheapest { .. } => d.quest.cost(cell).map_or(String::new(), |cost| format!(": cost {}", significant(cost, 4))),
            _ => String::new(),
        };
        let runs = if judgement.runs == 1 { "1 run".to_owned() } else { format!("{} runs", judgement.runs) };
        let _ = writeln!(text, "{}{role}{wanted}, {runs}", words::cell(d, cell));
        for (goal, judged) in d.goals.iter().zip(&judgement.goals) {
            let verdict = match judged.verdict {
                Verdict::Undecided => "unclear",
                verdict => verdict.name(),
            };
            text.push_str(&wrap(&format!("  {verdict:<8}"), &words::shown(goal, judged), 10, COLUMNS));
        }
    }
}

/// The mean of the objective over a cell's runs.
pub(super) fn objective(answer: &Answer, cell: usize, measure: &str) -> String {
    let values: Vec<f64> = answer
        .records
        .iter()
        .filter(|record| record.key.variant == 0 && record.key.cell == cell)
        .filter_map(|record| record.value(measure))
        .collect();
    let Some(found) = crate::experiment::measure_table::Measure::find(measure).filter(|_| !values.is_empty()) else {
        return "-".to_owned();
    };
    crate::report::sweep::axes::show_value(found.unit, values.iter().sum::<f64>() / values.len() as f64)
}

fn margin(answer: &Answer) -> Option<String> {
    let judgement = answer.judgement(answer.chosen?)?;
    let each: Vec<String> =
        answer.description.goals.iter().zip(&judgement.goals).filter_map(|(goal, judged)| words::margin(goal, judged)).collect();
    (!each.is_empty()).then(|| format!("margin: {}", each.join("; ")))
}

/// The next worse choice, and which target it breaks.
fn next_worse(answer: &Answer) -> Option<String> {
    let (d, cell) = (&answer.description, answer.next.filter(|_| answer.chosen.is_some())?);
    // Another setting is no step down from the best.
    if matches!(d.quest, Quest::Best { .. }) && answer.missed(cell).is_empty() {
        return None;
    }
    let judgement = answer.judgement(cell)?;
    let missed: Vec<String> = answer.missed(cell).into_iter().map(|place| format!("`{}`", d.goals[place])).collect();
    let name = words::cell(d, cell);
    Some(match (missed.is_empty(), judgement.verdict) {
        (true, _) if judgement.saturated => format!("with {name} more is offered than is served"),
        (true, _) => format!("with {name} the targets hold too"),
        (false, Verdict::Missed) => format!("with {name} it breaks {}", missed.join(" and ")),
        (false, _) => format!("with {name} it breaks {} by the mean, but not surely", missed.join(" and ")),
    })
}

fn binds(answer: &Answer) -> Option<String> {
    let cell = answer.bound()?;
    if answer.bindings.is_empty() {
        return None;
    }
    let what = answer.bindings.iter().map(words::binding).collect::<Vec<_>>().join("; ");
    Some(format!("what binds, with {}: {what}", words::cell(&answer.description, cell)))
}

/// A note in words.
pub(super) fn note(answer: &Answer, note: &Note) -> String {
    let d = &answer.description;
    match note {
        Note::Contradiction(a, b) => format!("`{}` and `{}` contradict each other: nothing was run", d.goals[*a], d.goals[*b]),
        Note::AtTheEnd => "the first value of the range meets the targets: beyond it nothing was looked for (`range`)".to_owned(),
        Note::NotMonotone(meets, misses) => format!(
            "not monotone: {} meet the targets, but {} do not, although they were expected to: the answer holds for its own value only; \
             see cells.csv, or sweep the range",
            words::cell(d, *meets),
            words::cell(d, *misses)
        ),
        Note::Turns(nearest, last) => format!(
            "not monotone: {} miss the targets by less than {}, although those were expected to be easier; between the values that \
             were looked at there may be better ones",
            words::cell(d, *nearest),
            words::cell(d, *last)
        ),
        Note::Edge(axes) => {
            let names: Vec<String> = axes.iter().map(|axis| words::axis(d, &d.grid.axes[*axis])).collect();
            format!("the best lies at an end of the values of {}: beyond them there may be better ones", names.join(" and "))
        }
        Note::Saturated(cell) => format!(
            "with {} more is offered than is served: its latencies grow with the length of the run",
            words::cell(d, *cell)
        ),
        Note::WouldDecide(factor) => {
            format!("about {} times as much simulated would decide: {}", significant(*factor, 2), budget(answer, *factor))
        }
        Note::Alike(cells) => {
            let names: Vec<String> = cells.iter().map(|cell| words::cell(d, *cell)).collect();
            format!("cannot be told apart from the best by paired runs: {}", names.join("; "))
        }
    }
}

/// What to ask for so that `factor` times as much is simulated.
fn budget(answer: &Answer, factor: f64) -> String {
    let d = &answer.description;
    let open = answer.looked.iter().filter(|looked| [answer.chosen, answer.next].contains(&Some(looked.cell)));
    let all_looks = open.into_iter().any(|looked| looked.judgement.runs >= d.looks.most());
    match d.looks.horizon(0).filter(|_| all_looks) {
        // Every cell has had all its looks: only longer runs say more.
        Some(first) => format!("`--run-length {}s`", (first.as_secs_f64() * factor).ceil()),
        None => format!("`--max-runs {:.0}`", (answer.runs() as f64 * factor).ceil().max(answer.runs() as f64 + 1.0)),
    }
}

fn sensitivity(answer: &Answer, text: &mut String) {
    if answer.shifts.is_empty() {
        return;
    }
    text.push_str("what would change it (by the means of runs with the same random numbers):\n");
    for shift in &answer.shifts {
        let at: Vec<String> =
            answer.description.goals.iter().zip(&shift.judgement.goals).map(|(goal, judged)| figure(goal, judged)).collect();
        let _ = writeln!(text, "  {:<27} {:<24} {}", words::variant(shift.variant), words::shift(answer, shift), at.join(", "));
    }
}

/// A target's measure with what the runs show of it.
pub(super) fn figure(goal: &crate::experiment::plan::Goal, judged: &crate::experiment::plan::Judged) -> String {
    let value = judged.figure.map_or("-".to_owned(), |value| crate::report::sweep::axes::show_value(goal.unit(), value));
    format!("{} {value}", goal.measure)
}

/// What was run.
pub(super) fn evidence(answer: &Answer) -> String {
    let (d, runs) = (&answer.description, answer.runs());
    let more = answer.records.len() - runs;
    let and = if more > 0 { format!(" and {more} for what would change it") } else { String::new() };
    format!("{runs} runs (of {} allowed) of {} cells{and}: {}; seed {}", d.max_runs, answer.looked.len(), words::looks(d), d.seed)
}

/// The scenario of the answer as a file, with what it is in a comment.
pub fn plan_toml(answer: &Answer, proposal: &Proposal) -> (String, String) {
    let comment = |text: &str| wrap("# ", text, 0, COLUMNS).replace('\n', "\n# ").trim_end_matches("# ").to_owned();
    let head = comment(&headline(answer));
    let fleet = format!("{head}{}", proposal.fleet.to_toml());
    let how = "As the planner tested it, under the conditions of the plan: `shedcast run` with this file repeats replication 0.";
    (fleet, format!("{head}{}{}", comment(how), proposal.proof.to_toml()))
}

impl Answer {
    /// The judgement of the cell that is the answer.
    pub fn chosen_judgement(&self) -> Option<&Judgement> {
        self.judgement(self.chosen?)
    }
}
