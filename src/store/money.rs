//! The money of model calls: reserved before they are sent, settled after.

use super::db::on;
use super::leases::{fence, lost};
use super::{Error, Store, from_json, sql, to_json};
use crate::clock::Stamp;
use crate::cycle::id::{Lease, RunId};
use crate::cycle::money::Money;

/// A model call that wants to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The call's own id.
    pub id: String,
    /// Whose money, and by which right.
    pub lease: Lease,
    /// The sequence number of the event that began the step.
    pub step: u64,
    /// The model's name.
    pub model: String,
    /// The worst case.
    pub amount: Money,
    /// What the run's settled and reserved money may come to.
    pub ceiling: Money,
}

/// Whether there was enough left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reservation {
    /// The amount is set aside.
    Reserved,
    /// It would break the ceiling; nothing was set aside.
    Refused {
        /// What is left below the ceiling; never negative.
        left: Money,
    },
}

/// A call as it is stored: step, model, reserved, settled, usage as JSON.
type Row = (i64, String, i64, Option<i64>, Option<String>);

impl Store {
    /// Sets the amount aside, atomically over all callers and processes, or refuses.
    ///
    /// # Errors
    /// The database's; [`Error::Lost`].
    pub async fn reserve(&self, call: &Call, now: Stamp) -> Result<Reservation, Error> {
        let run = call.lease.run.to_string();
        let amount = call.amount.picodollars();
        let reservation = on!(
            &self.db,
            tx | t | {
                let taken = sqlx::query(sql::RESERVE)
                    .bind(&run)
                    .bind(amount)
                    .bind(call.ceiling.picodollars())
                    .bind(fence(call.lease))
                    .execute(&mut *t)
                    .await?
                    .rows_affected();
                if taken == 1 {
                    sqlx::query(sql::INSERT_CALL)
                        .bind(&call.id)
                        .bind(&run)
                        .bind(i64::try_from(call.step).unwrap_or(i64::MAX))
                        .bind(&call.model)
                        .bind(amount)
                        .bind(now.0)
                        .execute(&mut *t)
                        .await?;
                    Reservation::Reserved
                } else {
                    let held: Option<(i64,)> = sqlx::query_as(sql::GET_COMMITTED)
                        .bind(&run)
                        .bind(fence(call.lease))
                        .fetch_optional(&mut *t)
                        .await?;
                    let Some((committed,)) = held else { return Err(lost(call.lease)) };
                    let committed = Money::from_picodollars(committed);
                    Reservation::Refused { left: call.ceiling.minus(committed).max(Money::ZERO) }
                }
            }
        );
        Ok(reservation)
    }

    /// Replaces a reservation by what the call cost; a call that is settled stays as it is.
    ///
    /// # Errors
    /// The database's.
    pub async fn settle<U: serde::Serialize>(&self, call: &str, cost: Money, usage: &U) -> Result<(), Error> {
        on!(
            &self.db,
            tx | t | {
                let open: Option<(String, i64)> = sqlx::query_as(sql::SETTLE_CALL)
                    .bind(call)
                    .bind(cost.picodollars())
                    .bind(to_json(usage))
                    .fetch_optional(&mut *t)
                    .await?;
                if let Some((run, reserved)) = open {
                    sqlx::query(sql::GIVE_BACK)
                        .bind(run)
                        .bind(Money::from_picodollars(reserved).minus(cost).picodollars())
                        .execute(&mut *t)
                        .await?;
                }
            }
        );
        Ok(())
    }

    /// What a step cost: its settled calls, and the reservations that were never settled.
    ///
    /// # Errors
    /// The database's.
    pub async fn spent_in_step(&self, run: RunId, step: u64) -> Result<Money, Error> {
        let (sum,): (i64,) = on!(
            &self.db,
            read | c
                | sqlx::query_as(sql::SUM_STEP)
                    .bind(run.to_string())
                    .bind(i64::try_from(step).unwrap_or(i64::MAX))
                    .fetch_one(c)
                    .await?
        );
        Ok(Money::from_picodollars(sum))
    }

    /// The settled usage of each call of a run, with the step it was made in, in order.
    ///
    /// # Errors
    /// The database's; [`Error::Corrupt`] for a row that cannot be read.
    pub async fn list_usage<U: serde::de::DeserializeOwned>(&self, run: RunId) -> Result<Vec<(u64, U)>, Error> {
        let rows: Vec<Row> =
            on!(&self.db, read | c | sqlx::query_as(sql::LIST_CALLS).bind(run.to_string()).fetch_all(c).await?);
        let settled = rows.into_iter().filter_map(|(step, _, _, _, usage)| usage.map(|u| (step, u)));
        settled.map(|(step, usage)| Ok((step.unsigned_abs(), from_json(&usage, "model_call", &run)?))).collect()
    }
}
