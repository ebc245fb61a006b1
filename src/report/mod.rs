//! What a run, a sweep or a plan looks like to a reader: charts.

pub mod charts;
