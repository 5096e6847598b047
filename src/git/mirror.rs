//! The mirror: one bare repository for each remote, fetched into and never cloned again.
//!
//! It holds the commits that runs start from, each with its whole tree and without its history: that is all a run needs,
//! and a hundredth of the work. What was fetched once is never fetched again, and nothing is ever removed from it.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};
use rustix::fs::FlockOperation;
use sha2::{Digest, Sha256};

use super::transfer::Transfer;
use super::tree::TreeLimits;
use super::{BranchName, Error, Remote, branch_for, commit_id, names, oid, open, tree, tree_id};
use crate::cycle::id::{CommitId, RepositoryId, RunId, TreeId};

/// The commit that a run is frozen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// The commit.
    pub commit: CommitId,
    /// Its tree.
    pub tree: TreeId,
}

/// A bare mirror of a remote. Opened anew for each use: it is cheap, and threads share nothing.
#[derive(Debug, Clone)]
pub struct Mirror {
    path: PathBuf,
    remote: Remote,
    limits: TreeLimits,
}

/// Where the mirror of a repository is.
#[must_use]
pub fn mirror_path(root: &Path, repository: RepositoryId) -> PathBuf {
    root.join(format!("{repository}.git"))
}

impl Mirror {
    /// Opens or makes the mirror of a repository below `root`. Blocks.
    ///
    /// # Errors
    /// The directory cannot be made or read.
    pub fn open(root: &Path, repository: RepositoryId, remote: &Remote) -> Result<Self, Error> {
        let mirror =
            Self { path: mirror_path(root, repository), remote: remote.clone(), limits: TreeLimits::default() };
        std::fs::create_dir_all(root).map_err(Error::io("make the directory of the mirrors"))?;
        drop(mirror.locked()?);
        Ok(mirror)
    }

