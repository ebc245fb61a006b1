//! Results beside one another: what differs in the scenarios, what differs in the figures, and how sure that is.
//!
//! A [`Side`] is what one directory of results holds: a run, or the cells of a sweep. [`Comparison::of`] holds every side against the
//! first. Where the seeds match, replication r met the same random numbers on both sides, and differences are taken pair by pair;
//! else the sides are independent. One replication alone has no interval.

mod comparison;
mod rule;
mod side;

#[cfg(test)]
mod tests;

pub use comparison::{Against, Comparison, FieldDifference, MeasureComparison, Standing, UnitComparison};
pub use rule::WorseRule;
pub use side::{Replication, Side, Unit, replicate};
