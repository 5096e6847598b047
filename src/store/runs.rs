//! Runs: delegating, loading, and appending to their logs.

use super::db::on;
use super::issues::first;
use super::leases::{fence, lost};
use super::{Error, NewIssue, Repository, Store, clean, from_json, parse, sql, to_json};
use crate::clock::Stamp;
use crate::cycle::event::Event;
use crate::cycle::id::{Lease, RunId};
use crate::cycle::issue::Issue;
use crate::cycle::money::Money;
use crate::cycle::policy::Policy;
use crate::cycle::run::Run;

/// A stored fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its number within the run, from 1, gapless.
    pub seq: u64,
    /// When it was stored.
    pub at: Stamp,
    /// The fact.
    pub event: Event,
}

/// What lists show of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Its id.
    pub id: RunId,
    /// Which attempt at its issue it is, from 1.
    pub number: i64,
    /// Whether nothing will happen any more.
    pub is_over: bool,
    /// The outcome as [`crate::cycle::outcome::Outcome`] prints it, once decided.
    pub outcome: Option<String>,
    /// Money settled and reserved.
    pub committed: Money,
    /// When it was delegated.
    pub created_at: Stamp,
    /// Its issue's number.
    pub issue: i64,
    /// Its issue's title.
    pub title: String,
    /// Its repository.
    pub repository: Repository,
}

/// How many runs stand alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// Whether nothing will happen to them any more.
    pub is_over: bool,
    /// Their outcome as [`crate::cycle::outcome::Outcome`] prints it, once decided.
    pub outcome: Option<String>,
    /// How many there are.
    pub runs: u64,
}

type Row = (String, i64, bool, Option<String>, i64, i64, i64, String, String, String, String);

fn run_row(row: Row) -> Result<RunRow, Error> {
    let (id, number, is_over, outcome, committed, created_at, issue, title, repository, name, remote) = row;
    Ok(RunRow {
        id: parse(&id, "run")?,
        number,
        is_over,
        outcome,
        committed: Money::from_picodollars(committed),
        created_at: Stamp(created_at),
        issue,
        title,
        repository: Repository { id: parse(&repository, "repository")?, name, remote },
    })
}

impl Store {
    /// Stores an issue and its first run, in one transaction; an issue that is there already keeps the run it has.
    ///
    /// # Errors
    /// The database's.
    pub async fn delegate(&self, to: &Repository, issue: NewIssue, policy: Policy, now: Stamp) -> Result<RunId, Error> {
        let NewIssue { id, title, body, done, base } = issue;
        let fresh = RunId::new();
        let run = on!(
            &self.db,
            tx | t | {
                // First, so that two who send the same issue take turns; a number that is not used is given back.
                let row = sqlx::query(sql::NEXT_ISSUE_NUMBER).bind(to.id.to_string()).fetch_one(&mut *t).await?;
                let number = first(&row)?;
                let before: Option<(String,)> =
                    sqlx::query_as(sql::FIND_FIRST_RUN).bind(id.to_string()).fetch_optional(&mut *t).await?;
                if let Some((run,)) = before {
                    return parse(&run, "run");
                }
                let issue =
                    Issue { number: number.unsigned_abs(), title: clean(&title), body: clean(&body), done, base };
                sqlx::query(sql::INSERT_ISSUE)
                    .bind(id.to_string())
                    .bind(to.id.to_string())
                    .bind(number)
                    .bind(&issue.title)
                    .bind(&issue.body)
                    .bind(to_json(&issue.done))
                    .bind(&issue.base)
                    .bind(now.0)
                    .execute(&mut *t)
                    .await?;
                sqlx::query(sql::INSERT_RUN)
                    .bind(fresh.to_string())
                    .bind(id.to_string())
                    .bind(1_i64)
                    .bind(now.0)
                    .execute(&mut *t)
                    .await?;
                let event = Event::Delegated { run: fresh, issue: Box::new(issue), policy: Box::new(policy) };
                sqlx::query(sql::INSERT_EVENT)
                    .bind(fresh.to_string())
                    .bind(1_i64)
                    .bind(now.0)
                    .bind(to_json(&event))
                    .execute(&mut *t)
                    .await?;
                fresh
            }
        );
        self.db.announce(&run.to_string()).await;
        Ok(run)
    }

    /// A run's facts in order.
    ///
    /// # Errors
    /// [`Error::Missing`] if there is no such run, [`Error::Corrupt`] for a row that cannot be read.
    pub async fn list_events(&self, run: RunId) -> Result<Vec<Stored>, Error> {
        let rows: Vec<(i64, i64, String)> =
            on!(&self.db, read | c | sqlx::query_as(sql::LIST_EVENTS).bind(run.to_string()).fetch_all(c).await?);
        if rows.is_empty() {
            return Err(Error::Missing { what: "run", id: run.to_string() });
        }
        rows.iter().map(|(seq, at, payload)| stored(run, *seq, *at, payload)).collect()
    }

    /// The run as its facts make it.
    ///
    /// # Errors
    /// As [`Store::list_events`]; [`Error::Illegal`] if they do not follow from each other.
    pub async fn load(&self, run: RunId) -> Result<Run, Error> {
        let events = self.list_events(run).await?;
        Ok(Run::replay(events.iter().map(|e| &e.event))?)
    }

