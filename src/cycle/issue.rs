//! What is wanted: an issue, as it stood when it was delegated.

use serde::{Deserialize, Serialize};

/// An issue as a run sees it. Every text in it is untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// Its number within the repository, from 1.
    pub number: u64,
    /// One line, 1–200 characters.
    pub title: String,
    /// Markdown, at most 64 KiB.
    pub body: String,
    /// Definition of Done: a checklist of at most 50 items; may be empty.
    pub done: Vec<String>,
    /// The branch that the change is made for.
    pub base: String,
}
