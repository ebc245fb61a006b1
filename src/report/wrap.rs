//! Text in columns.

/// Columns of text for people.
pub const COLUMNS: usize = 80;

/// `text` in lines of at most `columns`, the first after `first`, the others after as many blanks as `hang` says. Words longer
/// than a line stay whole.
///
/// ```
/// use shedcast::report::wrap;
///
/// assert_eq!(wrap("- ", "one two three", 2, 10), "- one two\n  three\n");
/// ```
pub fn wrap(first: &str, text: &str, hang: usize, columns: usize) -> String {
    let mut lines = String::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in words(text) {
        let gap = usize::from(!empty);
        if !empty && line.chars().count() + gap + word.chars().count() > columns {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line = " ".repeat(hang);
        } else if gap == 1 {
            line.push(' ');
        }
        line.push_str(&word);
        empty = false;
    }
    lines.push_str(line.trim_end());
    lines.push('\n');
    lines
}

/// The words of a text; a unit stays with its number.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let bare = word.trim_end_matches([',', ':', ';', ')', '.']);
        let is_unit = matches!(bare, "%" | "s" | "ms" | "us" | "ns");
        match words.last_mut().filter(|last| is_unit && last.ends_with(|c: char| c.is_ascii_digit())) {
            Some(number) => *number = format!("{number} {word}"),
            None => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_unit_stays_with_its_number() {
        assert_eq!(wrap("", "about 12.3 %, 1.5 s", 0, 10), "about\n12.3 %,\n1.5 s\n");
    }

    proptest! {
        #[test]
        fn no_line_is_too_long_and_no_word_is_lost(words in prop::collection::vec("[a-z]{1,12}", 0..40), columns in 20usize..90) {
            let text = words.join(" ");
            let wrapped = wrap("> ", &text, 2, columns);
            prop_assert!(wrapped.lines().all(|line| line.chars().count() <= columns));
            let kept: Vec<&str> = wrapped.trim_start_matches('>').split_whitespace().collect();
            prop_assert_eq!(kept, words);
        }
    }
}
