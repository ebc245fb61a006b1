//! Text in columns.

/// Columns of text for people.
pub(super) const COLUMNS: usize = 80;

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
    for word in text.split_whitespace() {
        let gap = usize::from(!empty);
        if !empty && line.chars().count() + gap + word.chars().count() > columns {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line = " ".repeat(hang);
        } else if gap == 1 {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines.push_str(line.trim_end());
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_line_is_too_long_and_no_word_is_lost(words in prop::collection::vec("[a-z]{1,12}", 0..40), columns in 20usize..90) {
            let text = words.join(" ");
            let wrapped = wrap("> ", &text, 2, columns);
            prop_assert!(wrapped.lines().all(|line| line.chars().count() <= columns));
            prop_assert_eq!(wrapped.replacen("> ", "", 1).split_whitespace().collect::<Vec<_>>(), words);
        }
    }
}
