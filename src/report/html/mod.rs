//! Pages to look at: one self-contained HTML file, without network, script or font of its own.
//!
//! [`Page`] puts a page together from findings, charts, tables and texts; `run`, `sweep` and whatever else has results each
//! have one function that fills it. Charts stand inline as SVG, drawn once for wide and once for narrow screens, with a table of
//! their numbers behind each. Colours follow the reader's choice of light or dark; on paper all is light.

mod escape;
mod figure;
mod method;
mod page;
mod run;
mod screen;
mod sweep;

pub use page::{Page, Tile};
pub use run::run_page;
pub use sweep::sweep_page;
