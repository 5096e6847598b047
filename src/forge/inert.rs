//! Text from outside made harmless for a forge: it mentions nobody, closes nothing, links nowhere and formats nothing.
//!
//! A pull request's text is read in two ways: as Markdown on its page, and as plain text when it becomes the message of
//! a squashed commit, where code fences protect nothing. So what a forge would act on is broken visibly, by a space
//! or a dot, and the rest is quoted. Nothing invisible is put in: who copies the text should see what was changed.

use crate::hidden::reveal;

/// Words that make a forge close the issue named after them.
const CLOSING: [&str; 4] = ["clos", "fix", "resolv", "implement"];
/// The endings that these words are recognised with.
const ENDINGS: [&str; 6] = ["", "e", "es", "ed", "s", "ing"];

/// The longest text that is put on one line, in characters.
const LINE: usize = 1_000;

/// One line as running text: pairs of backticks stay code, every other mark of Markdown is escaped.
#[must_use]
pub fn line(text: &str) -> String {
    let text = defuse(&one_line(text));
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text.as_str();
    while let Some((before, (code, after))) = rest.split_once('`').and_then(|(b, r)| Some((b, r.split_once('`')?))) {
        escape(before, &mut out);
        if code.trim().is_empty() {
            out.push_str("\\`\\`");
        } else {
            out.push_str(&span(code));
        }
        rest = after;
    }
    escape(rest, &mut out);
    out
}

/// One line as code.
#[must_use]
pub fn code(text: &str) -> String {
    let text = defuse(&one_line(text));
    if text.trim().is_empty() { "—".to_owned() } else { span(&text) }
}

/// A longer text as a fenced block that nothing in it can end; at most `limit` characters of it.
#[must_use]
pub fn block(text: &str, limit: usize) -> String {
    let kept = first(text, limit);
    let note = if kept.len() < text.len() { "\n[shortened]" } else { "" };
    let text = defuse(&reveal(kept).replace("\r\n", "\n").replace('\r', "\n"));
    let text = text.trim_matches('\n').trim_end();
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}text\n{text}{note}\n{fence}")
}

/// The first [`LINE`] characters on one line, with what cannot be seen written out.
#[must_use]
pub fn one_line(text: &str) -> String {
    reveal(first(text, LINE)).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first characters of a text, at most this many.
fn first(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

/// Breaks whatever a forge acts on even in plain text.
#[must_use]
pub fn defuse(text: &str) -> String {
    text.split('\n').map(defuse_line).collect::<Vec<_>>().join("\n")
}

fn defuse_line(line: &str) -> String {
    let line = break_closing(line);
    let line = break_trailer(&line);
    let mut out = String::with_capacity(line.len() + 8);
    // A line that begins with a slash is a command to GitLab.
    if line.trim_start().starts_with('/') {
        out.push('\\');
    }
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        out.push(c);
        let next = line[at + c.len_utf8()..].chars().next().unwrap_or(' ');
        let breaks = match c {
            '@' => next.is_alphanumeric() && !before.is_alphanumeric(),
            '#' | '!' => next.is_ascii_digit(),
            '-' => next.is_ascii_digit() && ends_with_word(&line[..at], "gh"),
            ':' => line[at..].starts_with("://"),
            '.' => ends_with_word(&line[..at], "www"),
            '<' => next == '!',
            _ => false,
        };
        if breaks {
            out.push(' ');
        }
        before = c;
    }
    out
}

/// `Fixes #12` is `Fixes · #12`: the word and what it would close are kept, but apart.
pub(super) fn break_closing(line: &str) -> String {
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    for at in 0..words.len().saturating_sub(1) {
        let target = words[at + 1..].iter().find(|w| !w.is_empty()).map_or("", String::as_str);
        if is_closing(&words[at]) && (target.contains('#') || target.contains(|c: char| c.is_ascii_digit())) {
            words[at].push_str(" ·");
        }
    }
    words.join(" ")
}

fn is_closing(word: &str) -> bool {
    let letters = word
        .trim_end_matches(':')
        .rsplit(|c: char| !c.is_ascii_alphabetic())
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let stem = CLOSING.iter().find_map(|stem| letters.strip_prefix(stem));
    stem.is_some_and(|ending| ENDINGS.contains(&ending))
}

/// `Signed-off-by: someone` is `Signed-off-by : someone`: not a trailer of a commit.
fn break_trailer(line: &str) -> String {
    match line.split_once(':') {
        Some((name, value)) if name.len() >= 3 && name.to_ascii_lowercase().trim_start().ends_with("-by") => {
            format!("{name} :{value}")
        }
        Some(_) | None => line.to_owned(),
    }
}

fn ends_with_word(text: &str, word: &str) -> bool {
    let start = text.len().checked_sub(word.len()).filter(|at| text.is_char_boundary(*at));
    start.is_some_and(|at| text[at..].eq_ignore_ascii_case(word) && !text[..at].ends_with(char::is_alphanumeric))
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '#') {
            out.push('\\');
        }
        out.push(c);
    }
}

