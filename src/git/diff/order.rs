//! What a path says about a file: whether a tool wrote it, whether it is a test.
//!
//! Only paths count. What a file says of itself (`@generated`) and what attributes say of it are the agent's to write.

/// Files that package managers write.
const LOCKS: [&str; 12] = [
    "cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "poetry.lock",
    "pdm.lock",
    "uv.lock",
    "go.sum",
    "composer.lock",
    "gemfile.lock",
];

/// Lock files and other output of tools: shown last, and first to be left out.
pub(super) fn is_generated(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    let ends = [".lock", ".min.js", ".min.css", ".map", ".snap"];
    LOCKS.contains(&name) || ends.iter().any(|end| name.ends_with(end))
}

pub(super) fn is_test(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    let in_folder = lower.split('/').any(|part| matches!(part, "tests" | "test" | "spec" | "__tests__" | "testdata"));
    let marks = ["_test.", ".test.", ".spec.", "_spec."];
    in_folder || name.starts_with("test_") || name == "conftest.py" || marks.iter().any(|mark| name.contains(mark))
}
