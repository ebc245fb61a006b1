//! A trade-off between two measures.

use super::data::{ParetoData, ParetoPoint, Quantity, Target};
use super::ink::Ink;
use super::labels::Placer;
use super::page::{Entry, Page};
use super::panel::{Panel, TITLE_ROOM, patched, value_axis};
use super::scale::Axis;
use super::scene::{Figure, P, Rect, Scene, Stroke};
use super::style::{Key, limit, marker};
use super::timeline::LEFT;

const HEIGHT: f64 = 420.0;
/// Most settings of the front that are named.
const NAMED: usize = 20;
const FRONT: Stroke = Stroke::solid(Ink::Series(0), 1.6);

/// Settings as points, those on the front joined and named.
pub fn pareto(data: &ParetoData) -> Figure {
    let mut page = Page::new(&data.heading);
    let points: Vec<&ParetoPoint> = data.points.iter().filter(|p| p.x.is_finite() && p.y.is_finite()).collect();
    let (x, y) =
        (axis(&data.x, points.iter().map(|p| p.x), page.right() - LEFT), axis(&data.y, points.iter().map(|p| p.y), HEIGHT));
    page.caption(&y.titled(&data.y.label), &legend(data, &points), LEFT, page.right());
    if points.is_empty() {
        page.no_data(LEFT, page.right(), HEIGHT);
        return page.finish(&data.heading);
    }
    let rect = Rect { x: LEFT, y: page.y, w: page.right() - LEFT, h: HEIGHT };
    let panel = Panel::new(&mut page.scene, rect, x, y);
    targets(&mut page.scene, &panel, data);
    let line = front(&panel, &points);
    page.scene.lines(vec![line.clone()], FRONT);
    for point in &points {
        draw_point(&mut page.scene, &panel, point);
    }
    let unnamed = names(&mut page.scene, &panel, &points, &line);
    panel.axes(&mut page.scene, true, &panel.x.titled(&data.x.label));
    page.y += HEIGHT + TITLE_ROOM;
    if unnamed > 0 {
        page.note(&format!("{unnamed} settings of the front are not labelled, for want of room."));
    }
    page.finish(&data.heading)
}

fn axis(quantity: &Quantity, values: impl Iterator<Item = f64>, length: f64) -> Axis {
    let range = values.fold(None, |range: Option<(f64, f64)>, v| Some(range.map_or((v, v), |(lo, hi)| (lo.min(v), hi.max(v)))));
    value_axis(quantity, range, if length > HEIGHT { length * 0.42 } else { length })
}

fn legend(data: &ParetoData, points: &[&ParetoPoint]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    if points.iter().any(|p| p.on_front) {
        let named = if data.point_label.is_empty() { String::new() } else { format!(", labelled with {}", data.point_label) };
        entries.push((Key::Points(FRONT, 0), format!("front{named}")));
    }
    if points.iter().any(|p| !p.on_front && !p.chosen) {
        entries.push((Key::Point(Ink::Frame, 4), "other settings".to_owned()));
    }
    if points.iter().any(|p| p.chosen) {
        entries.push((Key::Point(Ink::Series(1), 3), "recommended".to_owned()));
    }
    let targets = [&data.x_target, &data.y_target].into_iter().flatten();
    entries.extend(targets.enumerate().map(|(i, target)| (Key::Line(limit(i)), target.label.clone())));
    entries
}

fn targets(scene: &mut Scene, panel: &Panel, data: &ParetoData) {
    let shown = |target: &Option<Target>| target.as_ref().map(|t| t.value).filter(|v| v.is_finite());
    if let Some(value) = shown(&data.x_target).filter(|v| panel.x.scale.contains(*v)) {
        let x = panel.x.scale.map(value);
        scene.line((x, panel.rect.y), (x, panel.rect.bottom()), limit(0));
    }
    if let Some(value) = shown(&data.y_target) {
        panel.level(scene, value, limit(usize::from(data.x_target.is_some())));
    }
}

/// The front as a line through its points in ascending x.
fn front(panel: &Panel, points: &[&ParetoPoint]) -> Vec<P> {
    let mut line: Vec<P> = points.iter().filter(|p| p.on_front).map(|p| panel.place(p.x, p.y)).collect();
    line.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    line
}

fn draw_point(scene: &mut Scene, panel: &Panel, point: &ParetoPoint) {
    let at = panel.place(point.x, point.y);
    match (point.chosen, point.on_front) {
        (true, _) => {
            scene.fill(marker(3, at, 8.5), Ink::Paper, 1.0);
            scene.fill(marker(3, at, 6.5), Ink::Series(1), 1.0);
        }
        (false, true) => scene.fill(marker(0, at, 4.5), FRONT.ink, 1.0),
        (false, false) => scene.fill(marker(4, at, 3.6), Ink::Frame, 1.0),
    }
}

/// Names the chosen points first, then the front, then the others where room is left; returns how many of the front remain unnamed.
fn names(scene: &mut Scene, panel: &Panel, points: &[&ParetoPoint], line: &[P]) -> usize {
    let mut placer = Placer::new(panel.rect);
    placer.avoid_line(line);
    for (x, y) in points.iter().map(|p| panel.place(p.x, p.y)) {
        placer.avoid(Rect { x: x - 5.0, y: y - 5.0, w: 10.0, h: 10.0 });
    }
    let mut unnamed = 0;
    let others = points.len() <= 40;
    // A crowded front is named at even steps.
    let step = points.iter().filter(|p| p.on_front && !p.chosen).count().div_ceil(NAMED).max(1);
    let mut nth = 0;
    let ranks: [fn(&ParetoPoint) -> bool; 3] = [|p| p.chosen, |p| p.on_front && !p.chosen, |p| !p.on_front && !p.chosen];
    for (rank, belongs) in ranks.into_iter().enumerate().filter(|(rank, _)| *rank < 2 || others) {
        for point in points.iter().filter(|p| belongs(p) && !p.label.is_empty()) {
            nth += usize::from(rank == 1);
            if rank == 1 && (nth - 1) % step != 0 {
                unnamed += 1;
                continue;
            }
            match placer.near(panel.place(point.x, point.y), &point.label, 7.0) {
                Some(rect) => patched(scene, rect, &point.label, if rank == 2 { Ink::Muted } else { Ink::Text }),
                None => unnamed += usize::from(rank < 2),
            }
        }
    }
    unnamed
}
