//! The page of a plan.

use crate::experiment::plan::{Answer, Outcome, Quest, Verdict};
use crate::report::charts::DataTable;
use crate::report::html::{Page, Tile};
use crate::stats::text::significant;

use super::text::{evidence, figure, headline, premises, role, statements};
use super::{Proposal, dynamo_settings, plan_figures, plan_toml, words};

/// Most characters of an answer in a tile.
const MOST_IN_TILE: usize = 24;

/// `report.html` of a plan: the answer in words, the targets, what to type, then charts, sensitivity, the scenario of the answer and the
/// method.
pub fn plan_page(answer: &Answer, proposal: Option<&Proposal>) -> String {
    let d = &answer.description;
    let said = headline(answer);
    let finding = said.strip_prefix(&format!("{}: ", d.name)).unwrap_or(&said);
    let mut page = Page::new("plan", &d.name, finding);
    page.stands_alone();
    page.subtitle(&format!("For {}.", premises(answer)));
    page.tiles(&tiles(answer));
    page.section("Verdict");
    page.points(&statements(answer, proposal).iter().map(|said| sentence(said)).collect::<Vec<_>>());
    page.section("Targets");
    page.table("The targets at the answer and beside it", &targets(answer));
    if let Some(proposal) = proposal.filter(|_| answer.outcome != Outcome::Infeasible) {
        page.section("To type");
        let typed = dynamo_settings(&proposal.fleet);
        page.points(&typed.iter().map(|typed| format!("{}: `{}`", typed.place, typed.text)).collect::<Vec<_>>());
    }
    page.section("Charts");
    let figures = plan_figures(answer);
    if figures.is_empty() {
        page.text("Nothing was run, so there is nothing to draw.");
    }
    figures.iter().for_each(|figure| page.chart(&figure.name, &figure.chart));
    if !answer.shifts.is_empty() {
        page.section("What would change it");
        page.text("By the means of runs with the same random numbers.");
        page.table("What would change it", &shifts(answer));
    }
    page.section("Scenario");
    d.description.iter().for_each(|said| page.text(said));
    match proposal {
        Some(proposal) => page.source("The scenario of the answer (`answer.toml`)", &plan_toml(answer, proposal).0),
        None => page.text("No setting is the answer, so there is no scenario of it."),
    }
    page.section("Method");
    page.points(&method(answer));
    page.finish()
}

/// With a capital letter, unless it begins with the name of a field.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let is_field = text.split(' ').next().is_some_and(|word| word.contains(['_', '.', '`']));
    match chars.next() {
        Some(first) if !is_field => first.to_uppercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

fn tiles(answer: &Answer) -> Vec<Tile> {
    let d = &answer.description;
    let outcome = match answer.outcome {
        Outcome::Met => "met",
        Outcome::Undecided => "undecided",
        Outcome::Infeasible => "infeasible",
    };
    let chosen = answer.chosen.map_or("none".to_owned(), |cell| words::cell(d, cell));
    let next = answer
        .next
        .filter(|_| answer.chosen.is_some())
        .map_or(String::new(), |cell| format!("beside it: {}", words::cell(d, cell)));
    let mut tiles = vec![
        Tile::new("Targets", outcome, format!("each verdict {} sure", words::percent_of(d.confidence))),
        Tile::new("Runs", answer.runs().to_string(), format!("of {} allowed", d.max_runs)),
    ];
    // A long one stands in the heading and has no room here.
    if chosen.chars().count() <= MOST_IN_TILE {
        tiles.insert(1, Tile::new("Answer", chosen, next));
    }
    tiles
}

/// The targets at the answer and at the cell beside it.
fn targets(answer: &Answer) -> DataTable {
    let d = &answer.description;
    let mut rows = Vec::new();
    for (n, cell) in answer.chosen.into_iter().chain(answer.next).enumerate() {
        let Some(judgement) = answer.judgement(cell) else { continue };
        for (goal, judged) in d.goals.iter().zip(&judgement.goals) {
            let verdict = if judged.verdict == Verdict::Undecided { "unclear" } else { judged.verdict.name() };
            let setting = format!("{}{}", words::cell(d, cell), role(answer, n));
            rows.push(vec![
                setting,
                words::goal(goal),
                verdict.to_owned(),
                words::shown(goal, judged),
                judgement.runs.to_string(),
            ]);
        }
    }
    let columns = ["setting", "target", "verdict", "what the runs show", "runs"].map(str::to_owned).to_vec();
    DataTable { columns, rows, note: String::new() }
}

fn shifts(answer: &Answer) -> DataTable {
    let goals = &answer.description.goals;
    let answered = if matches!(answer.description.quest, Quest::Fewest { .. } | Quest::Most { .. }) {
        "the answer is then"
    } else {
        "the answer"
    };
    let row = |shift: &crate::experiment::plan::Shift| {
        let figures = goals.iter().zip(&shift.judgement.goals).map(|(goal, judged)| figure(goal, judged));
        [words::variant(shift.variant), words::shift(answer, shift)].into_iter().chain(figures).collect()
    };
    let columns = ["with", answered].into_iter().map(str::to_owned).chain(goals.iter().map(|goal| goal.text.clone())).collect();
    DataTable { columns, rows: answer.shifts.iter().map(row).collect(), note: String::new() }
}

fn method(answer: &Answer) -> Vec<String> {
    let d = &answer.description;
    let mut said = vec![
        format!("Rests on {}.", evidence(answer)),
        "Every setting meets the same random numbers; a setting is looked at again until each target is met or missed surely, or the runs \
         that are allowed are spent. Undecided is an answer too."
            .to_owned(),
        "`runs.csv` has every run, `cells.csv` every setting that was looked at, `proof.toml` the scenario as it was tested.".to_owned(),
    ];
    said.extend(d.bounds.iter().map(|b| {
        format!("Closed form ({}): {} of these workers at least, since {}.", b.form, significant(b.workers, 3), b.because)
    }));
    said
}
