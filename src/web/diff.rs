//! A diff as a page shows it: files, hunks, numbered lines, and the changed words inside a changed line.

/// At most this many lines of one diff are put on the run page; the rest is counted, and is in the branch.
pub const SHOWN_LINES: usize = 2_000;

/// One diff, against one other tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// What it is against: `Against pass 1`, `Against the base`.
    pub title: String,
    /// The files that differ, in order.
    pub files: Vec<File>,
    /// Shown unfolded.
    pub open: bool,
}

impl Diff {
    /// Lines added in all files.
    #[must_use]
    pub fn added(&self) -> u64 {
        self.files.iter().map(|f| f.added).sum()
    }

    /// Lines removed in all files.
    #[must_use]
    pub fn removed(&self) -> u64 {
        self.files.iter().map(|f| f.removed).sum()
    }

    /// Keeps at most `lines` lines: files past that keep their name and counts and lose their hunks.
    #[must_use]
    pub fn bounded(mut self, lines: usize) -> Self {
        let mut room = lines;
        for file in &mut self.files {
            let size: usize = file.hunks.iter().map(|h| h.lines.len()).sum();
            match room.checked_sub(size) {
                Some(left) => room = left,
                None => {
                    file.hunks.clear();
                    file.note = Some(Note::TooLong { lines: size as u64 });
                }
            }
        }
        self
    }
}

/// One file of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path, now or (where deleted) before.
    pub path: String,
    /// What happened to it.
    pub change: Change,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// Its changed places; empty where there is nothing to read line by line.
    pub hunks: Vec<Hunk>,
    /// Why no lines are shown, or what else changed.
    pub note: Option<Note>,
}

/// What happened to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// Its content changed.
    Modified,
    /// It has another path.
    Renamed {
        /// The path it had.
        from: String,
    },
}

/// Something about a file that its lines do not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Not text.
    Binary,
    /// The mode changed: `100644`, `100755`.
    Mode {
        /// Before.
        from: String,
        /// Now.
        to: String,
    },
    /// Left out for its length.
    TooLong {
        /// How many lines it would have been.
        lines: u64,
    },
}

/// One changed place of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Its header line: `@@ -38,7 +38,9 @@ fn split`.
    pub header: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

impl Hunk {
    /// Numbers lines from where the hunk begins and marks the changed words of lines that replace one another.
    ///
    /// `old` and `new` are the 1-based line numbers of the first line on each side.
    #[must_use]
    pub fn new(header: String, old: u64, new: u64, lines: Vec<(Kind, String)>) -> Self {
        let (mut old, mut new) = (old, new);
        let mut numbered: Vec<Line> =
            lines.into_iter().map(|(kind, text)| number(kind, &text, &mut old, &mut new)).collect();
        mark_words(&mut numbered);
        Self { header, lines: numbered }
    }
}

/// Whether a line was there before, is there now, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// On both sides.
    Same,
    /// Only now.
    Added,
    /// Only before.
    Removed,
}

impl Kind {
    /// The sign in front of the line, which is also how it is read out.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Same => " ",
            Self::Added => "+",
            Self::Removed => "−",
        }
    }

    /// The name of the style-sheet class.
    #[must_use]
    pub const fn class(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}

/// One line of a hunk: its text is `before`, `changed` and `after` joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Which side it is on.
    pub kind: Kind,
    /// Its number before, empty if it was not there.
    pub old: String,
    /// Its number now, empty if it is gone.
    pub new: String,
    /// The text up to the changed words.
    pub before: String,
    /// The changed words; empty where the whole line is alike, or is new as a whole.
    pub changed: String,
    /// The text after them.
    pub after: String,
}

fn number(kind: Kind, text: &str, old: &mut u64, new: &mut u64) -> Line {
    let take = |counter: &mut u64, there: bool| {
        if !there {
            return String::new();
        }
        *counter += 1;
        (*counter - 1).to_string()
    };
    let (was, is) = (take(old, kind != Kind::Added), take(new, kind != Kind::Removed));
    let text = text.trim_end_matches(['\n', '\r']).to_owned();
    Line { kind, old: was, new: is, before: text, changed: String::new(), after: String::new() }
}

