//! Blocks in columns of text.

use super::{Block, Fact, Layout, List, Row, Screen, Table, elided};
use crate::report::wrap::wrap;

/// Sentences are not set wider than this: longer lines are hard to read.
const WIDEST_SENTENCE: usize = 100;
/// Width of the names of facts.
const NAME: usize = 11;
/// Width of a column of figures.
const CELL: usize = 10;
/// Width of the names of rows that is kept free as long as that leaves a column.
const LABEL: usize = 30;
/// Least and greatest width that is made use of.
const USED: std::ops::RangeInclusive<usize> = 40..=160;

impl Screen {
    /// The blocks in lines of at most `columns` characters (held to 40 to 160); words longer than a line stay whole.
    pub fn to_text(&self, columns: usize) -> String {
        let columns = columns.clamp(*USED.start(), *USED.end());
        let sentence = columns.min(WIDEST_SENTENCE);
        let mut text: String = self.lead.iter().map(|said| wrap("", said, 0, sentence)).collect();
        for block in &self.blocks {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&match block {
                Block::Text(said) => wrap("", said, 0, sentence),
                Block::Facts(facts) => facts.iter().map(|of| fact(of, sentence)).collect(),
                Block::Table(table) if table.layout == Layout::Listing => listing(table, columns, sentence),
                Block::Table(table) => figures(table, columns, sentence),
                Block::List(of) => list(of, sentence),
            });
        }
        text
    }
}

fn fact(fact: &Fact, columns: usize) -> String {
    let names = std::iter::once(fact.name).chain(std::iter::repeat(""));
    let lines = fact.said.iter().zip(names).map(|(said, name)| wrap(&format!("{name:<NAME$}"), said, NAME, columns));
    lines.collect()
}

/// The `most` columns of the lowest rank, in their order.
fn kept(table: &Table, most: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..table.columns.len()).collect();
    places.sort_by_key(|place| table.columns[*place].rank);
    places.truncate(most);
    places.sort_unstable();
    places
}

fn figures(table: &Table, columns: usize, sentence: usize) -> String {
    let least = LABEL.min(columns / 2);
    let kept = kept(table, ((columns - least) / CELL).max(1));
    // What the columns leave free goes to the names, as far as they need it.
    let longest = table.rows.iter().map(|row| row.name.chars().count() + 4).max().unwrap_or(0);
    let label = (columns - CELL * kept.len()).min(longest.max(least));
    let line = |name: &str, cells: Vec<&str>| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>CELL$}")).collect();
        format!("{name:<label$}{cells}\n")
    };
    let pick = |row: &Row| line(&format!("  {}", elided(&row.name, label - 2)), of(&kept, |place| row.cells[place].as_str()));
    let head = line(&elided(&table.title, label - 1), of(&kept, |place| table.columns[place].name.as_str()));
    let rows: String = table.rows.iter().map(pick).collect();
    let notes: String = table.notes.iter().map(|note| wrap("  ", note, 2, sentence)).collect();
    format!("{head}{rows}{notes}")
}

fn of<'a>(kept: &[usize], cell: impl Fn(usize) -> &'a str) -> Vec<&'a str> {
    kept.iter().map(|place| cell(*place)).collect()
}

fn listing(table: &Table, columns: usize, sentence: usize) -> String {
    // Columns lie beside each other where all of them have room.
    let width = |of: &dyn Fn(&Row) -> &str, head: &str| {
        table.rows.iter().map(|row| of(row).chars().count()).chain([head.chars().count()]).max().unwrap_or(0)
    };
    let label = width(&|row| &row.name, &table.title);
    let widths: Vec<usize> =
        table.columns.iter().enumerate().map(|(i, c)| width(&|row| row.cells[i].as_str(), &c.name)).collect();
    let total = label + 2 + widths.iter().map(|width| width + 2).sum::<usize>();
    let notes: String = table.notes.iter().map(|note| wrap("  ", note, 2, sentence)).collect();
    if total > columns {
        return format!("{}{notes}", table.rows.iter().map(|row| told(table, row, sentence)).collect::<String>());
    }
    let line = |name: &str, cells: &mut dyn Iterator<Item = &str>| {
        let cells: String = cells.zip(&widths).map(|(cell, width)| format!("  {cell:<width$}")).collect();
        format!("{}\n", format!("  {name:<label$}{cells}").trim_end())
    };
    let head = line(&table.title, &mut table.columns.iter().map(|column| column.name.as_str()));
    let rows: String = table.rows.iter().map(|row| line(&row.name, &mut row.cells.iter().map(String::as_str))).collect();
    format!("{head}{rows}{notes}")
}

/// A row as a sentence, what matters most first, for where the columns have no room beside each other.
fn told(table: &Table, row: &Row, columns: usize) -> String {
    let mut places: Vec<usize> = (0..table.columns.len()).collect();
    places.sort_by_key(|place| table.columns[*place].rank);
    let cells = places.into_iter().filter(|place| !row.cells[*place].is_empty());
    let cells: Vec<String> = cells.map(|place| format!("{} {}", table.columns[place].name, row.cells[place])).collect();
    wrap("  ", &format!("{} {}: {}", table.title, row.name, cells.join(", ")), 4, columns)
}

fn list(list: &List, columns: usize) -> String {
    let mut text = if list.title.is_empty() { String::new() } else { format!("{}\n", list.title) };
    let mark = if list.warns { "  ! " } else { "  " };
    for item in &list.items {
        text.push_str(&wrap(mark, &item.text, 4, columns));
        if let Some(hint) = &item.hint {
            text.push_str(&wrap("    hint: ", hint, 4, columns));
        }
    }
    if !list.more.is_empty() {
        text.push_str(&wrap("  ", &list.more, 2, columns));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::{Column, Item};
    use super::*;
    use proptest::prelude::*;

    fn table(layout: Layout, names: &[String]) -> Screen {
        let columns = Column::of([("mean", 1), ("p50", 2), ("p90", 3), ("p99", 0), ("max", 1)]);
        let row = |name: &String| Row { name: name.clone(), cells: ["1", "2", "3", "4", "12.5 %"].map(str::to_owned).to_vec() };
        let rows = names.iter().map(row).collect();
        let table = Table { title: "requests".to_owned(), columns, rows, notes: Vec::new(), layout };
        Screen { blocks: vec![Block::Table(table)], ..Screen::default() }
    }

    #[test]
    fn what_matters_least_goes_first_where_there_is_no_room() {
        let names = ["a name".to_owned()];
        insta::assert_snapshot!([40, 60, 80].map(|columns| table(Layout::Figures, &names).to_text(columns)).join("\n"));
        insta::assert_snapshot!([40, 60].map(|columns| table(Layout::Listing, &names).to_text(columns)).join("\n"));
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(names in prop::collection::vec("[a-z]{1,9}( [a-z]{1,9}){0,6}", 1..5), columns in 40usize..170) {
            let mut screen = table(Layout::Figures, &names);
            screen.lead = names.clone();
            let item = |text: &String| Item { text: text.clone(), hint: Some(text.clone()) };
            screen.blocks.push(Block::List(List {
                title: "warnings".to_owned(), items: names.iter().map(item).collect(), more: "and more".to_owned(), warns: true,
            }));
            screen.blocks.push(Block::Facts(vec![Fact { name: "rates", said: names.clone() }]));
            let text = screen.to_text(columns);
            prop_assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
        }
    }
}
