//! Rust sources as far as the rules need them: text without comments and literals, and without its test modules.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// One file of `src/` or `templates/`.
pub(super) struct Source {
    /// From the root of the repository, with slashes: `src/git/push.rs`.
    pub(super) path: String,
    /// The file as it stands.
    pub(super) text: String,
    /// For Rust: the text with comments and literals blanked, line for line.
    pub(super) code: String,
    /// For Rust: `code` with its test modules blanked too.
    pub(super) shipped: String,
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let code = if path.ends_with(".rs") { without_comments_and_literals(text) } else { String::new() };
        let shipped = without_test_modules(&code);
        Self { path: path.to_owned(), text: text.to_owned(), code, shipped }
    }

    /// The top-level module that the file belongs to; empty for the crate's roots, `lib.rs` and `main.rs`.
    pub(super) fn module(&self) -> &str {
        self.module_path().first().copied().unwrap_or("")
    }

    /// The modules from the crate's root to this file: `src/git/push.rs` is `git`, `push`.
    fn module_path(&self) -> Vec<&str> {
        let inner = self.path.strip_prefix("src/").and_then(|p| p.strip_suffix(".rs")).unwrap_or("");
        inner.split('/').filter(|part| !["", "lib", "main", "mod"].contains(part)).collect()
    }

    /// Every top-level module of this crate that the shipped code names, by `crate::` or through `super::`.
    pub(super) fn names_modules(&self) -> BTreeSet<String> {
        let mut named = named_after("crate::", &self.shipped);
        let to_root = "super::".repeat(self.module_path().len());
        if !to_root.is_empty() {
            named.extend(named_after(&to_root, &self.shipped));
        }
        named
    }

    /// Whether the word stands in the shipped code as a whole identifier.
    pub(super) fn says(&self, word: &str) -> bool {
        words(&self.shipped).any(|w| w == word)
    }
}

/// Every file under these directories of the repository, samples of the demo left out: they are data.
pub(super) fn read_all(directories: &[&str]) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for directory in directories {
        walk(root, &root.join(directory), &mut found);
    }
    let tests: Vec<String> = found.iter().flat_map(test_files_of).collect();
    found.retain(|s| !tests.iter().any(|t| s.path == format!("{t}.rs") || s.path.starts_with(&format!("{t}/"))));
    found
}

fn walk(root: &Path, directory: &Path, found: &mut Vec<Source>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for path in entries.map(|e| e.expect("the directory was just opened").path()) {
        let name = path.strip_prefix(root).expect("the walk began at the root").to_string_lossy().into_owned();
        if name == "src/demo/samples" {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, found);
        } else if let Ok(text) = fs::read_to_string(&path) {
            found.push(Source::new(&name, &text));
        }
    }
}

/// What `#[cfg(test)] mod name;` stands for: a file of that path with `.rs`, or the directory.
fn test_files_of(source: &Source) -> Vec<String> {
    let directory = source.path.trim_end_matches("/mod.rs").trim_end_matches(".rs");
    let declared = test_modules(&source.code).into_iter().filter(|m| m.elsewhere);
    declared.map(|m| format!("{directory}/{}", m.name)).collect()
}

fn named_after(prefix: &str, code: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for (at, _) in code.match_indices(prefix) {
        let longer = code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
        if longer {
            continue;
        }
        let rest = code[at + prefix.len()..].trim_start();
        match rest.strip_prefix('{') {
            Some(group) => named.extend(top_level_names(group)),
            None => named.extend(words(rest).next().map(str::to_owned)),
        }
    }
    named
}

/// The first word of each entry of a `{a, b::{c, d}}` import, which begins after its first brace.
fn top_level_names(group: &str) -> Vec<String> {
    let (mut depth, mut entry, mut names) = (0, String::new(), Vec::new());
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(std::mem::take(&mut entry)),
            other => entry.push(other),
        }
    }
    names.push(entry);
    names.iter().filter_map(|e| words(e).next().map(str::to_owned)).collect()
}

pub(super) fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|w| !w.is_empty())
}

struct TestModule {
    name: String,
    /// From the attribute to the closing brace or the semicolon.
    range: std::ops::Range<usize>,
    /// Whether the module is another file.
    elsewhere: bool,
}

fn test_modules(code: &str) -> Vec<TestModule> {
    let marks = code.match_indices("#[cfg(test)]").map(|(at, _)| at);
    marks.filter_map(|at| test_module_at(code, at)).collect()
}

fn test_module_at(code: &str, start: usize) -> Option<TestModule> {
    let mut at = start;
    while code[at..].starts_with("#[") {
        at += closing(&code[at..], '[', ']')?;
        at += code[at..].len() - code[at..].trim_start().len();
    }
    let item = &code[at..];
    let head = &item[..item.find(['{', ';'])?];
    let name = words(head).skip_while(|w| *w != "mod").nth(1).filter(|_| !head.contains("fn "))?;
    let elsewhere = item[head.len()..].starts_with(';');
    let length = if elsewhere { head.len() + 1 } else { closing(item, '{', '}')? };
    Some(TestModule { name: name.to_owned(), range: start..at + length, elsewhere })
}

/// Where the first `open` bracket of the text is closed, one past it.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(at + c.len_utf8());
            }
        }
    }
    None
}

fn without_test_modules(code: &str) -> String {
    let mut kept = code.to_owned();
    // From the back, so that the earlier ranges stay right.
    for module in test_modules(code).into_iter().rev() {
        kept.replace_range(module.range, "");
    }
    kept
}

/// Blanks what is no code, byte for byte, and keeps the line breaks.
fn without_comments_and_literals(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let blanked = match c {
            '/' => comment(rest).unwrap_or(0),
            '"' | '\'' | 'r' | 'b' | 'c' => literal(rest, code.chars().next_back()).unwrap_or(0),
            _ => 0,
        };
        if blanked == 0 {
            code.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            code.extend(rest[..blanked].bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
            rest = &rest[blanked..];
        }
    }
    code
}

/// The length of the comment that the text begins with.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if !text.starts_with("/*") {
        return None;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return Some(at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    Some(text.len())
}

/// The length of the string or character that the text begins with; `before` tells `r"` from the end of a name.
fn literal(text: &str, before: Option<char>) -> Option<usize> {
    let in_name = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let prefix = ["br", "cr", "r", "b", "c", ""].into_iter().find(|p| {
        text.strip_prefix(p).is_some_and(|t| t.starts_with(['"', '\'', '#'])) && (p.is_empty() || !in_name)
    })?;
    let body = &text[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = body.len() - body.trim_start_matches('#').len();
        let inner = body[hashes..].strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(prefix.len() + hashes + 1 + inner.find(&end)? + end.len());
    }
    match body.chars().next()? {
        '"' => Some(prefix.len() + 1 + unescaped(&body[1..], '"')? + 1),
        // A lifetime has no closing quote one character on.
        '\'' if body[1..].starts_with('\\') || body[1..].chars().nth(1) == Some('\'') => {
            Some(prefix.len() + 1 + unescaped(&body[1..], '\'')? + 1)
        }
        _ => None,
    }
}

/// Where the first `end` stands that no backslash escapes.
fn unescaped(text: &str, end: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = c == end && !escaped;
        escaped = c == '\\' && !escaped;
        ends.then_some(at)
    })
}
