//! Latency distributions.

use super::data::{LatencyCurve, LatencyData, Sample, Tail, Unit};
use super::font::{Weight, elide};
use super::ink::Ink;
use super::labels::{Placer, patch};
use super::numbers::human;
use super::page::{CAPTION, Entry, Page, no_data};
use super::panel::{Panel, TITLE_ROOM, patched};
use super::scale::Axis;
use super::scene::{Anchor, Figure, P, Rect, Scene, Stroke};
use super::style::{Key, limit, marker};
use super::thin::Join;

const HEIGHT: f64 = 280.0;
/// Room for vertical tick labels.
const GAP: f64 = 54.0;
const CURVE: Stroke = Stroke::solid(Ink::Series(0), 2.0);

/// One panel per latency, on a logarithmic time axis, with percentiles and the objective marked.
pub fn latency(data: &LatencyData) -> Figure {
    let mut page = Page::new(&data.heading);
    let (left, right) = page.margins();
    if data.curves.is_empty() {
        page.no_data(left, right, HEIGHT);
        return page.finish(&data.heading);
    }
    let what = match data.tail {
        Tail::AtOrBelow => "share of requests at or below a latency (%)",
        Tail::Above => "share of requests above a latency",
    };
    page.caption(what, &legend(data), left, right);
    let columns = page.sheet.columns(data.curves.len().min(3));
    for row in data.curves.chunks(columns) {
        page.y += 24.0;
        let width = (right - left) / columns as f64;
        for (i, curve) in row.iter().enumerate() {
            let rect = Rect { x: left + GAP + width * i as f64, y: page.y, w: width - GAP - 8.0, h: HEIGHT };
            let text = elide(&curve.name, CAPTION, Weight::Bold, rect.w);
            page.label((rect.x, rect.y - 7.0), &text, CAPTION, Weight::Bold, Anchor::Start, Ink::Text);
            draw(&mut page.scene, curve, data.tail, rect);
        }
        page.y += HEIGHT + TITLE_ROOM;
    }
    page.finish(&data.heading)
}

fn legend(data: &LatencyData) -> Vec<Entry> {
    let mut entries = vec![(Key::Line(CURVE), "simulated".to_owned())];
    if data.curves.iter().any(|curve| !curve.quantiles.is_empty()) {
        entries.push((Key::Point(CURVE.ink, 0), "percentiles".to_owned()));
    }
    if data.curves.iter().any(|curve| curve.objective.is_some()) {
        entries.push((Key::Line(limit(0)), "objective".to_owned()));
    }
    entries
}

fn draw(scene: &mut Scene, curve: &LatencyCurve, tail: Tail, rect: Rect) {
    let known: Vec<Sample> = curve.cumulative.iter().copied().filter(|[at, share]| at.is_finite() && share.is_finite()).collect();
    let Some(x) = time_axis(curve, &known, rect.w) else { return no_data(scene, rect) };
    let shown = |share: f64| if tail == Tail::Above { 1.0 - share } else { share };
    let y = match tail {
        Tail::AtOrBelow => Axis::rounded(0.0, 1.0, &Unit::Share, 5.0),
        Tail::Above => {
            let least = known.iter().map(|[_, share]| 1.0 - share).filter(|left| *left > 1e-9).fold(0.1, f64::min);
            Axis::log(least.max(1e-6), 1.0, &Unit::Share, 8.0)
        }
    };
    let panel = Panel::new(scene, rect, x, y);
    let mut line: Vec<Sample> =
        known.iter().map(|[at, share]| [*at, shown(*share)]).filter(|p| tail == Tail::AtOrBelow || p[1] > 1e-9).collect();
    if tail == Tail::Above {
        // Above the last value the share is 0, which a logarithmic axis cannot show: the curve ends there.
        line.extend(known.last().map(|last| [last[0], f64::NAN]));
    }
    panel.curve(scene, &line, Join::Step, CURVE);
    if let Some(at) = curve.objective.filter(|at| at.is_finite() && panel.x.scale.contains(*at)) {
        let x = panel.x.scale.map(at);
        scene.line((x, rect.y), (x, rect.bottom()), limit(0));
    }
    marks(scene, &panel, curve, (&known, tail));
    panel.axes(scene, true, "latency");
}

