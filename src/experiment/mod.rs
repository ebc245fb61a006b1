//! Experiments: one run, and many.

pub mod measures;
pub mod result;
