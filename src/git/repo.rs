//! A run's own repository: bare, the service's, with the mirror's objects as its alternate.

use std::path::{Path, PathBuf};

use git2::{ObjectType, Repository, Signature, Time, TreeWalkMode, TreeWalkResult};

use super::mirror::{init, open};
use super::{Error, Mirror, commit_id, oid};
use crate::cycle::id::{CommitId, RunId, TreeId};

/// Who makes our commits. What an agent calls itself goes nowhere.
const NAME: &str = "Countersign";
const MAIL: &str = "countersign@localhost";
/// More entries than this are not listed.
const MOST_FILES: usize = 1_000_000;

/// What a commit of ours says.
#[derive(Debug, Clone)]
pub struct CommitInfo {
    /// Its tree.
    pub tree: TreeId,
    /// The commit before it.
    pub parent: CommitId,
    /// The first line, cut at 200 characters; line breaks and what could be a trailer in it are made plain.
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

/// A run's repository. Opened anew for each use: it is cheap, and nothing is shared between threads.
#[derive(Debug, Clone)]
pub struct RunRepo {
    path: PathBuf,
}

impl RunRepo {
    /// Makes the run's repository below `directory`; made before, it is opened.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn create(directory: &Path, _run: RunId, mirror: &Mirror, base: &CommitId) -> Result<Self, Error> {
        let path = directory.join("repository.git");
        let repo = if path.join("HEAD").exists() { open(&path)? } else { init(&path)? };
        let alternates = path.join("objects/info/alternates");
        std::fs::create_dir_all(path.join("objects/info")).map_err(Error::io("make the run's repository"))?;
        let line = format!("{}\n", absolute(&mirror.objects())?.display());
        std::fs::write(alternates, line).map_err(Error::io("join the run's repository to the mirror"))?;
        drop(repo);
        let this = Self { path };
        // Keeps the base alive in the mirror's sight, and proves that the alternate works.
        this.git()?.find_commit(oid(base.as_str())?)?;
        Ok(this)
    }

    /// Opens the run's repository; [`RunRepo::create`] made it.
    ///
    /// # Errors
    /// It is not there.
    pub fn open(directory: &Path, _run: RunId, _mirror: &Path) -> Result<Self, Error> {
        let this = Self { path: directory.join("repository.git") };
        this.git()?;
        Ok(this)
    }

    /// One that is read only: it may be anybody's.
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    pub(super) fn git(&self) -> Result<Repository, Error> {
        open(&self.path)
    }

    /// Commits a tree under the service's name.
    ///
    /// # Errors
    /// The tree or the parent is not there.
    pub fn commit(&self, info: &CommitInfo) -> Result<CommitId, Error> {
        let repo = self.git()?;
        let who = Signature::new(NAME, MAIL, &Time::new(info.at, 0))?;
        let (tree, parent) = (repo.find_tree(oid(info.tree.as_str())?)?, repo.find_commit(oid(info.parent.as_str())?)?);
        Ok(commit_id(repo.commit(None, &who, &who, &message(info), &tree, &[&parent])?))
    }

    /// Every regular file of a tree, by its path.
    ///
    /// # Errors
    /// The tree is not there.
    pub fn regular_files(&self, tree: &TreeId) -> Result<Vec<Vec<u8>>, Error> {
        let repo = self.git()?;
        let mut paths = Vec::new();
        repo.find_tree(oid(tree.as_str())?)?.walk(TreeWalkMode::PreOrder, |root, entry| {
            if entry.kind() == Some(ObjectType::Blob) && entry.filemode() != 0o120_000 {
                paths.push([root.as_bytes(), entry.name_bytes()].concat());
            }
            if paths.len() < MOST_FILES { TreeWalkResult::Ok } else { TreeWalkResult::Abort }
        })?;
        Ok(paths)
    }

    /// The first `max` bytes of a regular file of a tree; `None` if there is none. No link is followed.
    ///
    /// # Errors
    /// The tree is not there.
    pub fn file(&self, tree: &TreeId, path: &[u8], max: usize) -> Result<Option<Vec<u8>>, Error> {
        let content = self.blob(tree, path)?;
        Ok(content.map(|mut content| {
            content.truncate(max);
            content
        }))
    }

    /// How many lines a regular file of a tree has; `None` if there is none.
    ///
    /// # Errors
    /// The tree is not there.
    pub fn line_count(&self, tree: &TreeId, path: &[u8]) -> Result<Option<usize>, Error> {
        let count = |content: Vec<u8>| {
            let ends = content.iter().filter(|b| **b == b'\n').count();
            ends + usize::from(content.last().is_some_and(|b| *b != b'\n'))
        };
        Ok(self.blob(tree, path)?.map(count))
    }

    fn blob(&self, tree: &TreeId, path: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let repo = self.git()?;
        let mut at = repo.find_tree(oid(tree.as_str())?)?;
        let mut parts = path.split(|b| *b == b'/').peekable();
        while let Some(part) = parts.next() {
            let found = at.iter().find(|e| e.name_bytes() == part).map(|e| (e.id(), e.filemode()));
            match (found, parts.peek()) {
                (Some((id, 0o040_000)), Some(_)) => at = repo.find_tree(id)?,
                (Some((id, 0o100_644 | 0o100_755)), None) => return Ok(Some(repo.find_blob(id)?.content().to_vec())),
                (Some(_) | None, _) => return Ok(None),
            }
        }
        Ok(None)
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    path.canonicalize().map_err(Error::io("find the mirror"))
}

fn message(info: &CommitInfo) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let subject: String = info.subject.chars().map(plain).take(200).collect();
    let CommitInfo { run, pass, role, .. } = info;
    format!("{}\n\nCountersign-Run: {run}\nCountersign-Pass: {pass}\nCountersign-Role: {role}\n", subject.trim())
}
