//! A diff as text for a reviewer: what people wrote before what tools wrote, and what is left out is named.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::{Diff, DiffFile, Line, Status};
use crate::git::readable;
use crate::hidden::reveal;

/// A diff as text, within a number of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffText {
    /// The text.
    pub text: String,
    /// Files of which only the header is in it.
    pub left_out: Vec<String>,
    /// SHA-256 of the text in hexadecimal: what proves that it was read.
    pub digest: String,
    tests: Vec<String>,
}

impl DiffText {
    /// Changed files that look like tests.
    pub fn changed_tests(&self) -> impl Iterator<Item = &str> {
        self.tests.iter().map(String::as_str)
    }
}

impl Diff {
    /// The diff as text of about `max` bytes: every file's header, and the changed lines of as many files as fit, those
    /// that tools generate last.
    #[must_use]
    pub fn text(&self, max: usize) -> DiffText {
        let mut files: Vec<&DiffFile> = self.files.iter().collect();
        files.sort_by_key(|f| is_generated(&f.path));
        let (mut text, mut left_out) = (String::new(), Vec::new());
        for file in files {
            header(&mut text, file);
            let body = body(file);
            if text.len() + body.len() <= max {
                text.push_str(&body);
            } else {
                left_out.push(readable(&file.path));
                text.push_str("(its lines are left out here)\n");
            }
        }
        let digest = Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, b| {
            write!(hex, "{b:02x}").expect("writing to a string does not fail");
            hex
        });
        let tests = self.files.iter().map(|f| readable(&f.path)).filter(|p| is_test(p)).collect();
        DiffText { text, left_out, digest, tests }
    }
}

fn header(text: &mut String, file: &DiffFile) {
    let path = readable(&file.path);
    let what = match file.status {
        Status::Added => format!("added {path}"),
        Status::Deleted => format!("deleted {path}"),
        Status::Modified => format!("modified {path}"),
        Status::Renamed => format!("renamed {} to {path}", readable(&file.old_path)),
        Status::TypeChanged => format!("changed the type of {path}"),
    };
    let modes = if file.old_mode != file.mode && file.old_mode != 0 && file.mode != 0 {
        format!(", mode {:o} to {:o}", file.old_mode, file.mode)
    } else {
        String::new()
    };
    let endings = if file.only_endings > 0 {
        format!(", line endings changed on {} lines", file.only_endings)
    } else {
        String::new()
    };
    let counts = if file.is_binary {
        format!("binary, {} to {} bytes", file.sizes.0, file.sizes.1)
    } else {
        format!("+{} -{}", file.added, file.removed)
    };
    writeln!(text, "=== {what} ({counts}{modes}{endings})").expect("writing to a string does not fail");
}

fn body(file: &DiffFile) -> String {
    let mut text = String::new();
    for hunk in &file.hunks {
        writeln!(text, "{}", reveal(&hunk.header)).expect("writing to a string does not fail");
        hunk.lines.iter().for_each(|line| push(&mut text, line));
    }
    text
}

fn push(text: &mut String, line: &Line) {
    let end = if line.text.ends_with("\r\n") { "⟨CR⟩" } else { "" };
    let said = reveal(line.text.trim_end_matches(['\r', '\n']));
    writeln!(text, "{}{said}{end}", line.origin).expect("writing to a string does not fail");
}

/// Lock files and what is marked as made by a tool; shown last, and first to be left out.
fn is_generated(path: &[u8]) -> bool {
    let path = String::from_utf8_lossy(path).to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    let locks = [
        "cargo.lock",
        "package-lock.json",
        "pnpm-lock.yaml",
        "yarn.lock",
        "poetry.lock",
        "go.sum",
        "composer.lock",
        "uv.lock",
    ];
    locks.contains(&name) || [".lock", ".min.js", ".map", ".snap"].iter().any(|end| name.ends_with(end))
}

fn is_test(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    let in_folder = lower.split('/').any(|part| matches!(part, "tests" | "test" | "spec" | "__tests__"));
    in_folder
        || name.starts_with("test_")
        || name.contains("_test.")
        || name.contains(".test.")
        || name.contains(".spec.")
}
