//! `.countersign.toml` on the base commit.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::tree::Tree;
use super::{FILE, Setup, TIME_LIMIT_S};
use crate::cycle::checks::{Check, Kind, Source};
use crate::nearest::nearest;

/// The file may be this large, in bytes.
const LARGEST_FILE: usize = 64 * 1024;
const MOST_CHECKS: usize = 64;
const MOST_COMMANDS: usize = 32;
const MOST_GLOBS: usize = 256;
const LONGEST_NAME: usize = 64;
const LONGEST_COMMAND: usize = 8 * 1024;
const LONGEST_PATH: usize = 512;
const LONGEST_TIME_LIMIT_S: u32 = 24 * 60 * 60;

/// What is wrong with `.countersign.toml`, where, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Larger than 64 KiB, not UTF-8, or unreadable.
    #[error("{FILE} cannot be read: it must be UTF-8 text of at most {LARGEST_FILE} bytes")]
    Unreadable,
    /// Not TOML.
    #[error("{FILE} is not valid TOML in line {line}: {what}")]
    Syntax {
        /// Counted from 1.
        line: usize,
        /// In the parser's words, at most 200 characters.
        what: String,
    },
    /// A key that means nothing.
    #[error("{FILE} has an unknown key `{key}` {place}; did you mean `{nearest}`?")]
    UnknownKey {
        /// As it was written, at most 64 characters.
        key: String,
        /// Where it was written.
        place: String,
        /// The known key that is most like it.
        nearest: &'static str,
    },
    /// A value that does not fit its key.
    #[error("{FILE}: {key} {place} {must}")]
    BadValue {
        /// The key.
        key: &'static str,
        /// Where it is.
        place: String,
        /// What it must be.
        must: String,
    },
}

/// What the file says; everything empty if there is none.
#[derive(Debug, Default)]
pub(super) struct Declared {
    pub(super) checks: Vec<Check>,
    pub(super) setup: Option<Vec<Setup>>,
    pub(super) protected: Option<Vec<String>>,
    pub(super) accept_without_checks: bool,
    pub(super) strict_baseline: bool,
}

pub(super) fn read(tree: &Tree<'_>) -> Result<Declared, Error> {
    if !tree.has(FILE) {
        return Ok(Declared::default());
    }
    let text = tree.text(FILE, LARGEST_FILE).ok_or(Error::Unreadable)?;
    let file: Table = text.parse().map_err(|error: toml::de::Error| syntax(&text, &error))?;
    let top = Section { table: &file, place: "at the top".to_owned() };
    top.only(&["check", "setup", "protected", "accept_without_checks", "strict_baseline"])?;
    Ok(Declared {
        checks: checks(&top, tree)?,
        setup: setup(&top)?,
        protected: protected(&top)?,
        accept_without_checks: top.flag("accept_without_checks", false)?,
        strict_baseline: top.flag("strict_baseline", false)?,
    })
}

fn syntax(text: &str, error: &toml::de::Error) -> Error {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let what = error.message().lines().next().unwrap_or_default().chars().take(200).collect();
    Error::Syntax { line: before.matches('\n').count() + 1, what }
}

fn checks(top: &Section<'_>, tree: &Tree<'_>) -> Result<Vec<Check>, Error> {
    let Some(value) = top.table.get("check") else { return Ok(Vec::new()) };
    let tables = value.as_array().and_then(|all| all.iter().map(Value::as_table).collect::<Option<Vec<_>>>());
    let tables = tables.ok_or_else(|| top.bad("check", "must be written as [[check]], with two brackets"))?;
    if tables.len() > MOST_CHECKS {
        return Err(top.bad("check", format!("may be there at most {MOST_CHECKS} times")));
    }
    let mut names = BTreeSet::new();
    let mut checks = Vec::with_capacity(tables.len());
    for (at, table) in tables.into_iter().enumerate() {
        let section = Section { table, place: format!("of [[check]] number {}", at + 1) };
        let check = check(&section, tree)?;
        if !names.insert(check.name.clone()) {
            return Err(section.bad("name", format!("must be its own: another check is called `{}`", check.name)));
        }
        checks.push(check);
    }
    Ok(checks)
}

fn check(section: &Section<'_>, tree: &Tree<'_>) -> Result<Check, Error> {
    section.only(&["name", "kind", "command", "directory", "timeout", "required"])?;
    let name = section.line("name")?.ok_or_else(|| section.bad("name", "is missing"))?;
    let command = section.text("command", LONGEST_COMMAND)?.ok_or_else(|| section.bad("command", "is missing"))?;
    let kind_of = |word: &str| Kind::ALL.into_iter().find(|kind| kind.word() == word);
    let kind = match section.line("kind")? {
        Some(word) => {
            kind_of(&word).ok_or_else(|| section.bad("kind", "must be one of build, typecheck, lint, test, other"))?
        }
        None => kind_of(&name).unwrap_or(Kind::Other),
    };
    Ok(Check {
        kind,
        command,
        directory: directory(section, tree)?,
        time_limit_s: time_limit(section)?,
        required: section.flag("required", true)?,
        source: Source::File,
        name,
    })
}

