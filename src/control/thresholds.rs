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

/// Why `POST /busy_threshold` is refused; nothing is stored.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PostError {
    /// A value out of its range.
    #[error(transparent)]
    Invalid(#[from] ThresholdError),
    /// No such model.
    #[error("no model `{0}` is served here")]
    UnknownModel(String),
}

impl PostError {
    /// HTTP status of the answer.
    pub const fn http_status(&self) -> u16 {
        match self {
            Self::Invalid(_) => 400,
            Self::UnknownModel(_) => 404,
        }
    }
}

/// What a `POST /busy_threshold` for `model` leaves stored: values are checked first, the model second. `stored` is
/// `None` where this frontend does not serve the model; reading it then answers with every threshold unset.
///
/// # Errors
/// An invalid value (400), or an update of an unknown model (404).
pub fn post(model: &str, stored: Option<BusyThresholds>, update: ThresholdUpdate) -> Result<BusyThresholds, PostError> {
    update.validate()?;
    match stored {
        Some(stored) => Ok(stored.merged(update)),
        None if update.is_empty() => Ok(BusyThresholds::default()),
        None => Err(PostError::UnknownModel(model.to_owned())),
    }
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

    /// The update that stores all of `thresholds`.
    pub fn all_of(thresholds: BusyThresholds) -> Self {
        Self {
            active_decode_blocks_threshold: thresholds.active_decode_blocks_threshold,
            active_prefill_tokens_threshold: thresholds.active_prefill_tokens_threshold,
            active_prefill_tokens_threshold_frac: thresholds.active_prefill_tokens_threshold_frac,
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

/// The numbers one rank is compared with: the thresholds applied to the totals of its worker.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RankLimits {
    /// Used blocks above this are too many; `None` where the check does not exist or the total is unknown or 0.
    pub decode_line: Option<f64>,
    /// Prefill tokens above this are too many.
    pub prefill: Option<u64>,
    /// Prefill tokens above this are too many, by the fraction.
    pub prefill_fraction: Option<u64>,
}

/// What counts as `max_num_batched_tokens` where a worker does not report one, in tokens.
pub const UNREPORTED_MAX_NUM_BATCHED_TOKENS: u64 = 10_000_000;

impl BusyThresholds {
    /// The limits of each rank of a worker with these totals (blocks per rank; tokens per step).
    #[inline]
    pub(crate) fn limits(&self, kv_total_blocks: Option<u64>, max_num_batched_tokens: Option<u64>) -> RankLimits {
        let total = kv_total_blocks.filter(|&blocks| blocks > 0);
        RankLimits {
            decode_line: self.active_decode_blocks_threshold.zip(total).map(|(share, blocks)| share * blocks as f64),
            prefill: self.active_prefill_tokens_threshold,
            // The cast truncates and stops at the largest u64, as the rule wants it.
            prefill_fraction: self
                .active_prefill_tokens_threshold_frac
                .map(|f| (f * max_num_batched_tokens.unwrap_or(UNREPORTED_MAX_NUM_BATCHED_TOKENS) as f64) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(share: f64) -> ThresholdUpdate {
        ThresholdUpdate { active_decode_blocks_threshold: Some(share), ..Default::default() }
    }

    fn fraction(frac: f64) -> ThresholdUpdate {
        ThresholdUpdate { active_prefill_tokens_threshold_frac: Some(frac), ..Default::default() }
    }

    #[test]
    fn values_out_of_range_and_nan_are_refused() {
        for bad in [-0.1, 1.000_001, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(decode(bad).validate().is_err(), "{bad}");
        }
        for bad in [-0.1, f64::NAN, f64::INFINITY] {
            assert!(fraction(bad).validate().is_err(), "{bad}");
        }
        for good in [0.0, 0.5, 1.0] {
            assert_eq!(decode(good).validate(), Ok(()));
        }
        assert_eq!(fraction(64.0).validate(), Ok(()));
    }

    #[test]
    fn a_post_is_checked_before_its_model_and_merges() {
        let stored = BusyThresholds::default().merged(decode(0.5));
        assert_eq!(post("m", None, decode(2.0)).unwrap_err().http_status(), 400);
        assert_eq!(post("m", None, decode(0.2)).unwrap_err().http_status(), 404);
        assert_eq!(post("m", None, ThresholdUpdate::default()), Ok(BusyThresholds::default()));
        assert_eq!(post("m", Some(stored), ThresholdUpdate::default()), Ok(stored));
        let merged = post("m", Some(stored), fraction(2.0)).unwrap();
        assert_eq!(merged.active_decode_blocks_threshold, Some(0.5));
        assert_eq!(merged.active_prefill_tokens_threshold_frac, Some(2.0));
    }

    #[test]
    fn the_fraction_truncates_and_an_unreported_budget_counts_as_ten_million() {
        let t = BusyThresholds::default().merged(fraction(0.3));
        assert_eq!(t.limits(None, Some(8_192)).prefill_fraction, Some(2_457));
        assert_eq!(t.limits(None, None).prefill_fraction, Some(3_000_000));
        assert_eq!(BusyThresholds::default().merged(decode(0.5)).limits(Some(0), None).decode_line, None);
    }
}
