//! The database behind the store: one text per statement, the body expanded once per driver.

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use sqlx::migrate::{Migrate, Migration, MigrationSource, MigrationType, Migrator};
use sqlx::postgres::{PgConnectOptions, PgListener, PgPool, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Acquire, AssertSqlSafe, Executor, SqlSafeStr};

use super::Error;

/// How long a statement waits for another process's lock, and a caller for a free connection.
const BUSY: Duration = Duration::from_secs(5);
/// Connections of one process to PostgreSQL: its statements are short, and the server's default allows 100 in all.
const CONNECTIONS: u32 = 8;

/// The pools of one database.
#[derive(Debug, Clone)]
pub(super) enum Db {
    /// One file, WAL. SQLite has one writer by design, so writes queue here and not in its locks.
    Sqlite {
        /// Read-only connections.
        read: SqlitePool,
        /// The one writing connection.
        write: SqlitePool,
    },
    /// A server that several processes share.
    Postgres(PgPool),
}

/// Expands a body once per driver, so that every query is typed by its own.
macro_rules! on {
    ($db:expr, read |$c:ident| $body:expr) => {
        match $db {
            $crate::store::db::Db::Sqlite { read: $c, .. } => $body,
            $crate::store::db::Db::Postgres($c) => $body,
        }
    };
    ($db:expr, write |$c:ident| $body:expr) => {
        match $db {
            $crate::store::db::Db::Sqlite { write: $c, .. } => $body,
            $crate::store::db::Db::Postgres($c) => $body,
        }
    };
    // A transaction that may write begins so at once: one that upgrades later is refused as busy without waiting.
    // PostgreSQL reads what is committed, so whatever must not happen twice begins with the update of a row.
    ($db:expr, tx |$t:ident| $body:block) => {
        match $db {
            $crate::store::db::Db::Sqlite { write, .. } => {
                let mut $t = write.begin_with("BEGIN IMMEDIATE").await?;
                let result = $body;
                $t.commit().await?;
                result
            }
            $crate::store::db::Db::Postgres(pool) => {
                let mut $t = pool.begin().await?;
                let result = $body;
                $t.commit().await?;
                result
            }
        }
    };
}
pub(super) use on;

/// The one place where the dialects differ: what stands for `{now}` and `{blob}` in a migration.
#[derive(Debug, Clone, Copy)]
struct Dialect {
    /// The database's own clock, in microseconds since 1970.
    now: &'static str,
    /// The type of bytes.
    blob: &'static str,
}

const SQLITE: Dialect = Dialect { now: "cast(unixepoch('subsec') * 1000000 as integer)", blob: "blob" };
const POSTGRES: Dialect =
    Dialect { now: "cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)", blob: "bytea" };

const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "start", include_str!("../../migrations/0001_start.sql")),
    (2, "nodes", include_str!("../../migrations/0002_nodes.sql")),
    (3, "packs", include_str!("../../migrations/0003_packs.sql")),
];

impl MigrationSource<'static> for Dialect {
    fn resolve(
        self,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Vec<Migration>, sqlx::error::BoxDynError>> + Send + 'static>>
    {
        let one = move |(version, name, text): &(i64, &'static str, &'static str)| {
            // Fixed texts of ours make one.
            let text = text.replace("{now}", self.now).replace("{blob}", self.blob);
            let text = AssertSqlSafe(text).into_sql_str();
            Migration::new(*version, (*name).into(), MigrationType::Simple, text, false)
        };
        Box::pin(async move { Ok(MIGRATIONS.iter().map(one).collect()) })
    }
}

async fn migrate<'a, A>(dialect: Dialect, connections: A) -> Result<(), Error>
where
    A: Acquire<'a>,
    <A::Connection as std::ops::Deref>::Target: Migrate,
{
    Ok(Migrator::new(dialect).await?.run(connections).await?)
}

/// The channel on which PostgreSQL carries the news of a run.
const CHANNEL: &str = "run";

impl Db {
    /// Tells every process that a run has moved. It may be lost: whoever must not miss it looks for itself as well.
    pub(super) async fn announce(&self, run: &str) {
        let Self::Postgres(pool) = self else { return };
        let told = sqlx::query("select pg_notify($1, $2)").bind(CHANNEL).bind(run).execute(pool).await;
        if let Err(e) = told {
            tracing::debug!(run.id = run, error = &e as &dyn std::error::Error, "the news of a run is lost");
        }
    }

    /// The news of all processes; `None` where there is but one.
    pub(super) async fn listen(&self) -> Result<Option<PgListener>, sqlx::Error> {
        let Self::Postgres(pool) = self else { return Ok(None) };
        let mut listener = PgListener::connect_with(pool).await?;
        listener.listen(CHANNEL).await?;
        Ok(Some(listener))
    }

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
        migrate(SQLITE, &write).await?;
        let read =
            SqlitePoolOptions::new().max_connections(4).connect_with(options.read_only(true)).await.map_err(opened)?;
        let db = Self::Sqlite { read, write };
        db.prepare_all().await?;
        Ok(db)
    }

    /// Connects to the server and brings its tables up to date; processes that start at once take turns.
    pub(super) async fn postgres(url: &str) -> Result<Self, Error> {
        // The driver's message for a bad address quotes it, with its password.
        let options = PgConnectOptions::from_str(url).map_err(|_| Error::Address)?;
        let options = options.application_name("countersign");
        let place = format!("{}:{}", options.get_host(), options.get_port());
        let connected = |source| Error::Connect { place, source };
        let pool = PgPoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(BUSY);
        let pool = pool.connect_with(options).await.map_err(connected)?;
        migrate(POSTGRES, &pool).await?;
        let db = Self::Postgres(pool);
        db.prepare_all().await?;
        Ok(db)
    }

    /// A statement that the tables cannot answer is noticed at the start and not in the middle of a run.
    async fn prepare_all(&self) -> Result<(), Error> {
        on!(
            self,
            write | pool | {
                let mut connection = pool.acquire().await?;
                for (_, text) in super::sql::ALL {
                    connection.prepare((*text).into_sql_str()).await?;
                }
            }
        );
        Ok(())
    }
}
