//! What agents did, as it is stored and shown.

use crate::agent::{Action, ToolCall, Wait};
use crate::store::Entry;

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
        Wait::Gateway => "the gateway cannot be reached",
        Wait::Provider => "the provider is overloaded, down or out of reach",
        Wait::Cut => "the provider's answer broke off",
        Wait::Unreadable => "the provider's answer cannot be read",
    }
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_reasons_to_wait_share_a_name() {
        let all = [Wait::RateLimit, Wait::Gateway, Wait::Provider, Wait::Cut, Wait::Unreadable];
        let said: std::collections::BTreeSet<&str> = all.into_iter().map(cause_of).collect();
        assert_eq!(said.len(), all.len(), "{said:?}");
    }
}
