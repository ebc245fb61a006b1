//! The synthetic cluster: workers, what joins them to the control code, and clients.

pub mod config;