fn directory(section: &Section<'_>, tree: &Tree<'_>) -> Result<String, Error> {
    let given = match section.table.get("directory").and_then(Value::as_str) {
        Some("" | ".") => None,
        Some(_) | None => section.text("directory", LONGEST_PATH)?,
    };
    let Some(given) = given else { return Ok(String::new()) };
    let plain = given.trim_end_matches('/');
    let below = !plain.split('/').any(|part| matches!(part, "" | "." | ".."));
    if !below || !tree.has_directory(plain) {
        return Err(section.bad("directory", "must be a directory of the repository, like `apps/api`"));
    }
    Ok(plain.to_owned())
}

fn time_limit(section: &Section<'_>) -> Result<u32, Error> {
    let Some(value) = section.table.get("timeout") else { return Ok(TIME_LIMIT_S) };
    let seconds = value.as_str().and_then(seconds).filter(|s| (1..=LONGEST_TIME_LIMIT_S).contains(s));
    seconds.ok_or_else(|| section.bad("timeout", "must be a time like \"90s\", \"10m\" or \"1h30m\", at most 24h"))
}

/// `1h30m`, `10m`, `90s`: each unit once, larger ones first.
fn seconds(text: &str) -> Option<u32> {
    let mut rest = text;
    let mut total = 0_u32;
    for (unit, worth) in [('h', 3_600), ('m', 60), ('s', 1)] {
        if let Some((number, after)) = rest.split_once(unit) {
            total = total.checked_add(number.parse::<u32>().ok()?.checked_mul(worth)?)?;
            rest = after;
        }
    }
    rest.is_empty().then_some(total)
}

fn setup(top: &Section<'_>) -> Result<Option<Vec<Setup>>, Error> {
    let Some(value) = top.table.get("setup") else { return Ok(None) };
    let table = value.as_table().ok_or_else(|| top.bad("setup", "must be a table: [setup]"))?;
    let section = Section { table, place: "of [setup]".to_owned() };
    section.only(&["commands", "network"])?;
    let needs_network = section.flag("network", false)?;
    let commands = section.texts("commands", MOST_COMMANDS, LONGEST_COMMAND)?.unwrap_or_default();
    let why = format!("{FILE} says so");
    let setup = |command| Setup { command, directory: String::new(), why: why.clone(), needs_network };
    Ok(Some(commands.into_iter().map(setup).collect()))
}

fn protected(top: &Section<'_>) -> Result<Option<Vec<String>>, Error> {
    let globs = top.texts("protected", MOST_GLOBS, LONGEST_PATH)?;
    if let Some(bad) = globs.iter().flatten().find(|glob| globset::Glob::new(glob).is_err()) {
        return Err(top.bad("protected", format!("must be globs like `deploy/**`, which `{bad}` is not")));
    }
    Ok(globs)
}

/// A table of the file, with the words for where it is.
struct Section<'a> {
    table: &'a Table,
    place: String,
}

impl Section<'_> {
    fn bad(&self, key: &'static str, must: impl Into<String>) -> Error {
        Error::BadValue { key, place: self.place.clone(), must: must.into() }
    }

    fn only(&self, known: &[&'static str]) -> Result<(), Error> {
        match self.table.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(Error::UnknownKey {
                key: key.chars().take(64).collect(),
                place: self.place.clone(),
                nearest: nearest(key, known),
            }),
        }
    }

    fn flag(&self, key: &'static str, default: bool) -> Result<bool, Error> {
        match self.table.get(key) {
            None => Ok(default),
            Some(value) => value.as_bool().ok_or_else(|| self.bad(key, "must be true or false")),
        }
    }

    fn text(&self, key: &'static str, longest: usize) -> Result<Option<String>, Error> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let text = value.as_str().filter(|text| is_fit(text, longest));
        text.map(|text| Some(text.to_owned())).ok_or_else(|| self.bad(key, must_be_text(longest)))
    }

    /// A short text without line breaks.
    fn line(&self, key: &'static str) -> Result<Option<String>, Error> {
        let text = self.text(key, LONGEST_NAME)?;
        if text.as_ref().is_some_and(|text| text.contains(['\n', '\t'])) {
            return Err(self.bad(key, "must be one line"));
        }
        Ok(text)
    }

    fn texts(&self, key: &'static str, most: usize, longest: usize) -> Result<Option<Vec<String>>, Error> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let all = value.as_array().filter(|all| all.len() <= most);
        let fit = |value: &Value| value.as_str().filter(|text| is_fit(text, longest)).map(str::to_owned);
        let texts = all.and_then(|all| all.iter().map(fit).collect::<Option<Vec<_>>>());
        let must = || format!("must be a list of at most {most} texts, each of which {}", must_be_text(longest));
        texts.map(Some).ok_or_else(|| self.bad(key, must()))
    }
}

fn is_fit(text: &str, longest: usize) -> bool {
    let control = |c: char| c.is_control() && c != '\n' && c != '\t';
    !text.trim().is_empty() && text.len() <= longest && !text.contains(control)
}

fn must_be_text(longest: usize) -> String {
    format!("must be text of 1 to {longest} bytes without control characters")
}
