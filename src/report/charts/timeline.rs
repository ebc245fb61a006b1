//! Panels that share a time axis, and the instants marked on it.

use super::data::{Mark, MarkKind, Quantity, TimeFrame, Unit};
use super::font::{Weight, elide, width};
use super::ink::Ink;
use super::page::{Entry, LABEL, MARGIN, Page};
use super::panel::{Panel, TICK_ROOM, TITLE_ROOM, label};
use super::scale::Axis;
use super::scene::{Anchor, Rect, Scene, Stroke};
use super::style::Key;

/// Left edge of time panels: tick labels stand before it.
pub(super) const LEFT: f64 = MARGIN + 48.0;
/// Most rows for labels of marks.
const LANES: usize = 6;
/// Height of such a row.
const LANE: f64 = 17.0;
/// Longest label of a mark in pixels.
const MARK_ROOM: f64 = 280.0;
/// A label is not cut shorter than this for want of room.
const LEAST_ROOM: f64 = 170.0;
/// Beyond so many marks of one kind only short ticks are drawn, without labels.
const MANY: usize = 40;

/// A label of a mark that found a place.
struct Placed {
    /// Where its line stands.
    line: f64,
    /// Left and right end of the text.
    span: (f64, f64),
    /// Row, 0 at the top; its line runs down from there.
    lane: usize,
    /// What it says.
    text: String,
}

impl Placed {
    /// Whether one's text lies on the other's text or line.
    fn collides(&self, other: &Self) -> bool {
        let texts = self.lane == other.lane && self.span.0 < other.span.1 + 6.0 && other.span.0 < self.span.1 + 6.0;
        let crosses =
            |line: &Self, text: &Self| line.lane < text.lane && line.line > text.span.0 - 3.0 && line.line < text.span.1 + 3.0;
        texts || crosses(self, other) || crosses(other, self)
    }
}

/// The shared axis.
pub(super) struct Timeline<'a> {
    frame: &'a TimeFrame,
    axis: Axis,
    left: f64,
    right: f64,
    /// Labels of marks that are still to be drawn above the first panel: the texts, their rows, how many found no room.
    labels: Option<(Vec<Placed>, usize, usize)>,
    /// From where the first panel's marks run down.
    marks_from: Option<f64>,
}

impl<'a> Timeline<'a> {
    /// A time axis from a pixel on to the right edge; a legend of the kinds of marks is drawn at the page's present height.
    pub(super) fn new(page: &mut Page, frame: &'a TimeFrame, left: f64) -> Self {
        let right = page.right();
        let ticks = ((right - left) / 75.0).clamp(3.0, 9.0);
        let axis = Axis::exact(frame.start, frame.end, &Unit::Seconds, ticks).between(left, right);
        let mut timeline = Self { frame, axis, left, right, labels: None, marks_from: None };
        let marks = timeline.visible();
        if !marks.is_empty() {
            page.caption("", &kinds(&marks), left, right);
            timeline.labels = Some(timeline.place(&marks));
        }
        timeline
    }

    /// Draws the labels of marks, once: directly above the first panel, below its caption.
    pub(super) fn mark_labels(&mut self, page: &mut Page) {
        let Some((placed, lanes, dropped)) = self.labels.take() else { return };
        if dropped > 0 {
            page.y += LANE;
            let text = match dropped {
                1 => "1 mark has no room for a label".to_owned(),
                n => format!("{n} marks have no room for a label"),
            };
            let text = elide(&text, LABEL, Weight::Regular, self.right - self.left);
            label(&mut page.scene, (self.left, page.y - 5.0), &text, Anchor::Start, Ink::Muted);
        }
        let top = page.y;
        page.y += LANE * lanes as f64;
        for text in &placed {
            let y = top + LANE * text.lane as f64;
            page.scene.line((text.line, y + 2.0), (text.line, page.y), Stroke::solid(Ink::Mark, 0.8));
            label(&mut page.scene, (text.span.0, y + 13.0), &text.text, Anchor::Start, Ink::Mark);
        }
        self.marks_from = Some(page.y);
    }

