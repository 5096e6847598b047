//! The gateway's ledger of money, kept by the store.

use crate::clock;
use crate::cycle::id::CallId;
use crate::cycle::money::Money;
use crate::gateway::meter::{Ask, Basis, LedgerError, LedgerFuture, MoneyLedger, Reserve, Settlement};
use crate::store::{Call, Reservation, Store, Usage};

/// Reserves and settles in the database, so that a crash loses and doubles nothing.
#[derive(Debug, Clone)]
pub struct StoreLedger(pub Store);

fn broken(error: crate::store::Error) -> LedgerError {
    LedgerError(Box::new(error))
}

impl MoneyLedger for StoreLedger {
    fn reserve(&self, ask: Ask) -> LedgerFuture<'_, Reserve> {
        let Ask { call, lease, step, model, amount, ceiling } = ask;
        let call = Call { id: call.to_string(), lease, step, model, amount, ceiling };
        Box::pin(async move {
            let reservation = self.0.reserve(&call, clock::now()).await.map_err(broken)?;
            Ok(match reservation {
                Reservation::Reserved => Reserve::Reserved,
                Reservation::Refused { left } => Reserve::Refused { left },
            })
        })
    }

    fn settle(&self, call: CallId, settlement: Settlement) -> LedgerFuture<'_, ()> {
        let usage = Usage {
            read: settlement.tokens.prompt(),
            cached: settlement.tokens.cache_read,
            written: settlement.tokens.output,
            is_bound: settlement.basis == Basis::Bound,
        };
        Box::pin(async move { self.0.settle(&call.to_string(), settlement.cost, &usage).await.map_err(broken) })
    }

    fn release(&self, call: CallId) -> LedgerFuture<'_, ()> {
        Box::pin(async move { self.0.settle(&call.to_string(), Money::ZERO, &Usage::default()).await.map_err(broken) })
    }
}
