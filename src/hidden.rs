//! Characters that nobody can see, made visible.
//!
//! Text from outside can carry instructions that only a machine reads: characters without width, tags,
//! direction overrides. Wherever such text is shown or handed on, they appear as `⟨U+202E⟩`.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with every hidden character written out; most texts come back as they are.
///
/// Line breaks and tabs stay. Joiners and emoji selectors stay where a script needs them: after a character beyond ASCII.
#[must_use]
pub fn reveal(text: &str) -> Cow<'_, str> {
    let mut before = None;
    let clean = text.chars().all(|c| !is_hidden(c, before.replace(c)));
    if clean {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = None;
    for c in text.chars() {
        if is_hidden(c, before.replace(c)) {
            // Writing to a String cannot fail.
            let _ = write!(out, "⟨U+{:04X}⟩", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn is_hidden(c: char, before: Option<char>) -> bool {
    match c {
        '\n' | '\r' | '\t' => false,
        // Zero-width (non-)joiners spell Persian and Hindi words and join emoji; text and emoji style selectors follow a symbol.
        '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' => before.is_none_or(|b| b.is_ascii()),
        '\u{ad}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{180b}'..='\u{180e}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' => true,
        '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_machine_unseen_is_written_out() {
        assert_eq!(reveal("a\u{202e}b"), "a⟨U+202E⟩b");
        assert_eq!(reveal("\u{e0041}\u{200b}\0"), "⟨U+E0041⟩⟨U+200B⟩⟨U+0000⟩");
        assert_eq!(reveal("x\u{200d}y\u{fe0f}"), "x⟨U+200D⟩y⟨U+FE0F⟩");
    }

    #[test]
    fn words_and_emoji_of_every_script_stay_as_they_are() {
        for text in ["می‌خواهم", "क्‍ष", "👩‍💻 ❤️", "日本語", "tab\there\r\n", "naïve", ""]
        {
            assert!(matches!(reveal(text), Cow::Borrowed(_)), "{text:?}");
        }
    }
}
