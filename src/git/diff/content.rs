//! What a content is, judged by itself.

use std::borrow::Cow;

/// What git looks at to tell text from binary, in bytes.
const HEAD: usize = 8_000;
/// How a pointer of large file storage begins.
const LFS: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";
/// The longest such pointer, in bytes.
const LONGEST_POINTER: usize = 1024;

/// Whether the content is not text. Without a NUL near its beginning it is text, as for git. With one it is text all the
/// same unless more than a tenth of it is odd: a few NULs are a cheap way to keep a change from being read.
pub(super) fn is_binary(content: &[u8]) -> bool {
    let head = &content[..content.len().min(HEAD)];
    head.contains(&0) && odd_bytes(content) > (content.len() / 10).max(1)
}

/// Bytes that no text has: control characters and what is not UTF-8.
fn odd_bytes(content: &[u8]) -> usize {
    let is_control = |b: &&u8| b.is_ascii_control() && !matches!(b, b'\n' | b'\r' | b'\t' | 0x0c | 0x1b | 0x08);
    content.utf8_chunks().map(|c| c.valid().as_bytes().iter().filter(is_control).count() + c.invalid().len()).sum()
}

pub(super) fn is_lfs_pointer(content: &[u8]) -> bool {
    content.len() <= LONGEST_POINTER && content.starts_with(LFS)
}

/// The content with every `\r\n` as `\n`.
pub(super) fn plain_endings(content: &[u8]) -> Cow<'_, [u8]> {
    if !content.windows(2).any(|pair| pair == b"\r\n") {
        return Cow::Borrowed(content);
    }
    let mut plain = Vec::with_capacity(content.len());
    let mut rest = content.iter().peekable();
    while let Some(byte) = rest.next() {
        if *byte != b'\r' || rest.peek() != Some(&&b'\n') {
            plain.push(*byte);
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_nuls_do_not_hide_a_text_and_no_binary_is_shown_as_one() {
        let mut source = b"fn main() { println!(); }\n".repeat(20);
        source[24] = 0;
        assert!(!is_binary(&source));
        assert!(!is_binary(b"#!/bin/sh\n\0\nevil\n"));
        assert!(!is_binary(&b"a line with a NUL at its end\0\n".repeat(100)));
        assert!(!is_binary("課題\n".repeat(9_000).as_bytes()));
        assert!(!is_binary(b"caf\xe9 in Latin 1\n"));
        assert!(!is_binary(b""));
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10".repeat(30);
        assert!(is_binary(&png));
        assert!(is_binary(&[0; 50]));
        let utf16: Vec<u8> = "text".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(is_binary(&utf16));
    }

    #[test]
    fn endings_become_plain_and_nothing_else_does() {
        assert_eq!(&*plain_endings(b"a\r\nb\rc\n\r\r\n"), b"a\nb\rc\n\r\n");
        assert!(matches!(plain_endings(b"a\nb\r"), Cow::Borrowed(_)));
    }
}
