//! The conversation as the model sees it: always a valid one, and never larger than it may be.

use crate::agent::text;
use crate::gateway::wire::anthropic::{Block, Message, Role};

/// How many of the newest messages are left as they are when room is made.
const NEWEST: usize = 6;
/// Results and arguments up to this many bytes are not worth dropping.
const SMALL: usize = 300;
/// What the model is told of a call that was cut off.
const CUT_OFF: &str = "this was cut off; what it did until then stands";
/// What the model has said where it said nothing.
const NOTHING: &str = "(no answer)";

/// Messages, the user's side first, the sides in turn, every tool call answered before the user's side speaks.
#[derive(Debug, Default)]
pub(super) struct History {
    messages: Vec<Message>,
}

impl History {
    pub(super) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The user's side says something. Calls that a cut turn left without a result get one first.
    pub(super) fn prompt(&mut self, text: &str) {
        let open = self.messages.last().filter(|last| last.role == Role::Assistant);
        let calls = open.map(|last| last.content.as_slice()).unwrap_or_default().iter();
        let mut blocks: Vec<_> = calls.filter_map(call_id).map(|id| Block::tool_result(id, CUT_OFF, true)).collect();
        blocks.push(Block::text(text));
        match self.messages.last_mut() {
            Some(last) if last.role == Role::User => last.content.extend(blocks),
            Some(_) | None => self.messages.push(Message::user(blocks)),
        }
    }

    /// The model's side has said this.
    pub(super) fn answer(&mut self, mut content: Vec<Block>) {
        content.retain(|block| !is_blank(block));
        if content.is_empty() {
            content.push(Block::text(NOTHING));
        }
        match self.messages.last_mut() {
            // Only after a pause of the model, which then goes on where it was.
            Some(last) if last.role == Role::Assistant => last.content.extend(content),
            Some(_) | None => self.messages.push(Message::assistant(content)),
        }
    }

    /// The results of the calls of the last message.
    pub(super) fn results(&mut self, results: Vec<Block>) {
        self.messages.push(Message::user(results));
    }

    /// About how many bytes it has on the wire.
    pub(super) fn size(&self) -> usize {
        self.messages.iter().flat_map(|message| &message.content).map(size).sum()
    }

    /// Drops the oldest results of tools, then the oldest long arguments, until it has at most `target` bytes; the first
    /// message and the newest ones stay as they are. Says how many bytes became free.
    pub(super) fn shrink(&mut self, target: usize) -> usize {
        let before = self.size();
        let old = 1..self.messages.len().saturating_sub(NEWEST).max(1);
        let mut size = before;
        for cut in [cut_result, cut_arguments] {
            for block in self.messages[old.clone()].iter_mut().flat_map(|message| &mut message.content) {
                if size <= target {
                    return before - size;
                }
                size -= cut(block);
            }
        }
        before - size
    }
}

fn call_id(block: &Block) -> Option<&str> {
    match block {
        Block::ToolUse { id, .. } => Some(id),
        Block::Text { .. } | Block::ToolResult { .. } | Block::Thinking { .. } | Block::Unknown(_) => None,
    }
}

/// The provider refuses text blocks of white space alone.
fn is_blank(block: &Block) -> bool {
    matches!(block, Block::Text { text, .. } if text.trim().is_empty())
}

fn size(block: &Block) -> usize {
    match block {
        Block::Text { text, .. } => text.len(),
        Block::ToolUse { name, input, .. } => name.len() + input.to_string().len(),
        Block::ToolResult { content, .. } => content.len(),
        Block::Thinking { thinking, signature } => thinking.len() + signature.len(),
        Block::Unknown(value) => value.to_string().len(),
    }
}

/// Replaces a long result by one line; says how much shorter it is now.
fn cut_result(block: &mut Block) -> usize {
    let before = size(block);
    if let Block::ToolResult { content, .. } = block
        && content.len() > SMALL
    {
        *content = format!("[a result of {} bytes, left out to make room]", content.len());
    }
    before - size(block)
}

