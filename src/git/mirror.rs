//! The mirror: one bare copy a repository, fetched and not cloned again.

use std::path::{Path, PathBuf};

use git2::{ErrorClass, ErrorCode, FetchOptions, Repository, RepositoryInitOptions, RepositoryOpenFlags};

use super::{BranchName, Error, Remote, commit_id, tree_id};
use crate::cycle::id::{CommitId, RepositoryId, TreeId};

/// The commit that a run is frozen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// The commit.
    pub commit: CommitId,
    /// Its tree.
    pub tree: TreeId,
}

/// A bare mirror of a remote's branches.
pub struct Mirror {
    repo: Repository,
    path: PathBuf,
    remote: Remote,
}

/// Where the mirror of a repository is.
#[must_use]
pub fn mirror_path(root: &Path, repository: RepositoryId) -> PathBuf {
    root.join(format!("{repository}.git"))
}

/// Opens a repository of ours: exactly there, and nothing that lies above it.
pub(super) fn open(path: &Path) -> Result<Repository, Error> {
    let flags = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::BARE | RepositoryOpenFlags::NO_DOTGIT;
    Ok(Repository::open_ext(path, flags, std::iter::empty::<&Path>())?)
}

/// Makes a bare repository of ours.
pub(super) fn init(path: &Path) -> Result<Repository, Error> {
    let mut options = RepositoryInitOptions::new();
    options.bare(true).external_template(false).mkpath(true);
    Ok(Repository::init_opts(path, &options)?)
}

impl Mirror {
    /// Opens or makes the mirror of a repository.
    ///
    /// # Errors
    /// The directory cannot be made or read.
    pub fn open(root: &Path, repository: RepositoryId, remote: &Remote) -> Result<Self, Error> {
        let path = mirror_path(root, repository);
        let repo = if path.join("HEAD").exists() { open(&path)? } else { init(&path)? };
        Ok(Self { repo, path, remote: remote.clone() })
    }

    pub(super) fn objects(&self) -> PathBuf {
        self.path.join("objects")
    }

    /// Fetches every branch and returns what `base` is now.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::Empty`], [`Error::ObjectFormat`] or [`Error::BaseMissing`].
    pub fn fetch(&self, base: &BranchName) -> Result<Base, Error> {
        self.check_format()?;
        let mut remote = self.repo.remote_anonymous(&self.remote.url())?;
        let mut options = FetchOptions::new();
        options.prune(git2::FetchPrune::On).download_tags(git2::AutotagOption::None);
        let refs = ["+refs/heads/*:refs/heads/*"];
        remote.fetch(&refs, Some(&mut options), None).map_err(|e| self.unreachable(e))?;
        drop(remote);
        let branches = self.branches()?;
        if branches.is_empty() {
            return Err(Error::Empty { remote: self.remote.to_string() });
        }
        self.base(base, &branches)
    }

    fn base(&self, base: &BranchName, branches: &[String]) -> Result<Base, Error> {
        let missing = || {
            let existing = branches.iter().take(10).cloned().collect::<Vec<_>>().join(", ");
            Error::BaseMissing { branch: base.to_string(), existing }
        };
        let reference = self.repo.find_reference(&base.reference()).map_err(|_| missing())?;
        let commit = reference.peel_to_commit()?;
        Ok(Base { commit: commit_id(commit.id()), tree: tree_id(commit.tree_id()) })
    }

    /// libgit2 cannot read SHA-256 repositories, and says so in words that help nobody.
    fn check_format(&self) -> Result<(), Error> {
        let config = [self.remote.path().join("config"), self.remote.path().join(".git/config")];
        let text = config.iter().find_map(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        let is_sha256 = text.lines().any(|l| l.trim().to_ascii_lowercase().replace(' ', "") == "objectformat=sha256");
        if is_sha256 { Err(Error::ObjectFormat { remote: self.remote.to_string() }) } else { Ok(()) }
    }

    fn unreachable(&self, source: git2::Error) -> Error {
        let remote = self.remote.to_string();
        match (source.class(), source.code()) {
            (ErrorClass::Repository, ErrorCode::GenericError) if source.message().contains("object format") => {
                Error::ObjectFormat { remote }
            }
            _ => Error::Unreachable { remote, source },
        }
    }

    fn branches(&self) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        for reference in self.repo.references_glob("refs/heads/*")? {
            let reference = reference?;
            let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
            names.extend(name.strip_prefix("refs/heads/").map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    /// The names of the remote's branches as of the last fetch.
    ///
    /// # Errors
    /// The mirror cannot be read.
    pub fn remote_branches(&self) -> Result<Vec<String>, Error> {
        self.branches()
    }
}
