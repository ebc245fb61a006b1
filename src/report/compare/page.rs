//! A comparison as a page.

use super::screen::comparison_screen;
use crate::experiment::compare::Comparison;
use crate::report::html::Page;
use crate::report::screen::Block;

/// The comparison as one self-contained HTML file, with every measure.
pub fn comparison_page(comparison: &Comparison, broken: &[String]) -> String {
    let screen = comparison_screen(comparison, true, broken);
    let names: Vec<&str> = comparison.sides.iter().map(|side| side.name.as_str()).collect();
    let finding = screen.lead.first().map_or("", String::as_str);
    let mut page = Page::new("comparison", &names.join(" and "), finding);
    page.stands_alone();
    let is_warning = |block: &&Block| matches!(block, Block::List(list) if list.warns);
    let is_result = |block: &&Block| matches!(block, Block::Table(_)) && !is_scenario(block);
    page.section("Verdict");
    page.blocks(screen.blocks.iter().filter(is_warning));
    page.blocks(screen.blocks.iter().filter(|block| matches!(block, Block::List(list) if !list.warns)));
    page.section("Scenarios");
    page.blocks(screen.blocks.iter().filter(|block| is_scenario(block)));
    page.section("Results");
    page.blocks(screen.blocks.iter().filter(is_result));
    page.section("Method");
    let rest = screen.blocks.iter().filter(|block| matches!(block, Block::Text(_)) && !is_scenario(block));
    page.blocks(rest);
    page.finish()
}

/// Whether a block says what differs in the scenarios: the first after the list of sides.
fn is_scenario(block: &Block) -> bool {
    match block {
        Block::Table(table) => table.title.ends_with("in the scenarios"),
        Block::Text(text) => text.starts_with("the scenarios"),
        Block::Facts(_) | Block::List(_) => false,
    }
}
