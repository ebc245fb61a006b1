//! A measure along one axis of a sweep.

use super::data::{Quantity, Sample, Sense, SweepData, SweepPanel, SweepPoint, SweepSeries, Target, Unit};
use super::ink::Ink;
use super::page::{Entry, Page};
use super::panel::{Panel, TITLE_ROOM, value_axis};
use super::scale::Axis;
use super::scene::{Figure, Rect, Scene, Stroke};
use super::style::{BAND_OPACITY, Key, curve, limit, marker};
use super::thin::Join;
use super::timeline::LEFT;

/// Most points of a line that are drawn as points.
const POINTS: usize = 40;

/// A line per series with its confidence band, and the target.
pub fn sweep_line(data: &SweepData) -> Figure {
    let mut page = Page::new(&data.heading);
    let x = x_axis(&data.x, &[&data.panel], page.right() - LEFT);
    let y = y_axis(&[&data.panel], 340.0);
    page.caption(&y.titled(&data.panel.measure.label), &legend(&data.panel, &data.x), LEFT, page.right());
    if !any(&data.panel) {
        page.no_data(LEFT, page.right(), 340.0);
        return page.finish(&data.heading);
    }
    let rect = Rect { x: LEFT, y: page.y, w: page.right() - LEFT, h: 340.0 };
    let panel = Panel::new(&mut page.scene, rect, x, y);
    draw(&mut page.scene, &panel, &data.panel);
    panel.axes(&mut page.scene, true, &panel.x.titled(&data.x.label));
    page.y += rect.h + TITLE_ROOM;
    page.finish(&data.heading)
}

/// Whether there is anything to draw.
pub(super) fn any(panel: &SweepPanel) -> bool {
    points(&[panel]).next().is_some()
}

/// All cells that have a place.
fn points<'a>(panels: &'a [&SweepPanel]) -> impl Iterator<Item = &'a SweepPoint> {
    let cells = panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
    cells.filter(|point| point.x.is_finite() && point.mean.is_finite())
}

/// The swept axis.
pub(super) fn x_axis(quantity: &Quantity, panels: &[&SweepPanel], width: f64) -> Axis {
    if !quantity.categories.is_empty() {
        return Axis::categories(&quantity.categories);
    }
    let places = || points(panels).map(|point| point.x);
    let (lo, hi) = (places().fold(f64::INFINITY, f64::min), places().fold(f64::NEG_INFINITY, f64::max));
    let count = (width / 80.0).max(2.0);
    if quantity.log && lo > 0.0 && hi.is_finite() {
        Axis::log(lo, hi, &quantity.unit, count)
    } else {
        Axis::rounded(lo, hi, &quantity.unit, count)
    }
}

/// The axis of the measure: the first panel's quantity, wide enough for all panels' means, bands and targets.
pub(super) fn y_axis(panels: &[&SweepPanel], height: f64) -> Axis {
    let Some(first) = panels.first() else { return value_axis(&Quantity::default(), None, height) };
    let positive = points(panels).all(|point| point.mean > 0.0);
    let ends = points(panels).flat_map(|p| [p.mean, p.low, p.high]).filter(|value| value.is_finite());
    let targets = panels.iter().filter_map(|panel| panel.target.as_ref()).map(|target| target.value);
    // A band that touches zero does not stop a logarithmic axis: it is cut off there.
    // Nor does a band reach beyond what the measure can be: below 0, or above 100 %.
    let least = points(panels).all(|point| point.mean >= 0.0);
    let most = first.measure.unit == Unit::Share && points(panels).all(|point| point.mean <= 1.0);
    let held = ends.map(|end| if least { end.max(0.0) } else { end }).map(|end| if most { end.min(1.0) } else { end });
    let drawn = held.chain(targets).filter(|value| value.is_finite() && !(first.measure.log && positive && *value <= 0.0));
    let range = drawn.fold(None, |range: Option<(f64, f64)>, value| {
        Some(range.map_or((value, value), |(lo, hi)| (lo.min(value), hi.max(value))))
    });
    value_axis(&first.measure, range, height)
}

