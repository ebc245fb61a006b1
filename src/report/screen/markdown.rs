//! Blocks as Markdown (with tables as GitHub and GitLab know them).

use super::{Block, List, Screen, Table};

impl Screen {
    /// The blocks as Markdown, every column of every table.
    pub fn to_markdown(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut lead = self.lead.iter();
        parts.extend(lead.next().map(|finding| format!("**{}**\n", escape(finding))));
        parts.extend(lead.map(|said| format!("{}\n", escape(said))));
        for block in &self.blocks {
            parts.push(match block {
                Block::Text(said) => format!("{}\n", escape(said)),
                Block::Facts(facts) => facts
                    .iter()
                    .map(|fact| {
                        let said: Vec<String> = fact.said.iter().map(|said| escape(said)).collect();
                        format!("- **{}**: {}\n", fact.name, said.join("; "))
                    })
                    .collect(),
                Block::Table(of) => table(of),
                Block::List(of) => list(of),
            });
        }
        parts.join("\n")
    }
}

fn table(table: &Table) -> String {
    let line = |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let names = table.columns.iter().map(|column| escape(&column.name));
    let head = line(&mut std::iter::once(escape(&table.title)).chain(names));
    let rule = line(&mut std::iter::once("---".to_owned()).chain(table.columns.iter().map(|_| "---:".to_owned())));
    let rows = table.rows.iter().map(|row| line(&mut std::iter::once(&row.name).chain(&row.cells).map(|cell| escape(cell))));
    let notes = table.notes.iter().map(|note| format!("\n{}\n", escape(note)));
    [head, rule].into_iter().chain(rows).chain(notes).collect()
}

fn list(list: &List) -> String {
    let mut text = if list.title.is_empty() { String::new() } else { format!("**{}**\n\n", escape(&list.title)) };
    for item in &list.items {
        let hint = item.hint.as_ref().map(|hint| format!(" *Hint: {}*", escape(hint))).unwrap_or_default();
        text.push_str(&format!("- {}{hint}\n", escape(&item.text)));
    }
    if !list.more.is_empty() {
        text.push_str(&format!("\n{}\n", escape(&list.more)));
    }
    text
}

/// Text in which nothing is taken for markup; what stands in back quotes stays code.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut code = false;
    // Without a partner a back quote is a character like any other.
    let mut quotes = text.matches('`').count();
    for (at, c) in text.char_indices() {
        match c {
            '`' if code || quotes > 1 => {
                code = !code;
                quotes -= 1;
                out.push('`');
            }
            '|' => out.push_str("\\|"),
            '\n' | '\r' => out.push(' '),
            // Within a word it means nothing.
            '_' if out.ends_with(char::is_alphanumeric) && text[at + 1..].starts_with(char::is_alphanumeric) => out.push(c),
            '\\' | '*' | '_' | '<' | '[' | ']' | '`' if !code => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{Column, Fact, Item, Row};
    use super::*;

    #[test]
    fn blocks_become_tables_and_lists() {
        let screen = Screen {
            lead: vec!["12 % refused".to_owned(), "a_b: 1m".to_owned()],
            blocks: vec![
                Block::Facts(vec![Fact {
                    name: "requests",
                    said: vec!["1 offered = 1 completed".to_owned(), "by *reason*".to_owned()],
                }]),
                Block::Table(Table {
                    title: "phases".to_owned(),
                    columns: Column::of([("from", 0), ("p99 ttft", 1)]),
                    rows: vec![Row { name: "a|b".to_owned(), cells: vec!["0s".to_owned(), "1.00 s".to_owned()] }],
                    notes: vec!["a note".to_owned()],
                    ..Table::default()
                }),
                Block::List(List {
                    title: "warnings".to_owned(),
                    items: vec![Item { text: "`a_b` is <odd>".to_owned(), hint: Some("set it".to_owned()) }],
                    more: String::new(),
                    warns: true,
                }),
            ],
        };
        insta::assert_snapshot!(screen.to_markdown());
    }
}
