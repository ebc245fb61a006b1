//! What charts are drawn from: plain data that the caller fills in, free of any type of the simulator.
//!
//! Times are seconds since the start of the run, shares are 0 to 1 (drawn as percent), latencies are seconds.
//! A value that is not finite (NaN) means "not known here" and leaves a gap; it never reaches a drawing.

mod agreement;
mod common;
mod gaps;
mod run;
mod study;
mod trace;

pub use agreement::*;
pub use common::*;
pub use run::*;
pub use study::*;
pub use trace::*;
