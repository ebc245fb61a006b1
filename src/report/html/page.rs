//! A page in the making.

use super::escape::{escape, id, sentence};
use super::{figure, screen};
use crate::report::charts::{Chart, DataTable, dark_css, light_css};
use crate::report::screen::Block;

/// What the page may load: nothing but the styles within it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";
const STYLE: &str = include_str!("style.css");

/// A figure at the top of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// What it is.
    pub label: String,
    /// The value with its unit.
    pub value: String,
    /// What it is to be seen against; may be empty.
    pub note: String,
}

impl Tile {
    /// A figure.
    pub fn new(label: &str, value: impl Into<String>, note: impl Into<String>) -> Self {
        Self { label: label.to_owned(), value: value.into(), note: note.into() }
    }
}

/// A self-contained page: a finding, then sections.
///
/// ```
/// use shedcast::report::html::Page;
///
/// let mut page = Page::new("run", "two workers", "nothing refused");
/// page.section("Method");
/// page.points(&["One run.".to_owned()]);
/// let html = page.finish();
/// assert!(html.starts_with("<!doctype html>") && html.contains("<h1>Nothing refused</h1>"));
/// ```
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    header: String,
    body: String,
    /// Ids and headings of the sections.
    sections: Vec<(String, String)>,
    /// What the last line says after the version.
    closing: &'static str,
}

impl Page {
    /// A page of the kind `kind` (`run`, `sweep`) about `name`, opening with what was found.
    pub fn new(kind: &str, name: &str, finding: &str) -> Self {
        let finding = capitalised(finding);
        Self {
            title: format!("{name}: {finding}"),
            header: format!(
                "<p class=\"kind\">shedcast {} · {}</p>\n<h1>{}</h1>\n",
                escape(kind),
                escape(name),
                sentence(&finding)
            ),
            body: String::new(),
            sections: Vec::new(),
            closing: "; `shedcast report` draws it again from the files beside it",
        }
    }

    /// Says in the last line that nothing draws the page again.
    pub fn stands_alone(&mut self) {
        self.closing = "";
    }

    /// A sentence below the finding: what ran.
    pub fn subtitle(&mut self, text: &str) {
        self.header += &format!("<p class=\"subtitle\">{}</p>\n", sentence(text));
    }

    /// Figures at the top, before all sections.
    pub fn tiles(&mut self, tiles: &[Tile]) {
        let tile = |tile: &Tile| {
            let note =
                if tile.note.is_empty() { String::new() } else { format!("<span class=\"note\">{}</span>", escape(&tile.note)) };
            format!(
                "<li><span class=\"label\">{}</span><span class=\"value\">{}</span>{note}</li>\n",
                escape(&tile.label),
                escape(&tile.value)
            )
        };
        self.header += &format!("<ul class=\"tiles\">\n{}</ul>\n", tiles.iter().map(tile).collect::<String>());
    }

    /// Begins a section, to which all that follows belongs.
    pub fn section(&mut self, heading: &str) {
        if !self.sections.is_empty() {
            self.body.push_str("</section>\n");
        }
        let id = format!("s-{}", id(heading));
        self.body += &format!("<section id=\"{id}\" aria-labelledby=\"{id}-h\">\n<h2 id=\"{id}-h\">{}</h2>\n", escape(heading));
        self.sections.push((id, heading.to_owned()));
    }

    /// A heading within a section.
    pub fn heading(&mut self, heading: &str) {
        self.body += &format!("<h3>{}</h3>\n", escape(heading));
    }

    /// A paragraph; back quotes mark code.
    pub fn text(&mut self, text: &str) {
        self.body += &format!("<p>{}</p>\n", sentence(text));
    }

    /// Sentences in a list; back quotes mark code.
    pub fn points(&mut self, points: &[String]) {
        let points: String = points.iter().map(|point| format!("<li>{}</li>\n", sentence(point))).collect();
        self.body += &format!("<ul>\n{points}</ul>\n");
    }

    /// Blocks of a text.
    pub fn blocks<'a>(&mut self, blocks: impl IntoIterator<Item = &'a Block>) {
        blocks.into_iter().for_each(|block| self.body.push_str(&screen::block(block)));
    }

    /// A chart with its numbers behind it. `name` tells it from the others of the page.
    pub fn chart(&mut self, name: &str, chart: &Chart) {
        self.body.push_str(&figure::chart(name, chart));
    }

    /// A table of numbers.
    pub fn table(&mut self, caption: &str, table: &DataTable) {
        self.body.push_str(&figure::data_table(caption, table));
    }

    /// A text as it stands in a file, folded.
    pub fn source(&mut self, caption: &str, text: &str) {
        self.body += &format!(
            "<details><summary>{}</summary>\n<pre tabindex=\"0\"><code>{}</code></pre></details>\n",
            sentence(caption),
            escape(text).replace('\u{a0}', " ")
        );
    }

    /// The file.
    pub fn finish(mut self) -> String {
        if !self.sections.is_empty() {
            self.body.push_str("</section>\n");
        }
        let links: String =
            self.sections.iter().map(|(id, heading)| format!("<li><a href=\"#{id}\">{}</a></li>\n", escape(heading))).collect();
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"shedcast {version}\">\n\
             <title>{title}</title>\n<style>\n{STYLE}{light}@media screen and (prefers-color-scheme: dark) {{\n{dark}}}\n</style>\n\
             </head>\n<body>\n<header>\n{header}</header>\n<nav aria-label=\"Sections\"><ul>\n{links}</ul></nav>\n\
             <main>\n{body}</main>\n<footer><p>Written by shedcast {version}{closing}.</p></footer>\n\
             </body>\n</html>\n",
            version = env!("CARGO_PKG_VERSION"),
            title = escape(&self.title),
            light = light_css(".chart"),
            dark = dark_css(".chart"),
            header = self.header,
            body = self.body,
            closing = sentence(self.closing),
        )
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::charts::data::{Heading, RefusalsData};

    #[test]
    fn a_page_is_whole_and_takes_nothing_from_elsewhere() {
        let mut page = Page::new("run", "<b>", "a & b");
        page.subtitle("`x` ran");
        page.tiles(&[Tile::new("refused", "1 %", "")]);
        page.section("Charts & co");
        page.chart(
            "charts/refusals",
            &Chart::Refusals(RefusalsData {
                heading: Heading { title: "t".into(), ..Heading::default() },
                ..RefusalsData::default()
            }),
        );
        page.section("Scenario");
        page.source("resolved", "a = \"<script>\"");
        let html = page.finish();
        assert!(
            !html.contains("<script") && !html.contains("http:") && !html.contains("https:") && !html.contains("url("),
            "{html}"
        );
        for tag in ["section", "figure", "details", "table", "svg", "div", "ul", "main", "header"] {
            assert_eq!(html.matches(&format!("<{tag}")).count(), html.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert!(
            html.contains("<title>&lt;b&gt;: A &amp; b</title>") && html.contains("<li><a href=\"#s-charts---co\">"),
            "{html}"
        );
    }
}
