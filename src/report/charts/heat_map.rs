//! A measure over two axes of a sweep.

use super::data::{HeatMapData, Sense, Target, Unit};
use super::font::{Weight, elide, width};
use super::ink::Ink;
use super::numbers::human;
use super::page::{Entry, LABEL, MARGIN, Page};
use super::panel::label;
use super::scale::{Axis, arc_points, contrast, log10};
use super::scene::{Anchor, Figure, P, Rect, Scene, Stroke};
use super::style::Key;

/// From low to high: dark to light in steady lightness, so that grey print keeps the order (colours after "cividis",
/// Nunez, Anderton and Renslow, PLoS ONE 13(7), 2018).
const RAMP: [(u8, u8, u8); 6] = [(255, 234, 70), (203, 186, 105), (150, 142, 120), (101, 101, 117), (52, 66, 110), (0, 32, 77)];
/// Room for the scale at the right.
const SCALE_ROOM: f64 = 110.0;

/// Cells coloured by value, with the values where they fit, the border of the target and the best cell.
pub fn heat_map(data: &HeatMapData) -> Figure {
    let mut page = Page::new(&data.heading);
    let (columns, rows) = (data.x_values.len(), data.y_values.len());
    let known: Vec<f64> = data.values.iter().take(columns * rows).copied().filter(|value| value.is_finite()).collect();
    page.caption(&data.measure.label, &legend(data), page.margins().0, page.margins().1);
    if known.is_empty() {
        page.no_data(page.margins().0, page.margins().1, 300.0);
        return page.finish(&data.heading);
    }
    let widest = data.y_values.iter().map(|name| width(name, LABEL, Weight::Regular)).fold(0.0, f64::max).min(200.0);
    let left = MARGIN + widest.max(24.0) + 10.0;
    page.y += 18.0;
    let y_label = elide(&format!("{} (rows)", data.y_label), LABEL, Weight::Regular, page.room());
    label(&mut page.scene, (MARGIN, page.y - 5.0), &y_label, Anchor::Start, Ink::Text);
    let room = page.margins().1 - SCALE_ROOM - left;
    let cell = (room / columns as f64, (400.0 / rows as f64).clamp((960.0 / rows as f64).min(12.0), 44.0));
    let map = Map {
        data,
        rect: Rect { x: left, y: page.y, w: room, h: cell.1 * rows as f64 },
        cell,
        colours: Colours::of(&known, data.measure.log),
    };
    map.cells(&mut page.scene);
    map.border(&mut page.scene);
    map.best(&mut page.scene);
    map.names(&mut page.scene);
    map.scale(&mut page.scene);
    page.y += map.rect.h.max(120.0) + 38.0;
    page.finish(&data.heading)
}

fn legend(data: &HeatMapData) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    if let Some(target) = &data.target {
        let known = || data.values.iter().filter(|value| value.is_finite());
        let name = match known().filter(|value| meets(target, **value)).count() {
            0 => format!("{}: no cell meets it", target.label),
            n if n == known().count() => format!("{}: every cell meets it", target.label),
            _ => format!("border of the {}", target.label),
        };
        entries.push((Key::Line(BORDER), name));
    }
    if data.best.is_some() {
        entries.push((Key::Point(Ink::Text, 3), "best cell".to_owned()));
    }
    if data.values.iter().any(|value| !value.is_finite()) {
        entries.push((Key::Fill(Ink::Grid), "no result".to_owned()));
    }
    entries
}

const BORDER: Stroke = Stroke::solid(Ink::Limit, 3.0);

/// Values to colours.
struct Colours {
    lo: f64,
    hi: f64,
    log: bool,
}