fn time_axis(curve: &LatencyCurve, known: &[Sample], width: f64) -> Option<Axis> {
    let positive = known.iter().map(|p| p[0]).filter(|at| *at > 0.0);
    let marked = curve.quantiles.iter().map(|q| q.1).filter(|at| at.is_finite() && *at > 0.0);
    // An objective far beyond all latencies would squeeze the curve: it is then named in its label alone.
    let (lo, hi) = positive.chain(marked).fold((f64::INFINITY, 0.0_f64), |(lo, hi), at| (lo.min(at), hi.max(at)));
    if hi <= 0.0 {
        return None;
    }
    let near = |at: &f64| *at > lo / 30.0 && *at < hi * 30.0;
    let (lo, hi) = curve.objective.filter(near).map_or((lo, hi), |at| (lo.min(at), hi.max(at)));
    Some(Axis::log(lo, hi, &Unit::Seconds, width / 60.0))
}

/// Share of requests at or below a latency.
fn share_at(known: &[Sample], at: f64) -> f64 {
    match known.partition_point(|[latency, _]| *latency <= at) {
        0 => 0.0,
        n => known[n - 1][1],
    }
}

fn marks(scene: &mut Scene, panel: &Panel, curve: &LatencyCurve, (known, tail): (&[Sample], Tail)) {
    let place = |at: f64| {
        let share = share_at(known, at);
        panel.place(at, if tail == Tail::Above { (1.0 - share).max(1e-12) } else { share })
    };
    let quantiles: Vec<&(String, f64)> = curve.quantiles.iter().filter(|(_, at)| at.is_finite() && *at > 0.0).collect();
    for (_, at) in &quantiles {
        scene.fill(marker(0, place(*at), 4.0), CURVE.ink, 1.0);
    }
    let mut lines: Vec<(String, Ink)> =
        quantiles.iter().map(|(name, at)| (format!("{name} {}", human(*at, &Unit::Seconds)), Ink::Text)).collect();
    if let Some(at) = curve.objective.filter(|at| at.is_finite()) {
        let text = format!("{} within {}", human(share_at(known, at), &Unit::Share), human(at, &Unit::Seconds));
        lines.push((text, Ink::Limit));
    }
    let mut path: Vec<P> = known.iter().step_by((known.len() / 400).max(1)).map(|point| place(point[0])).collect();
    path.extend(known.last().map(|point| place(point[0])));
    figures(scene, panel.rect, &path, &lines);
}

/// The percentiles and the objective in figures, in the corner that the curve leaves free.
fn figures(scene: &mut Scene, rect: Rect, path: &[P], lines: &[(String, Ink)]) {
    let w = lines.iter().map(|(text, _)| patch(text).0).fold(0.0, f64::max).min(rect.w);
    let (line, h) = (patch("").1, patch("").1 * lines.len() as f64);
    let (left, right, top, bottom) = (rect.x + 4.0, rect.right() - 2.0 - w, rect.y + 4.0, rect.bottom() - 4.0 - h);
    let corners = [(right, bottom), (right, top), (left, top), (left, bottom)].map(|(x, y)| Rect { x, y, w, h });
    let mut placer = Placer::new(rect);
    placer.avoid_line(path);
    let corner = placer.first(&corners).unwrap_or(corners[0]);
    for (i, (text, ink)) in lines.iter().enumerate() {
        patched(scene, Rect { y: corner.y + line * i as f64, h: line, ..corner }, text, *ink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_within_an_objective_counts_the_objective_itself() {
        let known = [[0.1, 0.25], [0.2, 0.5], [0.4, 1.0]];
        assert_eq!([0.05, 0.2, 0.3, 9.0].map(|at| share_at(&known, at)), [0.0, 0.5, 0.5, 1.0]);
    }
}
