//! A figure from top to bottom: title, panels with captions and legends, notes.

use super::data::Heading;
use super::font::{Weight, elide, width, wrap};
use super::ink::Ink;
use super::scene::{Anchor, Figure, Rect, Scene, Stroke, Text};
use super::sheet::Sheet;
use super::style::Key;

/// Empty border around a figure.
pub(super) const MARGIN: f64 = 20.0;
/// Font size of labels, ticks and legends.
pub(super) const LABEL: f64 = 12.0;
/// Font size of captions.
pub(super) const CAPTION: f64 = 13.0;
/// Longest legend entry in pixels; longer names are cut.
const ENTRY_ROOM: f64 = 420.0;
/// Most entries of one legend; further ones are counted.
const MOST_ENTRIES: usize = 24;

/// A legend entry: how something is drawn, and its name.
pub(super) type Entry = (Key, String);

/// A figure in the making: `y` is how far down it has got.
pub(super) struct Page {
    /// What is drawn so far.
    pub(super) scene: Scene,
    /// Next free line, in pixels from the top.
    pub(super) y: f64,
    /// What it is drawn on.
    pub(super) sheet: Sheet,
}

impl Page {
    /// A page with its title and subtitle.
    pub(super) fn new(heading: &Heading) -> Self {
        let mut page = Self { scene: Scene::default(), y: MARGIN, sheet: heading.sheet };
        let room = page.room();
        let (mut size, mut lines) = (18.0, wrap(&heading.title, 18.0, Weight::Bold, room));
        if lines.len() > 2 {
            (size, lines) = (15.0, wrap(&heading.title, 15.0, Weight::Bold, room));
        }
        page.paragraph(lines, heading.sheet.title_lines(), size, Weight::Bold, Ink::Text);
        page.paragraph(wrap(&heading.subtitle, CAPTION, Weight::Regular, room), 2, CAPTION, Weight::Regular, Ink::Muted);
        page.y += 6.0;
        page
    }

    /// Width within the margins, pixels.
    pub(super) fn room(&self) -> f64 {
        self.sheet.width() - 2.0 * MARGIN
    }

    /// Left and right margin, pixels.
    pub(super) fn margins(&self) -> (f64, f64) {
        (MARGIN, self.sheet.width() - MARGIN)
    }

    /// Right edge of panels whose last tick label reaches beyond them, pixels.
    pub(super) fn right(&self) -> f64 {
        self.sheet.width() - MARGIN - 8.0
    }

    fn paragraph(&mut self, mut lines: Vec<String>, most: usize, size: f64, weight: Weight, ink: Ink) {
        if lines.len() > most {
            lines.truncate(most);
            let room = self.room();
            let last = format!("{} …", lines[most - 1]);
            lines[most - 1] = if width(&last, size, weight) <= room { last } else { elide(&last, size, weight, room - 10.0) };
        }
        for line in lines {
            self.y += size * 1.25;
            let at = (MARGIN, self.y - size * 0.25);
            self.scene.text(Text { at, text: line, size, weight, anchor: Anchor::Start, ink });
        }
    }

    /// A caption followed by a legend that flows on over as many lines as it needs.
    pub(super) fn caption(&mut self, caption: &str, entries: &[Entry], left: f64, right: f64) {
        let line = 19.0;
        self.y += line;
        let mut lines = wrap(caption, CAPTION, Weight::Bold, right - left);
        // What does not fit into two lines is cut.
        let last = lines.split_off(lines.len().saturating_sub(1).min(1)).join(" ");
        for above in lines {
            self.label((left, self.y - 5.0), &above, CAPTION, Weight::Bold, Anchor::Start, Ink::Text);
            self.y += line;
        }
        let caption = elide(&last, CAPTION, Weight::Bold, right - left);
        let mut x = left;
        if !caption.is_empty() {
            x += width(&caption, CAPTION, Weight::Bold) + 20.0;
            self.label((left, self.y - 5.0), &caption, CAPTION, Weight::Bold, Anchor::Start, Ink::Text);
        }
        for (i, (key, name)) in entries.iter().enumerate() {
            let hidden = entries.len() - i;
            let more = i == MOST_ENTRIES && hidden > 1;
            let name = if more {
                format!("and {hidden} more")
            } else {
                elide(name, LABEL, Weight::Regular, ENTRY_ROOM.min(right - left - Key::WIDTH - 6.0))
            };
            let wide = if more { 0.0 } else { Key::WIDTH + 6.0 } + width(&name, LABEL, Weight::Regular);
            if x + wide > right && x > left {
                x = left;
                self.y += line;
            }
            if !more {
                key.draw(&mut self.scene, Rect { x, y: self.y - 15.0, w: Key::WIDTH, h: 12.0 });
            }
            let at = (x + if more { 0.0 } else { Key::WIDTH + 6.0 }, self.y - 5.0);
            self.label(at, &name, LABEL, Weight::Regular, Anchor::Start, Ink::Text);
            x += wide + 18.0;
            if more {
                break;
            }
        }
        self.y += 3.0;
    }

