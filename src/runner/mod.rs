//! The runner: claims runs, plans them, performs their steps and records what came of it. It has no rules.

mod baseline;
mod brief;
mod citations;
mod conversation;
mod deliver;
mod drive;
pub mod ledger;
mod ports;
mod prepare;
mod review;
mod transcript;
mod verify;
mod workdir;
mod write;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, info};

pub use ports::{Directories, Ports};

use crate::cycle::id::RunId;
use crate::store;

/// Performs runs in the background until it is stopped.
#[derive(Debug)]
pub struct Runner {
    ports: Arc<Ports>,
    slots: Arc<Semaphore>,
    /// Runs that a task of this process holds.
    held: Mutex<BTreeSet<RunId>>,
    wake: Arc<Notify>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Runner {
    /// A runner with this many slots; [`Runner::start`] sets it going.
    #[must_use]
    pub fn new(ports: Arc<Ports>, slots: usize) -> Arc<Self> {
        Arc::new(Self {
            ports,
            slots: Arc::new(Semaphore::new(slots)),
            held: Mutex::default(),
            wake: Arc::new(Notify::new()),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        })
    }

    /// Starts claiming: what an earlier process left unfinished first, then whatever its signals announce.
    pub fn start(self: &Arc<Self>) {
        let runner = Arc::clone(self);
        self.tasks.spawn(async move { runner.claim_until_stopped().await });
    }

    /// How others hear of runs that move, and say that there may be one to claim.
    #[must_use]
    pub fn signals(&self) -> (Arc<Notify>, watch::Receiver<u64>) {
        (Arc::clone(&self.wake), self.ports.moved.subscribe())
    }

    /// Stops claiming, ends the steps in flight and waits for them. What they had not finished is redone later.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    async fn claim_until_stopped(self: Arc<Self>) {
        loop {
            if let Err(e) = self.claim_all().await {
                error!(error = &e as &dyn std::error::Error, "the runs to perform could not be listed");
            }
            tokio::select! {
                () = self.wake.notified() => {}
                () = self.stop.cancelled() => return,
            }
        }
    }

    async fn claim_all(self: &Arc<Self>) -> Result<(), store::Error> {
        for run in self.ports.store.list_unfinished().await? {
            if !self.held.lock().expect("no holder panics").insert(run) {
                continue;
            }
            let runner = Arc::clone(self);
            self.tasks.spawn(async move { runner.hold(run).await });
        }
        Ok(())
    }

    async fn hold(&self, run: RunId) {
        let slot = tokio::select! {
            slot = self.slots.acquire() => slot,
            () = self.stop.cancelled() => return,
        };
        info!(run.id = %run, "holding run {run}");
        if let Err(e) = drive::drive(&self.ports, run, &self.stop).await {
            error!(run.id = %run, error = &e as &dyn std::error::Error, "run {run} cannot go on in this process");
        }
        drop(slot);
        self.held.lock().expect("no holder panics").remove(&run);
    }
}
