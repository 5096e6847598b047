//! On which database these tests run: a file each, or each a database of its own on the server of `scripts/postgres`.

use std::env::var;

use sqlx::{AssertSqlSafe, PgPool};

/// The address of a new database, where `TEST_ON` says `postgres`.
pub(super) async fn fresh() -> Option<String> {
    if var("TEST_ON").ok()? != "postgres" {
        return None;
    }
    let server = var("TEST_POSTGRES").expect("run this by scripts/postgres, which starts the server");
    let name = format!("w{}", uuid::Uuid::now_v7().simple());
    let pool = PgPool::connect(&server).await.unwrap();
    sqlx::query(AssertSqlSafe(format!("create database {name}"))).execute(&pool).await.unwrap();
    pool.close().await;
    Some(server.replace("/postgres?", &format!("/{name}?")))
}
