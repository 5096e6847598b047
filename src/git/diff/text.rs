//! A diff as text for a reviewer: what people wrote before what tools wrote, and what is left out is named.

use std::collections::BTreeMap;
use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::order::{is_generated, is_test};
use super::{Diff, DiffFile, Hunk, Line, Note, Status};
use crate::git::readable;
use crate::hidden::reveal;

/// A longer line is cut, in characters: nobody reads it.
const LONGEST_LINE: usize = 2_000;
/// Blank lines that are added one after the other; further ones are counted.
const MOST_BLANK: usize = 5;
/// More files left out than this are told by their directories.
const MOST_LEFT_OUT: usize = 200;

/// A diff as text, within a number of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffText {
    /// The text: for each file what happened to it, then its changed lines. What cannot be seen is written out.
    pub text: String,
    /// Files whose lines are not all in it, readable; where there are very many, directories with how many.
    pub left_out: Vec<String>,
    /// SHA-256 of the text in hexadecimal: what proves that it was read.
    pub digest: String,
    tests: Vec<String>,
}

impl DiffText {
    /// Changed files that look like tests, readable.
    pub fn changed_tests(&self) -> impl Iterator<Item = &str> {
        self.tests.iter().map(String::as_str)
    }
}

/// One file on its way into the text.
struct Part<'a> {
    file: &'a DiffFile,
    path: String,
    header: String,
    body: String,
    /// Whether the body lacks nothing.
    is_whole: bool,
}

impl Diff {
    /// The diff as text of at most about `max` bytes: every file's header, and the changed lines of as many files as fit,
    /// small ones before large ones, those that tools generate last.
    #[must_use]
    pub fn text(&self, max: usize) -> DiffText {
        let mut parts: Vec<Part<'_>> = self.files.iter().map(part).collect();
        parts.sort_by_key(|part| is_generated(&part.path));
        let fits = chosen(&parts, max);
        let (mut text, mut left_out) = (String::new(), Vec::new());
        for (part, fit) in parts.iter().zip(&fits) {
            match fit {
                Fit::Nothing => {}
                Fit::Header if part.body.is_empty() => text.push_str(&part.header),
                Fit::Header => {
                    text.push_str(&part.header);
                    text.push_str("(its changed lines are left out here)\n");
                }
                Fit::Whole => {
                    text.push_str(&part.header);
                    text.push_str(&part.body);
                }
            }
            let is_shown = *fit == Fit::Whole || *fit == Fit::Header && part.body.is_empty();
            if !is_shown || !part.is_whole {
                left_out.push(part.path.clone());
            }
        }
        let unnamed = fits.iter().filter(|fit| **fit == Fit::Nothing).count();
        if unnamed > 0 {
            say(&mut text, format_args!("({unnamed} more changed files are not named here)"));
        }
        let digest = Sha256::digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect();
        let tests = self.files.iter().map(|f| readable(&f.path)).filter(|p| is_test(p)).collect();
        DiffText { text, left_out: by_directory(left_out), digest, tests }
    }
}

/// How much of a file goes into the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Nothing,
    Header,
    Whole,
}

/// Headers come first; then bodies, people's before tools', small before large.
fn chosen(parts: &[Part<'_>], max: usize) -> Vec<Fit> {
    /// What stands in place of a body.
    const NOTICE: usize = 40;
    let mut used = 0;
    let mut fits: Vec<Fit> = Vec::with_capacity(parts.len());
    for part in parts {
        used += part.header.len() + NOTICE;
        fits.push(if used <= max { Fit::Header } else { Fit::Nothing });
    }
    let mut order: Vec<usize> = (0..parts.len()).filter(|n| fits[*n] == Fit::Header).collect();
    order.sort_by_key(|n| (is_generated(&parts[*n].path), parts[*n].body.len()));
    for n in order {
        if used + parts[n].body.len() <= max + NOTICE {
            used += parts[n].body.len();
            fits[n] = Fit::Whole;
        }
    }
    fits
}

fn part(file: &DiffFile) -> Part<'_> {
    let path = readable(&file.path);
    let (body, is_whole) = body(file);
    let is_whole = is_whole && !file.notes.iter().any(|note| matches!(note, Note::Cut | Note::NotCompared));
    Part { file, header: String::new(), path, body, is_whole }.with_header()
}

