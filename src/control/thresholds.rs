//! The three busy thresholds: validation and the merge rule of `POST /busy_threshold`.

use serde::Serialize;

/// The busy thresholds a frontend holds. `None` means that the check does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct BusyThresholds {
    /// Busy where used KV blocks exceed this share of `kv_total_blocks`; 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_decode_blocks_threshold: Option<f64>,
    /// Busy where prefill tokens exceed this number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_prefill_tokens_threshold: Option<u64>,
    /// Busy where prefill tokens exceed this multiple of `max_num_batched_tokens`; finite, >= 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_prefill_tokens_threshold_frac: Option<f64>,
}

/// A partial update: a present field overwrites, an absent one leaves the stored value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ThresholdUpdate {
    /// New `active_decode_blocks_threshold`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_decode_blocks_threshold: Option<f64>,
    /// New `active_prefill_tokens_threshold`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_prefill_tokens_threshold: Option<u64>,
    /// New `active_prefill_tokens_threshold_frac`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_prefill_tokens_threshold_frac: Option<f64>,
}

/// Why an update is refused as a whole (HTTP 400).
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ThresholdError {
    /// Not a share.
    #[error("active_decode_blocks_threshold must be a number from 0.0 to 1.0, got {0}")]
    DecodeOutOfRange(f64),
    /// Negative or not finite.
    #[error("active_prefill_tokens_threshold_frac must be a finite number of 0.0 or more, got {0}")]
    PrefillFractionOutOfRange(f64),
}

impl ThresholdUpdate {
    /// Checks every field that is present.
    ///
    /// # Errors
    /// The first field out of its range.
    pub fn validate(&self) -> Result<(), ThresholdError> {
        match (self.active_decode_blocks_threshold, self.active_prefill_tokens_threshold_frac) {
            (Some(d), _) if !(0.0..=1.0).contains(&d) => Err(ThresholdError::DecodeOutOfRange(d)),
            (_, Some(f)) if !(f.is_finite() && f >= 0.0) => Err(ThresholdError::PrefillFractionOutOfRange(f)),
            _ => Ok(()),
        }
    }

    /// Whether the update names no threshold, which makes it a read.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl BusyThresholds {
    /// Whether any check exists.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// These thresholds after `update`; the update must be valid.
    #[must_use]
    pub fn merged(self, update: ThresholdUpdate) -> Self {
        Self {
            active_decode_blocks_threshold: update.active_decode_blocks_threshold.or(self.active_decode_blocks_threshold),
            active_prefill_tokens_threshold: update.active_prefill_tokens_threshold.or(self.active_prefill_tokens_threshold),
            active_prefill_tokens_threshold_frac: update
                .active_prefill_tokens_threshold_frac
                .or(self.active_prefill_tokens_threshold_frac),
        }
    }
}
