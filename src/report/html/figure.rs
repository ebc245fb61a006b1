//! Charts and tables in a page.

use std::fmt::Write as _;

use super::escape::{escape, id};
use crate::report::charts::{Chart, DataTable, Sheet};

/// From this length on, in characters, a cell is a text that may take several lines.
const LONG: usize = 36;

/// A chart for wide and for narrow screens, and its numbers, folded.
pub(super) fn chart(name: &str, chart: &Chart) -> String {
    let id = id(name);
    let wide = chart.figure_on(Sheet::Wide).to_inline_svg(&format!("{id}-w"));
    let narrow = chart.figure_on(Sheet::Narrow).to_inline_svg(&format!("{id}-n"));
    let title = &chart.heading().title;
    format!(
        "<figure id=\"{id}\">\n<div class=\"chart wide\">{wide}</div>\n<div class=\"chart narrow\">{narrow}</div>\n\
         <details><summary>The numbers behind this chart</summary>\n{}</details>\n</figure>\n",
        data_table(title, &chart.table())
    )
}

/// A table that scrolls by itself where the screen is too narrow for it.
pub(super) fn data_table(caption: &str, table: &DataTable) -> String {
    let mut out = opened(caption);
    let head = table.columns.iter().map(|name| format!("<th scope=\"col\">{}</th>", escape(name)));
    push(&mut out, &format!("<thead><tr>{}</tr></thead>\n<tbody>\n", head.collect::<String>()));
    for row in &table.rows {
        let cells = row.iter().enumerate().map(|(i, cell)| match i {
            0 => format!("<th scope=\"row\">{}</th>", escape(cell)),
            _ if cell.chars().count() > LONG => format!("<td class=\"text\">{}</td>", escape(cell)),
            _ => format!("<td>{}</td>", escape(cell)),
        });
        push(&mut out, &format!("<tr>{}</tr>\n", cells.collect::<String>()));
    }
    out.push_str("</tbody></table></div>\n");
    if table.rows.is_empty() {
        out.push_str("<p class=\"note\">No data.</p>\n");
    }
    if !table.note.is_empty() {
        push(&mut out, &format!("<p class=\"note\">{}</p>\n", escape(&table.note)));
    }
    out
}

/// The start of a table in a box that can be scrolled by keyboard too.
pub(super) fn opened(caption: &str) -> String {
    let caption = escape(caption);
    format!("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table aria-label=\"{caption}\">\n")
}

fn push(out: &mut String, text: &str) {
    out.write_str(text).expect("writing to a string cannot fail");
}
