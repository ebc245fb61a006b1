//! Offered load against several measures on one page.

use super::data::{LoadCurveData, SweepPanel};
use super::ink::Ink;
use super::page::{Entry, Page};
use super::panel::{Panel, TICK_ROOM, TITLE_ROOM};
use super::scene::{Figure, Rect, Scene, Stroke};
use super::style::Key;
use super::sweep_line::{any, draw, legend, x_axis, y_axis};
use super::timeline::LEFT;

/// Panels one below the other on one axis.
pub fn load_curve(data: &LoadCurveData) -> Figure {
    let mut page = Page::new(&data.heading);
    let panels: Vec<&SweepPanel> = data.panels.iter().collect();
    if panels.is_empty() {
        page.no_data(LEFT, page.right(), 200.0);
    }
    let x = x_axis(&data.x, &panels, page.right() - LEFT);
    let height = (540.0 / panels.len().max(1) as f64).clamp(110.0, 220.0);
    for (i, part) in panels.iter().enumerate() {
        let last = i + 1 == panels.len();
        let ideal = data.ideal && i == 0;
        let y = y_axis(&[part], height);
        let mut entries: Vec<Entry> = legend(part, &data.x);
        if ideal {
            entries.push((Key::Line(IDEAL), "all that is offered".to_owned()));
        }
        page.caption(&y.titled(&part.measure.label), &entries, LEFT, page.right());
        if !any(part) {
            page.no_data(LEFT, page.right(), height);
            continue;
        }
        let rect = Rect { x: LEFT, y: page.y, w: page.right() - LEFT, h: height };
        let panel = Panel::new(&mut page.scene, rect, x.clone(), y);
        if ideal {
            draw_ideal(&mut page.scene, &panel);
        }
        draw(&mut page.scene, &panel, part);
        let title = if last { x.titled(&data.x.label) } else { String::new() };
        panel.axes(&mut page.scene, true, &title);
        page.y += height + if last { TITLE_ROOM } else { TICK_ROOM };
    }
    page.finish(&data.heading)
}

const IDEAL: Stroke = Stroke::dashed(Ink::Muted, 1.2, &[2.0, 3.0]);

/// The line y = x as far as both axes reach.
fn draw_ideal(scene: &mut Scene, panel: &Panel) {
    let (x, y) = (panel.x.scale, panel.y.scale);
    let (from, to) = (x.lo.max(y.lo), x.hi.min(y.hi));
    if to > from {
        let steps = 64;
        let line = (0..=steps).map(|i| from + (to - from) * f64::from(i) / f64::from(steps)).map(|v| panel.place(v, v));
        scene.lines(vec![line.collect()], IDEAL);
    }
}