/// Cuts the long texts among a call's arguments; says how much shorter it is now.
fn cut_arguments(block: &mut Block) -> usize {
    let before = size(block);
    if let Block::ToolUse { input, .. } = block {
        for argument in input.as_object_mut().into_iter().flat_map(|map| map.values_mut()) {
            let long = argument.as_str().filter(|text| text.len() > SMALL);
            if let Some(text) = long {
                *argument = format!("{} [{} bytes, left out to make room]", text::head(text, 60), text.len()).into();
            }
        }
    }
    before.saturating_sub(size(block))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(id: &str, input: serde_json::Value) -> Block {
        Block::ToolUse { id: id.to_owned(), name: "bash".to_owned(), input, cache_control: None }
    }

    /// The brief and `rounds` calls, each with a long argument and a longer result.
    fn long(rounds: usize) -> History {
        let mut history = History::default();
        history.prompt(&"brief ".repeat(500));
        for round in 0..rounds {
            history.answer(vec![Block::text("next"), call(&format!("t{round}"), json!({"command": "é".repeat(500)}))]);
            history.results(vec![Block::tool_result(format!("t{round}"), "y".repeat(5_000), false)]);
        }
        history
    }

    /// What the provider checks: the sides in turn, the user's first, and each call answered in the next message.
    fn assert_valid(history: &History) {
        for (place, message) in history.messages().iter().enumerate() {
            assert_eq!(message.role, if place % 2 == 0 { Role::User } else { Role::Assistant });
            assert!(!message.content.is_empty() && !message.content.iter().any(is_blank));
            let calls: Vec<_> = message.content.iter().filter_map(call_id).collect();
            let answers = history.messages().get(place + 1).map(|next| next.content.as_slice()).unwrap_or_default();
            let answered: Vec<_> = answers
                .iter()
                .filter_map(|block| match block {
                    Block::ToolResult { tool_use_id, .. } => Some(tool_use_id.as_str()),
                    Block::Text { .. } | Block::ToolUse { .. } | Block::Thinking { .. } | Block::Unknown(_) => None,
                })
                .collect();
            assert_eq!(calls, answered, "message {place}");
        }
    }

    #[test]
    fn the_oldest_results_go_first_and_the_brief_and_the_newest_stay() {
        let mut history = long(20);
        let before = history.size();
        let freed = history.shrink(before - 12_000);
        assert!(freed >= 12_000 && history.size() == before - freed);
        assert_valid(&history);
        let first = serde_json::to_string(&history.messages()[0]).unwrap();
        assert!(first.contains("brief brief"));
        let results: Vec<_> = history.messages()[2..].iter().step_by(2).map(|m| size(&m.content[0])).collect();
        assert_eq!(&results[..4], [47, 47, 47, 5_000], "{results:?}");
        assert!(serde_json::to_string(&history.messages()[2]).unwrap().contains("a result of 5000 bytes"));
    }

    #[test]
    fn long_arguments_go_when_results_are_not_enough() {
        let mut history = long(20);
        let freed = history.shrink(0);
        assert!(freed > 17 * 4_900 + 15 * 800, "{freed}");
        assert_valid(&history);
        assert_eq!(history.shrink(0), 0, "there is nothing more to drop");
        let newest = serde_json::to_string(&history.messages()[35..]).unwrap();
        assert_eq!(newest.matches(&"y".repeat(5_000)).count(), 3);
    }

    #[test]
    fn a_short_conversation_is_left_alone() {
        let mut history = long(2);
        assert_eq!(history.shrink(0), 0);
    }

    #[test]
    fn a_turn_that_was_cut_off_leaves_a_valid_conversation() {
        let mut history = History::default();
        history.prompt("go");
        history.prompt("go on");
        assert_valid(&history);
        history.answer(vec![Block::text("  \n"), call("a", json!({})), call("b", json!({}))]);
        history.prompt("and now?");
        assert_valid(&history);
        assert_eq!(history.messages()[2].content[0], Block::tool_result("a", CUT_OFF, true));
        history.answer(Vec::new());
        history.prompt("well?");
        assert_valid(&history);
        history.answer(vec![Block::text("one")]);
        history.answer(vec![Block::text("two")]);
        assert_valid(&history);
    }

    #[test]
    fn the_verdict_s_result_and_the_next_prompt_make_one_message() {
        let mut history = History::default();
        history.prompt("review");
        history.answer(vec![call("v", json!({"approved": true}))]);
        history.results(vec![Block::tool_result("v", "taken down", false)]);
        history.prompt("a ruling is missing");
        assert_valid(&history);
        assert_eq!(history.messages().len(), 3);
    }
}
