//! What an agent is told, from `templates/briefs`. Plain data in, text out.
//!
//! A role learns only what its work needs: an implementer nothing of how to judge, a reviewer nothing of how to write
//! changes or of why the implementer did what it did. Whatever others wrote is [`Untrusted`] or [`Inline`], so that it
//! cannot be printed without its fence.

mod parts;
mod untrusted;

use askama::Template;

use super::Role;

pub use parts::{
    Answer, AnswerWord, Became, Check, Criterion, File, Issue, LeftOut, Obligation, Outcome, RaisedBy, Settled,
};
pub use untrusted::{Inline, Untrusted};

/// The first writing step of a run: the issue, and the checks as they were before any change.
#[derive(Debug, Clone, Template)]
#[template(path = "briefs/implementer.md", escape = "none")]
pub struct Implementer {
    /// What is wanted.
    pub issue: Issue,
    /// The repository's own instruction files, as they are on the base commit.
    pub instructions: Vec<File>,
    /// The checks with what they gave at the baseline.
    pub checks: Vec<Check>,
}

/// A later writing step: what is open, and what the checks gave on the tree as it stands.
#[derive(Debug, Clone, Template)]
#[template(path = "briefs/reviser.md", escape = "none")]
pub struct Reviser {
    /// What is wanted.
    pub issue: Issue,
    /// The commit that the work started from.
    pub base_commit: String,
    /// Which pass begins now; the first was 1.
    pub pass: u32,
    /// The repository's own instruction files, as they are on the base commit.
    pub instructions: Vec<File>,
    /// The checks with what they gave on this tree.
    pub checks: Vec<Check>,
    /// What has to be answered by id.
    pub open: Vec<Obligation>,
    /// What was answered and ruled on before.
    pub settled: Vec<Settled>,
}

impl Reviser {
    fn ids(&self) -> impl Iterator<Item = &Inline> {
        self.open.iter().map(|item| &item.id)
    }
}

/// Asks, in the same conversation, for the answers that a writing step left out or wrote unreadably.
#[derive(Debug, Clone, Template)]
#[template(path = "briefs/answers.md", escape = "none")]
pub struct Answers {
    /// Why the answers could not be read; `None` if they were read and some were missing.
    pub problem: Option<Inline>,
    /// The ids that have no answer.
    pub ids: Vec<Inline>,
}

/// A review: the issue, the change, and the checks' results as facts.
#[derive(Debug, Clone, Template)]
#[template(path = "briefs/reviewer.md", escape = "none")]
pub struct Reviewer {
    /// What is wanted.
    pub issue: Issue,
    /// The checks with what they gave on the tree under review.
    pub checks: Vec<Check>,
    /// The diff from the base to the tree under review: all of it but what [`left_out`](Self::left_out) names, so its
    /// bound must not cut it.
    pub diff: Untrusted,
    /// What the verdict must repeat; it is printed below the diff.
    pub digest: String,
    /// What the diff does not show.
    pub left_out: Vec<LeftOut>,
    /// Changed files that hold tests.
    pub changed_tests: Vec<Inline>,
    /// What is open. Nobody rules on what the service raised itself, so that is not printed.
    pub open: Vec<Obligation>,
    /// The run's criteria, where it has any.
    pub criteria: Vec<Criterion>,
    /// What the implementer said of its work, if the reviewer is to see it.
    pub claim: Option<Untrusted>,
}

impl Reviewer {
    fn to_rule(&self) -> impl Iterator<Item = &Obligation> {
        self.open.iter().filter(|item| item.raised_by != RaisedBy::Service)
    }
}

/// Asks, in the same conversation, for a verdict that can be read and is whole.
#[derive(Debug, Clone, Default, Template)]
#[template(path = "briefs/reask.md", escape = "none")]
pub struct Reask {
    /// What could not be read in the verdict, and where.
    pub unreadable: Option<Inline>,
    /// Open obligations without a ruling.
    pub rulings: Vec<Inline>,
    /// Criteria of which nothing was said.
    pub criteria: Vec<Inline>,
    /// Obligations ruled `met` and criteria said to `pass` without evidence.
    pub evidence: Vec<Inline>,
}

/// What every role is told once, before its first brief: what it is, and the place where it works.
#[derive(Debug, Clone, Template)]
#[template(path = "briefs/system.md", escape = "none")]
pub(crate) struct System {
    /// The role.
    pub(crate) role: Role,
    /// The work tree's path inside the sandbox.
    pub(crate) work: &'static str,
}

/// The text of a brief.
#[must_use]
pub fn text(brief: &impl Template) -> String {
    brief.render().expect("writing to a string does not fail")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