impl Part<'_> {
    fn with_header(mut self) -> Self {
        let Self { file, path, header, .. } = &mut self;
        let old = readable(&file.old_path);
        say(header, format_args!("diff --git a/{old} b/{path}"));
        match file.status {
            Status::Added => say(header, format_args!("new file mode {:o}", file.mode)),
            Status::Deleted => say(header, format_args!("deleted file mode {:o}", file.old_mode)),
            Status::Renamed => {
                say(header, format_args!("rename from {old}"));
                say(header, format_args!("rename to {path}"));
            }
            Status::Modified | Status::TypeChanged => {}
        }
        if file.old_mode != file.mode && file.old_mode != 0 && file.mode != 0 {
            say(header, format_args!("old mode {:o}", file.old_mode));
            say(header, format_args!("new mode {:o}", file.mode));
        }
        let (before, now) = file.sizes;
        if file.is_binary {
            say(header, format_args!("binary, {before} bytes before, {now} bytes now"));
        } else {
            say(header, format_args!("{} lines added, {} lines removed", file.added, file.removed));
        }
        for note in &file.notes {
            say(header, format_args!("note: {note}"));
        }
        if !file.hunks.is_empty() {
            let side = |there: bool, name: String| if there { name } else { "/dev/null".to_owned() };
            say(header, format_args!("--- {}", side(file.old_mode != 0, format!("a/{old}"))));
            say(header, format_args!("+++ {}", side(file.mode != 0, format!("b/{path}"))));
        }
        self
    }
}

fn say(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

/// The changed lines, and whether nothing of them was cut.
fn body(file: &DiffFile) -> (String, bool) {
    let (mut text, mut is_whole) = (String::new(), true);
    for hunk in &file.hunks {
        say(&mut text, format_args!("{}", shortened(&hunk.header).0));
        is_whole &= lines(&mut text, hunk);
    }
    (text, is_whole)
}

fn lines(text: &mut String, hunk: &Hunk) -> bool {
    let (mut is_whole, mut blank) = (true, 0_usize);
    for (n, line) in hunk.lines.iter().enumerate() {
        let is_blank = line.origin == '+' && line.text.trim().is_empty();
        blank = if is_blank { blank + 1 } else { 0 };
        if blank <= MOST_BLANK {
            is_whole &= push(text, line);
        }
        let goes_on = hunk.lines.get(n + 1).is_some_and(|next| next.origin == '+' && next.text.trim().is_empty());
        if blank > MOST_BLANK && !goes_on {
            say(text, format_args!("+⟨{} more blank lines⟩", blank - MOST_BLANK));
        }
    }
    is_whole
}

fn push(text: &mut String, line: &Line) -> bool {
    let (said, end) = match line.text.strip_suffix('\n') {
        Some(said) => match said.strip_suffix('\r') {
            Some(said) => (said, "⟨CR⟩"),
            None => (said, ""),
        },
        None => (line.text.as_str(), "\n\\ No newline at end of file"),
    };
    let (said, is_whole) = shortened(said);
    say(text, format_args!("{}{said}{end}", line.origin));
    is_whole
}

fn shortened(line: &str) -> (String, bool) {
    // A lone carriage return would let the end of a line stand over its beginning.
    let shown = reveal(line).replace('\r', "⟨CR⟩");
    match shown.char_indices().nth(LONGEST_LINE) {
        None => (shown, true),
        Some((at, _)) => {
            let cut = shown[at..].chars().count();
            (format!("{}⟨{cut} more characters⟩", &shown[..at]), false)
        }
    }
}

/// The paths as they are, or their directories where they are very many.
fn by_directory(paths: Vec<String>) -> Vec<String> {
    if paths.len() <= MOST_LEFT_OUT {
        return paths;
    }
    let depth = |path: &str| path.matches('/').count();
    let deepest = paths.iter().map(|p| depth(p)).max().unwrap_or(0);
    let mut folded = BTreeMap::new();
    for level in (0..=deepest).rev() {
        folded = fold(&paths, level);
        if folded.len() <= MOST_LEFT_OUT {
            break;
        }
    }
    folded.into_iter().map(|(path, count)| if count == 1 { path } else { format!("{path} ({count} files)") }).collect()
}

/// How many paths there are in each directory of at most this depth.
fn fold(paths: &[String], level: usize) -> BTreeMap<String, usize> {
    let mut folded = BTreeMap::new();
    for path in paths {
        let end = path.match_indices('/').take(level).last().map_or(0, |(at, _)| at);
        let directory = if level == 0 || end == 0 { "./".to_owned() } else { format!("{}/", &path[..end]) };
        *folded.entry(directory).or_insert(0) += 1;
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_many_paths_are_told_by_directories_that_cover_them_all() {
        let paths: Vec<String> = (0..3_000).map(|n| format!("a/{}/{n}.txt", n % 150)).chain(["z".to_owned()]).collect();
        let told = by_directory(paths);
        assert_eq!(told.len(), 151);
        assert_eq!((told[0].as_str(), told[1].as_str()), ("./", "a/0/ (20 files)"));
        let wide: Vec<String> = (0..3_000).map(|n| format!("{n}/x")).collect();
        assert_eq!(by_directory(wide), ["./ (3000 files)"]);
    }

    #[test]
    fn a_line_cannot_steer_what_shows_it() {
        assert_eq!(shortened("a\u{202e}b\u{1b}[2Kc\rd").0, "a⟨U+202E⟩b⟨U+001B⟩[2Kc⟨CR⟩d");
        let (cut, is_whole) = shortened(&"x".repeat(5_000));
        assert!(!is_whole && cut.ends_with("x⟨3000 more characters⟩"));
    }
}
