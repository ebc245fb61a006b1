//! `metrics.om`: what a Prometheus would have scraped from the simulated frontends and workers, in OpenMetrics text.
//!
//! Names, kinds, labels and bounds are those of [`control::metrics`](crate::control::metrics). A [`Scrape`] counts while a run
//! goes on as the release's frontends and workers do, and takes a sample of everything at each end of an interval of the time
//! series. OpenMetrics wants the samples of one metric together, the run brings those of one instant together: so samples go to
//! a [`Spool`] row by row, and the text is written from there at the end, in memory that does not grow with the run.

mod catalogue;
mod distribution;
mod own;
mod scrape;
mod spool;
mod tally;
mod text;

#[cfg(test)]
mod tests;

pub use scrape::{Scrape, ScrapeError};
pub use spool::Spool;
