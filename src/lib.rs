//! shedcast: what a cluster of LLM workers under NVIDIA Dynamo refuses, why, and what would change it.
#![warn(missing_docs)]

pub mod calibrate;
pub mod cli;
pub mod cluster;
pub mod control;
pub mod engine;
pub mod experiment;
pub mod replay;
pub mod report;
pub mod scenario;
pub mod stats;
pub mod units;
pub mod verify;
pub mod workload;
