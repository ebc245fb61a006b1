//! Measured against simulated, panel by panel.

use super::data::{AgreementData, AgreementPanel, Quantity};
use super::ink::Ink;
use super::page::{Entry, Page};
use super::panel::{Panel, TITLE_ROOM, value_axis};
use super::scale::Axis;
use super::scene::{Figure, Rect, Scene, Stroke};
use super::style::{Key, curve, marker};
use super::thin::Join;
use super::timeline::LEFT;

/// Height of all panels together.
const HEIGHT: f64 = 760.0;
const EQUAL: Stroke = Stroke::dashed(Ink::Muted, 1.2, &[2.0, 3.0]);

/// Panels of curves or points that ought to agree.
pub fn agreement(data: &AgreementData) -> Figure {
    let mut page = Page::new(&data.heading);
    let height = (HEIGHT / data.panels.len().max(1) as f64).clamp(120.0, 300.0);
    if data.panels.is_empty() {
        page.no_data(LEFT, page.right(), height);
    }
    for part in &data.panels {
        draw(&mut page, part, height);
    }
    page.finish(&data.heading)
}

fn draw(page: &mut Page, part: &AgreementPanel, height: f64) {
    let values = |i: usize| part.series.iter().flat_map(move |s| s.points.iter().map(move |p| p[i])).filter(|v| v.is_finite());
    let right = page.right();
    let (xs, ys) = (spread(values(0)), spread(values(1)));
    let (Some(xs), Some(ys)) = (xs, ys) else {
        page.caption(&part.y.label, &[], LEFT, right);
        page.no_data(LEFT, right, height);
        return;
    };
    let x = x_axis(&part.x, xs, right - LEFT);
    let y = value_axis(&part.y, Some(ys), height);
    page.caption(&y.titled(&part.y.label), &legend(part), LEFT, right);
    let panel = Panel::new(&mut page.scene, Rect { x: LEFT, y: page.y, w: right - LEFT, h: height }, x, y);
    if part.scatter {
        draw_equal(&mut page.scene, &panel);
    }
    for (i, series) in part.series.iter().enumerate() {
        if part.scatter {
            let shown = series.points.iter().filter(|p| panel.x.scale.contains(p[0]) && panel.y.scale.contains(p[1]));
            for point in shown {
                page.scene.fill(marker(i, panel.place(point[0], point[1]), 3.2), Ink::Series(i), 0.85);
            }
        } else {
            panel.curve(&mut page.scene, &series.points, Join::Straight, curve(i));
        }
    }
    let title = panel.x.titled(&part.x.label);
    panel.axes(&mut page.scene, true, &title);
    page.y += height + TITLE_ROOM;
}

fn x_axis(x: &Quantity, (low, high): (f64, f64), width: f64) -> Axis {
    let count = (width / 80.0).max(2.0);
    if x.log && low > 0.0 {
        Axis::log(low, high, &x.unit, count)
    } else {
        Axis::exact(low.min(0.0), high.max(low + 1e-9), &x.unit, count)
    }
}

fn legend(part: &AgreementPanel) -> Vec<Entry> {
    let key = |i| if part.scatter { Key::Point(Ink::Series(i), i) } else { Key::Line(curve(i)) };
    let mut entries: Vec<Entry> = part.series.iter().enumerate().map(|(i, s)| (key(i), s.name.clone())).collect();
    if part.scatter {
        entries.push((Key::Line(EQUAL), "equal".to_owned()));
    }
    entries
}

/// The line y = x as far as both axes reach.
fn draw_equal(scene: &mut Scene, panel: &Panel) {
    let (x, y) = (panel.x.scale, panel.y.scale);
    let (from, to) = (x.lo.max(y.lo), x.hi.min(y.hi));
    if to > from {
        let steps = 64;
        let line = (0..=steps).map(|i| from + (to - from) * f64::from(i) / f64::from(steps)).map(|v| panel.place(v, v));
        scene.lines(vec![line.collect()], EQUAL);
    }
}

fn spread(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range: Option<(f64, f64)>, v| Some(range.map_or((v, v), |(low, high)| (low.min(v), high.max(v)))))
}
