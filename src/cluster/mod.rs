//! The synthetic cluster: workers, what joins them to the control code, and clients.

pub mod batching;
pub mod config;
