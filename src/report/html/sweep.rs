//! The page of a sweep.

use crate::experiment::sweep::SweepResult;

use super::method;
use super::page::{Page, Tile};
use crate::report::screen::Block;
use crate::report::sweep::{best_figures, sweep_cells, sweep_figures, sweep_findings, sweep_headline, sweep_screen};

/// `report.html` of a sweep: which cells meet the targets, then charts, the cells, warnings, the scenario of the baseline cell and the method.
pub fn sweep_page(result: &SweepResult, resolved: &str) -> String {
    let description = &result.description;
    let screen = sweep_screen(result);
    // Ends of sentences that go on with a table.
    let finding = sweep_headline(result);
    let mut page = Page::new(
        "sweep",
        &description.name,
        finding.trim_end_matches("; the nearest ones:").trim_start_matches("targets: ").trim_end_matches(':'),
    );
    // What is not finished stands in the headline.
    screen.lead.iter().skip(usize::from(!result.is_complete())).take(1).for_each(|what| page.subtitle(what));
    let met = result.cells.iter().filter(|cell| cell.meets()).count();
    let mut tiles = vec![Tile::new("Cells", description.cells().to_string(), format!("{} runs", result.records.len()))];
    if !description.targets.is_empty() {
        let of = if result.is_complete() { "of" } else { "so far, of" };
        tiles.push(Tile::new("Cells that meet the targets", met.to_string(), format!("{of} {}", description.cells())));
    }
    tiles.extend(best_figures(result).into_iter().map(|figure| Tile::new(&figure.label, figure.value, figure.interval)));
    page.tiles(&tiles);
    page.section("Verdict");
    page.points(&sweep_findings(result));
    page.heading(match (result.is_complete(), result.ranking().is_empty()) {
        (false, _) => "The cells so far",
        (true, true) => "The nearest cells",
        (true, false) => "The best cells",
    });
    // The sentences of the screen stand among the findings.
    let told = |block: &&Block| matches!(block, Block::Table(_)) || matches!(block, Block::List(list) if !list.warns);
    page.blocks(screen.blocks.iter().filter(told));
    page.section("Charts");
    sweep_figures(result).iter().for_each(|figure| page.chart(&figure.name, &figure.chart));
    page.section("Cells");
    page.blocks([&Block::Table(sweep_cells(result))]);
    page.section("Warnings");
    let warnings: Vec<&Block> = screen.blocks.iter().filter(|block| matches!(block, Block::List(list) if list.warns)).collect();
    if warnings.is_empty() {
        page.text("None.");
    }
    page.blocks(warnings);
    page.section("Scenario");
    description.description.iter().for_each(|said| page.text(said));
    page.source("The scenario of the baseline cell, every default written out (`baseline.toml`)", resolved);
    page.section("Method");
    page.points(&method::sweep());
    page.finish()
}
