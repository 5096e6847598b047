//! What is asked of the model.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::message::{CacheControl, Message};

/// The body of `POST /v1/messages`.
///
/// The fields are written in this order, the growing part last, so that the start of one request of a conversation is
/// the start of the next: the gateway then counts what was billed before at its real size.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MessagesRequest {
    /// The model's id.
    pub model: String,
    /// The most output tokens; the gateway may lower it.
    pub max_tokens: u64,
    /// Whether the reply comes as events.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
    /// Whether the model thinks first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// How much effort it makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_config: Option<OutputConfig>,
    /// Whether it may or must call tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// A cache mark that the provider moves along to the last block by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
    /// The tools on offer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// The instructions; a bare string is read as one block.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "string_or_system")]
    pub system: Vec<SystemBlock>,
    /// Everything else that a client sent.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
    /// The conversation so far.
    pub messages: Vec<Message>,
}

/// One block of the instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemBlock {
    /// Always `text`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The words.
    pub text: String,
    /// Where the provider may end a cached prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
}

impl SystemBlock {
    /// A block without a cache mark.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { kind: "text".to_owned(), text: text.into(), cache_control: None }
    }
}

/// A tool on offer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// What the model calls it by.
    pub name: String,
    /// What it is for, in words.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of its arguments.
    #[serde(default)]
    pub input_schema: Value,
    /// Where the provider may end a cached prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
}

/// Whether the model may or must call tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolChoice {
    /// As the model likes.
    Auto,
    /// Some tool (newer models refuse this).
    Any,
    /// This tool (newer models refuse this).
    Tool {
        /// The tool's name.
        name: String,
    },
    /// No tool.
    None,
}

/// Whether the model thinks first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Thinking {
    /// As much as it finds right.
    Adaptive,
    /// Not at all.
    Disabled,
    /// Up to a number of tokens, which must be below `max_tokens` (older models).
    Enabled {
        /// That number.
        budget_tokens: u64,
    },
}

/// How the reply is made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OutputConfig {
    /// How much effort the model makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Everything else that a client sent.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// How much effort the model makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Least.
    Low,
    /// Between.
    Medium,
    /// The default of most models.
    High,
    /// More.
    Xhigh,
    /// Most.
    Max,
}

fn string_or_system<'de, D: Deserializer<'de>>(reader: D) -> Result<Vec<SystemBlock>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        String(String),
        List(Vec<SystemBlock>),
    }
    Ok(match Form::deserialize(reader)? {
        Form::String(text) => vec![SystemBlock::new(text)],
        Form::List(blocks) => blocks,
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::message::Block;
    use super::*;

    #[test]
    fn one_more_turn_only_adds_to_the_end_of_the_body() {
        let mut request = MessagesRequest {
            model: "m".to_owned(),
            max_tokens: 4096,
            system: vec![SystemBlock::new("be brief")],
            messages: vec![Message::user(vec![Block::text("one")])],
            ..MessagesRequest::default()
        };
        let first = serde_json::to_string(&request).unwrap();
        request.messages.push(Message::assistant(vec![Block::text("two")]));
        let second = serde_json::to_string(&request).unwrap();
        assert!(second.starts_with(first.strip_suffix("]}").unwrap()), "{second}");
    }

    #[test]
    fn a_request_of_another_client_is_read_and_kept() {
        let body = r#"{"model":"m","max_tokens":5,"system":"s","messages":[{"role":"user","content":"hi"}],"metadata":{"user_id":"u"},"output_config":{"effort":"high","format":{}}}"#;
        let request: MessagesRequest = serde_json::from_str(body).unwrap();
        assert_eq!(request.system, [SystemBlock::new("s")]);
        assert_eq!(request.rest["metadata"]["user_id"], "u");
        assert_eq!(request.output_config.as_ref().unwrap().effort, Some(Effort::High));
        let written = serde_json::to_value(&request).unwrap();
        assert_eq!(written["metadata"]["user_id"], "u");
    }
}
