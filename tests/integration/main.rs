//! Integration tests, one crate: they see what a user of the library sees.

mod aisimulate;
mod architecture;
mod calibrate;
mod cases;
mod cli;
mod conformance;
mod examples;
mod faults;
mod fidelity;
mod harness;
mod lag;
mod quality;
mod replay;
mod report;
mod sweep;
mod theory;
mod traces;
mod verify;
