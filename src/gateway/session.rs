//! A session: one agent in one step of a run, with what it may use and what it has used.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::{Mutex as AsyncMutex, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::meter::{Basis, Settlement, Tokens};
use super::prices::Price;
use super::providers::Provider;
use super::secret::TokenDigest;
use super::upstream::{Line, Passed};
use super::wire::anthropic::Inspected;
use crate::cycle::id::Lease;
use crate::cycle::money::Money;

/// Who will call, and what it may use.
#[derive(Debug, Clone)]
pub struct Session {
    /// Whose money, and by which right.
    pub lease: Lease,
    /// The number of the fact that began the step, for the record.
    pub step: u64,
    /// The step and the role, for the log.
    pub label: String,
    /// Where its calls go.
    pub provider: &'static Provider,
    /// The models that it may name; each must have a price.
    pub models: Vec<String>,
    /// The most that the run's settled and reserved amounts may come to through this session's calls. It is counted
    /// from the start of the run and not of the session: for a writing step, 80 % of the run's money.
    pub ceiling: Money,
}

/// What a session has used, and what stood in its way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// What its calls cost, as far as they are settled.
    pub spent: Money,
    /// Whether all of that is the provider's own count.
    pub basis: Option<Basis>,
    /// Calls that reached the provider and are settled.
    pub calls: u64,
    /// Tokens of those calls.
    pub tokens: Tokens,
    /// Why the step cannot go on as it is, if so.
    pub stop: Option<Stop>,
}

/// Why calls do not get their answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// A call was refused, because even a short answer could pass the ceiling. Stays.
    MoneyRefused {
        /// The worst case of the call with the shortest useful answer.
        needed: Money,
        /// What was left.
        left: Money,
    },
    /// An answer ended at the output limit that we had lowered. Stays.
    OutputCut {
        /// That limit.
        limit: u64,
    },
    /// The provider does not take our key, or our account. Goes with the next answer.
    ProviderRefused {
        /// 401, 402 or 403.
        status: u16,
    },
    /// The provider cannot be reached or cannot answer. Goes with the next answer.
    ProviderDown {
        /// What it said, if anything.
        status: Option<u16>,
    },
    /// The provider asks to wait. Goes with the next answer.
    RateLimited {
        /// How long, counted from when this was reported, if it said.
        retry_after: Option<Duration>,
    },
    /// The ledger of money cannot be written, so nothing can be reserved. Goes with the next answer.
    LedgerDown,
}

impl Stop {
    fn stays(&self) -> bool {
        match self {
            Self::MoneyRefused { .. } | Self::OutputCut { .. } => true,
            Self::ProviderRefused { .. } | Self::ProviderDown { .. } | Self::RateLimited { .. } | Self::LedgerDown => {
                false
            }
        }
    }
}

impl Report {
    /// Takes over what happened last, unless something that stays happened before.
    fn note(&mut self, stop: Option<Stop>) {
        if !self.stop.as_ref().is_some_and(Stop::stays) {
            self.stop = stop;
        }
    }

    fn add(&mut self, settlement: &Settlement) {
        self.spent = self.spent.plus(settlement.cost);
        self.tokens = self.tokens.plus(settlement.tokens);
        self.calls = self.calls.saturating_add(1);
        self.basis = match (self.basis, settlement.basis) {
            (Some(Basis::Bound), _) | (_, Basis::Bound) => Some(Basis::Bound),
            (Some(Basis::Measured) | None, Basis::Measured) => Some(Basis::Measured),
        };
    }
}

/// A session that takes calls.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) session: Session,
    pub(super) line: Arc<Line>,
    pub(super) prices: HashMap<String, Price>,
    /// How many calls it may have under way.
    pub(super) permits: Arc<Semaphore>,
    /// Held while a reservation is attempted, so that `reserved` is true to the ledger whenever it is free.
    pub(super) reserving: AsyncMutex<()>,
    /// How many calls are reserved and not settled.
    pub(super) reserved: watch::Sender<usize>,
    pub(super) report: watch::Sender<Report>,
    pub(super) closing: CancellationToken,
    billed: Mutex<VecDeque<Billed>>,
}

