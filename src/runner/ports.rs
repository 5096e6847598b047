//! What the runner acts through, and what one step gets to know.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cycle::id::{Lease, RunId};
use crate::cycle::run::Run;
use crate::cycle::step::{Allowance, Step, StepResult};
use crate::gateway::Gateway;
use crate::run_repository::Place;
use crate::sandbox::{Backend, Limits};
use crate::store::Store;

/// Where things are kept on this machine.
#[derive(Debug, Clone)]
pub struct Directories {
    /// Mirrors, and what belongs to one run: its repository, its trees, its logs.
    pub place: Place,
    /// The gateway's sockets.
    pub sockets: PathBuf,
}

/// The ports, and the few settings that steps need.
pub struct Ports {
    /// The database.
    pub store: Store,
    /// What makes sandboxes.
    pub backend: Arc<dyn Backend>,
    /// The way to the models.
    pub gateway: Gateway,
    /// Where the gateway is reached.
    pub socket: PathBuf,
    /// Where things are kept.
    pub directories: Directories,
    /// What one sandbox may use.
    pub limits: Limits,
    /// How long a lease holds without being renewed.
    pub term: Duration,
    /// Changes whenever a run has moved.
    pub moved: watch::Sender<u64>,
    /// Everything that runs beside a step and must end before the process does.
    pub tasks: TaskTracker,
}

impl std::fmt::Debug for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ports").field("directories", &self.directories).finish_non_exhaustive()
    }
}

/// One step to perform.
#[derive(Debug)]
pub(super) struct Task<'a> {
    /// The right to write of it.
    pub(super) lease: Lease,
    /// The run, with the step in flight.
    pub(super) run: &'a Run,
    /// Which step.
    pub(super) step: Step,
    /// What it may use.
    pub(super) allowance: Allowance,
    /// The number of the fact that began it.
    pub(super) seq: u64,
    /// Ends it at once.
    pub(super) stop: CancellationToken,
    /// When it began.
    pub(super) began: crate::clock::Stopwatch,
}

impl Task<'_> {
    /// What is left of the step's time.
    pub(super) fn left(&self) -> Duration {
        self.allowance.clock.saturating_sub(self.began.used())
    }
}

impl Ports {
    /// The run's own directory.
    pub(super) fn of_run(&self, run: RunId) -> PathBuf {
        self.directories.place.of_run(run)
    }

    /// Removes the trees of a run that is over; its repository and logs stay.
    pub(super) async fn forget(&self, run: RunId) {
        let (backend, trees) = (Arc::clone(&self.backend), self.of_run(run).join("trees"));
        if let Err(e) = blocking(move || backend.remove(&trees)).await {
            tracing::warn!(run.id = %run, error = told(&e), "the trees of run {run} stay on disk");
        }
    }
}

/// Runs what blocks where blocking is allowed.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(value) => value,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}

/// A step that never really ran: it is tried again and no pass is charged.
pub(super) fn not_run(cause: impl Into<String>, wait: Duration) -> StepResult {
    let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    StepResult::NotRun { cause: cause.into(), wait_ms }
}

/// An error and everything behind it, on one line.
pub(super) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
