//! A plotting area with its axes.

use super::data::{Quantity, Sample, Unit};
use super::font::{Weight, elide, width};
use super::ink::Ink;
use super::page::LABEL;
use super::scale::Axis;
use super::scene::{Anchor, P, Rect, Scene, Stroke, Text};
use super::thin::{Join, polylines};

/// A plotting area.
pub(super) struct Panel {
    /// Where it is.
    pub(super) rect: Rect,
    /// Horizontal axis.
    pub(super) x: Axis,
    /// Vertical axis.
    pub(super) y: Axis,
}

/// Height below a panel for tick labels alone.
pub(super) const TICK_ROOM: f64 = 19.0;
/// Height below a panel for tick labels and the axis title.
pub(super) const TITLE_ROOM: f64 = 38.0;

impl Panel {
    /// Draws grid and vertical tick labels, and returns the area to draw into.
    pub(super) fn new(scene: &mut Scene, rect: Rect, x: Axis, y: Axis) -> Self {
        let panel = Self { rect, x: x.between(rect.x, rect.right()), y: y.between(rect.bottom(), rect.y) };
        panel.grid(scene);
        panel
    }

    fn grid(&self, scene: &mut Scene) {
        let grid = Stroke::solid(Ink::Grid, 1.0);
        let across = |y: f64| vec![(self.rect.x, y), (self.rect.right(), y)];
        let down = |x: f64| vec![(x, self.rect.y), (x, self.rect.bottom())];
        let labelled = |axis: &Axis| -> Vec<f64> {
            axis.ticks.iter().filter(|(_, text)| !text.is_empty()).map(|(value, _)| axis.scale.map(*value)).collect()
        };
        scene.lines(labelled(&self.y).into_iter().map(across).collect(), grid);
        scene.lines(labelled(&self.x).into_iter().map(down).collect(), grid);
        let mut free = f64::INFINITY;
        for (value, text) in self.y.ticks.iter().filter(|tick| !tick.1.is_empty()) {
            let y = self.y.scale.map(*value) + LABEL * 0.36;
            if y > free {
                continue;
            }
            free = y - LABEL * 1.05;
            label(scene, (self.rect.x - 7.0, y), text, Anchor::End, Ink::Muted);
        }
    }

    /// Draws the axis lines, over what has been drawn; tick labels below if `labelled`, and below them a title unless empty.
    pub(super) fn axes(&self, scene: &mut Scene, labelled: bool, title: &str) {
        let frame = Stroke::solid(Ink::Frame, 1.0);
        let corner = (self.rect.x, self.rect.bottom());
        scene.lines(vec![vec![(self.rect.x, self.rect.y), corner, (self.rect.right(), self.rect.bottom())]], frame);
        if !labelled {
            return;
        }
        self.x_labels(scene);
        if !title.is_empty() {
            let at = (self.rect.x + self.rect.w / 2.0, self.rect.bottom() + 33.0);
            let text = elide(title, LABEL, Weight::Regular, self.rect.w);
            label(scene, at, &text, Anchor::Middle, Ink::Text);
        }
    }

