//! What each role is offered, and the words in which.

use serde_json::{Value, json};

use super::Tool;
use super::bash::{DEFAULT_SECONDS, MAX_SECONDS};
use crate::agent::Role;
use crate::gateway::wire::anthropic::{self as wire, CacheControl};

/// The tools of a role.
pub(in crate::agent::builtin) fn offered(role: Role) -> &'static [Tool] {
    match role {
        Role::Implementer => &[Tool::Bash, Tool::Read, Tool::Write, Tool::Edit],
        Role::Reviewer => &[Tool::Bash, Tool::Read, Tool::Write, Tool::Edit, Tool::Verdict],
    }
}

/// The same for the wire, the last one marked for the provider's cache.
pub(in crate::agent::builtin) fn on_the_wire(tools: &[Tool]) -> Vec<wire::Tool> {
    let mut offer: Vec<_> = tools.iter().map(|tool| tool.describe()).collect();
    if let Some(last) = offer.last_mut() {
        last.cache_control = Some(CacheControl::five_minutes());
    }
    offer
}

impl Tool {
    fn describe(self) -> wire::Tool {
        let (description, properties, required): (String, Value, &[&str]) = match self {
            Self::Bash => (
                format!(
                    "Runs a command by `sh -c` in the work tree and gives what it printed and how it ended. Each call is a \
                     new shell. It is stopped after `timeout` seconds (default {DEFAULT_SECONDS}, at most {MAX_SECONDS}). \
                     Of long output, head and tail are kept."
                ),
                json!({
                    "command": {"type": "string"},
                    "timeout": {"type": "integer", "minimum": 1, "maximum": MAX_SECONDS, "description": "seconds"},
                }),
                &["command"],
            ),
            Self::Read => (
                "Reads a text file; each line comes with its number and a tab before it, which are not part of the file. \
                 Long files come in parts: go on with `offset`."
                    .to_owned(),
                json!({
                    "path": {"type": "string"},
                    "offset": {"type": "integer", "minimum": 1, "description": "first line, from 1"},
                    "limit": {"type": "integer", "minimum": 1, "description": "how many lines"},
                }),
                &["path"],
            ),
            Self::Write => (
                "Makes a file with this content, and the directories above it; an existing file is replaced whole. To \
                 change a part of a file, use `edit`."
                    .to_owned(),
                json!({"path": {"type": "string"}, "content": {"type": "string"}}),
                &["path", "content"],
            ),
            Self::Edit => (
                "Replaces the one place in a text file that is exactly `old`, white space and all, by `new`. Give enough \
                 lines around it that `old` occurs only once."
                    .to_owned(),
                json!({"path": {"type": "string"}, "old": {"type": "string"}, "new": {"type": "string"}}),
                &["path", "old", "new"],
            ),
            Self::Verdict => (
                "Gives your verdict on the change and ends the review. The brief says what each field means.".to_owned(),
                verdict_properties(),
                &["approved", "digest", "summary", "findings"],
            ),
        };
        let schema = json!({"type": "object", "properties": properties, "required": required});
        wire::Tool { name: self.name().to_owned(), description, input_schema: schema, cache_control: None }
    }
}

fn verdict_properties() -> Value {
    let list = |properties: Value, required: &[&str]| json!({"type": "array", "items": {"type": "object", "properties": properties, "required": required}});
    json!({
        "approved": {"type": "boolean"},
        "digest": {"type": "string"},
        "summary": {"type": "string"},
        "findings": list(
            json!({
                "severity": {"enum": ["blocker", "high", "medium", "low"]},
                "cite": {"type": "string", "description": "path:line, path:line-line or base:path:line"},
                "command": {"type": "string", "description": "a command that fails; in place of `cite`"},
                "text": {"type": "string"},
                "evidence": {"type": "string"},
            }),
            &["severity", "text"],
        ),
        "rulings": list(
            json!({
                "id": {"type": "string"},
                "ruling": {"enum": ["closed", "still_open", "met", "not_met", "cannot_judge"]},
                "note": {"type": "string"},
            }),
            &["id", "ruling"],
        ),
        "criteria": list(
            json!({
                "id": {"type": "string"},
                "status": {"enum": ["pass", "fail", "unknown"]},
                "evidence": {"type": "string"},
            }),
            &["id", "status"],
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_reviewer_can_give_a_verdict() {
        let names = |role| on_the_wire(offered(role)).into_iter().map(|tool| tool.name).collect::<Vec<_>>();
        assert_eq!(names(Role::Implementer), ["bash", "read", "write", "edit"]);
        assert_eq!(names(Role::Reviewer), ["bash", "read", "write", "edit", "verdict"]);
    }

    #[test]
    fn every_schema_names_only_what_it_has_and_the_last_tool_ends_the_cached_part() {
        let offer = on_the_wire(offered(Role::Reviewer));
        for tool in &offer {
            let schema = &tool.input_schema;
            let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
            assert!(!required.is_empty() && !tool.description.is_empty());
            for name in required {
                assert!(name.as_str().is_some_and(|name| schema["properties"].get(name).is_some()), "{schema}");
            }
        }
        let marks: Vec<_> = offer.iter().map(|tool| tool.cache_control.is_some()).collect();
        assert_eq!(marks, [false, false, false, false, true]);
    }
}
