//! What agents did and said, as it is stored and shown.

use serde::{Deserialize, Serialize};

use crate::agent::{Action, ToolCall, Wait};

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

impl From<Action> for Entry {
    fn from(action: Action) -> Self {
        match action {
            Action::Said(text) => Self::Said(text),
            Action::Thought(text) => Self::Thought(text),
            Action::Used(call) => call.into(),
            Action::Waiting { cause, pause } => {
                Self::Waited { cause: cause_of(cause).to_owned(), pause_ms: millis(pause) }
            }
            Action::Compacted { bytes } => Self::Compacted { bytes: u64::try_from(bytes).unwrap_or(u64::MAX) },
        }
    }
}

impl From<ToolCall> for Entry {
    fn from(call: ToolCall) -> Self {
        let ToolCall { tool, summary, input, output, failed, duration } = call;
        Self::Used { tool, summary, input, output, failed, duration_ms: millis(duration) }
    }
}

fn cause_of(wait: Wait) -> &'static str {
    match wait {
        Wait::RateLimit => "the provider limits the rate of calls",
        Wait::Provider => "the provider does not answer",
    }
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
