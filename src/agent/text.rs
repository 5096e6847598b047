//! Cutting text to a bound without splitting a character and without hiding the cut.

use std::fmt::Write as _;

/// The text if it has at most `max` bytes, else its head and tail, about half of `max` each, with the cut stated
/// between them. The statement itself comes on top of `max`.
#[must_use]
pub fn ends(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(max / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - max / 2)..];
    join(head, tail, text.len() - head.len() - tail.len())
}

/// Head and tail with the number of bytes between them stated on a line of its own.
#[must_use]
pub fn join(head: &str, tail: &str, cut: usize) -> String {
    let mut joined = String::with_capacity(head.len() + tail.len() + 40);
    joined.push_str(head);
    if !head.is_empty() && !head.ends_with('\n') {
        joined.push('\n');
    }
    let _ = writeln!(joined, "[… {cut} bytes left out …]");
    joined.push_str(tail);
    joined
}

/// The text if it has at most `max` bytes, else its head and a mark.
#[must_use]
pub fn head(text: &str, max: usize) -> String {
    if text.len() <= max { text.to_owned() } else { format!("{}…", &text[..text.floor_char_boundary(max)]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_within_the_bound_is_unchanged() {
        assert_eq!(ends("né", 3), "né");
        assert_eq!(head("né", 3), "né");
    }

    #[test]
    fn a_cut_is_stated_and_splits_no_character() {
        assert_eq!(ends(&"é".repeat(10), 10), "éé\n[… 12 bytes left out …]\néé");
        assert_eq!(head("né", 2), "n…");
        let long = "x".repeat(1 << 20);
        assert_eq!(ends(&long, 30_000).len(), 30_000 + "\n[… 1018576 bytes left out …]\n".len());
    }
}