    fn x_labels(&self, scene: &mut Scene) {
        let minor = self.x.ticks.iter().filter(|(_, text)| text.is_empty()).map(|(value, _)| self.x.scale.map(*value));
        let tick = |x: f64| vec![(x, self.rect.bottom()), (x, self.rect.bottom() + 2.5)];
        scene.lines(minor.map(tick).collect(), Stroke::solid(Ink::Frame, 0.7));
        let labelled: Vec<(f64, &str)> = self
            .x
            .ticks
            .iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(value, text)| (self.x.scale.map(*value), text.as_str()))
            .collect();
        let slot = labelled.windows(2).map(|pair| pair[1].0 - pair[0].0).fold(f64::INFINITY, f64::min);
        let room = if slot < 44.0 { f64::INFINITY } else { (slot - 6.0).min(self.rect.w) };
        let mut free = f64::NEG_INFINITY;
        for (x, text) in labelled {
            scene.line((x, self.rect.bottom()), (x, self.rect.bottom() + 4.0), Stroke::solid(Ink::Frame, 1.0));
            let text = elide(text, LABEL, Weight::Regular, room);
            let half = width(&text, LABEL, Weight::Regular) / 2.0;
            if x - half < free {
                continue;
            }
            free = x + half + 5.0;
            label(scene, (x, self.rect.bottom() + 16.0), &text, Anchor::Middle, Ink::Muted);
        }
    }

    /// Draws a curve.
    pub(super) fn curve(&self, scene: &mut Scene, points: &[Sample], join: Join, stroke: Stroke) {
        scene.lines(polylines(points, &self.x.scale, &self.y.scale, join), stroke);
    }

    /// A horizontal line at `value`, if it is on the axis.
    pub(super) fn level(&self, scene: &mut Scene, value: f64, stroke: Stroke) {
        if self.y.scale.contains(value) {
            let y = self.y.scale.map(value);
            scene.line((self.rect.x, y), (self.rect.right(), y), stroke);
        }
    }

    /// Fills between two curves sampled at the same places.
    pub(super) fn between(&self, scene: &mut Scene, low: &[Sample], high: &[Sample], join: Join, ink: Ink, opacity: f64) {
        // Where one of the two is not known, neither is the area.
        let masked = |of: &[Sample], by: &[Sample]| -> Vec<Sample> {
            let known = |i: usize| by.get(i).is_some_and(|sample| sample[1].is_finite());
            of.iter().enumerate().map(|(i, [at, value])| [*at, if known(i) { *value } else { f64::NAN }]).collect()
        };
        let (low, high) = (&masked(low, high), &masked(high, low));
        let (below, above) =
            (polylines(low, &self.x.scale, &self.y.scale, join), polylines(high, &self.x.scale, &self.y.scale, join));
        let areas = above.into_iter().zip(below).map(|(mut outline, below)| {
            outline.extend(below.into_iter().rev());
            outline
        });
        scene.fill(areas.collect(), ink, opacity);
    }

    /// Fills between a curve and the bottom.
    pub(super) fn under(&self, scene: &mut Scene, points: &[Sample], join: Join, ink: Ink, opacity: f64) {
        let bottom = self.rect.bottom();
        let areas = polylines(points, &self.x.scale, &self.y.scale, join).into_iter().map(|mut outline| {
            let (first, last) = (outline[0].0, outline[outline.len() - 1].0);
            outline.extend([(last, bottom), (first, bottom)]);
            outline
        });
        scene.fill(areas.collect(), ink, opacity);
    }

    /// Where a point stands.
    pub(super) fn place(&self, x: f64, y: f64) -> P {
        (self.x.scale.map(x), self.y.scale.map(y))
    }
}

/// A vertical axis for values from `range`, with zero in it unless it is logarithmic.
pub(super) fn value_axis(quantity: &Quantity, range: Option<(f64, f64)>, height: f64) -> Axis {
    let count = (height / 34.0).max(2.0);
    match range {
        Some((lo, hi)) if quantity.log && lo > 0.0 => Axis::log(lo, hi, &quantity.unit, count),
        Some((lo, hi)) => Axis::rounded(lo.min(0.0), capped(hi.max(0.0), &quantity.unit), &quantity.unit, count),
        None => Axis::rounded(0.0, 1.0, &quantity.unit, count),
    }
}

/// A vertical axis for counts from zero to `reach`, with some room above it, so that a limit does not lie on the border.
pub(super) fn roomy_axis(reach: f64, height: f64) -> Axis {
    let top = if reach > 0.0 { reach * 1.1 } else { 1.0 };
    // Counts are whole: ticks between them would say nothing.
    Axis::exact(0.0, top, &Unit::Number, (height / 28.0).max(2.0).min(top))
}

/// A share of zero throughout still needs an axis: one percent.
fn capped(hi: f64, unit: &Unit) -> f64 {
    if hi <= 0.0 && *unit == Unit::Share { 0.01 } else { hi }
}

/// A small text.
pub(super) fn label(scene: &mut Scene, at: P, text: &str, anchor: Anchor, ink: Ink) {
    scene.text(Text { at, text: text.to_owned(), size: LABEL, weight: Weight::Regular, anchor, ink });
}

/// A small text on a patch of paper, so that lines do not run through it.
pub(super) fn patched(scene: &mut Scene, rect: Rect, text: &str, ink: Ink) {
    scene.rect(rect, Ink::Paper, 0.85);
    label(scene, (rect.x + 3.0, rect.bottom() - 4.0), text, Anchor::Start, ink);
}
