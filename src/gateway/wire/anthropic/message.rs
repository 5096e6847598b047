//! Messages and the blocks that they are made of.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said; a bare string is read as one text block.
    #[serde(deserialize_with = "string_or_blocks")]
    pub content: Vec<Block>,
}

impl Message {
    /// A turn of the user's side.
    #[must_use]
    pub fn user(content: Vec<Block>) -> Self {
        Self { role: Role::User, content }
    }

    /// A turn of the model's side.
    #[must_use]
    pub fn assistant(content: Vec<Block>) -> Self {
        Self { role: Role::Assistant, content }
    }
}

/// Who speaks in a [`Message`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, or the program in their place.
    User,
    /// The model.
    Assistant,
    /// Instructions in the middle of a conversation.
    System,
}

/// One part of a message. What is not known here is kept whole and written back unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Text.
    Text {
        /// The words.
        text: String,
        /// Where the provider may end a cached prefix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// The model wants a tool called.
    ToolUse {
        /// Names this call; the result refers to it.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments: an object, by the tool's schema if the model kept to it.
        input: Value,
        /// Where the provider may end a cached prefix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// What a tool call gave.
    ToolResult {
        /// The call's id.
        tool_use_id: String,
        /// Its output; a list of text blocks is read as their texts, one a line.
        #[serde(default, deserialize_with = "string_or_texts")]
        content: String,
        /// Whether the call failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        /// Where the provider may end a cached prefix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// What the model thought; it must be sent back as it came.
    Thinking {
        /// The thoughts, or nothing where the provider leaves them out.
        thinking: String,
        /// The provider's seal on them.
        #[serde(default)]
        signature: String,
    },
    /// A block of another kind.
    #[serde(untagged)]
    Unknown(Value),
}

impl Block {
    /// A text block without a cache mark.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), cache_control: None }
    }

    /// A tool's result without a cache mark.
    #[must_use]
    pub fn tool_result(tool_use_id: impl Into<String>, content: impl Into<String>, is_error: bool) -> Self {
        Self::ToolResult { tool_use_id: tool_use_id.into(), content: content.into(), is_error, cache_control: None }
    }

    /// The same block with a cache mark, where its kind can carry one.
    #[must_use]
    pub fn cached(mut self, mark: CacheControl) -> Self {
        match &mut self {
            Self::Text { cache_control, .. }
            | Self::ToolUse { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => *cache_control = Some(mark),
            Self::Thinking { .. } | Self::Unknown(_) => {}
        }
        self
    }
}

/// A mark that everything up to here may be cached by the provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheControl {
    /// Always `ephemeral`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `5m` (also when absent) or `1h`, which costs more to write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
}

impl CacheControl {
    /// Cached for five minutes, the provider's default.
    #[must_use]
    pub fn five_minutes() -> Self {
        Self { kind: "ephemeral".to_owned(), ttl: None }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum StringOr<T> {
    String(String),
    List(Vec<T>),
}

fn string_or_blocks<'de, D: Deserializer<'de>>(reader: D) -> Result<Vec<Block>, D::Error> {
    Ok(match StringOr::deserialize(reader)? {
        StringOr::String(text) => vec![Block::text(text)],
        StringOr::List(blocks) => blocks,
    })
}

fn string_or_texts<'de, D: Deserializer<'de>>(reader: D) -> Result<String, D::Error> {
    let texts = |blocks: Vec<Block>| {
        let texts = blocks.into_iter().filter_map(|block| match block {
            Block::Text { text, .. } => Some(text),
            Block::ToolUse { .. } | Block::ToolResult { .. } | Block::Thinking { .. } | Block::Unknown(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    };
    Ok(match StringOr::deserialize(reader)? {
        StringOr::String(text) => text,
        StringOr::List(blocks) => texts(blocks),
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn blocks_that_are_not_known_survive_a_round_trip() {
        let message = json!({"role": "assistant", "content": [
            {"type": "redacted_thinking", "data": "abc"},
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "hello"},
            {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}}
        ]});
        let read: Message = serde_json::from_value(message.clone()).unwrap();
        assert!(matches!(read.content[0], Block::Unknown(_)));
        assert_eq!(serde_json::to_value(read).unwrap(), message);
    }

    #[test]
    fn short_forms_are_read() {
        let read: Message = serde_json::from_value(json!({"role": "user", "content": "hi"})).unwrap();
        assert_eq!(read, Message::user(vec![Block::text("hi")]));
        let result = json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]});
        assert_eq!(serde_json::from_value::<Block>(result).unwrap(), Block::tool_result("t", "a\nb", false));
        let empty = json!({"type": "tool_result", "tool_use_id": "t"});
        assert_eq!(serde_json::from_value::<Block>(empty).unwrap(), Block::tool_result("t", "", false));
    }
}
