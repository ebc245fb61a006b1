//! Gaps between events.

use shedcast::units::Span;

/// Gaps of up to a millisecond, all over the place but the same each time (Knuth's MMIX constants).
pub struct Gaps(u64);

impl Gaps {
    /// From the start.
    pub fn new() -> Self {
        Self(1)
    }

    /// The next one.
    pub fn next(&mut self) -> Span {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Span::from_nanos(1 + (self.0 >> 44))
    }
}
