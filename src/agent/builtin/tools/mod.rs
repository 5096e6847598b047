//! The tools of the built-in agent. A model's arguments are untrusted: each is checked and bounded here, and whatever is
//! wrong with them is told to the model instead of failing the turn.

mod bash;
mod edit;
mod files;
mod offer;
mod verdict;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::agent::text;
use crate::gateway::wire::anthropic::INVALID_INPUT;
use crate::sandbox::{self, Sandbox, WORK};

pub(super) use offer::{offered, on_the_wire};
pub(super) use verdict::raw as raw_verdict;

/// The most bytes of a result that the model gets, but for what is said about the cut.
const RESULT: usize = 30_000;
/// The longest path that is passed on.
const PATH: usize = 4_096;

/// What a tool call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Done {
    /// What was done, in a few words.
    pub(super) summary: String,
    /// What the model is told.
    pub(super) output: String,
    /// Whether the tool could not do it.
    pub(super) failed: bool,
}

impl Done {
    fn ok(summary: impl Into<String>, output: impl Into<String>) -> Self {
        Self { summary: summary.into(), output: output.into(), failed: false }
    }

    /// The answer to a call that was one too many in its message.
    pub(super) fn too_many(limit: usize) -> Self {
        Self::failed("did nothing", format!("not done: at most {limit} tool calls in one message"))
    }

    fn failed(summary: impl Into<String>, why: impl Into<String>) -> Self {
        Self { summary: summary.into(), output: why.into(), failed: true }
    }
}

/// The tools by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Bash,
    Read,
    Write,
    Edit,
    Verdict,
}

impl Tool {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Verdict => "verdict",
        }
    }
}

/// Does what the model asks for.
///
/// # Errors
/// Only those after which the sandbox is of no use.
pub(super) async fn call(
    sandbox: &Sandbox,
    offered: &[Tool],
    name: &str,
    input: &Value,
) -> Result<Done, sandbox::Error> {
    let Some(tool) = offered.iter().find(|tool| tool.name() == name) else {
        return Ok(unknown(offered, name));
    };
    match tool {
        Tool::Bash => bash::call(sandbox, input).await,
        Tool::Read => files::read(sandbox, input).await,
        Tool::Write => files::write(sandbox, input).await,
        Tool::Edit => edit::call(sandbox, input).await,
        Tool::Verdict => Ok(verdict::acknowledge(input)),
    }
}

fn unknown(offered: &[Tool], name: &str) -> Done {
    let name = text::head(&text::clean(name), 80);
    let names: Vec<_> = offered.iter().map(|tool| tool.name()).collect();
    Done::failed(format!("unknown tool {name}"), format!("there is no tool `{name}`; there are {}", names.join(", ")))
}

/// Reads a tool's arguments; what is wrong with them is told in a way that lets the model do better.
fn arguments<T: DeserializeOwned>(input: &Value) -> Result<T, String> {
    if input.get(INVALID_INPUT).is_some() {
        return Err("the arguments are not one JSON object with each key once".to_owned());
    }
    T::deserialize(input).map_err(|error| format!("the arguments do not fit: {error}"))
}

/// Whether a path can be passed on.
fn check_path(path: &str) -> Result<(), String> {
    match path {
        "" => Err("the path is empty".to_owned()),
        long if long.len() > PATH => Err(format!("the path is longer than {PATH} bytes")),
        nul if nul.contains('\0') => Err("the path holds a NUL".to_owned()),
        _ => Ok(()),
    }
}

/// A path as people see it: relative to the work tree, on one line, not too long.
fn shown(path: &str) -> String {
    let inside = path.strip_prefix(WORK).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path);
    text::head(&text::clean(inside).replace(['\n', '\r'], "\u{fffd}"), 200)
}

/// Parts the refusals that a model can do something about from faults of the sandbox.
fn refused(error: sandbox::Error) -> Result<String, sandbox::Error> {
    match error {
        sandbox::Error::BadCommand { .. }
        | sandbox::Error::NoSuchProgram { .. }
        | sandbox::Error::NoSuchPath { .. }
        | sandbox::Error::NotRegular { .. }
        | sandbox::Error::Denied { .. }
        | sandbox::Error::TooLarge { .. }
        | sandbox::Error::Refused { .. } => Ok(error.to_string()),
        sandbox::Error::NoBackend { .. }
        | sandbox::Error::LimitRefused { .. }
        | sandbox::Error::BadTree { .. }
        | sandbox::Error::NotStarted { .. }
        | sandbox::Error::Lost
        | sandbox::Error::Unresponsive(_)
        | sandbox::Error::Io { .. } => Err(error),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Deserialize)]
    struct Arguments {
        path: String,
    }

    #[test]
    fn arguments_that_do_not_fit_are_told_in_words() {
        assert_eq!(arguments::<Arguments>(&json!({"path": "a", "more": 1})).unwrap().path, "a");
        for (input, part) in [
            (json!({}), "missing field `path`"),
            (json!({"path": 7}), "invalid type: integer `7`, expected a string"),
            (json!([1]), "the arguments do not fit"),
            (json!({INVALID_INPUT: "{\"path\":"}), "not one JSON object"),
        ] {
            let why = arguments::<Arguments>(&input).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }

    #[test]
    fn a_path_that_cannot_be_one_is_refused_in_words() {
        assert_eq!(check_path("src/a.rs"), Ok(()));
        for bad in ["", "a\0b", &"x".repeat(PATH + 1)] {
            assert!(check_path(bad).is_err());
        }
    }

    #[test]
    fn a_shown_path_is_short_and_on_one_line() {
        assert_eq!(shown("/work/src/a.rs"), "src/a.rs");
        assert_eq!(shown("/workshop"), "/workshop");
        assert_eq!(shown("a\nb\u{1b}[1m"), "a\u{fffd}b");
        assert!(shown(&"x".repeat(4_000)).len() < 210);
    }

    #[test]
    fn an_unknown_tool_is_answered_with_the_ones_there_are() {
        let done = unknown(&[Tool::Bash, Tool::Read], &"web_search".repeat(1_000));
        assert!(done.failed && done.output.ends_with("there are bash, read") && done.output.len() < 200);
    }
}