/// A code span with more backticks around it than it has inside, and no cell border in it.
fn span(text: &str) -> String {
    let ticks = "`".repeat(longest_run(text) + 1);
    let text = text.replace('|', "¦");
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_mentioned_and_no_issue_is_referred_to() {
        for (text, harmless) in [
            ("@octocat and (@team/x), not a@b.example", "@ octocat and (@ team/x), not a@b.example"),
            ("see #12, o/r#3, !4, GH-5 and gh-6", "see # 12, o/r# 3, ! 4, GH- 5 and gh- 6"),
            ("high-5 is no reference, #[test] neither", "high-5 is no reference, #[test] neither"),
            ("https://evil.example/x www.evil.example", "https: //evil.example/x www. evil.example"),
            ("<!-- countersign:1 -->", "< !-- countersign:1 -->"),
        ] {
            assert_eq!(defuse(text), harmless);
        }
    }

    #[test]
    fn nothing_is_closed_in_any_form_of_the_words() {
        for word in [
            "Fixes",
            "fix",
            "FIXED",
            "fixing",
            "Closes:",
            "closed",
            "close",
            "resolves",
            "Resolved",
            "implements",
            "(fixes",
        ] {
            let text = defuse(&format!("{word} #12"));
            assert_eq!(text, format!("{word} · # 12"), "{word}");
            assert!(defuse(&format!("{word}  PROJ-12")).contains(" ·"), "{word}");
        }
        assert_eq!(defuse("fixes the prefix of 3"), "fixes the prefix of 3");
        assert_eq!(defuse("a suffix 3"), "a suffix 3");
    }

    #[test]
    fn no_trailer_and_no_command_is_given() {
        assert_eq!(
            defuse("ok\nSigned-off-by: a <a@b>\nReviewed-By: c"),
            "ok\nSigned-off-by : a <a@b>\nReviewed-By : c"
        );
        assert_eq!(defuse("/merge\n  /close\na/b"), "\\/merge\n\\  /close\na/b");
    }

    #[test]
    fn running_text_keeps_its_code_and_formats_nothing_else() {
        assert_eq!(
            line("a *b* _c_ `x|y` <img src=x> ![i](u)\n# no"),
            r"a \*b\* \_c\_ `x¦y` \<img src=x\> !\[i\](u) \# no"
        );
        assert_eq!(line("lone ` tick"), r"lone \` tick");
        assert_eq!(line("\u{202e}x"), "⟨U+202E⟩x");
    }

    #[test]
    fn code_and_blocks_cannot_be_left_from_inside() {
        assert_eq!(code("a ``b`` c"), "```a ``b`` c```");
        assert_eq!(code("`x"), "`` `x ``");
        assert_eq!(code(" "), "—");
        assert_eq!(block("```\n# out\n````\n", 100), "`````text\n```\n# out\n````\n`````");
        assert_eq!(block("héllo world", 4), "```text\nhéll\n[shortened]\n```");
    }
}