    /// A note below what is drawn so far.
    pub(super) fn note(&mut self, text: &str) {
        let room = self.room();
        self.paragraph(wrap(text, LABEL, Weight::Regular, room), 6, LABEL, Weight::Regular, Ink::Muted);
        self.y += 2.0;
    }

    /// "No data" in place of a panel.
    pub(super) fn no_data(&mut self, left: f64, right: f64, height: f64) {
        let rect = Rect { x: left, y: self.y, w: right - left, h: height };
        no_data(&mut self.scene, rect);
        self.y += height + 8.0;
    }

    /// One text.
    pub(super) fn label(&mut self, at: (f64, f64), text: &str, size: f64, weight: Weight, anchor: Anchor, ink: Ink) {
        self.scene.text(Text { at, text: text.to_owned(), size, weight, anchor, ink });
    }

    /// The finished figure.
    pub(super) fn finish(mut self, heading: &Heading) -> Figure {
        let height = (self.y + MARGIN).ceil();
        let mut page = Scene::default();
        page.rect(Rect { x: 0.0, y: 0.0, w: self.sheet.width(), h: height }, Ink::Paper, 1.0);
        page.shapes.append(&mut self.scene.shapes);
        let described = [&heading.description, &heading.subtitle, &heading.title].into_iter().find(|text| !text.is_empty());
        Figure {
            scene: page,
            width: self.sheet.width(),
            height,
            title: heading.title.clone(),
            description: described.cloned().unwrap_or_default(),
        }
    }
}

/// "No data" in a frame.
pub(super) fn no_data(scene: &mut Scene, rect: Rect) {
    scene.outline(rect, Stroke::dashed(Ink::Frame, 1.0, &[4.0, 4.0]));
    let at = (rect.x + rect.w / 2.0, rect.y + rect.h / 2.0 + 4.0);
    scene.text(Text {
        at,
        text: "no data".to_owned(),
        size: CAPTION,
        weight: Weight::Regular,
        anchor: Anchor::Middle,
        ink: Ink::Muted,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::charts::scene::Shape;

    fn texts(figure: &Figure) -> Vec<&Text> {
        figure.scene.shapes.iter().filter_map(|shape| if let Shape::Text(text) = shape { Some(text) } else { None }).collect()
    }

    #[test]
    fn a_title_of_any_length_stays_on_the_page() {
        for (words, sheet) in [1, 20, 60, 400].into_iter().flat_map(|words| [(words, Sheet::Wide), (words, Sheet::Narrow)]) {
            let heading = Heading { title: "refused attempts ".repeat(words), sheet, ..Heading::default() };
            let figure = Page::new(&heading).finish(&heading);
            let lines = texts(&figure);
            assert!(lines.len() <= sheet.title_lines());
            assert!(lines.iter().all(|t| t.at.0 + width(&t.text, t.size, t.weight) <= heading.sheet.width()), "{words} words");
        }
    }

    #[test]
    fn legends_wrap_within_their_room_and_count_what_they_leave_out() {
        let mut page = Page::new(&Heading::default());
        let entry = |i| (Key::Fill(Ink::Fill(i)), format!("a worker with quite a long name, number {i}"));
        page.caption("Busy", &(0..40).map(entry).collect::<Vec<_>>(), 60.0, 900.0);
        let figure = page.finish(&Heading::default());
        let texts = texts(&figure);
        assert!(texts.iter().all(|t| t.at.0 + width(&t.text, t.size, t.weight) <= 900.5));
        assert!(texts.iter().any(|t| t.text == "and 16 more"));
    }
}
