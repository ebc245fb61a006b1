//! Colours by role. Every role is told apart in grey print by lightness, dash or marker as well, and every text
//! role has a contrast of at least 4.5:1 on paper (WCAG 2.1, success criterion 1.4.3).

/// A colour by its role in a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// Background.
    Paper,
    /// Titles, captions, labels.
    Text,
    /// Tick labels, notes.
    Muted,
    /// Grid lines.
    Grid,
    /// Frames and axis ticks.
    Frame,
    /// Thresholds, limits and targets.
    Limit,
    /// Vertical lines of marked instants.
    Mark,
    /// The i-th curve.
    Series(usize),
    /// The i-th stacked area or bar.
    Fill(usize),
    /// A computed colour (heat map cells).
    Rgb(u8, u8, u8),
}

/// Curves: after Okabe and Ito, "Color Universal Design" (2008), darkened where paper needs it.
const SERIES: [(u8, u8, u8); 8] = [
    (0x00, 0x5b, 0x96),
    (0xc8, 0x51, 0x00),
    (0x00, 0x84, 0x60),
    (0xb5, 0x4f, 0x92),
    (0x22, 0x22, 0x22),
    (0x2a, 0x8f, 0xcf),
    (0xa8, 0x7a, 0x00),
    (0x6b, 0x4c, 0x9a),
];

/// The same for dark pages.
const SERIES_DARK: [(u8, u8, u8); 8] = [
    (0x5a, 0xb0, 0xf0),
    (0xff, 0x93, 0x4f),
    (0x3f, 0xc9, 0x9d),
    (0xe5, 0x93, 0xc8),
    (0xee, 0xee, 0xee),
    (0x9c, 0xd4, 0xf7),
    (0xe3, 0xb8, 0x3c),
    (0xb9, 0x9c, 0xe8),
];

/// Areas that touch each other: all differ in lightness, neighbours most.
const FILLS: [(u8, u8, u8); 8] = [
    (0x12, 0x35, 0x5b),
    (0xe0, 0x90, 0x2a),
    (0xb8, 0x47, 0x33),
    (0xb9, 0xdf, 0xf5),
    (0x5b, 0x8f, 0x42),
    (0xec, 0xec, 0xec),
    (0x6b, 0x3f, 0x8a),
    (0xf0, 0xd4, 0x84),
];

/// The same for dark pages: only the darkest ones are lightened.
const FILLS_DARK: [(u8, u8, u8); 8] = [
    (0x4a, 0x86, 0xc8),
    (0xe0, 0x90, 0x2a),
    (0xc2, 0x4a, 0x36),
    (0xb9, 0xdf, 0xf5),
    (0x6d, 0xa6, 0x52),
    (0xec, 0xec, 0xec),
    (0xa3, 0x7f, 0xc4),
    (0xf0, 0xd4, 0x84),
];

impl Ink {
    /// The colour on a light page and on paper: red, green, blue.
    pub(super) fn rgb(self) -> (u8, u8, u8) {
        match self {
            Self::Paper => (0xff, 0xff, 0xff),
            Self::Text => (0x1a, 0x1a, 0x1a),
            Self::Muted => (0x55, 0x55, 0x55),
            Self::Grid => (0xe2, 0xe4, 0xe8),
            Self::Frame => (0x8a, 0x8d, 0x94),
            Self::Limit => (0xb0, 0x00, 0x20),
            Self::Mark => (0x50, 0x46, 0x6e),
            Self::Series(i) => SERIES[i % SERIES.len()],
            Self::Fill(i) => FILLS[i % FILLS.len()],
            Self::Rgb(r, g, b) => (r, g, b),
        }
    }

    /// The colour on a dark page, where it differs.
    fn dark_rgb(self) -> Option<(u8, u8, u8)> {
        Some(match self {
            Self::Paper => (0x17, 0x19, 0x1e),
            Self::Text => (0xea, 0xea, 0xea),
            Self::Muted => (0xb6, 0xb8, 0xbd),
            Self::Grid => (0x34, 0x37, 0x3e),
            Self::Frame => (0x85, 0x89, 0x91),
            Self::Limit => (0xff, 0x8a, 0x80),
            Self::Mark => (0xb7, 0xa9, 0xe3),
            Self::Series(i) => SERIES_DARK[i % SERIES_DARK.len()],
            Self::Fill(i) => FILLS_DARK[i % FILLS_DARK.len()],
            Self::Rgb(..) => return None,
        })
    }

