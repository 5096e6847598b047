//! A run's repository on this machine: as it is, or put together again from the remote's base and what the store kept.

use std::path::PathBuf;

use tokio::task::spawn_blocking;

use crate::cycle::id::{CommitId, RunId};
use crate::cycle::run::Run;
use crate::git::{self, Mirror, Remote, RunRepo, mirror_path};
use crate::store::{self, Pack, Repository, Store};

/// Where a machine keeps repositories.
#[derive(Debug, Clone)]
pub struct Place {
    /// Bare mirrors, one a repository.
    pub mirrors: PathBuf,
    /// What belongs to one run.
    pub runs: PathBuf,
}

/// Why a run's repository cannot be used here.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It can neither be opened nor put together again.
    #[error("the run's repository failed")]
    Git(#[from] git::Error),
    /// The store's.
    #[error("the store failed")]
    Store(#[from] store::Error),
}

impl Place {
    /// The directory of a run.
    #[must_use]
    pub fn of_run(&self, run: RunId) -> PathBuf {
        self.runs.join(run.to_string())
    }

    /// Opens the repository of a prepared run. Where another node made the run's last commit, its base is fetched and
    /// what the steps made is taken from the store.
    ///
    /// # Errors
    /// See [`Error`]: the remote no longer has the base, for one.
    pub async fn open(&self, store: &Store, run: &Run, of: &Repository) -> Result<RunRepo, Error> {
        let preparation = run.preparation.as_ref().ok_or(git::Error::NoBase)?;
        let base = preparation.base.clone();
        let newest = run.passes.iter().rev().find_map(|p| p.change()).map_or(&base, |c| &c.commit).clone();
        let (directory, mirror, id) = (self.of_run(run.id), mirror_path(&self.mirrors, of.id), run.id);
        let here = blocking(move || RunRepo::open(&directory, id, &mirror).ok().filter(|repo| repo.has(&newest))).await;
        if let Some(repo) = here {
            return Ok(repo);
        }
        let packs = store.list_packs(run.id).await?;
        let (this, of) = (self.clone(), of.clone());
        Ok(blocking(move || this.put_together(id, &of, &base, &packs)).await?)
    }

    fn put_together(
        &self,
        run: RunId,
        of: &Repository,
        base: &CommitId,
        packs: &[Pack],
    ) -> Result<RunRepo, git::Error> {
        let mirror = Mirror::open(&self.mirrors, of.id, &Remote::parse(&of.remote)?)?;
        mirror.fetch_commit(base)?;
        let repo = RunRepo::create(&self.of_run(run), run, &mirror, base)?;
        for pack in packs.iter().filter(|pack| !repo.has(&pack.commit)) {
            repo.unpack(&pack.commit, &pack.bytes)?;
        }
        Ok(repo)
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(value) => value,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}
