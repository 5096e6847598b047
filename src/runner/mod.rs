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
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, info, warn};

pub use ports::{Directories, Ports};

use crate::clock::Stopwatch;
use crate::cycle::id::{Lease, NodeId, RunId};
use crate::store;
use ports::told;

/// How often free runs are looked for when nothing announces one: a node that died announces nothing.
const LOOK: Duration = Duration::from_secs(2);

/// Performs runs in the background until it is stopped.
#[derive(Debug)]
pub struct Runner {
    ports: Arc<Ports>,
    /// Which node this is: the same after a restart.
    node: NodeId,
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
    pub fn new(ports: Arc<Ports>, node: NodeId, slots: usize) -> Arc<Self> {
        Arc::new(Self {
            ports,
            node,
            slots: Arc::new(Semaphore::new(slots)),
            held: Mutex::default(),
            wake: Arc::new(Notify::new()),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        })
    }

    /// Starts claiming runs: those that an earlier process left unfinished, those of nodes that died, and new ones.
    pub fn start(self: &Arc<Self>) {
        let runner = Arc::clone(self);
        self.tasks.spawn(async move { runner.claim_until_stopped().await });
    }

    /// How others hear of runs that move, and say that there may be one to claim.
    #[must_use]
    pub fn signals(&self) -> (Arc<Notify>, watch::Receiver<u64>) {
        (Arc::clone(&self.wake), self.ports.moved.subscribe())
    }

    /// Hears of what other processes do to runs, and passes it on to whoever waits in this one.
    pub fn hear(self: &Arc<Self>) {
        let runner = Arc::clone(self);
        self.tasks.spawn(async move {
            while !runner.stop.is_cancelled() {
                if let Err(e) = runner.pass_on().await {
                    warn!(error = told(&e), "the news of other nodes is not heard");
                }
                tokio::select! {
                    () = runner.stop.cancelled() => return,
                    () = tokio::time::sleep(LOOK) => {}
                }
            }
        });
    }

    async fn pass_on(&self) -> Result<(), store::Error> {
        let Some(mut news) = self.ports.store.listen().await? else {
            self.stop.cancelled().await;
            return Ok(());
        };
        loop {
            // What happened before is news as well.
            self.ports.moved.send_modify(|n| *n += 1);
            self.wake.notify_one();
            tokio::select! {
                heard = news.next() => heard?,
                () = self.stop.cancelled() => return Ok(()),
            }
        }
    }

    /// Stops claiming, ends the steps in flight and waits for them. What they had not finished is redone later.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    async fn claim_until_stopped(self: Arc<Self>) {
        loop {
            // The slot comes first: a run that there is no room for stays free for other nodes.
            let slot = tokio::select! {
                slot = Arc::clone(&self.slots).acquire_owned() => slot.expect("nobody closes the slots"),
                () = self.stop.cancelled() => return,
            };
            match self.claim().await {
                Ok(Some(lease)) => {
                    let runner = Arc::clone(&self);
                    self.tasks.spawn(async move { runner.hold(lease, slot).await });
                    continue;
                }
                Ok(None) => {}
                Err(e) => error!(error = told(&e), "no run could be claimed"),
            }
            drop(slot);
            tokio::select! {
                () = self.wake.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
                () = self.stop.cancelled() => return,
            }
        }
    }

    async fn claim(&self) -> Result<Option<Lease>, store::Error> {
        let holds = |run: &RunId| self.held().contains(run);
        let lease = self.ports.store.claim(self.node, self.ports.term, holds).await?;
        if let Some(lease) = &lease {
            self.held().insert(lease.run);
        }
        Ok(lease)
    }

    fn held(&self) -> MutexGuard<'_, BTreeSet<RunId>> {
        self.held.lock().expect("no holder panics")
    }

    async fn hold(&self, lease: Lease, slot: OwnedSemaphorePermit) {
        let run = lease.run;
        info!(run.id = %run, "holding run {run}");
        let (stop, ended) = (self.stop.child_token(), CancellationToken::new());
        let driven = async {
            let driven = drive::drive(&self.ports, lease, &stop).await;
            ended.cancel();
            driven
        };
        match tokio::join!(driven, self.keep(lease, &stop, &ended)).0 {
            Ok(()) => {}
            Err(store::Error::Lost { .. }) => warn!(run.id = %run, "run {run} was claimed by another node"),
            Err(e) => error!(run.id = %run, error = told(&e), "run {run} cannot go on for now"),
        }
        if let Err(e) = self.ports.store.give_up(lease).await {
            warn!(run.id = %run, error = told(&e), "run {run} stays claimed until its lease has run out");
        }
        self.held().remove(&run);
        drop(slot);
    }

    /// Renews the lease until the run's driver has `ended`; tells it to `stop` once the lease is lost or may be.
    async fn keep(&self, lease: Lease, stop: &CancellationToken, ended: &CancellationToken) {
        let term = self.ports.term;
        let mut since = Stopwatch::go_on(Duration::ZERO);
        loop {
            tokio::select! {
                () = tokio::time::sleep(term / 5) => {}
                () = ended.cancelled() => return,
            }
            let asked = Stopwatch::go_on(Duration::ZERO);
            match self.ports.store.renew(lease, term).await {
                Ok(true) => since = asked,
                Ok(false) => return stop.cancel(),
                Err(e) => warn!(run.id = %lease.run, error = told(&e), "the lease could not be renewed"),
            }
            // The rest is what an effect under way may take.
            if since.used() > term * 4 / 5 {
                return stop.cancel();
            }
        }
    }
}
