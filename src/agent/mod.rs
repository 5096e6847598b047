//! The agent port: who performs a role.
//!
//! A [`Conversation`] is opened for one role in one step, with a sandbox to work in and a client of the model gateway;
//! each [`turn`](Conversation::turn) hands it a brief (see [`brief`]) and ends with what it said last. What it does on
//! the way is told as [`Action`]s, for the transcript. Everything that an agent says is a claim: what it did to the
//! tree, and whether that is any good, is found out elsewhere.

pub mod brief;
pub mod builtin;
mod error;
pub mod text;

use std::fmt;
use std::time::Duration;

use tokio::sync::mpsc;

pub use builtin::Conversation;
pub use error::Error;

/// What an agent is in a conversation; it decides which tools it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Changes the tree.
    Implementer,
    /// Judges a tree that somebody else changed.
    Reviewer,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Implementer => "implementer",
            Self::Reviewer => "reviewer",
        })
    }
}

/// How a turn ended that ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The text of the last message, as the model wrote it; empty if that message had none.
    pub last_message: String,
    /// The arguments of the `verdict` calls in the last message that made any, as JSON text (or whatever the model wrote
    /// in its place). Over one means that several were given side by side.
    pub verdicts: Vec<String>,
    /// Why it stopped.
    pub stop: Stop,
}

/// Why a turn ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The model had nothing more to do.
    Done,
    /// The model refuses to go on.
    Refused,
}

/// Where [`Action`]s go as they happen. A slow receiver slows the agent; one that is gone is no error.
pub type Sink = mpsc::Sender<Action>;

/// Something that an agent did, for the transcript. All texts are bounded and hold no control characters but line ends
/// and tabs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// It said something.
    Said(String),
    /// It thought aloud.
    Thought(String),
    /// It used a tool.
    Used(ToolCall),
    /// Nothing happens for at least this long.
    Waiting {
        /// What for.
        cause: Wait,
        /// How long.
        pause: Duration,
    },
    /// Old results were dropped from the conversation to make room.
    Compacted {
        /// How many bytes became free.
        bytes: usize,
    },
}

/// What an agent waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The provider limits the rate of calls.
    RateLimit,
    /// The gateway cannot be reached.
    Gateway,
    /// The provider is overloaded or down.
    Provider,
    /// The provider's answer broke off.
    Cut,
    /// The provider's answer cannot be read.
    Unreadable,
}

/// One use of a tool, finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The tool's name, as the model wrote it.
    pub tool: String,
    /// What was done, in a few words: `edit src/split.rs +14 −6`, `ran cargo test → 0`.
    pub summary: String,
    /// The arguments as JSON, head and tail of them.
    pub input: String,
    /// What the agent was told, head and tail of it.
    pub output: String,
    /// Whether the tool could not do it. A command that ends with another status than 0 was done.
    pub failed: bool,
    /// How long it took.
    pub duration: Duration,
}
