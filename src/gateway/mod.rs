//! The model gateway: the only way from an agent to a model.
//!
//! It holds the providers' keys, knows which run a call belongs to by the call's token, reserves the worst case of a
//! call before forwarding it, lowers the output limit to what still fits, passes bytes through and settles from the
//! provider's own usage. It knows nothing of steps, verdicts or agents.
//!
//! A call goes through [`routes`] (who calls, is the request one that can be bounded), [`exchange`] (reserve, settle)
//! and [`forward`] (send, pass the answer on). Whoever started the agent reads the [`Report`] and never concludes
//! anything from what the agent says about a refusal.

pub mod client;
mod exchange;
mod forward;
mod limits;
mod listen;
pub mod meter;
pub mod prices;
pub mod providers;
mod reply;
mod routes;
pub mod secret;
mod session;
pub mod tls;
mod upstream;
pub mod wire;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use axum::Router;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use client::{Client, ClientError};
pub use limits::Limits;
pub use listen::{ListenError, Listening};
pub use meter::{Ask, Basis, LedgerError, LedgerFuture, MoneyLedger, Reserve, Settlement, Tokens};
use prices::{Price, Prices};
use providers::Upstream;
use secret::Token;
use session::{Open, Sessions};
pub use session::{Report, Session, Stop};
use upstream::Line;

/// The gateway; a clone is the same one.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

/// What a gateway is made of.
pub struct Options {
    /// The providers that sessions can be opened for.
    pub upstreams: Vec<Upstream>,
    /// What their models cost.
    pub prices: Prices,
    /// Where reservations and costs are kept.
    pub ledger: Arc<dyn MoneyLedger>,
    /// Sizes and patience.
    pub limits: Limits,
}

struct Inner {
    lines: Vec<Arc<Line>>,
    prices: RwLock<Prices>,
    ledger: Arc<dyn MoneyLedger>,
    limits: Limits,
    sessions: Sessions,
    /// How many calls may be under way in all.
    calls: Arc<Semaphore>,
    /// Every call and every listener; a call is settled although its client went away.
    tasks: TaskTracker,
    /// Ends every listener.
    stop: CancellationToken,
}

/// The gateway cannot start.
#[derive(Debug, thiserror::Error)]
#[error("no connection to the provider {provider} can be prepared")]
pub struct StartError {
    /// The provider's name.
    pub provider: &'static str,
    /// Why, such as no certificates on this machine.
    #[source]
    pub cause: reqwest::Error,
}

/// A session cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The gateway was started without this provider.
    #[error("the provider {0} is not set up")]
    NoProvider(&'static str),
    /// A model without a known price cannot be held under a ceiling.
    #[error("the model {model} has no known price; set one in the settings (zero is a price)")]
    NoPrice {
        /// The model's id.
        model: String,
    },
    /// The operating system gave no random bytes for the token.
    #[error("no randomness for a token")]
    NoRandomness,
}

impl Gateway {
    /// Prepares the connections; nothing is sent yet.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn new(options: Options) -> Result<Self, StartError> {
        tls::install();
        let Options { upstreams, prices, ledger, limits } = options;
        let line = |upstream: Upstream| {
            let provider = upstream.provider.name;
            Line::new(upstream, limits.connect).map(Arc::new).map_err(|cause| StartError { provider, cause })
        };
        let lines = upstreams.into_iter().map(line).collect::<Result<_, _>>()?;
        let calls = Arc::new(Semaphore::new(limits.calls));
        let (sessions, tasks, stop) = (Sessions::default(), TaskTracker::new(), CancellationToken::new());
        let prices = RwLock::new(prices);
        Ok(Self(Arc::new(Inner { lines, prices, ledger, limits, sessions, calls, tasks, stop })))
    }

    /// Replaces the price table, for sessions opened from now on.
    pub fn set_prices(&self, prices: Prices) {
        *self.0.prices.write().unwrap_or_else(PoisonError::into_inner) = prices;
    }

    /// Opens a session and gives its token, which is all that its agent needs to know and is kept only as a hash.
    ///
    /// # Errors
    /// See [`OpenError`]; a model without a price is refused here, before the first call.
    pub fn open_session(&self, session: Session) -> Result<Token, OpenError> {
        let line = self.0.lines.iter().find(|line| line.upstream.provider == session.provider);
        let line = line.cloned().ok_or(OpenError::NoProvider(session.provider.name))?;
        let prices = self.0.prices_of(&session.models)?;
        let token = Token::random().map_err(|_| OpenError::NoRandomness)?;
        let open = Open::new(session, line, prices, self.0.limits.calls_per_session);
        self.0.sessions.insert(token.digest(), Arc::new(open));
        Ok(token)
    }

    /// What the session has used so far; `None` once it is closed.
    #[must_use]
    pub fn session_report(&self, token: &Token) -> Option<Report> {
        Some(self.0.sessions.get(token.digest())?.report.borrow().clone())
    }

    /// The session's report as it changes, for whoever must act on a refusal at once.
    #[must_use]
    pub fn watch_session(&self, token: &Token) -> Option<watch::Receiver<Report>> {
        Some(self.0.sessions.get(token.digest())?.report.subscribe())
    }

    /// Ends a session: its token is worth nothing from now on, its calls under way are cut and settled, and what comes
    /// back is final. `None` where it was closed before.
    pub async fn close_session(&self, token: &Token) -> Option<Report> {
        let open = self.0.sessions.remove(token.digest())?;
        Some(close(&open).await)
    }

    /// Closes every session and every listener, and returns when all is settled.
    pub async fn shut_down(&self) {
        for open in self.0.sessions.drain() {
            close(&open).await;
        }
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// The routes, to be served in this process.
    pub fn router(&self) -> Router {
        routes::router(Arc::clone(&self.0))
    }
}

/// Cuts what is under way and waits until nothing is reserved any more.
async fn close(open: &Open) -> Report {
    open.closing.cancel();
    // A reservation being attempted just now is waited for; later ones see that the session closes.
    drop(open.reserving.lock().await);
    let mut reserved = open.reserved.subscribe();
    // The sender lives in `open`, so this ends only when nothing is reserved.
    let _ = reserved.wait_for(|count| *count == 0).await;
    open.report.borrow().clone()
}

impl Inner {
    fn prices_of(&self, models: &[String]) -> Result<HashMap<String, Price>, OpenError> {
        let prices = self.prices.read().unwrap_or_else(PoisonError::into_inner);
        let priced = models.iter().map(|model| {
            let price = prices.get(model).ok_or_else(|| OpenError::NoPrice { model: model.clone() })?;
            Ok((model.clone(), price))
        });
        priced.collect()
    }
}