    /// The class of elements in this ink, by which a page may restyle them.
    pub(super) fn class(self) -> Option<String> {
        Some(match self {
            Self::Paper => "c-paper".to_owned(),
            Self::Text => "c-text".to_owned(),
            Self::Muted => "c-muted".to_owned(),
            Self::Grid => "c-grid".to_owned(),
            Self::Frame => "c-frame".to_owned(),
            Self::Limit => "c-limit".to_owned(),
            Self::Mark => "c-mark".to_owned(),
            Self::Series(i) => format!("c-s{}", i % SERIES.len()),
            Self::Fill(i) => format!("c-f{}", i % FILLS.len()),
            Self::Rgb(..) => return None,
        })
    }

    /// The colour as CSS writes it.
    pub(super) fn css(self) -> String {
        css(self.rgb())
    }
}

fn css((r, g, b): (u8, u8, u8)) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// CSS rules that turn inline figures dark, for a page that wraps them in `@media (prefers-color-scheme: dark)`.
///
/// Each rule begins with `scope`, a selector such as `.chart` ("" for none). Filled elements and drawn lines follow alike.
pub fn dark_css(scope: &str) -> String {
    rules(scope, Ink::dark_rgb)
}

/// CSS rules that colour figures that carry no colours of their own ([`Figure::to_inline_svg`](super::Figure::to_inline_svg)),
/// on a light page.
pub fn light_css(scope: &str) -> String {
    rules(scope, |ink| Some(ink.rgb()))
}

fn rules(scope: &str, colour: fn(Ink) -> Option<(u8, u8, u8)>) -> String {
    let fixed = [Ink::Paper, Ink::Text, Ink::Muted, Ink::Grid, Ink::Frame, Ink::Limit, Ink::Mark];
    let inks = fixed.into_iter().chain((0..SERIES.len()).map(Ink::Series)).chain((0..FILLS.len()).map(Ink::Fill));
    let mut rules = String::new();
    for ink in inks {
        if let (Some(class), Some(colour)) = (ink.class(), colour(ink)) {
            let colour = css(colour);
            rules.push_str(&format!("{scope} .{class}{{fill:{colour}}}{scope} .{class}.l{{fill:none;stroke:{colour}}}\n"));
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::super::scale::contrast;
    use super::*;

    #[test]
    fn text_inks_have_a_contrast_of_at_least_four_and_a_half_on_both_pages() {
        for ink in [Ink::Text, Ink::Muted, Ink::Limit, Ink::Mark] {
            let light = contrast(ink.rgb(), Ink::Paper.rgb());
            let dark = contrast(ink.dark_rgb().unwrap(), Ink::Paper.dark_rgb().unwrap());
            assert!(light >= 4.5 && dark >= 4.5, "{ink:?}: {light:.2} on paper, {dark:.2} on dark");
        }
    }

    #[test]
    fn curves_and_marks_have_a_contrast_of_at_least_three_on_both_pages() {
        for ink in (0..SERIES.len()).map(Ink::Series).chain([Ink::Frame]) {
            let light = contrast(ink.rgb(), Ink::Paper.rgb());
            let dark = contrast(ink.dark_rgb().unwrap(), Ink::Paper.dark_rgb().unwrap());
            assert!(light >= 3.0 && dark >= 3.0, "{ink:?}: {light:.2} on paper, {dark:.2} on dark");
        }
    }

    #[test]
    fn fills_stand_out_from_a_dark_page() {
        let page = Ink::Paper.dark_rgb().unwrap();
        for (i, fill) in FILLS_DARK.iter().enumerate() {
            assert!(contrast(*fill, page) >= 3.0, "fill {i}: {:.2}", contrast(*fill, page));
        }
    }

    #[test]
    fn neighbouring_fills_differ_in_grey_print() {
        for pair in FILLS.windows(2) {
            assert!(contrast(pair[0], pair[1]) > 1.6, "{pair:?}: {}", contrast(pair[0], pair[1]));
        }
    }

    #[test]
    fn the_first_four_fills_all_differ_in_grey_print() {
        for (i, a) in FILLS[..4].iter().enumerate() {
            for b in &FILLS[..i] {
                assert!(contrast(*a, *b) > 1.5, "{a:?} {b:?}: {}", contrast(*a, *b));
            }
        }
    }

    #[test]
    fn dark_rules_name_every_class_once_under_the_scope() {
        let css = dark_css(".chart");
        assert_eq!(css.matches(".chart .c-paper{").count(), 1);
        assert_eq!(css.lines().count(), 7 + SERIES.len() + FILLS.len());
    }
}
