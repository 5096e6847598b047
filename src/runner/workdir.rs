//! A run's repository and its trees: checked out for a step, imported after it, thrown away.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{Glob, GlobSet, GlobSetBuilder};
use tracing::warn;

use super::ports::{Ports, Task, blocking, told};
use crate::clock;
use crate::cycle::id::{CommitId, TreeId};
use crate::cycle::policy::Role;
use crate::cycle::run::Run;
use crate::cycle::step::{Change, LeftOut};
use crate::forge::inert;
use crate::git::{self, CommitInfo, DiffLimits, ImportLimits, RunRepo};
use crate::run_repository;
use crate::store::{Pack, Repository};

/// The most of one step that is kept in the database, in bytes.
const LARGEST_PACK: usize = 64 << 20;

/// What goes wrong between a step and its tree. Never an agent's doing: what an agent leaves is imported
/// or reported as left out.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("the run's repository failed")]
    Git(#[from] git::Error),
    #[error("the tree could not be handed over or taken back")]
    Sandbox(#[from] crate::sandbox::Error),
    #[error("the tree's directory could not be made")]
    Io(#[from] std::io::Error),
    #[error("the store failed")]
    Store(#[from] crate::store::Error),
}

impl From<run_repository::Error> for Error {
    fn from(error: run_repository::Error) -> Self {
        match error {
            run_repository::Error::Git(e) => Self::Git(e),
            run_repository::Error::Store(e) => Self::Store(e),
        }
    }
}

/// Whether a checkout has a `.git` for the agent's convenience.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WithGit {
    Yes,
    No,
}

/// A checkout that is removed when it is let go of.
#[derive(Debug)]
pub(super) struct Tree {
    backend: Option<Arc<dyn crate::sandbox::Backend>>,
    path: PathBuf,
}

impl std::fmt::Debug for dyn crate::sandbox::Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Backend")
    }
}

impl Tree {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let (Some(backend), path) = (self.backend.take(), std::mem::take(&mut self.path)) else { return };
        // Removing may take long; nobody waits for it, and what a crash leaves is removed with the run.
        tokio::task::spawn_blocking(move || {
            // The run's end removes all of its trees once more, and tells what stays.
            if let Err(e) = backend.remove(&path) {
                tracing::debug!(path = %path.display(), error = told(&e), "a tree is removed with its run");
            }
        });
    }
}

/// Opens the run's repository.
pub(super) async fn repository(ports: &Ports, run: &Run) -> Result<(RunRepo, Repository), Error> {
    let of = ports.store.get_run_row(run.id).await?.repository;
    let repo = ports.directories.place.open(&ports.store, run, &of).await?;
    Ok((repo, of))
}

/// Checks a tree out into a fresh directory named after its use.
pub(super) async fn checkout(
    ports: &Ports,
    task: &Task<'_>,
    (tree, name): (&TreeId, &str),
    with_git: WithGit,
) -> Result<Tree, Error> {
    let (repo, _) = repository(ports, task.run).await?;
    let path = ports.of_run(task.run.id).join("trees").join(format!("{:04}-{name}", task.seq));
    let (backend, to, tree) = (Arc::clone(&ports.backend), path.clone(), tree.clone());
    blocking(move || -> Result<(), Error> {
        backend.remove(&to)?;
        std::fs::create_dir_all(to.parent().unwrap_or(&to))?;
        match with_git {
            WithGit::Yes => repo.checkout_with_git(&tree, &to)?,
            WithGit::No => repo.checkout(&tree, &to)?,
        }
        Ok(())
    })
    .await?;
    Ok(Tree { backend: Some(Arc::clone(&ports.backend)), path })
}

/// Imports what a writing step left and commits it.
pub(super) async fn import(ports: &Ports, task: &Task<'_>, tree: &Tree) -> Result<Change, Error> {
    let (repo, _) = repository(ports, task.run).await?;
    let (backend, path) = (Arc::clone(&ports.backend), tree.path().to_owned());
    let preparation = task.run.preparation.clone();
    let (base_tree, base) = preparation.as_ref().map(|p| (p.tree.clone(), p.base.clone())).ok_or(git::Error::NoBase)?;
    let info = commit_info(task, parent(task.run, &base));
    let globs = protected(&preparation.map(|p| p.rules.protected).unwrap_or_default());
    let (change, pack) = blocking(move || -> Result<(Change, Pack), Error> {
        backend.take_back(&path)?;
        let imported = repo.import(&path, &base_tree, &ImportLimits::default())?;
        let commit = repo.commit(&CommitInfo { tree: imported.tree.clone(), ..info })?;
        let diff = repo.diff(&base_tree, &imported.tree, &DiffLimits::default())?;
        let left_out =
            imported.left_out.iter().map(|l| LeftOut { path: l.path.to_string(), reason: l.reason.to_string() });
        let change = Change {
            tree: imported.tree,
            commit: commit.clone(),
            left_out: left_out.collect(),
            protected: diff.paths().filter(|p| globs.is_match(p)).collect(),
            files: diff.files_changed(),
            added: diff.added(),
            removed: diff.removed(),
        };
        Ok((change, Pack { bytes: repo.pack(&commit)?, commit }))
    })
    .await?;
    keep(ports, task, pack).await?;
    Ok(change)
}

/// What a step made outlives this machine, unless it is too much for a database.
async fn keep(ports: &Ports, task: &Task<'_>, pack: Pack) -> Result<(), Error> {
    if pack.bytes.len() > LARGEST_PACK {
        warn!(run.id = %task.run.id, bytes = pack.bytes.len(), "only this node can go on with run {}", task.run.id);
        return Ok(());
    }
    Ok(ports.store.keep_pack(task.lease, task.seq, &pack).await?)
}

/// Each writing step's commit follows the one before.
fn parent(run: &Run, base: &CommitId) -> CommitId {
    run.passes.iter().rev().find_map(|p| p.change()).map_or_else(|| base.clone(), |c| c.commit.clone())
}

fn commit_info(task: &Task<'_>, parent: CommitId) -> CommitInfo {
    let (run, pass) = (task.run, task.step.pass().unwrap_or(1));
    CommitInfo {
        tree: run.base_tree().cloned().expect("a writing step follows prepare"),
        parent,
        // A commit that reaches a forge must neither close another issue nor call anybody.
        subject: inert::defuse(&inert::one_line(&run.issue.title)),
        run: run.id,
        pass,
        role: Role::Implementer.to_string(),
        at: clock::now().seconds(),
    }
}

fn protected(globs: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in globs.iter().filter_map(|g| Glob::new(g).ok()) {
        set.add(glob);
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}
