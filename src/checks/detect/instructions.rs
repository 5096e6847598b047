//! What a repository tells agents, read as data from the base commit.

use super::tree::Tree;

/// How much of a file is read, in bytes.
const LONGEST: usize = 64 * 1024;

/// One file of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instructions {
    /// Its path in the tree.
    pub path: String,
    /// The first 64 KiB, with invalid UTF-8 replaced.
    pub text: String,
}

pub(super) fn read(tree: &Tree<'_>) -> Vec<Instructions> {
    let read = |path: &str| {
        let bytes = tree.start(path, LONGEST)?;
        Some(Instructions { path: path.to_owned(), text: String::from_utf8_lossy(&bytes).into_owned() })
    };
    ["AGENTS.md", "CLAUDE.md"].into_iter().filter_map(read).collect()
}
