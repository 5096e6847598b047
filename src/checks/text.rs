//! What a command printed, as text that is safe to store, to show and to read names from.

use std::borrow::Cow;

use crate::sandbox::Output;

/// How much of an output's end is recorded with an attempt, in bytes.
pub const TAIL: usize = 64 * 1024;

/// Longer escape sequences are taken for text.
const LONGEST_ESCAPE: usize = 4_096;

/// The whole kept output as text; where bytes were left out a line says how many.
///
/// Invalid UTF-8 becomes U+FFFD, and so do NUL and other control characters; escape sequences are
/// removed, each carriage return begins a new line (nothing is overwritten, so nothing can be hidden),
/// and marks that reorder text are spelled out.
#[must_use]
pub fn whole(output: &Output) -> String {
    if output.cut > 0 {
        let (head, tail) = (rendered(&output.head), rendered(&output.tail));
        return format!("{head}\n[… {} bytes left out …]\n{tail}", output.cut);
    }
    if output.tail.is_empty() {
        return rendered(&output.head);
    }
    rendered(&[output.head.as_slice(), &output.tail].concat())
}

/// At most the last `limit` bytes of `text`, beginning at a character.
#[must_use]
pub fn last(text: &str, limit: usize) -> &str {
    let from = text.len().saturating_sub(limit);
    let from = (from..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    &text[from..]
}

/// The full log as it is kept: the bytes as they came, with a line where some were left out.
#[must_use]
pub fn log(output: &Output) -> Cow<'_, [u8]> {
    match (output.tail.is_empty(), output.cut) {
        (true, 0) => Cow::Borrowed(&output.head),
        (false, 0) => Cow::Owned([output.head.as_slice(), &output.tail].concat()),
        (_, cut) => {
            let gap = format!("\n[… {cut} bytes left out …]\n");
            Cow::Owned([output.head.as_slice(), gap.as_bytes(), &output.tail].concat())
        }
    }
}

fn rendered(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '\u{1b}' => &after[escape_length(after)..],
            '\r' if after.starts_with(['\n', '\r']) => after,
            _ => {
                push(&mut out, c);
                after
            }
        };
    }
    out
}

fn push(out: &mut String, c: char) {
    match c {
        '\n' | '\t' => out.push(c),
        '\r' => out.push('\n'),
        // Bell and backspace draw nothing.
        '\u{7}' | '\u{8}' => {}
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => out.push(char::REPLACEMENT_CHARACTER),
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            out.push_str(&format!("<U+{:04X}>", u32::from(c)));
        }
        _ => out.push(c),
    }
}

/// How many bytes after an escape character belong to its sequence. One that does not end on its
/// line takes only its first character along, so that what follows stays visible.
fn escape_length(after: &str) -> usize {
    let Some(first) = after.chars().next() else { return 0 };
    match first {
        '[' => 1 + control_length(&after[1..]),
        ']' | 'P' | 'X' | '^' | '_' => 1 + string_length(&after[1..]),
        ' '..='/' => {
            let more = after.bytes().take_while(|b| (b' '..=b'/').contains(b)).count();
            more + usize::from(after.as_bytes().get(more).is_some_and(|b| (b'0'..=b'~').contains(b)))
        }
        '0'..='~' => 1,
        _ => 0,
    }
}

/// Parameters, intermediate bytes and the final byte of a control sequence (ECMA-48, 5.4).
fn control_length(after: &str) -> usize {
    let more = after.bytes().take(LONGEST_ESCAPE).take_while(|b| (b' '..=b'?').contains(b)).count();
    match after.as_bytes().get(more) {
        Some(b'@'..=b'~') => more + 1,
        Some(_) | None => 0,
    }
}

/// A control string up to its end by bell or string terminator.
fn string_length(after: &str) -> usize {
    let bytes = after.as_bytes();
    let end = bytes.iter().take(LONGEST_ESCAPE).position(|b| matches!(b, 0x07 | 0x1b | b'\n'));
    match end.map(|at| (at, bytes[at], bytes.get(at + 1))) {
        Some((at, 0x07, _)) => at + 1,
        Some((at, 0x1b, Some(b'\\'))) => at + 2,
        Some(_) | None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        whole(&Output { head: bytes.to_vec(), tail: Vec::new(), cut: 0 })
    }

    #[test]
    fn output_that_is_not_text_becomes_text() {
        let table: [(&[u8], &str); 16] = [
            (b"plain\n\ttext", "plain\n\ttext"),
            (b"\xff\xfe", "\u{fffd}\u{fffd}"),
            (b"a\0b", "a\u{fffd}b"),
            (b"\x1b[1;31mFAILED\x1b[0m", "FAILED"),
            (b"\x1b[38;5;196mx\x1b[K", "x"),
            (b"\x1b]0;title\x07text", "text"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1b]0;never ends\nnext line", "0;never ends\nnext line"),
            (b"\x1b[12", "12"),
            (b"\x1b", ""),
            (b"\x1b(Bx\x1b=y\x1b\xc3\xa9", "xy\u{e9}"),
            (b"10%\r50%\r100%\r\ndone\r\r\n", "10%\n50%\n100%\ndone\n"),
            (b"FAILED\rok", "FAILED\nok"),
            (b"b\x08bo\x08ol\x07d", "bboold"),
            ("a\u{202e}b\u{2066}".as_bytes(), "a<U+202E>b<U+2066>"),
            ("\u{9b}31m".as_bytes(), "\u{fffd}31m"),
        ];
        for (bytes, expected) in table {
            assert_eq!(text(bytes), expected, "from {bytes:?}");
        }
    }

    #[test]
    fn any_bytes_give_text_without_control_characters() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..200 {
            let bytes: Vec<u8> =
                (0..random.usize(..500)).map(|_| if random.bool() { 0x1b } else { random.u8(..) }).collect();
            let text = text(&bytes);
            assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{bytes:?}");
        }
    }

    #[test]
    fn a_cut_is_stated_and_the_end_is_kept() {
        let output = Output { head: b"begin".to_vec(), tail: b"end".to_vec(), cut: 9 };
        assert_eq!(whole(&output), "begin\n[… 9 bytes left out …]\nend");
        assert_eq!(log(&output).as_ref(), whole(&output).as_bytes());
        let joined = Output { head: b"\xc3".to_vec(), tail: b"\xa9".to_vec(), cut: 0 };
        assert_eq!(whole(&joined), "é", "a character that lies across the halves stays whole");
        assert_eq!(log(&joined).as_ref(), "é".as_bytes());
        assert_eq!(last("aéb", 2), "b");
        assert_eq!(last("aéb", 3), "éb");
        assert_eq!(last("aéb", 9), "aéb");
        assert_eq!(last("é", 0), "");
    }
}
