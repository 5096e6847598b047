//! What deliveries have done, and the pull requests of the local forge.

use super::db::on;
use super::issues::first;
use super::leases::guard;
use super::{Error, Store, clean, sql};
use crate::clock::Stamp;
use crate::cycle::id::{Lease, RepositoryId, RunId};

/// A pull request of the local forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number within the repository, from 1; 0 in one that is to be opened.
    pub number: u64,
    /// The branch it is for.
    pub base: String,
    /// The branch it brings.
    pub branch: String,
    /// The commit at the head of it.
    pub head: String,
    /// One line.
    pub title: String,
    /// Markdown.
    pub body: String,
    /// `countersigned` or `needs-review`.
    pub label: String,
}

type Row = (i64, String, String, String, String, String, String);

impl Store {
    /// Opens the run's pull request, or brings the one that is there up to date; returns its number.
    ///
    /// # Errors
    /// The database's; [`Error::Lost`].
    pub async fn save_pull_request(
        &self,
        repository: RepositoryId,
        lease: Lease,
        pull: &PullRequest,
        now: Stamp,
    ) -> Result<u64, Error> {
        let (title, body) = (clean(&pull.title), clean(&pull.body));
        let number = on!(
            &self.db,
            tx | t | {
                guard!(t, lease);
                let updated = sqlx::query(sql::UPDATE_PULL)
                    .bind(lease.run.to_string())
                    .bind(&pull.head)
                    .bind(&title)
                    .bind(&body)
                    .bind(&pull.label)
                    .bind(now.0)
                    .execute(&mut *t)
                    .await?
                    .rows_affected();
                if updated == 0 {
                    let row =
                        sqlx::query(sql::NEXT_PULL_NUMBER).bind(repository.to_string()).fetch_one(&mut *t).await?;
                    let number = first(&row)?;
                    sqlx::query(sql::INSERT_PULL)
                        .bind(format!("{repository}/{number}"))
                        .bind(repository.to_string())
                        .bind(number)
                        .bind(lease.run.to_string())
                        .bind(&pull.base)
                        .bind(&pull.branch)
                        .bind(&pull.head)
                        .bind(&title)
                        .bind(&body)
                        .bind(&pull.label)
                        .bind(now.0)
                        .execute(&mut *t)
                        .await?;
                    number
                } else {
                    let row: Row =
                        sqlx::query_as(sql::FIND_PULL).bind(lease.run.to_string()).fetch_one(&mut *t).await?;
                    row.0
                }
            }
        );
        Ok(number.unsigned_abs())
    }

    /// The run's pull request, if it was opened.
    ///
    /// # Errors
    /// The database's.
    pub async fn find_pull_request(&self, run: RunId) -> Result<Option<PullRequest>, Error> {
        let row: Option<Row> =
            on!(&self.db, read | c | sqlx::query_as(sql::FIND_PULL).bind(run.to_string()).fetch_optional(c).await?);
        Ok(row.map(|(number, base, branch, head, title, body, label)| PullRequest {
            number: number.unsigned_abs(),
            base,
            branch,
            head,
            title,
            body,
            label,
        }))
    }

    /// Records that a delivery has done this step.
    ///
    /// # Errors
    /// The database's; [`Error::Lost`].
    pub async fn record_delivery(&self, lease: Lease, step: &str, detail: &str, now: Stamp) -> Result<(), Error> {
        on!(
            &self.db,
            tx | t | {
                guard!(t, lease);
                sqlx::query(sql::RECORD_DELIVERY)
                    .bind(lease.run.to_string())
                    .bind(step)
                    .bind(clean(detail))
                    .bind(now.0)
                    .execute(&mut *t)
                    .await?;
            }
        );
        Ok(())
    }

    /// The steps that a delivery has done, in order, each with its detail.
    ///
    /// # Errors
    /// The database's.
    pub async fn list_delivery(&self, run: RunId) -> Result<Vec<(String, String)>, Error> {
        Ok(on!(&self.db, read | c | sqlx::query_as(sql::LIST_DELIVERY).bind(run.to_string()).fetch_all(c).await?))
    }
}
