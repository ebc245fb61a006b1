//! Integration tests, one crate: they see what a user of the library sees.

mod architecture;
mod cli;
mod conformance;
mod report;
mod sweep;
