//! How a run ends, and why: two different outcomes never share one name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What an accepted result is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assurance {
    /// A second reader signed off and the checks passed.
    Countersigned,
    /// The agent that wrote it read it again, and the checks passed.
    SelfReviewed,
}

/// Which ceiling was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ceiling {
    /// The run's money.
    Money,
    /// The run's wall clock.
    Clock,
}

macro_rules! stops {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// Why a run stops and hands over to a person.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Stop { $($(#[$doc])* $name),* }

        impl Stop {
            /// Every reason there is.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The reason's name, as it stands in pages, logs and the database.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}

impl Stop {
    /// The reason as a sentence for the person who takes over.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::BudgetPasses => "The last allowed pass was not accepted.",
            Self::BudgetMoney => {
                "The money ceiling was reached, since what was left might not have paid for another answer."
            }
            Self::BudgetClock => "The time ceiling was reached.",
            Self::Stalled => "The last passes left the tree and its check results as they were.",
            Self::Oscillating => "The work went back to what an earlier pass had left.",
            Self::Disputed => "Implementer and reviewer disagree about a finding.",
            Self::LateFindingsOnly => "The reviewer rejected it over things that an earlier review could have found.",
            Self::RemarkUnconfirmed => "Everything holds but a person's remark, which only that person can confirm.",
            Self::NoVerdict => "The reviewer gave no verdict that could be read.",
            Self::RejectedWithoutCitation => "The reviewer rejected it and cited nothing that holds.",
            Self::NoChecks => "There is no required check that could vouch for it.",
            Self::VerificationUnavailable => "A required check could not be run.",
            Self::AgentCrashed => "An agent broke down.",
            Self::ProtectedPaths => "Only a change under a protected path stands in the way.",
            Self::AuditFailed => "The goal audit did not pass.",
            Self::ChecksFailing => "The checks fail after the revise.",
            Self::SelfReviewHolds => "The self-review holds the result.",
            Self::SecretInCommit => "A commit contains a secret, so nothing was pushed.",
            Self::InternalError => "Countersign broke a rule of its own; its log has the details.",
        }
    }

    /// What a person can best do after this stop, beside reading what is open.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::BudgetPasses => "Take the branch over by hand, or delegate the issue again with more passes.",
            Self::BudgetMoney => "Take the branch over by hand, or delegate the issue again with more money.",
            Self::BudgetClock => "Take the branch over by hand, or delegate the issue again with more time.",
            Self::Stalled | Self::Oscillating => {
                "Take the branch over by hand, or say in the issue what was not understood and delegate it again."
            }
            Self::Disputed => {
                "Decide who of the two is right: merge the branch as it is, or put your answer into the issue."
            }
            Self::LateFindingsOnly => "Decide whether the late findings matter to you; if not, merge the branch.",
            Self::RemarkUnconfirmed => "See for yourself whether your remark is met; if it is, merge the branch.",
            Self::NoVerdict => "Nobody has read this for you: review it yourself, or delegate the issue again.",
            Self::RejectedWithoutCitation => "Judge the reviewer's doubts yourself: it cited nothing that holds.",
            Self::NoChecks => {
                "Try the change yourself, and name a check in `.countersign.toml` so that the next run is checked."
            }
            Self::VerificationUnavailable => "Run the checks yourself, and mend what kept them from running here.",
            Self::AgentCrashed => "Take the branch over by hand, or delegate the issue again.",
            Self::ProtectedPaths => "Read the changes to protected paths; if they are meant, merge the branch.",
            Self::AuditFailed => "Compare the result with the goal in the issue, and take the branch over by hand.",
            Self::ChecksFailing => "Mend the failing checks on the branch, or delegate the issue again.",
            Self::SelfReviewHolds => "Read what the self-review holds against it, and take the branch over by hand.",
            Self::SecretInCommit => {
                "Remove the secret from what the agent is given, revoke it, and delegate the issue again."
            }
            Self::InternalError => "Report this: it is a fault of Countersign's own.",
        }
    }
}

