//! shedcast held against what is known: queueing theory, NVIDIA's simulator, real runs, and production's own counters.
//!
//! Every check is a value beside its reference with a verdict ([`Check`]). [`theory`] and [`aisimulate`] need nothing but the
//! program; [`fidelity`] needs recordings of real runs; [`against`] needs exported counters and a scenario.

pub mod against;
pub mod aisimulate;
mod check;
pub mod counters;
pub mod fidelity;
pub mod theory;

pub use check::{Check, CheckTable, VerifyError};
