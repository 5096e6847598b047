//! Making a repository out of files: for the demo's sample repositories.

use std::path::Path;

use git2::{Repository, Signature, Time};

use super::open::{ours, ours_or_new};
use super::{BranchName, Error, commit_id};
use crate::cycle::id::CommitId;

/// Makes a bare repository whose branch `main` holds these files in one commit.
///
/// # Errors
/// The directory cannot be written, or a path is not one that git takes.
pub fn bare_with(path: &Path, files: &[(&str, &str)], at: i64) -> Result<CommitId, Error> {
    let repo = ours_or_new(path)?;
    let tree = build(&repo, files)?;
    let who = Signature::new("Countersign", "countersign@localhost", &Time::new(at, 0))?;
    let tree = repo.find_tree(tree)?;
    let commit = repo.commit(Some("refs/heads/main"), &who, &who, "Start\n", &tree, &[])?;
    repo.set_head("refs/heads/main")?;
    Ok(commit_id(commit))
}

fn build(repo: &Repository, files: &[(&str, &str)]) -> Result<git2::Oid, Error> {
    let mut index = git2::Index::new()?;
    for (path, text) in files {
        let id = repo.blob(text.as_bytes())?;
        index.add(&git2::IndexEntry {
            ctime: git2::IndexTime::new(0, 0),
            mtime: git2::IndexTime::new(0, 0),
            dev: 0,
            ino: 0,
            mode: 0o100_644,
            uid: 0,
            gid: 0,
            file_size: 0,
            id,
            flags: 0,
            flags_extended: 0,
            path: path.as_bytes().to_vec(),
        })?;
    }
    Ok(index.write_tree_to(repo)?)
}

/// The tree at the head of a branch of a repository on this machine.
///
/// # Errors
/// There is no such repository or branch.
pub fn branch_tree(path: &Path, branch: &BranchName) -> Result<crate::cycle::id::TreeId, Error> {
    let repo = ours(path)?;
    let commit = repo.find_reference(&branch.reference())?.peel_to_commit()?;
    Ok(super::tree_id(commit.tree_id()))
}
