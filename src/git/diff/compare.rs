//! Comparing two trees, and two contents line by line.

use git2::{Blob, Delta, DiffFindOptions, DiffOptions, Patch, Repository};

use super::content::{is_binary, is_lfs_pointer, plain_endings};
use super::{Diff, DiffFile, DiffLimits, Hunk, Line, Note, Status};
use crate::cycle::id::TreeId;
use crate::git::tree::Kind;
use crate::git::{Error, RunRepo, oid};
use crate::hidden::reveal;

/// Pairs of a deleted and an added file whose likeness is worked out; beyond this, only equal files count as renamed.
const MOST_PAIRS: usize = 250_000;
/// More lines than this that changed in nothing but their ending would bury the others.
const MANY_ENDINGS: u32 = 10;
/// Lines around a change.
const CONTEXT: u32 = 3;

impl RunRepo {
    /// Compares two trees. Renames are found; nothing in the trees can hide a path. Blocks.
    ///
    /// # Errors
    /// One of the trees, or something in it, is not there.
    pub fn diff(&self, from: &TreeId, to: &TreeId, limits: &DiffLimits) -> Result<Diff, Error> {
        let repo = self.git()?;
        let (old, new) = (repo.find_tree(oid(from.as_str())?)?, repo.find_tree(oid(to.as_str())?)?);
        let mut options = DiffOptions::new();
        options.include_typechange(true).ignore_submodules(false);
        let mut diff = repo.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options))?;
        find_renames(&mut diff)?;
        let mut comparing = Comparing { repo: &repo, limits, left: limits.total };
        let files = diff.deltas().map(|delta| comparing.file(&delta)).collect::<Result<_, _>>()?;
        Ok(Diff { files })
    }
}

fn find_renames(diff: &mut git2::Diff<'_>) -> Result<(), Error> {
    let count = |wanted: Delta| diff.deltas().filter(|d| d.status() == wanted).count();
    let (gone, new) = (count(Delta::Deleted), count(Delta::Added));
    let mut options = DiffFindOptions::new();
    options.renames(true).rename_limit(MOST_PAIRS).exact_match_only(gone.saturating_mul(new) > MOST_PAIRS);
    Ok(diff.find_similar(Some(&mut options))?)
}

struct Comparing<'a> {
    repo: &'a Repository,
    limits: &'a DiffLimits,
    /// Bytes that may still be compared line by line.
    left: u64,
}

/// One side of a changed file.
struct Side<'a> {
    mode: u32,
    size: u64,
    blob: Option<Blob<'a>>,
}

impl Side<'_> {
    fn content(&self) -> &[u8] {
        self.blob.as_ref().map_or(&[], |blob| blob.content())
    }

    fn is_there(&self) -> bool {
        self.mode != 0
    }

    fn is_submodule(&self) -> bool {
        Kind::of(self.mode) == Some(Kind::Submodule)
    }
}

impl<'a> Comparing<'a> {
    fn file(&mut self, delta: &git2::DiffDelta<'_>) -> Result<DiffFile, Error> {
        let path = |file: &git2::DiffFile<'_>| file.path_bytes().unwrap_or_default().into();
        let (old, new) = (self.side(&delta.old_file())?, self.side(&delta.new_file())?);
        let mut file = DiffFile {
            status: status(delta.status()),
            old_path: path(&delta.old_file()),
            path: path(&delta.new_file()),
            old_mode: old.mode,
            mode: new.mode,
            is_binary: false,
            sizes: (old.size, new.size),
            added: 0,
            removed: 0,
            notes: Vec::new(),
            hunks: Vec::new(),
        };
        if old.is_submodule() || new.is_submodule() {
            file.notes.push(Note::Submodule);
        }
        if old.blob.is_none() && old.size > 0 || new.blob.is_none() && new.size > 0 {
            file.notes.push(Note::NotCompared);
            return Ok(file);
        }
        self.fill(&mut file, old.content(), new.content())?;
        if old.is_there() && new.is_there() && is_lfs_pointer(old.content()) != is_lfs_pointer(new.content()) {
            file.notes.push(Note::LargeFileStorage);
        }
        Ok(file)
    }