impl Colours {
    fn of(known: &[f64], log: bool) -> Self {
        let (lo, hi) =
            (known.iter().copied().fold(f64::INFINITY, f64::min), known.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        Self { lo, hi, log: log && lo > 0.0 && hi > lo }
    }

    fn share(&self, value: f64) -> f64 {
        let share = if self.hi <= self.lo {
            0.0
        } else if self.log {
            log10(value / self.lo) / log10(self.hi / self.lo)
        } else {
            (value - self.lo) / (self.hi - self.lo)
        };
        share.clamp(0.0, 1.0)
    }

    /// Values at which the scale is labelled.
    fn ticks(&self, unit: &Unit, count: f64) -> Vec<(f64, String)> {
        let (lo, hi) = (self.lo, self.hi);
        if hi <= lo {
            return vec![(lo, human(lo, unit))];
        }
        let axis = if self.log { Axis::log(lo, hi, unit, count) } else { Axis::exact(lo, hi, unit, count) };
        let inside = axis.ticks.into_iter().filter(|(value, text)| !text.is_empty() && *value >= lo && *value <= hi);
        let mut values: Vec<f64> = inside.map(|tick| tick.0).collect();
        if values.len() < 2 {
            values = vec![lo, hi];
        }
        values.into_iter().map(|value| (value, human(value, unit))).collect()
    }

    fn colour(&self, value: f64) -> (u8, u8, u8) {
        ramp(self.share(value))
    }
}

fn ramp(share: f64) -> (u8, u8, u8) {
    let place = share * (RAMP.len() - 1) as f64;
    let i = (place as usize).min(RAMP.len() - 2);
    let (a, b, t) = (RAMP[i], RAMP[i + 1], place - i as f64);
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * t).round() as u8;
    (mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Black or white, whichever reads better on a colour.
fn readable(on: (u8, u8, u8)) -> Ink {
    if contrast(on, (0, 0, 0)) >= contrast(on, (255, 255, 255)) { Ink::Rgb(0, 0, 0) } else { Ink::Rgb(255, 255, 255) }
}

struct Map<'a> {
    data: &'a HeatMapData,
    rect: Rect,
    cell: (f64, f64),
    colours: Colours,
}

impl Map<'_> {
    fn value(&self, column: usize, row: usize) -> f64 {
        self.data.values.get(row * self.data.x_values.len() + column).copied().unwrap_or(f64::NAN)
    }

    /// The cell's place; row 0 is at the bottom.
    fn place(&self, column: usize, row: usize) -> Rect {
        let (w, h) = self.cell;
        Rect { x: self.rect.x + w * column as f64, y: self.rect.bottom() - h * (row + 1) as f64, w, h }
    }

    fn places(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (columns, rows) = (self.data.x_values.len(), self.data.y_values.len());
        (0..rows).flat_map(move |row| (0..columns).map(move |column| (column, row)))
    }

    fn cells(&self, scene: &mut Scene) {
        let texts: Vec<String> = self.data.values.iter().map(|value| human(*value, &self.data.measure.unit)).collect();
        let widest = texts.iter().map(|text| width(text, LABEL, Weight::Regular)).fold(0.0, f64::max);
        let written = self.cell.0 >= widest + 6.0 && self.cell.1 >= LABEL + 3.0;
        for (column, row) in self.places() {
            let (place, value) = (self.place(column, row), self.value(column, row));
            if !value.is_finite() {
                scene.rect(place, Ink::Grid, 1.0);
                scene.line((place.x, place.bottom()), (place.right(), place.y), Stroke::solid(Ink::Frame, 1.0));
                continue;
            }
            let colour = self.colours.colour(value);
            // Half a pixel under the next cells, or a seam of paper would shine through between them.
            let (w, lift) =
                (place.w + if column + 1 < self.data.x_values.len() { 0.5 } else { 0.0 }, if row > 0 { 0.5 } else { 0.0 });
            scene.rect(Rect { w, h: place.h + lift, ..place }, Ink::Rgb(colour.0, colour.1, colour.2), 1.0);
            if written {
                let at = (place.x + place.w / 2.0, place.y + place.h / 2.0 + LABEL * 0.36);
                label(scene, at, &human(value, &self.data.measure.unit), Anchor::Middle, readable(colour));
            }
        }
    }

    /// The border between cells that meet the target and cells that do not.
    fn border(&self, scene: &mut Scene) {
        let Some(target) = &self.data.target else { return };
        let (columns, rows) = (self.data.x_values.len(), self.data.y_values.len());
        let parts = |a: f64, b: f64| a.is_finite() && b.is_finite() && meets(target, a) != meets(target, b);
        let mut edges: Vec<Vec<P>> = Vec::new();
        for (column, row) in self.places() {
            let (place, value) = (self.place(column, row), self.value(column, row));
            if column + 1 < columns && parts(value, self.value(column + 1, row)) {
                edges.push(vec![(place.right(), place.y), (place.right(), place.bottom())]);
            }
            if row + 1 < rows && parts(value, self.value(column, row + 1)) {
                edges.push(vec![(place.x, place.y), (place.right(), place.y)]);
            }
        }
        // A seam of paper around the border keeps it in sight on dark and light cells.
        scene.lines(edges.clone(), Stroke::solid(Ink::Rgb(255, 255, 255), 5.0));
        scene.lines(edges, BORDER);
    }

