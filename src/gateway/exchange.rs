//! One call: reserve, forward, settle.
//!
//! It runs in a task of its own, so that what was reserved is settled although the client went away in the middle.

use std::error::Error;
use std::sync::Arc;

use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use tokio::sync::oneshot;
use tracing::{debug, error};

use super::Inner;
use super::forward::{self, Outcome};
use super::meter::{Ask, Fit, LEAST_OUTPUT, LedgerError, Quote, Reserve, Settlement};
use super::prices::Price;
use super::reply::Refused;
use super::session::{Billed, Open, Session, Stop};
use super::upstream::Passed;
use super::wire::anthropic::{Inspected, Seen, StopReason};
use crate::cycle::id::CallId;
use crate::cycle::money::Money;

/// A request that may be forwarded once its worst case is reserved.
pub(super) struct Call {
    pub(super) id: CallId,
    pub(super) gateway: Arc<Inner>,
    pub(super) open: Arc<Open>,
    pub(super) passed: Passed,
    pub(super) body: Bytes,
    pub(super) inspected: Inspected,
    pub(super) price: Price,
}

/// A reservation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Granted {
    quote: Quote,
    /// The output limit that goes to the provider.
    pub(super) limit: u64,
}

/// Why nothing was reserved.
enum NotGranted {
    Money {
        needed: Money,
        left: Money,
    },
    Ledger(LedgerError),
    /// The client went away or the session ends, so nobody waits for an answer.
    Gone,
}

impl Call {
    /// Carries the call out and answers it.
    pub(super) async fn run(self, mut answer: oneshot::Sender<Response>) {
        match self.reserve(&mut answer).await {
            Ok(granted) => {
                let done = forward::forward(&self, &granted, answer).await;
                self.settle(&granted, done.outcome).await;
                done.tail.deliver(self.gateway.limits.idle).await;
            }
            Err(why) => {
                // The client may have gone; then nobody is left to tell.
                let _ = answer.send(self.refuse(why).into_response());
            }
        }
    }

    /// Reserves the worst case, with the output limit that was asked for if that fits.
    ///
    /// While other calls of the session are under way they hold their worst cases, which are far over what they will
    /// cost; so a call that does not fit whole waits for them, and is lowered or refused only when nothing more will
    /// come free.
    async fn reserve(&self, answer: &mut oneshot::Sender<Response>) -> Result<Granted, NotGranted> {
        let mut others = self.open.reserved.subscribe();
        loop {
            if let Some(granted) = self.attempt().await? {
                return Ok(granted);
            }
            tokio::select! {
                biased;
                () = self.open.closing.cancelled() => return Err(NotGranted::Gone),
                () = answer.closed() => return Err(NotGranted::Gone),
                _ = others.changed() => {}
            }
        }
    }

    /// `None` where the call should wait for others of the session.
    async fn attempt(&self) -> Result<Option<Granted>, NotGranted> {
        let _alone = self.open.reserving.lock().await;
        if self.open.closing.is_cancelled() {
            return Err(NotGranted::Gone);
        }
        // Looked at before the ledger is asked: what comes free in between is then not taken for missing.
        let others = *self.open.reserved.borrow() > 0;
        let quote = self.quote();
        let mut limit = quote.asked;
        let mut before = None;
        while let Reserve::Refused { left } = self.ask(&quote, limit).await.map_err(NotGranted::Ledger)? {
            if others {
                return Ok(None);
            }
            // Only another session of the run can have taken more meanwhile; what is left never grows then.
            limit = match quote.fit(left) {
                Fit::Limit(limit) if self.leaves_room_to_think(limit) && before.is_none_or(|before| left < before) => {
                    limit
                }
                Fit::Limit(_) | Fit::Nothing => {
                    let needed = quote.cost(quote.asked.min(LEAST_OUTPUT));
                    return Err(NotGranted::Money { needed, left });
                }
            };
            before = Some(left);
        }
        self.open.reserved.send_modify(|count| *count += 1);
        Ok(Some(Granted { quote, limit }))
    }

    async fn ask(&self, quote: &Quote, limit: u64) -> Result<Reserve, LedgerError> {
        let Session { lease, step, ceiling, .. } = self.open.session;
        let (model, amount) = (self.inspected.model.clone(), quote.cost(limit));
        self.gateway.ledger.reserve(Ask { call: self.id, lease, step, model, amount, ceiling }).await
    }

    fn quote(&self) -> Quote {
        let bound = self.open.input_bound(&self.passed, &self.inspected, self.text());
        Quote::new(&self.price, bound, self.inspected.cached_for_an_hour, self.inspected.max_tokens)
    }

    /// The provider refuses a limit that is not over the thinking budget.
    fn leaves_room_to_think(&self, limit: u64) -> bool {
        self.inspected.thinking_budget.is_none_or(|budget| limit > budget)
    }

    /// The client's body.
    pub(super) fn text(&self) -> &str {
        // It was read as text when it came.
        std::str::from_utf8(&self.body).unwrap_or_default()
    }

    /// Records why nothing was reserved, and says it to the client.
    fn refuse(&self, why: NotGranted) -> Refused {
        match why {
            NotGranted::Money { needed, left } => {
                self.open.note(Some(Stop::MoneyRefused { needed, left }));
                let left = left.max(Money::ZERO);
                debug!(run.id = %self.open.session.lease.run, %needed, %left, "a call is refused for money");
                Refused::money(format!("the run's money is used up: this call could cost {needed}, and {left} is left"))
            }
            NotGranted::Ledger(error) => {
                error!(run.id = %self.open.session.lease.run, error = &error as &dyn Error, "a call cannot be reserved");
                self.open.note(Some(Stop::LedgerDown));
                Refused::internal("the call cannot be accounted for")
            }
            NotGranted::Gone => Refused::closing(),
        }
    }

    /// Replaces the reservation by what the call cost, and reports it.
    async fn settle(&self, granted: &Granted, outcome: Outcome) {
        let ledger = &self.gateway.ledger;
        let (written, stop) = match outcome {
            Outcome::Free { stop } => (ledger.release(self.id).await, stop),
            Outcome::Charged { seen, stop } => {
                let counted = seen.counted(self.inspected.cached_for_an_hour);
                let settlement = Settlement::of(counted, &self.price, &granted.quote, granted.limit);
                let written = ledger.settle(self.id, settlement).await;
                self.open.add(&settlement);
                if let Some(input) = counted.input {
                    self.remember(input.prompt());
                }
                (written, stop.or(granted.cut(&seen)))
            }
        };
        self.open.note(stop);
        if let Err(error) = written {
            // It stays reserved and so counts as spent.
            error!(run.id = %self.open.session.lease.run, call.id = %self.id, error = &error as &dyn Error, "a call cannot be settled");
            self.open.note(Some(Stop::LedgerDown));
        }
        self.open.reserved.send_modify(|count| *count -= 1);
    }

    fn remember(&self, tokens: u64) {
        let (passed, inspected, body) = (self.passed.clone(), self.inspected.clone(), self.body.clone());
        self.open.remember(Billed { passed, inspected, body, tokens });
    }
}

impl Granted {
    /// Whether the limit is lower than what was asked for.
    pub(super) fn is_lowered(&self) -> bool {
        self.limit < self.quote.asked
    }

    /// Whether the answer ended where we had lowered the limit to.
    fn cut(&self, seen: &Seen) -> Option<Stop> {
        let cut = self.is_lowered() && seen.stop_reason == Some(StopReason::MaxTokens);
        cut.then_some(Stop::OutputCut { limit: self.limit })
    }
}
