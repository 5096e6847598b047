//! Repositories and the issues delegated for them.

use sqlx::Row;

use super::db::on;
use super::{Error, Store, clean, parse, sql};
use crate::clock::Stamp;
use crate::cycle::id::{IssueId, RepositoryId};

/// A repository: a git remote whose issues can be delegated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Its id.
    pub id: RepositoryId,
    /// Its name, unique.
    pub name: String,
    /// Where it is fetched from and pushed to.
    pub remote: String,
}

/// What a person delegates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIssue {
    /// The id that it is to have: delegated twice, it is one issue.
    pub id: IssueId,
    /// One line.
    pub title: String,
    /// Markdown.
    pub body: String,
    /// Definition of Done.
    pub done: Vec<String>,
    /// The branch it is for.
    pub base: String,
}

type RepositoryRow = (String, String, String);

fn repository((id, name, remote): RepositoryRow) -> Result<Repository, Error> {
    Ok(Repository { id: parse(&id, "repository")?, name, remote })
}

impl Store {
    /// Adds a repository under a new name.
    ///
    /// # Errors
    /// [`Error::Taken`] if the name is in use.
    pub async fn add_repository(&self, name: &str, remote: &str, now: Stamp) -> Result<Repository, Error> {
        let id = RepositoryId::new();
        let done = on!(
            &self.db,
            write
                | c
                | sqlx::query(sql::INSERT_REPOSITORY)
                    .bind(id.to_string())
                    .bind(clean(name))
                    .bind(clean(remote))
                    .bind(now.0)
                    .execute(c)
                    .await
                    .map(|_| ())
        );
        match done {
            Err(sqlx::Error::Database(e)) if e.is_unique_violation() => {
                Err(Error::Taken { what: "repository", name: name.to_owned() })
            }
            Err(e) => Err(e.into()),
            Ok(()) => Ok(Repository { id, name: name.to_owned(), remote: remote.to_owned() }),
        }
    }

    /// The repository of this id; it must be there.
    ///
    /// # Errors
    /// [`Error::Missing`].
    pub async fn get_repository(&self, id: RepositoryId) -> Result<Repository, Error> {
        let row: Option<RepositoryRow> =
            on!(&self.db, read | c | sqlx::query_as(sql::GET_REPOSITORY).bind(id.to_string()).fetch_optional(c).await?);
        row.map(repository).transpose()?.ok_or_else(|| Error::Missing { what: "repository", id: id.to_string() })
    }

    /// The repository of this name, if there is one.
    ///
    /// # Errors
    /// The database's.
    pub async fn find_repository(&self, name: &str) -> Result<Option<Repository>, Error> {
        let row: Option<RepositoryRow> =
            on!(&self.db, read | c | sqlx::query_as(sql::FIND_REPOSITORY).bind(clean(name)).fetch_optional(c).await?);
        row.map(repository).transpose()
    }

    /// All repositories, by name.
    ///
    /// # Errors
    /// The database's.
    pub async fn list_repositories(&self) -> Result<Vec<Repository>, Error> {
        let rows: Vec<RepositoryRow> =
            on!(&self.db, read | c | sqlx::query_as(sql::LIST_REPOSITORIES).fetch_all(c).await?);
        rows.into_iter().map(repository).collect()
    }
}

/// The first column of a row that is there: for `select coalesce(max(…), 0) + 1`.
pub(super) fn first<R: Row>(row: &R) -> Result<i64, sqlx::Error>
where
    usize: sqlx::ColumnIndex<R>,
    for<'r> i64: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
{
    row.try_get(0)
}
