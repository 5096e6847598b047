//! What agents did and said: many lines, opaque to the rules; and the kept baselines.

use super::db::on;
use super::issues::first;
use super::leases::{fence, lost};
use super::{Error, Store, from_json, sql, to_json};
use crate::clock::Stamp;
use crate::cycle::checks::CheckRun;
use crate::cycle::id::{CommitId, Lease, RepositoryId, RunId};

/// One line of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<T> {
    /// The sequence number of the event that began the step.
    pub step: u64,
    /// When.
    pub at: Stamp,
    /// What.
    pub what: T,
}

impl Store {
    /// Adds a line to a run's transcript.
    ///
    /// # Errors
    /// The database's; [`Error::Lost`].
    pub async fn write_line<T: serde::Serialize + Sync>(
        &self,
        lease: Lease,
        step: u64,
        what: &T,
        now: Stamp,
    ) -> Result<(), Error> {
        on!(
            &self.db,
            tx | t | {
                let row = sqlx::query(sql::NEXT_TRANSCRIPT)
                    .bind(lease.run.to_string())
                    .bind(fence(lease))
                    .fetch_optional(&mut *t)
                    .await?;
                let Some(row) = row else { return Err(lost(lease)) };
                sqlx::query(sql::INSERT_TRANSCRIPT)
                    .bind(lease.run.to_string())
                    .bind(first(&row)?)
                    .bind(i64::try_from(step).unwrap_or(i64::MAX))
                    .bind(now.0)
                    .bind(to_json(what))
                    .execute(&mut *t)
                    .await?;
            }
        );
        Ok(())
    }

    /// The first `limit` lines of a run's transcript.
    ///
    /// # Errors
    /// The database's; [`Error::Corrupt`] for a line that cannot be read.
    pub async fn list_lines<T: serde::de::DeserializeOwned>(
        &self,
        run: RunId,
        limit: u32,
    ) -> Result<Vec<Line<T>>, Error> {
        let rows: Vec<(i64, i64, String)> = on!(
            &self.db,
            read | c
                | sqlx::query_as(sql::LIST_TRANSCRIPT)
                    .bind(run.to_string())
                    .bind(i64::from(limit))
                    .fetch_all(c)
                    .await?
        );
        let line = |(step, at, text): (i64, i64, String)| {
            Ok(Line { step: step.unsigned_abs(), at: Stamp(at), what: from_json(&text, "transcript", &run)? })
        };
        rows.into_iter().map(line).collect()
    }

    /// The checks as they were measured on this commit with exactly these commands, if they were.
    ///
    /// # Errors
    /// The database's; [`Error::Corrupt`].
    pub async fn find_baseline(
        &self,
        of: RepositoryId,
        on: &CommitId,
        commands: &str,
    ) -> Result<Option<Vec<CheckRun>>, Error> {
        let row: Option<(String,)> = on!(
            &self.db,
            read | c
                | sqlx::query_as(sql::FIND_BASELINE)
                    .bind(of.to_string())
                    .bind(on.as_str())
                    .bind(commands)
                    .fetch_optional(c)
                    .await?
        );
        row.map(|(text,)| from_json(&text, "baseline", on)).transpose()
    }

    /// Keeps a baseline; the first one kept stays.
    ///
    /// # Errors
    /// The database's.
    pub async fn keep_baseline(
        &self,
        of: RepositoryId,
        on: &CommitId,
        commands: &str,
        runs: &[CheckRun],
        now: Stamp,
    ) -> Result<(), Error> {
        let payload = to_json(&runs);
        on!(
            &self.db,
            write
                | c
                | sqlx::query(sql::KEEP_BASELINE)
                    .bind(of.to_string())
                    .bind(on.as_str())
                    .bind(commands)
                    .bind(payload)
                    .bind(now.0)
                    .execute(c)
                    .await?
                    .rows_affected()
        );
        Ok(())
    }
}
