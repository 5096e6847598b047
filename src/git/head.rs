//! What a remote offers by itself: the branch that its HEAD names, and the files there. Only read, never fetched.

use super::{Error, Remote, RunRepo, open, tree_id};
use crate::cycle::id::TreeId;

/// The branch that a remote's HEAD names.
#[derive(Debug)]
pub struct Head {
    /// Its name, as people read it.
    pub branch: String,
    /// The tree at its end.
    pub tree: TreeId,
    repo: RunRepo,
}

impl Remote {
    /// Looks at the remote's HEAD where it lies.
    ///
    /// # Errors
    /// [`Error::Unreachable`] if there is no repository, [`Error::Empty`] if that branch has no commit yet.
    pub fn head(&self) -> Result<Head, Error> {
        let repo = open::theirs(self)?;
        let head = repo.find_reference("HEAD")?;
        let name = head.symbolic_target_bytes().unwrap_or_default();
        let name = String::from_utf8_lossy(name.strip_prefix(b"refs/heads/").unwrap_or(name)).into_owned();
        let commit = head.peel_to_commit().map_err(|_| Error::Empty { remote: self.to_string() })?;
        Ok(Head { branch: name, tree: tree_id(commit.tree_id()), repo: RunRepo::at(repo.path().to_owned()) })
    }
}

impl Head {
    /// Every regular file there, by its path.
    ///
    /// # Errors
    /// The repository cannot be read.
    pub fn regular_files(&self) -> Result<Vec<Vec<u8>>, Error> {
        self.repo.regular_files(&self.tree)
    }

    /// The first `max` bytes of a regular file there; `None` if there is none.
    #[must_use]
    pub fn file(&self, path: &[u8], max: usize) -> Option<Vec<u8>> {
        self.repo.file(&self.tree, path, max).ok().flatten()
    }
}