    fn visible(&self) -> Vec<&'a Mark> {
        let mut marks: Vec<&Mark> =
            self.frame.marks.iter().filter(|mark| mark.at.is_finite() && self.axis.scale.contains(mark.at)).collect();
        marks.sort_by(|a, b| a.at.total_cmp(&b.at).then(a.kind.cmp(&b.kind)));
        marks
    }

    /// Gives labels to lanes; returns how many lanes are used and how many labels were dropped.
    ///
    /// From the last mark to the first each label goes right of its line into the lowest free lane: a staircase in which no line
    /// crosses a text. Where the lanes do not suffice, posts choose first, then faults.
    fn place(&self, marks: &[&Mark]) -> (Vec<Placed>, usize, usize) {
        let few = [MarkKind::Post, MarkKind::Phase, MarkKind::Fault]
            .map(|kind| (kind, marks.iter().filter(|mark| mark.kind == kind).count() <= MANY));
        let labelled = |mark: &&Mark| few.contains(&(mark.kind, true)) && !mark.label.trim().is_empty();
        let mut named: Vec<&Mark> = marks.iter().copied().filter(labelled).rev().collect();
        let mut placed = self.placed(&named);
        if placed.len() < named.len() {
            named.sort_by_key(|mark| {
                [MarkKind::Post, MarkKind::Fault, MarkKind::Phase].iter().position(|kind| *kind == mark.kind)
            });
            placed = self.placed(&named);
        }
        let dropped = named.len() - placed.len();
        let unused = placed.iter().map(|text| text.lane).min().unwrap_or(LANES);
        placed.iter_mut().for_each(|text| text.lane -= unused);
        (placed, LANES - unused, dropped)
    }

    /// Those of the labels that find a place, each in turn.
    fn placed(&self, named: &[&Mark]) -> Vec<Placed> {
        let mut placed: Vec<Placed> = Vec::new();
        for mark in named {
            let line = self.axis.scale.map(mark.at);
            let whole = width(mark.label.trim(), LABEL, Weight::Regular);
            // Near the end of the axis a label is cut, or stands left of its line.
            let room = self.right - line - 4.0;
            let leftwards = whole > room && room < LEAST_ROOM;
            let text = elide(
                mark.label.trim(),
                LABEL,
                Weight::Regular,
                MARK_ROOM.min(if leftwards { line - 4.0 - self.left } else { room }),
            );
            let wide = width(&text, LABEL, Weight::Regular);
            let span = if leftwards { (line - 4.0 - wide, line - 4.0) } else { (line + 4.0, line + 4.0 + wide) };
            let places = (0..LANES).rev().map(|lane| Placed { line, span, lane, text: text.clone() });
            if let Some(place) = places.into_iter().find(|place| !placed.iter().any(|other| other.collides(place))) {
                placed.push(place);
            }
        }
        placed
    }

    /// The next panel down: caption and legend, grid, marks. `last` leaves room for the time axis; end with [`Self::close`].
    pub(super) fn panel(&mut self, page: &mut Page, head: (&str, &[Entry]), y: Axis, height: f64) -> Panel {
        page.caption(&y.titled(head.0), head.1, self.left, self.right);
        self.mark_labels(page);
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
            let mut marks: Vec<f64> =
                self.visible().iter().filter(|mark| mark.kind == kind).map(|mark| axis.scale.map(mark.at)).collect();
            // More lines than half pixels would only swell the file.
            marks.dedup_by_key(|x| (*x * 2.0).round());
            let bottom = if marks.len() > MANY { rect.y + 4.0 } else { rect.bottom() };
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
    let count = |kind| marks.iter().filter(|mark| mark.kind == kind).count();
    let named = |(kind, name): (MarkKind, &str)| match count(kind) {
        0 => None,
        n if n > MANY => Some((Key::Upright(mark_stroke(kind)), format!("{name}, {n} times (ticks at the top)"))),
        _ => Some((Key::Upright(mark_stroke(kind)), name.to_owned())),
    };
    names.into_iter().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::charts::data::Heading;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn labels_of_marks_never_overlap(instants in prop::collection::vec(0.0_f64..600.0, 0..50)) {
            let marks = instants.iter().map(|at| Mark { at: *at, kind: MarkKind::Post, label: format!("decode at {at:.1}") }).collect();
            let frame = TimeFrame { start: 0.0, end: 600.0, marks };
            let mut page = Page::new(&Heading::default());
            let right = page.right();
            let timeline = Timeline::new(&mut page, &frame, LEFT);
            let (placed, lanes, dropped) = timeline.place(&timeline.visible());
            prop_assert_eq!(placed.len() + dropped, if instants.len() > MANY { 0 } else { instants.len() });
            prop_assert!(lanes <= LANES);
            for (i, a) in placed.iter().enumerate() {
                prop_assert!(a.span.0 >= LEFT - 0.01 && a.span.1 <= right + 0.01);
                for b in &placed[..i] {
                    prop_assert!(a.lane != b.lane || a.span.0 > b.span.1 || b.span.0 > a.span.1, "{} on {}", a.text, b.text);
                }
            }
        }
    }
}
