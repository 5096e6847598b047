//! Who may write of a run: leases by the database's clock, with a fencing number in every write of a holder.

use std::collections::BTreeSet;
use std::time::Duration;

use super::db::on;
use super::{Error, Store, parse, sql};
use crate::cycle::id::{Lease, NodeId, RunId};

/// How many free runs are looked at in one go.
const LOOKED_AT: usize = 16;

impl Store {
    /// Claims the run that has waited longest and that nobody holds, for this long; `None` if there is none. A run that
    /// this node already `holds` is not claimed again; one that it held in an earlier life is free at once.
    ///
    /// # Errors
    /// The database's.
    pub async fn claim(
        &self,
        node: NodeId,
        term: Duration,
        holds: impl Fn(&RunId) -> bool,
    ) -> Result<Option<Lease>, Error> {
        let mut passed_over = BTreeSet::new();
        loop {
            let free = self.list_free(node, passed_over.len() + LOOKED_AT).await?;
            let Some(run) = free.into_iter().find(|run| !passed_over.contains(run)) else { return Ok(None) };
            if !holds(&run)
                && let Some(lease) = self.claim_run(run, node, term).await?
            {
                return Ok(Some(lease));
            }
            passed_over.insert(run);
        }
    }

    /// Listens for news of other processes; `None` where there can be no other.
    ///
    /// # Errors
    /// The database's.
    pub async fn listen(&self) -> Result<Option<News>, Error> {
        Ok(self.db.listen().await?.map(News))
    }

    async fn list_free(&self, node: NodeId, limit: usize) -> Result<Vec<RunId>, Error> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows: Vec<(String,)> = on!(
            &self.db,
            read | c | sqlx::query_as(sql::LIST_FREE).bind(node.to_string()).bind(limit).fetch_all(c).await?
        );
        rows.iter().map(|(id,)| parse(id, "run")).collect()
    }

    async fn claim_run(&self, run: RunId, node: NodeId, term: Duration) -> Result<Option<Lease>, Error> {
        let row: Option<(i64,)> = on!(
            &self.db,
            write
                | c
                | sqlx::query_as(sql::CLAIM_RUN)
                    .bind(run.to_string())
                    .bind(node.to_string())
                    .bind(micros(term))
                    .fetch_optional(c)
                    .await?
        );
        Ok(row.map(|(fence,)| Lease { run, fence: fence.unsigned_abs() }))
    }

    /// Holds the run for this long from now; `false` if another node has claimed it.
    ///
    /// # Errors
    /// The database's.
    pub async fn renew(&self, lease: Lease, term: Duration) -> Result<bool, Error> {
        let renewed = on!(
            &self.db,
            write
                | c
                | sqlx::query(sql::RENEW_LEASE)
                    .bind(lease.run.to_string())
                    .bind(fence(lease))
                    .bind(micros(term))
                    .execute(c)
                    .await?
                    .rows_affected()
        );
        Ok(renewed == 1)
    }

    /// Lets go of the run, so that the next who looks may claim it; nothing if another node has it already.
    ///
    /// # Errors
    /// The database's.
    pub async fn give_up(&self, lease: Lease) -> Result<(), Error> {
        on!(
            &self.db,
            write
                | c
                | sqlx::query(sql::GIVE_UP_LEASE)
                    .bind(lease.run.to_string())
                    .bind(fence(lease))
                    .execute(c)
                    .await?
                    .rows_affected()
        );
        Ok(())
    }
}

/// The news that runs have moved, from every process on the database.
#[derive(Debug)]
pub struct News(sqlx::postgres::PgListener);

impl News {
    /// Returns once a run has moved somewhere, or may have while the connection was away.
    ///
    /// # Errors
    /// The database's: listen anew.
    pub async fn next(&mut self) -> Result<(), Error> {
        self.0.try_recv().await?;
        Ok(())
    }
}

/// Keeps the run from being claimed until this transaction ends, or refuses.
macro_rules! guard {
    ($t:expr, $lease:expr) => {{
        let guarded = sqlx::query(sql::GUARD_RUN)
            .bind($lease.run.to_string())
            .bind($crate::store::leases::fence($lease))
            .execute(&mut *$t)
            .await?
            .rows_affected();
        if guarded == 0 {
            return Err($crate::store::leases::lost($lease));
        }
    }};
}
pub(super) use guard;

pub(super) fn fence(lease: Lease) -> i64 {
    i64::try_from(lease.fence).unwrap_or(i64::MAX)
}

pub(super) fn lost(lease: Lease) -> Error {
    Error::Lost { run: lease.run.to_string() }
}

fn micros(term: Duration) -> i64 {
    i64::try_from(term.as_micros()).unwrap_or(i64::MAX)
}
