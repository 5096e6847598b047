//! Reading what is in a tree: from the object store, so no link is followed and nothing can change meanwhile.

use std::ops::ControlFlow;

use git2::{Blob, Oid, Repository};

use super::path::meant;
use super::tree::{self, Kind, TreeLimits, TreeSize};
use super::{Error, RunRepo, TreePath, oid, readable};
use crate::cycle::id::TreeId;

/// More files than this are not listed.
const MOST_FILES: usize = 2_000_000;
/// Files larger than this are not read, in bytes: libgit2 holds a file whole.
const LARGEST: usize = 64 << 20;

/// A file of a tree, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its path.
    pub path: TreePath,
    /// What it is; never a directory.
    pub kind: Kind,
}

impl RunRepo {
    /// Measures a tree as it would be on a disk. Blocks.
    ///
    /// # Errors
    /// [`Error::TooLarge`] or [`Error::BadTree`] where it must not be put there.
    pub fn measure(&self, tree: &TreeId, limits: &TreeLimits) -> Result<TreeSize, Error> {
        tree::measure(&self.git()?, oid(tree.as_str())?, limits)
    }

    /// Everything in a tree but its directories, in git's order. Blocks.
    ///
    /// # Errors
    /// The tree is not there, or has more than two million files.
    pub fn list(&self, tree: &TreeId) -> Result<Vec<Listed>, Error> {
        let (repo, mut files, mut is_whole) = (self.git()?, Vec::new(), true);
        tree::walk(&repo, oid(tree.as_str())?, &mut |path, entry| {
            is_whole = files.len() < MOST_FILES;
            match entry.kind() {
                Some(Kind::Directory) | None => {}
                Some(kind) => files.push(Listed { path: path.clone(), kind }),
            }
            if is_whole { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let too_large = || Error::TooLarge { what: "the tree".to_owned(), most: format!("{MOST_FILES} files") };
        if is_whole { Ok(files) } else { Err(too_large()) }
    }

    /// Every regular file of a tree, by its path. Blocks.
    ///
    /// # Errors
    /// As [`RunRepo::list`].
    pub fn regular_files(&self, tree: &TreeId) -> Result<Vec<Vec<u8>>, Error> {
        let is_regular = |file: &Listed| matches!(file.kind, Kind::File | Kind::Executable);
        Ok(self.list(tree)?.into_iter().filter(is_regular).map(|file| file.path.as_bytes().to_vec()).collect())
    }

    /// The first `max` bytes of a regular file of a tree; `None` if there is none. The path may be given as
    /// [`readable`] shows it. Blocks.
    ///
    /// # Errors
    /// The tree is not there, or the file is larger than 64 MiB.
    pub fn file(&self, tree: &TreeId, path: &[u8], max: usize) -> Result<Option<Vec<u8>>, Error> {
        self.with_file(tree, path, |content| content[..content.len().min(max)].to_vec())
    }

    /// How many lines a regular file of a tree has; `None` if there is none. Otherwise as [`RunRepo::file`].
    ///
    /// # Errors
    /// As [`RunRepo::file`].
    pub fn line_count(&self, tree: &TreeId, path: &[u8]) -> Result<Option<usize>, Error> {
        self.with_file(tree, path, |content| {
            let ends = content.iter().filter(|b| **b == b'\n').count();
            ends + usize::from(content.last().is_some_and(|b| *b != b'\n'))
        })
    }

    fn with_file<T>(&self, tree: &TreeId, path: &[u8], look: impl Fn(&[u8]) -> T) -> Result<Option<T>, Error> {
        let (repo, tree) = (self.git()?, oid(tree.as_str())?);
        for path in meant(path) {
            if let Some(id) = find_file(&repo, tree, &path)? {
                return Ok(Some(look(blob(&repo, id, &path)?.content())));
            }
        }
        Ok(None)
    }
}

/// The blob of a regular file; `None` if there is no such file.
fn find_file(repo: &Repository, tree: Oid, path: &[u8]) -> Result<Option<Oid>, Error> {
    let mut at = tree;
    let mut parts = path.split(|b| *b == b'/').peekable();
    while let Some(part) = parts.next() {
        let found = tree::entries(repo, at)?.into_iter().find(|e| e.name == part);
        match (found.as_ref().and_then(tree::Entry::kind), parts.peek(), found) {
            (Some(Kind::Directory), Some(_), Some(entry)) => at = entry.id,
            (Some(Kind::File | Kind::Executable), None, Some(entry)) => return Ok(Some(entry.id)),
            _ => return Ok(None),
        }
    }
    Ok(None)
}

fn blob<'a>(repo: &'a Repository, id: Oid, path: &[u8]) -> Result<Blob<'a>, Error> {
    let (bytes, _) = repo.odb()?.read_header(id)?;
    if bytes > LARGEST {
        return Err(Error::TooLarge { what: readable(path), most: format!("{LARGEST} bytes") });
    }
    Ok(repo.find_blob(id)?)
}