/// In every run of removed lines followed by as many added ones, marks what differs in each pair.
fn mark_words(lines: &mut [Line]) {
    let mut at = 0;
    while at < lines.len() {
        let count = |from: usize, kind| lines[from..].iter().take_while(|l| l.kind == kind).count();
        let removed = count(at, Kind::Removed);
        let added = count(at + removed, Kind::Added);
        if removed == added {
            for pair in at..at + removed {
                let (left, right) = lines.split_at_mut(pair + removed);
                mark_pair(&mut left[pair], &mut right[0]);
            }
        }
        at += (removed + added).max(1);
    }
}

fn mark_pair(old: &mut Line, new: &mut Line) {
    let (a, b) = (old.before.clone(), new.before.clone());
    let head: usize = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum();
    let tail: usize = a[head..]
        .chars()
        .rev()
        .zip(b[head..].chars().rev())
        .take_while(|(x, y)| x == y)
        .map(|(x, _)| x.len_utf8())
        .sum();
    // Lines with little in common are replaced, not edited: marks would only be noise.
    let common = a[..head].trim().len() + a[a.len() - tail..].trim().len();
    if common * 2 < a.trim().len().max(b.trim().len()) {
        return;
    }
    for (line, text) in [(old, &a), (new, &b)] {
        line.before = text[..head].to_owned();
        line.changed = text[head..text.len() - tail].to_owned();
        line.after = text[text.len() - tail..].to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(lines: &[(Kind, &str)]) -> Hunk {
        Hunk::new("@@".to_owned(), 10, 20, lines.iter().map(|(k, t)| (*k, (*t).to_owned())).collect())
    }

    #[test]
    fn lines_are_numbered_on_the_sides_where_they_exist() {
        let hunk =
            hunk(&[(Kind::Same, "a"), (Kind::Removed, "b"), (Kind::Added, "quite another"), (Kind::Same, "d\r\n")]);
        let numbers: Vec<_> = hunk.lines.iter().map(|l| (l.old.as_str(), l.new.as_str())).collect();
        assert_eq!(numbers, [("10", "20"), ("11", ""), ("", "21"), ("12", "22")]);
        assert_eq!(hunk.lines[3].before, "d");
    }

    #[test]
    fn an_edited_line_marks_only_the_words_that_changed() {
        let hunk =
            hunk(&[(Kind::Removed, "let step = if rest > 0 { 1 };"), (Kind::Added, "let step = rest.signum();")]);
        assert_eq!(hunk.lines[0].changed, "", "too little in common");
        let hunk = self::hunk(&[(Kind::Removed, "    total(é, 1);"), (Kind::Added, "    total(ö, 1);")]);
        let parts: Vec<_> =
            hunk.lines.iter().map(|l| (l.before.as_str(), l.changed.as_str(), l.after.as_str())).collect();
        assert_eq!(parts, [("    total(", "é", ", 1);"), ("    total(", "ö", ", 1);")]);
    }

    #[test]
    fn the_parts_of_a_line_always_join_to_the_line() {
        let texts = ["", "a", "aa", "aaa", "aba", "ab", "é", "éa", "日本", "日曜"];
        for (old, new) in texts.iter().flat_map(|a| texts.map(|b| (*a, b))) {
            for (line, text) in hunk(&[(Kind::Removed, old), (Kind::Added, new)]).lines.iter().zip([old, new]) {
                assert_eq!(format!("{}{}{}", line.before, line.changed, line.after), text);
            }
        }
    }

    #[test]
    fn a_long_diff_keeps_its_file_names_and_counts() {
        let file = |n: u64| File {
            path: format!("{n}"),
            change: Change::Modified,
            added: n,
            removed: 0,
            hunks: vec![hunk(&vec![(Kind::Added, "x"); usize::try_from(n).expect("small")])],
            note: None,
        };
        let diff = Diff { title: String::new(), files: vec![file(3), file(9), file(2)], open: false }.bounded(5);
        assert_eq!(diff.added(), 14);
        let shown: Vec<_> = diff.files.iter().map(|f| (f.hunks.len(), f.note.clone())).collect();
        assert_eq!(shown, [(1, None), (0, Some(Note::TooLong { lines: 9 })), (1, None)]);
    }
}
