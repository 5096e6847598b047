//! Writing a tree to a directory: our own walk, no filter, no conversion of line ends, no link followed.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use git2::{Config, Odb, Oid, Repository, RepositoryInitOptions, Signature, Time};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::repo::{MAIL, NAME};
use super::transfer::Transfer;
use super::tree::{self, Entry, Kind, TreeLimits};
use super::{Error, RunRepo, TreePath, entry_name, oid};
use crate::clock;
use crate::cycle::id::TreeId;

/// The branch that an agent finds itself on.
const BRANCH: &str = "work";

impl RunRepo {
    /// Writes the tree to `to`, which must not be there. Submodules become empty directories, and the pointers of large
    /// file storage stay what they are. Blocks.
    ///
    /// # Errors
    /// [`Error::TooLarge`] or [`Error::BadTree`] before anything is written; or the tree is not there, or the directory
    /// cannot be written: then what was written so far stays.
    pub fn checkout(&self, tree: &TreeId, to: &Path) -> Result<(), Error> {
        let (repo, tree) = (self.git()?, oid(tree.as_str())?);
        tree::measure(&repo, tree, &TreeLimits::roomy())?;
        let writing = Writing { odb: repo.odb()?, repo: &repo };
        rustix::fs::mkdir(to, Mode::from_raw_mode(0o755)).map_err(Error::errno("make the directory of the tree"))?;
        let top = rustix::fs::openat(CWD, to, DIRECTORY, Mode::empty());
        writing.directory(&top.map_err(Error::errno("open the directory of the tree"))?, tree, &TreePath::default())
    }

    /// As [`RunRepo::checkout`], with a `.git` for the agent's convenience: one commit that holds the tree, whole in
    /// itself, so that `git status`, `git diff` and `git log` work. The service never opens it afterwards. Blocks.
    ///
    /// # Errors
    /// As [`RunRepo::checkout`].
    pub fn checkout_with_git(&self, tree: &TreeId, to: &Path) -> Result<(), Error> {
        self.checkout(tree, to)?;
        let (ours, tree) = (self.git()?, oid(tree.as_str())?);
        let mut options = RepositoryInitOptions::new();
        // Nothing that was written can be taken for a `.git`: no tree that holds one is checked out.
        options.no_reinit(true).external_template(false).initial_head(BRANCH);
        let theirs = Repository::init_opts(to, &options)?;
        theirs.set_config(&settings(&to.join(".git/config"))?)?;
        let mut transfer = Transfer::new(&ours)?;
        transfer.tree(tree, None, &|_| false)?;
        transfer.finish(&theirs)?;
        let who = Signature::new(NAME, MAIL, &Time::new(clock::now().seconds(), 0))?;
        let tree = theirs.find_tree(tree)?;
        theirs.commit(Some("HEAD"), &who, &who, "The state that work starts from\n", &tree, &[])?;
        let mut index = theirs.index()?;
        index.read_tree(&tree)?;
        Ok(index.write()?)
    }
}

/// An agent may commit as it likes; nobody reads it.
fn settings(file: &Path) -> Result<Config, Error> {
    let mut config = Config::open(file)?;
    for (name, value) in [("user.name", "agent"), ("user.email", "agent@localhost"), ("gc.auto", "0")] {
        config.set_str(name, value)?;
    }
    Ok(config)
}

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A new file or none: what is there already, a link above all, is never written through.
const NEW_FILE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

struct Writing<'a> {
    repo: &'a Repository,
    odb: Odb<'a>,
}

impl Writing<'_> {
    fn directory(&self, at: &OwnedFd, tree: Oid, path: &TreePath) -> Result<(), Error> {
        for entry in tree::entries(self.repo, tree)? {
            self.entry(at.as_fd(), &entry, &path.join(&entry.name))?;
        }
        Ok(())
    }

    fn entry(&self, at: BorrowedFd<'_>, entry: &Entry, path: &TreePath) -> Result<(), Error> {
        // The tree was measured, and with that its names were checked; nothing is written by a name that was not.
        if entry_name::check(&entry.name).is_err() {
            return Err(Error::BadTree { path: path.clone(), why: "its name" });
        }
        match entry.kind() {
            Some(Kind::Directory) => {
                make_directory(at, &entry.name)?;
                let inside = rustix::fs::openat(at, &entry.name[..], DIRECTORY, Mode::empty());
                self.directory(&inside.map_err(Error::errno("open a directory of the tree"))?, entry.id, path)
            }
            Some(Kind::Submodule) => make_directory(at, &entry.name),
            Some(Kind::Link) => match rustix::fs::symlinkat(self.odb.read(entry.id)?.data(), at, &entry.name[..]) {
                Err(Errno::NOENT | Errno::INVAL | Errno::NAMETOOLONG) => {
                    Err(Error::BadTree { path: path.clone(), why: "it is a link to nothing that can be a path" })
                }
                made => made.map_err(Error::errno("make a link of the tree")),
            },
            Some(Kind::File) => self.file(at, entry, 0o644),
            Some(Kind::Executable) => self.file(at, entry, 0o755),
            None => Err(Error::BadTree { path: path.clone(), why: "it is of a kind that git does not have" }),
        }
    }

    fn file(&self, at: BorrowedFd<'_>, entry: &Entry, mode: u32) -> Result<(), Error> {
        let made = rustix::fs::openat(at, &entry.name[..], NEW_FILE, Mode::from_raw_mode(mode));
        let mut file = File::from(made.map_err(Error::errno("make a file of the tree"))?);
        file.write_all(self.odb.read(entry.id)?.data()).map_err(Error::io("write a file of the tree"))
    }
}

fn make_directory(at: BorrowedFd<'_>, name: &[u8]) -> Result<(), Error> {
    rustix::fs::mkdirat(at, name, Mode::from_raw_mode(0o755)).map_err(Error::errno("make a directory of the tree"))
}
