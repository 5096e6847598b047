//! Steps and what came of them.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::answers::Answer;
use super::checks::{Check, CheckRun};
use super::id::{CommitId, TreeId};
use super::money::Money;
use super::outcome::Ceiling;
use super::policy::millis;
use super::verdict::{Finding, Verdict};

/// One unit inside a run. Passes count from 1; `Implement` is the writing step of pass 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Find the base commit, the commands and the name of the branch.
    Prepare,
    /// Run the checks on the base.
    Baseline,
    /// Write the first change.
    Implement,
    /// Run the checks on what this pass wrote.
    Verify(u8),
    /// Have a second agent read what this pass wrote.
    Review(u8),
    /// Fix what the review before found; the writing step of pass 2 and later.
    Revise(u8),
    /// Push the branch and open the pull request.
    Deliver,
}

impl Step {
    /// The pass that the step belongs to, if it belongs to one.
    #[must_use]
    pub const fn pass(self) -> Option<u8> {
        match self {
            Self::Implement => Some(1),
            Self::Verify(pass) | Self::Review(pass) | Self::Revise(pass) => Some(pass),
            Self::Prepare | Self::Baseline | Self::Deliver => None,
        }
    }

    /// The step's name without its pass, as it stands in logs and the database.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Baseline => "baseline",
            Self::Implement => "implement",
            Self::Verify(_) => "verify",
            Self::Review(_) => "review",
            Self::Revise(_) => "revise",
            Self::Deliver => "deliver",
        }
    }

    /// Whether model calls are made in it.
    #[must_use]
    pub const fn is_paid(self) -> bool {
        matches!(self, Self::Implement | Self::Review(_) | Self::Revise(_))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pass() {
            Some(pass) => write!(f, "{} (pass {pass})", self.name()),
            None => f.write_str(self.name()),
        }
    }
}

/// What one step may use: part of beginning it, so that no step runs without a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// Money for its model calls; zero for a step that makes none.
    pub money: Money,
    /// Wall-clock time; the step is cut when it is over.
    #[serde(with = "millis")]
    pub clock: Duration,
}

/// What `prepare` found out about the base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preparation {
    /// The commit that the run is frozen on.
    pub base: CommitId,
    /// Its tree.
    pub tree: TreeId,
    /// The branch that the work will be pushed as.
    pub branch: String,
    /// The commands that the service runs, in their order.
    pub checks: Vec<Check>,
    /// Why these commands, a sentence each.
    pub why: Vec<String>,
    /// The repository's own rules, from its base commit.
    pub rules: Rules,
}

/// A repository's rules for acceptance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Whether work may be accepted where no required check exists.
    pub accept_without_checks: bool,
    /// Whether a failure that the base had before blocks as well.
    pub strict_baseline: bool,
    /// Globs of paths that nobody may change and be accepted.
    pub protected: Vec<String>,
}

/// Something that an agent left and that was not taken into the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its path, readable.
    pub path: String,
    /// Why it was left out, a fragment.
    pub reason: String,
}

/// A tree that a writing step left, as the service imported and committed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The imported tree.
    pub tree: TreeId,
    /// The service's commit of it.
    pub commit: CommitId,
    /// What was not taken.
    pub left_out: Vec<LeftOut>,
    /// Changed paths under a protected glob.
    pub protected: Vec<String>,
    /// Files changed against the base.
    pub files: u32,
    /// Lines added against the base.
    pub added: u32,
    /// Lines removed against the base.
    pub removed: u32,
}

/// What came of a writing step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Written {
    /// The agent said that it was done.
    Done {
        /// The tree that it left.
        change: Change,
        /// What it says it did: a claim.
        report: String,
        /// What it says became of each obligation: claims.
        answers: Vec<Answer>,
    },
    /// A ceiling cut it.
    Cut {
        /// Which one.
        ceiling: Ceiling,
        /// The tree at that moment, if it could be read.
        change: Option<Change>,
    },
    /// It broke down.
    Crashed {
        /// In a person's words.
        cause: String,
        /// The tree at that moment, if it could be read.
        change: Option<Change>,
    },
}

impl Written {
    /// Why it broke down; `None` where it did not.
    #[must_use]
    pub fn cause(&self) -> Option<&str> {
        match self {
            Self::Crashed { cause, .. } => Some(cause),
            Self::Done { .. } | Self::Cut { .. } => None,
        }
    }
}

/// Whether a finding's citation held when the service looked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Citation {
    /// It exists, or fails, as cited.
    Holds {
        /// It concerns lines changed since the tree that was reviewed before, or a command that did not fail so on that tree.
        new_ground: bool,
    },
    /// It does not; the finding is discarded unread.
    Discarded {
        /// Why, a fragment.
        reason: String,
    },
}

/// A finding and what the service found out about its citation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cited {
    /// What the reviewer wrote.
    pub finding: Finding,
    /// Whether its citation held.
    pub citation: Citation,
}

/// What a reviewing step came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reviewed {
    /// The reviewer answered, and it could be read.
    Verdict {
        /// What it answered.
        verdict: Verdict,
        /// Whether it repeated the digest that stood in the diff it was given.
        read_the_diff: bool,
        /// Its findings in order, each looked up.
        findings: Vec<Cited>,
        /// Paths whose content did not fit into what it was shown.
        not_shown: Vec<String>,
    },
    /// No answer could be read, after the corrective prompts.
    Unreadable {
        /// What was wrong with the last one.
        why: String,
        /// The last answer, at most 8 KiB of it.
        raw: String,
    },
    /// A ceiling cut it: not reviewed.
    Cut(Ceiling),
    /// It broke down.
    Crashed {
        /// In a person's words.
        cause: String,
    },
}

/// How far a delivery has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivered {
    /// Branch and pull request are there.
    Done {
        /// The commit that was pushed.
        commit: CommitId,
        /// The pull request's number within the repository.
        pull_request: u64,
    },
    /// It did not work this time.
    Failed {
        /// In a person's words.
        cause: String,
        /// Whether trying again may help.
        again: bool,
    },
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepResult {
    /// `prepare` worked.
    Prepared(Box<Preparation>),
    /// The run cannot start; a sentence for a person says why and what to do.
    PrepareFailed(String),
    /// The checks ran on the base.
    Measured(Vec<CheckRun>),
    /// A writing step ended.
    Written(Box<Written>),
    /// The checks ran on this pass's tree.
    Verified {
        /// The tree that they ran on.
        tree: TreeId,
        /// Each check's attempts.
        runs: Vec<CheckRun>,
    },
    /// A reviewing step ended.
    Reviewed(Box<Reviewed>),
    /// A delivery ended.
    Delivered(Delivered),
    /// The step never really ran (provider, sandbox or forge away): it is tried again and no pass is charged.
    NotRun {
        /// In a person's words.
        cause: String,
        /// The least time to wait before trying again, in milliseconds.
        wait_ms: u64,
    },
    /// The node died under it: it begins again, and three deaths under one step are enough.
    Interrupted,
    /// The service was stopped, or lost the run to another node, before it ended: it begins again, and nothing counts.
    Stopped,
}
