//! The ledger of money, as the gateway needs it: kept by the store, since reservations must outlive a crash.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;

use super::Tokens;
use crate::cycle::id::{CallId, Lease};
use crate::cycle::money::Money;

/// A boxed future of the ledger's.
pub type LedgerFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, LedgerError>> + Send + 'a>>;

/// Where reservations and costs are kept.
///
/// A call is reserved once, and then settled or released once. A reservation that was neither (the process died) counts
/// as spent. Settling or releasing a call that is no longer reserved changes nothing and is no error, so that either
/// can be repeated.
pub trait MoneyLedger: Send + Sync + 'static {
    /// Reserves `ask.amount` if the run's settled and reserved amounts together stay within `ask.ceiling`, in one step
    /// that no other call can come between.
    fn reserve(&self, ask: Ask) -> LedgerFuture<'_, Reserve>;

    /// Replaces the call's reservation by what it cost, which may be more than was reserved.
    fn settle(&self, call: CallId, settlement: Settlement) -> LedgerFuture<'_, ()>;

    /// Drops the call's reservation: it cost nothing.
    fn release(&self, call: CallId) -> LedgerFuture<'_, ()>;
}

/// What is to be reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The call, named anew for each attempt that reaches the provider.
    pub call: CallId,
    /// Whose money, and by which right.
    pub lease: Lease,
    /// The number of the fact that began the step in which it is made.
    pub step: u64,
    /// The model, for the record.
    pub model: String,
    /// The worst case of the call; never negative.
    pub amount: Money,
    /// The most that the run's settled and reserved amounts may come to, this one included.
    pub ceiling: Money,
}

/// Whether it was reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserve {
    /// It was.
    Reserved,
    /// It was not: only this much is left under the ceiling (less than asked, and negative where an earlier call cost
    /// more than its reservation).
    Refused {
        /// The ceiling less what is settled and reserved.
        left: Money,
    },
}

/// What a call cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settlement {
    /// The amount.
    pub cost: Money,
    /// The tokens that it is the price of; with [`Basis::Bound`] partly the most there can have been.
    pub tokens: Tokens,
    /// What the amount rests on.
    pub basis: Basis,
}

/// What a cost rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The provider's own count.
    Measured,
    /// The most that it can have been, because the provider's count did not arrive whole.
    Bound,
}

/// The ledger could not be reached or written.
#[derive(Debug, thiserror::Error)]
#[error("the ledger of money cannot be written")]
pub struct LedgerError(#[source] pub Box<dyn Error + Send + Sync>);
