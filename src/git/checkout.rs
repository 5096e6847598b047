//! Writing a tree to a directory: our own walk, no filter, no conversion of line ends, no link followed.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;

use git2::{Repository, Signature, Time, Tree};

use super::{Error, RunRepo, oid};
use crate::cycle::id::TreeId;

impl RunRepo {
    /// Writes the tree to `to`, which must not be there. Gitlinks become empty directories.
    ///
    /// # Errors
    /// The tree is not there, or the directory cannot be written.
    pub fn checkout(&self, tree: &TreeId, to: &Path) -> Result<(), Error> {
        let repo = self.git()?;
        write_tree(&repo, &repo.find_tree(oid(tree.as_str())?)?, to)
    }

    /// As [`RunRepo::checkout`], with a `.git` for the agent's convenience: one commit that holds the tree, whole in
    /// itself. The service never opens it afterwards.
    ///
    /// # Errors
    /// As [`RunRepo::checkout`].
    pub fn checkout_with_git(&self, tree: &TreeId, to: &Path) -> Result<(), Error> {
        self.checkout(tree, to)?;
        let ours = self.git()?;
        let theirs = Repository::init(to)?;
        let wanted = oid(tree.as_str())?;
        copy_tree(&ours, &theirs, wanted)?;
        let who = Signature::new("Countersign", "countersign@localhost", &Time::new(0, 0))?;
        let found = theirs.find_tree(wanted)?;
        theirs.commit(Some("HEAD"), &who, &who, "The state that work starts from\n", &found, &[])?;
        let mut index = theirs.index()?;
        index.read_tree(&found)?;
        index.write()?;
        Ok(())
    }
}

fn write_tree(repo: &Repository, tree: &Tree<'_>, to: &Path) -> Result<(), Error> {
    fs::create_dir(to).map_err(Error::io("make a directory of the tree"))?;
    for entry in tree {
        let path = to.join(OsStr::from_bytes(entry.name_bytes()));
        match entry.filemode() {
            0o040_000 => write_tree(repo, &repo.find_tree(entry.id())?, &path)?,
            0o120_000 => {
                let target = repo.find_blob(entry.id())?;
                symlink(OsStr::from_bytes(target.content()), &path).map_err(Error::io("make a link of the tree"))?;
            }
            0o160_000 => fs::create_dir(&path).map_err(Error::io("make a directory of the tree"))?,
            mode => write_file(repo.find_blob(entry.id())?.content(), &path, mode == 0o100_755)?,
        }
    }
    Ok(())
}

fn write_file(content: &[u8], path: &Path, is_executable: bool) -> Result<(), Error> {
    let mode = if is_executable { 0o755 } else { 0o644 };
    let mut options = OpenOptions::new();
    // A new file or none: what is there already, a link above all, is never written through.
    let made: Result<File, _> = options.write(true).create_new(true).mode(mode).open(path);
    made.and_then(|mut file| file.write_all(content)).map_err(Error::io("write a file of the tree"))
}

fn copy_tree(from: &Repository, to: &Repository, id: git2::Oid) -> Result<(), Error> {
    let (source, target) = (from.odb()?, to.odb()?);
    let mut waiting = vec![id];
    while let Some(id) = waiting.pop() {
        let object = source.read(id)?;
        target.write(object.kind(), object.data())?;
        if object.kind() == git2::ObjectType::Tree {
            let entries = from.find_tree(id)?;
            waiting.extend(entries.iter().filter(|e| e.filemode() != 0o160_000).map(|e| e.id()));
        }
    }
    Ok(())
}
