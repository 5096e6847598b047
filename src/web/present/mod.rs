//! Facts turned into what pages show: no rules, and no words that the facts do not say.

mod groups;
mod parts;
mod run;
mod sentence;

use std::time::Duration;

use super::desk::{Declined, Desk, Setup};
use super::error::Error;
use super::pages::delegate::Repository;
use super::pages::delegate::form::Delegation;
use super::pages::delegate::refusal::Field;
use super::pages::{home, pull_request, run as run_page};
use super::prose::Line;
use super::view::{Badge, Hash, Tone};
use super::words::{When, duration, sentence};
use crate::app::{self, App, Refused};
use crate::clock;
use crate::cycle::id::RunId;
use crate::cycle::outcome::Outcome;
use crate::cycle::policy::BadPolicy;
use crate::cycle::run::Run;
use crate::store::{Count, RunRow};

/// How many runs the first page lists.
const LISTED: u32 = 100;

impl Desk for App {
    fn setup(&self) -> Setup {
        let data = self.data().to_string_lossy();
        let quoted = shlex::try_quote(&data).map_or_else(|_| "…".into(), std::borrow::Cow::into_owned);
        let canned = "The models' words are written beforehand here, for the demo's own five issues: an issue of yours \
                      will end as failed. Start `countersign serve` with a provider's key for your own.";
        Setup {
            hindrance: match self.ready() {
                Ok(()) => self.is_canned().then(|| canned.to_owned()),
                Err(refused) => Some(sentence(&refused.to_string())),
            },
            adding: format!("COUNTERSIGN_DATA={quoted} countersign repository add NAME /path/to/repository.git"),
        }
    }

    async fn home(&self) -> Result<home::View, Error> {
        let now = clock::now().seconds();
        let mut rows = Vec::new();
        for row in self.store.list_runs(LISTED).await.map_err(Error::internal)? {
            let run = self.store.load(row.id).await.map_err(Error::internal)?;
            rows.push(home_row(&row, &run, now));
        }
        let tally = tally(&self.store.count_runs().await.map_err(Error::internal)?);
        let older = tally.all().saturating_sub(rows.len() as u64);
        let repositories = self.store.list_repositories().await.map_err(Error::internal)?.len();
        Ok(home::View { setup: self.setup(), tally, rows, older, repositories })
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
        let diffs = self.diffs(&story, pairs, app::story::DiffLimits::default()).await;
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
            commands: pull_request::fetching(&pull.branch, &pull.base),
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
        Refused::Policy(why) => match ceiling(&why) {
            Some(field) => Declined::Because(field, sentence(&why.to_string())),
            None => Declined::NotSetUp(sentence(&why.to_string())),
        },
        Refused::NoPrice { .. } | Refused::NoProvider { .. } => Declined::NotSetUp(sentence(&refused.to_string())),
        Refused::Store(cause) => Declined::Failed(Error::internal(cause)),
    }
}

/// The field that a policy's fault is about.
const fn ceiling(why: &BadPolicy) -> Option<Field> {
    match why {
        BadPolicy::Passes => Some(Field::Passes),
        BadPolicy::Money => Some(Field::Money),
        BadPolicy::Clock => Some(Field::Clock),
        BadPolicy::Limits | BadPolicy::NotOffered(_) | BadPolicy::NoAgent(_) => None,
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

/// Every run is counted, also those that the list leaves out.
fn tally(counts: &[Count]) -> home::Tally {
    let mut tally = home::Tally::default();
    for Count { outcome, runs, .. } in counts {
        let kind = outcome.as_deref().map(|o| o.split_once('(').map_or(o, |(kind, _)| kind));
        let of_kind = match kind {
            None => &mut tally.running,
            Some("needs_review") => &mut tally.needs_review,
            Some("accepted") => &mut tally.accepted,
            Some(_) => &mut tally.other,
        };
        *of_kind += runs;
    }
    tally
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycle::outcome::{Assurance, Failure, Stop};

    #[test]
    fn the_tally_counts_every_run_by_how_it_ended() {
        let count = |outcome: Option<Outcome>, runs| Count {
            is_over: outcome.is_some(),
            outcome: outcome.map(|o| o.to_string()),
            runs,
        };
        let tally = tally(&[
            count(None, 2),
            count(Some(Outcome::Accepted(Assurance::Countersigned)), 90),
            count(Some(Outcome::Accepted(Assurance::SelfReviewed)), 5),
            count(Some(Outcome::NeedsReview(Stop::Stalled)), 30),
            count(Some(Outcome::NeedsReview(Stop::BudgetMoney)), 7),
            count(Some(Outcome::Failed(Failure::NoChange)), 3),
            count(Some(Outcome::Delivered), 1),
            count(Some(Outcome::Cancelled), 4),
        ]);
        assert_eq!((tally.running, tally.needs_review, tally.accepted, tally.other), (2, 37, 95, 8));
        assert_eq!(tally.all(), 142);
    }
}
