//! `deliver`: the branch is pushed and the pull request opened, each a recorded step that is safe to repeat.

use super::ports::{Ports, Task, blocking, told};
use super::workdir;
use crate::clock;
use crate::cycle::id::CommitId;
use crate::cycle::outcome::Outcome;
use crate::cycle::run::Run;
use crate::cycle::step::{Change, Delivered, StepResult};
use crate::forge;
use crate::gateway::providers;
use crate::git::{self, BranchName, Pushed, Remote};
use crate::store::{self, PullRequest};

/// Names of the recorded steps.
const PUSHED: &str = "pushed";
const OPENED: &str = "pull_request";

/// Why a delivery did not work this time.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("there is nothing to deliver")]
    Nothing,
    #[error("another node has claimed the run")]
    Lost,
    #[error("the branch could not be pushed")]
    Git(#[from] git::Error),
    #[error("the run's repository could not be opened")]
    Workdir(#[from] workdir::Error),
    #[error("the delivery could not be recorded")]
    Store(#[from] store::Error),
}

impl Error {
    /// Whether trying again may help: a refusal stays one, an outage passes.
    fn again(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Git(e) | Self::Workdir(workdir::Error::Git(e)) => !matches!(
                e,
                git::Error::ForeignBranch { .. } | git::Error::Forbidden { .. } | git::Error::Declined { .. }
            ),
            Self::Workdir(_) | Self::Store(_) | Self::Lost => true,
        }
    }
}

pub(super) async fn perform(ports: &Ports, task: &Task<'_>) -> StepResult {
    let delivered =
        deliver(ports, task).await.unwrap_or_else(|e| Delivered::Failed { cause: told(&e), again: e.again() });
    StepResult::Delivered(delivered)
}

async fn deliver(ports: &Ports, task: &Task<'_>) -> Result<Delivered, Error> {
    let run = task.run;
    let (Some(change), Some(outcome)) = (run.deliverable(), run.outcome.clone()) else { return Err(Error::Nothing) };
    push(ports, task, change).await?;
    let pull_request = open(ports, task, (change, &outcome)).await?;
    Ok(Delivered::Done { commit: change.commit.clone(), pull_request })
}

async fn push(ports: &Ports, task: &Task<'_>, change: &Change) -> Result<(), Error> {
    let run = task.run;
    let (repo, of) = workdir::repository(ports, run).await?;
    let name = run.preparation.as_ref().map(|p| p.branch.clone()).ok_or(git::Error::NoBase)?;
    let done = ports.store.list_delivery(run.id).await?;
    let expected: Option<CommitId> =
        done.iter().find(|(step, _)| step == PUSHED).and_then(|(_, commit)| commit.parse().ok());
    let (commit, base) = (change.commit.clone(), run.issue.base.clone());
    // A node that was frozen may have lost the run long ago: nothing leaves it without a fresh look.
    if !ports.store.renew(task.lease, ports.term).await? {
        return Err(Error::Lost);
    }
    let pushed = blocking(move || -> Result<Pushed, git::Error> {
        let (remote, branch, base) = (Remote::parse(&of.remote)?, BranchName::parse(&name)?, BranchName::parse(&base)?);
        repo.push(&remote, (&branch, &commit), expected.as_ref(), &[base])
    });
    pushed.await?;
    ports.store.record_delivery(task.lease, PUSHED, change.commit.as_str(), clock::now()).await?;
    Ok(())
}

async fn open(ports: &Ports, task: &Task<'_>, (change, outcome): (&Change, &Outcome)) -> Result<u64, Error> {
    let run = task.run;
    let row = ports.store.get_run_row(run.id).await?;
    let pull = PullRequest {
        number: 0,
        base: run.issue.base.clone(),
        branch: run.preparation.as_ref().map_or_else(String::new, |p| p.branch.clone()),
        head: change.commit.to_string(),
        title: forge::title(run),
        body: forge::text(run, change, outcome, is_canned(run)),
        label: forge::label(outcome).to_owned(),
    };
    let number = ports.store.save_pull_request(row.repository.id, task.lease, &pull, clock::now()).await?;
    ports.store.record_delivery(task.lease, OPENED, &number.to_string(), clock::now()).await?;
    Ok(number)
}

/// Whether some role's words were written beforehand, which the pull request must say.
fn is_canned(run: &Run) -> bool {
    let canned = |provider: &str| providers::find(provider).is_some_and(|p| p.canned);
    run.policy.agents.values().any(|choice| canned(&choice.provider))
}
