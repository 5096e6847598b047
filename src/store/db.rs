//! The database behind the store: one text per statement, the body expanded once per driver.

use std::path::Path;
use std::time::Duration;

use sqlx::Executor;
use sqlx::migrate::{Migration, MigrationSource, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};

use super::Error;

/// How long a statement waits for another process's lock.
const BUSY: Duration = Duration::from_secs(5);

/// The pools of one database. SQLite has one writer by design, so writes queue here and not in its locks.
#[derive(Debug, Clone)]
pub(super) enum Db {
    /// One file, WAL.
    Sqlite {
        /// Read-only connections.
        read: SqlitePool,
        /// The one writing connection.
        write: SqlitePool,
    },
}

/// Expands a body once per driver, so that every query is typed by its own.
macro_rules! on {
    ($db:expr, read |$c:ident| $body:expr) => {
        match $db {
            $crate::store::db::Db::Sqlite { read: $c, .. } => $body,
        }
    };
    ($db:expr, write |$c:ident| $body:expr) => {
        match $db {
            $crate::store::db::Db::Sqlite { write: $c, .. } => $body,
        }
    };
    // A transaction that may write begins so at once: one that upgrades later is refused as busy without waiting.
    ($db:expr, tx |$t:ident| $body:block) => {
        match $db {
            $crate::store::db::Db::Sqlite { write, .. } => {
                let mut $t = write.begin_with("BEGIN IMMEDIATE").await?;
                let result = $body;
                $t.commit().await?;
                result
            }
        }
    };
}
pub(super) use on;

#[derive(Debug)]
struct Embedded;

const MIGRATIONS: &[(i64, &str, &str)] = &[(1, "start", include_str!("../../migrations/0001_start.sql"))];

impl MigrationSource<'static> for Embedded {
    fn resolve(
        self,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Vec<Migration>, sqlx::error::BoxDynError>> + Send + 'static>>
    {
        let one = |(version, name, text): &(i64, &'static str, &'static str)| {
            let text = sqlx::SqlSafeStr::into_sql_str(*text);
            Migration::new(*version, (*name).into(), MigrationType::Simple, text, false)
        };
        Box::pin(async move { Ok(MIGRATIONS.iter().map(one).collect()) })
    }
}

impl Db {
    /// Opens or makes the file and brings its tables up to date.
    pub(super) async fn sqlite(path: &Path) -> Result<Self, Error> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // What a run is made of must survive a power cut, not only a crash of ours.
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY)
            .foreign_keys(true);
        let opened = |source| Error::Open { path: path.to_owned(), source };
        let write = SqlitePoolOptions::new().max_connections(1).connect_with(options.clone()).await.map_err(opened)?;
        Migrator::new(Embedded).await?.run(&write).await?;
        let read =
            SqlitePoolOptions::new().max_connections(4).connect_with(options.read_only(true)).await.map_err(opened)?;
        prepare_all(&write).await?;
        Ok(Self::Sqlite { read, write })
    }
}

/// A statement that the tables cannot answer is noticed at the start and not in the middle of a run.
async fn prepare_all(pool: &SqlitePool) -> Result<(), Error> {
    let mut connection = pool.acquire().await?;
    for (_, text) in super::sql::ALL {
        connection.prepare(sqlx::SqlSafeStr::into_sql_str(*text)).await?;
    }
    Ok(())
}
