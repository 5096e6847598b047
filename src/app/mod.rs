//! The use-cases: what people and scripts ask of the service.

mod delegate;
pub mod story;
mod survey;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

pub use delegate::{Delegation, Refused};
pub use story::Story;
pub use survey::{Found, Surveyed};

use crate::cycle::id::RunId;
use crate::cycle::policy::AgentChoice;
use crate::cycle::run::Run;
use crate::gateway::prices::Prices;
use crate::hidden::reveal;
use crate::run_repository::Place;
use crate::store::{self, Repository, Store};
use crate::{clock, git};

/// How often a run is looked at that somebody waits for.
const LOOK: Duration = Duration::from_secs(2);

/// The application: the store, the runner, and what was set up.
#[derive(Debug)]
pub struct App {
    /// The database.
    pub store: Store,
    signals: Signals,
    agents: Agents,
    offers: Offers,
}

/// How the application and whoever performs runs hear of each other; in one process.
#[derive(Debug, Clone)]
pub struct Signals {
    /// Told that there may be a run to claim.
    pub wake: Arc<Notify>,
    /// Changes whenever a run has moved.
    pub moved: watch::Receiver<u64>,
}

/// What can be asked for on this machine, and where it keeps what belongs to runs.
#[derive(Debug, Clone)]
pub struct Offers {
    /// What models cost.
    pub prices: Prices,
    /// The providers that are set up.
    pub providers: Vec<&'static str>,
    /// The data directory that this service has for itself.
    pub data: PathBuf,
    /// Where the repositories of runs are.
    pub place: Place,
}

/// Who performs the roles unless a run says otherwise.
#[derive(Debug, Clone)]
pub struct Agents {
    /// Who writes.
    pub implementer: AgentChoice,
    /// Who reads.
    pub reviewer: AgentChoice,
}

/// A repository that cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// Its address cannot be used.
    #[error(transparent)]
    Address(#[from] git::Error),
    /// Its name cannot be used.
    #[error("a repository's name has 1 to 100 characters and none that cannot be seen")]
    Name,
    /// The store's.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl App {
    /// The application over a store.
    #[must_use]
    pub fn new(store: Store, signals: Signals, agents: Agents, offers: Offers) -> Self {
        Self { store, signals, agents, offers }
    }

    /// The data directory.
    #[must_use]
    pub fn data(&self) -> &Path {
        &self.offers.data
    }

    /// Adds a repository.
    ///
    /// # Errors
    /// See [`AddError`].
    pub async fn add_repository(&self, name: &str, remote: &str) -> Result<Repository, AddError> {
        add_repository(&self.store, name, remote).await
    }
}

impl App {
    /// Waits until nothing will happen to the run any more.
    ///
    /// # Errors
    /// The store's.
    pub async fn wait_until_over(&self, run: RunId) -> Result<Run, store::Error> {
        let mut moved = self.signals.moved.clone();
        loop {
            moved.mark_unchanged();
            let now = self.store.load(run).await?;
            if now.is_over() {
                return Ok(now);
            }
            // News can be lost; then a look finds out.
            match timeout(LOOK, moved.changed()).await {
                Ok(Ok(())) | Err(_) => {}
                Ok(Err(_)) => return Ok(now),
            }
        }
    }
}

/// Makes a bare repository at `path` whose branch `main` holds these files.
///
/// # Errors
/// The directory cannot be written.
pub fn make_repository(path: &Path, files: &[(&str, &str)]) -> Result<(), git::Error> {
    git::bare_with(path, files, clock::now().seconds()).map(|_| ())
}

/// Whether the repository at `path` has a branch of this name.
#[must_use]
pub fn has_branch(path: &Path, branch: &str) -> bool {
    git::BranchName::parse(branch).and_then(|name| git::branch_tree(path, &name)).is_ok()
}

/// Adds a repository to a store: its address is parsed, and the repository looked for, before it is kept.
///
/// # Errors
/// See [`AddError`].
pub async fn add_repository(store: &Store, name: &str, remote: &str) -> Result<Repository, AddError> {
    let name = name.trim();
    let is_hiding = name.contains(char::is_control) || matches!(reveal(name), Cow::Owned(_));
    if name.is_empty() || name.chars().count() > 100 || is_hiding {
        return Err(AddError::Name);
    }
    let remote = git::Remote::parse(remote)?;
    let asked = remote.clone();
    match spawn_blocking(move || asked.reach()).await {
        Ok(reached) => reached?,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
    Ok(store.add_repository(name, &remote.to_string(), clock::now()).await?)
}
