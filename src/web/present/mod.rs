//! Facts turned into what pages show: no rules, and no words that the facts do not say.

mod groups;
mod parts;
mod run;
mod sentence;

use std::time::Duration;

use super::desk::{Declined, Desk};
use super::error::Error;
use super::pages::delegate::Repository;
use super::pages::delegate::form::Delegation;
use super::pages::delegate::refusal::Field;
use super::pages::{home, pull_request, run as run_page};
use super::prose::Line;
use super::view::{Badge, Hash, Tone};
use super::words::{When, duration};
use crate::app::{self, App, Refused};
use crate::clock;
use crate::cycle::id::RunId;
use crate::cycle::outcome::Outcome;
use crate::cycle::run::Run;
use crate::store::RunRow;

/// How many runs the first page lists.
const LISTED: u32 = 100;

impl Desk for App {
    async fn home(&self) -> Result<home::View, Error> {
        let now = clock::now().seconds();
        let (mut rows, mut tally) = (Vec::new(), home::Tally::default());
        for row in self.store.list_runs(LISTED).await.map_err(Error::internal)? {
            let run = self.store.load(row.id).await.map_err(Error::internal)?;
            match &run.outcome {
                None => tally.running += 1,
                Some(Outcome::NeedsReview(_)) => tally.needs_review += 1,
                Some(Outcome::Accepted(_)) => tally.accepted += 1,
                Some(Outcome::Delivered | Outcome::Failed(_) | Outcome::Cancelled) => tally.other += 1,
            }
            rows.push(home_row(&row, &run, now));
        }
        let repositories = self.store.list_repositories().await.map_err(Error::internal)?.len();
        Ok(home::View { tally, rows, older: 0, repositories })
    }

    async fn repositories(&self) -> Result<Vec<Repository>, Error> {
        let surveyed = self.survey().await.map_err(Error::internal)?;
        Ok(surveyed.into_iter().map(repository).collect())
    }

    async fn delegate(&self, delegation: Delegation) -> Result<RunId, Declined> {
        let Delegation { issue, repository, title, body, done, base, passes, money, clock } = delegation;
        let taken = app::Delegation { issue, repository, title, body, done, base, passes, money, clock };
        App::delegate(self, taken).await.map_err(declined)
    }

    async fn run(&self, run: RunId) -> Result<Option<run_page::View>, Error> {
        let Some(story) = self.story(run).await.map_err(Error::internal)? else { return Ok(None) };
        let pairs = groups::pairs(&story.run);
        let diffs = self.diffs(&story.row, pairs, app::story::DiffLimits::default()).await;
        let diffs = diffs.into_iter().map(Result::ok).collect();
        Ok(Some(run::view(&story, diffs)))
    }

    async fn pull_request(&self, run: RunId) -> Result<Option<pull_request::View>, Error> {
        let Some(story) = self.story(run).await.map_err(Error::internal)? else { return Ok(None) };
        let Some(pull) = story.pull.clone() else { return Ok(None) };
        let opened = story.events.last().map_or(0, |e| e.at.seconds());
        let tone = if pull.label == "countersigned" { Tone::Good } else { Tone::Warn };
        Ok(Some(pull_request::View {
            run,
            canned: run::is_canned(&story.run),
            repository: story.row.repository.name.clone(),
            title: pull.title,
            label: Badge::new(tone, pull.label),
            branch: pull.branch,
            head: hash(&pull.head),
            base: pull.base,
            opened: When::clock(opened),
            body: pull.body,
        }))
    }
}

fn declined(refused: Refused) -> Declined {
    match refused {
        Refused::Policy(why) => Declined::Because(Field::Passes, why.to_string()),
        Refused::NoPrice { .. } | Refused::NoProvider { .. } => Declined::Because(Field::Money, refused.to_string()),
        Refused::Store(cause) => Declined::Failed(Error::internal(cause)),
    }
}

fn repository(surveyed: app::Surveyed) -> Repository {
    let (base, checks) = match surveyed.found {
        Ok(found) => {
            let names = |checks: Vec<crate::cycle::checks::Check>| match checks.len() {
                0 => "no checks found".to_owned(),
                _ => checks.iter().map(|c| c.command.clone()).collect::<Vec<_>>().join(", "),
            };
            (found.branch, found.checks.map_or_else(|why| why, names))
        }
        Err(why) => ("main".to_owned(), why),
    };
    Repository { id: surveyed.repository.id, name: surveyed.repository.name, base, checks }
}

fn home_row(row: &RunRow, run: &Run, now: i64) -> home::Row {
    home::Row {
        run: row.id,
        title: row.title.clone(),
        outcome: outcome(run),
        canned: run::is_canned(run),
        sentence: Line::new(&sentence::of(run)),
        repository: row.repository.name.clone(),
        passes: format!("{} of {} passes", run.charged_passes(), run.policy.passes),
        money: run.spent.to_string(),
        took: if run.used == Duration::ZERO { "—".to_owned() } else { duration(run.used) },
        delegated: When::ago(row.created_at.seconds(), now),
    }
}

/// Outcome, or what it is doing, in a word.
pub(super) fn outcome(run: &Run) -> Badge {
    match &run.outcome {
        None => Badge::new(Tone::Live, "running"),
        Some(Outcome::Accepted(assurance)) => Badge::new(Tone::Good, format!("Accepted · {}", assurance.words())),
        Some(Outcome::NeedsReview(_)) => Badge::new(Tone::Warn, "Needs review"),
        Some(Outcome::Delivered) => Badge::new(Tone::Warn, "Delivered unreviewed"),
        Some(Outcome::Failed(_)) => Badge::new(Tone::Bad, "Failed"),
        Some(Outcome::Cancelled) => Badge::new(Tone::Plain, "Cancelled"),
    }
}

fn hash(full: &str) -> Hash {
    Hash { short: full.chars().take(7).collect(), full: full.to_owned() }
}
