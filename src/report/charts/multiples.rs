//! The same measure for several values of a further field, side by side.

use super::data::{MultiplesData, Quantity, SweepPanel};
use super::font::{Weight, elide_start};
use super::ink::Ink;
use super::page::{CAPTION, Entry, Page, no_data};
use super::panel::Panel;
use super::scene::{Anchor, Figure, Rect};
use super::sweep_line::{any, draw, legend, x_axis, y_axis};

/// Room for vertical tick labels between panels.
const GAP: f64 = 50.0;
/// Most panels.
const MOST: usize = 24;

/// Small panels on equal axes, in reading order, with one legend.
pub fn multiples(data: &MultiplesData) -> Figure {
    let mut page = Page::new(&data.heading);
    let (left, right) = page.margins();
    let shown = &data.panels[..data.panels.len().min(MOST)];
    let panels: Vec<&SweepPanel> = shown.iter().map(|(_, panel)| panel).collect();
    let Some(first) = panels.first() else {
        page.no_data(left, right, 200.0);
        return page.finish(&data.heading);
    };
    let columns = page.sheet.columns(match panels.len() {
        1..=4 => panels.len().min(2),
        5..=9 => 3,
        _ => 4,
    });
    let width = (right - left) / columns as f64 - GAP;
    let height = (width * 0.62).min(230.0);
    let (x, y) = (x_axis(&data.x, &panels, width), y_axis(&panels, height));
    let head = format!("{} by {}", y.titled(&first.measure.label), x.titled(&data.x.label));
    page.caption(&head, &shared_legend(&panels, &data.x), left + GAP, right);
    for row in shown.chunks(columns) {
        page.y += 24.0;
        for (i, (caption, part)) in row.iter().enumerate() {
            let x0 = left + GAP + (width + GAP) * i as f64;
            let rect = Rect { x: x0, y: page.y, w: width - 6.0, h: height };
            let text = elide_start(caption, CAPTION, Weight::Bold, width);
            page.label((x0, page.y - 7.0), &text, CAPTION, Weight::Bold, Anchor::Start, Ink::Text);
            if any(part) {
                let panel = Panel::new(&mut page.scene, rect, x.clone(), y.clone());
                draw(&mut page.scene, &panel, part);
                panel.axes(&mut page.scene, true, "");
            } else {
                no_data(&mut page.scene, rect);
            }
        }
        page.y += height + 22.0;
    }
    if data.panels.len() > MOST {
        page.note(&format!("{} further panels are left out.", data.panels.len() - MOST));
    }
    page.finish(&data.heading)
}

/// The legend of the panel with the most series.
fn shared_legend(panels: &[&SweepPanel], x: &Quantity) -> Vec<Entry> {
    panels.iter().max_by_key(|panel| panel.series.len()).map(|panel| legend(panel, x)).unwrap_or_default()
}
