//! A ledger in memory that also watches the rule it exists for.

use std::collections::HashMap;
use std::sync::Mutex;

use countersign::cycle::id::{CallId, RunId};
use countersign::cycle::money::Money;
use countersign::gateway::meter::{Ask, LedgerError, LedgerFuture, MoneyLedger, Reserve, Settlement};

#[derive(Default)]
pub(super) struct MemoryLedger(Mutex<Books>);

#[derive(Default)]
struct Books {
    runs: HashMap<RunId, Run>,
    calls: HashMap<CallId, RunId>,
    broken: bool,
}

#[derive(Default, Clone)]
struct Run {
    settled: Money,
    reserved: HashMap<CallId, Money>,
    /// The most that was ever settled and reserved together.
    peak: Money,
    /// The most calls that were ever reserved at once.
    crowd: usize,
    settlements: Vec<Settlement>,
    amounts: Vec<Money>,
}

impl Run {
    fn used(&self) -> Money {
        self.settled.plus(self.reserved.values().copied().sum())
    }
}

impl MemoryLedger {
    pub(super) fn settled(&self, run: RunId) -> Money {
        self.of(run).settled
    }

    pub(super) fn reserved(&self, run: RunId) -> Money {
        self.of(run).reserved.values().copied().sum()
    }

    pub(super) fn open_calls(&self, run: RunId) -> usize {
        self.of(run).reserved.len()
    }

    pub(super) fn peak(&self, run: RunId) -> Money {
        self.of(run).peak
    }

    pub(super) fn crowd(&self, run: RunId) -> usize {
        self.of(run).crowd
    }

    pub(super) fn settlements(&self, run: RunId) -> Vec<Settlement> {
        self.of(run).settlements
    }

    /// What was reserved for each call, in order.
    pub(super) fn amounts(&self, run: RunId) -> Vec<Money> {
        self.of(run).amounts
    }

    /// Nothing can be written from now on.
    pub(super) fn break_down(&self) {
        self.0.lock().unwrap().broken = true;
    }

    fn of(&self, run: RunId) -> Run {
        self.0.lock().unwrap().runs.get(&run).cloned().unwrap_or_default()
    }

    fn write<T>(&self, change: impl FnOnce(&mut Books) -> T) -> Result<T, LedgerError> {
        let mut books = self.0.lock().unwrap();
        if books.broken {
            return Err(LedgerError("the disk is full".into()));
        }
        Ok(change(&mut books))
    }
}

impl MoneyLedger for MemoryLedger {
    fn reserve(&self, ask: Ask) -> LedgerFuture<'_, Reserve> {
        Box::pin(async move {
            // A real ledger takes time, in which others come.
            tokio::task::yield_now().await;
            self.write(|books| {
                let run = books.runs.entry(ask.lease.run).or_default();
                assert!(ask.amount >= Money::ZERO, "a negative amount frees money");
                assert!(!run.reserved.contains_key(&ask.call), "one call is reserved twice");
                let left = ask.ceiling.minus(run.used());
                if ask.amount > left {
                    return Reserve::Refused { left };
                }
                run.reserved.insert(ask.call, ask.amount);
                run.amounts.push(ask.amount);
                run.peak = run.peak.max(run.used());
                run.crowd = run.crowd.max(run.reserved.len());
                books.calls.insert(ask.call, ask.lease.run);
                Reserve::Reserved
            })
        })
    }

    fn settle(&self, call: CallId, settlement: Settlement) -> LedgerFuture<'_, ()> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            self.write(|books| {
                let run = books.calls.remove(&call).and_then(|run| books.runs.get_mut(&run));
                let run = run.expect("only a reserved call is settled");
                run.reserved.remove(&call);
                run.settled = run.settled.plus(settlement.cost);
                run.settlements.push(settlement);
                run.peak = run.peak.max(run.used());
            })
        })
    }

    fn release(&self, call: CallId) -> LedgerFuture<'_, ()> {
        Box::pin(async move {
            self.write(|books| {
                let run = books.calls.remove(&call).and_then(|run| books.runs.get_mut(&run));
                run.expect("only a reserved call is released").reserved.remove(&call);
            })
        })
    }
}
