//! Finds fenced blocks in an agent's message. Knows Markdown fences and nothing of what stands in them.

/// One stretch of a message, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cycle) enum Piece<'a> {
    /// Text outside every fence; may be empty, may span lines.
    Prose(&'a str),
    /// What stands between a fence and the line that closes it.
    Block {
        /// The text after the opening marks, such as `json`; empty for a plain fence.
        info: &'a str,
        /// The lines inside, without the two fence lines.
        text: &'a str,
        /// All of it, with the two fence lines.
        whole: &'a str,
    },
    /// A fence was opened and never closed; always the last piece.
    Unclosed,
}

/// The parts of a message that may be the JSON that was asked for.
#[derive(Debug, Default)]
pub(in crate::cycle) struct Found<'a> {
    /// Blocks fenced as `json`, plain blocks that begin with `{`, or else the whole message if it begins with `{`.
    pub(in crate::cycle) objects: Vec<&'a str>,
    /// The text outside every fence; empty when the whole message is the object.
    pub(in crate::cycle) prose: Vec<&'a str>,
}

/// Cuts a message at its fences; time and space are linear in its length.
///
/// A fence is a line of at least three backticks or tildes, however far indented; it is closed by a line of at least
/// as many of the same mark and nothing else, as in CommonMark.
pub(in crate::cycle) fn split(message: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = message;
    while let Some((opening, line)) = lines(rest).find_map(|line| Some((mark(line.text)?, line))) {
        pieces.push(Piece::Prose(&rest[..line.start]));
        let inside = &rest[line.end()..];
        let Some(close) = lines(inside).find(|line| mark(line.text).is_some_and(|m| m.closes(&opening))) else {
            pieces.push(Piece::Unclosed);
            return pieces;
        };
        let whole = &rest[line.start..line.end() + close.end()];
        pieces.push(Piece::Block { info: opening.info, text: &inside[..close.start], whole });
        rest = &inside[close.end()..];
    }
    pieces.push(Piece::Prose(rest));
    pieces
}

/// Collects what may be JSON in a message, or nothing if a fence in it was never closed: then nobody can say where
/// the text was cut.
pub(in crate::cycle) fn objects(message: &str) -> Option<Found<'_>> {
    let mut found = Found::default();
    for piece in split(message) {
        match piece {
            Piece::Unclosed => return None,
            Piece::Block { info, text, .. } if may_be_json(info, text) => found.objects.push(trim(text)),
            Piece::Block { .. } => {}
            Piece::Prose(text) => found.prose.push(text),
        }
    }
    if found.objects.is_empty() && trim(message).starts_with('{') {
        return Some(Found { objects: vec![trim(message)], prose: Vec::new() });
    }
    Some(found)
}

pub(in crate::cycle) fn may_be_json(info: &str, text: &str) -> bool {
    info.split_whitespace()
        .next()
        .map_or_else(|| trim(text).starts_with('{'), |language| language.eq_ignore_ascii_case("json"))
}

/// Removes white space and byte order marks, which some editors and models put in front of JSON.
pub(in crate::cycle) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

#[derive(Clone, Copy)]
struct Line<'a> {
    start: usize,
    text: &'a str,
}

impl Line<'_> {
    fn end(self) -> usize {
        self.start + self.text.len()
    }
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.split_inclusive('\n').scan(0, |next, text| {
        let start = *next;
        *next += text.len();
        Some(Line { start, text })
    })
}

struct Mark<'a> {
    sign: char,
    length: usize,
    info: &'a str,
}

impl Mark<'_> {
    fn closes(&self, opening: &Mark<'_>) -> bool {
        self.sign == opening.sign && self.length >= opening.length && self.info.is_empty()
    }
}

/// Reads a line as a fence. Backticks after backticks are code inside a line, not a fence.
fn mark(line: &str) -> Option<Mark<'_>> {
    let line = line.trim();
    let sign = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = line.trim_start_matches(sign);
    let length = line.len() - info.len();
    let fence = length >= 3 && !(sign == '`' && info.contains('`'));
    fence.then(|| Mark { sign, length, info: info.trim() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cut_at_its_fences() {
        /// Before, info, inside, after.
        type Cut = (&'static str, &'static str, &'static str, &'static str);
        let table: [(&str, Cut); 5] = [
            ("a\n```json\n{}\n```\nb", ("a\n", "json", "{}\n", "b")),
            ("  ```  json \r\n{}\r\n  ``` \r\n", ("", "json", "{}\r\n", "")),
            ("~~~\n```\n~~~", ("", "", "```\n", "")),
            ("````\n```\nx\n```\n````", ("", "", "```\nx\n```\n", "")),
            ("```\n```json\n```", ("", "", "```json\n", "")),
        ];
        for (message, (before, info, text, after)) in table {
            let whole = &message[before.len()..message.len() - after.len()];
            let block = Piece::Block { info, text, whole };
            assert_eq!(split(message), [Piece::Prose(before), block, Piece::Prose(after)], "{message:?}");
        }
        for message in ["", "no fence `here`", "```json {}``` in a line"] {
            assert_eq!(split(message), [Piece::Prose(message)]);
        }
        assert_eq!(split("a\n```json\n{}\n``"), [Piece::Prose("a\n"), Piece::Unclosed]);
    }

    #[test]
    fn only_json_fences_and_plain_fences_with_an_object_are_looked_at() {
        let message = "```rust\n{ 1 }\n```\n```\nrunning 3 tests\n```\n```\n {\"a\":1}\n```\n``` JSON title=x\n[]\n```";
        assert_eq!(objects(message).map(|f| f.objects), Some(vec!["{\"a\":1}", "[]"]));
        assert_eq!(objects("\u{feff} {\"a\":1}\n").map(|f| f.objects), Some(vec!["{\"a\":1}"]));
        assert_eq!(objects("Verdict: {\"a\":1}").map(|f| f.objects), Some(vec![]));
    }
}
