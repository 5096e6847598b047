//! What a finding points at. Only the form is judged here; whether the lines exist and the command fails is found out
//! later, by looking.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::parts::{MOST_TEXT, cut};

/// The longest path that can be cited, in bytes: the longest that Linux can open.
const MOST_PATH: usize = 4096;

/// How much of a malformed citation is shown, in bytes.
const MOST_SHOWN: usize = 200;

/// Where a finding says that the fault is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Citation {
    /// Lines of a file.
    Lines {
        /// Path from the top of the tree, never empty, without NUL; may be any other text, and need not exist.
        path: String,
        /// Whether the base is meant instead of the reviewed tree: how deleted code is cited.
        base: bool,
        /// First line, counted from 1.
        from: u32,
        /// Last line, not before `from`.
        to: u32,
    },
    /// A command that is said to fail: at most 8 KiB, not blank, without NUL.
    Command(String),
}

impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lines { path, base, from, to } => {
                let base = if *base { "base:" } else { "" };
                write!(f, "{base}{path}:{from}")?;
                if from == to { Ok(()) } else { write!(f, "-{to}") }
            }
            Self::Command(command) => f.write_str(command),
        }
    }
}

/// Why a finding has no citation that could be looked at. The text says so to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Uncited {
    /// It cites nothing.
    Missing,
    /// `cite` or `command` is not a text.
    NotText {
        /// What was given, as JSON, cut to 200 bytes.
        given: String,
    },
    /// It does not end in a line number.
    NoLine {
        /// What was given, cut to 200 bytes.
        given: String,
    },
    /// The lines count from 0, run backwards or are beyond what a file can have.
    BadLines {
        /// What was given, cut to 200 bytes.
        given: String,
    },
    /// The path is empty, longer than 4 KiB or has a NUL in it.
    BadPath {
        /// What was given, cut to 200 bytes.
        given: String,
    },
    /// The command is longer than 8 KiB or has a NUL in it; a shortened command would be another command.
    BadCommand {
        /// What was given, cut to 200 bytes.
        given: String,
    },
    /// Not a finding of the reviewer's: it stands for those beyond the limit of a verdict.
    LeftOut {
        /// How many findings were left out.
        count: usize,
    },
}

impl fmt::Display for Uncited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("it cites neither a line nor a command"),
            Self::NotText { given } => write!(f, "its citation `{given}` is not a text"),
            Self::NoLine { given } => write!(f, "its citation `{given}` does not end in a line number"),
            Self::BadLines { given } => write!(f, "its citation `{given}` names lines that no file can have"),
            Self::BadPath { given } => write!(f, "its citation `{given}` names a path that no file can have"),
            Self::BadCommand { given } => write!(f, "its command `{given}` is too long or has a NUL in it"),
            Self::LeftOut { count } => write!(f, "{count} findings beyond the limit of a verdict were left out"),
        }
    }
}

/// Reads a finding's citation: its `cite` if that is well formed, else its `command`.
pub(super) fn of(finding: &Value) -> Result<Citation, Uncited> {
    let lines = text(finding.get("cite")).map(|given| given.and_then(lines));
    let command = text(finding.get("command")).map(|given| given.and_then(command));
    match (lines, command) {
        (Some(Ok(citation)), _) | (_, Some(Ok(citation))) => Ok(citation),
        (Some(Err(why)), _) | (None, Some(Err(why))) => Err(why),
        (None, None) => Err(Uncited::Missing),
    }
}

/// A field that is absent, null or blank is not given at all.
fn text(field: Option<&Value>) -> Option<Result<&str, Uncited>> {
    match field? {
        Value::Null => None,
        Value::String(text) => Some(Ok(bare(text))).filter(|t| *t != Ok("")),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Some(Err(Uncited::NotText { given: cut(&other.to_string(), MOST_SHOWN) }))
        }
    }
}

/// Removes white space and one pair of backticks around a citation.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix('`').and_then(|t| t.strip_suffix('`'));
    inside.filter(|t| !t.contains('`')).map_or(text, str::trim)
}

