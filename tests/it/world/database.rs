//! On which database these tests run: a file each, or each a database of its own on the server of `scripts/postgres`.

use std::env::var;

use sqlx::{AssertSqlSafe, PgPool};

/// The address of a new database, where `TEST_ON` says `postgres`.
pub(super) async fn fresh() -> Option<String> {
    if var("TEST_ON").ok()? != "postgres" {
        return None;
    }
    Some(server().await.expect("run this by scripts/postgres, which starts the server"))
}

/// The address of a new database on the server; `None` where there is no server, which CI does not let pass.
pub(super) async fn server() -> Option<String> {
    let Ok(server) = var("TEST_POSTGRES") else {
        assert!(var("CI").is_err(), "CI has no PostgreSQL: run this by scripts/postgres");
        eprintln!("SKIPPED: there is no PostgreSQL; scripts/postgres COMMAND… runs a command with one");
        return None;
    };
    let name = format!("w{}", uuid::Uuid::now_v7().simple());
    let pool = PgPool::connect(&server).await.unwrap();
    sqlx::query(AssertSqlSafe(format!("create database {name}"))).execute(&pool).await.unwrap();
    pool.close().await;
    Some(server.replace("/postgres?", &format!("/{name}?")))
}
