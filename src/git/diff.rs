//! Diffs between trees: every changed path appears, whatever attributes the trees carry.

mod text;

use std::ops::RangeInclusive;

use git2::{Delta, DiffFindOptions, DiffOptions, Patch};

use super::{Error, RunRepo, oid, readable};
use crate::cycle::id::TreeId;

pub use text::DiffText;

/// How much of a diff is worked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLimits {
    /// Lines kept of one file; the rest is counted.
    pub lines_per_file: usize,
    /// The largest file that is compared line by line, in bytes; larger ones count as binary.
    pub text: u64,
}

impl Default for DiffLimits {
    /// 20,000 lines a file, files up to 4 MiB.
    fn default() -> Self {
        Self { lines_per_file: 20_000, text: 4 << 20 }
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
    /// It has another path.
    Renamed,
    /// It became something else: a link, a file, a pointer to a commit.
    TypeChanged,
}

/// One file of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffFile {
    /// What happened.
    pub status: Status,
    /// The path before, as bytes; the same as `path` unless renamed.
    pub old_path: Vec<u8>,
    /// The path now (or before, where deleted), as bytes.
    pub path: Vec<u8>,
    /// The mode before; 0 where new.
    pub old_mode: u32,
    /// The mode now; 0 where gone.
    pub mode: u32,
    /// Not compared line by line.
    pub is_binary: bool,
    /// Bytes before and now.
    pub sizes: (u64, u64),
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
    /// The changed places.
    pub hunks: Vec<Hunk>,
    /// Lines whose only change is their ending.
    pub only_endings: u32,
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
    /// Its number now, if it is there now.
    pub new: Option<u32>,
    /// What it says, line end included; invalid UTF-8 replaced.
    pub text: String,
}

impl RunRepo {
    /// Compares two trees. Renames are found; nothing in the trees can hide a path.
    ///
    /// # Errors
    /// One of the trees is not there.
    pub fn diff(&self, from: &TreeId, to: &TreeId, limits: &DiffLimits) -> Result<Diff, Error> {
        let repo = self.git()?;
        let (old, new) = (repo.find_tree(oid(from.as_str())?)?, repo.find_tree(oid(to.as_str())?)?);
        let mut options = DiffOptions::new();
        let most = i64::try_from(limits.text).unwrap_or(i64::MAX);
        options.include_typechange(true).ignore_submodules(false).max_size(most).context_lines(3);
        let mut diff = repo.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options))?;
        diff.find_similar(Some(DiffFindOptions::new().renames(true)))?;
        let files = (0..diff.deltas().len()).map(|n| file(&repo, &diff, n, limits)).collect::<Result<_, _>>()?;
        Ok(Diff { files })
    }
}

fn file(repo: &git2::Repository, diff: &git2::Diff<'_>, n: usize, limits: &DiffLimits) -> Result<DiffFile, Error> {
    let patch = Patch::from_diff(diff, n)?;
    let delta = diff.get_delta(n).expect("there are as many deltas as were counted");
    let bytes = |file: &git2::DiffFile<'_>| file.path_bytes().unwrap_or_default().to_vec();
    let size = |file: git2::DiffFile<'_>| repo.find_blob(file.id()).map_or(0, |blob| blob.size() as u64);
    let (old, new) = (delta.old_file(), delta.new_file());
    let mut made = DiffFile {
        status: status(delta.status()),
        old_path: bytes(&old),
        path: bytes(&new),
        old_mode: u32::from(old.mode()),
        mode: u32::from(new.mode()),
        is_binary: delta.flags().is_binary() || patch.is_none(),
        sizes: (size(delta.old_file()), size(delta.new_file())),
        added: 0,
        removed: 0,
        hunks: Vec::new(),
        only_endings: 0,
    };
    if let Some(mut patch) = patch.filter(|_| !made.is_binary) {
        fill(&mut made, &mut patch, limits.lines_per_file)?;
    }
    Ok(made)
}

fn status(delta: Delta) -> Status {
    match delta {
        Delta::Added | Delta::Copied | Delta::Untracked => Status::Added,
        Delta::Deleted => Status::Deleted,
        Delta::Renamed => Status::Renamed,
        Delta::Typechange => Status::TypeChanged,
        Delta::Modified | Delta::Unmodified | Delta::Ignored | Delta::Unreadable | Delta::Conflicted => {
            Status::Modified
        }
    }
}

fn fill(file: &mut DiffFile, patch: &mut Patch<'_>, most: usize) -> Result<(), Error> {
    let (_, added, removed) = patch.line_stats()?;
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    (file.added, file.removed) = (count(added), count(removed));
    let mut room = most;
    for h in 0..patch.num_hunks() {
        let (hunk, lines) = patch.hunk(h)?;
        let mut made = Hunk {
            header: String::from_utf8_lossy(hunk.header()).trim_end().to_owned(),
            old_start: hunk.old_start(),
            new_start: hunk.new_start(),
            lines: Vec::new(),
        };
        for l in 0..lines.min(room) {
            let line = patch.line_in_hunk(h, l)?;
            if matches!(line.origin(), '+' | '-' | ' ') {
                let text = String::from_utf8_lossy(line.content()).into_owned();
                made.lines.push(Line { origin: line.origin(), new: line.new_lineno(), text });
            }
        }
        room -= lines.min(room);
        file.only_endings += only_endings(&made.lines);
        file.hunks.push(made);
    }
    Ok(())
}

/// Pairs of a removed and an added line that differ in their ending alone.
fn only_endings(lines: &[Line]) -> u32 {
    let of = |origin: char| lines.iter().filter(move |l| l.origin == origin).map(|l| l.text.as_str());
    let body = |text: &str| text.trim_end_matches(['\r', '\n']).to_owned();
    let same = of('-').zip(of('+')).filter(|(old, new)| old != new && body(old) == body(new)).count();
    u32::try_from(same).unwrap_or(u32::MAX)
}

impl Diff {
    /// The changed paths, readable.
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

    /// Whether these lines of a file of the new tree, or lines beside them that are gone, were changed.
    #[must_use]
    pub fn touches(&self, path: &[u8], mut lines: RangeInclusive<u32>) -> bool {
        let Some(file) = self.files.iter().find(|f| f.path == path || f.old_path == path) else { return false };
        if file.is_binary || file.hunks.is_empty() {
            return true;
        }
        lines.any(|n| file.hunks.iter().any(|h| h.changes(n)))
    }
}

impl Hunk {
    /// Whether the line was added here, or stands next to one that was removed.
    fn changes(&self, number: u32) -> bool {
        let mut at = self.new_start;
        for line in &self.lines {
            let here = match line.origin {
                '+' => line.new == Some(number),
                '-' => number == at || number + 1 == at,
                _ => false,
            };
            if here {
                return true;
            }
            if line.origin != '-' {
                at = line.new.map_or(at + 1, |n| n + 1);
            }
        }
        false
    }
}