/// Reads `path:line`, `path:line-line` and `path:line:column`, each with `base:` in front or without.
///
/// The line is what follows the last colon, since a path may hold colons; before a second number it is a column, as
/// compilers print it. So a path that itself ends in `:1` is cited with a column, and one that starts with `base:` or
/// with a space with `./` in front.
fn lines(cite: &str) -> Result<Citation, Uncited> {
    let given = || cut(cite, MOST_SHOWN);
    let no_line = || Uncited::NoLine { given: given() };
    let (path, range) = cite.rsplit_once(':').ok_or_else(no_line)?;
    let (from, to) = range.split_once(['-', '–']).unwrap_or((range, range));
    if !is_number(from) || !is_number(to) {
        return Err(no_line());
    }
    let (base, path) = path.strip_prefix("base:").map_or((false, path), |path| (true, path));
    let path = path.strip_prefix("./").unwrap_or(path);
    let (path, from, to) = match path.rsplit_once(':') {
        Some((path, line)) if is_number(line) => (path, line, line),
        Some(_) | None => (path, from, to),
    };
    if path.is_empty() || path.len() > MOST_PATH || path.contains('\0') {
        return Err(Uncited::BadPath { given: given() });
    }
    match (from.trim().parse(), to.trim().parse()) {
        (Ok(from @ 1..), Ok(to)) if from <= to => Ok(Citation::Lines { path: path.to_owned(), base, from, to }),
        (Ok(_) | Err(_), _) => Err(Uncited::BadLines { given: given() }),
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.trim();
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn command(command: &str) -> Result<Citation, Uncited> {
    if command.len() > MOST_TEXT || command.contains('\0') {
        return Err(Uncited::BadCommand { given: cut(command, MOST_SHOWN) });
    }
    Ok(Citation::Command(command.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(path: &str, base: bool, from: u32, to: u32) -> Result<Citation, Uncited> {
        Ok(Citation::Lines { path: path.to_owned(), base, from, to })
    }

    #[test]
    fn a_line_of_any_file_can_be_cited() {
        let table = [
            ("src/a.rs:10", at("src/a.rs", false, 10, 10)),
            ("src/a.rs:10-12", at("src/a.rs", false, 10, 12)),
            ("src/a.rs: 10 – 12", at("src/a.rs", false, 10, 12)),
            (" `src/a.rs:10`\n", at("src/a.rs", false, 10, 10)),
            ("./src/a.rs:1", at("src/a.rs", false, 1, 1)),
            ("base:src/a.rs:10", at("src/a.rs", true, 10, 10)),
            ("base:src/a.rs:3-4", at("src/a.rs", true, 3, 4)),
            ("./base:x:3", at("base:x", false, 3, 3)),
            ("base:./base:x:3", at("base:x", true, 3, 3)),
            ("né.txt:1", at("né.txt", false, 1, 1)),
            ("課題/ファイル.md:7", at("課題/ファイル.md", false, 7, 7)),
            ("a\"b.txt:1", at("a\"b.txt", false, 1, 1)),
            ("two\nlines:1", at("two\nlines", false, 1, 1)),
            ("./ led by a space:1", at(" led by a space", false, 1, 1)),
            ("C:dir:x:9", at("C:dir:x", false, 9, 9)),
            ("src/a.rs:10:5", at("src/a.rs", false, 10, 10)),
            ("src/a.rs:10:5-9", at("src/a.rs", false, 10, 10)),
            ("src/a.rs:10:0", at("src/a.rs", false, 10, 10)),
            ("base:src/a.rs:10:5", at("src/a.rs", true, 10, 10)),
            ("base:3:4", at("3", true, 4, 4)),
            ("base:3", at("base", false, 3, 3)),
            ("a:1:2:1", at("a:1", false, 2, 2)),
            ("a-1:2", at("a-1", false, 2, 2)),
            ("`a`b`:1", at("`a`b`", false, 1, 1)),
            ("a:4294967295", at("a", false, u32::MAX, u32::MAX)),
        ];
        for (cite, result) in table {
            assert_eq!(of(&json!({"cite": cite})), result, "{cite}");
        }
    }

    #[test]
    fn a_malformed_citation_says_what_is_wrong_with_it() {
        let given = |text: &str| text.to_owned();
        let longest = "p".repeat(MOST_PATH);
        assert_eq!(of(&json!({"cite": format!("{longest}:1")})), at(&longest, false, 1, 1));
        let long = format!("{}:1", "p".repeat(MOST_PATH + 1));
        let table = [
            (json!({}), Uncited::Missing),
            (json!({"cite": null, "command": "  "}), Uncited::Missing),
            (json!({"cite": "``"}), Uncited::Missing),
            (json!("just words"), Uncited::Missing),
            (json!({"cite": 7}), Uncited::NotText { given: given("7") }),
            (json!({"command": ["ls"]}), Uncited::NotText { given: given("[\"ls\"]") }),
            (json!({"cite": "src/a.rs"}), Uncited::NoLine { given: given("src/a.rs") }),
            (json!({"cite": "src/a.rs:"}), Uncited::NoLine { given: given("src/a.rs:") }),
            (json!({"cite": "src/a.rs:ten"}), Uncited::NoLine { given: given("src/a.rs:ten") }),
            (json!({"cite": "src/a.rs:+1"}), Uncited::NoLine { given: given("src/a.rs:+1") }),
            (json!({"cite": "src/a.rs:1-"}), Uncited::NoLine { given: given("src/a.rs:1-") }),
            (json!({"cite": "src/a.rs:-1"}), Uncited::NoLine { given: given("src/a.rs:-1") }),
            (json!({"cite": "a:٣"}), Uncited::NoLine { given: given("a:٣") }),
            (json!({"cite": "a:0"}), Uncited::BadLines { given: given("a:0") }),
            (json!({"cite": "a:0-3"}), Uncited::BadLines { given: given("a:0-3") }),
            (json!({"cite": "a:3-2"}), Uncited::BadLines { given: given("a:3-2") }),
            (json!({"cite": "a:4294967296"}), Uncited::BadLines { given: given("a:4294967296") }),
            (json!({"cite": "a:0:3"}), Uncited::BadLines { given: given("a:0:3") }),
            (json!({"cite": "a:10:5:"}), Uncited::NoLine { given: given("a:10:5:") }),
            (json!({"cite": ":10:5"}), Uncited::BadPath { given: given(":10:5") }),
            (json!({"cite": ":3"}), Uncited::BadPath { given: given(":3") }),
            (json!({"cite": "base::3"}), Uncited::BadPath { given: given("base::3") }),
            (json!({"cite": "a\0b:3"}), Uncited::BadPath { given: given("ab:3") }),
            (json!({"cite": long}), Uncited::BadPath { given: cut(&long, MOST_SHOWN) }),
            (json!({"command": "a\0b"}), Uncited::BadCommand { given: given("ab") }),
        ];
        for (finding, why) in table {
            assert_eq!(of(&finding), Err(why), "{finding}");
        }
    }

    #[test]
    fn a_command_is_taken_whole_or_not_at_all() {
        let most = "x".repeat(MOST_TEXT);
        assert_eq!(of(&json!({"command": most})), Ok(Citation::Command(most.clone())));
        let more = format!("{most}x");
        assert_eq!(of(&json!({"command": more})), Err(Uncited::BadCommand { given: cut(&more, MOST_SHOWN) }));
        let shell = "echo `date`; ls `pwd`";
        assert_eq!(of(&json!({"command": shell})), Ok(Citation::Command(shell.to_owned())));
    }

    #[test]
    fn the_well_formed_one_of_two_citations_counts_and_lines_come_first() {
        let command = Ok(Citation::Command("cargo test x".to_owned()));
        assert_eq!(of(&json!({"cite": "a:1", "command": "cargo test x"})), at("a", false, 1, 1));
        assert_eq!(of(&json!({"cite": "a", "command": "cargo test x"})), command);
        assert_eq!(of(&json!({"cite": "", "command": "cargo test x"})), command);
        assert_eq!(of(&json!({"cite": "a", "command": 3})), Err(Uncited::NoLine { given: "a".to_owned() }));
    }

    #[test]
    fn a_citation_is_shown_as_it_is_written() {
        for cite in ["src/a.rs:10", "src/a.rs:10-12", "base:src/a.rs:10"] {
            assert_eq!(of(&json!({"cite": cite})).map(|c| c.to_string()).as_deref(), Ok(cite));
        }
        assert_eq!(of(&json!({"cite": "a.rs:1:2"})).map(|c| c.to_string()).as_deref(), Ok("a.rs:1"));
    }
}
