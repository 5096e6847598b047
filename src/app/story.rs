//! What the pages read of runs: their facts, what is kept beside them, and their diffs. Nothing here changes anything.

use tokio::task::spawn_blocking;
use tracing::warn;

use super::App;
use crate::cycle::id::{RunId, TreeId};
use crate::cycle::policy::{AgentChoice, Policy, Role};
use crate::cycle::run::Run;
use crate::gateway::providers;
use crate::git;
use crate::store::{self, Entry, Line, PullRequest, RunRow, Stored, Usage};

pub use crate::git::{
    Diff, DiffFile, DiffLimits, Error as DiffError, Hunk as DiffHunk, Status as DiffStatus, readable,
};

/// At most this many lines of a run's transcript are read.
const LINES: u32 = 10_000;

/// Everything that is kept of one run.
#[derive(Debug, Clone)]
pub struct Story {
    /// The run as its facts make it.
    pub run: Run,
    /// Its facts, in order.
    pub events: Vec<Stored>,
    /// What lists show of it.
    pub row: RunRow,
    /// The settled tokens of each model call, with the number of the fact that began its step.
    pub usage: Vec<(u64, Usage)>,
    /// What its agents did and said, in order: the first [`LINES`] of it.
    pub lines: Vec<Line<Entry>>,
    /// Its pull request, once it is opened.
    pub pull: Option<PullRequest>,
}

/// Who performs a role of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Performer {
    /// The role.
    pub role: Role,
    /// The agent that was chosen.
    pub choice: AgentChoice,
    /// What pages call its provider.
    pub provider: String,
    /// Whether its words are written beforehand.
    pub canned: bool,
}

/// Who performs which role under these rules.
#[must_use]
pub fn performers(policy: &Policy) -> Vec<Performer> {
    let of = |(role, choice): (&Role, &AgentChoice)| {
        let known = providers::find(&choice.provider);
        Performer {
            role: *role,
            choice: choice.clone(),
            provider: known.map_or_else(|| choice.provider.clone(), |p| p.label.to_owned()),
            canned: known.is_some_and(|p| p.canned),
        }
    };
    policy.agents.iter().map(of).collect()
}

impl App {
    /// Everything that is kept of a run; `None` if there is no such run.
    ///
    /// # Errors
    /// The store's.
    pub async fn story(&self, run: RunId) -> Result<Option<Story>, store::Error> {
        let events = match self.store.list_events(run).await {
            Err(store::Error::Missing { .. }) => return Ok(None),
            other => other?,
        };
        Ok(Some(Story {
            run: Run::replay(events.iter().map(|e| &e.event))?,
            row: self.store.get_run_row(run).await?,
            usage: self.store.list_usage(run).await?,
            lines: self.store.list_lines(run, LINES).await?,
            pull: self.store.find_pull_request(run).await?,
            events,
        }))
    }

    /// What differs between each pair of trees of a run, in their order.
    ///
    /// # Errors
    /// One each: the run's repository is not on this machine, or a tree is not in it.
    pub async fn diffs(
        &self,
        story: &Story,
        pairs: Vec<(TreeId, TreeId)>,
        limits: DiffLimits,
    ) -> Vec<Result<Diff, DiffError>> {
        if pairs.is_empty() {
            return Vec::new();
        }
        let repo = match self.offers.place.open(&self.store, &story.run, &story.row.repository).await {
            Ok(repo) => repo,
            Err(e) => {
                warn!(run.id = %story.run.id, error = &e as &dyn std::error::Error, "the run's diffs cannot be shown");
                return pairs.iter().map(|_| Err(DiffError::NoBase)).collect();
            }
        };
        let worked_out = spawn_blocking(move || {
            let of = |(from, to): &(TreeId, TreeId)| repo.diff(from, to, &limits);
            pairs.iter().map(of).collect::<Vec<Result<Diff, git::Error>>>()
        });
        match worked_out.await {
            Ok(diffs) => diffs,
            Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
        }
    }
}
