//! A whole reply, put together from the events of its stream.

use serde_json::{Value, json};

use super::super::json as strict;
use super::event::{Delta, StreamEvent};
use super::message::Block;
use super::response::{ErrorBody, Response, Usage};

/// The most blocks of one reply.
pub const MAX_BLOCKS: usize = 1_000;
/// The most bytes of text, thoughts and arguments of one reply.
pub const MAX_RESPONSE: usize = 16 << 20;
/// The key under which a tool call's arguments stand, as text, where they were not a JSON object.
///
/// The block stays valid on the wire, so that the model can be told that its arguments could not be read.
pub const INVALID_INPUT: &str = "__arguments_that_are_not_a_json_object";

/// Why a stream gave no whole reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CollectError {
    /// The provider sent an error in place of the rest.
    #[error("the provider gave up in the middle of its answer: {}: {}", .0.kind, .0.message)]
    Provider(ErrorBody),
    /// The stream ended before the reply was whole.
    #[error("the answer was cut")]
    Cut,
    /// The events do not make a reply.
    #[error("its parts do not fit together: {0}")]
    Garbage(&'static str),
    /// More than [`MAX_BLOCKS`] or [`MAX_RESPONSE`].
    #[error("the answer is too large")]
    TooLarge,
}

/// Takes events in order and gives the reply when it is whole.
#[derive(Debug, Default)]
pub struct Collector {
    reply: Option<Response>,
    open: Option<Open>,
    bytes: usize,
    done: bool,
}

/// The block being written, with a tool call's arguments still as text.
#[derive(Debug)]
struct Open {
    index: usize,
    block: Block,
    arguments: String,
}

impl Collector {
    /// Takes the next event.
    ///
    /// # Errors
    /// See [`CollectError`]; nothing can be collected after one.
    pub fn push(&mut self, event: StreamEvent) -> Result<(), CollectError> {
        match event {
            StreamEvent::MessageStart { message } => self.start(message),
            StreamEvent::ContentBlockStart { index, content_block } => self.open(index, content_block),
            StreamEvent::ContentBlockDelta { index, delta } => self.grow(index, &delta),
            StreamEvent::ContentBlockStop { index } => self.close(index),
            StreamEvent::MessageDelta { delta, usage } => {
                let reply = self.reply.as_mut().ok_or(CollectError::Garbage("a change before the start"))?;
                reply.stop_reason = delta.stop_reason.or(reply.stop_reason.take());
                reply.usage.update(&usage);
                Ok(())
            }
            StreamEvent::MessageStop => {
                self.done = true;
                Ok(())
            }
            StreamEvent::Error { error } => Err(CollectError::Provider(error)),
            StreamEvent::Ping | StreamEvent::Unknown(_) => Ok(()),
        }
    }

    /// The reply, once `message_stop` has come.
    ///
    /// # Errors
    /// [`CollectError::Cut`] before that.
    pub fn finish(self) -> Result<Response, CollectError> {
        match (self.reply, self.open, self.done) {
            (Some(reply), None, true) => Ok(reply),
            (_, _, false) => Err(CollectError::Cut),
            (_, _, true) => Err(CollectError::Garbage("an end without a whole answer")),
        }
    }

    /// Whether the reply has begun.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.reply.is_some()
    }

    /// Whether the reply is whole.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.done
    }

    fn start(&mut self, mut message: Response) -> Result<(), CollectError> {
        if self.reply.is_some() {
            return Err(CollectError::Garbage("two starts"));
        }
        message.content.clear();
        message.usage = message.usage.at_start();
        self.reply = Some(message);
        Ok(())
    }

    fn open(&mut self, index: usize, block: Block) -> Result<(), CollectError> {
        let reply = self.reply.as_ref().ok_or(CollectError::Garbage("a block before the start"))?;
        if self.open.is_some() || index != reply.content.len() {
            return Err(CollectError::Garbage("a block out of its place"));
        }
        if index >= MAX_BLOCKS {
            return Err(CollectError::TooLarge);
        }
        self.open = Some(Open { index, block, arguments: String::new() });
        Ok(())
    }

    fn grow(&mut self, index: usize, delta: &Delta) -> Result<(), CollectError> {
        let open = self.open.as_mut().filter(|open| open.index == index);
        let open = open.ok_or(CollectError::Garbage("a piece of a block that is not open"))?;
        let (Delta::TextDelta { text: piece }
        | Delta::InputJsonDelta { partial_json: piece }
        | Delta::ThinkingDelta { thinking: piece }
        | Delta::SignatureDelta { signature: piece }) = delta
        else {
            return Ok(());
        };
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.bytes > MAX_RESPONSE {
            return Err(CollectError::TooLarge);
        }
        open.grow(delta)
    }

    fn close(&mut self, index: usize) -> Result<(), CollectError> {
        let open = self.open.take().filter(|open| open.index == index);
        let open = open.ok_or(CollectError::Garbage("the end of a block that is not open"))?;
        let reply = self.reply.as_mut().ok_or(CollectError::Garbage("a block before the start"))?;
        reply.content.push(open.finish());
        Ok(())
    }
}

