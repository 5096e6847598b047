//! What the provider answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::json;
use super::message::{Block, Role};

/// A whole reply: the body of an unstreamed call, or put together from a stream by a [`super::Collector`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The provider's id of this reply.
    pub id: String,
    /// Always `message`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Always the assistant.
    pub role: Role,
    /// The model that answered.
    pub model: String,
    /// What it said.
    pub content: Vec<Block>,
    /// Why it stopped; absent only at the start of a stream.
    pub stop_reason: Option<StopReason>,
    /// Tokens used.
    pub usage: Usage,
}

impl Response {
    /// Reads the body of an unstreamed reply.
    ///
    /// # Errors
    /// The text is not strict JSON (see [`json::parse`]) or not of this shape.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_value(json::parse(text)?)
    }
}

/// Why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said what it wanted.
    EndTurn,
    /// It reached `max_tokens`.
    MaxTokens,
    /// It wrote one of the stop sequences.
    StopSequence,
    /// It waits for the results of tools.
    ToolUse,
    /// It paused a long turn and can go on.
    PauseTurn,
    /// It refuses to answer.
    Refusal,
    /// The conversation no longer fits its context.
    ModelContextWindowExceeded,
    /// A reason that is not known here.
    #[serde(untagged)]
    Other(String),
}

/// Tokens as the provider counts them. `input_tokens` is without what was read from or written to the cache.
///
/// A field is absent where the provider did not say; a negative or oversized number is a parse error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input at the plain price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Input written to the cache, of every lifetime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_creation_input_tokens: Option<u64>,
    /// Input read from the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_input_tokens: Option<u64>,
    /// The writes by lifetime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_creation: Option<CacheCreation>,
    /// Output, thoughts included; within a stream the sum so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

/// Cache writes by lifetime.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheCreation {
    /// Written for five minutes.
    #[serde(default)]
    pub ephemeral_5m_input_tokens: u64,
    /// Written for an hour.
    #[serde(default)]
    pub ephemeral_1h_input_tokens: u64,
}

/// The body of an error reply, and of an `error` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorReply {
    /// Always `error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What went wrong.
    pub error: ErrorBody,
}

impl ErrorReply {
    /// An error in the provider's own shape.
    #[must_use]
    pub fn new(kind: &str, message: impl Into<String>) -> Self {
        Self { kind: "error".to_owned(), error: ErrorBody { kind: kind.to_owned(), message: message.into() } }
    }

    /// Reads the body of an error reply; `None` where it is of another shape.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        json::parse(text).ok().and_then(|value: Value| serde_json::from_value(value).ok())
    }
}

/// What went wrong, by the provider's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// For programs, such as `overloaded_error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// For people.
    #[serde(default)]
    pub message: String,
}
