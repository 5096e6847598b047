//! Paths in trees are bytes; people see them with what cannot be printed escaped, and may cite them like that.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::ops::Deref;

use crate::hidden::reveal;

/// A path in a tree: bytes as git has them, parts divided by `/`, no slash at the ends. Shown by [`readable`].
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreePath(Vec<u8>);

impl TreePath {
    /// The entry of this name in the directory at this path; the top's path is empty.
    pub(super) fn join(&self, name: &[u8]) -> Self {
        if self.0.is_empty() { Self(name.to_vec()) } else { Self([&self.0, name].join(&b'/')) }
    }

    /// The path as that of a directory, with a slash behind it.
    pub(super) fn as_directory(&self) -> Self {
        if self.0.is_empty() { Self(b"./".to_vec()) } else { self.join(b"") }
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for TreePath {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&[u8]> for TreePath {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl Deref for TreePath {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&readable(&self.0))
    }
}

/// A path of a tree as people read it: bytes that are not UTF-8, control characters and characters that nobody can see
/// stand as `\xe2`, `\n` or `\t`, and a backslash as two. No two paths read alike.
#[must_use]
pub fn readable(path: &[u8]) -> String {
    let mut shown = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        chunk.valid().chars().for_each(|c| show(&mut shown, c));
        chunk.invalid().iter().for_each(|b| escape(&mut shown, *b));
    }
    shown
}

fn show(shown: &mut String, c: char) {
    let mut buffer = [0; 4];
    let text: &str = c.encode_utf8(&mut buffer);
    match c {
        '\\' => shown.push_str("\\\\"),
        '\n' => shown.push_str("\\n"),
        '\t' => shown.push_str("\\t"),
        _ if c.is_control() || matches!(reveal(text), Cow::Owned(_)) => text.bytes().for_each(|b| escape(shown, b)),
        _ => shown.push(c),
    }
}

fn escape(shown: &mut String, byte: u8) {
    // Writing to a String cannot fail.
    let _ = write!(shown, "\\x{byte:02x}");
}

/// The paths that a person or an agent may mean by this text: the text itself, and what it reads as if [`readable`]
/// escaped something in it.
pub(super) fn meant(text: &[u8]) -> impl Iterator<Item = Cow<'_, [u8]>> {
    let unescaped = unescape(text).filter(|bytes| bytes != text);
    std::iter::once(Cow::Borrowed(text)).chain(unescaped.map(Cow::Owned))
}

fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let mut path = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let (byte, after) = if *first == b'\\' { escaped(after)? } else { (*first, after) };
        path.push(byte);
        rest = after;
    }
    Some(path)
}

/// What stands behind a backslash, and what follows it.
fn escaped(text: &[u8]) -> Option<(u8, &[u8])> {
    match text {
        [b'\\', rest @ ..] => Some((b'\\', rest)),
        [b'n', rest @ ..] => Some((b'\n', rest)),
        [b't', rest @ ..] => Some((b'\t', rest)),
        [b'x', high, low, rest @ ..] => {
            let digits = std::str::from_utf8(&[*high, *low]).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok());
            digits.map(|byte| (byte, rest))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(shown: &str) -> Vec<Vec<u8>> {
        meant(shown.as_bytes()).map(Cow::into_owned).collect()
    }

    #[test]
    fn names_of_every_script_stay_and_what_cannot_be_seen_is_escaped() {
        for plain in ["src/a.rs", "né.txt", "課題/ファイル.md", "a\"b.txt", "a b", "👩"] {
            assert_eq!(readable(plain.as_bytes()), plain);
        }
        assert_eq!(readable(b"a\nb"), "a\\nb");
        assert_eq!(readable(b"caf\xe9"), "caf\\xe9");
        assert_eq!(readable("gpj\u{202e}.exe".as_bytes()), "gpj\\xe2\\x80\\xae.exe");
        assert_eq!(readable(b"a\\nb"), "a\\\\nb");
    }

    #[test]
    fn whatever_is_shown_can_be_cited() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..5_000 {
            let alphabet: &[u8] = b"ab\\xn/\n\t\xff\xe2\x80\xae\xc3\xa9 ";
            let path: Vec<u8> = (0..random.usize(1..12)).map(|_| alphabet[random.usize(..alphabet.len())]).collect();
            let shown = readable(&path);
            assert!(read_back(&shown).contains(&path), "{path:?} is shown as {shown}");
            assert!(!shown.chars().any(char::is_control), "{shown:?}");
        }
    }

    #[test]
    fn a_text_with_a_lone_backslash_means_itself() {
        assert_eq!(read_back("a\\b"), [b"a\\b".to_vec()]);
        assert_eq!(read_back("a\\x4"), [b"a\\x4".to_vec()]);
    }
}
