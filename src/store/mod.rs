//! All SQL, and the only module that knows there is a database.
//!
//! An event, the new state and its money lines are one transaction. Facts are applied to the newest
//! state inside their transaction; intents are stored only if the run has not moved since it was planned.

mod db;
mod deliveries;
mod entry;
mod issues;
mod leases;
mod money;
mod packs;
mod runs;
mod sql;
#[cfg(test)]
mod tests;
mod transcripts;

use std::path::{Path, PathBuf};

pub use deliveries::PullRequest;
pub use entry::{Entry, Usage};
pub use issues::{NewIssue, Repository};
pub use leases::News;
pub use money::{Call, Reservation};
pub use packs::Pack;
pub use runs::{Count, RunRow, Stored};
pub use transcripts::Line;

use crate::cycle::run::Illegal;

/// Why the store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be opened or made.
    #[error("the database {} could not be opened", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// The driver's cause.
        source: sqlx::Error,
    },
    /// The address of the server is none.
    #[error("the database's address is none; it looks like postgres://user:password@host:5432/name")]
    Address,
    /// The server could not be reached, or does not let us in.
    #[error("the database at {place} could not be opened")]
    Connect {
        /// Host and port.
        place: String,
        /// The driver's cause.
        source: sqlx::Error,
    },
    /// The tables could not be brought up to date.
    #[error("the database could not be migrated")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// The database did not do what it should.
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    /// There is no such row.
    #[error("there is no {what} {id}")]
    Missing {
        /// What was looked for.
        what: &'static str,
        /// By which id.
        id: String,
    },
    /// The name is in use.
    #[error("there is a {what} called {name} already")]
    Taken {
        /// What it would name.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Another node has claimed the run: whoever held it before writes nothing more of it.
    #[error("run {run} was claimed by another node")]
    Lost {
        /// Which run.
        run: String,
    },
    /// A row that cannot be read.
    #[error("row {id} of table {table} cannot be read")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// The row.
        id: String,
    },
    /// An event that cannot follow: a bug of ours.
    #[error("the run's log is broken")]
    Illegal(#[from] Illegal),
}

impl Error {
    /// Whether the database is away for now: the same may work again once it is back.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Database(cause) => is_away(cause),
            Self::Open { .. }
            | Self::Address
            | Self::Connect { .. }
            | Self::Migrate(_)
            | Self::Missing { .. }
            | Self::Taken { .. }
            | Self::Lost { .. }
            | Self::Corrupt { .. }
            | Self::Illegal(_) => false,
        }
    }
}

fn is_away(cause: &sqlx::Error) -> bool {
    // PostgreSQL: connection exceptions, too few resources, the operator's intervention, a failover's read-only server.
    // SQLite: busy, locked, read-only, I/O error and full, in the low byte of its extended codes.
    const SERVER: [&str; 4] = ["08", "53", "57", "25006"];
    const FILE: [i64; 5] = [5, 6, 8, 10, 13];
    if let Some(code) = cause.as_database_error().and_then(sqlx::error::DatabaseError::code) {
        // PostgreSQL's codes have five places, SQLite's at most four.
        return if code.len() == 5 {
            SERVER.iter().any(|class| code.starts_with(class))
        } else {
            code.parse::<i64>().is_ok_and(|code| FILE.contains(&(code & 0xff)))
        };
    }
    matches!(
        cause,
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed
    )
}

/// The store.
#[derive(Debug, Clone)]
pub struct Store {
    db: db::Db,
}

impl Store {
    /// Opens the SQLite file, making it and its tables if needed.
    ///
    /// # Errors
    /// [`Error::Open`] or [`Error::Migrate`].
    pub async fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self { db: db::Db::sqlite(path).await? })
    }

    /// The database of a service: the server at this address, or else the file in the data directory.
    ///
    /// # Errors
    /// As [`Store::open`] and [`Store::connect`].
    pub async fn of(data: &Path, server: Option<&str>) -> Result<Self, Error> {
        match server {
            Some(url) => Self::connect(url).await,
            None => Self::open(&data.join("countersign.db")).await,
        }
    }

    /// Connects to a PostgreSQL server, making the tables if needed.
    ///
    /// # Errors
    /// [`Error::Address`], [`Error::Connect`] or [`Error::Migrate`].
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Ok(Self { db: db::Db::postgres(url).await? })
    }
}

/// JSON as it is stored: PostgreSQL refuses NUL in text, so there is none in any of ours.
fn to_json<T: serde::Serialize>(value: &T) -> String {
    let text = serde_json::to_string(value).expect("our own types have string keys and no failing serialiser");
    text.replace("\\u0000", "\\ufffd")
}

fn from_json<T: serde::de::DeserializeOwned>(
    text: &str,
    table: &'static str,
    id: &dyn std::fmt::Display,
) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|_| Error::Corrupt { table, id: id.to_string() })
}

/// Text as it is stored: without NUL.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// An id read from a row.
fn parse<T: std::str::FromStr>(text: &str, table: &'static str) -> Result<T, Error> {
    text.parse().map_err(|_| Error::Corrupt { table, id: text.to_owned() })
}
