//! What is told of results, apart from how it is laid out: one list of blocks for terminals, Markdown and HTML pages, so that
//! all of them say the same.

mod markdown;
mod text;

pub use super::wrap::COLUMNS;

/// Blocks from top to bottom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    /// The finding in a sentence, then what ran.
    pub lead: Vec<String>,
    /// All else.
    pub blocks: Vec<Block>,
}

/// One block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// Named facts.
    Facts(Vec<Fact>),
    /// Figures in rows and columns.
    Table(Table),
    /// Things in a row.
    List(List),
}

/// What is told under one name, in one or several sentences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The name, at most ten letters.
    pub name: &'static str,
    /// Each in a paragraph of its own.
    pub said: Vec<String>,
}

/// Figures in rows and columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What the rows are.
    pub title: String,
    /// The columns of figures.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Row>,
    /// Said below it.
    pub notes: Vec<String>,
    /// How it is laid out in text.
    pub layout: Layout,
}

/// How a table is laid out in text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Names at the left, figures in columns of equal width at the right.
    #[default]
    Figures,
    /// Every column as wide as its content, left-aligned; rows as sentences where that has no room.
    Listing,
}

/// A column of figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// How soon it is left out where there is no room: the greatest rank first.
    pub rank: u8,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// A cell per column.
    pub cells: Vec<String>,
}

/// Things in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// What they are; may be empty.
    pub title: String,
    /// The things.
    pub items: Vec<Item>,
    /// How many more there are, and where; may be empty.
    pub more: String,
    /// Whether they are warnings.
    pub warns: bool,
}

/// One thing in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub text: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Column {
    /// Columns by name and rank.
    pub fn of<const N: usize>(columns: [(&str, u8); N]) -> Vec<Self> {
        columns.map(|(name, rank)| Self { name: name.to_owned(), rank }).to_vec()
    }
}

/// `text` cut to at most so many characters.
pub(super) fn elided(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(3)).collect();
    format!("{}...", kept.trim_end())
}