    /// Reads one side, if it is a file or link small enough to be compared.
    fn side(&mut self, file: &git2::DiffFile<'_>) -> Result<Side<'a>, Error> {
        let mode = u32::from(file.mode());
        if file.id().is_zero() || matches!(Kind::of(mode), Some(Kind::Submodule | Kind::Directory) | None) {
            return Ok(Side { mode, size: 0, blob: None });
        }
        let (size, _) = self.repo.odb()?.read_header(file.id())?;
        let size = size as u64;
        let is_small = size <= self.limits.text && size <= self.left;
        self.left -= if is_small { size } else { 0 };
        let blob = is_small.then(|| self.repo.find_blob(file.id())).transpose()?;
        Ok(Side { mode, size, blob })
    }

    fn fill(&self, file: &mut DiffFile, old: &[u8], new: &[u8]) -> Result<(), Error> {
        file.is_binary = is_binary(old) || is_binary(new);
        if file.is_binary || old == new {
            return Ok(());
        }
        let patch = compared(old, new)?;
        (file.added, file.removed) = counts(&patch)?;
        let (plain_old, plain_new) = (plain_endings(old), plain_endings(new));
        let plain = compared(&plain_old, &plain_new)?;
        let (added, removed) = counts(&plain)?;
        let endings = file.added.saturating_sub(added).min(file.removed.saturating_sub(removed));
        if endings > 0 {
            file.notes.push(Note::Endings(endings));
        }
        let shown = if endings > MANY_ENDINGS { &plain } else { &patch };
        self.hunks(file, shown)?;
        let hidden = file.hunks.iter().flat_map(|h| &h.lines).filter(|l| l.origin == '+' && is_hiding(&l.text)).count();
        if hidden > 0 {
            file.notes.push(Note::Hidden(number(hidden)));
        }
        Ok(())
    }

    fn hunks(&self, file: &mut DiffFile, patch: &Patch<'_>) -> Result<(), Error> {
        let mut room = self.limits.lines_per_file;
        for h in 0..patch.num_hunks() {
            let (hunk, lines) = patch.hunk(h)?;
            if room < lines && !file.notes.contains(&Note::Cut) {
                file.notes.push(Note::Cut);
            }
            if room == 0 {
                break;
            }
            let header = String::from_utf8_lossy(hunk.header()).trim_end().to_owned();
            let read =
                (0..lines.min(room)).map(|l| Ok(patch.line_in_hunk(h, l)?)).collect::<Result<Vec<_>, Error>>()?;
            let lines_of = read.iter().filter(|line| matches!(line.origin(), '+' | '-' | ' ')).map(line);
            let (old_start, new_start) = (hunk.old_start(), hunk.new_start());
            file.hunks.push(Hunk { header, old_start, new_start, lines: lines_of.collect() });
            room -= lines.min(room);
        }
        Ok(())
    }
}

fn compared<'a>(old: &'a [u8], new: &'a [u8]) -> Result<Patch<'a>, Error> {
    let mut options = DiffOptions::new();
    options.force_text(true).context_lines(CONTEXT).indent_heuristic(true);
    Ok(Patch::from_buffers(old, None, new, None, Some(&mut options))?)
}

fn counts(patch: &Patch<'_>) -> Result<(u32, u32), Error> {
    let (_, added, removed) = patch.line_stats()?;
    Ok((number(added), number(removed)))
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn line(line: &git2::DiffLine<'_>) -> Line {
    let text = String::from_utf8_lossy(line.content()).into_owned();
    Line { origin: line.origin(), old: line.old_lineno(), new: line.new_lineno(), text }
}

/// Whether the line holds characters that cannot be seen; how it ends does not count.
fn is_hiding(text: &str) -> bool {
    let text = text.trim_end_matches(['\r', '\n']);
    text.contains('\r') || reveal(text) != text
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
