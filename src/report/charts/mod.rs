//! Figures: plain data in ([`data`]), SVG text or PNG bytes out ([`Figure`]).
//!
//! One file per kind of figure, each with one function from its data to a [`Figure`]. A figure is first a list of shapes
//! (`scene`); the SVG writer and the PNG writer draw the same list, so both show the same. Text is measured with an embedded
//! font and with slack, since the viewer of an SVG may have another. Curves differ in dash and marker as well as in colour,
//! areas in lightness, so that figures survive grey print and colour blindness.
//!
//! The same data give the same bytes on one platform. Data may be empty or hold NaN: the figure then says "no data".

mod agreement;
mod busy;
mod chart;
pub mod data;
mod font;
mod heat_map;
mod ink;
mod labels;
mod latency;
mod load_curve;
mod loads;
mod multiples;
mod numbers;
mod occupancy;
mod overview;
mod page;
mod panel;
mod pareto;
mod png_writer;
mod refusals;
#[cfg(test)]
mod samples;
mod scale;
mod scene;
mod sheet;
mod style;
mod svg_writer;
mod sweep_line;
mod table;
#[cfg(test)]
mod tests;
mod thin;
mod timeline;
mod trace;
mod traffic;
mod updates;

pub use agreement::agreement;
pub use busy::busy;
pub use chart::Chart;
pub use heat_map::heat_map;
pub use ink::{dark_css, light_css};
pub use latency::latency;
pub use load_curve::load_curve;
pub use loads::loads;
pub use multiples::multiples;
pub use occupancy::occupancy;
pub use overview::overview;
pub use pareto::pareto;
pub use refusals::refusals;
pub use scene::{Figure, PngError};
pub use sheet::Sheet;
pub use sweep_line::sweep_line;
pub use table::DataTable;
pub use trace::trace;
pub use traffic::traffic;
pub use updates::updates;