/// A request whose input the provider has counted.
#[derive(Debug)]
pub(super) struct Billed {
    pub(super) passed: Passed,
    pub(super) inspected: Inspected,
    pub(super) body: Bytes,
    pub(super) tokens: u64,
}

/// How many counted requests are kept: an agent has few conversations at a time.
const KEPT: usize = 4;
/// The largest counted request that is kept.
const KEPT_BYTES: usize = 8 << 20;

impl Open {
    pub(super) fn new(session: Session, line: Arc<Line>, prices: HashMap<String, Price>, calls: usize) -> Self {
        Self {
            session,
            line,
            prices,
            permits: Arc::new(Semaphore::new(calls)),
            reserving: AsyncMutex::new(()),
            reserved: watch::Sender::new(0),
            report: watch::Sender::new(Report::default()),
            closing: CancellationToken::new(),
            billed: Mutex::new(VecDeque::new()),
        }
    }

    /// The most input tokens of a request, made smaller by what the provider has counted before.
    pub(super) fn input_bound(&self, passed: &Passed, inspected: &Inspected, body: &str) -> u64 {
        let billed = lock(&self.billed);
        // A header can change what the provider makes of the same bytes.
        let alike = billed.iter().filter(|earlier| earlier.passed == *passed);
        let after = alike.filter_map(|earlier| {
            let text = std::str::from_utf8(&earlier.body).ok()?;
            inspected.input_bound_after(body, &earlier.inspected, text, earlier.tokens)
        });
        after.fold(inspected.input_bound(), u64::min)
    }

    pub(super) fn remember(&self, billed: Billed) {
        if billed.body.len() > KEPT_BYTES {
            return;
        }
        let mut kept = lock(&self.billed);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(billed);
    }

    pub(super) fn note(&self, stop: Option<Stop>) {
        self.report.send_modify(|report| report.note(stop));
    }

    pub(super) fn add(&self, settlement: &Settlement) {
        self.report.send_modify(|report| report.add(settlement));
    }
}

/// The open sessions, by what their tokens hash to.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<TokenDigest, Arc<Open>>>);

impl Sessions {
    pub(super) fn insert(&self, token: TokenDigest, open: Arc<Open>) {
        lock(&self.0).insert(token, open);
    }

    pub(super) fn get(&self, token: TokenDigest) -> Option<Arc<Open>> {
        lock(&self.0).get(&token).cloned()
    }

    pub(super) fn remove(&self, token: TokenDigest) -> Option<Arc<Open>> {
        lock(&self.0).remove(&token)
    }

    pub(super) fn drain(&self) -> Vec<Arc<Open>> {
        lock(&self.0).drain().map(|(_, open)| open).collect()
    }
}

/// Nothing that is done under these locks can leave their contents half-changed, so a panic elsewhere does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_for_money_is_not_forgotten_over_a_later_answer() {
        let mut report = Report::default();
        report.note(Some(Stop::RateLimited { retry_after: None }));
        report.note(None);
        assert_eq!(report.stop, None);
        let refused = Stop::MoneyRefused { needed: Money::from_cents(2), left: Money::from_cents(1) };
        report.note(Some(refused.clone()));
        report.note(Some(Stop::ProviderDown { status: Some(529) }));
        report.note(None);
        assert_eq!(report.stop, Some(refused));
    }

    #[test]
    fn one_bound_makes_the_sum_a_bound() {
        let settlement = |basis| Settlement { cost: Money::from_cents(1), tokens: Tokens::default(), basis };
        let mut report = Report::default();
        report.add(&settlement(Basis::Measured));
        assert_eq!(report.basis, Some(Basis::Measured));
        report.add(&settlement(Basis::Bound));
        report.add(&settlement(Basis::Measured));
        assert_eq!((report.basis, report.calls, report.spent), (Some(Basis::Bound), 3, Money::from_cents(3)));
    }
}