/// Legend of a panel; a single line without a name and without a target needs none.
pub(super) fn legend(panel: &SweepPanel, x: &Quantity) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let key = |i| if x.categories.is_empty() { Key::Points(curve(i), i) } else { Key::Point(curve(i).ink, i) };
    let named = panel.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty());
    entries.extend(named.map(|(i, series)| (key(i), series.name.clone())));
    if points(&[panel]).any(|point| point.low.is_finite() && point.high.is_finite()) {
        let name = if panel.interval.is_empty() { "mean, 95 % confidence" } else { &panel.interval };
        let stroke = Stroke::solid(Ink::Series(0), 1.8);
        entries.push((if x.categories.is_empty() { Key::Band(stroke) } else { Key::Upright(stroke) }, name.to_owned()));
    }
    entries.extend(panel.target.iter().map(|target| (Key::Line(limit(0)), format!("{} (hatched side misses it)", target.label))));
    entries
}

/// Target, bands, lines and points; over named values only points with their intervals, series by series side by side.
pub(super) fn draw(scene: &mut Scene, panel: &Panel, data: &SweepPanel) {
    if let Some(target) = &data.target {
        draw_target(scene, panel, target);
    }
    let shift = |i: usize| if panel.x.named { (i as f64 - (data.series.len() as f64 - 1.0) / 2.0) * 11.0 } else { 0.0 };
    for (i, series) in data.series.iter().enumerate() {
        band(scene, panel, series, (curve(i).ink, shift(i)));
    }
    for (i, series) in data.series.iter().enumerate() {
        if !panel.x.named {
            let means: Vec<Sample> = series.points.iter().map(|p| [p.x, p.mean]).collect();
            panel.curve(scene, &means, Join::Straight, curve(i));
        }
        if series.points.len() <= POINTS || panel.x.named {
            let known = series.points.iter().filter(|p| p.x.is_finite() && p.mean.is_finite());
            let places = known.map(|p| panel.place(p.x, p.mean)).map(|(x, y)| (x + shift(i), y));
            scene.fill(places.flat_map(|at| marker(i, at, 4.0)).collect(), curve(i).ink, 1.0);
        }
    }
}

/// The target's line, with short hatching on the side that misses it.
fn draw_target(scene: &mut Scene, panel: &Panel, target: &Target) {
    if !target.value.is_finite() || !panel.y.scale.contains(target.value) {
        return;
    }
    let y = panel.y.scale.map(target.value);
    let side = if target.sense == Sense::AtMost { -6.0 } else { 6.0 };
    let room = y + side > panel.rect.y && y + side < panel.rect.bottom();
    if room {
        let strokes = (0..(panel.rect.w / 12.0) as u32).map(|i| {
            let x = panel.rect.x + 12.0 * f64::from(i) + 3.0;
            vec![(x, y), (x + 6.0, y + side)]
        });
        scene.lines(strokes.collect(), Stroke::solid(Ink::Limit, 0.6));
    }
    panel.level(scene, target.value, limit(0));
}

/// The confidence band, or bars where a cell stands alone.
fn band(scene: &mut Scene, panel: &Panel, series: &SweepSeries, (ink, shift): (Ink, f64)) {
    let known = |p: &SweepPoint| [p.x, p.low, p.high, p.mean].iter().all(|v| v.is_finite());
    let end = |p: &SweepPoint, value: f64| if known(p) { [p.x, value] } else { [p.x, f64::NAN] };
    let low: Vec<Sample> = series.points.iter().map(|p| end(p, p.low)).collect();
    let high: Vec<Sample> = series.points.iter().map(|p| end(p, p.high)).collect();
    if !panel.x.named {
        panel.between(scene, &low, &high, Join::Straight, ink, BAND_OPACITY);
    }
    if series.points.len() <= POINTS || panel.x.named {
        let at = |p: &SweepPoint, value| (panel.x.scale.map(p.x) + shift, panel.y.scale.map(value));
        let bars = series.points.iter().filter(|p| known(p)).map(|p| vec![at(p, p.low), at(p, p.high)]);
        scene.lines(bars.collect(), Stroke::solid(ink, if panel.x.named { 1.8 } else { 1.0 }));
    }
}
