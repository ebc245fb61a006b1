//! Panels that share a time axis, and the instants marked on it.

use super::data::{Mark, MarkKind, Quantity, TimeFrame, Unit};
use super::font::{Weight, elide, width};
use super::ink::Ink;
use super::page::{Entry, LABEL, MARGIN, Page, WIDTH};
use super::panel::{Panel, TICK_ROOM, TITLE_ROOM, label};
use super::scale::Axis;
use super::scene::{Anchor, Rect, Scene, Stroke};
use super::style::Key;

/// Left edge of time panels: tick labels stand before it.
pub(super) const LEFT: f64 = MARGIN + 48.0;
/// Right edge of time panels.
pub(super) const RIGHT: f64 = WIDTH - MARGIN - 8.0;
/// Rows for labels of marks.
const LANES: usize = 3;
/// Height of such a row.
const LANE: f64 = 17.0;
/// Longest label of a mark in pixels.
const MARK_ROOM: f64 = 240.0;
/// Beyond so many marks of one kind only short ticks are drawn.
const MANY: usize = 40;

/// A label of a mark that found a place: x of the line, x and lane of the label, text.
struct Placed {
    line: f64,
    x: f64,
    lane: usize,
    text: String,
}

/// The shared axis.
pub(super) struct Timeline<'a> {
    frame: &'a TimeFrame,
    axis: Axis,
    left: f64,
    right: f64,
    /// Top of the first panel's marks; above it are their labels.
    marks_from: Option<f64>,
}

impl<'a> Timeline<'a> {
    /// Draws the labels of marks, and a legend of their kinds, at the page's present height.
    pub(super) fn new(page: &mut Page, frame: &'a TimeFrame, left: f64, right: f64) -> Self {
        let axis = Axis::exact(frame.start, frame.end, &Unit::Seconds, 9.0).between(left, right);
        let mut timeline = Self { frame, axis, left, right, marks_from: None };
        let marks = timeline.visible();
        if marks.is_empty() {
            return timeline;
        }
        page.caption("", &kinds(&marks), left, right);
        let (placed, lanes, dropped) = timeline.place(&marks);
        let top = page.y;
        for text in &placed {
            let y = top + LANE * text.lane as f64;
            page.scene.line((text.line, y + 2.0), (text.line, top + LANE * lanes as f64), Stroke::solid(Ink::Mark, 0.8));
            label(&mut page.scene, (text.x, y + 13.0), &text.text, Anchor::Start, Ink::Mark);
        }
        page.y += LANE * lanes as f64;
        if dropped > 0 {
            let text = format!("{dropped} further marks have no room for a label");
            label(&mut page.scene, (left, page.y + 12.0), &text, Anchor::Start, Ink::Muted);
            page.y += LANE;
        }
        timeline.marks_from = Some(page.y);
        timeline
    }

