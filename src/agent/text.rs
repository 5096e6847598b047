//! Text for models and for the transcript: without what neither can show, and cut to a bound without splitting a
//! character and without hiding the cut.

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
    join(head, tail, (text.len() - head.len() - tail.len()) as u64)
}

/// Head and tail with the number of bytes between them stated on a line of its own.
#[must_use]
pub fn join(head: &str, tail: &str, cut: u64) -> String {
    let mut joined = String::with_capacity(head.len() + tail.len() + 40);
    joined.push_str(head);
    end_line(&mut joined);
    let _ = writeln!(joined, "[… {cut} bytes left out …]");
    joined.push_str(tail);
    joined
}

/// The text if it has at most `max` bytes, else its head and a mark.
#[must_use]
pub fn head(text: &str, max: usize) -> String {
    if text.len() <= max { text.to_owned() } else { format!("{}…", &text[..text.floor_char_boundary(max)]) }
}

/// Adds a line end where text does not end with one.
pub(crate) fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// What a program printed or a file holds, as text: `U+FFFD` for what is not UTF-8 and for control characters other
/// than line ends and tabs; escape sequences for colours and cursor are dropped.
#[must_use]
pub fn plain(bytes: &[u8]) -> String {
    clean(&String::from_utf8_lossy(bytes))
}

/// Like [`plain`], for what is UTF-8 already.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::with_capacity(text.len());
    while let Some(at) = rest.find(|c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        match escape_sequence(rest) {
            0 => {
                plain.push(char::REPLACEMENT_CHARACTER);
                rest = rest.split_at(rest.chars().next().map_or(0, char::len_utf8)).1;
            }
            length => rest = &rest[length..],
        }
    }
    plain.push_str(rest);
    plain
}

/// How many bytes of `text` are a control sequence (ECMA-48: `ESC [`, parameters, a final byte); 0 if it begins with
/// none.
fn escape_sequence(text: &str) -> usize {
    let Some(parameters) = text.strip_prefix("\u{1b}[") else { return 0 };
    let length = parameters.bytes().take_while(|byte| (0x20..=0x3f).contains(byte)).count();
    match parameters.as_bytes().get(length) {
        Some(0x40..=0x7e) => "\u{1b}[".len() + length + 1,
        Some(_) | None => 0,
    }
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

    #[test]
    fn output_that_is_not_text_becomes_text() {
        assert_eq!(plain(b"\xff\xfe ok\0\r\n\tn\xc3\xa9\n"), "\u{fffd}\u{fffd} ok\u{fffd}\r\n\tné\n");
        assert_eq!(plain(b"\x1b[1;31merror\x1b[0m: \x1b[2K"), "error: ");
        assert_eq!(plain(b"unfinished \x1b["), "unfinished \u{fffd}[");
        assert_eq!(plain("unfinished \u{1b}[1é".as_bytes()), "unfinished \u{fffd}[1é");
        assert_eq!(clean("\u{1b}]0;title\u{7}"), "\u{fffd}]0;title\u{fffd}");
    }
}
