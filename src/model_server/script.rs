//! What the server says, and to whom.
//!
//! ```toml
//! [capture]                      # {{digest}} stands for the word after the last "diff-digest: " in the request
//! digest = "diff-digest: "
//!
//! [[conversation]]
//! name = "the implementer's first attempt"
//! when = { role = "implementer", request_contains = "Pass 1" }
//!
//! [[conversation.turn]]
//! text = "I look at the code first."
//! tools = [{ name = "bash", input = { command = "cat src/lib.rs" } }]
//!
//! [[conversation.turn]]
//! text = "Done."
//!
//! [[conversation]]
//! when = { role = "reviewer" }
//!
//! [[conversation.turn]]
//! fault = { kind = "status", status = 429, retry_after = 1, times = 2 }
//! tools = [{ name = "verdict", input = { approved = true, diff_digest = "{{digest}}" } }]
//! ```
//!
//! The first conversation whose `when` holds answers; the turn is the number of answers that the request's own history
//! holds already.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// All that the server says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Values taken from the request, by the marker that they stand behind: used as `{{name}}` in texts and arguments.
    #[serde(default)]
    pub capture: BTreeMap<String, String>,
    /// Tried in this order.
    #[serde(default)]
    pub conversation: Vec<Conversation>,
}

/// A script that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadScript {
    /// The file cannot be read.
    #[error("it cannot be read")]
    Unreadable(#[source] io::Error),
    /// It is not TOML, or not of this shape.
    #[error("it is not a script in TOML")]
    Toml(#[source] toml::de::Error),
    /// It is not JSON, or not of this shape.
    #[error("it is not a script in JSON")]
    Json(#[source] serde_json::Error),
}

impl Script {
    /// Reads a script in TOML.
    ///
    /// # Errors
    /// [`BadScript::Toml`]; a key that is not known is an error.
    pub fn parse(text: &str) -> Result<Self, BadScript> {
        toml::from_str(text).map_err(BadScript::Toml)
    }

    /// The script for requests that contain `text`, so that several can be played by one server.
    #[must_use]
    pub fn about(mut self, text: &str) -> Self {
        self.conversation.iter_mut().for_each(|c| c.when.about = Some(text.to_owned()));
        self
    }

    /// Adds what another script says, after what this one does.
    pub fn extend(&mut self, other: Self) {
        self.capture.extend(other.capture);
        self.conversation.extend(other.conversation);
    }
}

/// One side of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    /// What errors and the log call it.
    #[serde(default)]
    pub name: String,
    /// Whom it answers.
    #[serde(default)]
    pub when: When,
    /// How many conversations it answers; absent for any number. A second one of the same beginning then falls to the
    /// next that fits.
    #[serde(default)]
    pub uses: Option<u32>,
    /// Whether it first runs, by one `bash` call a turn, every line of the first message that begins with `RUN:`.
    #[serde(default)]
    pub obedient: bool,
    /// Whether the last turn answers everything after it; else that is an error, so that no test passes by accident.
    #[serde(default)]
    pub repeat_last: bool,
    /// What it says.
    #[serde(default)]
    pub turn: Vec<Reply>,
}

/// Whom a conversation answers: all that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The instructions contain the line `You are the <role>`.
    #[serde(default)]
    pub role: Option<String>,
    /// The instructions contain this.
    #[serde(default)]
    pub system_contains: Option<String>,
    /// Some text of the request contains this: instructions, messages or tool results.
    #[serde(default)]
    pub request_contains: Option<String>,
    /// Some text of the request contains this as well: what the whole script is about.
    #[serde(default)]
    pub about: Option<String>,
    /// The model is this one.
    #[serde(default)]
    pub model: Option<String>,
}

/// One answer: the text first, then the tool calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// What is said.
    #[serde(default)]
    pub text: String,
    /// What is called.
    #[serde(default)]
    pub tools: Vec<ToolCall>,
    /// Counts in place of those that follow from the bytes.
    #[serde(default)]
    pub usage: Option<StatedUsage>,
    /// What goes wrong.
    #[serde(default)]
    pub fault: Option<Fault>,
}

/// A tool call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub input: Map<String, Value>,
}

/// Counts that the server states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatedUsage {
    /// Input at the plain price.
    #[serde(default)]
    pub input: u64,
    /// Input read from the cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Input written to the cache for five minutes.
    #[serde(default)]
    pub cache_write_5m: u64,
    /// Input written to the cache for an hour.
    #[serde(default)]
    pub cache_write_1h: u64,
    /// Output.
    #[serde(default)]
    pub output: u64,
}

/// Something that goes wrong in a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct Fault {
    /// What.
    #[serde(flatten)]
    pub kind: FaultKind,
    /// How often, for each conversation; absent for every time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
}

/// By hand, since neither a flattened field nor a fault without settings would refuse an unknown key.
impl TryFrom<Map<String, Value>> for Fault {
    type Error = serde_json::Error;

    fn try_from(mut keys: Map<String, Value>) -> Result<Self, Self::Error> {
        let times = keys.remove("times").map(serde_json::from_value).transpose()?;
        let kind: FaultKind = serde_json::from_value(Value::Object(keys.clone()))?;
        let known = serde_json::to_value(&kind)?;
        match keys.keys().find(|key| known.get(key.as_str()).is_none()) {
            Some(key) => Err(serde::de::Error::custom(format!("unknown field `{key}` of a fault"))),
            None => Ok(Self { kind, times }),
        }
    }
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FaultKind {
    /// An error in place of an answer.
    Status {
        /// Such as 429, 500 or 529.
        status: u16,
        /// Seconds, in the `retry-after` header.
        #[serde(default)]
        retry_after: Option<u64>,
    },
    /// An error that quotes the key which the request carried.
    QuoteKey,
    /// The connection breaks after this many events (unstreamed: in the middle of the body).
    Cut {
        /// How many.
        after: usize,
    },
    /// An error event after this many events (unstreamed: a status).
    ErrorEvent {
        /// How many.
        after: usize,
        /// Such as `overloaded_error`.
        error: String,
    },
    /// More output than the limit allows is counted.
    Overshoot {
        /// Tokens over the limit.
        by: u64,
    },
    /// No counts are stated.
    NoUsage,
    /// Status 200 with a body that is no answer.
    Garbage,
    /// A pause before the answer and before every event.
    Slow {
        /// How long.
        ms: u64,
    },
}
