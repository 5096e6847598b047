//! What writing steps made, kept where every node finds it.

use super::db::on;
use super::leases::guard;
use super::{Error, Store, parse, sql};
use crate::cycle::id::{CommitId, Lease, RunId};

/// A commit with the objects that the one before it has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pack {
    /// The commit.
    pub commit: CommitId,
    /// A git pack.
    pub bytes: Vec<u8>,
}

impl Store {
    /// Keeps what a step made.
    ///
    /// # Errors
    /// The database's; [`Error::Lost`].
    pub async fn keep_pack(&self, lease: Lease, step: u64, pack: &Pack) -> Result<(), Error> {
        on!(
            &self.db,
            tx | t | {
                guard!(t, lease);
                sqlx::query(sql::KEEP_PACK)
                    .bind(lease.run.to_string())
                    .bind(i64::try_from(step).unwrap_or(i64::MAX))
                    .bind(pack.commit.as_str())
                    .bind(&pack.bytes[..])
                    .execute(&mut *t)
                    .await?;
            }
        );
        Ok(())
    }

    /// What the steps of a run made, in order.
    ///
    /// # Errors
    /// The database's; [`Error::Corrupt`].
    pub async fn list_packs(&self, run: RunId) -> Result<Vec<Pack>, Error> {
        let rows: Vec<(String, Vec<u8>)> =
            on!(&self.db, read | c | sqlx::query_as(sql::LIST_PACKS).bind(run.to_string()).fetch_all(c).await?);
        rows.into_iter().map(|(commit, bytes)| Ok(Pack { commit: parse(&commit, "pack")?, bytes })).collect()
    }
}