impl Open {
    fn grow(&mut self, delta: &Delta) -> Result<(), CollectError> {
        match (&mut self.block, delta) {
            (Block::Text { text, .. }, Delta::TextDelta { text: piece }) => text.push_str(piece),
            (Block::Thinking { thinking, .. }, Delta::ThinkingDelta { thinking: piece }) => thinking.push_str(piece),
            (Block::Thinking { signature, .. }, Delta::SignatureDelta { signature: piece }) => {
                signature.push_str(piece);
            }
            (Block::ToolUse { .. }, Delta::InputJsonDelta { partial_json }) => self.arguments.push_str(partial_json),
            (Block::Unknown(_), _) | (_, Delta::Unknown(_)) => {}
            _ => return Err(CollectError::Garbage("a piece that does not fit its block")),
        }
        Ok(())
    }

    fn finish(mut self) -> Block {
        if let Block::ToolUse { input, .. } = &mut self.block
            && !self.arguments.is_empty()
        {
            *input = match strict::parse(&self.arguments) {
                Ok(value @ Value::Object(_)) => value,
                Ok(_) | Err(_) => json!({ INVALID_INPUT: self.arguments }),
            };
        }
        self.block
    }
}

impl Usage {
    /// What the start of a stream states: the output is only begun then, and its count says nothing.
    #[must_use]
    pub(super) fn at_start(&self) -> Self {
        Self { output_tokens: None, ..self.clone() }
    }

    /// Takes over every count that `later` states.
    pub fn update(&mut self, later: &Self) {
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.cache_creation_input_tokens = later.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens = later.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.cache_creation = later.cache_creation.or(self.cache_creation);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::response::StopReason;
    use super::*;

    const START: &str = r#"{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_read_input_tokens":3,"cache_creation_input_tokens":5,"cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":1},"output_tokens":1}}}"#;
    const DELTA: &str = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":42}}"#;
    const STOP: &str = r#"{"type":"message_stop"}"#;

    fn collect(events: &[&str]) -> Result<Response, CollectError> {
        let mut collector = Collector::default();
        for event in events {
            collector.push(StreamEvent::parse(event).unwrap())?;
        }
        collector.finish()
    }

    #[test]
    fn a_stream_becomes_the_reply_that_an_unstreamed_call_would_have_given() {
        let reply = collect(&[
            START,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hel"}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"lo"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"something_new","index":1}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t1","name":"bash","input":{}}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"comm"}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"and\":\"ls\"}"}}"#,
            r#"{"type":"content_block_stop","index":2}"#,
            DELTA,
            STOP,
        ])
        .unwrap();
        assert_eq!(reply.stop_reason, Some(StopReason::ToolUse));
        assert_eq!(reply.usage.output_tokens, Some(42));
        assert_eq!(reply.usage.input_tokens, Some(10));
        assert_eq!(reply.content.len(), 3);
        assert_eq!(reply.content[1], Block::text("Hello"));
        let Block::ToolUse { input, .. } = &reply.content[2] else { panic!("{:?}", reply.content) };
        assert_eq!(input, &json!({"command": "ls"}));
        let Block::Thinking { thinking, signature } = &reply.content[0] else { panic!("{:?}", reply.content) };
        assert_eq!((thinking.as_str(), signature.as_str()), ("hm", "sig"));
    }

    #[test]
    fn arguments_that_are_no_object_are_kept_as_text() {
        for raw in [r#"{\"a\":"#, r#"[1]"#, r#"{\"a\":1,\"a\":2}"#] {
            let piece = format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":"{raw}"}}}}"#
            );
            let reply = collect(&[
                START,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}"#,
                &piece,
                r#"{"type":"content_block_stop","index":0}"#,
                STOP,
            ])
            .unwrap();
            let Block::ToolUse { input, .. } = &reply.content[0] else { panic!("{raw}") };
            assert!(input.get(INVALID_INPUT).is_some(), "{raw}");
        }
    }

    #[test]
    fn a_stream_without_its_end_is_cut_and_nonsense_is_garbage() {
        assert_eq!(collect(&[START, DELTA]), Err(CollectError::Cut));
        assert_eq!(collect(&[]), Err(CollectError::Cut));
        assert!(matches!(collect(&[STOP]), Err(CollectError::Garbage(_))));
        assert!(matches!(collect(&[START, START]), Err(CollectError::Garbage(_))));
        let far = r#"{"type":"content_block_start","index":900000000,"content_block":{"type":"text","text":""}}"#;
        assert!(matches!(collect(&[START, far]), Err(CollectError::Garbage(_))));
        let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
        assert!(matches!(collect(&[START, error]), Err(CollectError::Provider(e)) if e.kind == "overloaded_error"));
    }

    #[test]
    fn an_endless_answer_is_refused() {
        let mut collector = Collector::default();
        collector.push(StreamEvent::parse(START).unwrap()).unwrap();
        let open = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
        collector.push(StreamEvent::parse(open).unwrap()).unwrap();
        let piece =
            || StreamEvent::ContentBlockDelta { index: 0, delta: Delta::TextDelta { text: "x".repeat(1 << 20) } };
        let outcome = (0..100).find_map(|_| collector.push(piece()).err());
        assert_eq!(outcome, Some(CollectError::TooLarge));
    }

    #[test]
    fn counts_that_cannot_be_are_no_counts() {
        for count in ["-1", "1.5", "1e30", "18446744073709551616", "\"7\""] {
            let event = format!(r#"{{"type":"message_delta","delta":{{}},"usage":{{"output_tokens":{count}}}}}"#);
            assert!(StreamEvent::parse(&event).is_err(), "{count} was taken");
        }
    }
}
