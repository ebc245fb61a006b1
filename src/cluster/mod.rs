//! The synthetic cluster: workers, what joins them to the control code, and clients.

pub mod batching;
pub mod clients;
pub mod config;
pub mod event;
pub mod frontend;
pub mod observer;
pub mod request;
pub mod sessions;
pub mod sim;
pub mod slab;
pub mod story;
pub mod telemetry;
pub mod users;
pub mod visits;
pub mod worker;

pub use observer::{Observer, Unobserved};
pub use sim::{Ended, Remote, Setup, Simulation};
