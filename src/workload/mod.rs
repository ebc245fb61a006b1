//! Traffic: who arrives when, and with what lengths.

pub mod arrivals;
pub mod config;
pub mod convert;
pub mod empirical;
pub mod error;
mod evenly;
pub mod fit;
pub mod inspect;
pub mod lengths;
pub mod pairs;
mod quantiles;
mod rates;
pub mod sampling;
pub mod sessions;
pub mod source;
pub mod spans;
pub mod stream_lengths;
pub mod trace;

pub use error::WorkloadError;
pub use source::{Bounds, ClassId, DrawnLengths, LengthSource, RequestSource, RequestSpec};
