//! The stories: a sample repository, an issue, and the model's words.

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::cycle::money::Money;
use crate::model_server::Script;

/// A story's files, as they are built into the program.
#[derive(Debug)]
pub(super) struct Source {
    name: &'static str,
    story: &'static str,
    script: &'static str,
    files: &'static [(&'static str, &'static str)],
}

macro_rules! source {
    ($name:literal) => {
        Source {
            name: $name,
            story: include_str!(concat!("samples/", $name, "/story.toml")),
            script: include_str!(concat!("samples/", $name, "/script.toml")),
            files: &[
                ("Cargo.toml", include_str!(concat!("samples/", $name, "/repository/Cargo.toml"))),
                ("Cargo.lock", include_str!(concat!("samples/", $name, "/repository/Cargo.lock"))),
                (".gitignore", include_str!(concat!("samples/", $name, "/repository/.gitignore"))),
                (".countersign.toml", include_str!(concat!("samples/", $name, "/repository/.countersign.toml"))),
                ("README.md", include_str!(concat!("samples/", $name, "/repository/README.md"))),
                ("src/lib.rs", include_str!(concat!("samples/", $name, "/repository/src/lib.rs"))),
                ("tests/behaviour.rs", include_str!(concat!("samples/", $name, "/repository/tests/behaviour.rs"))),
            ],
        }
    };
}

/// All five, in the order in which they are told.
pub(super) const STORIES: &[Source] =
    &[source!("second_pass"), source!("overruled"), source!("stalled"), source!("money"), source!("crashed")];

/// A story, read.
#[derive(Debug)]
pub(super) struct Story {
    pub(super) name: &'static str,
    pub(super) repository: String,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) done: Vec<String>,
    pub(super) money: Money,
    pub(super) ends: String,
    pub(super) passes: usize,
    pub(super) delivered: bool,
    pub(super) files: Vec<(String, String)>,
    pub(super) script: Script,
}

/// `story.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "says")]
    _says: String,
    repository: String,
    title: String,
    body: String,
    done: Vec<String>,
    money: String,
    ends: String,
    passes: usize,
    delivered: bool,
}

impl Story {
    pub(super) fn read(source: &Source) -> Result<Self> {
        let file: File = toml::from_str(source.story).with_context(|| format!("story {}", source.name))?;
        let File { _says, repository, title, body, done, money, ends, passes, delivered } = file;
        let files = source.files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let script = Script::parse(source.script).with_context(|| format!("the words of story {}", source.name))?;
        let money = money.parse().with_context(|| format!("the money of story {}", source.name))?;
        let name = source.name;
        Ok(Self { name, repository, title, body, done, money, ends, passes, delivered, files, script })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn all_five_stories_can_be_read_and_their_titles_differ() {
        let stories: Vec<Story> = STORIES.iter().map(|s| Story::read(s).unwrap()).collect();
        let titles: std::collections::BTreeSet<&str> = stories.iter().map(|s| s.title.as_str()).collect();
        assert_eq!(titles.len(), 5);
    }
}
