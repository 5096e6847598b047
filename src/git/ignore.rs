//! The ignore rules of a base tree, judged by libgit2 over a directory that holds its `.gitignore` files and nothing else.
//!
//! Only the base decides what counts as ignored. What an agent writes into a `.gitignore` changes that file and nothing
//! about what is taken back: it can neither keep its own work out of sight nor let in what the repository keeps out.

use std::ffi::OsStr;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use super::tree::{self, Kind};
use super::{Error, RunRepo, TreePath, open};

/// The largest `.gitignore` that is read, in bytes; of a larger one, so much.
const LARGEST: usize = 256 << 10;
/// Further files than this many are not read.
const MOST: usize = 10_000;

/// The rules of one tree.
pub(super) struct Rules(Repository);

impl Rules {
    pub(super) fn of(run: &RunRepo, tree: Oid) -> Result<Self, Error> {
        let repo = run.git()?;
        let kept = run.path().join("rules").join(tree.to_string());
        if !kept.exists() {
            write_out(&repo, tree, &kept)?;
        }
        repo.set_workdir(&kept, false)?;
        Ok(Self(repo))
    }

    /// Whether the path, of a directory or of something else, is ignored, by itself or with a directory above it.
    pub(super) fn ignore(&self, path: &TreePath, is_directory: bool) -> bool {
        let end: &[u8] = if is_directory { b"/" } else { b"" };
        let path = [path.as_bytes(), end].concat();
        // What cannot be judged is taken.
        self.0.is_path_ignored(Path::new(OsStr::from_bytes(&path))).unwrap_or(false)
    }
}

/// Writes the tree's `.gitignore` files to a directory of ours, which is there afterwards whole or not at all.
fn write_out(repo: &Repository, tree: Oid, kept: &Path) -> Result<(), Error> {
    let failed = || Error::io("write out the ignore rules");
    let new = open::unused(kept);
    std::fs::create_dir_all(&new).map_err(failed())?;
    for (path, id) in ignore_files(repo, tree)? {
        let file = path.as_bytes().split(|b| *b == b'/').fold(PathBuf::from(&new), |p, n| p.join(OsStr::from_bytes(n)));
        std::fs::create_dir_all(file.parent().unwrap_or(&new)).map_err(failed())?;
        let content = repo.find_blob(id)?;
        let head = &content.content()[..content.size().min(LARGEST)];
        std::fs::File::create_new(file).and_then(|mut file| file.write_all(head)).map_err(failed())?;
    }
    // Somebody else may have been faster; the content is the same.
    if std::fs::rename(&new, kept).is_err() && kept.exists() {
        return std::fs::remove_dir_all(&new).map_err(failed());
    }
    if kept.exists() { Ok(()) } else { Err(failed()(std::io::ErrorKind::NotFound.into())) }
}

fn ignore_files(repo: &Repository, tree: Oid) -> Result<Vec<(TreePath, Oid)>, Error> {
    let mut files = Vec::new();
    tree::walk(repo, tree, &mut |path, entry| {
        if entry.name == b".gitignore" && matches!(entry.kind(), Some(Kind::File | Kind::Executable)) {
            files.push((path.clone(), entry.id));
        }
        if files.len() < MOST { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(files)
}
