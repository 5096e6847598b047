//! What a command printed, as a page shows it: bytes made text, terminal colours kept, everything else of the terminal dropped.

use std::iter::Peekable;
use std::str::Chars;

/// At most this much of a command's output is put on a page, its end kept: what failed is usually said last.
pub const SHOWN: usize = 16 * 1024;

/// A stretch of output in one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Names of style-sheet classes, from a fixed set; empty for plain text.
    pub class: &'static str,
    /// The text.
    pub text: String,
}

/// Output ready to be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Its stretches, in order.
    pub stretches: Vec<Stretch>,
    /// How many bytes before the first stretch are not shown.
    pub left_out: u64,
}

impl Output {
    /// Takes the last [`SHOWN`] bytes of what was printed; `cut` bytes were lost before it was stored.
    #[must_use]
    pub fn new(printed: &str, cut: u64) -> Self {
        let skipped = printed.len().saturating_sub(SHOWN);
        let start = (skipped..=printed.len()).find(|at| printed.is_char_boundary(*at)).unwrap_or(printed.len());
        Self { stretches: render(&printed[start..]), left_out: cut.saturating_add(start as u64) }
    }

    /// Nothing was printed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stretches.is_empty() && self.left_out == 0
    }
}

fn render(text: &str) -> Vec<Stretch> {
    let mut out: Vec<Stretch> = Vec::new();
    let mut class = "";
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => class = escape(&mut chars).unwrap_or(class),
            '\r' if chars.peek() == Some(&'\n') => {}
            // A progress line that overwrites itself becomes lines of its own.
            '\r' => push(&mut out, class, '\n'),
            '\n' | '\t' => push(&mut out, class, c),
            c if c.is_control() => push(&mut out, class, '\u{fffd}'),
            c => push(&mut out, class, c),
        }
    }
    out
}

fn push(out: &mut Vec<Stretch>, class: &'static str, c: char) {
    match out.last_mut() {
        Some(last) if last.class == class => last.text.push(c),
        Some(_) | None => out.push(Stretch { class, text: c.into() }),
    }
}

/// Consumes one escape sequence (ECMA-48); a colour gives the class to go on with.
fn escape(chars: &mut Peekable<Chars<'_>>) -> Option<&'static str> {
    match chars.next()? {
        '[' => {
            let mut parameters = String::new();
            while let Some(c) = chars.next_if(|c| ('\x20'..='\x3f').contains(c)) {
                parameters.push(c);
            }
            (chars.next_if(|c| ('\x40'..='\x7e').contains(c)) == Some('m')).then(|| class_of(&parameters))
        }
        // Operating-system commands (titles, links) and other strings end with BEL or ESC \.
        ']' | 'P' | 'X' | '^' | '_' => {
            while let Some(c) = chars.next_if(|c| *c != '\n') {
                if c == '\x07' || (c == '\x1b' && chars.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
            None
        }
        // Choosing a character set takes one more byte.
        '(' | ')' | '*' | '+' => {
            chars.next_if(|c| !c.is_control());
            None
        }
        _ => None,
    }
}

/// The class of "select graphic rendition" parameters: the last colour named wins, bold alone is bold.
fn class_of(parameters: &str) -> &'static str {
    let mut class = "";
    for code in parameters.split([';', ':']) {
        class = match code {
            "1" if class.is_empty() => "t-bold",
            "2" if class.is_empty() => "t-dim",
            "30" | "90" => "t-dim",
            "31" | "91" => "t-red",
            "32" | "92" => "t-green",
            "33" | "93" => "t-yellow",
            "34" | "94" => "t-blue",
            "35" | "95" => "t-magenta",
            "36" | "96" => "t-cyan",
            "0" | "39" | "" => "",
            // What follows are the numbers of an extended colour, not codes.
            "38" | "48" => return class,
            _ => class,
        };
    }
    class
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(printed: &str) -> Vec<(&'static str, String)> {
        Output::new(printed, 0).stretches.into_iter().map(|s| (s.class, s.text)).collect()
    }

    #[test]
    fn terminal_colours_become_classes_and_nothing_else_survives() {
        let text = "a \x1b[1;31mred\x1b[0m b\x1b[2K\x1b[10;20Hc";
        assert_eq!(shown(text), [("", "a ".into()), ("t-red", "red".into()), ("", " bc".into())]);
    }

    #[test]
    fn links_and_titles_of_a_terminal_lose_their_target() {
        assert_eq!(shown("\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x07!"), [("", "click!".into())]);
        assert_eq!(shown("\x1b]0;never ended\nnext"), [("", "\nnext".into())]);
    }

    #[test]
    fn control_characters_show_as_replaced_and_overwritten_lines_as_lines() {
        assert_eq!(shown("10%\r20%\r\ndone\0\x08"), [("", "10%\n20%\ndone\u{fffd}\u{fffd}".into())]);
    }

    #[test]
    fn every_beginning_of_an_escape_is_harmless() {
        let whole = "x\x1b[38;5;196mred\x1b]8;;u\x1b\\l\x1b(B\x1bPq\x1b\\y";
        for end in 0..=whole.len() {
            let text: String = shown(&whole[..end]).into_iter().map(|(_, t)| t).collect();
            assert!(!text.contains('\x1b'), "{text:?}");
        }
    }

    #[test]
    fn only_the_end_is_shown_cut_between_characters() {
        let output = Output::new(&"é".repeat(SHOWN), 7);
        assert_eq!(output.left_out, SHOWN as u64 + 7);
        assert_eq!(output.stretches[0].text.len(), SHOWN);
        let odd = Output::new(&"日".repeat(SHOWN), 0);
        assert_eq!(odd.stretches[0].text.len(), SHOWN - 1, "two thirds of a character are not shown");
    }
}