    fn visible(&self) -> Vec<&'a Mark> {
        let mut marks: Vec<&Mark> =
            self.frame.marks.iter().filter(|mark| mark.at.is_finite() && self.axis.scale.contains(mark.at)).collect();
        marks.sort_by(|a, b| a.at.total_cmp(&b.at).then(a.kind.cmp(&b.kind)));
        marks
    }

    /// Gives labels to lanes, first come first served; returns how many lanes are used and how many labels were dropped.
    fn place(&self, marks: &[&Mark]) -> (Vec<Placed>, usize, usize) {
        let mut free = [f64::NEG_INFINITY; LANES];
        let (mut placed, mut dropped): (Vec<Placed>, usize) = (Vec::new(), 0);
        for mark in marks.iter().filter(|mark| !mark.label.trim().is_empty()) {
            let line = self.axis.scale.map(mark.at);
            let text = elide(mark.label.trim(), LABEL, Weight::Regular, MARK_ROOM.min(self.right - self.left));
            let wide = width(&text, LABEL, Weight::Regular);
            // Right of its line, or left of it where the page ends.
            let x = if line + 4.0 + wide <= self.right { line + 4.0 } else { line - 4.0 - wide };
            // The line of a label runs down through the lanes below it, which must be free there.
            let crossed =
                |lane: usize| placed.iter().any(|above| above.lane < lane && above.line > x - 4.0 && above.line < x + wide);
            let fits = |lane: usize| x > free[lane] && free[lane + 1..].iter().all(|end| line > *end) && !crossed(lane);
            match (0..LANES).rev().find(|lane| fits(*lane)) {
                Some(lane) => {
                    free[lane] = x.max(line) + if x > line { wide } else { 0.0 } + 8.0;
                    placed.push(Placed { line, x, lane, text });
                }
                None => dropped += 1,
            }
        }
        let unused = placed.iter().map(|text| text.lane).min().unwrap_or(LANES);
        placed.iter_mut().for_each(|text| text.lane -= unused);
        (placed, LANES - unused, dropped)
    }

    /// The next panel down: caption and legend, grid, marks. `last` leaves room for the time axis; end with [`Self::close`].
    pub(super) fn panel(&mut self, page: &mut Page, head: (&str, &[Entry]), y: Axis, height: f64) -> Panel {
        page.caption(&y.titled(head.0), head.1, self.left, self.right);
        let rect = Rect { x: self.left, y: page.y, w: self.right - self.left, h: height };
        page.y += height;
        let panel = Panel::new(&mut page.scene, rect, self.axis.clone(), y);
        self.mark_lines(&mut page.scene, rect);
        panel
    }

    /// Vertical lines at the marked instants over one panel.
    pub(super) fn mark_lines(&mut self, scene: &mut Scene, rect: Rect) {
        let axis = self.axis.clone().between(rect.x, rect.right());
        for kind in [MarkKind::Phase, MarkKind::Fault, MarkKind::Post] {
            let marks: Vec<f64> =
                self.visible().iter().filter(|mark| mark.kind == kind).map(|mark| axis.scale.map(mark.at)).collect();
            let bottom = if marks.len() > MANY { rect.y + 6.0 } else { rect.bottom() };
            let from = self.marks_from.unwrap_or(rect.y);
            scene.lines(marks.iter().map(|x| vec![(*x, from.min(rect.y)), (*x, bottom)]).collect(), mark_stroke(kind));
        }
        // Only the first panel's lines reach up to the labels.
        self.marks_from = None;
    }

    /// Axis lines of a panel; the last one of a page gets the time labels and the title.
    pub(super) fn close(&self, page: &mut Page, panel: &Panel, last: bool) {
        let title = if last { self.title() } else { String::new() };
        panel.axes(&mut page.scene, true, &title);
        page.y += if last { TITLE_ROOM } else { TICK_ROOM };
    }

    /// "No data" in place of a panel.
    pub(super) fn empty(&self, page: &mut Page, caption: &str, height: f64) {
        page.caption(caption, &[], self.left, self.right);
        page.no_data(self.left, self.right, height);
    }

    /// The time axis with its ticks.
    pub(super) fn axis(&self) -> &Axis {
        &self.axis
    }

    /// Title of the time axis.
    pub(super) fn title(&self) -> String {
        self.axis.titled("simulated time")
    }
}

/// A quantity by name and unit.
pub(super) fn quantity(label: &str, unit: Unit) -> Quantity {
    Quantity { label: label.to_owned(), unit, ..Quantity::default() }
}

fn mark_stroke(kind: MarkKind) -> Stroke {
    match kind {
        MarkKind::Post => Stroke::solid(Ink::Mark, 1.4),
        MarkKind::Phase => Stroke::dashed(Ink::Mark, 1.0, &[1.5, 3.0]),
        MarkKind::Fault => Stroke::dashed(Ink::Mark, 1.4, &[7.0, 4.0]),
    }
}

fn kinds(marks: &[&Mark]) -> Vec<Entry> {
    let names = [
        (MarkKind::Post, "threshold post"),
        (MarkKind::Phase, "phase of the workload"),
        (MarkKind::Fault, "fault or change of the fleet"),
    ];
    let seen = names.into_iter().filter(|(kind, _)| marks.iter().any(|mark| mark.kind == *kind));
    seen.map(|(kind, name)| (Key::Upright(mark_stroke(kind)), name.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::charts::data::Heading;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn labels_of_marks_never_overlap(instants in prop::collection::vec(0.0_f64..600.0, 0..80)) {
            let marks = instants.iter().map(|at| Mark { at: *at, kind: MarkKind::Post, label: format!("decode at {at:.1}") }).collect();
            let frame = TimeFrame { start: 0.0, end: 600.0, marks };
            let mut page = Page::new(&Heading::default());
            let timeline = Timeline::new(&mut page, &frame, LEFT, RIGHT);
            let (placed, lanes, dropped) = timeline.place(&timeline.visible());
            prop_assert_eq!(placed.len() + dropped, instants.len());
            prop_assert!(lanes <= LANES);
            for (i, a) in placed.iter().enumerate() {
                let end = |p: &Placed| p.x + width(&p.text, LABEL, Weight::Regular);
                prop_assert!(a.x >= LEFT - 0.01 && end(a) <= RIGHT + 0.01);
                for b in &placed[..i] {
                    prop_assert!(a.lane != b.lane || a.x > end(b) || b.x > end(a), "{} on {}", a.text, b.text);
                }
            }
        }
    }
}
