//! Diffs between trees: every changed path appears, whatever attributes the trees carry.
//!
//! Which paths differ and which were renamed libgit2 says; the lines are compared by ourselves from the two contents, so
//! no `-diff`, no `linguist-generated` and no configured driver can hide any. A NUL byte in a text does not make it binary
//! either: only what is not text counts as that.

mod compare;
mod content;
mod order;
mod text;

use std::fmt;
use std::ops::RangeInclusive;

pub use text::DiffText;

use super::path::meant;
use super::{TreePath, readable};

/// How much of a diff is worked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLimits {
    /// Lines kept of one file; the rest is counted.
    pub lines_per_file: usize,
    /// The largest file that is compared line by line, in bytes.
    pub text: u64,
    /// How many bytes are compared line by line in all, before and now together.
    pub total: u64,
}

impl Default for DiffLimits {
    /// 20,000 lines a file, files up to 4 MiB, 128 MiB in all.
    fn default() -> Self {
        Self { lines_per_file: 20_000, text: 4 << 20, total: 128 << 20 }
    }
}

/// What differs between two trees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// The files, by path.
    pub files: Vec<DiffFile>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// Its content or mode changed.
    Modified,
    /// It has another path, and maybe another content.
    Renamed,
    /// It became something else: a link, a file, a pointer to a commit.
    TypeChanged,
}

/// Something about a changed file that a reader must not miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// So many lines changed in nothing but their ending. Where they are many, the hunks show only the other changes.
    Endings(u32),
    /// So many added lines hold characters that cannot be seen.
    Hidden(u32),
    /// A pointer of large file storage became the content itself, or the other way round.
    LargeFileStorage,
    /// A pointer to a commit of another repository is new or points elsewhere.
    Submodule,
    /// It is too large to be compared line by line, or there was too much before it.
    NotCompared,
    /// There are more lines than the hunks hold.
    Cut,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endings(1) => f.write_str("line ending changed on 1 line"),
            Self::Endings(lines) => write!(f, "line endings changed on {lines} lines"),
            Self::Hidden(1) => f.write_str("1 added line holds characters that cannot be seen"),
            Self::Hidden(lines) => write!(f, "{lines} added lines hold characters that cannot be seen"),
            Self::LargeFileStorage => {
                f.write_str("a pointer of Git LFS was replaced by content, or content by a pointer")
            }
            Self::Submodule => f.write_str("points to a commit of another repository"),
            Self::NotCompared => f.write_str("too large to be compared line by line"),
            Self::Cut => f.write_str("not all changed lines are shown"),
        }
    }
}

/// One file of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffFile {
    /// What happened.
    pub status: Status,
    /// The path before; the same as `path` unless renamed.
    pub old_path: TreePath,
    /// The path now (or before, where deleted).
    pub path: TreePath,
    /// The mode before; 0 where new.
    pub old_mode: u32,
    /// The mode now; 0 where gone.
    pub mode: u32,
    /// Whether it is not text before or now.
    pub is_binary: bool,
    /// Bytes before and now; 0 where there is nothing, and for a pointer to a commit.
    pub sizes: (u64, u64),
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
    /// What a reader must not miss.
    pub notes: Vec<Note>,
    /// The changed places.
    pub hunks: Vec<Hunk>,
}

/// One changed place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// `@@ -38,7 +38,9 @@ fn split`, without a line end.
    pub header: String,
    /// The first line before, from 1.
    pub old_start: u32,
    /// The first line now, from 1.
    pub new_start: u32,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// One line of a changed place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// `+`, `-` or a space.
    pub origin: char,
    /// Its number before, if it was there.
    pub old: Option<u32>,
    /// Its number now, if it is there now.
    pub new: Option<u32>,
    /// What it says, line end included; invalid UTF-8 replaced.
    pub text: String,
}

impl DiffFile {
    /// Whether all changed lines are in the hunks, so that a line outside them is known to be unchanged.
    fn has_all_lines(&self) -> bool {
        let hides = |note: &Note| match note {
            Note::Endings(_) | Note::NotCompared | Note::Cut | Note::Submodule => true,
            Note::Hidden(_) | Note::LargeFileStorage => false,
        };
        !self.is_binary && !self.hunks.is_empty() && !self.notes.iter().any(hides)
    }

    /// The lines of the file as it is now that were added or stand beside a removed one.
    fn changed_lines(&self) -> Vec<RangeInclusive<u32>> {
        let mut ranges: Vec<RangeInclusive<u32>> = Vec::new();
        for (from, to) in self.hunks.iter().flat_map(Hunk::changed) {
            match ranges.last_mut() {
                Some(last) if from <= last.end().saturating_add(1) => {
                    *last = *last.start().min(&from)..=*last.end().max(&to);
                }
                Some(_) | None => ranges.push(from..=to),
            }
        }
        ranges
    }
}

impl Hunk {
    /// First and last of each run of changed lines; a removed line counts for its neighbours.
    fn changed(&self) -> Vec<(u32, u32)> {
        let mut next = self.new_start;
        let mut changed = Vec::new();
        for line in &self.lines {
            match (line.origin, line.new) {
                ('+', Some(n)) => changed.push((n, n)),
                ('-', _) => changed.push((next.saturating_sub(1).max(1), next.max(1))),
                _ => {}
            }
            next = line.new.map_or(next, |n| n.saturating_add(1));
        }
        changed
    }
}

impl Diff {
    /// The changed paths, readable; both where a file was renamed.
    pub fn paths(&self) -> impl Iterator<Item = String> + '_ {
        self.files.iter().flat_map(|f| {
            let old = (f.old_path != f.path).then(|| readable(&f.old_path));
            std::iter::once(readable(&f.path)).chain(old)
        })
    }

    /// How many files differ.
    #[must_use]
    pub fn files_changed(&self) -> u32 {
        u32::try_from(self.files.len()).unwrap_or(u32::MAX)
    }

    /// Lines added in all files.
    #[must_use]
    pub fn added(&self) -> u32 {
        self.files.iter().fold(0, |sum, f| sum.saturating_add(f.added))
    }

    /// Lines removed in all files.
    #[must_use]
    pub fn removed(&self) -> u32 {
        self.files.iter().fold(0, |sum, f| sum.saturating_add(f.removed))
    }

    fn find(&self, path: &[u8]) -> Option<&DiffFile> {
        let named = |path: &[u8]| self.files.iter().find(|f| *f.path == *path || *f.old_path == *path);
        meant(path).find_map(|path| named(&path))
    }

    /// The lines of a file as it is in the new tree that were changed, in order; `None` where all of them may have been
    /// (a binary, a file that was not compared). Empty for a file that is not in the diff.
    #[must_use]
    pub fn changed_lines(&self, path: &[u8]) -> Option<Vec<RangeInclusive<u32>>> {
        match self.find(path) {
            None => Some(Vec::new()),
            Some(file) if file.has_all_lines() => Some(file.changed_lines()),
            Some(_) => None,
        }
    }

    /// Whether one of these lines of a file of the new tree, or a line beside them that is gone, was changed.
    #[must_use]
    pub fn touches(&self, path: &[u8], lines: RangeInclusive<u32>) -> bool {
        let overlaps = |range: &RangeInclusive<u32>| range.start() <= lines.end() && lines.start() <= range.end();
        self.changed_lines(path).is_none_or(|ranges| ranges.iter().any(overlaps))
    }
}
