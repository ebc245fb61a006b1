//! Labels that never lie on each other.

use super::font::{Weight, width};
use super::page::LABEL;
use super::scene::{P, Rect};

/// Height of a label.
const HEIGHT: f64 = 16.0;

/// Finds free places for labels.
pub(super) struct Placer {
    bounds: Rect,
    taken: Vec<Rect>,
}

impl Placer {
    /// Labels stay within `bounds`.
    pub(super) fn new(bounds: Rect) -> Self {
        Self { bounds, taken: Vec::new() }
    }

    /// Keeps labels off `rect`.
    pub(super) fn avoid(&mut self, rect: Rect) {
        self.taken.push(rect);
    }

    /// Keeps labels off a line.
    pub(super) fn avoid_line(&mut self, line: &[P]) {
        for pair in line.windows(2) {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            let steps = ((x1 - x0).abs().max((y1 - y0).abs()) / 4.0).ceil().clamp(1.0, 1000.0);
            for i in 0..=steps as u32 {
                let share = f64::from(i) / steps;
                self.avoid(Rect { x: x0 + (x1 - x0) * share - 2.0, y: y0 + (y1 - y0) * share - 2.0, w: 4.0, h: 4.0 });
            }
        }
    }

    /// A place for `text` near a point, `gap` pixels away from it; `None` where all are taken.
    pub(super) fn near(&mut self, (x, y): P, text: &str, gap: f64) -> Option<Rect> {
        let w = width(text, LABEL, Weight::Regular) + 6.0;
        let (h, far) = (HEIGHT, gap + 10.0);
        let places = [
            (x + gap, y - h - gap / 2.0),
            (x + gap, y - h / 2.0),
            (x + gap, y + gap / 2.0),
            (x - gap - w, y - h / 2.0),
            (x - w / 2.0, y - h - gap),
            (x - w / 2.0, y + gap),
            (x - gap - w, y - h - gap / 2.0),
            (x - gap - w, y + gap / 2.0),
            (x + far, y - h - far),
            (x + far, y + far),
            (x - far - w, y - h - far),
            (x - far - w, y + far),
        ];
        self.first(&places.map(|(x, y)| Rect { x, y, w, h }))
    }

    /// The first of `places` that is free and within bounds; it is then taken.
    pub(super) fn first(&mut self, places: &[Rect]) -> Option<Rect> {
        let inside = |r: &Rect| {
            r.x >= self.bounds.x && r.right() <= self.bounds.right() && r.y >= self.bounds.y && r.bottom() <= self.bounds.bottom()
        };
        let free = places.iter().copied().find(|r| inside(r) && !self.taken.iter().any(|taken| taken.overlaps(*r)))?;
        self.taken.push(free);
        Some(free)
    }
}

/// The patch a label needs.
pub(super) fn patch(text: &str) -> (f64, f64) {
    (width(text, LABEL, Weight::Regular) + 6.0, HEIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn placed_labels_never_overlap_nor_leave_their_bounds(points in prop::collection::vec((0.0_f64..400.0, 0.0_f64..200.0), 1..60)) {
            let bounds = Rect { x: 0.0, y: 0.0, w: 400.0, h: 200.0 };
            let mut placer = Placer::new(bounds);
            let placed: Vec<Rect> = points.iter().filter_map(|&p| placer.near(p, "0.85", 5.0)).collect();
            prop_assert!(!placed.is_empty());
            for (i, a) in placed.iter().enumerate() {
                prop_assert!(a.x >= 0.0 && a.y >= 0.0 && a.right() <= 400.0 && a.bottom() <= 200.0);
                prop_assert!(placed[..i].iter().all(|b| !a.overlaps(*b)));
            }
        }
    }
}
