//! The ignore rules of a base tree: read from its own `.gitignore` files, never from what an agent left.

use git2::{ObjectType, Repository, Tree, TreeWalkMode, TreeWalkResult};
use globset::{GlobBuilder, GlobMatcher};

use super::Error;

/// The largest `.gitignore` that is read, in bytes.
const LARGEST: usize = 256 << 10;

struct Rule {
    /// The directory of the file that it stands in, with a slash at the end; empty at the top.
    below: String,
    matcher: GlobMatcher,
    negated: bool,
    only_directories: bool,
}

/// The rules in their order; the last that matches decides.
pub(super) struct Rules(Vec<Rule>);

impl Rules {
    pub(super) fn of(repo: &Repository, tree: &Tree<'_>) -> Result<Self, Error> {
        let mut files = Vec::new();
        tree.walk(TreeWalkMode::PreOrder, |root, entry| {
            if entry.name_bytes() == b".gitignore" && entry.kind() == Some(ObjectType::Blob) {
                files.push((root.to_owned(), entry.id()));
            }
            TreeWalkResult::Ok
        })?;
        let mut rules = Vec::new();
        for (below, id) in files {
            let blob = repo.find_blob(id)?;
            let text = String::from_utf8_lossy(&blob.content()[..blob.content().len().min(LARGEST)]).into_owned();
            rules.extend(text.lines().filter_map(|line| rule(&below, line)));
        }
        Ok(Self(rules))
    }

    /// Whether the path, of a directory or something else, is ignored. Its parents are asked before it.
    pub(super) fn ignore(&self, path: &[u8], is_directory: bool) -> bool {
        let Ok(path) = std::str::from_utf8(path) else { return false };
        let fits = |rule: &&Rule| {
            let inside = path.strip_prefix(&rule.below);
            inside.is_some_and(|p| rule.matcher.is_match(p)) && (is_directory || !rule.only_directories)
        };
        self.0.iter().rev().find(fits).is_some_and(|rule| !rule.negated)
    }
}

/// One line, as `gitignore(5)` describes it; `None` for comments and what is no glob.
fn rule(below: &str, line: &str) -> Option<Rule> {
    let line = line.trim_end();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (negated, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
    let (only_directories, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
    let (anchored, line) = line.strip_prefix('/').map_or((line.contains('/'), line), |rest| (true, rest));
    let glob = if anchored { line.to_owned() } else { format!("**/{line}") };
    let matcher =
        GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build().ok()?.compile_matcher();
    Some(Rule { below: below.to_owned(), matcher, negated, only_directories })
}
