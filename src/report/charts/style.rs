//! How curves, areas and points look, and how a legend shows them.

use super::ink::Ink;
use super::scale::arc_points;
use super::scene::{Dash, P, Rect, Scene, Stroke};

/// Dashes of the i-th curve, so that curves are told apart without colour.
const DASHES: [Dash; 6] = [&[], &[7.0, 3.0], &[2.0, 2.5], &[10.0, 3.0, 2.0, 3.0], &[14.0, 4.0], &[5.0, 2.0, 1.5, 2.0, 1.5, 2.0]];

/// Dashes of the i-th threshold or limit.
const LIMIT_DASHES: [Dash; 3] = [&[6.0, 3.0], &[2.0, 2.0], &[10.0, 3.0, 2.0, 3.0]];

/// The i-th curve.
pub(super) fn curve(i: usize) -> Stroke {
    Stroke::dashed(Ink::Series(i), 1.8, DASHES[i % DASHES.len()])
}

/// The i-th threshold, limit or target.
pub(super) fn limit(i: usize) -> Stroke {
    Stroke::dashed(Ink::Limit, 1.6, LIMIT_DASHES[i % LIMIT_DASHES.len()])
}

/// Shape of the i-th curve's points.
pub(super) fn marker(i: usize, (x, y): P, radius: f64) -> Vec<Vec<P>> {
    let (r, thin) = (radius, radius * 0.35);
    match i % 6 {
        0 => vec![arc_points(x, y, r, 20)],
        1 => vec![Rect { x: x - r * 0.9, y: y - r * 0.9, w: r * 1.8, h: r * 1.8 }.corners()],
        2 => vec![arc_points(x, y + r * 0.15, r * 1.25, 3)],
        3 => vec![arc_points(x, y, r * 1.25, 4)],
        4 => vec![
            Rect { x: x - thin, y: y - r * 1.1, w: 2.0 * thin, h: r * 2.2 }.corners(),
            Rect { x: x - r * 1.1, y: y - thin, w: r * 2.2, h: 2.0 * thin }.corners(),
        ],
        _ => vec![vec![(x - r * 1.1, y - r * 0.9), (x + r * 1.1, y - r * 0.9), (x, y + r * 1.1)]],
    }
}

/// How a legend shows something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Key {
    /// A line.
    Line(Stroke),
    /// A line with points.
    Points(Stroke, usize),
    /// A single point of the i-th shape, in an ink.
    Point(Ink, usize),
    /// An area.
    Fill(Ink),
    /// A translucent band around a line.
    Band(Stroke),
    /// An area that fills its row only from this share of the height downwards.
    Low(Ink, f64),
    /// A vertical line.
    Upright(Stroke),
}

impl Key {
    /// Width of a key in a legend.
    pub(super) const WIDTH: f64 = 28.0;

    /// Draws it.
    pub(super) fn draw(self, scene: &mut Scene, rect: Rect) {
        let middle = rect.y + rect.h / 2.0;
        let (left, right) = ((rect.x, middle), (rect.right(), middle));
        let centre = (rect.x + rect.w / 2.0, middle);
        match self {
            Self::Line(stroke) => scene.line(left, right, stroke),
            Self::Points(stroke, i) => {
                scene.line(left, right, stroke);
                scene.fill(marker(i, centre, 4.0), stroke.ink, 1.0);
            }
            Self::Point(ink, i) => scene.fill(marker(i, centre, 4.5), ink, 1.0),
            Self::Fill(ink) => {
                scene.rect(rect, ink, 1.0);
                scene.outline(rect, Stroke::solid(Ink::Frame, 0.7));
            }
            Self::Band(stroke) => {
                scene.rect(rect, stroke.ink, BAND_OPACITY);
                scene.line(left, right, stroke);
            }
            Self::Low(ink, share) => {
                scene.outline(rect, Stroke::solid(Ink::Frame, 0.7));
                scene.rect(Rect { y: rect.bottom() - rect.h * share, h: rect.h * share, ..rect }, ink, 1.0);
            }
            Self::Upright(stroke) => scene.line((centre.0, rect.y - 1.0), (centre.0, rect.bottom() + 1.0), stroke),
        }
    }
}

/// Opacity of bands.
pub(super) const BAND_OPACITY: f64 = 0.22;
