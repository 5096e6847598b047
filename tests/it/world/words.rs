//! What the two agents say, put together from what a test is about.

use countersign::model_server::{Conversation, Fault, FaultKind, Reply, Script, ToolCall, When};
use serde_json::{Map, Value, json};

/// Conversations in the order in which each role has them; each is had once.
pub(super) fn script(conversations: impl IntoIterator<Item = Conversation>) -> Script {
    let capture = [("digest".to_owned(), "diff-digest: ".to_owned())].into();
    Script { capture, conversation: conversations.into_iter().collect() }
}

/// An implementer that runs these commands, one a turn, and says that it is done.
pub(super) fn writes(commands: &[&str]) -> Conversation {
    let mut turn: Vec<Reply> = commands.iter().map(|c| bash(c)).collect();
    turn.push(says("Done, and all of it works."));
    once("implementer", turn)
}

/// The same, which ends with answers to what is open: `("F1", "fixed" | "disputed", note)`.
pub(super) fn answers(commands: &[&str], answers: &[(&str, &str, &str)]) -> Conversation {
    let answers: Vec<Value> =
        answers.iter().map(|(id, answer, note)| json!({"id": id, "answer": answer, "note": note})).collect();
    let last = says(&format!("Done.\n\n```json\n{}\n```\n", json!({ "answers": answers })));
    let mut turn: Vec<Reply> = commands.iter().map(|c| bash(c)).collect();
    turn.push(last);
    once("implementer", turn)
}

/// A reviewer that gives this verdict by its tool at once.
pub(super) fn reads(verdict: Value) -> Conversation {
    tries(&[], verdict)
}

/// A reviewer that runs these commands first.
pub(super) fn tries(commands: &[&str], verdict: Value) -> Conversation {
    let mut turn: Vec<Reply> = commands.iter().map(|c| bash(c)).collect();
    turn.push(call("verdict", verdict));
    once("reviewer", turn)
}

/// A role that says these messages, and nothing after them.
pub(super) fn talks(role: &str, messages: &[&str]) -> Conversation {
    once(role, messages.iter().map(|m| says(m)).collect())
}

/// A conversation of a role that is had once.
pub(super) fn once(role: &str, turn: Vec<Reply>) -> Conversation {
    let when = When { role: Some(role.to_owned()), ..When::default() };
    Conversation { name: role.to_owned(), when, uses: Some(1), turn, ..Conversation::default() }
}

/// The same conversation however often it is begun.
pub(super) fn always(conversation: Conversation) -> Conversation {
    Conversation { uses: None, ..conversation }
}

/// An implementer that does whatever the issue orders by lines that begin with `RUN:`.
pub(super) fn obeys() -> Conversation {
    Conversation { obedient: true, ..once("implementer", Vec::new()) }
}

pub(super) fn says(text: &str) -> Reply {
    Reply { text: text.to_owned(), ..Reply::default() }
}

pub(super) fn bash(command: &str) -> Reply {
    call("bash", json!({ "command": command }))
}

pub(super) fn call(tool: &str, input: Value) -> Reply {
    let input = match input {
        Value::Object(input) => input,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
    Reply { tools: vec![ToolCall { name: tool.to_owned(), input }], ..Reply::default() }
}

/// The turn goes wrong this often (`None`: every time).
pub(super) fn faulty(reply: Reply, kind: FaultKind, times: Option<u32>) -> Reply {
    Reply { fault: Some(Fault { kind, times }), ..reply }
}

pub(super) fn approves() -> Value {
    json!({"approved": true, "digest": "{{digest}}", "summary": "It does what was asked.", "findings": []})
}

/// A rejection with these findings.
pub(super) fn rejects(findings: &[Value]) -> Value {
    json!({"approved": false, "digest": "{{digest}}", "summary": "Not yet.", "findings": findings})
}

/// The verdict with rulings: `("F1", "closed")`.
pub(super) fn ruling(mut verdict: Value, rulings: &[(&str, &str)]) -> Value {
    verdict["rulings"] =
        rulings.iter().map(|(id, ruling)| json!({"id": id, "ruling": ruling, "note": "I looked."})).collect();
    verdict
}

/// A finding at `path:line`.
pub(super) fn at(cite: &str) -> Value {
    json!({"severity": "high", "cite": cite, "text": "This is wrong.", "evidence": "I read it."})
}

/// A finding that rests on a command.
pub(super) fn fails(command: &str) -> Value {
    json!({"severity": "high", "command": command, "text": "This fails.", "evidence": "I ran it."})
}
