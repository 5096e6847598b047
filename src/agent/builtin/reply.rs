//! What an answer of the model says, apart from the wire.

use serde_json::Value;

use crate::agent::{Action, text};
use crate::gateway::wire::anthropic::{Block, Response, StopReason};

/// How much of one text is kept for the transcript, in bytes.
const KEPT: usize = 64 << 10;

/// An answer.
#[derive(Debug, PartialEq)]
pub(super) struct Reply {
    /// All its text, as the model wrote it.
    pub(super) text: String,
    /// The tools that it wants used.
    pub(super) calls: Vec<Call>,
    /// Why it ended.
    pub(super) ending: Ending,
}

/// A tool that the model wants used.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
}

/// Why an answer ended, where its calls do not say enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// It is whole; without calls, the turn ends with it.
    Done,
    /// It goes on when it is sent back.
    Paused,
    /// The model does not want to go on.
    Refused,
    /// It stopped at the limit on its length. Its last call may be half of one.
    Cut,
}

impl Reply {
    pub(super) fn of(response: &Response) -> Self {
        let (mut text, mut calls) = (String::new(), Vec::new());
        for block in &response.content {
            match block {
                Block::Text { text: part, .. } => {
                    text::end_line(&mut text);
                    text.push_str(part);
                }
                Block::ToolUse { id, name, input, .. } => {
                    calls.push(Call { id: id.clone(), name: name.clone(), input: input.clone() });
                }
                Block::ToolResult { .. } | Block::Thinking { .. } | Block::Unknown(_) => {}
            }
        }
        Self { text, calls, ending: ending(response.stop_reason.as_ref()) }
    }
}

fn ending(reason: Option<&StopReason>) -> Ending {
    match reason {
        Some(StopReason::MaxTokens | StopReason::ModelContextWindowExceeded) => Ending::Cut,
        Some(StopReason::PauseTurn) => Ending::Paused,
        Some(StopReason::Refusal) => Ending::Refused,
        Some(StopReason::EndTurn | StopReason::StopSequence | StopReason::ToolUse | StopReason::Other(_)) | None => {
            Ending::Done
        }
    }
}

/// Whether the model said nothing, wants nothing, and gives no reason for it.
pub(super) fn is_empty(response: &Response) -> bool {
    let reply = Reply::of(response);
    reply.ending == Ending::Done && reply.calls.is_empty() && reply.text.trim().is_empty()
}

/// What it said and thought, for the transcript.
pub(super) fn said(response: &Response) -> impl Iterator<Item = Action> {
    let kept = |part: &str| text::ends(&text::clean(part), KEPT);
    response.content.iter().filter_map(move |block| match block {
        Block::Text { text: part, .. } if !part.trim().is_empty() => Some(Action::Said(kept(part))),
        Block::Thinking { thinking, .. } if !thinking.trim().is_empty() => Some(Action::Thought(kept(thinking))),
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::ToolUse { .. }
        | Block::ToolResult { .. }
        | Block::Unknown(_) => None,
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use serde_json::json;

    fn response(content: &Value, stop_reason: &str) -> Response {
        let reply = json!({
            "id": "m", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": stop_reason, "usage": {}
        });
        serde_json::from_value(reply).unwrap()
    }

    #[test]
    fn text_calls_and_the_reason_are_told_apart() {
        let response = response(
            &json!([
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "one"},
                {"type": "server_tool_use", "id": "s"},
                {"type": "text", "text": "two\u{0}"},
                {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": "ls"}}
            ]),
            "tool_use",
        );
        let reply = Reply::of(&response);
        assert_eq!(reply.text, "one\ntwo\u{0}");
        let call = Call { id: "t".to_owned(), name: "bash".to_owned(), input: json!({"command": "ls"}) };
        assert_eq!((reply.calls, reply.ending), (vec![call], Ending::Done));
        let said: Vec<_> = said(&response).collect();
        let expected =
            [Action::Thought("hm".to_owned()), Action::Said("one".to_owned()), Action::Said("two\u{fffd}".to_owned())];
        assert_eq!(said, expected);
    }

    #[test]
    fn nothing_is_nothing_unless_a_reason_is_given() {
        assert!(is_empty(&response(&json!([]), "end_turn")));
        assert!(is_empty(&response(&json!([{"type": "text", "text": " \n"}]), "a_new_reason")));
        for reason in ["refusal", "max_tokens", "pause_turn"] {
            assert!(!is_empty(&response(&json!([]), reason)), "{reason}");
        }
        assert!(!is_empty(&response(&json!([{"type": "tool_use", "id": "t", "name": "x", "input": {}}]), "tool_use")));
    }
}