    fn best(&self, scene: &mut Scene) {
        let Some((column, row)) = self.data.best.filter(|(c, r)| *c < self.data.x_values.len() && *r < self.data.y_values.len())
        else {
            return;
        };
        let place = self.place(column, row);
        let ink =
            readable(self.colours.colour(Some(self.value(column, row)).filter(|v| v.is_finite()).unwrap_or(self.colours.lo)));
        let inner = Rect { x: place.x + 3.0, y: place.y + 3.0, w: place.w - 6.0, h: place.h - 6.0 };
        if inner.w > 4.0 && inner.h > 4.0 {
            scene.outline(inner, Stroke::solid(ink, 1.6));
        }
        let size = (place.w.min(place.h) * 0.2).clamp(2.0, 5.5);
        scene.fill(vec![arc_points(inner.x + size + 2.0, inner.y + size + 2.0, size, 4)], ink, 1.0);
    }

    fn names(&self, scene: &mut Scene) {
        scene.outline(self.rect, Stroke::solid(Ink::Frame, 1.0));
        let mut free = f64::INFINITY;
        for (row, name) in self.data.y_values.iter().enumerate() {
            let place = self.place(0, row);
            let y = place.y + place.h / 2.0 + LABEL * 0.36;
            if y < free {
                free = y - LABEL;
                label(scene, (self.rect.x - 7.0, y), &elide(name, LABEL, Weight::Regular, 200.0), Anchor::End, Ink::Muted);
            }
        }
        let mut free = f64::NEG_INFINITY;
        for (column, name) in self.data.x_values.iter().enumerate() {
            let place = self.place(column, 0);
            let (x, room) = (place.x + place.w / 2.0, if place.w > 44.0 { place.w - 6.0 } else { 120.0 });
            let text = elide(name, LABEL, Weight::Regular, room);
            let half = width(&text, LABEL, Weight::Regular) / 2.0;
            if x - half > free {
                free = x + half + 5.0;
                label(scene, (x, self.rect.bottom() + 16.0), &text, Anchor::Middle, Ink::Muted);
            }
        }
        let at = (self.rect.x + self.rect.w / 2.0, self.rect.bottom() + 33.0);
        label(scene, at, &elide(&self.data.x_label, LABEL, Weight::Regular, self.rect.w), Anchor::Middle, Ink::Text);
    }

    /// The scale of colours at the right.
    fn scale(&self, scene: &mut Scene) {
        let bar = Rect { x: self.rect.right() + 24.0, y: self.rect.y, w: 16.0, h: self.rect.h.max(120.0) };
        let steps = 48;
        for i in 0..steps {
            let (r, g, b) = ramp((f64::from(i) + 0.5) / f64::from(steps));
            let h = bar.h / f64::from(steps);
            let y = bar.bottom() - h * f64::from(i + 1);
            scene.rect(Rect { x: bar.x, y, w: bar.w, h: h + if i > 0 { 0.5 } else { 0.0 } }, Ink::Rgb(r, g, b), 1.0);
        }
        scene.outline(bar, Stroke::solid(Ink::Frame, 1.0));
        for (value, text) in self.colours.ticks(&self.data.measure.unit, bar.h / 34.0) {
            let y = bar.bottom() - bar.h * self.colours.share(value);
            scene.line((bar.right(), y), (bar.right() + 4.0, y), Stroke::solid(Ink::Frame, 1.0));
            label(scene, (bar.right() + 7.0, y + LABEL * 0.36), &text, Anchor::Start, Ink::Muted);
        }
        if let Some(target) = self.data.target.as_ref().filter(|t| t.value >= self.colours.lo && t.value <= self.colours.hi) {
            let y = bar.bottom() - bar.h * self.colours.share(target.value);
            scene.line((bar.x - 6.0, y), (bar.right() + 6.0, y), BORDER);
        }
    }
}

fn meets(target: &Target, value: f64) -> bool {
    match target.sense {
        Sense::AtMost => value <= target.value,
        Sense::AtLeast => value >= target.value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_gets_darker_all_the_way() {
        let light: Vec<f64> = (0..=20).map(|i| contrast(ramp(f64::from(i) / 20.0), (0, 0, 0))).collect();
        assert!(light.windows(2).all(|pair| pair[0] > pair[1]), "{light:?}");
    }

    #[test]
    fn labels_on_every_colour_have_a_contrast_of_at_least_four_and_a_half() {
        for i in 0..=100 {
            let colour = ramp(f64::from(i) / 100.0);
            assert!(contrast(colour, readable(colour).rgb()) >= 4.5, "{colour:?}");
        }
    }

    #[test]
    fn a_logarithmic_scale_halves_between_its_ends() {
        let colours = Colours { lo: 0.01, hi: 100.0, log: true };
        assert!((colours.share(1.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_failed_cell_meets_no_target() {
        let target = Target { value: 1.0, sense: Sense::AtMost, label: String::new() };
        assert!(!meets(&target, f64::NAN) && meets(&target, 1.0));
    }
}
