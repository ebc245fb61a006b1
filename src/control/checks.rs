//! The checks that can make a worker excluded, as a set of bits.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// One reason for which a worker can be excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Check {
    /// `active_decode_blocks_threshold`.
    Decode = 0,
    /// `active_prefill_tokens_threshold`.
    Prefill = 1,
    /// `active_prefill_tokens_threshold_frac`.
    PrefillFraction = 2,
    /// The lease a worker gets that answered "at capacity".
    Lease = 3,
}

impl Check {
    /// The three checks of the monitor, in the order of their bits.
    pub const OF_MONITOR: [Self; 3] = [Self::Decode, Self::Prefill, Self::PrefillFraction];
    /// All of them, in the order of their bits.
    pub const ALL: [Self; 4] = [Self::Decode, Self::Prefill, Self::PrefillFraction, Self::Lease];

    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Decode => "decode",
            Self::Prefill => "prefill",
            Self::PrefillFraction => "prefill_fraction",
            Self::Lease => "lease",
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of [`Check`]s.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Checks(u8);

impl Checks {
    /// No check.
    pub const NONE: Self = Self(0);

    /// The set of `check` alone where `fires`, else the empty one.
    #[inline]
    pub(crate) const fn when(check: Check, fires: bool) -> Self {
        Self((fires as u8) << (check as u8))
    }

    /// Whether `check` is in the set.
    #[inline]
    pub const fn contains(self, check: Check) -> bool {
        self.0 & (1 << check as u8) != 0
    }

    /// Whether the set is empty.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// This set where it holds exactly one check, else the empty one.
    #[inline]
    pub(crate) const fn if_single(self) -> Self {
        if self.0.is_power_of_two() { self } else { Self::NONE }
    }

    /// Its checks in the order of their bits.
    pub fn iter(self) -> impl Iterator<Item = Check> {
        Check::ALL.into_iter().filter(move |&c| self.contains(c))
    }
}

impl From<Check> for Checks {
    fn from(check: Check) -> Self {
        Self::when(check, true)
    }
}

impl BitOr for Checks {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Checks {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