    /// The same mirror, which refuses trees beyond these limits.
    #[must_use]
    pub fn within(self, limits: TreeLimits) -> Self {
        Self { limits, ..self }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Fetches what `base` is now. Blocks; waits for another fetch into the same mirror.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::NotOurs`], [`Error::Empty`], [`Error::BaseMissing`], [`Error::ObjectFormat`],
    /// [`Error::Unsupported`], [`Error::TooLarge`], [`Error::BadTree`]: each before anything of it is kept.
    pub fn fetch(&self, base: &BranchName) -> Result<Base, Error> {
        let theirs = open::theirs(&self.remote)?;
        let commit = self.find(&theirs, base)?;
        tree::measure(&theirs, commit.tree_id(), &self.limits).map_err(|e| self.incomplete(e))?;
        let (_lock, ours) = self.locked()?;
        take(&self.path, &ours, &theirs, &commit)?;
        ours.reference(&kept(base), commit.id(), true, "fetched")?;
        Ok(Base { commit: commit_id(commit.id()), tree: tree_id(commit.tree_id()) })
    }

    /// Fetches a commit that a run started from, wherever its branch is now. Blocks.
    ///
    /// # Errors
    /// As [`Mirror::fetch`]; the remote may no longer have the commit.
    pub fn fetch_commit(&self, commit: &CommitId) -> Result<(), Error> {
        let (_lock, ours) = self.locked()?;
        let id = oid(commit.as_str())?;
        if ours.odb()?.exists(id) {
            return Ok(());
        }
        let theirs = open::theirs(&self.remote)?;
        let commit = theirs.find_commit(id).map_err(|e| self.incomplete(e.into()))?;
        take(&self.path, &ours, &theirs, &commit)
    }

    fn find<'a>(&self, theirs: &'a Repository, base: &BranchName) -> Result<git2::Commit<'a>, Error> {
        match theirs.find_reference(&base.reference()) {
            Ok(reference) => reference.peel_to_commit().map_err(|e| self.incomplete(e.into())),
            Err(_) if theirs.references()?.next().is_none() => Err(Error::Empty { remote: self.remote.to_string() }),
            Err(_) => Err(Error::BaseMissing { branch: base.to_string(), existing: branches(theirs)? }),
        }
    }

    /// An object that the remote should have and has not.
    fn incomplete(&self, error: Error) -> Error {
        if let Error::Git(source) = error {
            return Error::Unreachable { remote: self.remote.to_string(), source };
        }
        error
    }

    /// The names of the remote's branches as they are now, sorted. Blocks.
    ///
    /// # Errors
    /// As [`Mirror::fetch`] where the remote cannot be opened.
    pub fn remote_branches(&self) -> Result<Vec<String>, Error> {
        branches(&open::theirs(&self.remote)?)
    }

    /// Our branch for an issue, by a name that the remote has room for now: see [`branch_for`]. Blocks.
    ///
    /// # Errors
    /// As [`Mirror::remote_branches`].
    pub fn branch_for(&self, number: u64, title: &str) -> Result<BranchName, Error> {
        let existing = self.remote_branches()?;
        let is_ours = |name: &str| name.starts_with("countersign/") || name.starts_with("countersign-");
        // The bare prefix is asked for by itself: branches below it are no reason to leave it.
        let taken = |name: &str| match is_ours(name) {
            true => names::in_the_way(name, &existing).is_some(),
            false => existing.iter().any(|e| e == name),
        };
        Ok(branch_for(number, title, taken))
    }

    /// Remembers what a run starts from, whatever becomes of the branch.
    pub(super) fn pin(&self, run: RunId, base: Oid) -> Result<(), Error> {
        let (_lock, ours) = self.locked()?;
        ours.reference(&format!("refs/runs/{run}"), base, true, "a run starts here")?;
        Ok(())
    }

    /// Keeps others from writing to the mirror until the file is dropped.
    fn locked(&self) -> Result<(File, Repository), Error> {
        let file = File::create(self.path.with_extension("lock")).map_err(Error::io("lock the mirror"))?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive).map_err(Error::errno("lock the mirror"))?;
        let ours = open::ours_or_new(&self.path)?;
        remove_stale_locks(&self.path)?;
        Ok((file, ours))
    }
}

/// Copies a commit with its whole tree and without its history, if it is not there yet.
fn take(path: &Path, ours: &Repository, theirs: &Repository, commit: &git2::Commit<'_>) -> Result<(), Error> {
    let odb = ours.odb()?;
    if !odb.exists(commit.id()) {
        let mut transfer = Transfer::new(theirs)?;
        transfer.tree(commit.tree_id(), None, &|id| odb.exists(id))?;
        transfer.commit(commit.id())?;
        transfer.finish(ours)?;
        open::settle(path)?;
    }
    // As it is stored: a graft of the remote's hides parents.
    if ours.find_commit(commit.id())?.parent_count() > 0 {
        cut_history(path, commit.id())?;
    }
    Ok(())
}

/// Where the mirror remembers a branch. The name is flat, since `a` and `a/b` can follow one another on a remote.
fn kept(base: &BranchName) -> String {
    let digest = Sha256::digest(base.as_str());
    let hex: String = digest.iter().take(20).map(|b| format!("{b:02x}")).collect();
    format!("refs/bases/{hex}")
}

pub(super) fn branches(repo: &Repository) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for reference in repo.references_glob("refs/heads/*")? {
        let name = String::from_utf8_lossy(reference?.name_bytes()).into_owned();
        names.extend(name.strip_prefix("refs/heads/").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// Tells whoever reads the repository that the parents of a commit are not in it.
pub(super) fn cut_history(repo: &Path, commit: Oid) -> Result<(), Error> {
    let (file, line) = (repo.join("shallow"), format!("{commit}\n"));
    let known = match std::fs::read_to_string(&file) {
        Err(e) if e.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(Error::io("read the repository's shallow file"))?,
    };
    if known.contains(&line) {
        return Ok(());
    }
    open::replace(&file, format!("{known}{line}").as_bytes())
}

/// Removes what a fetch that was killed left: nobody else writes here while we hold the lock.
fn remove_stale_locks(repo: &Path) -> Result<(), Error> {
    for directory in ["", "refs/bases", "refs/runs", "objects/pack"] {
        let Ok(entries) = std::fs::read_dir(repo.join(directory)) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.ends_with(".lock") || name.starts_with("pack_git2_") || name.starts_with("tmp_") {
                std::fs::remove_file(entry.path()).map_err(Error::io("remove a lock that a crash left"))?;
            }
        }
    }
    Ok(())
}
