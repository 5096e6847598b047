//! An answer as the events of a stream.

use serde_json::{Map, Value};

use crate::gateway::wire::anthropic::{Block, Delta, MessageDelta, Response, StreamEvent, Usage};

/// Characters in one piece of text.
const PIECE: usize = 24;

/// The events of a whole answer, as a provider sends them.
pub(super) fn events(answer: &Response) -> Vec<StreamEvent> {
    let begun = Usage { output_tokens: answer.usage.output_tokens.map(|_| 1), ..answer.usage.clone() };
    let message = Response { content: Vec::new(), stop_reason: None, usage: begun, ..answer.clone() };
    let mut events = vec![StreamEvent::MessageStart { message }, StreamEvent::Ping];
    for (index, block) in answer.content.iter().enumerate() {
        events.push(StreamEvent::ContentBlockStart { index, content_block: empty(block) });
        events.extend(deltas(block).map(|delta| StreamEvent::ContentBlockDelta { index, delta }));
        events.push(StreamEvent::ContentBlockStop { index });
    }
    events.push(StreamEvent::MessageDelta {
        delta: MessageDelta { stop_reason: answer.stop_reason.clone() },
        usage: Usage { output_tokens: answer.usage.output_tokens, ..Usage::default() },
    });
    events.push(StreamEvent::MessageStop);
    events
}

/// An event as bytes of a stream.
pub(super) fn frame(event: &StreamEvent) -> Vec<u8> {
    let value = serde_json::to_value(event).unwrap_or_default();
    let name = value.get("type").and_then(Value::as_str).unwrap_or_default();
    format!("event: {name}\ndata: {value}\n\n").into_bytes()
}

fn empty(block: &Block) -> Block {
    match block {
        Block::ToolUse { id, name, .. } => {
            let input = Value::Object(Map::new());
            Block::ToolUse { id: id.clone(), name: name.clone(), input, cache_control: None }
        }
        Block::Text { .. } | Block::ToolResult { .. } | Block::Thinking { .. } | Block::Unknown(_) => Block::text(""),
    }
}

fn deltas(block: &Block) -> impl Iterator<Item = Delta> {
    let (text, of): (String, fn(String) -> Delta) = match block {
        Block::Text { text, .. } => (text.clone(), |text| Delta::TextDelta { text }),
        Block::ToolUse { input, .. } => (input.to_string(), |partial_json| Delta::InputJsonDelta { partial_json }),
        Block::ToolResult { .. } | Block::Thinking { .. } | Block::Unknown(_) => {
            (String::new(), |text| Delta::TextDelta { text })
        }
    };
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = characters.chunks(PIECE).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter().map(of)
}