impl Assurance {
    /// What it is called on pages and pull requests.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Countersigned => "countersigned",
            Self::SelfReviewed => "self-reviewed",
        }
    }
}

stops! {
    /// The last allowed pass was not accepted.
    BudgetPasses = "budget_passes",
    /// The next paid step cannot start, a model call was refused, or an answer was cut by our limit.
    BudgetMoney = "budget_money",
    /// The wall clock of the whole run is used up.
    BudgetClock = "budget_clock",
    /// Passes in a row reproduced the same tree and verification result, and nothing moved.
    Stalled = "stalled",
    /// A pass reproduced the tree and result of an earlier one that is not the one before.
    Oscillating = "oscillating",
    /// Implementer and reviewer disagree about a finding.
    Disputed = "disputed",
    /// A rejection rests on nothing but findings that earlier reviews could have made.
    LateFindingsOnly = "late_findings_only",
    /// Everything holds but a person's remark, which the reviewer could not confirm.
    RemarkUnconfirmed = "remark_unconfirmed",
    /// The reviewer's answer could not be read, after two corrective prompts.
    NoVerdict = "no_verdict",
    /// The reviewer said no and cited nothing that holds.
    RejectedWithoutCitation = "rejected_without_citation",
    /// There is no required check that could vouch for the work.
    NoChecks = "no_checks",
    /// A required check could not be run.
    VerificationUnavailable = "verification_unavailable",
    /// A writing or reviewing step crashed after the first writing step.
    AgentCrashed = "agent_crashed",
    /// The only thing in the way of acceptance is a protected path.
    ProtectedPaths = "protected_paths",
    /// The goal audit's continuations are used up.
    AuditFailed = "audit_failed",
    /// Shape *low–high*: the checks fail after the revise.
    ChecksFailing = "checks_failing",
    /// Shape *low–high*: the self-review holds the result.
    SelfReviewHolds = "self_review_holds",
    /// A commit to be pushed contains a secret; nothing is pushed.
    SecretInCommit = "secret_in_commit",
    /// A rule of our own was broken.
    InternalError = "internal_error",
}

/// Why there is nothing to deliver.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The run could not start; the cause is a sentence for a person.
    PrepareFailed(String),
    /// The first writing step crashed.
    FirstPassCrashed,
    /// The first writing step left the tree as it was.
    NoChange,
    /// A stop while no tree differed from the base.
    Stopped(Stop),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Signed off, on exactly the tree that is delivered.
    Accepted(Assurance),
    /// Handed over to a person with what is still wrong.
    NeedsReview(Stop),
    /// Handed over as it stands; nobody claims that it was checked.
    Delivered,
    /// Nothing to deliver.
    Failed(Failure),
    /// A person ended it; nothing is pushed.
    Cancelled,
}

impl Outcome {
    /// Whether work goes out: branch and pull request.
    #[must_use]
    pub fn is_delivered(&self) -> bool {
        match self {
            Self::Accepted(_) | Self::Delivered => true,
            Self::NeedsReview(stop) => *stop != Stop::SecretInCommit,
            Self::Failed(_) | Self::Cancelled => false,
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Assurance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Countersigned => "countersigned",
            Self::SelfReviewed => "self_reviewed",
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PrepareFailed(_) => f.write_str("prepare_failed"),
            Self::FirstPassCrashed => f.write_str("first_pass_crashed"),
            Self::NoChange => f.write_str("no_change"),
            Self::Stopped(stop) => stop.fmt(f),
        }
    }
}

/// `needs_review(stalled)`: the outcome and its reason, as the command line prints them.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted(assurance) => write!(f, "accepted({assurance})"),
            Self::NeedsReview(stop) => write!(f, "needs_review({stop})"),
            Self::Delivered => f.write_str("delivered(unreviewed)"),
            Self::Failed(failure) => write!(f, "failed({failure})"),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}