    /// Stores an intent of the run's holder if the run has not moved since; `None` if it has, and nothing was stored.
    ///
    /// # Errors
    /// The database's; [`Error::Illegal`] if it cannot follow; [`Error::Lost`].
    pub async fn intend(&self, lease: Lease, run: &Run, event: &Event, now: Stamp) -> Result<Option<Run>, Error> {
        self.append(Some(lease), run, event, now).await
    }

    /// Stores a fact that the run's holder brought about, on top of whatever the run is now, and returns it as it is then.
    ///
    /// # Errors
    /// As [`Store::intend`].
    pub async fn finish(&self, lease: Lease, event: &Event, now: Stamp) -> Result<Run, Error> {
        self.append_to_newest((Some(lease), lease.run), event, now).await
    }

    /// Stores a fact from outside, a person's, on top of whatever the run is now, and returns it as it is then.
    ///
    /// # Errors
    /// The database's; [`Error::Illegal`] if it cannot follow.
    pub async fn record(&self, run: RunId, event: &Event, now: Stamp) -> Result<Run, Error> {
        self.append_to_newest((None, run), event, now).await
    }

    async fn append_to_newest(
        &self,
        (lease, run): (Option<Lease>, RunId),
        event: &Event,
        now: Stamp,
    ) -> Result<Run, Error> {
        loop {
            let newest = self.load(run).await?;
            if let Some(next) = self.append(lease, &newest, event, now).await? {
                return Ok(next);
            }
        }
    }

    async fn append(&self, lease: Option<Lease>, run: &Run, event: &Event, now: Stamp) -> Result<Option<Run>, Error> {
        let mut next = run.clone();
        if let Err(illegal) = next.apply(event) {
            // What another holder did meanwhile is no fault of the log.
            self.check(lease).await?;
            return Err(illegal.into());
        }
        let moved = on!(
            &self.db,
            tx | t | {
                let updated = sqlx::query(sql::UPDATE_RUN)
                    .bind(run.id.to_string())
                    .bind(version(run))
                    .bind(next.is_over())
                    .bind(next.outcome.as_ref().map(ToString::to_string))
                    .bind(lease.map(fence))
                    .execute(&mut *t)
                    .await?
                    .rows_affected();
                if updated == 1 {
                    sqlx::query(sql::INSERT_EVENT)
                        .bind(run.id.to_string())
                        .bind(version(&next))
                        .bind(now.0)
                        .bind(to_json(event))
                        .execute(&mut *t)
                        .await?;
                }
                updated == 0
            }
        );
        if !moved {
            self.db.announce(&run.id.to_string()).await;
        }
        if moved {
            self.check(lease).await?;
        }
        Ok((!moved).then_some(next))
    }

    /// Refuses who has lost the run.
    async fn check(&self, lease: Option<Lease>) -> Result<(), Error> {
        match lease {
            Some(lease) if self.standing(lease.run).await?.1 != lease.fence => Err(lost(lease)),
            Some(_) | None => Ok(()),
        }
    }

    /// How many facts a run has.
    ///
    /// # Errors
    /// [`Error::Missing`] if there is no such run.
    pub async fn version(&self, run: RunId) -> Result<u64, Error> {
        Ok(self.standing(run).await?.0)
    }

    /// How many facts a run has, and its fencing number.
    async fn standing(&self, run: RunId) -> Result<(u64, u64), Error> {
        let row: Option<(i64, i64)> = on!(
            &self.db,
            read | c | sqlx::query_as(sql::GET_RUN_VERSION).bind(run.to_string()).fetch_optional(c).await?
        );
        let (version, fence) = row.ok_or_else(|| Error::Missing { what: "run", id: run.to_string() })?;
        Ok((version.unsigned_abs(), fence.unsigned_abs()))
    }

    /// What lists show of one run.
    ///
    /// # Errors
    /// [`Error::Missing`] if there is no such run.
    pub async fn get_run_row(&self, run: RunId) -> Result<RunRow, Error> {
        let row: Option<Row> =
            on!(&self.db, read | c | sqlx::query_as(sql::GET_RUN_ROW).bind(run.to_string()).fetch_optional(c).await?);
        row.map(run_row).transpose()?.ok_or_else(|| Error::Missing { what: "run", id: run.to_string() })
    }

    /// The newest runs, newest first, at most `limit`.
    ///
    /// # Errors
    /// The database's.
    pub async fn list_runs(&self, limit: u32) -> Result<Vec<RunRow>, Error> {
        let rows: Vec<Row> =
            on!(&self.db, read | c | sqlx::query_as(sql::LIST_RUN_ROWS).bind(i64::from(limit)).fetch_all(c).await?);
        rows.into_iter().map(run_row).collect()
    }

    /// How many runs there are of each outcome, in no order.
    ///
    /// # Errors
    /// The database's.
    pub async fn count_runs(&self) -> Result<Vec<Count>, Error> {
        let rows: Vec<(bool, Option<String>, i64)> =
            on!(&self.db, read | c | sqlx::query_as(sql::COUNT_RUNS).fetch_all(c).await?);
        let count = |(is_over, outcome, runs): (bool, Option<String>, i64)| Count {
            is_over,
            outcome,
            runs: runs.unsigned_abs(),
        };
        Ok(rows.into_iter().map(count).collect())
    }
}

fn version(run: &Run) -> i64 {
    i64::try_from(run.version).unwrap_or(i64::MAX)
}

fn stored(run: RunId, seq: i64, at: i64, payload: &str) -> Result<Stored, Error> {
    let event = from_json(payload, "event", &format_args!("{run}/{seq}"))?;
    Ok(Stored { seq: seq.unsigned_abs(), at: Stamp(at), event })
}
