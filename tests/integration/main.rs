//! Integration tests, one crate: they see what a user of the library sees.

mod aisimulate;
mod architecture;
mod cases;
mod cli;
mod compare;
mod conformance;
mod examples;
mod faults;
mod fidelity;
mod harness;
mod lag;
mod metrics;
mod quality;
mod replay;
mod report;
mod robust;
mod sweep;
mod theory;
mod traces;
