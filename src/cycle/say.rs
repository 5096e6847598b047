//! The whole-line word rule: a reviewer ends the loop by a word alone on a line.

use super::verdict::fences::{Piece, split};

/// The word where the workspace names none.
pub const DEFAULT_WORD: &str = "LGTM";

/// The longest line that can be the word with decoration, in bytes; what is longer is a text of its own.
const MOST_LINE: usize = 1 << 10;

/// Signs that turn the word into a question, or take it back.
const DENIALS: &str = "?¿?~¬≠❌❎✖✗✘👎🚫⛔";

/// Whether the word stands alone on one of the text's lines, in any case, whatever decoration is around it.
///
/// Decoration is all that is neither a letter nor a digit, and the number of a list entry. `LGTM?`, `~~LGTM~~`,
/// `!LGTM`, an empty check box and an HTML comment are not the word. Inside a code fence only a block that is nothing
/// but the word counts, since the lines of a longer one are quoted output. A blank word never stands anywhere.
#[must_use]
pub fn stands_alone(word: &str, text: &str) -> bool {
    let word = word.trim().to_lowercase();
    !word.is_empty() && split(text).into_iter().any(|piece| piece_says(&word, piece))
}

fn piece_says(word: &str, piece: Piece<'_>) -> bool {
    match piece {
        Piece::Prose(text) => text.lines().any(|line| line_says(word, line)),
        Piece::Block { text, .. } => line_says(word, text.trim()),
        Piece::Unclosed => false,
    }
}

fn line_says(word: &str, line: &str) -> bool {
    if line.len() > MOST_LINE {
        return false;
    }
    let line = line.to_lowercase();
    is_decorated(word, &line) || is_decorated(word, without_entry_mark(&line))
}

fn is_decorated(word: &str, line: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        is_decoration(before) && is_decoration(after) && !takes_back(before)
    })
}

fn is_decoration(text: &str) -> bool {
    !text.contains(|c: char| c.is_alphanumeric() || c == '\n' || DENIALS.contains(c))
}

fn takes_back(before: &str) -> bool {
    before.ends_with('!') || before.contains("[ ]") || before.contains("<!--")
}

/// Removes the number of a list entry (`1.`, `2)`) and a ticked box, which have letters or digits in them.
fn without_entry_mark(line: &str) -> &str {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || ">*-+".contains(c));
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let entry = number.strip_prefix(['.', ')']).filter(|_| number.len() < line.len());
    let line = entry.filter(|rest| rest.starts_with(' ')).unwrap_or(line).trim_start();
    line.strip_prefix("[x]").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_alone_on_a_line_ends_the_loop() {
        for text in [
            "LGTM",
            "lgtm",
            "LgTm",
            "LGTM.",
            "LGTM!",
            "LGTM!!!",
            "**LGTM**",
            "__LGTM__",
            "*lgtm*",
            "`LGTM`",
            "\"LGTM\"",
            "“LGTM”",
            "> lgtm",
            "> > LGTM",
            "# LGTM",
            "### **LGTM** ###",
            "- LGTM",
            "* LGTM",
            "+ LGTM",
            "• LGTM",
            "1. LGTM",
            "  12) LGTM.",
            "> 1. **LGTM**",
            "- [x] LGTM",
            "- [X] LGTM",
            "[LGTM]",
            "(LGTM)",
            "--- LGTM ---",
            "=== LGTM ===",
            "✅ LGTM",
            "LGTM 🚀",
            "🎉🎉 LGTM 🎉🎉",
            "LGTM :-)",
            "\tLGTM\t",
            "LGTM\r\n",
            "\u{feff}LGTM",
            "LGTM\u{200b}",
            "\u{a0}LGTM",
            "All read.\n\nLGTM",
            "LGTM\n\nNo more remarks.",
            "a\r\n**LGTM**\r\nb",
            "```\nLGTM\n```",
            "```text\n\n  LGTM.\n\n```\n",
            "```\nout\n```\nLGTM",
            "!!! LGTM !!!",
        ] {
            assert!(stands_alone(DEFAULT_WORD, text), "{text:?}");
        }
    }

    #[test]
    fn the_word_among_others_or_taken_back_is_not_the_word() {
        for text in [
            "",
            "\n",
            "LGTM this",
            "I cannot say LGTM yet",
            "not LGTM",
            "LGTM once the tests pass",
            "LGTM, but",
            "LGTMs",
            "xLGTM",
            "LGTM LGTM",
            "LGTM2",
            "2LGTM",
            "1.LGTM",
            "12 LGTM",
            "v1. 2. LGTM",
            "L G T M",
            "L.G.T.M.",
            "LG\nTM",
            "LGTM?",
            "LGTM?!",
            "**LGTM**?",
            "LGTM?",
            "~~LGTM~~",
            "!LGTM",
            "**!LGTM",
            "❌ LGTM",
            "LGTM 👎",
            "- [ ] LGTM",
            "<!-- LGTM -->",
            "¬LGTM",
            "≠ LGTM",
            "LGTМ",
            "no\rLGTM",
            "```\ntest output\nLGTM\n```",
            "```\nLGTM\nLGTM\n```",
            "```\nLGTM",
            "|LGTM|no|",
            "<b>LGTM</b>",
        ] {
            assert!(!stands_alone(DEFAULT_WORD, text), "{text:?}");
        }
    }

    #[test]
    fn a_workspace_may_choose_any_word() {
        for (word, text, stands) in [
            ("ship it", "**Ship it!**", true),
            ("ship it", "do not ship it", false),
            ("+1", "> +1", true),
            ("+1", "+10", false),
            ("👍", "- 👍", true),
            ("Größe", "GRÖSSE", false),
            ("Größe", "GRÖßE.", true),
            ("承認", "「承認」", true),
            ("承認", "承認しない", false),
            ("LGTM?", "LGTM", false),
            ("", "anything", false),
            (" ", "\n \n", false),
        ] {
            assert_eq!(stands_alone(word, text), stands, "{word:?} in {text:?}");
        }
    }

    #[test]
    fn a_megabyte_of_words_takes_no_longer_than_its_length() {
        assert!(!stands_alone("👍", &format!("{}?", "👍".repeat(1 << 18))));
        assert!(stands_alone("LGTM", &format!("{0}\nLGTM\n{0}", "LGTM ".repeat(1 << 18))));
    }
}
