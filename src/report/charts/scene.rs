//! A figure as a list of shapes, from which SVG and PNG are both written, so that they show the same.

use super::font::Weight;
use super::ink::Ink;
use super::{png_writer, svg_writer};

/// A point in pixels, y downwards.
pub(super) type P = (f64, f64);

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    /// Left.
    pub(super) x: f64,
    /// Top.
    pub(super) y: f64,
    /// Width.
    pub(super) w: f64,
    /// Height.
    pub(super) h: f64,
}

impl Rect {
    /// Right edge.
    pub(super) fn right(self) -> f64 {
        self.x + self.w
    }

    /// Bottom edge.
    pub(super) fn bottom(self) -> f64 {
        self.y + self.h
    }

    /// Whether the two overlap.
    pub(super) fn overlaps(self, other: Self) -> bool {
        self.x < other.right() && other.x < self.right() && self.y < other.bottom() && other.y < self.bottom()
    }

    /// Its corners.
    pub(super) fn corners(self) -> Vec<P> {
        vec![(self.x, self.y), (self.right(), self.y), (self.right(), self.bottom()), (self.x, self.bottom())]
    }
}

/// Lengths of strokes and gaps in pixels, in turn; empty for a solid line.
pub(super) type Dash = &'static [f64];

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stroke {
    /// Colour.
    pub(super) ink: Ink,
    /// Width in pixels.
    pub(super) width: f64,
    /// Dashes.
    pub(super) dash: Dash,
}

impl Stroke {
    /// A solid line.
    pub(super) const fn solid(ink: Ink, width: f64) -> Self {
        Self { ink, width, dash: &[] }
    }

    /// A dashed line.
    pub(super) const fn dashed(ink: Ink, width: f64, dash: Dash) -> Self {
        Self { ink, width, dash }
    }
}

/// Where a text's point lies in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// At its left end.
    Start,
    /// In its middle.
    Middle,
    /// At its right end.
    End,
}

/// One text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    /// Point on the base line.
    pub(super) at: P,
    /// What it says.
    pub(super) text: String,
    /// Font size in pixels.
    pub(super) size: f64,
    /// Weight.
    pub(super) weight: Weight,
    /// Alignment.
    pub(super) anchor: Anchor,
    /// Colour.
    pub(super) ink: Ink,
}

/// Something drawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Polylines in one style.
    Lines {
        /// Each at least two points.
        paths: Vec<Vec<P>>,
        /// Style.
        stroke: Stroke,
    },
    /// Polygons in one colour.
    Fill {
        /// Each at least three points.
        polygons: Vec<Vec<P>>,
        /// Colour.
        ink: Ink,
        /// 0 to 1.
        opacity: f64,
    },
    /// A text.
    Text(Text),
}

/// Shapes from back to front.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Scene {
    /// The shapes.
    pub(super) shapes: Vec<Shape>,
}

impl Scene {
    /// Draws polylines; those of fewer than two points are left out.
    pub(super) fn lines(&mut self, paths: Vec<Vec<P>>, stroke: Stroke) {
        let paths: Vec<_> = paths.into_iter().filter(|path| path.len() > 1).collect();
        if !paths.is_empty() {
            self.shapes.push(Shape::Lines { paths, stroke });
        }
    }

    /// Draws one straight line.
    pub(super) fn line(&mut self, from: P, to: P, stroke: Stroke) {
        self.lines(vec![vec![from, to]], stroke);
    }

    /// Fills polygons; those of fewer than three points are left out.
    pub(super) fn fill(&mut self, polygons: Vec<Vec<P>>, ink: Ink, opacity: f64) {
        let polygons: Vec<_> = polygons.into_iter().filter(|polygon| polygon.len() > 2).collect();
        if !polygons.is_empty() {
            self.shapes.push(Shape::Fill { polygons, ink, opacity });
        }
    }

    /// Fills a rectangle.
    pub(super) fn rect(&mut self, rect: Rect, ink: Ink, opacity: f64) {
        self.fill(vec![rect.corners()], ink, opacity);
    }

    /// Draws the outline of a rectangle.
    pub(super) fn outline(&mut self, rect: Rect, stroke: Stroke) {
        let mut path = rect.corners();
        path.push(path[0]);
        self.lines(vec![path], stroke);
    }

    /// Writes a text; an empty one is left out.
    pub(super) fn text(&mut self, text: Text) {
        if !text.text.is_empty() {
            self.shapes.push(Shape::Text(text));
        }
    }
}

/// A drawn figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub(super) scene: Scene,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) title: String,
    pub(super) description: String,
}

/// Why a PNG could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw the figure as PNG: {0}")]
pub struct PngError(pub(super) String);

impl Figure {
    /// Width and height in pixels at scale 1.
    pub fn size(&self) -> (f64, f64) {
        (self.width, self.height)
    }

    /// The title, which states the finding.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The figure in words.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The figure as a complete SVG document that may also stand inside HTML. The same bytes for the same data on one platform.
    pub fn to_svg(&self) -> String {
        svg_writer::write(self)
    }

    /// The figure as an element of an HTML page, without colours of its own: they come from the page's style sheet
    /// ([`light_css`](super::light_css), [`dark_css`](super::dark_css)). `id` must be one of its own in the page.
    pub fn to_inline_svg(&self, id: &str) -> String {
        svg_writer::inline(self, id)
    }

    /// The figure as PNG with `scale` pixels to a unit of the SVG (held to 0.25 to 8; 2 suits a sharp screen).
    ///
    /// # Errors
    /// If the picture cannot be encoded.
    pub fn to_png(&self, scale: f64) -> Result<Vec<u8>, PngError> {
        png_writer::write(self, if scale.is_finite() { scale.clamp(0.25, 8.0) } else { 1.0 })
    }
}
