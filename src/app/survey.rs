//! What an issue could be delegated for: the repositories, each with its own branch and the checks that would run.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::App;
use crate::checks::Files;
use crate::checks::detect::{self, Detected};
use crate::cycle::checks::Check;
use crate::git::{self, Head, Remote};
use crate::store::{self, Repository};

/// A page waits no longer than this for a remote.
const PATIENCE: Duration = Duration::from_secs(3);

/// A repository as it stands now.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// Which one.
    pub repository: Repository,
    /// What was found; otherwise why nothing could be, as a sentence or the fragment of one.
    pub found: Result<Found, String>,
}

/// What a repository offers by itself.
#[derive(Debug, Clone)]
pub struct Found {
    /// The branch that its HEAD names.
    pub branch: String,
    /// The checks that a run from there would be held to; otherwise why no run could start, as a sentence.
    pub checks: Result<Vec<Check>, String>,
}

impl App {
    /// Looks at every repository, all at once.
    ///
    /// # Errors
    /// The store's. A repository that cannot be reached is no error.
    pub async fn survey(&self) -> Result<Vec<Surveyed>, store::Error> {
        let looks = self.store.list_repositories().await?.into_iter().map(|repository| async {
            let remote = repository.remote.clone();
            let found = match timeout(PATIENCE, spawn_blocking(move || look(&remote))).await {
                Ok(Ok(found)) => found.map_err(|e| e.to_string()),
                Ok(Err(_)) => Err("looking at the repository broke down".to_owned()),
                Err(_) => Err(format!("the repository did not answer within {} s", PATIENCE.as_secs())),
            };
            Surveyed { repository, found }
        });
        Ok(join_all(looks).await)
    }
}

fn look(remote: &str) -> Result<Found, git::Error> {
    let head = Remote::parse(remote)?.head()?;
    let detected = detected(&head)?;
    let checks = detected.and_then(|d| d.refusal().map_or(Ok(d.checks), Err));
    Ok(Found { branch: head.branch, checks })
}

fn detected(head: &Head) -> Result<Result<Detected, String>, git::Error> {
    let paths = head.regular_files()?;
    let read = |path: &[u8], max: usize| head.file(path, max);
    Ok(detect::detect(&Files { paths: &paths, read: &read }).map_err(|e| e.to_string()))
}
