//! The blocks of a text in a page.

use super::escape::{escape, sentence};
use super::figure::opened;
use crate::report::screen::{Block, Layout, List, Table};

/// One block; tables with every column.
pub(super) fn block(block: &Block) -> String {
    match block {
        Block::Text(said) => format!("<p>{}</p>\n", sentence(said)),
        Block::Facts(facts) => {
            let fact = |fact: &crate::report::screen::Fact| {
                let said: String = fact.said.iter().map(|said| format!("<dd>{}</dd>", sentence(said))).collect();
                format!("<dt>{}</dt>{said}\n", escape(fact.name))
            };
            format!("<dl>\n{}</dl>\n", facts.iter().map(fact).collect::<String>())
        }
        Block::Table(of) => table(of),
        Block::List(of) => list(of),
    }
}

/// The name of a column; a long name may break where its words end.
fn column(name: &str) -> String {
    escape(name).replace('_', "_<wbr>")
}

/// A figure; its interval stands below it.
fn cell(text: &str) -> String {
    match text.split_once(" [") {
        Some((mean, interval)) => format!("{} <span class=\"interval\">[{}</span>", escape(mean), escape(interval)),
        None => escape(text),
    }
}

fn table(table: &Table) -> String {
    let names: String = table.columns.iter().map(|c| format!("<th scope=\"col\">{}</th>", column(&c.name))).collect();
    let row = |row: &crate::report::screen::Row| {
        let cells: String = row.cells.iter().map(|cell| format!("<td>{}</td>", self::cell(cell))).collect();
        format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", escape(&row.name))
    };
    let rows: String = table.rows.iter().map(row).collect();
    let notes: String = table.notes.iter().map(|note| format!("<p class=\"note\">{}</p>\n", sentence(note))).collect();
    let opened = match table.layout {
        Layout::Figures => opened(&table.title),
        Layout::Listing => opened(&table.title).replacen("<table", "<table class=\"listing\"", 1),
    };
    format!(
        "{opened}<thead><tr><th scope=\"col\">{}</th>{names}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n{notes}",
        escape(&table.title)
    )
}

fn list(list: &List) -> String {
    let item = |item: &crate::report::screen::Item| {
        let hint = item.hint.as_ref().map(|hint| format!("<br><span class=\"hint\">Hint: {}</span>", sentence(hint)));
        format!("<li>{}{}</li>\n", sentence(&item.text), hint.unwrap_or_default())
    };
    let items: String = list.items.iter().map(item).collect();
    let more = if list.more.is_empty() { String::new() } else { format!("<p class=\"note\">{}</p>\n", escape(&list.more)) };
    let class = if list.warns { " class=\"warnings\"" } else { "" };
    // Warnings have a section of their own, which names them.
    let title = if list.title.is_empty() || list.warns { String::new() } else { format!("<h3>{}</h3>\n", escape(&list.title)) };
    format!("{title}<ul{class}>\n{items}</ul>\n{more}")
}
