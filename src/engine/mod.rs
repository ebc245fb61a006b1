//! The discrete-event engine: what happens when, and where randomness comes from. Knows nothing of LLMs.

pub mod deadlines;
pub mod queue;
pub mod rng;

pub use deadlines::Deadlines;
pub use queue::{EventQueue, Scheduled};
pub use rng::{SimRng, Streams};
