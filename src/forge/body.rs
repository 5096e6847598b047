//! The text of a pull request: what a person needs first comes first, and it always fits.
//!
//! Every string of a [`Report`] is taken as hostile, whoever wrote it, and made inert here ([`super::inert`]).
//! The words around them are in `templates/forge/pull_request.md`.

use askama::Template;

use super::inert;

/// What github.com takes, in characters; a forge that takes less is tried again with less.
pub const LIMIT: usize = 65_536;

/// The longest title, in characters.
pub const TITLE_LIMIT: usize = 200;

/// How much of each quoted text is kept, from the most to the least, until the whole fits.
const CAPS: [Cap; 6] = [
    Cap { characters: 16_000, items: 100 },
    Cap { characters: 4_000, items: 100 },
    Cap { characters: 1_000, items: 60 },
    Cap { characters: 300, items: 40 },
    Cap { characters: 120, items: 20 },
    Cap { characters: 40, items: 10 },
];

#[derive(Debug, Clone, Copy)]
struct Cap {
    characters: usize,
    items: usize,
}

/// What the pull request of a run says. Single backticks in a sentence set code apart.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Outcome and assurance: `Accepted · countersigned`, `Needs review: the last allowed pass was not accepted`.
    pub outcome: String,
    /// The whole run in one sentence.
    pub sentence: String,
    /// The address of the run's timeline; ours, so it is the one link.
    pub timeline: String,
    /// Changes under protected paths.
    pub protected: Vec<String>,
    /// What is still open, in the order of importance.
    pub open: Vec<Open>,
    /// What was raised and is closed: `F1 · high · src/split.rs:41 · closed in pass 2`.
    pub closed: Vec<String>,
    /// Contradictions, a base that moved, remarks that came too late: one sentence each.
    pub notes: Vec<String>,
    /// The checks on the delivered tree.
    pub checks: Vec<Check>,
    /// The criteria, where the run has some.
    pub criteria: Vec<Criterion>,
    /// What was used of what was allowed: `2 of 3`, `$0.63 of $5.00`, `5 min 03 s of 30 min`.
    pub budget: Budget,
    /// What the implementer says about the work: a claim.
    pub claim: String,
    /// The models' words were written beforehand.
    pub canned: bool,
}

/// An obligation that nobody closed.
#[derive(Debug, Clone, Default)]
pub struct Open {
    /// `F1`.
    pub id: String,
    /// `high`; empty where the service raised it.
    pub severity: String,
    /// Where it points.
    pub cites: String,
    /// Who raised it and when: `reviewer, pass 1`.
    pub raised: String,
    /// What it says.
    pub text: String,
    /// What was said of it since, one sentence each.
    pub since: Vec<String>,
}

/// One check, on the base and on the delivered tree.
#[derive(Debug, Clone, Default)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// How it went on the base.
    pub before: String,
    /// How it went on the delivered tree.
    pub now: String,
}

/// One criterion.
#[derive(Debug, Clone, Default)]
pub struct Criterion {
    /// What it asks for.
    pub text: String,
    /// `pass`, `fail`, `unknown`.
    pub result: String,
}

/// The three ceilings.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    /// Passes.
    pub passes: String,
    /// Money.
    pub money: String,
    /// The wall clock.
    pub clock: String,
}

#[derive(Debug, Template)]
#[template(path = "forge/pull_request.md")]
struct Body<'a> {
    report: &'a Report,
    cap: Cap,
}

impl Body<'_> {
    /// How many of a list's items are left out.
    fn left_out(&self, items: usize) -> usize {
        items.saturating_sub(self.cap.items)
    }

    /// The items of a list that are not left out.
    fn shown<'a, T>(&self, items: &'a [T]) -> &'a [T] {
        &items[..items.len().min(self.cap.items)]
    }

    fn quoted(&self, text: &str) -> String {
        inert::block(text, self.cap.characters)
    }

    /// What was said, on one line, and no longer than the other texts.
    fn said(&self, text: &str) -> String {
        let kept: String = text.chars().take(self.cap.characters).collect();
        let note = if kept.len() < text.len() { " [shortened]" } else { "" };
        inert::line(&format!("{kept}{note}"))
    }

    /// The link's target: nothing in it can end it.
    fn target(&self) -> String {
        self.report.timeline.chars().filter(|c| c.is_ascii_graphic() && !"()<>[]`\\".contains(*c)).collect()
    }
}

/// The title of the pull request: the issue's title on one line, closing nothing.
#[must_use]
pub fn title(issue: &str) -> String {
    let title = inert::break_closing(&inert::one_line(issue));
    title.chars().take(TITLE_LIMIT).collect()
}

/// The text of the pull request, in Markdown, at most `limit` characters long.
///
/// Texts are shortened before lists, all to the same length; if even that is too long, the end is cut off between
/// characters, with fences closed. The outcome, the sentence and the link come first and are the last to go.
///
/// # Errors
/// What the template says went wrong.
pub fn body(report: &Report, limit: usize) -> askama::Result<String> {
    let mut text = String::new();
    for cap in CAPS {
        let last = cap.characters == CAPS[CAPS.len() - 1].characters;
        if !last && at_least(report, cap) > limit {
            continue;
        }
        text = Body { report, cap }.render()?;
        if text.chars().count() <= limit {
            return Ok(text);
        }
    }
    Ok(cut(&text, limit))
}

/// A bound from below on the body's length in characters: a character is four bytes at most.
fn at_least(report: &Report, cap: Cap) -> usize {
    report.open.iter().take(cap.items).map(|one| (one.text.len() / 4).min(cap.characters)).sum()
}

fn cut(text: &str, limit: usize) -> String {
    const END: &str = "\n\n… shortened: the rest is on the timeline.";
    // Room for the end and for the longest fence that may have to be closed.
    let fence = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let kept = limit.saturating_sub(END.chars().count() + fence + 1);
    let end = text.char_indices().nth(kept).map_or(text.len(), |(at, _)| at);
    let mut out = text[..end].to_owned();
    if let Some(open) = open_fence(&out) {
        out.push('\n');
        out.push_str(&open);
    }
    out.push_str(END);
    out.chars().take(limit).collect()
}

/// The fence that would end the block which the text stops in.
fn open_fence(text: &str) -> Option<String> {
    text.lines().fold(None, |open: Option<String>, line| {
        let line = line.trim_start();
        let ticks = line.bytes().take_while(|b| *b == b'`').count();
        match open {
            Some(fence) if ticks >= fence.len() && line.trim_end().len() == ticks => None,
            Some(fence) => Some(fence),
            // A fence may be cut within its own line, so its info string need not be whole; a code span has ticks later on.
            None if ticks >= 3 && !line[ticks..].contains('`') => Some("`".repeat(ticks)),
            None => None,
        }
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
