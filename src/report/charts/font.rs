//! The embedded font (Noto Sans, Apache-2.0, by the crate `ttf-noto-sans`): no system font is ever asked for.

use std::sync::LazyLock;

use ab_glyph::{Font, FontRef, PxScale, ScaleFont};

/// Families of SVG text, best first. The viewer may own none of them and take its own sans-serif.
pub(super) const FAMILIES: &str = "'Noto Sans','Segoe UI',Arial,'Liberation Sans','DejaVu Sans',sans-serif";

/// How much wider than the embedded font a viewer's may be: DejaVu Sans, the widest usual one, is 8 % wider, its bold 14 %.
const fn slack(weight: Weight) -> f64 {
    match weight {
        Weight::Regular => 1.09,
        Weight::Bold => 1.15,
    }
}

/// Weight of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// Upright, normal.
    Regular,
    /// Titles and captions.
    Bold,
}

static REGULAR: LazyLock<FontRef<'static>> =
    LazyLock::new(|| FontRef::try_from_slice(ttf_noto_sans::REGULAR).expect("the embedded font is valid"));
static BOLD: LazyLock<FontRef<'static>> =
    LazyLock::new(|| FontRef::try_from_slice(ttf_noto_sans::BOLD).expect("the embedded font is valid"));

/// The font of a weight.
pub(super) fn font(weight: Weight) -> &'static FontRef<'static> {
    match weight {
        Weight::Regular => &REGULAR,
        Weight::Bold => &BOLD,
    }
}

/// The scale at which an em of the font is `size` pixels.
pub(super) fn px_scale(font: &FontRef<'static>, size: f32) -> PxScale {
    let per_em = font.units_per_em().unwrap_or(1000.0);
    PxScale::from(size * font.height_unscaled() / per_em)
}

/// Width in pixels to reserve for `text` at font size `size`, whichever font the viewer has.
pub(super) fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let font = font(weight);
    let scaled = font.as_scaled(px_scale(font, size as f32));
    let advance: f32 = text.chars().map(|c| scaled.h_advance(scaled.glyph_id(c))).sum();
    f64::from(advance) * slack(weight)
}

/// `text`, cut with an ellipsis so that it is at most `room` pixels wide.
pub(super) fn elide(text: &str, size: f64, weight: Weight, room: f64) -> String {
    if width(text, size, weight) <= room {
        return text.to_owned();
    }
    let mut kept: String = text.to_owned();
    while kept.pop().is_some() {
        let candidate = format!("{}…", kept.trim_end());
        if width(&candidate, size, weight) <= room {
            return candidate;
        }
    }
    String::new()
}

/// `text`, its beginning cut with an ellipsis so that it is at most `room` pixels wide: names of workers differ at their ends.
pub(super) fn elide_start(text: &str, size: f64, weight: Weight, room: f64) -> String {
    let mut cut = text.to_owned();
    let mut kept = text.chars();
    while width(&cut, size, weight) > room && kept.next().is_some() {
        cut = format!("…{}", kept.as_str());
    }
    cut
}

/// `text` in lines of at most `room` pixels, broken at blanks; a word wider than that is broken anywhere.
pub(super) fn wrap(text: &str, size: f64, weight: Weight, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let candidate = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if width(&candidate, size, weight) <= room {
            line = candidate;
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for c in word.chars() {
            line.push(c);
            if width(&line, size, weight) > room && line.chars().count() > 1 {
                line.pop();
                lines.push(std::mem::replace(&mut line, c.to_string()));
            }
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_text_measures_wider_and_bold_wider_than_regular() {
        assert!(width("all_workers_busy", 12.0, Weight::Regular) > width("busy", 12.0, Weight::Regular));
        assert!(width("refused", 12.0, Weight::Bold) > width("refused", 12.0, Weight::Regular));
        assert_eq!(width("", 12.0, Weight::Regular), 0.0);
    }

    #[test]
    fn wrapped_lines_fit_and_lose_no_word() {
        let text = "9.4 % of attempts refused because every worker was busy during the burst from four to five minutes";
        let lines = wrap(text, 17.0, Weight::Bold, 300.0);
        assert!(lines.len() > 2);
        assert!(lines.iter().all(|line| width(line, 17.0, Weight::Bold) <= 300.0));
        assert_eq!(lines.join(" "), text);
    }

    #[test]
    fn a_word_wider_than_the_room_is_broken() {
        let lines = wrap(&"x".repeat(200), 12.0, Weight::Regular, 100.0);
        assert!(lines.iter().all(|line| width(line, 12.0, Weight::Regular) <= 100.0));
        assert_eq!(lines.concat(), "x".repeat(200));
    }

    #[test]
    fn elided_text_fits_and_says_that_it_was_cut() {
        let cut = elide("a very long name of a worker", 12.0, Weight::Regular, 80.0);
        assert!(cut.ends_with('…') && width(&cut, 12.0, Weight::Regular) <= 80.0);
        assert_eq!(elide("short", 12.0, Weight::Regular, 80.0), "short");
        let cut = elide_start("a very long name of a worker", 12.0, Weight::Regular, 80.0);
        assert!(cut.starts_with('…') && cut.ends_with("worker") && width(&cut, 12.0, Weight::Regular) <= 80.0, "{cut}");
    }

    #[test]
    fn the_font_has_every_sign_that_charts_write() {
        for c in "…–≤≥×%µ²·−".chars() {
            for weight in [Weight::Regular, Weight::Bold] {
                assert_ne!(font(weight).glyph_id(c).0, 0, "{c}");
            }
        }
    }
}
