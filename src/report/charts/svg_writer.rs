//! A scene as SVG 1.1 text.

use std::fmt::Write;

use super::font::{FAMILIES, Weight};
use super::ink::Ink;
use super::scene::{Anchor, Figure, P, Shape, Stroke, Text};

/// The whole document.
pub(super) fn write(figure: &Figure) -> String {
    let (w, h) = (number(figure.width), number(figure.height));
    let (title, description) = (escape(&figure.title), escape(&figure.description));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\" \
         aria-label=\"{title}\" font-family=\"{FAMILIES}\">\n<title>{title}</title>\n<desc>{description}</desc>\n"
    );
    shapes(&mut out, figure, Colours::Own);
    out.push_str("</svg>\n");
    out
}

/// An element of an HTML page.
pub(super) fn inline(figure: &Figure, id: &str) -> String {
    let (w, h) = (number(figure.width), number(figure.height));
    let (title, description) = (escape(&figure.title), escape(&figure.description));
    let mut out = format!(
        "<svg width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\n\
         <title id=\"{id}-t\">{title}</title>\n<desc id=\"{id}-d\">{description}</desc>\n"
    );
    shapes(&mut out, figure, Colours::OfThePage);
    out.push_str("</svg>\n");
    out
}

/// Where colours come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Colours {
    /// Attributes, with classes by which a page may restyle them.
    Own,
    /// The classes alone; a computed colour, which has no class, is an attribute still.
    OfThePage,
}

impl Colours {
    /// The attributes of an element in `ink`: `property` is `fill` or `stroke`, `classes` stand behind the ink's.
    fn write(self, out: &mut String, ink: Ink, property: &str, classes: &str) {
        let class = ink.class();
        if self == Self::Own || class.is_none() {
            let none = if property == "stroke" { " fill=\"none\"" } else { "" };
            push(out, format_args!("{none} {property}=\"{}\"", ink.css()));
        }
        if let (Self::OfThePage, Some(class)) = (self, class) {
            push(out, format_args!(" class=\"{class}{classes}\""));
        }
    }

    /// The classes, where colours are attributes: they stand last.
    fn classes(self, out: &mut String, ink: Ink, classes: &str) {
        if let (Self::Own, Some(class)) = (self, ink.class()) {
            push(out, format_args!(" class=\"{class}{classes}\""));
        }
    }
}

fn shapes(out: &mut String, figure: &Figure, colours: Colours) {
    for shape in &figure.scene.shapes {
        match shape {
            Shape::Lines { paths, stroke } => lines(out, paths, stroke, colours),
            Shape::Fill { polygons, ink, opacity } => {
                out.push_str("<path d=\"");
                polygons.iter().for_each(|polygon| path(out, polygon, true));
                out.push('"');
                colours.write(out, *ink, "fill", "");
                colours.classes(out, *ink, "");
                if *opacity < 1.0 {
                    push(out, format_args!(" fill-opacity=\"{}\"", number(*opacity)));
                }
                out.push_str("/>\n");
            }
            Shape::Text(text) => write_text(out, text, colours),
        }
    }
}

fn lines(out: &mut String, paths: &[Vec<P>], stroke: &Stroke, colours: Colours) {
    out.push_str("<path d=\"");
    paths.iter().for_each(|points| path(out, points, false));
    out.push('"');
    colours.write(out, stroke.ink, "stroke", " l");
    push(out, format_args!(" stroke-width=\"{}\"", number(stroke.width)));
    if stroke.dash.is_empty() {
        out.push_str(" stroke-linejoin=\"round\"");
    } else {
        let dash: Vec<String> = stroke.dash.iter().map(|length| number(*length)).collect();
        push(out, format_args!(" stroke-dasharray=\"{}\"", dash.join(" ")));
    }
    colours.classes(out, stroke.ink, " l");
    out.push_str("/>\n");
}

fn write_text(out: &mut String, text: &Text, colours: Colours) {
    push(out, format_args!("<text x=\"{}\" y=\"{}\" font-size=\"{}\"", number(text.at.0), number(text.at.1), number(text.size)));
    if text.weight == Weight::Bold {
        out.push_str(" font-weight=\"bold\"");
    }
    match text.anchor {
        Anchor::Start => {}
        Anchor::Middle => out.push_str(" text-anchor=\"middle\""),
        Anchor::End => out.push_str(" text-anchor=\"end\""),
    }
    colours.write(out, text.ink, "fill", "");
    colours.classes(out, text.ink, "");
    push(out, format_args!(">{}</text>\n", escape(&text.text)));
}

/// Path data with `H` and `V` where a step allows, which halves the size of step curves.
fn path(out: &mut String, points: &[P], closed: bool) {
    let mut last = (String::new(), String::new());
    for (i, &(x, y)) in points.iter().enumerate() {
        let next = (tenth(x), tenth(y));
        if i == 0 {
            push(out, format_args!("M{} {}", next.0, next.1));
        } else if next == last {
            continue;
        } else if next.1 == last.1 {
            push(out, format_args!("H{}", next.0));
        } else if next.0 == last.0 {
            push(out, format_args!("V{}", next.1));
        } else {
            push(out, format_args!("L{} {}", next.0, next.1));
        }
        last = next;
    }
    if closed {
        out.push('Z');
    }
}

/// A coordinate to a tenth of a pixel, which is finer than any screen shows at twice the size.
fn tenth(value: f64) -> String {
    number((value * 10.0).round() / 10.0)
}

/// A number to a hundredth, without idle zeros. What is not finite (never drawn on purpose) becomes 0.
fn number(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text as XML 1.0 allows it: markup escaped, control characters replaced.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\r' | '\t' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::super::scene::Scene;
    use super::*;

    #[test]
    fn names_with_markup_and_control_characters_stay_text() {
        assert_eq!(escape("a<b & \"c\"\u{1}\n'"), "a&lt;b &amp; &quot;c&quot;\u{fffd} &#39;");
    }

    #[test]
    fn coordinates_are_short_and_always_numbers() {
        assert_eq!([number(1.0), number(-0.001), number(2.345), number(f64::NAN)], ["1", "0", "2.35", "0"].map(String::from));
    }

    #[test]
    fn steps_are_written_with_horizontal_and_vertical_commands() {
        let mut out = String::new();
        path(&mut out, &[(0.0, 0.0), (5.0, 0.0), (5.0, 3.0), (5.0, 3.04), (6.0, 4.0)], true);
        assert_eq!(out, "M0 0H5V3L6 4Z");
    }

    #[test]
    fn a_document_names_itself_for_readers_who_cannot_see_it() {
        let mut scene = Scene::default();
        scene.line((0.0, 0.0), (1.0, 1.0), Stroke::solid(Ink::Series(0), 1.0));
        let figure = Figure { scene, width: 10.0, height: 5.0, title: "a & b".into(), description: "words".into() };
        let svg = figure.to_svg();
        assert!(svg.contains("role=\"img\" aria-label=\"a &amp; b\""), "{svg}");
        assert!(svg.contains("<title>a &amp; b</title>\n<desc>words</desc>"), "{svg}");
        assert!(svg.contains("class=\"c-s0 l\""), "{svg}");
        let inline = figure.to_inline_svg("x");
        assert!(inline.contains("aria-labelledby=\"x-t x-d\"") && inline.contains("<desc id=\"x-d\">words</desc>"), "{inline}");
        assert!(inline.contains("class=\"c-s0 l\"") && !inline.contains('#'), "{inline}");
    }
}
