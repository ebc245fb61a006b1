//! Traffic: who arrives when, and with what lengths.

pub mod config;
