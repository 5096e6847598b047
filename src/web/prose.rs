//! Text that people and agents wrote, shown as text: paragraphs, `code` and fenced blocks, nothing else.
//!
//! No links, no images, no HTML: what the writer typed is what the reader sees.

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// Words.
    Text(String),
    /// What stood between two backticks.
    Code(String),
}

/// One line of words with code in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// Its pieces, in order.
    pub spans: Vec<Span>,
}

impl Line {
    /// Reads backticks in pairs; a lone one is a character like any other.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut spans = Vec::new();
        let mut rest = text;
        while let Some((before, (code, after))) = rest.split_once('`').and_then(|(b, r)| Some((b, r.split_once('`')?)))
        {
            push_text(&mut spans, before);
            if code.is_empty() {
                push_text(&mut spans, "``");
            } else {
                spans.push(Span::Code(code.to_owned()));
            }
            rest = after;
        }
        push_text(&mut spans, rest);
        Self { spans }
    }
}

fn push_text(spans: &mut Vec<Span>, text: &str) {
    match spans.last_mut() {
        _ if text.is_empty() => {}
        Some(Span::Text(last)) => last.push_str(text),
        Some(Span::Code(_)) | None => spans.push(Span::Text(text.to_owned())),
    }
}

/// A paragraph or a block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Words; line breaks inside are kept when shown.
    Paragraph(Line),
    /// What stood between two fences of three or more backticks.
    Code(String),
}

/// A longer text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prose {
    /// Its paragraphs and blocks of code, in order.
    pub blocks: Vec<Block>,
}

impl Prose {
    /// Splits at empty lines and at fences; a fence that is never closed reaches to the end.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut blocks = Vec::new();
        let mut open: Vec<&str> = Vec::new();
        let mut fence = None;
        for line in text.lines() {
            let ticks = line.trim_start().bytes().take_while(|b| *b == b'`').count();
            match fence {
                Some(opened) if ticks >= opened && line.trim().len() == ticks => {
                    blocks.push(Block::Code(open.join("\n")));
                    (fence, open) = (None, Vec::new());
                }
                Some(_) => open.push(line),
                None if ticks >= 3 => {
                    end_paragraph(&mut blocks, &mut open);
                    fence = Some(ticks);
                }
                None if line.trim().is_empty() => end_paragraph(&mut blocks, &mut open),
                None => open.push(line),
            }
        }
        match fence {
            Some(_) => blocks.push(Block::Code(open.join("\n"))),
            None => end_paragraph(&mut blocks, &mut open),
        }
        Self { blocks }
    }

    /// Nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

fn end_paragraph(blocks: &mut Vec<Block>, open: &mut Vec<&str>) {
    if !open.is_empty() {
        blocks.push(Block::Paragraph(Line::new(&open.join("\n"))));
        open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(t: &str) -> Span {
        Span::Text(t.to_owned())
    }

    fn code(t: &str) -> Span {
        Span::Code(t.to_owned())
    }

    #[test]
    fn backticks_in_pairs_are_code_and_a_lone_one_is_itself() {
        assert_eq!(Line::new("see `a.rs:4` and `b`").spans, [text("see "), code("a.rs:4"), text(" and "), code("b")]);
        assert_eq!(Line::new("it's ` odd").spans, [text("it's ` odd")]);
        assert_eq!(Line::new("``x").spans, [text("``x")]);
        assert_eq!(Line::new("").spans, []);
    }

    #[test]
    fn paragraphs_end_at_empty_lines_and_fences_keep_theirs() {
        let prose = Prose::new("one\ntwo\n\n```rust\nfn a() {}\n\nfn b() {}\n```\nthree");
        let line = |t: &str| Block::Paragraph(Line::new(t));
        assert_eq!(prose.blocks, [line("one\ntwo"), Block::Code("fn a() {}\n\nfn b() {}".to_owned()), line("three")]);
    }

    #[test]
    fn a_longer_fence_holds_a_shorter_one_and_an_open_one_reaches_the_end() {
        assert_eq!(Prose::new("````\n```\nx\n```\n````").blocks, [Block::Code("```\nx\n```".to_owned())]);
        assert_eq!(Prose::new("```\nx\n").blocks, [Block::Code("x".to_owned())]);
        assert!(Prose::new(" \n\n").is_empty());
    }
}
