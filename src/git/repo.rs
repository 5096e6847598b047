//! A run's own repository: bare, the service's, with the mirror's objects as its alternate.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository, Signature, Time};

use super::mirror::cut_history;
use super::transfer::Transfer;
use super::{Error, Mirror, commit_id, oid, open};
use crate::cycle::id::{CommitId, RunId, TreeId};
use crate::hidden::reveal;

/// Who makes our commits. What an agent calls itself goes nowhere.
pub(super) const NAME: &str = "Countersign";
/// Nobody's address: no forge takes it for an account's.
pub(super) const MAIL: &str = "countersign@localhost";
/// The longest first line of a commit, in characters.
const SUBJECT: usize = 200;
/// Where a run's repository remembers what the run started from.
pub(super) const BASE: &str = "refs/base";

/// What a commit of ours says.
#[derive(Debug, Clone)]
pub struct CommitInfo {
    /// Its tree.
    pub tree: TreeId,
    /// The commit before it.
    pub parent: CommitId,
    /// The first line, cut at 200 characters; line breaks and characters that cannot be seen are made plain.
    pub subject: String,
    /// The run.
    pub run: RunId,
    /// The pass.
    pub pass: u8,
    /// The role that wrote it.
    pub role: String,
    /// Seconds since 1970.
    pub at: i64,
}

/// A run's repository. Opened anew for each use: it is cheap, and threads share nothing. All its functions block.
#[derive(Debug, Clone)]
pub struct RunRepo {
    path: PathBuf,
}

impl RunRepo {
    /// Makes the run's repository below `directory`; made before, it is opened, and the run starts from `base` from now
    /// on. The base's objects stay in the mirror.
    ///
    /// # Errors
    /// The directory cannot be written, or the mirror does not have the base.
    pub fn create(directory: &Path, run: RunId, mirror: &Mirror, base: &CommitId) -> Result<Self, Error> {
        let this = Self { path: directory.join("repository.git") };
        drop(open::ours_or_new(&this.path)?);
        this.join(mirror.path())?;
        let repo = this.git()?;
        let base = repo.find_commit(oid(base.as_str())?)?;
        mirror.pin(run, base.id())?;
        if base.parent_count() > 0 {
            cut_history(&this.path, base.id())?;
        }
        repo.reference(BASE, base.id(), true, "the run starts here")?;
        Ok(this)
    }

    /// Opens the run's repository, which [`RunRepo::create`] made; `mirror` may have moved meanwhile.
    ///
    /// # Errors
    /// It is not there, or the mirror is not.
    pub fn open(directory: &Path, _run: RunId, mirror: &Path) -> Result<Self, Error> {
        let this = Self { path: directory.join("repository.git") };
        this.git()?;
        this.join(mirror)?;
        Ok(this)
    }

    /// Names the mirror's objects as the place to look for what is not here.
    fn join(&self, mirror: &Path) -> Result<(), Error> {
        let doing = "join the run's repository to the mirror";
        let objects = mirror.join("objects").canonicalize().map_err(Error::io(doing))?;
        let line = [objects.as_os_str().as_bytes(), b"\n"].concat();
        let file = self.path.join("objects/info/alternates");
        if std::fs::read(&file).is_ok_and(|known| known == line) {
            return Ok(());
        }
        std::fs::create_dir_all(self.path.join("objects/info")).map_err(Error::io(doing))?;
        open::replace(&file, &line)
    }

    /// One that is read only: it may be anybody's.
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    pub(super) fn git(&self) -> Result<Repository, Error> {
        open::ours(&self.path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Commits a tree under the service's name. What was imported and committed is on the disk when this returns. The
    /// same information makes the same commit.
    ///
    /// # Errors
    /// The tree or the parent is not there.
    pub fn commit(&self, info: &CommitInfo) -> Result<CommitId, Error> {
        let repo = self.git()?;
        let who = Signature::new(NAME, MAIL, &Time::new(info.at, 0))?;
        let (tree, parent) = (repo.find_tree(oid(info.tree.as_str())?)?, repo.find_commit(oid(info.parent.as_str())?)?);
        let commit = repo.commit(None, &who, &who, &message(info), &tree, &[&parent])?;
        keep(&repo, commit)?;
        open::settle(&self.path)?;
        Ok(commit_id(commit))
    }
}

impl RunRepo {
    /// A commit of the run's, with all that the commit before it has not, as a git pack.
    ///
    /// # Errors
    /// The commit is not there.
    pub fn pack(&self, commit: &CommitId) -> Result<Vec<u8>, Error> {
        let repo = self.git()?;
        let commit = repo.find_commit(oid(commit.as_str())?)?;
        let mut transfer = Transfer::new(&repo)?;
        transfer.tree(commit.tree_id(), Some(commit.parent(0)?.tree_id()), &|_| false)?;
        transfer.commit(commit.id())?;
        transfer.bytes()
    }

    /// Takes in a commit that [`RunRepo::pack`] made a pack of, perhaps on another machine.
    ///
    /// # Errors
    /// It is no pack, or the commit is not in it.
    pub fn unpack(&self, commit: &CommitId, pack: &[u8]) -> Result<(), Error> {
        let repo = self.git()?;
        let odb = repo.odb()?;
        let mut writer = odb.packwriter()?;
        writer.write_all(pack).map_err(Error::io("take in what a step made"))?;
        writer.commit()?;
        keep(&repo, repo.find_commit(oid(commit.as_str())?)?.id())?;
        open::settle(&self.path)
    }

    /// Whether a commit is here, with or without all that it needs.
    #[must_use]
    pub fn has(&self, commit: &CommitId) -> bool {
        let found = || Ok::<_, Error>(self.git()?.find_commit(oid(commit.as_str())?)?.id());
        found().is_ok()
    }
}

/// Nobody who tidies up the repository shall take the commit for rubbish.
fn keep(repo: &Repository, commit: Oid) -> Result<(), Error> {
    repo.reference(&format!("refs/kept/{commit}"), commit, true, "a commit of the run")?;
    Ok(())
}

fn message(info: &CommitInfo) -> String {
    let CommitInfo { run, pass, .. } = info;
    let subject = match one_line(&info.subject) {
        empty if empty.is_empty() => format!("Work of run {run}"),
        subject => subject,
    };
    let role = one_line(&info.role);
    format!("{subject}\n\nCountersign-Run: {run}\nCountersign-Pass: {pass}\nCountersign-Role: {role}\n")
}

fn one_line(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let shown: String = reveal(&spaced).chars().take(SUBJECT).collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}
