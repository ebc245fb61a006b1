//! Text in HTML.

/// Text without markup: also safe within an attribute.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            ' ' if is_before_unit(&out, &text[at + 1..]) => out.push('\u{a0}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Whether a blank stands between a number and its unit, which stay together.
fn is_before_unit(before: &str, after: &str) -> bool {
    let unit = after.split(|c: char| !(c.is_alphabetic() || c == '%')).next().unwrap_or_default();
    before.ends_with(|c: char| c.is_ascii_digit()) && matches!(unit, "%" | "s" | "ms" | "us" | "ns" | "min" | "h")
}

/// A sentence in which back quotes mark code.
pub(super) fn sentence(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // A back quote without a partner is a character like any other.
    if parts.len().is_multiple_of(2) {
        return escape(text);
    }
    let part = |(i, part): (usize, &&str)| {
        if i.is_multiple_of(2) { escape(part) } else { format!("<code>{}</code>", escape(part)) }
    };
    parts.iter().enumerate().map(part).collect()
}

/// A text as a part of an id: letters, digits and hyphens.
pub(super) fn id(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    text.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_taken_for_markup() {
        assert_eq!(escape("a<b & \"c\"\u{1}'"), "a&lt;b &amp; &quot;c&quot;\u{fffd}&#39;");
        assert_eq!(escape("12.3 %, 1.5 s of 3 steps"), "12.3\u{a0}%, 1.5\u{a0}s of 3 steps");
        assert_eq!(sentence("set `a<b` now"), "set <code>a&lt;b</code> now");
        assert_eq!(sentence("a ` alone"), "a ` alone");
        assert_eq!(id("charts/heat-map-Rate_529"), "charts-heat-map-rate-529");
    }
}
