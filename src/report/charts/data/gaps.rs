//! Values that are not known, in JSON: `null` stands for NaN, which JSON lacks.

use serde::{Deserialize, Deserializer};

use super::common::Sample;

/// Reads values; `null` is a gap.
pub(super) fn values<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let read = Vec::<Option<f64>>::deserialize(from)?;
    Ok(read.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}

/// Reads samples; `null` is a gap.
pub(super) fn samples<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Sample>, D::Error> {
    let read = Vec::<[Option<f64>; 2]>::deserialize(from)?;
    Ok(read.into_iter().map(|sample| sample.map(|value| value.unwrap_or(f64::NAN))).collect())
}
