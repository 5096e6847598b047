//! The events of a streamed reply.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::json;
use super::message::Block;
use super::response::{ErrorBody, Response, StopReason, Usage};

/// One event, by the `type` in its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamEvent {
    /// The reply begins: everything but its content, and the input's usage.
    MessageStart {
        /// The reply with empty content.
        message: Response,
    },
    /// A block begins.
    ContentBlockStart {
        /// Its place in the content.
        index: usize,
        /// The block, still empty.
        content_block: Block,
    },
    /// A block grows.
    ContentBlockDelta {
        /// Its place in the content.
        index: usize,
        /// By what.
        delta: Delta,
    },
    /// A block is whole.
    ContentBlockStop {
        /// Its place in the content.
        index: usize,
    },
    /// The reply as a whole changed: why it stopped, and the usage so far.
    MessageDelta {
        /// What changed.
        delta: MessageDelta,
        /// Cumulative, not a difference.
        #[serde(default)]
        usage: Usage,
    },
    /// The reply is whole.
    MessageStop,
    /// Nothing; keeps the connection open.
    Ping,
    /// The provider gave up.
    Error {
        /// Why.
        error: ErrorBody,
    },
    /// An event of another kind.
    #[serde(untagged)]
    Unknown(Value),
}

impl StreamEvent {
    /// Reads the data of one event.
    ///
    /// # Errors
    /// The data is not strict JSON (see [`json::parse`]), or says one of the known types and is not of its shape.
    pub fn parse(data: &str) -> Result<Self, serde_json::Error> {
        let value = json::parse(data)?;
        let known = value.get("type").and_then(Value::as_str).is_some_and(|kind| KNOWN.contains(&kind));
        let event = serde_json::from_value(value)?;
        if known && matches!(event, Self::Unknown(_)) {
            return Err(serde::de::Error::custom("an event is not of the shape of its type"));
        }
        Ok(event)
    }
}

const KNOWN: [&str; 8] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "ping",
    "error",
];

/// How a block grows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Delta {
    /// More text.
    TextDelta {
        /// The words.
        text: String,
    },
    /// More of a tool call's arguments, as JSON text.
    InputJsonDelta {
        /// The next piece.
        partial_json: String,
    },
    /// More thoughts.
    ThinkingDelta {
        /// The words.
        thinking: String,
    },
    /// The seal on a block of thoughts.
    SignatureDelta {
        /// The seal.
        signature: String,
    },
    /// A change of another kind.
    #[serde(untagged)]
    Unknown(Value),
}

/// What changes about a reply as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageDelta {
    /// Why the model stopped.
    #[serde(default)]
    pub stop_reason: Option<StopReason>,
}
