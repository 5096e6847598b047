//! The records that are kept beside a run's facts: what its agents did and said, and the tokens of their calls.

use serde::{Deserialize, Serialize};

/// One line of a run's transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The agent said something: a claim.
    Said(String),
    /// It thought aloud: a claim.
    Thought(String),
    /// It used a tool: a fact.
    Used {
        /// The tool.
        tool: String,
        /// What was done, in a few words.
        summary: String,
        /// The arguments, head and tail.
        input: String,
        /// What the agent was told, head and tail.
        output: String,
        /// Whether the tool could not do it.
        failed: bool,
        /// How long it took.
        duration_ms: u64,
    },
    /// Nothing happened for a while.
    Waited {
        /// What for.
        cause: String,
        /// For at least this long.
        pause_ms: u64,
    },
    /// Old results were dropped from the conversation.
    Compacted {
        /// Bytes that became free.
        bytes: u64,
    },
}

/// A settled call's tokens, as they are stored with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that were read, cached ones included.
    pub read: u64,
    /// Of those, the ones that came from the provider's cache.
    pub cached: u64,
    /// Tokens that were written.
    pub written: u64,
    /// Whether this is a bound, because the provider's count did not arrive whole.
    pub is_bound: bool,
}
