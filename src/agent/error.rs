//! Why a turn did not end by itself.

use std::time::Duration;

use crate::gateway::ClientError;
use crate::sandbox;

/// Why a turn did not end by itself, one variant for each cause that a caller can tell apart.
///
/// What the agent did to the tree until then stands. The conversation can take another turn after any of these.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The run's money does not allow the next call.
    #[error("the run's money does not allow the next call")]
    MoneyRefused(#[source] ClientError),
    /// An answer ended at the limit on its length, ours or the one that the gateway had lowered it to.
    #[error("an answer was cut at our limit on its length")]
    OutputCut,
    /// The provider limits the rate of calls, for longer than we may wait.
    #[error("the provider limits the rate of calls")]
    RateLimited {
        /// At least how long it wants us to wait, if it said.
        retry_after: Option<Duration>,
    },
    /// The provider or the gateway could not be reached, or failed, for longer than we may wait.
    #[error("the provider gave no answer")]
    ProviderDown(#[source] ClientError),
    /// The provider takes neither our key nor our account, or the run's token has ended.
    #[error("the provider takes neither our key nor our account")]
    Denied(#[source] ClientError),
    /// The provider does not accept the request.
    #[error("the provider does not accept the request")]
    NotAccepted(#[source] ClientError),
    /// The conversation has outgrown the model's context, and nothing more can be dropped from it.
    #[error("the conversation no longer fits into the model's context")]
    ContextFull,
    /// The provider's answers cannot be read, several times in a row.
    #[error("the model's answers cannot be read")]
    Garbage(#[source] ClientError),
    /// The model answered nothing at all, twice.
    #[error("the model answered nothing")]
    Empty,
    /// The turn took more model calls than a turn may.
    #[error("the agent did not come to an end within {0} model calls")]
    TooManyCalls(u32),
    /// The sandbox failed; how a command ended is never one of these.
    #[error("the sandbox failed")]
    Sandbox(#[from] sandbox::Error),
    /// The time that the turn was given is over.
    #[error("the time for it is used up")]
    OutOfTime,
    /// Somebody cancelled it.
    #[error("it was cancelled")]
    Cancelled,
}
