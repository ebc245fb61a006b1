//! Comparisons as text, Markdown, CSV, JSON and a page; and the sides of one, read back from results.

mod json;
mod page;
mod read;
mod rows;
mod screen;

pub use json::{SCHEMA, comparison_json};
pub use page::comparison_page;
pub use read::{resolved_fields, run_side, sweep_side};
pub use rows::comparison_csv;
pub use screen::comparison_screen;

#[cfg(test)]
mod tests;
