//! Integration tests, one crate: they see what a user of the library sees.

mod aisimulate;
mod architecture;
mod benches;
mod calibrate;
mod cases;
mod cli;
mod conformance;
mod examples;
mod faults;
mod fidelity;
mod figures_agree;
mod harness;
mod lag;
mod metrics;
mod pages;
mod plan;
mod quality;
mod replay;
mod report;
mod robust;
mod sessions;
mod sweep;
mod theory;
mod trace_quirks;
mod traces;
mod verify;
