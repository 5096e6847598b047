//! The parts that briefs are made of.

use super::untrusted::{Inline, Untrusted};

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Its title.
    pub title: Inline,
    /// Its body.
    pub body: Untrusted,
    /// The items of its Definition of Done.
    pub done: Vec<Inline>,
    /// The branch that the work starts from.
    pub base: Inline,
}

/// A file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Where it is.
    pub path: Inline,
    /// What it says.
    pub text: Untrusted,
}

/// A check and what the service saw when it ran it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: Inline,
    /// Its command.
    pub command: Inline,
    /// Whether it stands in the way of acceptance.
    pub required: bool,
    /// What running it gave.
    pub outcome: Outcome,
    /// Head and tail of what it printed, where that says something: of failing ones.
    pub output: Option<Untrusted>,
}

/// What running a check gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It passed.
    Passed,
    /// It failed at the baseline.
    Failed {
        /// The failing tests, where their names could be read.
        tests: Vec<Inline>,
    },
    /// It fails now, and the baseline does not explain it.
    Regressed {
        /// The tests that fail now and did not at the baseline, where their names could be read.
        tests: Vec<Inline>,
    },
    /// It fails as it did at the baseline.
    PreExisting,
    /// It failed, then passed on the same tree.
    Flaky,
    /// Nothing is known about it.
    CouldNotRun {
        /// Why.
        why: Inline,
    },
}

/// An open obligation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obligation {
    /// Its id in the run's ledger, such as `F1`.
    pub id: Inline,
    /// Who raised it.
    pub raised_by: RaisedBy,
    /// How grave it is, where that was said.
    pub severity: Option<&'static str>,
    /// The place or command that it rests on.
    pub citation: Inline,
    /// What is wrong.
    pub text: Untrusted,
    /// What was seen.
    pub evidence: Option<Untrusted>,
    /// What the last writing step answered: told to a reviewer only.
    pub answer: Option<Answer>,
}

/// Who raised an obligation. Only the same role can close it; of a person's and an auditor's the reviewer says whether
/// it is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RaisedBy {
    /// A reviewer.
    Reviewer,
    /// The service, for a failing check or a secret in the tree.
    Service,
    /// A person.
    Person,
    /// An auditor.
    Auditor,
}

impl RaisedBy {
    pub(super) fn said(self) -> &'static str {
        match self {
            Self::Reviewer => "raised by a reviewer",
            Self::Service => "raised by the service",
            Self::Person => "raised by a person",
            Self::Auditor => "raised by an auditor",
        }
    }

    pub(super) fn is_met(self) -> bool {
        matches!(self, Self::Person | Self::Auditor)
    }
}

/// An implementer's answer to an obligation: a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What it says.
    pub word: AnswerWord,
    /// Why, in its words.
    pub note: Untrusted,
}

/// The two answers to an obligation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerWord {
    /// It was put right.
    Fixed,
    /// It is wrong.
    Disputed,
}

impl AnswerWord {
    pub(super) fn said(self) -> &'static str {
        match self {
            Self::Fixed => "it was fixed.",
            Self::Disputed => "the objection is wrong.",
        }
    }
}

/// An obligation that is no longer open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// Its id in the run's ledger.
    pub id: Inline,
    /// The place or command that it rests on.
    pub citation: Inline,
    /// How it ended.
    pub became: Became,
}

/// How an obligation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Became {
    /// Whoever raised it saw it put right.
    Closed,
    /// The reviewer found it met; its person has not confirmed it yet.
    Met,
}

impl Became {
    pub(super) fn said(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Met => "met, says the reviewer",
        }
    }
}

/// Something that the shown diff leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The file.
    pub path: Inline,
    /// Why, and how much.
    pub why: Inline,
}

/// A checkable condition of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Criterion {
    /// Its id, such as `C1`.
    pub id: Inline,
    /// What must hold.
    pub text: Inline,
}
